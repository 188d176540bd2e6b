"""SciPy's own programs on traced values: its values to the bit, and the derivatives of these."""

from __future__ import annotations

import importlib
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from older import OLDER, older_may_refuse

import funcgrad as fg
from funcgrad import tree
from funcgrad.errors import AbstractValueError, UnsupportedCallError

st = pytest.importorskip("scipy.stats")
sg = pytest.importorskip("scipy.signal")
nd = pytest.importorskip("scipy.ndimage")
ip = pytest.importorskip("scipy.interpolate")
sl = pytest.importorskip("scipy.linalg")
si = pytest.importorskip("scipy.integrate")
so = pytest.importorskip("scipy.optimize")
sp = pytest.importorskip("scipy.spatial")

from funcgrad.scipy import programs  # noqa: E402
from funcgrad.scipy.programs import KNOWN  # noqa: E402

draw = np.random.default_rng(6).uniform
OPERANDS = {
    "x": draw(0.5, 2, 9),
    "y": draw(0.5, 2, 9),
    "A": draw(0.5, 2, (3, 5)),
    "M": draw(0.5, 2, (3, 3)),
    "image": draw(0.5, 2, (7, 8)),
}
CONSTANTS = {"st": st, "sg": sg, "nd": nd, "ip": ip, "sl": sl, "si": si, "so": so, "np": np}
CONSTANTS["sp"] = sp
CONSTANTS |= {"t": np.arange(9.0), "labels": np.arange(56).reshape(7, 8) % 3}
STEP = 1e-6

CALLS = """
si.fixed_quad(np.exp, 0.1 * x[0], y[0])
sp.distance_matrix(A, A[::-1] + 0.1, 3)
sp.distance_matrix(A, M[:, :2] @ A[:2] + 1, threshold=1)
sp.minkowski_distance(A[:2], A[1:] + 2, 3)
sp.minkowski_distance_p(A[:2], A[1:] + 2, 3)
sp.procrustes(A.T, A.T[::-1] ** 2)
sp.geometric_slerp(x[:2] / np.linalg.norm(x[:2]), np.array([0.6, 0.8]), y[:3] / 3)
so.rosen(x)
so.rosen_der(x)
so.rosen_hess(x)
so.rosen_hess_prod(x, y)
st.pearsonr(x, y)
st.pearsonr(A, A[:, ::-1] ** 2, axis=1)
st.iqr(x)
st.iqr(A, axis=1, rng=(20, 80), scale="normal", keepdims=True)
st.tmean(x)
st.tmin(x)
st.tmax(A, axis=1)
st.gstd(A, axis=1)
st.boxcox(x, lmbda=0.3)
st.boxcox_llf(0.3, x)
st.gzscore(A, axis=1)
st.zmap(x, y)
st.kstat(x, 3)
st.kstatvar(x, 2)
st.variation(A, axis=1, keepdims=True)
st.median_abs_deviation(x)
st.describe(A, axis=1)
st.entropy(x)
st.entropy(x, y, base=2)
st.entropy(A, axis=1, keepdims=True)
st.differential_entropy(x)
st.differential_entropy(A, method="vasicek", axis=1)
st.trim_mean(x, 0.2)
st.trimboth(x, 0.2)
st.trim1(x, 0.2)
st.ttest_ind(x, y)
st.ttest_ind(A, A**2, axis=1, equal_var=False)
st.ttest_1samp(x, 1.0)
st.ttest_rel(x, y)
st.f_oneway(x, y)
st.bartlett(x, y)
st.levene(x, y)
st.jarque_bera(x)
st.skewtest(x)
st.wasserstein_distance(x, y)
st.energy_distance(x, y)
st.combine_pvalues(x / 3)
st.scoreatpercentile(x, 30)
st.circmean(x)
st.circvar(x)
st.circstd(A, axis=1)
st.pointbiserialr([0, 1, 0, 1, 1, 0, 1, 0, 1], x)
st.alexandergovern(x, y)
st.gmean(x, weights=y)
st.hmean(x, weights=y)
st.zscore(A, axis=None)
st.skew(A, axis=(0, 1))
st.kurtosis(A, axis=1, keepdims=True)
st.moment(A, [2, 3], axis=1)
st.sem(A, axis=1, keepdims=True)
sg.czt(x, 5)
sg.czt(A, m=6, w=np.exp(-0.3j), a=1.1, axis=0)
sg.zoom_fft(x, [0.1, 0.3], m=5)
sg.CZT(9, m=5)(x)
sg.ZoomFFT(9, [0.1, 0.3], m=5)(x)
sg.hilbert2(image)
sg.envelope(x, (1, 4))
sg.lombscargle(t, x, [0.5, 1.0])
sg.wiener(x, 3)
sg.freqs(x[:3], y[:3], worN=[1.0, 2.0])
sg.zpk2tf(x[:2], y[:2], 3.0 * x[3])
sg.ss2tf(M, M[:, :1], M[:1], M[:1, :1])
sg.deconvolve(x, y[:3])
sg.gausspulse(t * 0.01 * x[0], fc=5)
sg.sweep_poly(t, x[:3])
sg.vectorstrength(x, 0.7)
sg.gauss_spline(x, 3)
sg.cspline1d(x)
sg.qspline1d(x)
sg.cspline1d_eval(sg.cspline1d(x), np.array([0.5, 1.3]))
nd.center_of_mass(image)
nd.center_of_mass(image, labels, [1, 2])
nd.sum(image, labels, [0, 1, 2])
nd.sum_labels(image)
nd.mean(image, labels, [0, 1, 2])
nd.variance(image, labels, [0, 1, 2])
nd.standard_deviation(image, labels, [0, 1, 2])
nd.labeled_comprehension(image, labels, [0, 1], np.sum, float, 0)
st.spearmanr(x, y)
st.spearmanr(A, axis=1)
st.percentileofscore(x, 1.2)
st.percentileofscore(x, y, "weak")
st.linregress(x, y)
st.linregress(t, y, alternative="less").pvalue
sg.group_delay((x[:3], 3 + y[:3]), w=5)
nd.sobel(image, 0, mode="mirror")
nd.prewitt(image)
nd.laplace(image, mode=("wrap", "nearest"))
nd.gaussian_laplace(image, 0.8)
nd.gaussian_gradient_magnitude(image, [0.8, 1.1])
nd.generic_laplace(image, nd.sobel)
nd.generic_gradient_magnitude(image, nd.prewitt)
nd.uniform_filter(image, (3, 2))
nd.grey_opening(image, 3)
nd.grey_closing(image, structure=M)
nd.morphological_gradient(image, footprint=[[0, 1], [1, 1]])
nd.morphological_laplace(image, 2)
nd.white_tophat(image, 3)
nd.black_tophat(image, 3, structure=M)
ip.make_smoothing_spline(t, x, lam=0.3)(y)
st.wasserstein_distance(x, y, y, x)
st.tvar(x, (0.7, 1.8))
st.tstd(x)
st.tsem(x)
st.yeojohnson(x, lmbda=0.3)
st.yeojohnson_llf(0.3, x)
st.pmean(x, 3)
st.theilslopes(x, y)
st.chisquare(x, y * np.sum(x) / np.sum(y))
st.power_divergence(x, y * np.sum(x) / np.sum(y), lambda_="log-likelihood")
st.expectile(x, 0.3)
st.expectile(x, 0.8, weights=y)
st.expectile(x, y[0] / 3)
st.false_discovery_control(x / 3)
st.sigmaclip(x)
st.obrientransform(x, y)
sg.tf2zpk(x[:3], y[:3])
sg.bilinear(x[:3], y[:3], fs=2.0)
sg.lp2lp(x[:2], y[:3], 2.0)
sg.lp2hp(x[:2], y[:3], 2.0)
sg.sawtooth(x * 3, 0.3)
sg.square(x * 3)
sg.minimum_phase(x)
sg.lsim((M, M[:, :1], M[:1], M[:1, :1]), x, t * 0.1)
nd.extrema(image)
ip.lagrange(t[:4], x[:4])(y)
""".strip().splitlines()
if hasattr(sl, "kron"):  # until SciPy 1.17
    CALLS.append("sl.kron(A, M)")

WHERE_VALUES_ARE_KNOWN = """
st.skew(np.where(t > 7, np.nan, x), nan_policy="omit")
nd.maximum(image, labels, [0, 1, 2])
nd.minimum(image, labels, [0, 1, 2])
nd.median(image, labels, [0, 1, 2])
""".strip().splitlines()


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def operands(call: str) -> dict[str, Any]:
    code = compile(call, call, "eval")
    return {name: x for name, x in OPERANDS.items() if name in code.co_names}


def leaves(made: Any) -> list[Any]:
    """The arrays of what is returned, whatever class SciPy has for it."""
    if isinstance(made, np.poly1d) or hasattr(made, "_fields"):
        made = list(made)
    elif type(made).__name__ == "AlexanderGovernResult":
        made = [made.statistic, made.pvalue]
    return [x for x in tree.flatten(made)[0] if not isinstance(x, str)]


def total(call: str, given: dict[str, Any]) -> Any:
    """One number of all results, each element with a weight of its own."""
    found = 0.0
    for k, y in enumerate(leaves(eval(call, {**CONSTANTS, **given}))):
        weights = np.cos(np.arange(float(np.size(y))) + k).reshape(np.shape(y))
        found = found + np.sum(np.real(y * weights))
    return found


def directions(given: dict[str, Any]) -> dict[str, Any]:
    turn = np.random.default_rng(7).normal
    return {name: turn(size=x.shape) for name, x in given.items()}


def difference(call: str, given: dict[str, Any]) -> Any:
    ts = directions(given)
    up, down = ({n: x + s * ts[n] for n, x in given.items()} for s in (STEP, -STEP))
    return (total(call, up) - total(call, down)) / (2 * STEP)


def along(gradient: dict[str, Any], given: dict[str, Any]) -> Any:
    ts = directions(given)
    return sum(np.sum(g * ts[n]) for n, g in gradient.items())


@pytest.mark.parametrize("call", CALLS + WHERE_VALUES_ARE_KNOWN)
@older_may_refuse
def test_values_are_scipys_and_both_modes_agree_with_differences(call: str) -> None:
    if OLDER and "spline1d" in call:
        pytest.skip("there its values are elements of an array of objects")
    given = operands(call)
    wanted = [np.asarray(y) for y in leaves(eval(call, {**CONSTANTS, **given}))]
    seen: list[Any] = []

    def keep(g: Any) -> Any:
        seen.extend(np.asarray(fg.value(y)) for y in leaves(eval(call, {**CONSTANTS, **g})))
        return total(call, g)

    found = along(fg.grad(keep)(given), given)
    for a, b in zip(seen, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    expected = difference(call, given)
    _, forward = fg.jvp(lambda g: total(call, g), (given,), (directions(given),))
    assert abs(found - expected) <= 1e-5 * max(1.0, abs(expected))
    assert abs(forward - found) <= 1e-9 * max(1.0, abs(found))


@pytest.mark.parametrize("call", CALLS)
@older_may_refuse
def test_under_jit_and_vmap(call: str) -> None:
    given = operands(call)
    gradient = fg.grad(lambda g: total(call, g))
    wanted = along(gradient(given), given)
    staged = along(fg.jit(gradient)(given), given)
    stacked = {n: np.stack([1.01 * x, x]) for n, x in given.items()}
    mapped = {n: g[1] for n, g in fg.vmap(gradient)(stacked).items()}
    for found in (staged, along(mapped, given)):
        assert abs(found - wanted) <= 1e-8 * max(1.0, abs(wanted))


@pytest.mark.parametrize("call", CALLS[::4])
def test_second_order(call: str) -> None:
    given = operands(call)
    ts, gradient = directions(given), fg.grad(lambda g: total(call, g))
    _, found = fg.jvp(gradient, (given,), (ts,))
    up, down = ({n: x + s * ts[n] for n, x in given.items()} for s in (1e-5, -1e-5))
    above, below = gradient(up), gradient(down)
    for name in given:
        expected = (above[name] - below[name]) / 2e-5
        np.testing.assert_allclose(found[name], expected, rtol=2e-5, atol=2e-5)


def test_what_is_stated_of_programs_is_what_the_calls_show() -> None:
    short = {"scipy.stats": "st", "scipy.signal": "sg", "scipy.ndimage": "nd"}
    short |= {"scipy.interpolate": "ip", "scipy.linalg": "sl", "scipy.integrate": "si"}
    short |= {"scipy.optimize": "so", "scipy.spatial": "sp"}
    for full, record in KNOWN.items():
        module, _, name = full.rpartition(".")
        if not hasattr(importlib.import_module(module), name):
            assert full == "scipy.linalg.kron"
            continue
        calls = WHERE_VALUES_ARE_KNOWN if record.lacks else CALLS
        assert any(f"{short[module]}.{name}(" in c for c in calls), full
        answer = fg.supports(getattr(importlib.import_module(module), name))
        assert answer and ("jit" in answer.transforms) == (not record.lacks), full


@pytest.mark.parametrize(
    "call",
    [
        lambda x: sg.find_peaks(x, height=0.1)[1]["peak_heights"],
        lambda x: st.weightedtau(x, x[::-1]).statistic,
        lambda x: ip.splprep([x, 2 * x])[0][1][0],
    ],
)
def test_what_compiled_code_refuses_is_a_named_error(call: Any) -> None:
    with pytest.raises(UnsupportedCallError, match=r"cannot compute with traced.*(\n.*)*lambda"):
        fg.grad(lambda x: np.sum(call(x)))(OPERANDS["x"])


@pytest.mark.parametrize("name, pick", [("siegelslopes", 0), ("shapiro", 0)])
def test_what_leaves_python_in_some_releases_is_right_or_a_named_error(
    name: str, pick: int
) -> None:
    call = lambda x: getattr(st, name)(x)[pick]
    x, turn = OPERANDS["x"], np.cos(np.arange(9.0))
    try:
        gradient = fg.grad(call)(x)
    except UnsupportedCallError as error:
        assert f"{name} cannot compute with traced" in str(error)
    else:
        expected = (call(x + STEP * turn) - call(x - STEP * turn)) / (2 * STEP)
        assert abs(np.sum(gradient * turn) - expected) < 1e-6


WITH_NAN = np.where(np.arange(24).reshape(3, 8) == 10, np.nan, draw(0.5, 2, (3, 8)))
OF_SLICES = """
st.iqr(A, axis=1)
st.iqr(A, axis=0, keepdims=True)
st.iqr(A)
st.quantile(A, [0.3, 0.6], axis=1)
st.quantile(A, 0.3, axis=0)
st.median_abs_deviation(A, axis=1)
st.trim_mean(A, 0.2, axis=1)
st.tvar(A, axis=1)
st.tmin(A, axis=1)
st.skew(A, axis=(0, 1))
st.moment(A, [2, 3], axis=1)
st.gmean(B, axis=1, weights=A)
st.ttest_ind(A, B, axis=1)
st.ttest_ind(B, A, axis=1).df
st.theilslopes(A[1], B[0])
""".strip().splitlines()


def of_slices(call: str, x: Any) -> list[Any]:
    return leaves(eval(call, {**CONSTANTS, "A": x, "B": WITH_NAN[::-1] ** 2}))


@pytest.mark.parametrize("call", OF_SLICES)
@older_may_refuse
def test_nan_propagates_where_values_are_not_known(call: str) -> None:
    if "quantile" in call and not hasattr(st, "quantile"):
        pytest.skip("this SciPy has no quantile")
    wanted = [np.asarray(y) for y in of_slices(call, WITH_NAN)]
    for run in (lambda f: f, fg.jit):
        function = run(lambda x: [fg.numpy.asarray(y) for y in of_slices(call, x)])
        try:
            found = fg.vjp(function, WITH_NAN)[0]
        except AbstractValueError:  # in older releases of SciPy, and no more than is said
            lacks = KNOWN[call[: call.index("(")].replace("st.", "scipy.stats.")].lacks
            assert run is fg.jit and (OLDER or "jit" in lacks)
            continue
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["skew", "gmean", "iqr", "median_abs_deviation", "tmin"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_nan_are_omitted_in_all_axes(name: str, axis: Any) -> None:
    call = lambda x: getattr(st, name)(x, axis=axis, nan_policy="omit")
    found, pull = fg.vjp(call, WITH_NAN)
    np.testing.assert_array_equal(found, call(WITH_NAN))
    turn, seed = np.cos(np.arange(24.0)).reshape(3, 8), np.ones_like(found)
    expected = np.sum(call(WITH_NAN + STEP * turn) - call(WITH_NAN - STEP * turn)) / (2 * STEP)
    (gradient,) = pull(seed)
    assert not np.isnan(gradient).any() and gradient[1, 2] == 0
    assert abs(np.sum(gradient * turn) - expected) < 1e-6


@pytest.mark.parametrize("policy", ["omit", "raise"])
@pytest.mark.parametrize("axis", [1, None])
@older_may_refuse
def test_policies_that_look_for_nan_are_errors_where_values_are_not_known(
    policy: str, axis: Any
) -> None:
    with pytest.raises(UnsupportedCallError, match=f"nan_policy='{policy}' is not supported"):
        fg.jit(lambda x: st.skew(x, axis=axis, nan_policy=policy))(WITH_NAN)
    with pytest.raises(ValueError, match="contains nan"):
        st.skew(WITH_NAN, axis=axis, nan_policy="raise")


def test_a_branch_on_any_is_no_guess_where_values_are_not_known() -> None:
    t = np.arange(6.0) * 0.1
    call = lambda u: sg.lsim(([1.0], [1.0, 2.0]), u, t)[1]
    for run in (fg.jit, lambda f: lambda u: fg.vmap(f)(u[None])[0]):
        made = run(call)
        for u in (np.sin(t), 0 * t, np.cos(t)):  # it asks whether the first state is 0
            np.testing.assert_allclose(made(u), call(u), rtol=1e-12, atol=1e-15)
    # what it only refuses, or warns of, is asked of nothing
    made = fg.jit(lambda x: st.boxcox(x, lmbda=0.3))(OPERANDS["x"])
    np.testing.assert_allclose(made, st.boxcox(OPERANDS["x"], lmbda=0.3), rtol=1e-14)


def test_threads_that_meet_a_program_at_once_find_it_whole() -> None:
    start, failed = threading.Barrier(6), []

    def run() -> None:
        start.wait()
        try:
            fg.vjp(lambda x: (st.kurtosis(x), st.ttest_ind(x, x + 1)[0], st.iqr(x)), WITH_NAN[0])
        except BaseException as error:
            failed.append(error)

    for _ in range(3):
        programs.LOADER.forget()
        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed


def test_a_result_of_scipys_is_a_tree() -> None:
    x, y = OPERANDS["x"], OPERANDS["y"]
    made, pull = fg.vjp(st.ttest_ind, x, y)
    assert isinstance(made, type(st.ttest_ind(x, y))) and made.df == st.ttest_ind(x, y).df
    assert fg.tree.map(lambda v: 2 * v, made).statistic == 2 * made.statistic
