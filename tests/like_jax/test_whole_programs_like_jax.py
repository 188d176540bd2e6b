"""Whole programs of transforms, the same text with JAX's modules and with ours."""

import jax_pair
import numpy as np
import pytest
from whole_programs import PROGRAMS, SHARED

import funcgrad as fg

pytestmark = pytest.mark.peers
jax = pytest.importorskip("jax")
GIVEN = ("x", "m", "c3")  # the arrays of the programs that have derivatives


def run(source, names, given=None):
    names = dict(names)
    exec(SHARED, names)
    names.update(given or {})
    return eval(source, names)


def given():
    names = jax_pair.ours()
    exec(SHARED, names)
    return {name: names[name] for name in GIVEN}


def check(found, expected, pick=lambda leaf: leaf):
    found = fg.tree.leaves(found)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, str):
            assert ours == theirs
            continue
        ours, theirs = pick(np.asarray(ours)), np.asarray(theirs)
        assert (ours.shape, ours.dtype.kind) == (theirs.shape, theirs.dtype.kind)
        if theirs.dtype.kind in "biufc":
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_whole_program(name):
    expected = jax.tree.leaves(run(PROGRAMS[name], jax_pair.theirs()))
    ours = jax_pair.ours()
    check(run(PROGRAMS[name], ours), expected)
    if any(isinstance(leaf, str) for leaf in expected):  # no result of a compiled function
        return
    check(fg.jit(lambda d: run(PROGRAMS[name], ours, d))(given()), expected)
    mapped = fg.vmap(lambda d: run(PROGRAMS[name], ours, d))
    check(mapped({k: np.stack([v, v]) for k, v in given().items()}), expected, lambda leaf: leaf[1])
