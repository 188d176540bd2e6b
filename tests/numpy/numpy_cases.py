"""One line per case: a call written once for a namespace `m` (NumPy or funcgrad.numpy).

Case(name, call, operands): all operands are traced. Flags tell what a case cannot do:
"concrete" needs values (no vmap, no jit), "complex" has complex results where they are not known,
"flat" has no derivative or a kink at the operands, "np-only"/"fnp-only" exists in one of the two
ways of calling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    flags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng([7, *seed])


V = rng(0).uniform(-2, 2, 5)
W = rng(1).uniform(0.5, 2, 5)
A = rng(2).uniform(-2, 2, (3, 4))
B = rng(3).uniform(0.3, 1.7, (3, 4))
M = rng(4).uniform(-1, 1, (3, 3)) + 3 * np.eye(3)
S = M @ M.T
T = rng(5).uniform(-2, 2, (2, 3, 4))
F = A.astype(np.float32)
Z = rng(6).uniform(-1, 1, 4) + 1j * rng(7).uniform(-1, 1, 4)
LONG = rng(8).normal(size=1001)
NANS = np.where(rng(9).uniform(size=(3, 4)) < 0.3, np.nan, A)
MASK = np.array([True, False, True, True])
I = np.array([2, 0, 2])

CASES: list[Case] = []


def case(name: str, call: Callable[..., Any], *args: Any, flags: str = "") -> None:
    CASES.append(Case(name, call, args, frozenset(flags.split())))


def names(text: str) -> list[str]:
    return text.split()


# ----------------------------------------------------------------------------- ufuncs

for _name in (
    *names("negative positive square absolute abs fabs exp exp2 expm1 sin cos tanh sinh cosh"),
    *names("arctan arcsinh degrees radians deg2rad rad2deg sign floor ceil trunc rint"),
    *names("isnan isinf isfinite signbit logical_not sinc conjugate tan"),
):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x), A)
    case(f"{_name} scalar", lambda m, x, n=_name: getattr(m, n)(x), 0.7)
for _name in names("sqrt cbrt log log2 log10 log1p reciprocal"):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x), B)
    case(f"{_name} f32", lambda m, x, n=_name: getattr(m, n)(x), B.astype(np.float32))
for _name in names("arcsin arccos arctanh"):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x), A / 3)
case("arccosh", lambda m, x: m.arccosh(x), B + 1)
for _name in (
    *names("add subtract multiply divide true_divide arctan2 hypot logaddexp logaddexp2"),
    *names("maximum minimum fmax fmin copysign less less_equal greater greater_equal equal"),
    *names("not_equal logical_and logical_or logical_xor floor_divide remainder mod fmod"),
):
    case(_name, lambda m, x, y, n=_name: getattr(m, n)(x, y), A, B)
    case(f"{_name} row", lambda m, x, y, n=_name: getattr(m, n)(x, y), A, B[0])
    case(f"{_name} number", lambda m, x, n=_name: getattr(m, n)(x, 0.37), F)
case("power", lambda m, x, y: m.power(x, y), B, A)
case("power int", lambda m, x: m.power(x, 3), A)
case("float_power", lambda m, x, y: m.float_power(x, y), B, A)
case("heaviside", lambda m, x: m.heaviside(x, 0.5), A)
case("divmod", lambda m, x: m.divmod(x, 0.37)[1], A)
case("divmod 0", lambda m, x: m.divmod(x, 0.37)[0], A)
case("modf", lambda m, x: m.modf(x)[0], A)
case("modf 1", lambda m, x: m.modf(x)[1], A)
case(
    "modf special",
    lambda m, x: m.modf(x),
    np.array([-2.0, 2.0, -0.0, np.inf, -np.inf]),
    flags="flat",
)
case("dtype=", lambda m, x: m.add(x, x, dtype=np.float32), A, flags="flat")
case("dtype= wide", lambda m, x: m.sin(x, dtype=np.float64), F)
case("outer", lambda m, x, y: m.multiply.outer(x, y), V, A)
case("outer add", lambda m, x, y: m.add.outer(x, y), V, W)
case("add.reduce", lambda m, x: m.add.reduce(x), A)
case("add.reduce axis", lambda m, x: m.add.reduce(x, axis=1, keepdims=True), A)
case("add.reduce all", lambda m, x: m.add.reduce(x, axis=None), A)
case("multiply.reduce", lambda m, x: m.multiply.reduce(x, 1), A)
case("maximum.reduce", lambda m, x: m.maximum.reduce(x), A)
case("minimum.reduce", lambda m, x: m.minimum.reduce(x, axis=(0, 1)), A)
case("logical_and.reduce", lambda m, x: m.logical_and.reduce(x), A)
case("logical_or.reduce", lambda m, x: m.logical_or.reduce(x), A)
case("add.accumulate", lambda m, x: m.add.accumulate(x), A)
case("multiply.accumulate", lambda m, x: m.multiply.accumulate(x, axis=1), A)
case("complex product", lambda m, z: m.abs(m.exp(z) * z), Z)

# --------------------------------------------------------------------- other pointwise

case("clip", lambda m, x: m.clip(x, -0.5, 0.8), A)
case("clip f32", lambda m, x: m.clip(x, -0.5, 0.8), F)
case("clip low", lambda m, x: m.clip(x, -0.5, None), A)
case("clip high", lambda m, x: m.clip(x, None, 0.5), A)
case("clip arrays", lambda m, x, lo, hi: m.clip(x, lo, hi), A, -B[0], B[1])
case(
    "clip zero", lambda m, x: m.clip(x, 0.0, 1.0), np.array([-0.0, 0.0, np.nan, 2.0]), flags="flat"
)
case("clip keyword", lambda m, x: m.clip(x, min=0.1, max=0.2), A)
case("round", lambda m, x: m.round(x), A)
case("round 2", lambda m, x: m.round(x, 2), A)
case("around -1", lambda m, x: m.around(x * 100, -1), A)
case("fix", lambda m, x: m.fix(x), A)
case("sinc zero", lambda m, x: m.sinc(x), np.array([0.0, 1e-9, 1e-3, 0.1, 0.2, -3.0]))
case("nan_to_num", lambda m, x: m.nan_to_num(x), NANS, flags="flat")
case(
    "nan_to_num inf",
    lambda m, x: m.nan_to_num(x, nan=1.0, posinf=3.0),
    np.array([np.inf, -np.inf, np.nan, 1.0]),
    flags="flat",
)
case("isclose", lambda m, x: m.isclose(x, A), A)
case("allclose", lambda m, x: m.allclose(x, A), A, flags="flat concrete")
case("array_equal", lambda m, x: m.array_equal(x, A), A, flags="flat concrete")
case("isposinf", lambda m, x: m.isposinf(x), A)
case("angle", lambda m, z: m.angle(z), Z)
case("angle deg", lambda m, z: m.angle(z, deg=True), Z)
case("angle real", lambda m, x: m.angle(x), A)
case("real", lambda m, z: m.real(z), Z)
case("imag", lambda m, z: m.imag(z), Z)
case("imag of real", lambda m, x: m.imag(x), A)
case("conj", lambda m, z: m.real(m.conj(z) * z), Z)
case("where", lambda m, x, y: m.where(x > 0, x, y), A, B)
case("where number", lambda m, x: m.where(x > 0, x, 1.5), F)
case("where 1", lambda m, x: x[m.where(x > 0)], A, flags="concrete")
case("select", lambda m, x: m.select([x > 1, x > 0], [x * 2, x * x], 0.5), A)
case(
    "piecewise",
    lambda m, x: m.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v]),
    V,
    flags="concrete",
)
case("choose", lambda m, x, y: m.choose(np.array([0, 1, 1, 0]), [x, y]), A[0], B[0])

# ------------------------------------------------------------------------- reductions

for _name in names("sum prod mean var std max min amax amin ptp median any all"):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x), A)
    case(f"{_name} axis", lambda m, x, n=_name: getattr(m, n)(x, axis=1), T)
    case(f"{_name} axes", lambda m, x, n=_name: getattr(m, n)(x, axis=(0, -1)), T)
    case(f"{_name} keepdims", lambda m, x, n=_name: getattr(m, n)(x, axis=0, keepdims=True), F)
    case(f"{_name} F", lambda m, x, n=_name: getattr(m, n)(x.T, axis=0), A)
for _name in names("sum mean var std"):
    case(f"{_name} long", lambda m, x, n=_name: getattr(m, n)(x), LONG)
    case(f"{_name} where", lambda m, x, n=_name: getattr(m, n)(x, where=MASK), A)
    case(f"{_name} dtype", lambda m, x, n=_name: getattr(m, n)(x, dtype=np.float64), F)
case("sum initial", lambda m, x: m.sum(x, initial=2.5), A)
case("max initial", lambda m, x: m.max(x, initial=0.5, where=x > 0), A)
case("std ddof", lambda m, x: m.std(x, axis=1, ddof=1), A)
case("var correction", lambda m, x: m.var(x, correction=1), A)
case("average", lambda m, x: m.average(x, axis=1), A)
case("average weights", lambda m, x, w: m.average(x, 0, w), A, B[:, 0])
case("average full", lambda m, x, w: m.average(x, weights=w), A, B)
case("average returned", lambda m, x, w: m.average(x, axis=1, weights=w, returned=True), A, B)
case("count_nonzero", lambda m, x: m.count_nonzero(x, axis=0), A)
case("argmax", lambda m, x: m.argmax(x), A)
case("argmin axis", lambda m, x: m.argmin(x, axis=1, keepdims=True), A)
case("cumsum", lambda m, x: m.cumsum(x), A)
case("cumsum axis", lambda m, x: m.cumsum(x, axis=1), A)
case("cumprod", lambda m, x: m.cumprod(x, 0), A)
case("cumulative_sum", lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True), A)
case("cumulative_prod", lambda m, x: m.cumulative_prod(x), V)
case("sort", lambda m, x: m.sort(x), A)
case("sort axis", lambda m, x: m.sort(x, axis=0), A)
case("sort flat", lambda m, x: m.sort(x, axis=None), A)
case("argsort", lambda m, x: m.argsort(x, axis=0), A)
case("partition", lambda m, x: m.partition(x, 2), V)
case("argpartition", lambda m, x: m.argpartition(x, 2), V)
case("searchsorted", lambda m, x: m.searchsorted(m.sort(x), 0.3), V)
case("median odd", lambda m, x: m.median(x), V)
case("median nan", lambda m, x: m.median(x, axis=1), NANS, flags="flat")
for _method in names(
    "linear lower higher midpoint nearest hazen weibull median_unbiased normal_unbiased"
):
    case(f"quantile {_method}", lambda m, x, k=_method: m.quantile(x, 0.3, method=k), A)
    case(
        f"quantile axis {_method}",
        lambda m, x, k=_method: m.quantile(x, [0.0, 0.4, 1.0], axis=1, method=k),
        A,
    )
case("quantile f32", lambda m, x: m.quantile(x, 0.3, axis=0), F)
for _method in ("linear", "midpoint", "hazen", "averaged_inverted_cdf"):
    for _x in (F, A):
        case(
            f"quantile {_x.dtype} by f32 {_method}",
            lambda m, x, how=_method: m.quantile(x, np.float32([0.1, 0.93]), axis=0, method=how),
            _x,
        )
case("quantile keepdims", lambda m, x: m.quantile(x, [0.2, 0.8], axis=(0, 2), keepdims=True), T)
case("quantile q", lambda m, q: m.quantile(A, q, axis=1), np.array([0.31, 0.77]))
case("quantile nan", lambda m, x: m.quantile(x, 0.3, axis=1), NANS, flags="flat")
case("percentile", lambda m, x: m.percentile(x, [25, 50, 90], axis=0), A)
case("percentile 1", lambda m, x: m.percentile(x, 33.0), F)
case("nansum", lambda m, x: m.nansum(x, axis=1), NANS, flags="flat")
case("nanprod", lambda m, x: m.nanprod(x, axis=1), NANS, flags="flat")
case("nanmean", lambda m, x: m.nanmean(x, axis=1), NANS, flags="flat")
case("nanvar", lambda m, x: m.nanvar(x, axis=0), NANS, flags="flat")
case("nanstd", lambda m, x: m.nanstd(x, ddof=1), NANS, flags="flat")
case("nanmax", lambda m, x: m.nanmax(x, axis=1), NANS, flags="flat")
case("nanmin", lambda m, x: m.nanmin(x), NANS, flags="flat")
case("nanargmax", lambda m, x: m.nanargmax(x, axis=1), NANS, flags="flat")
case("nanargmin", lambda m, x: m.nanargmin(x), NANS, flags="flat")
case("nancumsum", lambda m, x: m.nancumsum(x, axis=1), NANS, flags="flat")
case("nancumprod", lambda m, x: m.nancumprod(x, axis=0), NANS, flags="flat")
case("unique", lambda m, x: m.unique(m.round(x, 0) + 0 * x), A, flags="concrete")
case("isin", lambda m, x: m.isin(x, [A[0, 0], A[1, 2]]), A)
case("digitize", lambda m, x: m.digitize(x, [-1.0, 0.0, 1.0]), A)
case("digitize down", lambda m, x: m.digitize(x, [1.0, 0.0, -1.0], right=True), A)
if hasattr(np, "matvec"):  # since NumPy 2.2
    case("matvec", lambda m, x, y: np.matvec(x, y), T, A[0])
case("nanmedian", lambda m, x: m.nanmedian(x, axis=1), NANS, flags="flat")
case("nanmean none", lambda m, x: m.nanmean(x, axis=1), A)
case("nanvar none", lambda m, x: m.nanvar(x, axis=1), A)
case("cov", lambda m, x: m.cov(x), A)
case("cov y", lambda m, x, y: m.cov(x, y, rowvar=False), A, B)
case("cov vector", lambda m, x: m.cov(x), V)
case("corrcoef", lambda m, x: m.corrcoef(x), A)
case("bincount", lambda m, w: m.bincount(I, w, minlength=4), B[:, 0])

# ------------------------------------------------------------------------------ shapes

case("reshape", lambda m, x: m.reshape(x, (4, -1)), A)
case("reshape F", lambda m, x: m.reshape(x, (4, 3), order="F"), A)
case("reshape T", lambda m, x: m.reshape(x.T, (2, 6)), A)
case("ravel", lambda m, x: m.ravel(x), A)
case("transpose", lambda m, x: m.transpose(x), T)
case("transpose axes", lambda m, x: m.transpose(x, (1, -1, 0)), T)
case("transpose of one axis", lambda m, x: m.transpose(x, 0), V)
case("permute_dims of one axis", lambda m, x: m.permute_dims(x, np.int64(-1)), V)
case("permute_dims", lambda m, x: m.permute_dims(x, (2, 0, 1)), T)
case("matrix_transpose", lambda m, x: m.matrix_transpose(x), T)
case("swapaxes", lambda m, x: m.swapaxes(x, 0, -1), T)
case("moveaxis", lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)), T)
case("rollaxis", lambda m, x: m.rollaxis(x, 2), T)
case("expand_dims", lambda m, x: m.expand_dims(x, (0, 2)), A)
case("squeeze", lambda m, x: m.squeeze(x[:, :1]), A)
case("squeeze axis", lambda m, x: m.squeeze(x[:, :1], axis=1), A)
case("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3, 4)), A)
case("broadcast_arrays", lambda m, x, y: m.broadcast_arrays(x, y), A, V[:4])
for _name in names("atleast_1d atleast_2d atleast_3d"):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x), V)
    case(f"{_name} scalar", lambda m, x, n=_name: getattr(m, n)(x), 0.7)
    case(f"{_name} two", lambda m, x, y, n=_name: getattr(m, n)(x, y), A, V)
case("flip", lambda m, x: m.flip(x), A)
case("flip axis", lambda m, x: m.flip(x, 1), A)
case("fliplr", lambda m, x: m.fliplr(x), A)
case("flipud", lambda m, x: m.flipud(x), A)
for _k in range(4):
    case(f"rot90 {_k}", lambda m, x, k=_k: m.rot90(x, k), A)
case("diagonal", lambda m, x: m.diagonal(x, 1), A)
case("diagonal axes", lambda m, x: m.diagonal(x, -1, 2, 0), T)
case("diag", lambda m, x: m.diag(x), A)
case("diag -1", lambda m, x: m.diag(x, -1), A)
case("diag build", lambda m, x: m.diag(x, 1), V)
case("diag build -2", lambda m, x: m.diag(x, -2), V)
case("diagflat", lambda m, x: m.diagflat(x, -1), A)
case("trace", lambda m, x: m.trace(x), A)
case("trace 3", lambda m, x: m.trace(x, 1, 2, 1), T)
case("triu", lambda m, x: m.triu(x, 1), A)
case("tril", lambda m, x: m.tril(x, -1), T)
case("tril vector", lambda m, x: m.tril(x), V)
case("roll", lambda m, x: m.roll(x, 2), A)
case("roll axis", lambda m, x: m.roll(x, (1, -1), axis=(0, 1)), A)
case("roll 0", lambda m, x: m.roll(x, 0, 1), A)
case("pad", lambda m, x: m.pad(x, 1), A)
case("pad value", lambda m, x: m.pad(x, ((1, 0), (0, 2)), constant_values=3.0), A)
for _mode in names("edge reflect symmetric wrap"):
    case(f"pad {_mode}", lambda m, x, k=_mode: m.pad(x, ((1, 2), (3, 0)), mode=k), A)
case("tile", lambda m, x: m.tile(x, (2, 1, 3)), A)
case("tile 1", lambda m, x: m.tile(x, 2), A)
case("tile once", lambda m, x: m.tile(x, (1, 1)), A)
case("block of one", lambda m, x: m.block(x), A)
case("piecewise matrix", lambda m, x: m.piecewise(x, [x < 0], [m.abs, m.sin]), A)
case("repeat", lambda m, x: m.repeat(x, 2), A)
case("repeat axis", lambda m, x: m.repeat(x, 3, axis=1), A)
case("repeat counts", lambda m, x: m.repeat(x, [1, 0, 2], axis=0), A)
case("resize", lambda m, x: m.resize(x, (2, 7)), A)
case("delete", lambda m, x: m.delete(x, [0, 2], axis=1), A)
case("insert", lambda m, x, v: m.insert(x, 1, v, axis=1), A, V[:3])
case("insert scalar", lambda m, x: m.insert(x, -1, 5.0), A)
case("insert rows", lambda m, x, v: m.insert(x, [1], v, axis=0), A, A[:2])
case("insert two", lambda m, x: m.insert(x, [1, 3], 9.0), V)
case("insert unordered", lambda m, x, v: m.insert(x, [3, 1], v), V, W[:2])

# ------------------------------------------------------------------------------- joining

case("concatenate", lambda m, x, y: m.concatenate((x, y)), A, B)
case("concatenate axis", lambda m, x, y: m.concatenate([x, y], axis=-1), A, F)
case("concatenate None", lambda m, x, y: m.concatenate([x, y], axis=None), A, V)
case("concatenate mixed", lambda m, x: m.concatenate([x, np.arange(3)]), V)
case("concat", lambda m, x, y: m.concat((x, y)), A, B)
case("stack", lambda m, x, y: m.stack([x, y]), A, B)
case("stack axis", lambda m, x, y: m.stack([x, y], axis=-1), A, B)
case("vstack", lambda m, x, y: m.vstack([x, y]), V, W)
case("hstack", lambda m, x, y: m.hstack([x, y]), V, W)
case("hstack 2", lambda m, x, y: m.hstack([x, y]), A, B)
case("dstack", lambda m, x, y: m.dstack([x, y]), A, B)
case("column_stack", lambda m, x, y: m.column_stack([x, y]), V, W)
case("block", lambda m, x, y: m.block([[x, y], [y, x]]), A, B)
case("append", lambda m, x, y: m.append(x, y), A, V)
case("append axis", lambda m, x, y: m.append(x, y, axis=0), A, B)
case("split", lambda m, x: m.split(x, 2, axis=1), A)
case("split points", lambda m, x: m.split(x, [1, 3], axis=1), A)
case("array_split", lambda m, x: m.array_split(x, 3), V)
case("hsplit", lambda m, x: m.hsplit(x, 2), A)
case("vsplit", lambda m, x: m.vsplit(x, 3), A)
case("dsplit", lambda m, x: m.dsplit(x, 2), T)
case("unstack", lambda m, x: m.unstack(x, axis=1), A)
case("meshgrid", lambda m, x, y: m.meshgrid(x, y), V, A[0])
case("meshgrid ij", lambda m, x, y: m.meshgrid(x, y, indexing="ij", sparse=True), V, A[0])
case("linspace", lambda m, a, b: m.linspace(a, b, 7), 0.3, 2.7)
case("linspace arrays", lambda m, a, b: m.linspace(a, b, 5, axis=1), V, W)
case("linspace open", lambda m, a: m.linspace(a, 2, 6, endpoint=False), 0.3)
case("logspace", lambda m, a: m.logspace(a, 1.5, 5), 0.3)
case("full", lambda m, x: m.full((2, 3), x), 0.7, flags="fnp-only")
case("full_like", lambda m, x: m.full_like(A, x), 0.7, flags="fnp-only")
case("array list", lambda m, x: m.array([x[0], 2.0 * x[1], 3.0]), V, flags="fnp-only")
case("zeros_like", lambda m, x: m.zeros_like(x), A)
case("ones_like", lambda m, x: m.ones_like(x, dtype=int), A)
case("vander", lambda m, x: m.vander(x, 4), V)
case("vander up", lambda m, x: m.vander(x, 3, increasing=True), V)

# ------------------------------------------------------------------------------ indexing

case("take", lambda m, x: m.take(x, I, axis=1), A)
case("take last, sum", lambda m, x: m.sum(m.take(x, [0, 3, 0, 1, 2] * 9, axis=-1)), A)
case("take flat", lambda m, x: m.take(x, [[0, 5], [11, 0]]), A)
case("take scalar", lambda m, x: m.take(x, 2, axis=1), A)
case("take wrap", lambda m, x: m.take(x, [5, -7], axis=0, mode="wrap"), A)
case("take_along_axis", lambda m, x: m.take_along_axis(x, np.argsort(A, 1), 1), A)
case("compress", lambda m, x: m.compress(MASK, x, axis=1), A)
case("extract", lambda m, x: m.extract(x > 0, x), A, flags="concrete")
case("nonzero", lambda m, x: m.nonzero(x > 0), A, flags="concrete flat")
case("flatnonzero", lambda m, x: m.flatnonzero(x > 0), A, flags="concrete flat")
case("argwhere", lambda m, x: m.argwhere(x > 0), A, flags="concrete flat")
case("index list", lambda m, x: x[[0, 2], [1, 3]], A)
case("index mask", lambda m, x: x[:, MASK], A)
case("index newaxis", lambda m, x: x[..., None, 1], A)

# ------------------------------------------------------------------------------ products

case("dot", lambda m, x, y: m.dot(x, y), A, B.T.copy())
case("dot vector", lambda m, x, y: m.dot(x, y), V, W)
case("matmul", lambda m, x, y: m.matmul(x, y), T, A.T)
case("@", lambda m, x, y: x @ y, A, B[0])
case("vdot", lambda m, x, y: m.vdot(x, y), A, B)
case("vdot complex", lambda m, x: m.real(m.vdot(x, x)), Z)
case("inner", lambda m, x, y: m.inner(x, y), A, T)
case("outer", lambda m, x, y: m.outer(x, y), V, A)
case("tensordot", lambda m, x, y: m.tensordot(x, y, axes=([0, 1], [1, 2])), A, T)
case("einsum", lambda m, x, y: m.einsum("ij,kij->k", x, y), A, T)
case("einsum trace", lambda m, x: m.einsum("ii", x), M)
case("einsum dots", lambda m, x, y: m.einsum("...j,j", x, y), T, A[0])
case("kron", lambda m, x, y: m.kron(x, y), A, V)
case("kron 2", lambda m, x, y: m.kron(x, y), A, M)
case("cross", lambda m, x, y: m.cross(x, y), M, S)
case("cross axis", lambda m, x, y: m.cross(x, y, axis=0), A, B)
case("vecdot", lambda m, x, y: m.vecdot(x, y), A, B)
case("convolve", lambda m, x, y: m.convolve(x, y), V, A[0])
case("convolve same", lambda m, x, y: m.convolve(x, y, "same"), V, A[0])
case("convolve same short", lambda m, x, y: m.convolve(x, y, "same"), A[0, :3], V)
case("convolve valid", lambda m, x, y: m.convolve(x, y, "valid"), A[0], V)
for _mode in ("full", "same", "valid"):
    case(f"correlate {_mode}", lambda m, x, y, k=_mode: m.correlate(x, y, k), V, A[0])
    case(f"correlate swapped {_mode}", lambda m, x, y, k=_mode: m.correlate(x, y, k), A[0], V)
    case(f"correlate even {_mode}", lambda m, x, y, k=_mode: m.correlate(x, y, k), A[0, :2], V)

# ------------------------------------------------------------------------------- calculus

case("diff", lambda m, x: m.diff(x), A)
case("diff 2", lambda m, x: m.diff(x, 2, axis=0), A)
case("diff prepend", lambda m, x: m.diff(x, prepend=0.0, append=x[:1]), V)
case("ediff1d", lambda m, x: m.ediff1d(x, to_begin=1.0), A)
case("ediff1d f32", lambda m, x: m.ediff1d(x, to_end=1.5, to_begin=[1, 2]), F)
case("trapezoid", lambda m, y: m.trapezoid(y, dx=0.1), A)
case("trapezoid x", lambda m, y, x: m.trapezoid(y, x, axis=0), A, V[:3])
case("gradient", lambda m, x: m.gradient(x, 0.3), V)
case("gradient 2", lambda m, x: m.gradient(x, edge_order=2), np.vstack([A, B]))
case(
    "interp",
    lambda m, x, y: m.interp(x, np.arange(5.0), y),
    np.array([-1.0, 0.0, 0.3, 2.7, 4.0, 9.0]),
    V,
    flags="kink",
)
case("interp nodes", lambda m, xp: m.interp([0.3, 0.9], xp, V), np.sort(W))
case("polyval", lambda m, p, x: m.polyval(p, x), V, A)
case("unwrap", lambda m, x: m.unwrap(x), np.cumsum(3 * np.abs(LONG[:20])))

# --------------------------------------------------------------------------------- linalg

case("solve", lambda m, a, b: m.linalg.solve(a, b), M, A)
case("solve vector", lambda m, a, b: m.linalg.solve(a, b), M, V[:3])
case("inv", lambda m, a: m.linalg.inv(a), M)
case("det", lambda m, a: m.linalg.det(a), M)
case("slogdet", lambda m, a: m.linalg.slogdet(a)[1], M)
case("cholesky", lambda m, a: m.linalg.cholesky(a), S, flags="symmetric")
case("eigvalsh", lambda m, a: m.linalg.eigvalsh(a), S, flags="symmetric")
case("eigh", lambda m, a: m.linalg.eigh(a)[0], S, flags="symmetric")
case("svd", lambda m, a: m.linalg.svd(a), M)
TALL = rng(20).uniform(-1, 1, (5, 3)) + np.eye(5, 3)
for _a, _name in ((TALL, "tall"), (TALL.T, "wide"), (M, "square"), (F, "f32")):
    case(f"qr {_name}", lambda m, a: m.linalg.qr(a), _a)
    case(f"pinv {_name}", lambda m, a: m.linalg.pinv(a), _a)
    case(f"cond {_name}", lambda m, a: m.linalg.cond(a), _a)
case("qr complete", lambda m, a: m.linalg.qr(a, "complete"), TALL.T)
case("qr r", lambda m, a: m.linalg.qr(a, mode="r"), TALL)
case("qr many", lambda m, a: m.linalg.qr(a).R, T)
case("qr complex", lambda m, a, b: m.linalg.qr(a + 1j * b), A.T, B.T)
case("pinv rcond", lambda m, a: m.linalg.pinv(a, rcond=1e-3), TALL)
case("pinv many", lambda m, a: m.linalg.pinv(a, rtol=None), T)
case("pinv of cutoffs", lambda m, a: m.linalg.pinv(a, rtol=np.array([1e-3, 1e-5])), T)
case("pinv of one cutoff", lambda m, a: m.linalg.pinv(a, rcond=np.array([1e-3])), T)
case("pinv of no cutoff", lambda m, a: m.linalg.pinv(a[:0], rtol=np.zeros(0)), T)
for _p in ("fro", 1, -1, np.inf, -2):
    case(f"cond {_p}", lambda m, a, p=_p: m.linalg.cond(a, p), M)
case("cond many", lambda m, a: m.linalg.cond(a, "fro"), np.stack([M, S]))
case("lstsq", lambda m, a, b: m.linalg.lstsq(a, b)[:2], TALL, rng(21).uniform(-1, 1, (5, 2)))
case("lstsq vector", lambda m, a, b: m.linalg.lstsq(a, b, rcond=None)[:2], TALL, V)
case("lstsq wide", lambda m, a, b: m.linalg.lstsq(a, b, rcond=1e-8)[0], TALL.T, V[:3])
case("lstsq rank", lambda m, a: a[0, 0] * m.linalg.lstsq(a, V)[2], TALL)
case("matrix_rank", lambda m, a: a * m.linalg.matrix_rank(a), TALL)
case("matrix_rank many", lambda m, a: m.linalg.matrix_rank(a, tol=1e-3), T, flags="flat")
case("tensorinv", lambda m, a: m.linalg.tensorinv(a.reshape(3, 1, 3), ind=2), M)
case("tensorsolve", lambda m, a, b: m.linalg.tensorsolve(a.reshape(3, 3), b), M, V[:3])
case("tensorsolve axes", lambda m, a, b: m.linalg.tensorsolve(a, b, axes=(0,)), M, V[:3])
case("svd thin", lambda m, a: m.linalg.svd(a, full_matrices=False), A)
case("svd many", lambda m, a: m.linalg.svd(a, full_matrices=False), T)
case("svd f32", lambda m, a: m.linalg.svd(a, full_matrices=False).S, F)
case("svd values", lambda m, a: m.linalg.svd(a, compute_uv=False), A)
case("svd complex", lambda m, a, b: m.linalg.svd(a + 1j * b, full_matrices=False).S, A, B)
case("svdvals", lambda m, a: m.linalg.svdvals(a), T)
case("norm", lambda m, x: m.linalg.norm(x), A)
case("norm axis", lambda m, x: m.linalg.norm(x, axis=1), A)
case("norm 1", lambda m, x: m.linalg.norm(x, 1, axis=0, keepdims=True), A)
case("norm 3", lambda m, x: m.linalg.norm(x, 3), V)
case("norm inf", lambda m, x: m.linalg.norm(x, np.inf), V)
case("vector_norm", lambda m, x: m.linalg.vector_norm(x), A)
case("vector_norm axis", lambda m, x: m.linalg.vector_norm(x, axis=(0, 2), ord=3, keepdims=True), T)
case("matrix_norm", lambda m, x: m.linalg.matrix_norm(x), T)
case("matrix_power", lambda m, a: m.linalg.matrix_power(a, 5), M)
case("matrix_power -2", lambda m, a: m.linalg.matrix_power(a, -2), M)
case("multi_dot 3", lambda m, x, y: m.linalg.multi_dot([x, y.T, x]), A, B)
case("multi_dot 4", lambda m, x, y, v: m.linalg.multi_dot([x, y.T, x, v]), A, B, V[:4])
case("linalg.trace", lambda m, x: m.linalg.trace(x, offset=1), T)
case("linalg.diagonal", lambda m, x: m.linalg.diagonal(x), T)
case("linalg.cross", lambda m, x, y: m.linalg.cross(x, y), M, S)
case("linalg.outer", lambda m, x, y: m.linalg.outer(x, y), V, W)
case("linalg.matmul", lambda m, x, y: m.linalg.matmul(x, y), A, B.T.copy())
case("linalg.vecdot", lambda m, x, y: m.linalg.vecdot(x, y, axis=0), A, B)
case("linalg.tensordot", lambda m, x, y: m.linalg.tensordot(x, y, axes=2), A, B)

# ------------------------------------------------------------------------------------- fft

for _name in names("fft ifft rfft irfft hfft ihfft"):
    for _n, _axis, _norm in (
        (None, -1, None),
        (5, 0, "ortho"),
        (2, 1, "forward"),
        (4, 0, "backward"),
    ):
        _keywords = {"n": _n, "axis": _axis, "norm": _norm}
        case(
            f"{_name} {_keywords}", lambda m, x, f=_name, k=_keywords: getattr(m.fft, f)(x, **k), A
        )
    case(f"{_name} f32", lambda m, x, f=_name: getattr(m.fft, f)(x, 3), F)
    case(f"{_name} vector", lambda m, x, f=_name: getattr(m.fft, f)(x[::-1]), V)
for _name in names("fft ifft irfft hfft"):
    case(f"{_name} complex", lambda m, z, f=_name: getattr(m.fft, f)(z, 5), Z)
for _name in names("fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn"):
    case(_name, lambda m, x, f=_name: getattr(m.fft, f)(x), T)
    case(f"{_name} s", lambda m, x, f=_name: getattr(m.fft, f)(x, (5, -1), (2, 0), "ortho"), T)
    case(f"{_name} transposed", lambda m, x, f=_name: getattr(m.fft, f)(x.T, axes=(0, 1)), F)
case("fftn twice the axis", lambda m, x: m.fft.fftn(x, axes=(0, 0)), A)
case("fftn s", lambda m, x: m.fft.fftn(x, s=(2, 3)), T)
case("fftshift", lambda m, x: m.fft.fftshift(x) + m.fft.ifftshift(x, 1), A)
case("ifftshift", lambda m, x: m.fft.ifftshift(x) * m.fft.fftshift(x, (0, -1)), A)
case("fftfreq", lambda m, x: m.fft.fftshift(m.fft.fftfreq(5, 0.1)) * x + m.fft.rfftfreq(9), V)

# -------------------------------------------------------------------------------- methods

for _name in names("sum mean std var prod max min any all argmax argmin cumsum cumprod"):
    case(f".{_name}", lambda m, x, n=_name: getattr(x, n)(axis=1), A)
for _name in names("sum mean std var prod max min ravel flatten copy conj transpose squeeze round"):
    case(f".{_name}()", lambda m, x, n=_name: getattr(x, n)(), A)
case(".reshape", lambda m, x: x.reshape(2, 6) + x.reshape((2, -1)), A)
case(".T", lambda m, x: x.T @ x, A)
case(".mT", lambda m, x: x.mT, T)
case(".real", lambda m, z: z.real * z.imag, Z)
case(".astype", lambda m, x: x.astype(np.float32), A, flags="flat")
case(".clip", lambda m, x: x.clip(-1, 1), A)
case(".dot", lambda m, x, y: x.dot(y), A, B[0])
case(".repeat", lambda m, x: x.repeat(2, axis=0), A)
case(".take", lambda m, x: x.take([1, 2]), A)
case(".diagonal", lambda m, x: x.diagonal(1), A)
case(".swapaxes", lambda m, x: x.swapaxes(0, 1), A)
case(".argsort", lambda m, x: x.argsort(axis=0), A)
case(".transpose", lambda m, x: x.transpose(2, 0, 1), T)
case(".flat", lambda m, x: x.flat[3:5], A)
case(".size", lambda m, x: x * (x.size + x.ndim + x.shape[0] + x.itemsize + x.nbytes + len(x)), A)
case("shape", lambda m, x: x * m.shape(x)[1] * m.ndim(x) * m.size(x, 0), A)
case("result_type", lambda m, x: x.astype(m.result_type(x, np.float64)), F)

# ------------------------------------------------------------------------- eigenvalues

NEAR = np.diag([1.0, 3.0, 6.0]) + rng(30).uniform(-0.3, 0.3, (3, 3))
TURNING = np.array([[1.0, -2.0, 0.3], [2.0, 1.5, 0.1], [0.2, -0.4, 4.0]])  # a pair of conjugates
case("eigvals", lambda m, a: m.linalg.eigvals(a), NEAR, flags="complex")
case("eigvals turning", lambda m, a: m.linalg.eigvals(a), TURNING)
case("eigvals many", lambda m, a: m.linalg.eigvals(a), np.stack([TURNING, 2 * TURNING]))
case("eigvals complex", lambda m, a, b: m.linalg.eigvals(a + 1j * b), NEAR, S)
case("eig values", lambda m, a: m.linalg.eig(a)[0], NEAR, flags="complex")
case("eig turning", lambda m, a: m.linalg.eig(a).eigenvectors, TURNING)
case("eig complex", lambda m, a, b: m.linalg.eig(a + 1j * b).eigenvectors, NEAR, S)
case("eig squares", lambda m, a: m.linalg.eig(a)[1] ** 2, NEAR, flags="complex")
case("pinv hermitian", lambda m, a: m.linalg.pinv(a, hermitian=True), S, flags="symmetric")
case(
    "svd hermitian",
    lambda m, a: m.linalg.svd(a - 2 * np.eye(3), hermitian=True),
    S,
    flags="symmetric",
)
case(
    "svd hermitian values",
    lambda m, a: m.linalg.svd(a, compute_uv=False, hermitian=True),
    S,
    flags="symmetric",
)
case(
    "matrix_rank hermitian",
    lambda m, a: a * m.linalg.matrix_rank(a, hermitian=True),
    S,
    flags="symmetric",
)

# ------------------------------------------------------------------------ parts of floats

case("frexp", lambda m, x: m.frexp(x), A)
case("frexp f32", lambda m, x: m.frexp(x), F)
case(
    "frexp special",
    lambda m, x: m.frexp(x),
    np.array([0.0, -0.0, np.inf, np.nan, 5e-324]),
    flags="flat",
)
case("ldexp", lambda m, x: m.ldexp(x, np.array([3, -2, 0, 7])), A)
case("ldexp f32", lambda m, x: m.ldexp(x, 3), F)
case("spacing", lambda m, x: m.spacing(x), A)
if hasattr(np, "vecmat"):
    case("vecmat", lambda m, x, y: np.vecmat(x, y), A[:, :3], np.stack([M, S, M]))
    case("vecmat complex", lambda m, x, y: np.vecmat(x + 2j * x, y), V[:3], A)
    case("vecmat lead", lambda m, x, y: np.vecmat(x, y), V[:3], np.stack([M, S]))

# -------------------------------------------------------------------- methods of ufuncs

for _name in names("logaddexp hypot logaddexp2"):
    case(f"{_name}.reduce", lambda m, x, n=_name: getattr(m, n).reduce(x), B)
    case(f"{_name}.reduce axes", lambda m, x, n=_name: getattr(m, n).reduce(x, axis=(0, 2)), T)
    case(f"{_name}.accumulate", lambda m, x, n=_name: getattr(m, n).accumulate(x, axis=1), B)
    case(f"{_name}.reduceat", lambda m, x, n=_name: getattr(m, n).reduceat(x, [0, 2], axis=0), B)
for _name in names("subtract divide"):
    case(f"{_name}.reduce", lambda m, x, n=_name: getattr(m, n).reduce(x, axis=1), B)
    case(f"{_name}.accumulate", lambda m, x, n=_name: getattr(m, n).accumulate(x), B)
case("hypot.reduce where", lambda m, x: m.hypot.reduce(x, where=MASK, initial=1.5, axis=1), A)
case("logaddexp.reduce keepdims", lambda m, x: m.logaddexp.reduce(x, axis=1, keepdims=True), F)
case("fmax.reduce", lambda m, x: m.fmax.reduce(x, axis=(0, 1)), A)
case("maximum.accumulate", lambda m, x: m.maximum.accumulate(x), LONG[:30])
case("minimum.accumulate", lambda m, x: m.minimum.accumulate(x, axis=1), A)
case("logical_xor.reduce", lambda m, x: m.logical_xor.reduce(x > 0), A)
case("add.reduceat", lambda m, x: m.add.reduceat(x, [0, 500, 30, 30]), LONG)
case("add.reduceat axis", lambda m, x: m.add.reduceat(x, [2, 0], 1), T)
case("add.reduceat f32", lambda m, x: m.add.reduceat(x, [0, 2]), F)
case("multiply.reduceat", lambda m, x: m.multiply.reduceat(x, [0, 1, 3], axis=1), A)
case("maximum.reduceat", lambda m, x: m.maximum.reduceat(x, [0, 2]), A)

# ------------------------------------------------------------------------- polynomials

case("poly", lambda m, x: m.poly(x), V)
case("poly matrix", lambda m, a: m.poly(a), S, flags="complex")
case("roots", lambda m, p: m.roots(p), np.array([1.0, -6.1, 11.3, -6.2]), flags="complex")
case("roots complex", lambda m, p: m.roots(p), np.array([1.5, 0.3, 2.0, 0.7]))
case("polyint", lambda m, p: m.polyint(p, 2, [1.0, 2.0]), V)
case("polyder", lambda m, p: m.polyder(p, 2), V)
case("polyadd", lambda m, p, q: m.polyadd(p, q), V, W[:3])
case("polysub", lambda m, p, q: m.polysub(p, q), W[:3], V)
case("polymul", lambda m, p, q: m.polymul(p, q), V, W[:3])
case("polydiv", lambda m, p, q: m.polydiv(p, q), V, W[:3])
case("polyfit", lambda m, x, y: m.polyfit(x, y, 2), np.sort(W), V)
case("polyfit weights", lambda m, y, w: m.polyfit(np.arange(5.0), y, 1, w=w), V, W)
case("polyfit traced weights", lambda m, w: m.polyfit(np.arange(5.0), V, 1, w=w), W)
case("polyfit cov", lambda m, y: m.polyfit(np.arange(5.0), y, 1, cov=True), V)
case("polyfit many", lambda m, y: m.polyfit(np.arange(3.0), y, 1), A)

# --------------------------------------------------------------------- lines and windows

case("apply_along_axis", lambda m, x: m.apply_along_axis(lambda v: v[0] * v.sum(), 1, x), T)
case("apply_along_axis line", lambda m, x: m.apply_along_axis(lambda v: v * v[0], 0, x), T)
case("apply_over_axes", lambda m, x: m.apply_over_axes(m.sum, x, [0, -1]), T)
case("vectorize", lambda m, x, y: m.vectorize(lambda a, b: a * b + a)(x, y), V, W)
_windows = np.lib.stride_tricks.sliding_window_view
case("sliding windows", lambda m, x: _windows(x, 3), V)
case("sliding windows 2", lambda m, x: _windows(x, (2, 3)), A)
case("sliding windows axis", lambda m, x: _windows(x, (2, 2), axis=(1, 1)), A)
case("piecewise staged", lambda m, x: m.piecewise(x, [x < 0, x > 1], [lambda v: -v, 3.0, m.sin]), V)
case("lexsort", lambda m, x, y: m.lexsort((m.round(x), y, m.round(y))), A, B)
for _mode in names("mean median maximum minimum"):
    case(f"pad {_mode}", lambda m, x, k=_mode: m.pad(x, ((1, 2), (0, 3)), k), A)
    case(f"pad {_mode} length", lambda m, x, k=_mode: m.pad(x, 1, k, stat_length=2), A)
case("pad ramp", lambda m, x, v: m.pad(x, ((2, 0), (1, 3)), "linear_ramp", end_values=v), A, 0.3)
case("pad traced", lambda m, x, v: m.pad(x, ((2, 0), (1, 3)), constant_values=v), A, 0.3)
for _mode in names("reflect symmetric"):
    case(f"pad {_mode} odd", lambda m, x, k=_mode: m.pad(x, (2, 7), k, reflect_type="odd"), V)
case("geomspace", lambda m, a, b: m.geomspace(a, b, 6), 0.3, 2.7)
case("geomspace arrays", lambda m, a, b: m.geomspace(a, b, 4, False, axis=1), W, B[0, 0])
case("geomspace negative", lambda m, a: m.geomspace(a, -2.0, 4), -0.3)
case("gradient places", lambda m, x, at: m.gradient(x, at), V, np.cumsum(W))
case("gradient places 2", lambda m, x: m.gradient(x, np.array([0.0, 1, 3, 4]), axis=1), A)
case("interp period", lambda m, x, y: m.interp(x, [0.1, 2.2, 1.3], y, period=3.0), A, V[:3])
case("cov aweights", lambda m, x, w: m.cov(x, aweights=w), A, B[0])
case("cov fweights", lambda m, x, w: m.cov(x, fweights=[1, 2, 0, 1], aweights=w), A, B[0])
case("cov ddof", lambda m, x, w: m.cov(x, aweights=w, ddof=0), A, B[0])
for _method in names("inverted_cdf averaged_inverted_cdf closest_observation"):
    case(f"quantile {_method}", lambda m, x, k=_method: m.quantile(x, 0.3, method=k), A)
    case(
        f"quantile axis {_method}",
        lambda m, x, k=_method: m.quantile(x, [0.0, 0.4, 0.5, 1.0], axis=1, method=k),
        A,
    )
case(
    "quantile weights",
    lambda m, x, w: m.quantile(x, [0.2, 0.7], axis=1, weights=w, method="inverted_cdf"),
    A,
    B,
)
case(
    "quantile weights line",
    lambda m, x: m.quantile(x, 0.4, axis=0, weights=[1.0, 0.0, 2.0], method="inverted_cdf"),
    A,
)
for _method in names("linear hazen lower inverted_cdf midpoint"):
    case(
        f"nanquantile {_method}",
        lambda m, x, k=_method: m.nanquantile(x, [0.1, 0.8], axis=1, method=k),
        NANS,
        flags="flat",
    )
    case(f"nanquantile full {_method}", lambda m, x, k=_method: m.nanquantile(x, 0.3, method=k), A)
case("nanquantile q", lambda m, q: m.nanquantile(NANS, q, axis=0), np.array([0.31, 0.77]))
case(
    "nanpercentile",
    lambda m, x: m.nanpercentile(x, 30, axis=(0, 1), keepdims=True),
    NANS,
    flags="flat",
)
case("nanpercentile f32", lambda m, x: m.nanpercentile(x, 30, axis=0), F)
case("nanpercentile by f32", lambda m, x: m.nanpercentile(x, np.float32([10, 93]), axis=0), NANS)

# -------------------------------------------------------------------- sets and histograms

for _name in names("union1d intersect1d setdiff1d setxor1d"):
    case(_name, lambda m, x, n=_name: getattr(m, n)(x, A[0]), A, flags="concrete flat")
    case(f"{_name} smooth", lambda m, x, n=_name: getattr(m, n)(x, [9.0]), A, flags="concrete")
for _name in names("unique_values unique_counts unique_inverse unique_all"):
    if hasattr(np, _name):
        case(_name, lambda m, x, n=_name: getattr(m, n)(x), A, flags="concrete")
case("unique axis", lambda m, x: m.unique(x, axis=1), A, flags="concrete")
case(
    "trim_zeros",
    lambda m, x: m.trim_zeros(x),
    np.array([0.0, 0, 1.5, 0, 2, 0]),
    flags="concrete flat",
)
case("histogram", lambda m, w: m.histogram(V, 3, weights=w), W)
case("histogram edges", lambda m, x: m.histogram(x, 4), V)
case("histogram density", lambda m, x: m.histogram(x, 4, density=True), V)
case("histogram range", lambda m, w: m.histogram(V, 5, (-1, 1), weights=w, density=True), W)
case("histogram bins", lambda m, w: m.histogram(V, [-2.0, 0.0, 0.5, 2.0], weights=w), W)
case("histogram rule", lambda m, x: m.histogram(x, "sturges"), V, flags="concrete")
case("histogram2d", lambda m, w: m.histogram2d(V, W, 3, weights=w), W)
case("histogramdd", lambda m, w: m.histogramdd(T.reshape(8, 3), (2, 3, 2), weights=w), LONG[:8])
case(
    "histogramdd density",
    lambda m, w: m.histogramdd(T.reshape(8, 3), 2, weights=w, density=True),
    np.abs(LONG[:8]),
)
case("histogram_bin_edges", lambda m, x: m.histogram_bin_edges(x, 5), V)
case("unravel_index", lambda m, x: x * m.unravel_index(m.argmax(x), (3, 4))[1], A)
case("unravel_index F", lambda m, x: m.unravel_index(m.argsort(x, axis=0), (2, 3), "F"), A)
case("ravel_multi_index", lambda m, x: x * m.ravel_multi_index((m.argsort(x, 1) % 2, 1), (2, 3)), A)
case("ix_", lambda m, x: x[m.ix_([0, 2], m.argsort(x[0]))], A)
