"""Traced values in Python's own containers and copies: right, or an error with the user's line."""

import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import (
    AbstractValueError,
    LeakedTracerError,
    TracerConversionError,
    UnhashableTracerError,
)

X = np.array([[1.0, 2.0], [3.0, 5.0]])
WAYS = {
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.ones_like(x),)),
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(np.stack([x, x])),
    "checkpoint": fg.checkpoint,
}
TABLE = {0.5: 3.0}


@functools.lru_cache
def cached(x):
    return 2.0 * x


KEYS = {
    "in a set": lambda x: x * (1.0 if x in {0.5} else 2.0),
    "get": lambda x: x * TABLE.get(x, 1.0),
    "item": lambda x: x * TABLE[x],
    "members": lambda x: x * len({x, x + 0.0}),
    "a key": lambda x: {x: x}[x],
    "lru_cache": cached,
    "fromkeys": lambda x: next(iter(dict.fromkeys([x]))),
    "a row": lambda x: x * len({fnp.stack([x, x])[:1]}),
    "a made array": lambda x: x * len({fnp.zeros(2)}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KEYS)
def test_a_traced_value_is_no_key(name, way):
    with pytest.raises(UnhashableTracerError, match="a traced value has no hash") as info:
        WAYS[way](KEYS[name])(np.float64(0.5))
    assert __file__ in str(info.value)
    assert isinstance(info.value, TypeError)  # as NumPy says of arrays


def test_a_list_compares_by_value():
    assert fg.grad(lambda x: x * (1.0 if x in [0.5] else 2.0))(0.5) == 1.0
    assert fg.grad(lambda x: x * (1.0 if x in (0.25, 1.0) else 2.0))(0.5) == 2.0


def test_the_number_behind_it_is_a_key():
    assert fg.grad(lambda x: x * TABLE[fg.value(x)])(0.5) == 3.0


def test_a_static_argument_says_why():
    with pytest.raises(ValueError, match=r"have to be hashable \(a traced value"):
        fg.grad(lambda x: fg.jit(lambda y: y, static_argnums=0)(x))(0.5)


# ----------------------------------------------------------------------------------- copies


@dataclasses.dataclass
class Pair:
    a: object
    b: object


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda x: copy.deepcopy([x, {"k": x}])[1]["k"],
    "deepcopy of an object": lambda x: copy.deepcopy(Pair(x, 1.0)).a,
    "asdict": lambda x: dataclasses.asdict(Pair(1.0, {"k": [x]}))["b"]["k"][0],
    "astuple": lambda x: dataclasses.astuple(Pair(x, 1.0))[0],
    "replace": lambda x: dataclasses.replace(Pair(1.0, 1.0), a=x).a,
}


def same(found, wanted):
    for f, w in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert type(f) is type(w)
        np.testing.assert_array_equal(f, w)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_followed(name, way):
    duplicate, transform = COPIES[name], WAYS[way]
    square = lambda x: np.sum(x * x[::-1])
    same(transform(lambda x: square(duplicate(x)))(X), transform(square)(X))
    cube = lambda x: x * x * x
    same(transform(lambda x: cube(duplicate(x)))(np.float64(2.0)), transform(cube)(np.float64(2.0)))


@pytest.mark.parametrize("way", ["grad", "jvp", "vmap", "jit"])
@pytest.mark.parametrize("name", ["copy", "deepcopy", "asdict"])
def test_writing_into_a_copy_leaves_the_original(name, way):
    def f(x, duplicate=COPIES[name]):
        y = x * 2.0
        for part in (y[:1], y, y.T, fnp.array(y)):
            made = duplicate(part)
            made[0] = 7.0
            made *= 3.0
        return np.sum(y * y)

    same(WAYS[way](f)(X), WAYS[way](lambda x: np.sum((x * 2.0) * (x * 2.0)))(X))


def test_a_copied_scalar_stays_what_it_is():
    for x in (2.0, np.float64(2.0), np.float32(2.0), np.array(2.0)):
        got = fg.vjp(lambda x: copy.deepcopy(x), x)[0]
        want = copy.deepcopy(x)
        assert (type(got), got) == (type(fg.vjp(lambda x: x, x)[0]), want)


def test_a_copy_does_not_outlive_its_transform():
    kept = []
    fg.grad(lambda x: (kept.append(copy.deepcopy(x)), np.sum(x))[1])(X)
    with pytest.raises(LeakedTracerError):
        kept[0] + 1.0


@pytest.mark.parametrize("way", WAYS)
def test_a_traced_value_is_not_pickled(way):
    kinds = (TracerConversionError, AbstractValueError)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(kinds, match=r"pickling|jit or vmap") as info:
            WAYS[way](lambda x, p=protocol: np.sum(x) * len(pickle.dumps(x, p)))(X)
        assert __file__ in str(info.value)


def test_an_array_that_holds_no_traced_value_is_pickled():
    def f(x):
        b = fnp.ones(3)
        made = pickle.loads(pickle.dumps(b))
        assert type(made) is np.ndarray
        return np.sum(x) * made.sum()

    np.testing.assert_array_equal(fg.grad(f)(X), np.full((2, 2), 3.0))


# ------------------------------------------------------------------------- the number behind


def test_there_is_no_number_under_vmap():
    for f in (lambda x: fg.value(x), lambda x: fg.value(np.sin(x)[0]), lambda x: x.item()):
        with pytest.raises(AbstractValueError, match="jit or vmap") as info:
            fg.vmap(f)(X)
        assert __file__ in str(info.value)
    with pytest.raises(AbstractValueError):
        fg.vmap(fg.grad(lambda x: np.sum(x) * fg.value(x)[0]))(X)
    with pytest.raises(AbstractValueError):
        fg.jit(fg.value)(X)
    # what is not mapped has one
    same(fg.vmap(lambda x, y: x * fg.value(y), in_axes=(0, None))(X, 2.0), 2.0 * X)


def test_what_leaked_from_vmap_is_not_told_to_take_a_number():
    kept = []
    fg.vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(LeakedTracerError) as info:
        kept[0] + 1.0
    assert "funcgrad.value" not in str(info.value)
