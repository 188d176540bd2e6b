"""Calls of NumPy as people write them, one a line: what the coverage of NumPy is counted on.

Each line is an expression over `np` (NumPy, funcgrad.numpy, or what a peer has for it) and over the
operands below, all of which are traced. Words behind a "#" tell what a call cannot have:
"constant" has no derivative but 0, "complex" has results that are complex where values are not
known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_draw = np.random.default_rng(20).uniform
_Q = _draw(-1, 1, (3, 3))

OPERANDS: dict[str, Any] = {
    "s": 0.7,
    "t": 1.9,
    "x": _draw(-2, 2, 6),
    "y": _draw(-2, 2, 6),
    "p": _draw(0.3, 0.9, 6),  # positive, below 1
    "v": _draw(-1, 1, 3),
    "w": _draw(0.5, 2, 3),
    "A": _draw(-2, 2, (3, 4)),
    "B": _draw(0.3, 1.7, (3, 4)),
    "M": _Q + 3 * np.eye(3),
    "S": _Q @ _Q.T + 2 * np.diag([1.0, 2.0, 3.0]),  # symmetric, positive definite
    "T": _draw(-2, 2, (2, 3, 4)),
    "z": _draw(-1, 1, 6) + 1j * _draw(-1, 1, 6),
    "Z": _draw(-1, 1, (3, 3)) + 1j * _draw(-1, 1, (3, 3)) + 2 * np.eye(3),
    "N": np.array([1.5, np.nan, -0.5, 0.25, np.nan, 2.0]),
}
CONSTANTS: dict[str, Any] = {
    "grid": np.linspace(-2.1, 2.1, 6),
    "mask": np.array([True, False, True, True, False, True]),
    "places": np.array([2, 0, 2, 4]),
    "whole": np.array([1, 0, 2, 1, 0, 3]),
}


class Pattern(NamedTuple):
    text: str
    names: tuple[str, ...]
    flags: frozenset[str]

    def __str__(self) -> str:
        return self.text

    def call(self, module: Any, *operands: Any) -> Any:
        """The value of the expression with `module` as np."""
        known = {**CONSTANTS, "np": module, "raw": np, **dict(zip(self.names, operands))}
        return eval(self.text, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return tuple(OPERANDS[n] for n in self.names)


PATTERNS_TEXT = """
np.sin(x)
np.cos(x)
np.tan(p)
np.arcsin(p)
np.arccos(p)
np.arctan(x)
np.arctan2(x, y)
np.hypot(x, y)
np.sinh(x)
np.cosh(x)
np.tanh(x)
np.arcsinh(x)
np.arccosh(p + 1)
np.arctanh(p)
np.exp(x)
np.exp2(x)
np.expm1(x)
np.log(p)
np.log2(p)
np.log10(p)
np.log1p(p)
np.logaddexp(x, y)
np.logaddexp2(x, y)
np.sqrt(p)
np.cbrt(p)
np.square(x)
np.reciprocal(p)
np.negative(x)
np.positive(x)
np.abs(x)
np.fabs(x)
np.add(x, y)
np.subtract(x, 2.0)
np.multiply(x, y)
np.divide(x, p)
np.power(p, y)
np.power(x, 3)
np.float_power(p, y)
np.mod(x, 0.7)
np.remainder(x, p)
np.fmod(x, p)
np.floor_divide(x, 0.7)  # constant
np.divmod(x, 0.7)
np.modf(x)
np.frexp(x)
np.ldexp(x, whole)
np.copysign(x, y)
np.heaviside(x, 0.5)  # constant
np.maximum(x, y)
np.minimum(x, 0.3)
np.fmax(x, y)
np.fmin(x, y)
np.deg2rad(x)
np.rad2deg(x)
np.degrees(x)
np.radians(x)
np.sinc(x)
np.i0(x)
np.sign(x)  # constant
np.floor(x)  # constant
np.ceil(x)  # constant
np.trunc(x)  # constant
np.rint(x)  # constant
np.fix(x)  # constant
np.round(x, 1)  # constant
np.around(x)  # constant
np.clip(x, -1.0, 1.0)
np.clip(x, None, s)
np.nan_to_num(N)
np.where(x > 0, x, y)
np.where(mask, x, 0.0)
np.select([x > 1, x > 0], [x * 2, x ** 2], 0.0)
np.piecewise(x, [x < 0, x >= 0], [lambda q: -q, lambda q: q * q])
np.choose(whole % 2, [x, y])
np.real(z)
np.imag(z)
np.conj(z)
np.angle(z)
np.real_if_close(z)
np.spacing(x)  # constant
np.nextafter(x, y)
np.sum(A)
np.sum(A, axis=1)
np.sum(A, axis=(0, 1), keepdims=True)
np.sum(x, where=mask, initial=1.0)
np.prod(A)
np.prod(A, axis=0)
np.mean(A)
np.mean(A, axis=1, keepdims=True)
np.mean(x, where=mask)
np.var(A)
np.var(A, axis=1, ddof=1)
np.std(A)
np.std(A, axis=0)
np.max(A)
np.max(A, axis=1)
np.min(A, axis=0)
np.amax(A)
np.amin(A)
np.ptp(A, axis=0)
np.median(A, axis=1)
np.median(x)
np.average(A, axis=1)
np.average(x, weights=p)
np.average(x, weights=p, returned=True)
np.percentile(x, 30)
np.percentile(A, [25, 75], axis=1)
np.quantile(x, 0.3)
np.quantile(x, 0.3, method="hazen")
np.quantile(x, 0.3, method="inverted_cdf")
np.quantile(x, s)
np.nansum(N)
np.nanprod(N)
np.nanmean(N)
np.nanvar(N)
np.nanstd(N)
np.nanmax(N)
np.nanmin(N)
np.nanmedian(N)
np.nanpercentile(N, 30)
np.nanquantile(N, 0.3)
np.nancumsum(N)
np.nancumprod(N)
np.cumsum(A, axis=1)
np.cumsum(x)
np.cumprod(x)
np.cumulative_sum(x, include_initial=True)
np.cumulative_prod(x)
np.argmax(A, axis=1)  # constant
np.argmin(x)  # constant
np.argsort(x)  # constant
np.count_nonzero(x > 0)  # constant
np.any(x > 0)  # constant
np.all(A > 0, axis=1)  # constant
np.isnan(N)  # constant
np.isclose(x, y)  # constant
np.isfinite(N)  # constant
np.greater(x, y)  # constant
np.logical_and(x > 0, y > 0)  # constant
np.signbit(x)  # constant
np.sort(x)
np.sort(A, axis=0)
np.partition(x, 2)
np.argpartition(x, 2)  # constant
np.lexsort((x, y))  # constant
np.searchsorted(grid, x)  # constant
np.digitize(x, grid)  # constant
np.unique(x)
np.union1d(x, y)
np.intersect1d(x, x[:3])
np.setdiff1d(x, y)
np.setxor1d(x, y)
np.isin(x, y)  # constant
np.trim_zeros(np.concatenate([x * 0, x, x * 0]))
np.nonzero(x > 0)  # constant
np.flatnonzero(x > 0)  # constant
np.argwhere(A > 0)  # constant
np.extract(mask, x)
np.compress(mask, x)
np.reshape(A, (4, 3))
np.reshape(A, -1, order="F")
np.ravel(A)
np.transpose(T, (2, 0, 1))
A.T
np.swapaxes(T, 0, 2)
np.moveaxis(T, 0, -1)
np.rollaxis(T, 2)
np.permute_dims(T, (1, 0, 2))
np.matrix_transpose(T)
np.expand_dims(x, 1)
np.squeeze(np.expand_dims(x, 1))
np.broadcast_to(x, (2, 6))
np.broadcast_arrays(A, v[:, None])
np.atleast_1d(s)
np.atleast_2d(x)
np.atleast_3d(A)
np.flip(A, 1)
np.fliplr(A)
np.flipud(A)
np.rot90(A)
np.roll(x, 2)
np.roll(A, 1, axis=0)
np.tile(x, 2)
np.tile(A, (2, 1))
np.repeat(x, 3)
np.repeat(A, 2, axis=1)
np.repeat(x, whole)
np.diag(x)
np.diag(M)
np.diagflat(v, 1)
np.diagonal(T, axis1=1, axis2=2)
np.trace(M)
np.tril(A)
np.triu(A, 1)
np.delete(x, 2)
np.insert(x, 2, s)
np.append(x, y)
np.resize(x, (3, 3))
np.pad(x, 2)
np.pad(A, ((1, 0), (0, 2)), constant_values=s)
np.pad(x, 2, mode="edge")
np.pad(x, 2, mode="reflect")
np.pad(x, 2, mode="symmetric")
np.pad(x, 2, mode="wrap")
np.pad(x, 2, mode="linear_ramp", end_values=s)
np.pad(A, 1, mode="mean")
np.pad(x, 2, mode="maximum")
np.pad(x, 2, mode="median", stat_length=3)
np.pad(x, 3, mode="reflect", reflect_type="odd")
np.concatenate([x, y])
np.concatenate([A, B], axis=1)
np.stack([x, y], axis=1)
np.vstack([x, y])
np.hstack([x, y])
np.dstack([x, y])
np.column_stack([x, y])
np.block([[M, S], [S, M]])
np.split(x, 3)
np.array_split(x, 4)
np.hsplit(A, 2)
np.vsplit(A, 3)
np.dsplit(T, 2)
np.unstack(A)
np.r_[x, s, y]
np.c_[x, y]
np.meshgrid(x, y)
np.linspace(s, t, 7)
np.logspace(s, t, 5)
np.geomspace(s, t, 5)
np.array([s, t, s * t])
np.full(3, s)
np.full_like(x, s)
np.zeros_like(x)  # constant
np.ones_like(x)  # constant
np.asarray(x)
np.copy(x)
np.vander(x, 4)
np.fromfunction(lambda i, j: s * i + t * j, (3, 2))
np.apply_along_axis(lambda r: r[0] * r, 1, A)
np.apply_over_axes(np.sum, T, [0, 2])
np.vectorize(lambda q, r: q * q + r)(x, y)
np.take(x, places)
np.take(A, [0, 2], axis=1)
np.take_along_axis(A, np.argsort(A, axis=1), axis=1)
x[places]
x[mask]
A[1:, ::-1]
A[[0, 2], [1, 3]]
A[..., None]
np.lib.stride_tricks.sliding_window_view(x, 3)
np.dot(A, x[:4])
np.dot(x, y)
np.vdot(z, z)
np.inner(A, B)
np.outer(x, y)
np.matmul(M, A)
M @ v
np.matvec(M, v)
np.vecmat(v, M)
np.vecdot(x, y)
np.tensordot(T, A, axes=[[1, 2], [0, 1]])
np.tensordot(A, M, (0, 0))
np.einsum("ij,ij->i", A, B)
np.einsum("kij,ij->k", T, A)
np.einsum("ii", M)
np.einsum("ij,jk,kl", M, S, A, optimize=True)
np.kron(v, w)
np.cross(v, w)
np.convolve(x, v)
np.convolve(x, v, "same")
np.correlate(x, v, "full")
np.diff(x)
np.diff(A, n=2, axis=1)
np.ediff1d(x)
np.gradient(x)
np.gradient(A, 0.5, axis=1)
np.gradient(x, grid ** 3)
np.trapezoid(x, dx=0.1)
np.trapezoid(x, grid)
np.interp(x, grid, y)
np.interp(x, grid, y, period=5.0)
np.unwrap(x * 4)
np.cov(A)
np.cov(x, y)
np.cov(A, aweights=p[:4])
np.corrcoef(A)
np.bincount(whole, weights=x)
np.histogram(grid, bins=3, weights=x)
np.histogram(x, bins=4)
np.histogram(x, bins=4, density=True)
np.histogram2d(grid, grid, bins=2, weights=x)
np.histogramdd(np.stack([grid, grid], 1), bins=2, weights=x)
np.histogram_bin_edges(x, bins=5)
np.polyval(v, x)
np.polyval([1.0, 2.0, 3.0], x)
np.polyfit(grid, x, 2)
np.polyfit(x, y, 2, w=p)
np.polyder(x)
np.polyint(v)
np.polyadd(v, x)
np.polysub(v, x)
np.polymul(v, x)
np.polydiv(x, v)
np.poly(x)
np.poly(S)  # complex
np.roots(p)  # complex
np.roots(v)  # complex
np.polynomial.polynomial.polyval(x, v)
np.polynomial.polynomial.polyfit(grid, x, 2)
np.polynomial.polynomial.polyval(x[:3], M)
np.polynomial.polynomial.polyval2d(x, y, A)
np.polynomial.chebyshev.chebgrid2d(v, w, A)
np.polynomial.legendre.legfit(x, y, 2, w=p)
np.polynomial.polynomial.polyroots(v)  # complex
np.polynomial.chebyshev.chebint(x, k=[s])
np.polynomial.polynomial.polyder(x)
np.polynomial.polynomial.polyint(x)
np.polynomial.polynomial.polymul(x, v)
np.polynomial.chebyshev.chebval(x, v)
np.polynomial.chebyshev.chebfit(grid, x, 2)
np.polynomial.chebyshev.chebder(x)
np.polynomial.chebyshev.chebmul(x, v)
np.polynomial.chebyshev.chebdiv(x, v)
np.polynomial.chebyshev.cheb2poly(x)
np.polynomial.legendre.legval(x, v)
np.polynomial.legendre.legvander(x, 3)
np.polynomial.hermite.hermval(x, v)
np.polynomial.hermite_e.hermeval(x, v)
np.polynomial.laguerre.lagval(x, v)
np.polynomial.Polynomial(v)(s)
np.polynomial.Chebyshev(v).deriv()(s)
np.add.reduce(x)
np.add.reduce(A, axis=(0, 1))
np.multiply.reduce(x)
np.maximum.reduce(A, axis=1)
np.logaddexp.reduce(x)
np.hypot.reduce(p)
np.subtract.reduce(A, axis=1)
np.add.accumulate(x)
np.multiply.accumulate(x)
np.maximum.accumulate(x)
np.minimum.accumulate(A, axis=1)
np.logaddexp.accumulate(x)
np.add.reduceat(x, [0, 2, 4])
np.multiply.reduceat(A, [0, 2], axis=1)
np.maximum.reduceat(x, [0, 3])
np.multiply.outer(x, y)
np.add.outer(x, v)
np.linalg.inv(M)
np.linalg.det(M)
np.linalg.slogdet(M)
np.linalg.solve(M, v)
np.linalg.solve(M, A)
np.linalg.cholesky(S @ S.T)
np.linalg.eigh(S + S.T)
np.linalg.eigvalsh(S + S.T)
np.linalg.eig(M)[1] ** 2  # complex
np.linalg.eig(Z)
np.linalg.eigvals(M)  # complex
np.linalg.svd(A, full_matrices=False)
np.linalg.svd(M)
np.linalg.svdvals(A)
np.linalg.qr(A)
np.linalg.qr(M, mode="r")
np.linalg.pinv(A)
np.linalg.pinv(S + S.T, hermitian=True)
np.linalg.lstsq(A.T, x[:4])
np.linalg.cond(M)
np.linalg.matrix_rank(M)  # constant
np.linalg.matrix_power(M, 3)
np.linalg.multi_dot([M, S, A])
np.linalg.norm(x)
np.linalg.norm(A, axis=1)
np.linalg.norm(M, "nuc")
np.linalg.norm(M, 2)
np.linalg.norm(x, 3)
np.linalg.vector_norm(x, ord=1)
np.linalg.matrix_norm(A)
np.linalg.tensorinv(M.reshape(3, 1, 3))
np.linalg.tensorsolve(M, v)
np.linalg.trace(T)
np.linalg.outer(x, y)
np.linalg.cross(v, w)
np.mgrid[0:3, 0:2] * s
np.ogrid[0:3] * x[:3]
np.tril(M)[np.tril_indices(3)]
M[np.ix_([0, 2], [1, 2])]
np.require(x, requirements="C")
np.asfortranarray(A)
np.asarray_chkfinite(x)
np.emath.sqrt(x)
np.emath.log(x)
np.emath.power(x, 0.3)
np.emath.arccos(x)
np.fft.fft(x)
np.fft.ifft(z)
np.fft.fft(z, n=8, norm="ortho")
np.fft.rfft(x)
np.fft.irfft(z)
np.fft.hfft(z)
np.fft.ihfft(x)
np.fft.fft2(A)
np.fft.ifft2(A)
np.fft.rfft2(A)
np.fft.irfft2(A)
np.fft.fftn(T)
np.fft.ifftn(T)
np.fft.rfftn(T)
np.fft.irfftn(T)
np.fft.fftshift(x)
np.fft.ifftshift(x)
x.sum()
x.mean()
A.sum(axis=0)
A.reshape(-1)
A.ravel()
A.flatten()
A.transpose()
A.max(axis=1)
A.std()
A.dot(B.T)
x.cumsum()
x.clip(-1, 1)
x.astype(complex)
x.copy()
x.repeat(2)
A.take([0, 1], axis=1)
A.diagonal()
A.trace()
x.prod()
M.T @ M
-x + y * 2 - 1 / p
x ** 2 + p ** 0.5 + 2.0 ** x
abs(x) % 0.4
"""


LATER = tuple(f"np.{name}(" for name in ("matvec", "vecmat") if not hasattr(np, name))


def _read(text: str) -> list[Pattern]:
    made = []
    for line in text.strip().splitlines():
        call, _, words = line.partition("  # ")
        if call.startswith(LATER):  # this release of NumPy has no such function yet
            continue
        found = compile(call, call, "eval")
        used = [*found.co_names]
        for inner in found.co_consts:
            used += getattr(inner, "co_names", ())
        names = tuple(dict.fromkeys(n for n in used if n in OPERANDS))
        made.append(Pattern(call, names, frozenset(words.split())))
    return made


PATTERNS = _read(PATTERNS_TEXT)
