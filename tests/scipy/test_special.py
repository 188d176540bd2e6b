"""`scipy.special` on traced values: values, derivatives where formulas cancel, and refusals.

`test_rules` has both modes, second order and batching of every record, from its samples.
"""

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import funcgrad as fg
import funcgrad.scipy.special as ours
from funcgrad.errors import NotDifferentiableError
from funcgrad.extend import PRIMITIVES
from funcgrad.ops import bessel
from funcgrad.scipy.special.define import NAMES
from funcgrad.testing import check_grads

UNARY = [n for n, (u, _) in NAMES.items() if u.nin == 1 and u.nout == 1 and n != "round"]


def first(name):
    """Samples of a ufunc in double precision."""
    found = PRIMITIVES.get(f"special_{name}") or PRIMITIVES[f"special_{name}_0"]
    return found.sample()[0].args


def test_more_than_120_ufuncs_have_rules():
    assert len([n for n in NAMES if isinstance(getattr(sp, n, None), np.ufunc)]) >= 120


@pytest.mark.parametrize("name", sorted(NAMES))
def test_scipys_own_function_takes_traced_values(name):
    ufunc, args = getattr(sp, name), first(name)
    wanted = ufunc(*args)
    for function in (ufunc, getattr(ours, name)):
        for found in (
            fg.vjp(lambda *a, f=function: f(*a), *args)[0],
            fg.jvp(function, args, tuple(np.zeros(a.shape) for a in args))[0]
            if all(a.dtype.kind == "f" for a in args)
            else wanted,
        ):
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    assert np.asarray(getattr(ours, name)(*args)).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("name", sorted(UNARY))
def test_under_jit_and_vmap(name):
    (x,) = first(name)
    function = getattr(sp, name)
    wanted = function(x)
    np.testing.assert_allclose(fg.jit(function)(x), wanted, rtol=1e-14)
    np.testing.assert_array_equal(fg.vmap(function)(x), wanted)


def test_a_library_ufunc_is_met_without_importing_our_module():
    import subprocess
    import sys

    code = (
        "import sys, numpy, scipy.special, funcgrad as fg\n"
        "assert 'funcgrad.scipy.special' not in sys.modules\n"
        "print(fg.grad(lambda x: scipy.special.erf(x) * 1.0)(0.0))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert abs(float(out.stdout) - 2 / np.sqrt(np.pi)) < 1e-15


# ------------------------------------------------- where the textbook form of a rule fails


def slope(f, x):
    with mpmath.workdps(60):
        return float(mpmath.diff(f, mpmath.mpf(float(x)), h=mpmath.mpf(10) ** -20))


def near(found, wanted, relative):
    assert abs(found - wanted) <= relative * abs(wanted), (found, wanted)


def erfcx(x):
    return mpmath.exp(x**2) * mpmath.erfc(x)


def dawson(x):
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-(x**2)) * mpmath.erfi(x)


def log_ndtr(x):
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


NEAR_ZERO = [1e-9, 0.09, 0.11, 0.9]
HARD = [
    (sp.expit, lambda x: 1 / (1 + mpmath.exp(-x)), [40.0, -40.0], 1e-15),
    (sp.log_expit, lambda x: -mpmath.log1p(mpmath.exp(-x)), [40.0, -40.0], 1e-15),
    (sp.erfcx, erfcx, [5.0, 9.9, 10.1, 30.0, 1e6], 1e-13),
    (sp.dawsn, dawson, [5.0, 9.9, 10.1, 30.0, -30.0], 1e-13),
    (sp.log_ndtr, log_ndtr, [-30.0, -5.0, -0.1, 0.1, 5.0], 1e-13),
    (sp.exprel, lambda x: mpmath.expm1(x) / x, [1e-8, 1e-3, 0.49, 0.51, -3.0], 1e-13),
    (sp.spence, lambda z: mpmath.polylog(2, 1 - z), [1 + 1e-9, 0.96, 0.94, 1.04, 1.06], 1e-13),
    (sp.ellipk, mpmath.ellipk, [1e-9, 0.09, 0.11, -5.0, 0.999], 1e-12),
    (sp.ellipe, mpmath.ellipe, [1e-9, 0.09, 0.11, -5.0, 0.999], 1e-12),
    (sp.rgamma, mpmath.rgamma, [-2.0, 0.0, -1.0, 3.3], 1e-13),
    (lambda p: sp.boxcox(2.5, p), lambda p: (2.5**p - 1) / p, [1e-10, 1e-3, -0.7], 1e-12),
    (
        lambda p: sp.inv_boxcox(2.5, p),
        lambda p: (p * 2.5 + 1) ** (1 / p),
        [1e-10, 1e-3, 0.7],
        1e-12,
    ),
    (lambda m: sp.ellipkinc(0.7, m), lambda m: mpmath.ellipf(0.7, m), NEAR_ZERO, 1e-12),
    (lambda m: sp.ellipeinc(9.7, m), lambda m: mpmath.ellipe(9.7, m), NEAR_ZERO, 1e-12),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(HARD)))
def test_derivatives_where_textbook_forms_cancel(case):
    function, reference, points, relative = HARD[case]
    for x in points:
        near(fg.grad(function)(x), slope(reference, x), relative)


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "call, operand",
    [
        (lambda v: sp.kn(v, 1.0), "the order, which is a whole number"),
        (lambda n: sp.eval_hermite(n, 0.5), "the degree n"),
        (lambda m: sp.mathieu_a(m, 0.5), "the order m"),
        (lambda c: sp.pro_rad2(0, 1, c, 1.5)[0], "too few digits"),
        (lambda n: sp.smirnov(n, 0.5), "the number of samples"),
    ],
)
def test_whole_numbers_are_refused_by_name(call, operand):
    with pytest.raises(NotDifferentiableError, match=operand):
        fg.grad(call)(1.5)


def test_a_missing_name_says_what_is_missing():
    with pytest.raises(AttributeError, match=r"no attribute 'ellip_harm'"):
        _ = ours.ellip_harm


# ---------------------------------------------------------------- what is no ufunc of SciPy's


@pytest.mark.parametrize(
    "name, call",
    [
        ("logsumexp", lambda m, x: m.logsumexp(x)),
        ("logsumexp axis", lambda m, x: m.logsumexp(x, axis=1, keepdims=True)),
        ("logsumexp b", lambda m, x: m.logsumexp(x, axis=1, b=np.array([1.0, 0.0, 0.5]))),
        ("logsumexp sign", lambda m, x: m.logsumexp(x, 1, [1.0, 0.0, -5.0], False, True)[0]),
        ("softmax", lambda m, x: m.softmax(x)),
        ("softmax axis", lambda m, x: m.softmax(x, axis=0)),
        ("log_softmax", lambda m, x: m.log_softmax(x, axis=1)),
        ("zeta", lambda m, x: m.zeta(3.0, x + 4)),
        ("zeta of one", lambda m, x: m.zeta(x + 4)),
        ("softplus", lambda m, x: m.softplus(x * 100)),
        ("sinc", lambda m, x: m.sinc(x)),
        ("diric", lambda m, x: m.diric(x, 4)),
        ("comb", lambda m, x: m.comb(x + 6, 1.5)),
        ("comb repetition", lambda m, x: m.comb(x + 6, 2.5, repetition=True)),
        ("perm", lambda m, x: m.perm(x + 6, 2.5)),
        ("jvp", lambda m, x: m.jvp(1, x + 4, 2)),
        ("kvp", lambda m, x: m.kvp(1, x + 4)),
        ("assoc_laguerre", lambda m, x: m.assoc_laguerre(x, 3, 1)),
        ("legendre_p", lambda m, x: m.legendre_p(3, x / 4)),
        ("assoc_legendre_p", lambda m, x: m.assoc_legendre_p(3, 1, x / 4, norm=True)),
        ("sph_legendre_p", lambda m, x: m.sph_legendre_p(3, 1, x)),
        ("sph_harm_y", lambda m, x: m.sph_harm_y(3, 2, x, 2 * x).real),
        ("polygamma", lambda m, x: m.polygamma(2, x + 4)),
        ("lambertw", lambda m, x: m.lambertw(x + 4).real),
        ("multigammaln", lambda m, x: m.multigammaln(x[0] + 4, 3)),
        ("factorial", lambda m, x: m.factorial(x + 4)),
    ],
)
def test_functions(name, call):
    x = np.random.default_rng(0).uniform(-2, 2, (2, 3))
    wanted = call(sp, x)
    np.testing.assert_allclose(call(ours, x), wanted, rtol=0)
    value = fg.vjp(lambda x: call(ours, x), x)[0]
    np.testing.assert_allclose(value, wanted, rtol=0, atol=4e-16 if "logsumexp " in name else 0)
    np.testing.assert_allclose(fg.jit(lambda x: call(ours, x))(x), wanted, rtol=1e-14)
    check_grads(lambda x: call(ours, x), (x,))


def test_logsumexp_of_nothing_but_minus_infinity():
    x = np.full(3, -np.inf)
    assert fg.value_and_grad(ours.logsumexp)(x)[0] == -np.inf
    np.testing.assert_array_equal(fg.grad(ours.logsumexp)(x), 0.0)


# ------------------------------------------------------------------------- native under jit

LINE = np.concatenate([np.linspace(-60, 60, 1001), [0.0, -0.0, np.inf, -np.inf, np.nan, -1e200]])
LINE = np.concatenate([LINE, [-20.0, -20.0001, -1.0, -37.0, 1e-300]])
UNIT_LINE = np.concatenate([np.linspace(-0.1, 1.1, 1001), [0.0, 1.0, 0.3, 0.65, 1e-300, np.nan]])
NATIVE = {
    "ndtr": LINE,
    "log_ndtr": LINE,
    "ndtri": np.concatenate([UNIT_LINE, 10.0 ** -np.arange(1, 300, 3.0), [0.075, 0.925]]),
    "erfinv": np.concatenate([2 * UNIT_LINE - 1, [-0.0, -1.0, 1.0, 1.0 - 1e-15, 0.85, -0.85]]),
    "log_expit": LINE,
    "logit": UNIT_LINE,
    "entr": UNIT_LINE,
    "exp2": LINE,
    "expm1": LINE,
    "log1p": UNIT_LINE,
    "cbrt": LINE,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NATIVE)
def test_what_the_compiler_computes_itself_is_scipys_to_a_few_ulp(name, dtype):
    function, x = getattr(sp, name), NATIVE[name].astype(dtype)
    with np.errstate(all="ignore"):
        wanted, compiled = function(x), fg.jit(function)
        found = compiled(x)
    assert found.dtype == wanted.dtype
    # the square in the exponent of a tail is rounded: 37² / 2 ulp
    ulp = 700 if name.endswith("ndtr") else 8
    np.testing.assert_allclose(found, wanted, rtol=ulp * np.finfo(dtype).eps, atol=1e-307)
    assert "numpy" not in str(compiled.explain(x)).lower()


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_products_with_logarithms_are_scipys_at_every_corner(name):
    x, y = np.meshgrid([0.0, -0.0, 1.0, -2.0, np.inf, np.nan], [0.0, 1.0, -1.0, -2.0, np.inf, 2.5])
    function = getattr(sp, name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fg.jit(function)(x, y), function(x, y), rtol=1e-15)
    z = x[:, 2:4] + 0.5j
    np.testing.assert_allclose(fg.jit(function)(z, z), function(z, z), rtol=1e-14)


def test_spherical_bessel_functions_take_traced_values_at_zero_too():
    for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
        function = getattr(sp, name)
        for n in (0, 1, 4):
            x = np.array([0.3, 2.0])
            found = fg.grad(lambda x, f=function, n=n: np.sum(f(n, x)))(x)
            np.testing.assert_allclose(found, function(n, x, True), rtol=1e-12)
            check_grads(lambda x, f=function, n=n: f(n, x, True), (x,), order=1)
    assert fg.grad(lambda x: sp.spherical_jn(0, x))(0.0) == 0.0
    with pytest.raises(NotDifferentiableError, match="order"):
        fg.grad(lambda n: sp.spherical_jn(n, 1.0))(2.0)


def test_the_arithmetic_geometric_mean_against_mpmath():
    wanted = slope(lambda a: mpmath.agm(a, 3), 0.2)
    near(fg.grad(sp.agm)(0.2, 3.0), wanted, 1e-13)


def test_the_number_of_choices():
    n, k = np.array([5.0, 2.0, 3.0, -1.0]), np.array([2.0, 3.0, 0.0, 1.0])
    for repetition in (False, True):
        choices = lambda n, k, r=repetition: sp.comb(n, k, repetition=r)
        if repetition and not np.isnan(choices(n, k)[3]):  # SciPy before 1.17
            n, k = n[:3], k[:3]
        np.testing.assert_allclose(fg.jit(choices)(n, k), choices(n, k), rtol=1e-14)
    check_grads(sp.comb, (np.array([5.2, 4.1]), np.array([2.0, 1.5])), order=1)
    with pytest.raises(fg.errors.UnsupportedCallError, match="exact"):
        fg.grad(lambda n: sp.comb(n, 2, exact=True))(5.0)


@pytest.mark.parametrize(
    "operands",
    [(1.0, 2.0, 3.0, -1.0), (3.0, 0.2, 0.2, -40.0), (1.0, 1.0, 1.0, -1e-3), (2.0, 3.0, 1.0, -2.5)],
)
def test_carlsons_third_integral_at_negative_operands(operands):
    for k, found in enumerate(fg.grad(sp.elliprj, (0, 1, 2, 3))(*operands)):
        h = 1e-4 * abs(operands[k])
        values = [
            sp.elliprj(*operands[:k], operands[k] + j * h, *operands[k + 1 :])
            for j in (-2, -1, 1, 2)
        ]
        wanted = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert found == pytest.approx(wanted, rel=1e-7)
    assert np.isfinite(fg.hessian(lambda p: sp.elliprj(*operands[:3], p))(operands[3]))


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize(
    "operands", [(1 + 1j, 2, 3, 1), (1, 2, 3, -1 + 0.5j), (1, 2, 3, -1 - 0.1j)]
)
def test_carlsons_third_integral_at_complex_operands(operands, k):
    operands = list(map(complex, operands))
    call = lambda x: sp.elliprj(*operands[:k], x, *operands[k + 1 :])
    found = fg.jvp(call, (operands[k],), (1.0 + 0j,))[1]
    h = 1e-3
    at = [call(operands[k] + j * h) for j in (-3, -2, -1, 1, 2, 3)]
    wanted = (at[5] - at[0] - 9 * (at[4] - at[1]) + 45 * (at[3] - at[2])) / (60 * h)
    assert abs(found - wanted) < 1e-9 * max(1, abs(wanted)) + 1e-10


def test_the_zeta_function_has_no_slope_where_it_has_no_value():
    assert np.isnan(sp.zeta(0.5, 2.0)) and np.isnan(fg.grad(sp.zeta)(0.5, 2.0))


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
@pytest.mark.parametrize("x", [0.0, 0.7, -3.0, 31.0, 700.0])
def test_bessel_functions_with_values_of_our_own_have_scipys_derivatives(name, x):
    """To the third, also at 0, where I_1 / x is 0 / 0; at 0 the scaled ones have a kink."""
    with mpmath.workdps(40):
        order = int(name[1])
        scale = (lambda t: mpmath.exp(-abs(t))) if name.endswith("e") else (lambda t: 1)
        exact = lambda t: mpmath.besseli(order, t) * scale(t)
        for mine in (getattr(bessel, name), getattr(sp, name)):
            for k in range(4 if x or not name.endswith("e") else 1):
                wanted = float(mpmath.diff(exact, x, k))
                assert abs(mine(x) - wanted) <= 2e-13 * max(abs(wanted), abs(float(exact(x))))
                mine = fg.grad(mine)


@pytest.mark.parametrize("signed", [False, True])
def test_logsumexp_with_weights_has_scipys_bits(signed):
    draw = np.random.default_rng(1)
    x, b = draw.normal(size=(2, 3, 4)) * 3, draw.uniform(0.1, 2, (3, 4)) - 0.9 * signed
    for axis in (None, 1, (0, -1)):

        def call(x, b, axis=axis):
            return sp.logsumexp(x, axis=axis, b=b, return_sign=signed)

        found, wanted = fg.vjp(call, x, b)[0], call(x, b)
        for a, y in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(a, y, strict=True)
        check_grads(lambda x, b, call=call: fg.tree.leaves(call(x, b))[0], (x, b))


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_derivatives_of_spherical_bessel_functions_have_scipys_bits(name):
    z, function = np.linspace(0.3, 9, 40), getattr(sp, name)
    for n in range(5):
        call = lambda z, n=n: function(n, z, derivative=True)
        np.testing.assert_array_equal(fg.vjp(call, z)[0], call(z))
        check_grads(call, (z[::8],))


STABLE = {  # function: (mpmath's, operands where the textbook form of a derivative has no digit)
    "expm1": (mpmath.expm1, (-30.0,), (-100.0,)),
    "exprel": (lambda x: mpmath.expm1(x) / x, (600.0,), (-1e8,)),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (1e7,), (-1e7,)),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (1e10,), (-1e7,)),
    "k0e": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), (1e10,), (301.0,)),
    "k1e": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), (1e10,), (301.0,)),
    "struve": (mpmath.struveh, (200.0, 12.0), (200.0, 100.0)),
    "pseudo_huber": (
        lambda d, r: d * d * (mpmath.sqrt(1 + (r / d) ** 2) - 1),
        *((1e5, -1.0), (12.0, 1e-8), (1e-300, 3.0)),
    ),
    "beta": (mpmath.beta, (20.0, 1e-8), (1e-8, 100.0)),
    "betaln": (
        lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b),
        *((0.5, 1e-20), (1e-20, 1.5)),
    ),
    "poch": (lambda z, m: mpmath.gamma(z + m) / mpmath.gamma(z), (1e10, 14.5)),
}


@pytest.mark.parametrize("name", STABLE)
def test_derivatives_keep_their_digits_where_textbook_forms_lose_them(name):
    exact, *points = STABLE[name]
    for point in points:
        for k in range(len(point)):
            with mpmath.workdps(150):
                x, h = mpmath.mpf(point[k]), abs(mpmath.mpf(point[k])) * mpmath.mpf(10) ** -20
                sides = [exact(*point[:k], t, *point[k + 1 :]) for t in (x - h, x + h)]
                wanted = (sides[1] - sides[0]) / (2 * h)
            found = fg.grad(lambda *a: getattr(sp, name)(*a), k)(*point)
            assert abs(found - wanted) <= 1e-10 * abs(wanted), (point, k)


@pytest.mark.parametrize("call", [sp.yv, sp.yve, sp.kve])
def test_derivatives_by_the_argument_overflow_with_the_function(call):
    slope = fg.grad(lambda x: call(1000.0, x))(1.0)
    assert np.isinf(call(1000.0, 1.0)) and slope == -call(1000.0, 1.0)
