"""Of several indices out of bounds, the one that the program as it is written meets first.

What is compiled computes no value that nobody needs, so the forward pass of a gradient may be gone,
and its backward pass meets the last bad index first. Where a compiled function has failed, it is
traced once more, as it is written, and run one equation after the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.collector import uncollected
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.graph.build import Stage
from funcgrad.graph.effects import has_effect
from funcgrad.graph.interpret import evaluate, was_running
from funcgrad.graph.ir import Graph

__all__ = ["first_error"]


def first_error(flat: Callable[..., Any], leaves: Sequence[Array]) -> IndexError | None:
    """The error that comes first; None where running it again would be seen from outside."""
    try:
        graph = _as_written(flat, leaves)
        if graph is not None:
            with np.errstate(all="ignore"):
                evaluate(graph, *leaves)
    except IndexError as first:
        return first if was_running(first) else None
    except Exception:  # which the compiled program has not met
        return None
    return None


def _as_written(flat: Callable[..., Any], leaves: Sequence[Array]) -> Graph | None:
    """All equations that are staged, also those whose values nobody needs."""
    with uncollected(), Stage() as trace:
        inputs = [trace.input(type_of(x), x) for x in leaves]
        variables = tuple([t.variable for t in inputs])
        with contextlib.suppress(IndexError):  # of a backward pass of numbers at hand
            flat(*inputs)
        constants = tuple([(v, a) for v, a, _ in trace.constants.values()])
        equations = tuple(trace.equations)
    if trace.consts or any(map(has_effect, equations)):
        return None
    return Graph(variables, equations, (), constants)
