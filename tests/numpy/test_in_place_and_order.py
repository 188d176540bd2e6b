"""Keywords that NumPy's functions have for arrays with fields, or to write into their operand."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_nan_to_num_writes_into_its_operand_where_it_may_not_copy():
    x = np.array([1.0, np.nan, np.inf, -2.0])

    def replaced(x):
        y = 2 * x
        made = np.nan_to_num(y, copy=False, posinf=7.0)
        assert made is y
        return y * y

    wanted = np.array([4.0, 0.0, 49.0, 16.0])
    for run in (lambda f: f, fg.jit, lambda f: lambda x: fg.vmap(f)(x[None])[0]):
        np.testing.assert_array_equal(run(replaced)(x), wanted)
        slope = run(fg.grad(lambda x: np.sum(replaced(x))))(x)
        np.testing.assert_array_equal(slope, [8.0, 0.0, 0.0, -16.0])
    z = fg.vjp(lambda z: np.nan_to_num(z + 0, copy=False), np.array([complex(1, np.nan)]))[0]
    np.testing.assert_array_equal(z, [1 + 0j])


@pytest.mark.parametrize("name", ["sort", "argsort", "partition", "argpartition"])
def test_an_order_of_fields_is_refused_in_numpys_words(name):
    more = (1,) if "partition" in name else ()
    for function in (getattr(np, name), getattr(fnp, name)):
        with pytest.raises(ValueError, match="Cannot specify order when the array has no fields"):
            fg.vjp(lambda x, f=function: f(x, *more, order="a"), np.ones(3))
