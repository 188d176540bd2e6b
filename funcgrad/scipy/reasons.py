"""Why functions of SciPy have no definition here: what `supports` and the coverage page say."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable

__all__ = ["REASONS", "REFUSED", "is_refused", "why_not"]

_OF: dict[str, dict[str, str]] = {
    "scipy.cluster.vq": {"it searches for codes, which vq takes": "kmeans kmeans2"},
    "scipy.linalg": {
        "it makes an array of constants": (
            "dft hadamard helmert hilbert invhilbert invpascal pascal"
        ),
        "it answers a question about values": "bandwidth ishermitian issymmetric expm_cond",
        "it finds routines of LAPACK": "find_best_blas_type get_blas_funcs get_lapack_funcs",
        "it draws random numbers": "clarkson_woodruff_transform",
        "take qr of the new matrix": "qr_delete qr_insert qr_update",
        "take the complex form of schur, or eig": "cdf2rdf rsf2csf qz ordqz",
        "it is a step of others, which have rules: schur, eig, svd": (
            "hessenberg matrix_balance cossin"
        ),
    },
    "scipy.special": {
        "it makes an array of constants, or a polynomial of them": (
            "ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros "
            "ker_zeros kerp_zeros kelvin_zeros jn_zeros jnp_zeros jnjnp_zeros jnyn_zeros y0_zeros "
            "y1_zeros y1p_zeros yn_zeros ynp_zeros erf_zeros fresnel_zeros fresnelc_zeros "
            "fresnels_zeros euler chebyc chebys chebyt chebyu gegenbauer genlaguerre "
            "hermite hermitenorm jacobi laguerre legendre sh_chebyt sh_chebyu sh_jacobi "
            "sh_legendre roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer "
            "roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi roots_laguerre "
            "roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi roots_sh_legendre "
            "c_roots cg_roots h_roots he_roots j_roots js_roots l_roots la_roots p_roots ps_roots "
            "s_roots t_roots ts_roots u_roots us_roots"
        ),
        "SciPy 1.17 has it no more; take sph_harm_y": "sph_harm",
        "it takes whole numbers": "factorial2 factorialk stirling2",
        "it is a setting": "geterr seterr",
        "it gives all orders up to one; take the function of one order": (
            "assoc_legendre_p_all legendre_p_all sph_harm_y_all sph_legendre_p_all lmbda lqmn lqn "
            "pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn mathieu_even_coef mathieu_odd_coef "
            "obl_cv_seq pro_cv_seq clpmn lpmn lpn"
        ),
        "it has no formula in functions that have a rule": ("ellip_harm ellip_harm_2 ellip_normal"),
    },
    "scipy.fft": {
        "it makes an array of constants, or a whole number": (
            "fftfreq rfftfreq fhtoffset next_fast_len prev_fast_len"
        ),
        "it is a setting": (
            "get_workers set_workers register_backend set_backend set_global_backend skip_backend"
        ),
    },
    "scipy.integrate": {
        "it makes an array of constants": "lebedev_rule newton_cotes",
    },
    "scipy.optimize": {
        "it prints": "show_options linprog_verbose_callback",
        "the pairs that it finds have no derivative; index the costs with them": (
            "linear_sum_assignment quadratic_assignment"
        ),
    },
    "scipy.spatial.distance": {
        "it compares truth values": "dice jaccard rogerstanimoto russellrao sokalsneath yule",
        "it counts, or answers a question about values": (
            "hamming is_valid_dm is_valid_y num_obs_dm num_obs_y"
        ),
        "it is the distance of one pair, which cdist gives": "directed_hausdorff",
    },
}

_SEARCHES: dict[str, dict[str, str]] = {
    "scipy.integrate": {
        "it calls a function of yours at places that it chooses by the values; take quad": (
            "cubature nsum qmc_quad tanhsinh"
        ),
        "take scipy.optimize.root of the equations at points of yours": "solve_bvp",
        "take solve_ivp": (
            "OdeSolver ode ode.set_initial_value complex_ode complex_ode.set_initial_value"
        ),
    },
    "scipy.optimize": {
        "where it stops is decided by comparisons; take minimize_scalar, or brent": "bracket",
        "the length of a step is decided by comparisons; take minimize": (
            "line_search line_search_wolfe2"  # its own name
        ),
        "take scipy.optimize.minimize with that method, whose result has derivatives": (
            "fmin_l_bfgs_b fmin_tnc fmin_slsqp fmin_cobyla"
        ),
        "whole numbers do not move; take linprog with these given": "milp",
    },
    "scipy.stats": {"it searches, by steps that depend on values alone": "ppcc_max"},
}
"""Of these the code would run on traced values, and may give a derivative of 0 without a word."""


def _named(table: dict[str, dict[str, str]]) -> dict[str, str]:
    return {
        f"{module}.{name}": reason
        for module, reasons in table.items()
        for reason, names in reasons.items()
        for name in names.split()
    }


REFUSED = _named(_SEARCHES)
"""Full public name of a function that traced values never reach -> what to take."""

_FOR_ANY_ARRAYS = frozenset(f"scipy.integrate.{name}" for name in ("cubature", "nsum", "tanhsinh"))


def is_refused(name: str) -> bool:
    """Whether traced values never reach a function: not where SciPy's own code computes on them.

    So it does of the few of these that are written for any array library, if SciPy was told to ask
    for one (``SCIPY_ARRAY_API=1``).
    """
    if name in _FOR_ANY_ARRAYS:
        with contextlib.suppress(ImportError):
            return not importlib.import_module("scipy._lib._array_api").SCIPY_ARRAY_API
    return name in REFUSED


REASONS = _named(_OF) | REFUSED
"""Full public name -> why it has no definition, or one that says so."""


def why_not(module: str) -> Callable[[str], str]:
    """What the modules here that stand for SciPy's say of a name that only SciPy has."""
    theirs = module.removeprefix("funcgrad.")

    def reason(name: str) -> str:
        if not hasattr(importlib.import_module(theirs), name):
            return ""
        told = REASONS.get(f"{theirs}.{name}")
        return f": {told}; take SciPy's" if told else ": funcgrad has no derivative of SciPy's"

    return reason
