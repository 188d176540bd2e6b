"""Objects, records and text have no derivative: never 0 in silence, an error or right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import UnsupportedCallError

X = np.array([0.5, 1.5, -2.0])
REFUSED = {
    "add": lambda x: np.add(x, x, dtype=object),
    "astype": lambda x: x.astype(object),
    "text": lambda x: x.astype("U5").astype(float),
    "bytes": lambda x: x.astype("S5").astype(float),
    "records": lambda x: x.astype([("a", float)])["a"],
    "cumsum": lambda x: np.cumsum(x, dtype=object),
    "cumprod": lambda x: np.cumprod(x, dtype=object),
    "array": lambda x: fnp.array(x, dtype=object),
    "asarray": lambda x: fnp.asarray(x, dtype=object),
    "full": lambda x: fnp.full(3, x[0], dtype=object),
    "full_like": lambda x: np.full_like(x, x[0], dtype=object),
    "einsum": lambda x: np.einsum("i,i", x, x, dtype=object),
    "concatenate": lambda x: np.concatenate([x, x], dtype=object),
    "stack": lambda x: np.stack([x, x], dtype=object),
    "linspace": lambda x: np.linspace(x[0], x[1], 3, dtype=object),
}
RIGHT = {
    "sum": (lambda x: np.sum(x, dtype=object), np.ones(3)),
    "mean": (lambda x: np.mean(x, dtype=object), np.full(3, 1 / 3)),
    "reduce": (lambda x: np.add.reduce(x, dtype=object), np.ones(3)),
    "beside objects": (lambda x: np.sum(np.zeros(3, object) + x), np.ones(3)),
    "zeros_like": (lambda x: np.sum(np.zeros_like(x, dtype=object) + x), np.ones(3)),
    "zeros": (lambda x: np.sum(fnp.zeros(3, dtype=object) + x), np.ones(3)),
}
WAYS: dict[str, Any] = {
    "reverse": fg.grad,
    "forward": lambda f: lambda x: fg.jacfwd(f)(x),
    "jit": lambda f: fg.jit(fg.grad(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number_is_an_error(name: str, way: str) -> None:
    with pytest.raises(UnsupportedCallError, match="a traced value does not become"):
        WAYS[way](lambda x: np.sum(REFUSED[name](x)))(X)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RIGHT)
def test_numbers_beside_objects_keep_their_derivatives(name: str, way: str) -> None:
    f, wanted = RIGHT[name]
    np.testing.assert_allclose(WAYS[way](f)(X), wanted)


def test_a_constant_becomes_what_it_is_told() -> None:
    assert fg.grad(lambda x: x[0] * float(np.ones(2).astype(object)[0]))(X)[0] == 1
    assert fg.jit(lambda x: x * len(np.ones(2).astype("U5")[0]))(X)[0] == 1.5
