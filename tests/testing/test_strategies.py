"""The public strategies draw what they promise, and find a planted error."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import derandomized

import funcgrad as fg
from funcgrad.testing import check_grads, strategies


@derandomized(100)
@given(strategies.arrays(strategies.shapes(1, 2), avoid=0.02))
def test_arrays_are_away_from_ties_and_kinks(x):
    assert x.dtype in (np.float32, np.float64)
    assert np.all(np.abs(x) >= 0.0199)
    assert len(set(x.ravel().tolist())) == x.size


@derandomized(100)
@given(strategies.broadcastable_shapes(count=3))
def test_shapes_broadcast(found):
    assert len(found) == 3
    np.broadcast_shapes(*found)


@derandomized(100)
@given(st.data())
def test_indices_and_axes_fit(data):
    x = data.draw(strategies.arrays(strategies.shapes(1)))
    try:
        x[data.draw(strategies.indices(x.shape))]
    except IndexError as error:
        assert "broadcast" in str(error)
    np.sum(x, axis=data.draw(strategies.axes(x.ndim)))


@derandomized(60)
@given(strategies.trees(), strategies.dtypes(complex=True, half=True))
def test_trees_are_trees(x, dtype):
    assert all(leaf.dtype.kind == "f" for leaf in fg.tree.leaves(x))
    assert dtype.kind in "fc"


def test_a_planted_error_is_found():
    """A derivative that is forgotten where the element is negative."""
    wrong = fg.custom_vjp(lambda x: x * np.abs(x))
    wrong.defvjp(lambda x: (x * np.abs(x), x), lambda x, g: (g * 2.0 * x,))
    found = []

    @settings(derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(strategies.arrays(avoid=0.02, dtypes=[np.float64]))
    def property_(x):
        try:
            check_grads(wrong, (x,), order=1, modes=("rev",))
        except AssertionError:
            found.append(np.asarray(x))
            raise

    with pytest.raises(AssertionError, match="reverse mode"):
        property_()
    assert found[-1].size == 1 and found[-1].ravel()[0] < 0  # hypothesis has made it small
