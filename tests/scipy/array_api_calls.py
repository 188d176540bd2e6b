"""What becomes of SciPy's functions for any array library, called on traced values.

A program of its own, because SciPy decides at its import: ``SCIPY_ARRAY_API=1 python
array_api_calls.py`` prints, for each call, "right" (both modes agree with differences),
"constant" (they say zero, as differences do), or the error.
"""

import json
import warnings

import numpy as np
import scipy.cluster.hierarchy
import scipy.cluster.vq
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.optimize.elementwise
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


def beside(*constants, after=()):
    """The call ``f(*constants, x, *after)``, with constants as arrays of the shape of x."""
    return lambda f: (
        lambda x: f(
            *[fg.value(0 * x) + c for c in constants], x, *[fg.value(0 * x) + c for c in after]
        )
    )


def at(where, *more):
    """Where an interpolation of heights x over 0, 1, … is evaluated."""
    return lambda f: lambda x: f(joined(np.arange(5.0), x), x, *more)(where)


def second(a, *more, part=1):
    """The call ``f(a, x, *more)``, and which of its results is taken."""
    return lambda f: lambda x: f(joined(a, x), x, *more)[part]


def zeros_and(poles, *more, part=0):
    return lambda f: lambda x: f(x, joined(poles, x), 1.0, *more)[part]


def sections(x):
    """Filters of second order from their coefficients without the one that is 1."""
    return fnp.concatenate([x[:, :3], fnp.ones_like(x[:, :1]), x[:, 3:]], axis=1)


def statistic(*more, **keywords):
    return lambda f: lambda x: f(x, *[joined(a, x) for a in more], **keywords).statistic


PLAIN = of()
XY = np.concatenate([X, Y])
SECTIONS = np.array([[0.25, 0.5, 0.25, 0.3, 0.1], [0.5, 0.2, 0.1, -0.2, 0.05]])
LONG = 0.93 * np.concatenate([X, Y, X**2, Y**3])
CALLS = {
    scipy.special: {
        **{name: (beside(2.0, 5.0), X) for name in words("bdtr bdtrc bdtri nbdtr nbdtrc nbdtri")},
        **{name: (beside(1.5, 2.5), X) for name in words("betaincinv gdtr gdtrc hyp1f1")},
        **{name: (beside(2.5, 1.5), X) for name in words("fdtrc fdtri")},
        **{name: (beside(2.0), X) for name in words("expn pdtr pdtrc pdtri")},
        **{name: (beside(3.0), X) for name in words("chdtri stdtrit")},
        **{name: (beside(1.5), X) for name in words("gammaincinv gammainccinv")},
        "binom": (of(Y), X + 5),
        "digamma": (PLAIN, X),
        "inv_boxcox1p": (of(0.4), X),
        "lpmv": (beside(1.0, 2.0), X),
        "radian": (beside(after=(2.0, 3.0)), X),
        "yn": (lambda f: lambda x: f(2, x), X),
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
    fft ifft rfft hfft ihfft fftn ifftn rfftn fftshift ifftshift dct dst idct idst
""")
        },
        **{
            name: (PLAIN, M)
            for name in words("""
    fft2 ifft2 rfft2 irfft2 irfftn irfft hfft2 dctn dstn idctn idstn hfftn ihfft2 ihfftn
""")
        },
        "fht": (of(0.1, 0.5), X),
        "ifht": (of(0.1, 0.5), X),
    },
    scipy.integrate: {
        "cubature": (
            lambda f: (
                lambda x: (
                    f(
                        lambda t, a: fnp.exp(-t[:, 0] * a),
                        joined(np.array([0.0]), x),
                        joined(np.array([1.0]), x),
                        args=(x[0],),
                    ).estimate
                )
            ),
            X,
        ),
        "nsum": (
            lambda f: (
                lambda x: (
                    f(
                        lambda k, a: a**k,
                        joined(np.zeros(5), x),
                        joined(np.full(5, 6.0), x),
                        args=(x,),
                    ).sum
                )
            ),
            X,
        ),
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
        **{name: (at(1.3), X) for name in words("Akima1DInterpolator PchipInterpolator")},
        "BPoly": (lambda f: lambda x: f(x, joined(np.arange(4.0), x))(1.3), M),
        "NdBSpline": (
            lambda f: lambda x: f((joined(np.arange(9.0), x),), x, 3)(joined(np.array([[4.3]]), x)),
            X,
        ),
        "make_smoothing_spline": (at(1.3, None, 0.1), X),
        "BSpline": (lambda f: lambda x: f(joined(np.arange(9.0), x), x, 3)(4.3), X),
        "CubicHermiteSpline": (lambda f: at(1.3, joined(Y, X))(f), X),
        "PPoly": (lambda f: lambda x: f(x, joined(np.arange(4.0), x))(1.3), M),
        "RegularGridInterpolator": (
            lambda f: lambda x: f((joined(np.arange(5.0), x),), x)(joined(np.array([[1.3]]), x)),
            X,
        ),
        "make_interp_spline": (at(1.3), X),
        "make_lsq_spline": (
            lambda f: (
                lambda x: f(
                    joined(np.linspace(0, 4, 10), x),
                    x,
                    joined(np.array([0.0, 0, 0, 0, 2, 4, 4, 4, 4]), x),
                )(1.3)
            ),
            XY,
        ),
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
        **{name: (PLAIN, X) for name in words("cspline1d qspline1d")},
        **{name: (second(W), X[:3]) for name in words("bilinear lp2hp lp2bp lp2bs")},
        **{
            name: (zeros_and(Y, 2.0), X)
            for name in words("bilinear_zpk lp2lp_zpk lp2hp_zpk lp2bp_zpk lp2bs_zpk")
        },
        "correlate2d": (of(M), M),
        "cspline1d_eval": (of(np.array([1.3])), X),
        "deconvolve": (lambda f: lambda x: f(x, joined(W, x))[0], X),
        "firwin": (lambda f: lambda x: f(5, x[0]), X),
        "freqs": (lambda f: lambda x: f(x, joined(W, x), worN=joined(Y, x))[1], X),
        "freqs_zpk": (zeros_and(Y, Y, part=1), X),
        "freqz_sos": (lambda f: lambda x: f(sections(x), worN=8)[1], SECTIONS),
        "group_delay": (lambda f: lambda x: f((x, joined(np.array([1.0]), x)), w=8)[1], X),
        "hilbert2": (PLAIN, M),
        "lfilter_zi": (
            lambda f: lambda x: f(joined(W, x), fnp.concatenate([fnp.ones(1), x])),
            0.3 * X[:2],
        ),
        "lfiltic": (
            lambda f: lambda x: f(joined(W, x), joined(np.array([1.0, 0.3]), x), x),
            X[:2],
        ),
        "medfilt": (of(3), X),
        "medfilt2d": (of(3), M),
        "order_filter": (lambda f: lambda x: f(x, fnp.array(np.ones((3, 3))), 2), M),
        "minimum_phase": (PLAIN, XY),
        "normalize": (second(W, part=0), X),
        "resample_poly": (of(2, 1), X),
        "sos2tf": (lambda f: lambda x: f(sections(x))[0], SECTIONS),
        "sos2zpk": (lambda f: lambda x: f(sections(x))[2], SECTIONS),
        "sosfilt": (lambda f: lambda x: f(joined(sections(SECTIONS), x), x), XY),
        "sosfilt_zi": (lambda f: lambda x: f(sections(x)), SECTIONS),
        "sosfiltfilt": (lambda f: lambda x: f(joined(sections(SECTIONS), x), x, padlen=3), XY),
        "sosfreqz": (lambda f: lambda x: f(sections(x), worN=8)[1], SECTIONS),
        "tf2sos": (
            lambda f: lambda x: f(joined(W, x), fnp.concatenate([fnp.ones(1), x])),
            0.3 * X[:2],
        ),
        "upfirdn": (lambda f: lambda x: f(joined(W, x), x, 2), X),
        "wiener": (of(3), X),
        "zpk2sos": (lambda f: lambda x: f(x, joined(Y[:2], x), 1.0), X[:2]),
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
            name: (statistic(Y), X)
            for name in words("""
    ansari brunnermunzel chatterjeexi fligner kruskal mannwhitneyu mood spearmanrho
""")
        },
        "ks_1samp": (lambda f: lambda x: f(x, fnp.tanh).statistic, X),
        "cramervonmises": (lambda f: lambda x: f(x, fnp.tanh).statistic, X),
        "cramervonmises_2samp": (statistic(Y, method="asymptotic"), X),
        "epps_singleton_2samp": (statistic(LONG), XY),
        "friedmanchisquare": (statistic(Y, X**2), X),
        "ttest_ind_from_stats": (
            lambda f: lambda x: f(x, joined(Y, x), 5, joined(Y / 2, x), joined(X, x), 6).pvalue,
            X,
        ),
        "wilcoxon": (statistic(Y), X),
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
    scipy.optimize.elementwise: {
        "find_root": (
            lambda f: lambda x: f(lambda t, a: t**3 - a, (0.0 * x, 0.0 * x + 2.0), args=(x,)).x,
            X,
        ),
        "find_minimum": (
            lambda f: (
                lambda x: (
                    f(
                        lambda t, a: (t - a) ** 2,
                        (0.0 * x - 1, 0.0 * x + 0.1, 0.0 * x + 2),
                        args=(x,),
                    ).x
                )
            ),
            X,
        ),
    },
    scipy.cluster.hierarchy: {
        name: (PLAIN, M) for name in ("single", "average", "ward", "linkage", "centroid")
    },
    scipy.cluster.vq: {
        "whiten": (PLAIN, M),
        "vq": (lambda f: lambda x: f(x, joined(M.T.copy(), x))[1], M),
    },
    scipy.differentiate: {
        "hessian": (lambda f: lambda x: f(lambda y: fnp.sum(y**3, axis=0), x).ddf, X[:2]),
        "derivative": (lambda f: lambda x: f(fnp.tanh, x).df, X),
        "jacobian": (lambda f: lambda x: f(lambda y: y**2, x).df, X),
    },
    scipy.ndimage: {
        **{
            name: (PLAIN, M)
            for name in words("""
    laplace prewitt spline_filter spline_filter1d mean maximum minimum sum sum_labels
    standard_deviation variance median center_of_mass
""")
        },
        **{
            name: (of(3), M)
            for name in words("""
    maximum_filter minimum_filter median_filter uniform_filter1d maximum_filter1d
    minimum_filter1d grey_closing grey_dilation grey_erosion grey_opening
    morphological_gradient morphological_laplace white_tophat black_tophat
""")
        },
        **{
            name: (of(1.0), M)
            for name in words("gaussian_gradient_magnitude gaussian_laplace gaussian_filter1d")
        },
        **{name: (of(W), M) for name in words("convolve1d correlate1d")},
        "correlate": (of(M), M),
        "affine_transform": (of(np.array([0.9, 0.8])), M),
        "percentile_filter": (of(30, 3), M),
        "rank_filter": (of(2, 3), M),
        "rotate": (of(30.0), M),
        "shift": (of(0.3), M),
        "zoom": (of(2), M),
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
