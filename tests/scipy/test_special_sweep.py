"""First derivatives of the functions of `scipy.special` over their whole domains, against mpmath.

Points are drawn by `special_points`; what functions are is in `special_oracles`. Counted are points
at which SciPy's value itself is right. Allowed is 1e-9 of the derivative, what the rounding of
operands costs, and what remains of a derivative by a parameter, a difference of values, where it is
nothing beside the value. As a program it lists what is worse:
``python tests/scipy/test_special_sweep.py count name…``
"""

import math
import sys

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from special_oracles import ORACLES, Inverse
from special_points import Late, condition, draw, exact, richardson, solves, within, worth

import funcgrad as fg
from funcgrad.scipy.special.define import NAMES

FAILURES = (
    ArithmeticError,
    ValueError,
    TypeError,
    mpmath.libmp.NoConvergence,
    NotImplementedError,
    Late,
)
COARSE = {
    # SciPy's values: found by searches, by few terms, or far from the solution in places
    *("bdtrik", "bdtrin", "nbdtrik", "nbdtrin", "pdtrik", "btdtria", "btdtrib"),
    *("ncfdtri", "ncfdtridfn", "ncfdtridfd", "ncfdtrinc", "nctdtrit", "nctdtridf", "nctdtrinc"),
    *("chndtrix", "chndtridf", "chndtrinc", "fdtridfd", "stdtridf", "tklmbda", "chdtriv"),
    *("mathieu_cem", "mathieu_sem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1"),
    *("mathieu_modsem2", "obl_ang1", "obl_rad1", "obl_rad2", "obl_cv", "pro_ang1", "pro_rad1"),
    *("pro_rad2", "pro_cv", "pbvv", "pbdv", "pbwa", "itairy", "eval_sh_jacobi", "besselpoly"),
}
FEW = {
    *("eval_gegenbauer", "eval_jacobi"),  # beside integers, where SciPy's factors round
    *("betainc", "betaincc", "fdtr", "fdtrc"),  # of shape and place below 1e-7: nine digits
    "ncfdtr",  # derivatives of 1e-8 are sums of terms of 1: they have seven digits
}
CONSTANT = {"round", "gammasgn"}
GIVEN_VALUES = {n for n in NAMES if n.endswith(("1_cv", "2_cv"))}  # as without them


def _output(function, i, count):
    return (lambda *xs: function(*xs)[i]) if count > 1 else function


def _by_mpmath(oracle, k, point, value, given):
    """What is wrong with a given derivative, or None; points that tell nothing are None, too."""
    try:
        with within(0.2):
            wanted = exact(oracle, k, point, value)
            if (
                wanted is None
                or not np.isfinite(wanted)
                or (wanted.imag and not np.iscomplexobj(value))  # the real function is not defined
                or abs(given - wanted) <= 1e-9 * abs(wanted)
            ):
                return None
        with within(1.0):
            sure = exact(oracle, k, point, value, 300)
            error = abs(given - sure)
            if abs(sure - wanted) > 1e-12 * abs(sure) and not error <= 1e-9 * abs(sure):
                return None  # the limit is not reached, or there is none
            if error <= 1e-9 * abs(sure) or max(abs(sure), abs(given)) < 1e-280:
                return None
            true = worth(oracle, point)
            if isinstance(oracle, Inverse) and not solves(oracle, point, value):
                return None
            if true is not None and abs(true - value) > 1e-11 * abs(true):
                return None
            lost = 1e-14 * condition(oracle, k, point, value)
            by_difference = 1e-12 * abs(value) / max(abs(point[k]), 1.0)
            return None if error <= 1e-9 * abs(sure) + lost + by_difference else sure
    except FAILURES:
        return None


def _by_scipy(function, k, point, value, given):
    wanted, error = richardson(function, k, point)
    near = max(1e-6 * abs(wanted), 20 * error, 1e-9 * abs(value) / max(abs(point[k]), 1e-3))
    return None if not np.isfinite(wanted) or abs(given - wanted) <= near else wanted


def worse(name, count):
    """The points at which a derivative is worse than allowed, and of how many."""
    kinds, stated = ORACLES[name]
    ufunc, found, tried = getattr(sp, name), [], 0
    xs = draw(name, kinds, count)
    oracles = stated if isinstance(stated, list) else [stated] * ufunc.nout
    for i, oracle in enumerate(oracles):
        function = _output(ufunc, i, ufunc.nout)
        values = np.asarray(function(*xs))
        for k, kind in enumerate(kinds):
            if kind.isupper():
                continue

            def moved(x, k=k, function=function):
                return function(*xs[:k], x, *xs[k + 1 :])

            given = np.asarray(fg.jvp(moved, (xs[k],), (np.ones(count),))[1])
            for j in np.nonzero(np.isfinite(values))[0]:
                point, value = [float(x[j]) for x in xs], values[j][()]
                tried += 1
                wrong = (
                    _by_scipy(function, k, point, value, given[j])
                    if oracle is None
                    else _by_mpmath(oracle, k, point, value, complex(given[j]))
                )
                if wrong is not None:
                    found.append((i, k, point, given[j], wrong, value))
    return found, tried


def test_every_ufunc_with_a_rule_is_swept():
    assert set(NAMES) - GIVEN_VALUES - CONSTANT == set(ORACLES)


@pytest.mark.costly(cases=8)
@pytest.mark.parametrize("name", sorted(ORACLES))
@pytest.mark.filterwarnings("ignore")
def test_first_derivatives_over_the_whole_domain(name):
    with np.errstate(all="ignore"):
        found, tried = worse(name, 12)
    share = 0.7 if name in COARSE else 0.1 if name in FEW else 0.0
    assert tried and len(found) <= share * tried, found


def _main(count, names):
    with np.errstate(all="ignore"):
        for name in names or ORACLES:
            found, tried = worse(name, int(count))
            print(name, len(found), "of", tried, flush=True)
            for i, k, point, given, wanted, value in found:
                real = wanted.real if isinstance(wanted, complex) and not wanted.imag else wanted
                size = abs(given - wanted) / (abs(wanted) or math.inf)
                print("   ", i, k, point, given, real, f"{size:.1e}", value)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    _main(*sys.argv[1:2], sys.argv[2:])
