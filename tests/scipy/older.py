"""What holds of older releases of SciPy: more of their programs are refused, and none is wrong."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import scipy

from funcgrad.errors import AbstractValueError, UnsupportedCallError

OLDER = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17)


def older_may_refuse(test: Any) -> Any:
    """In SciPy before 1.17 a program that asks about values, or leaves Python, is a named error."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            test(*args, **kwargs)
        except (AbstractValueError, UnsupportedCallError) as error:
            if not OLDER:
                raise
            pytest.skip(f"SciPy {scipy.__version__}: {error}")

    return run
