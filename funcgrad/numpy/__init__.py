"""``funcgrad.numpy``: NumPy's functions for plain and traced arrays.

Every name, signature and dtype rule is NumPy's. With nothing traced each function calls NumPy's
own and returns its arrays; while a transform runs, the functions that make arrays (`zeros`,
`array`, `arange` …) return arrays into which traced values can be written. Plain ``np.*`` calls
on traced values come to the same definitions.

Examples
--------
>>> import funcgrad as fg
>>> import funcgrad.numpy as fnp
>>> def f(x):
...     b = fnp.zeros(3)
...     b[0] = x
...     return (b + 1.0).prod()
>>> fg.grad(f)(2.0)
np.float64(1.0)
"""

from typing import TYPE_CHECKING

import numpy
from numpy import __array_namespace_info__  # noqa: F401

import funcgrad.numpy.complex_results
import funcgrad.numpy.patch
import funcgrad.numpy.support
import funcgrad.numpy.ufunc_methods
import funcgrad.numpy.windows
import funcgrad.ops.operators  # noqa: F401
from funcgrad.core.boundary import bound_names
from funcgrad.numpy import dispatch, fft, linalg, methods
from funcgrad.numpy.names import complete, strip

# The names in full, for type checkers; grouped as in the modules, many to a line.
# isort: off
# fmt: off
from funcgrad.numpy.axes import (
    diagonal, flip, fliplr, flipud, matrix_transpose, moveaxis, permute_dims, rollaxis, rot90,
    swapaxes, transpose,
)
from funcgrad.numpy.polynomials import (
    poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, roots,
)
from funcgrad.numpy.calculus import (
    diff, ediff1d, gradient, interp, polyval, trapezoid, unwrap,
)
from funcgrad.numpy.creation import (
    array, asanyarray, asarray, asarray_chkfinite, ascontiguousarray, asfortranarray, copy, empty,
    empty_like, eye, full, full_like, identity, ones, ones_like, require, tri, zeros,
    zeros_like,
)
from funcgrad.numpy.elementwise import (
    abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh,
    asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift,
    bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, conj, conjugate,
    copysign, cos, cosh, deg2rad, degrees, divide, divmod, equal, exp, exp2, expm1, fabs,
    float_power, floor, floor_divide, fmax, fmin, fmod, frexp, gcd, greater, greater_equal,
    heaviside, hypot, invert, isfinite, isinf, isnan, lcm, ldexp, left_shift, less, less_equal, log,
    log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor,
    matmul, maximum, minimum, mod, modf, multiply, negative, nextafter, not_equal, positive, pow,
    power, rad2deg, radians, reciprocal, remainder, right_shift, rint, sign, signbit, sin, sinh,
    spacing, sqrt, square, subtract, tan, tanh, true_divide, trunc,
)
from funcgrad.numpy.index_expressions import c_, r_
from funcgrad.numpy.indexing import (
    argwhere, choose, compress, diag_indices, diag_indices_from, extract, flatnonzero, ix_, nonzero,
    piecewise, ravel_multi_index, select, take, take_along_axis, tril_indices, tril_indices_from,
    triu_indices, triu_indices_from, unravel_index, where,
)
from funcgrad.numpy.metadata import (
    astype, bartlett, blackman, bool_, can_cast, common_type, complex64, complex128, dtype, e,
    errstate, euler_gamma, finfo, float16, float32, float64, hamming, hanning, iinfo, inf, int8,
    int16, int32, int64, intp, iscomplexobj, isdtype, isrealobj, isscalar, issubdtype, iterable,
    kaiser, min_scalar_type, nan, ndarray, ndim, newaxis, pi, printoptions, promote_types,
    result_type, set_printoptions, shape, size, uint8, uint16, uint32, uint64,
)
from funcgrad.numpy.joining import (
    append, block, column_stack, concat, concatenate, dstack, hstack, stack, vstack,
)
from funcgrad.numpy.rearranging import diag, diagflat, pad, roll, tril, triu
from funcgrad.numpy.nans import (
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanpercentile,
    nanprod, nanquantile, nanstd, nansum, nanvar,
)
from funcgrad.numpy.complex_parts import imag, real
from funcgrad.numpy.pointwise import (
    allclose, angle, around, array_equal, array_equiv, clip, fix, i0, isclose, iscomplex, isneginf,
    isposinf, isreal, nan_to_num, real_if_close, round, sinc,
)
from funcgrad.numpy.products import (
    convolve, correlate, cross, dot, einsum, einsum_path, inner, kron, outer, tensordot, trace,
    vdot, vecdot,
)
from funcgrad.numpy.quantiles import median, percentile, quantile
from funcgrad.numpy.ranges import (
    arange, geomspace, indices, linspace, logspace, meshgrid, vander,
)
from funcgrad.numpy.reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, mean, min, prod, ptp, std, sum, var,
)
from funcgrad.numpy.repeating import delete, insert, repeat, resize, tile
from funcgrad.numpy.reshaping import (
    atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_shapes, broadcast_to,
    expand_dims, ravel, reshape, squeeze,
)
from funcgrad.numpy.running import cumprod, cumsum, cumulative_prod, cumulative_sum
from funcgrad.numpy.functional import apply_along_axis, apply_over_axes, vectorize
from funcgrad.numpy.histograms import histogram, histogram2d, histogram_bin_edges, histogramdd
from funcgrad.numpy.sets import (
    intersect1d, isin, setdiff1d, setxor1d, trim_zeros, union1d, unique, unique_all, unique_counts,
    unique_inverse, unique_values,
)
from funcgrad.numpy.sorting import (
    argpartition, argsort, digitize, lexsort, partition, searchsorted, sort, sort_complex,
)
from funcgrad.numpy.splitting import array_split, dsplit, hsplit, split, unstack, vsplit
from funcgrad.numpy.statistics import average, bincount, corrcoef, cov
from funcgrad.numpy.writing import copyto, fill_diagonal, place, put, put_along_axis, putmask

if TYPE_CHECKING:  # what is NumPy's own here; `complete` finds it at run time
    from numpy import (
        array2string as array2string, array_repr as array_repr, array_str as array_str,
        asmatrix as asmatrix, base_repr as base_repr, binary_repr as binary_repr, bmat as bmat,
        bool as bool, broadcast as broadcast, busday_count as busday_count,
        busday_offset as busday_offset, busdaycalendar as busdaycalendar, byte as byte,
        bytes_ as bytes_, cdouble as cdouble, character as character, clongdouble as clongdouble,
        complexfloating as complexfloating, csingle as csingle, datetime64 as datetime64,
        datetime_as_string as datetime_as_string, datetime_data as datetime_data, double as double,
        False_ as False_, flatiter as flatiter, flexible as flexible, floating as floating,
        format_float_positional as format_float_positional,
        format_float_scientific as format_float_scientific, from_dlpack as from_dlpack,
        frombuffer as frombuffer, fromfile as fromfile, fromfunction as fromfunction,
        fromiter as fromiter, frompyfunc as frompyfunc, fromregex as fromregex,
        fromstring as fromstring, generic as generic, genfromtxt as genfromtxt,
        get_include as get_include, get_printoptions as get_printoptions, getbufsize as getbufsize,
        geterr as geterr, geterrcall as geterrcall, half as half, index_exp as index_exp,
        inexact as inexact, info as info, int_ as int_, intc as intc, integer as integer,
        is_busday as is_busday, isfortran as isfortran, isnat as isnat,
        little_endian as little_endian, load as load, loadtxt as loadtxt, long as long,
        longdouble as longdouble, longlong as longlong, mask_indices as mask_indices,
        matrix as matrix, matvec as matvec, may_share_memory as may_share_memory, memmap as memmap,
        mgrid as mgrid, mintypecode as mintypecode, ndenumerate as ndenumerate, ndindex as ndindex,
        nditer as nditer, nested_iters as nested_iters, number as number, object_ as object_,
        ogrid as ogrid, packbits as packbits, poly1d as poly1d, recarray as recarray,
        record as record, s_ as s_, save as save, savetxt as savetxt,
        savez as savez, savez_compressed as savez_compressed, ScalarType as ScalarType,
        setbufsize as setbufsize, seterr as seterr, seterrcall as seterrcall,
        shares_memory as shares_memory, short as short, show_config as show_config,
        show_runtime as show_runtime, signedinteger as signedinteger, single as single,
        str_ as str_, timedelta64 as timedelta64, True_ as True_, typecodes as typecodes,
        typename as typename, ubyte as ubyte, ufunc as ufunc, uint as uint, uintc as uintc,
        uintp as uintp, ulong as ulong, ulonglong as ulonglong, unpackbits as unpackbits,
        unsignedinteger as unsignedinteger, ushort as ushort, vecmat as vecmat, void as void,
    )
    from numpy import (
        char as char, ctypeslib as ctypeslib, dtypes as dtypes, emath as emath,
        exceptions as exceptions, lib as lib, ma as ma, random as random, rec as rec,
        strings as strings, testing as testing, typing as typing,
    )

    from funcgrad.numpy import polynomial as polynomial

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any",
    "append", "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition", "argsort",
    "argwhere", "around", "array", "array_equal", "array_equiv", "array_split", "asanyarray",
    "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "asin", "asinh",
    "astype", "atan", "atan2", "atanh",
    "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "bincount", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "blackman", "block", "bool_", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "c_", "can_cast", "cbrt", "ceil", "choose", "clip",
    "column_stack", "common_type", "complex128", "complex64", "compress", "concat", "concatenate",
    "conj", "conjugate", "convolve", "copy", "copysign", "copyto", "corrcoef", "correlate", "cos",
    "cosh", "count_nonzero", "cov", "cross", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices", "diag_indices_from",
    "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "dsplit", "dstack",
    "dtype", "e", "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal", "errstate",
    "euler_gamma", "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs", "fft",
    "fill_diagonal", "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float16",
    "float32", "float64", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp",
    "full", "full_like", "gcd", "geomspace", "gradient", "greater", "greater_equal", "hamming",
    "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "indices", "inf", "inner",
    "insert", "int16", "int32", "int64", "int8", "interp", "intersect1d", "intp", "invert",
    "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf", "isnan",
    "isneginf", "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype", "iterable", "ix_",
    "kaiser", "kron", "lcm", "ldexp", "left_shift", "less", "less_equal", "lexsort", "linalg",
    "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logspace", "matmul", "matrix_transpose", "max",
    "maximum", "mean", "median", "meshgrid", "min", "min_scalar_type", "minimum", "mod", "modf",
    "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "ndarray", "ndim", "negative", "newaxis",
    "nextafter", "nonzero", "not_equal", "ones", "ones_like", "outer", "pad", "partition",
    "percentile", "permute_dims", "pi", "piecewise", "place", "poly", "polyadd", "polyder",
    "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "positive", "pow", "power",
    "printoptions", "prod", "promote_types", "ptp", "put", "put_along_axis", "putmask", "quantile",
    "r_", "rad2deg", "radians", "ravel", "ravel_multi_index", "real", "real_if_close", "reciprocal",
    "remainder", "repeat", "require", "reshape", "resize", "result_type", "right_shift", "rint",
    "roll", "rollaxis", "roots", "rot90", "round", "searchsorted", "select", "set_printoptions",
    "setdiff1d", "setxor1d", "shape", "sign", "signbit", "sin", "sinc", "sinh", "size", "sort",
    "sort_complex", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros",
    "triu", "triu_indices", "triu_indices_from", "true_divide", "trunc", "uint16", "uint32",
    "uint64", "uint8", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unravel_index", "unstack", "unwrap", "vander", "var", "vdot", "vecdot",
    "vectorize", "vsplit", "vstack", "where", "zeros", "zeros_like",
]
# fmt: on
# isort: on

methods.install()
dispatch.install()

bound_names(__name__)
complete(__name__, numpy, later=("polynomial",))
strip(globals(), numpy)
