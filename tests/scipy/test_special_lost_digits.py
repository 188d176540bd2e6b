"""Points at which a derivative of `scipy.special` had lost its digits, or was NaN: against mpmath.

Found by `test_special_sweep`; a row is a function, an operand, its place, and how far off it was.
"""

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from special_oracles import ORACLES
from special_points import exact

import funcgrad as fg

PLACES = [
    # beside negative integers: steps were a share of the way to poles that are none
    ("eval_chebyu", 0, (-1.0, 3.585550772722303)),  # 5e-6
    ("eval_chebyu", 1, (-6.0, 20.0)),  # NaN
    ("eval_chebyu", 1, (-1.0, -0.5)),  # NaN
    ("eval_chebys", 1, (-3.0, 1.5)),  # NaN
    ("eval_legendre", 1, (-6.0, 0.4)),  # NaN
    ("eval_sh_legendre", 0, (-2.0, 1e-8)),  # 1e-3
    ("eval_laguerre", 0, (-5.99999999, 0.9909129894432207)),  # 9e-6
    ("eval_laguerre", 0, (1.000000001, 1e-8)),  # 1e-6
    ("eval_genlaguerre", 1, (7.0, -0.999999, 2.873590314192075)),  # 8e-7
    ("eval_genlaguerre", 0, (0.3, -0.99999999, 5.144207444071231)),  # 6e-7
    ("eval_jacobi", 2, (-2.99, 1.0, -2.00000001, 0.9569315378620152)),  # 5e-5
    ("eval_jacobi", 1, (3.0, -1.999999, -1.99, 0.3)),  # 2e-6
    ("eval_gegenbauer", 1, (3.0, -0.49999, 0.4)),
    ("eval_chebyt", 1, (1e-8, 0.9689761809722055)),  # 5e-9: n - 1 was rounded
    ("eval_sh_chebyt", 1, (-3.00000001, 1e-8)),  # 31
    # poles of ψ, whose differences cancel
    ("rgamma", 0, (-0.99999999,)),  # 6e-9
    ("binom", 0, (1e-12, 2.0)),  # 1e-4
    ("binom", 0, (-2.0001, 1e-5)),  # 7e-4
    ("binom", 1, (-2.9999, -2.0)),  # NaN
    ("poch", 0, (1e-12, -1.0)),  # 2e7
    # recurrences that cancel
    ("iv", 1, (1e-8, 1e-5)),  # 5e-9: v - 1 was rounded
    ("jve", 1, (1e-8, 1e-8)),
    ("kve", 1, (0.7, 1e8)),
    ("ive", 1, (0.7, 1e8)),
    ("hankel1e", 1, (1.0, 1e10)),  # 2e-6
    ("hankel2e", 1, (0.3, 1e15)),  # 0.6
    ("struve", 0, (1.0, 1e4)),  # 5e-6
    # places where a difference is nothing
    ("inv_boxcox1p", 0, (-30.876441761379404, 1e-9)),  # 4e-4
    ("agm", 0, (1e-300, 1.5)),  # NaN
    ("elliprc", 1, (1e100, 1.5)),
    # distributions: steps, complements, ends
    ("chndtr", 1, (1e-8, 1.5, 1.0)),  # 1e-9
    ("chndtrix", 1, (1e-12, 1.0, 1.001)),  # 0.1
    ("chndtrix", 0, (0.49078971403335725, 1000.0, 2.0)),  # NaN
    ("bdtrin", 0, (3.7, 0.9, 1.0448665539726025e-12)),  # 2e-5
    ("wright_bessel", 1, (0.999999999, 0.0, 2.87878895190289)),  # NaN
    ("wright_bessel", 1, (0.9998650220890763, 1e-8, 0.999999999)),  # 4e-7
    ("log_wright_bessel", 1, (7.9, 0.0, 12.057840407242914)),  # NaN
]


@pytest.mark.parametrize("name, k, point", PLACES)
def test_derivatives_have_their_digits(name, k, point):
    ufunc, (_, oracle) = getattr(sp, name), ORACLES[name]
    value = ufunc(*point)
    digits = 1300 if min(abs(x) for x in point if x) < 1e-99 or max(point) > 1e50 else 80
    wanted = exact(oracle, k, point, value, digits)

    def moved(x):
        return ufunc(*point[:k], x, *point[k + 1 :])

    found = fg.jvp(moved, (point[k],), (1.0,))[1]
    assert abs(found - wanted) <= 2e-9 * abs(wanted), (found, wanted)


def _airye(x):
    return mpmath.airyai(x) * mpmath.exp(mpmath.mpf(2) / 3 * x * mpmath.sqrt(x))


def _scaled_fresnel(x):
    turn = mpmath.expjpi(0.25)
    return mpmath.exp(-1j * x * x) * mpmath.erfc(x / turn) / 2


@pytest.mark.parametrize(
    "function, wanted, places",
    [
        (lambda x: sp.airye(x)[0], _airye, [40.0, 1e6]),
        (lambda x: sp.modfresnelp(x)[1], _scaled_fresnel, [12.0, 1000.0, 1e4]),
        (lambda x: sp.it2i0k0(x)[0], lambda x: None, [1e-12, 1e-5, 1.4, 1.6]),
        (lambda x: sp.it2j0y0(x)[0], lambda x: 0, [1e-12, 1e-5, 1.4, 1.6]),
        (lambda x: sp.fresnel(x)[1], mpmath.fresnelc, [1.5, 1e6, 1e10, 1e15, 1e100]),
    ],
)
def test_outputs_that_lost_theirs(function, wanted, places):
    """Cancelling of what is larger by x, by √x, or less 1; and π x² / 2 of large x."""
    for x in places:
        with mpmath.workdps(400):
            z = mpmath.mpf(x)
            if wanted(z) is None:
                true = (mpmath.besseli(0, z) - 1) / z
            elif wanted(z) == 0:
                true = (1 - mpmath.besselj(0, z)) / z
            elif wanted is mpmath.fresnelc:
                true = mpmath.cos(mpmath.pi * z * z / 2)
            else:
                h = z * mpmath.mpf(10) ** -120
                true = (wanted(z + h) - wanted(z - h)) / (2 * h)
        found = fg.jvp(function, (x,), (1.0,))[1]
        assert abs(found - complex(true)) <= 1e-11 * abs(complex(true)) + 1e-300, x


def test_counts_that_scipy_clips_do_not_move():
    """No smaller count has so little probability: the derivative is that of a constant."""
    assert sp.bdtrik(0.02, 2.0, 0.02) == 0.0 == fg.grad(sp.bdtrik)(0.02, 2.0, 0.02)
    assert sp.pdtrik(0.1, 0.9) == 0.0 == fg.grad(sp.pdtrik, 1)(0.1, 0.9)
    assert sp.nbdtrik(1e-3, 0.9, 0.5) == 0.0 == fg.grad(sp.nbdtrik, 2)(1e-3, 0.9, 0.5)


def test_spheroidal_functions_by_c_at_zero():
    """λ is even in c; the step led to where SciPy has no values, and the slope was -0.04."""
    for value in (sp.pro_cv, sp.obl_cv):
        assert abs(fg.grad(lambda c, f=value: f(5, 8, c))(0.0)) < 1e-10
        by = [fg.grad(lambda c, f=value: f(5, 8, c))(c) / c for c in (1e-2, 2e-2)]
        np.testing.assert_allclose(*by, rtol=1e-3)


def test_second_derivatives_of_chebyshev_polynomials_at_the_ends():
    for n in (2.0, 3.0, 2.5):
        bend = fg.grad(fg.grad(lambda x, n=n: sp.eval_chebyt(n, x)))(1.0)
        np.testing.assert_allclose(bend, n * n * (n * n - 1) / 3, rtol=1e-13)


@pytest.mark.parametrize(
    "name, point",
    [("binom", (0.7, 3.0)), ("binom", (-1.3, 2.0)), ("poch", (0.3, -2.0)), ("beta", (-1.3, 2.0)),
     ("betaln", (-2.3, 1.0)), ("beta", (0.4, -0.7)), ("poch", (-2.6, 1.3))],
)  # fmt: skip
def test_second_derivatives_beside_poles_count_all_operands(name, point):
    """The way to the nearest integer is that of one operand where the other is whole; but it moves
    with both."""
    bend = fg.hessian(lambda w: getattr(sp, name)(w[0], w[1]))(np.array(point))
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15

        def at(i, j):
            return ORACLES[name][1](point[0] + i * h, point[1] + j * h)

        mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h)
        first = (at(1, 0) - 2 * at(0, 0) + at(-1, 0)) / (h * h)
        last = (at(0, 1) - 2 * at(0, 0) + at(0, -1)) / (h * h)
    wanted = np.array([[first, mixed], [mixed, last]], float)
    np.testing.assert_allclose(bend, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [0.3, -0.25, -1.0, 2.0, -3.5])
def test_derivatives_by_the_degree_end_at_infinity(n):
    """There SciPy's confluent hypergeometric function does not."""
    with np.errstate(all="ignore"):
        assert not np.isfinite(fg.grad(lambda n: sp.eval_laguerre(n, np.inf))(n))
