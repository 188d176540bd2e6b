"""What becomes of SciPy's functions for any array library, called on traced values.

A program of its own, because SciPy decides at its import: ``SCIPY_ARRAY_API=1 python
array_api_calls.py`` prints, for each call, "right" (both modes agree with differences),
"constant" (they say zero, as differences do), or the error.
"""

import json
import warnings

import numpy as np
import scipy.cluster.vq
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.testing import derivative_along


def words(text):
    return text.split()


X = np.array([0.31, 0.62, 0.17, 0.83, 0.44])
Y = np.array([0.52, 0.11, 0.73, 0.35, 0.64])
M = np.array([[0.9, 0.2, 0.4], [0.3, 0.8, 0.1], [0.5, 0.6, 0.7]])
W = np.array([0.25, 0.5, 0.25])


def of(*more, **keywords):
    """The call ``f(x, *more, **keywords)``, with arrays made those of the transform."""
    return lambda f: (
        lambda x: f(
            x, *[a if np.isscalar(a) or a is None else joined(a, x) for a in more], **keywords
        )
    )


def joined(a, x):
    """Data as arrays of the namespace that the traced values have."""
    return a + 0 * fnp.sum(x) if isinstance(a, np.ndarray) else a


PLAIN = of()
CALLS = {
    scipy.special: {
        **{
            name: (PLAIN, X)
            for name in words("""
    boxcox1p cbrt cosdg cosm1 cotdg ellipk ellipkm1 entr erf erfc erfcx erfinv exp1
    exp10 exp2 expi expit exprel gamma gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e
    log_ndtr loggamma logit ndtr ndtri psi radian rgamma sinc sindg spence tandg y0
    y1 zetac logsumexp softmax log_softmax gammasgn
""")
            if name not in ("boxcox1p", "radian", "zetac")
        },
        "zetac": (PLAIN, X + 2),
        "betainc": (lambda f: lambda x: f(1.5 + 0 * x, 2.5 + 0 * x, x), X),
        "betaincc": (lambda f: lambda x: f(1.5 + 0 * x, 2.5 + 0 * x, x), X),
        "betaln": (of(Y), X),
        "boxcox": (of(0.4), X),
        "boxcox1p": (of(0.4), X),
        "chdtr": (of(Y), X + 1),
        "chdtrc": (of(Y), X + 1),
        "fdtr": (of(2.5, Y), X + 1),
        "gammainc": (of(Y), X + 1),
        "gammaincc": (of(Y), X + 1),
        "huber": (of(Y), X),
        "inv_boxcox": (of(0.4), X),
        "kl_div": (of(Y), X),
        "multigammaln": (of(2), X + 3),
        "poch": (of(Y), X + 1),
        "pseudo_huber": (of(Y), X),
        "rel_entr": (of(Y), X),
        "stdtr": (lambda f: lambda x: f(3.0 + 0 * x, x), X),
        "xlog1py": (of(Y), X),
        "xlogy": (of(Y), X),
        "polygamma": (lambda f: lambda x: f(1, x), X),
        "zeta": (lambda f: lambda x: f(fg.value(0 * x) + 3.0, x), X + 1),
    },
    scipy.fft: {
        **{
            name: (PLAIN, X)
            for name in words("""
    fft ifft rfft hfft ihfft fftn ifftn rfftn fftshift ifftshift dct dst
""")
        },
        **{
            name: (PLAIN, M)
            for name in words("""
    fft2 ifft2 rfft2 irfft2 irfftn irfft hfft2 dctn
""")
        },
        "fht": (of(0.1, 0.5), X),
        "ifht": (of(0.1, 0.5), X),
    },
    scipy.integrate: {
        "trapezoid": (PLAIN, X),
        "cumulative_trapezoid": (PLAIN, X),
        "cumulative_simpson": (PLAIN, X),
        "romb": (PLAIN, X),
        "simpson": (PLAIN, X),
        "tanhsinh": (
            lambda f: lambda x: f(lambda t, a: fnp.exp(-a * t), 0.0 * x, x, args=(x,)).integral,
            X,
        ),
    },
    scipy.interpolate: {
        "CubicSpline": (lambda f: lambda x: f(joined(np.arange(5.0), x), x)(1.3), X),
        "RBFInterpolator": (
            lambda f: lambda x: f(joined(X[:, None], x), x)(joined(np.array([[1.3]]), x)),
            X,
        ),
    },
    scipy.linalg: {
        "block_diag": (of(Y), X),
        "fiedler": (PLAIN, X),
        "orthogonal_procrustes": (lambda f: lambda x: f(x, joined(M.T.copy(), x))[0], M),
    },
    scipy.signal: {
        "convolve": (of(W), X),
        "correlate": (of(W), X),
        "convolve2d": (of(M), M),
        "fftconvolve": (of(W), X),
        "oaconvolve": (of(W), X),
        "detrend": (PLAIN, X),
        "envelope": (PLAIN, np.concatenate([X, Y])),
        "filtfilt": (
            lambda f: lambda x: f(joined(W, x), joined(np.array([1.0]), x), x, padlen=3),
            X,
        ),
        "hilbert": (PLAIN, X),
        "lfilter": (lambda f: lambda x: f(joined(W, x), joined(np.array([1.0, 0.3]), x), x), X),
        "resample": (of(8), X),
        "freqz": (lambda f: lambda x: f(x, worN=8)[1], X),
        "freqz_zpk": (lambda f: lambda x: f(x, joined(Y, x), 1.0, worN=8)[1], X),
        "lp2lp": (lambda f: lambda x: f(joined(W, x), x)[1], X),
        "tf2zpk": (lambda f: lambda x: f(joined(W, x), x)[1], X),
        "zpk2tf": (lambda f: lambda x: f(x, joined(Y, x), 1.0)[0], X),
        "vectorstrength": (lambda f: lambda x: f(x, 0.7)[0], X),
        "savgol_filter": (of(3, 1), X),
        "gauss_spline": (of(3), X),
    },
    scipy.stats: {
        **{
            name: (PLAIN, X)
            for name in words("""
    differential_entropy entropy gmean hmean iqr kstat kstatvar kurtosis
    median_abs_deviation skew sem tmean tvar tstd tsem tmin tmax variation zscore
    gzscore gstd circmean circvar circstd rankdata lmoment mode
""")
        },
        "entropy": (of(Y), X),
        "pmean": (of(3.0), X),
        "moment": (of(3), X),
        "zmap": (of(Y), X),
        "trim_mean": (of(0.2), X),
        "describe": (lambda f: lambda x: f(x).variance, X),
        "boxcox_llf": (lambda f: lambda x: f(0.4, x), X),
        "yeojohnson_llf": (lambda f: lambda x: f(0.4, x), X),
        "pearsonr": (lambda f: lambda x: f(x, joined(Y, x)).statistic, X),
        "ttest_1samp": (lambda f: lambda x: f(x, 0.3).pvalue, X),
        "ttest_ind": (lambda f: lambda x: f(x, joined(Y, x)).pvalue, X),
        "ttest_rel": (lambda f: lambda x: f(x, joined(Y, x)).pvalue, X),
        "f_oneway": (lambda f: lambda x: f(x, joined(Y, x)).pvalue, X),
        "skewtest": (lambda f: lambda x: f(x).statistic, np.concatenate([X, Y])),
        "kurtosistest": (lambda f: lambda x: f(x).statistic, np.concatenate([X, Y, X**2, Y**3])),
        "normaltest": (lambda f: lambda x: f(x).statistic, np.concatenate([X, Y, X**2, Y**3])),
        "jarque_bera": (lambda f: lambda x: f(x).pvalue, X),
        "power_divergence": (lambda f: lambda x: f(x).statistic, X),
        "chisquare": (lambda f: lambda x: f(x).pvalue, X),
        "bartlett": (lambda f: lambda x: f(x, joined(Y, x)).statistic, X),
        "levene": (lambda f: lambda x: f(x, joined(Y, x)).statistic, X),
        "combine_pvalues": (lambda f: lambda x: f(x).pvalue, X),
        "false_discovery_control": (PLAIN, X),
        "directional_stats": (lambda f: lambda x: f(x).mean_direction, M),
        "quantile": (of(0.3), X),
        "sigmaclip": (lambda f: lambda x: f(x)[0], X),
        "alexandergovern": (lambda f: lambda x: f(x, joined(Y, x)).statistic, X),
    },
    scipy.optimize: {
        **{name: (PLAIN, X) for name in ("rosen", "rosen_der", "rosen_hess")},
        "rosen_hess_prod": (of(Y), X),
    },
    scipy.constants: {
        "convert_temperature": (of("Celsius", "Kelvin"), X),
        "lambda2nu": (PLAIN, X),
        "nu2lambda": (PLAIN, X),
    },
    scipy.cluster.vq: {"whiten": (PLAIN, M)},
    scipy.differentiate: {
        "derivative": (lambda f: lambda x: f(fnp.tanh, x).df, X),
        "jacobian": (lambda f: lambda x: f(lambda y: y**2, x).df, X),
    },
    scipy.ndimage: {
        "gaussian_filter": (of(1.0), M),
        "convolve": (of(M), M),
        "map_coordinates": (lambda f: lambda x: f(joined(M, x), x), 1 + 0.5 * M[:2]),
        "uniform_filter": (of(3), M),
        "sobel": (PLAIN, M),
    },
}


def parts(y):
    """The result as one vector of real numbers, weighted, so that sums do not cancel."""
    y = fnp.ravel(fnp.asarray(y))
    return fnp.concatenate([fnp.real(y), fnp.imag(y)]) if np.iscomplexobj(y) else y


def outcome(f, x):
    def g(x):
        y = parts(f(x))
        return fnp.sum(y * np.cos(np.arange(y.shape[0])))

    t = np.sin(np.arange(x.size)).reshape(x.shape) + 1.2
    (wanted,), (error,) = derivative_along(g, (x,), (t,), step=0.01)
    slack = 1e-6 * (1 + abs(wanted)) + 10 * error
    try:
        value, gradient = fg.value_and_grad(g)(x)
        moved = fg.jvp(g, (x,), (t,))[1]
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    if abs(value - g(x)) > 1e-12 * (1 + abs(value)):
        return f"another value: {value} and not {g(x)}"
    for found in (np.sum(gradient * t), moved):
        if not abs(found - wanted) <= slack:
            return f"wrong: {found} and not {wanted}"
    return "constant" if not np.any(gradient) else "right"


def main():
    warnings.simplefilter("ignore")
    found = {}
    with np.errstate(all="ignore"):
        for module, calls in CALLS.items():
            for name, (call, x) in calls.items():
                found[f"{module.__name__}.{name}"] = outcome(call(getattr(module, name)), x)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
