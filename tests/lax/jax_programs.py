"""Programs of one array with names of `lax`, as text that runs with JAX's modules and ours."""

import numpy as np

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
V = np.array([0.6, -0.3, 0.8, 1.4, -1.2])
P = np.array([0.2, 0.7, 0.45])  # in (0, 1)

# name: (source, argument) or (source, argument, False) of what has no derivative
PROGRAMS = {
    # elements
    "abs": ("lambda x: lax.abs(x)", X),
    "acos": ("lambda x: lax.acos(x)", P),
    "acosh": ("lambda x: lax.acosh(1.5 + x)", P),
    "add": ("lambda x: lax.add(x, x)", X),
    "asin": ("lambda x: lax.asin(x)", P),
    "asinh": ("lambda x: lax.asinh(x)", X),
    "atan": ("lambda x: lax.atan(x)", X),
    "atan2": ("lambda x: lax.atan2(x, 1.0 + x * x)", X),
    "atanh": ("lambda x: lax.atanh(x)", P),
    "bessel_i0e": ("lambda x: lax.bessel_i0e(x)", X),
    "bessel_i1e": ("lambda x: lax.bessel_i1e(x)", X),
    "betainc": ("lambda x: lax.betainc(2.0, 3.0, x)", P),
    "cbrt": ("lambda x: lax.cbrt(x)", P),
    "ceil": ("lambda x: lax.ceil(3.3 * x)", X),
    "clamp": ("lambda x: lax.clamp(-0.5, x, 0.5)", X),
    "clamp limits": ("lambda x: lax.clamp(x * 0.5, jnp.full_like(x, 0.2), 1.0 + x * x)", X),
    "clz": ("lambda x: lax.clz((100 * x).astype(np.int32))", X, False),
    "complex": ("lambda x: lax.complex(x, 2 * x) * (1 + 2j)", X),
    "conj": ("lambda x: lax.conj(lax.complex(x, x * x)) * (1 + 2j)", X),
    "cos": ("lambda x: lax.cos(x)", X),
    "cosh": ("lambda x: lax.cosh(x)", X),
    "digamma": ("lambda x: lax.digamma(x + 1.0)", P),
    "div": ("lambda x: lax.div(x, 2.0 + x)", X),
    "div of integers": ("lambda x: lax.div((10 * x).astype(np.int32), "
                        "np.full(x.shape, 3, np.int32))", X, False),
    "eq": ("lambda x: lax.eq(x, x)", X, False),
    "erf": ("lambda x: lax.erf(x)", X),
    "erf_inv": ("lambda x: lax.erf_inv(x)", P),
    "erfc": ("lambda x: lax.erfc(x)", X),
    "exp": ("lambda x: lax.exp(x)", X),
    "exp2": ("lambda x: lax.exp2(x)", X),
    "expm1": ("lambda x: lax.expm1(x)", X),
    "floor": ("lambda x: lax.floor(3.3 * x)", X),
    "ge gt": ("lambda x: (lax.ge(x, 0.2 * x), lax.gt(x, 0.2 * x))", X, False),
    "igamma": ("lambda x: lax.igamma(jnp.full_like(x, 2.0), x)", P),
    "igammac": ("lambda x: lax.igammac(jnp.full_like(x, 2.0), x)", P),
    "imag": ("lambda x: lax.imag(lax.complex(x, x * x))", X),
    "integer_pow": ("lambda x: lax.integer_pow(x, 3)", X),
    "integer_pow negative": ("lambda x: lax.integer_pow(x, -2)", P),
    "is_finite": ("lambda x: lax.is_finite(x / (x - 0.3))", X, False),
    "le lt": ("lambda x: (lax.le(x, 0.2 * x), lax.lt(x, 0.2 * x))", X, False),
    "lgamma": ("lambda x: lax.lgamma(x + 1.0)", P),
    "log": ("lambda x: lax.log(x)", P),
    "log1p": ("lambda x: lax.log1p(x)", P),
    "logistic": ("lambda x: lax.logistic(x)", X),
    "max": ("lambda x: lax.max(x, 0.2 * x)", X),
    "min": ("lambda x: lax.min(x, 0.2 * x)", X),
    "mul": ("lambda x: lax.mul(x, lax.sin(x))", X),
    "ne": ("lambda x: lax.ne(x, 0.3 + 0 * x)", X, False),
    "neg": ("lambda x: lax.neg(x)", X),
    "nextafter": ("lambda x: lax.nextafter(x, 2.0 + x)", X, False),
    "polygamma": ("lambda x: lax.polygamma(jnp.full_like(x, 1.0), x + 1.0)", P),
    "population_count": ("lambda x: lax.population_count((9 * x).astype(np.uint8))", P, False),
    "pow": ("lambda x: lax.pow(x, 1.0 + x)", P),
    "real": ("lambda x: lax.real(lax.complex(x, x) * lax.complex(x, x))", X),
    "reciprocal": ("lambda x: lax.reciprocal(x)", X),
    "reduce_precision": ("lambda x: lax.reduce_precision(x, 5, 10)", X),
    "reduce_precision of few bits": ("lambda x: lax.reduce_precision(x, 3, 0)", X, False),
    "reduce_precision of any bits": (
        "lambda x: [lax.reduce_precision(x * y, e, m) for e, m in [(5, 10), (8, 7), (6, 9), "
        "(4, 20), (2, 52), (11, 0), (1, 1), (12, 60)] for y in (1.0, 1e-5, 31234.5, 1e300, 1e-310, "
        "np.inf)]", X, False),
    "reduce_precision of other numbers": (
        "lambda x: lax.reduce_precision((x * 1e-3).astype(np.float16), 4, 5)", X, False),
    "reduce_precision single": ("lambda x: lax.reduce_precision(x, 8, 23)", X),
    "reduce_precision bfloat16": ("lambda x: lax.reduce_precision(x.astype(np.float32), 8, 7)", X,
                                  False),
    "rem": ("lambda x: lax.rem(x, 0.4 + 0 * x)", X),
    "round": ("lambda x: lax.round(5 * x)", X),
    "round halves": ("lambda x: lax.round(0 * x + np.array([0.5, 1.5, -2.5, 0.4, -0.6]))", V),
    "round even": ("lambda x: lax.round(0 * x + np.array([0.5, 1.5, -2.5, 0.4, -0.6]), "
                   "lax.RoundingMethod.TO_NEAREST_EVEN)", V),
    "rsqrt": ("lambda x: lax.rsqrt(x)", P),
    "select": ("lambda x: lax.select(x > 0.1, lax.sin(x), lax.cos(x))", X),
    "select scalar": ("lambda x: lax.select(x[0, 0] > 0.1, lax.sin(x), lax.cos(x))", X),
    "select_n": ("lambda x: lax.select_n((x > 0).astype(np.int32) + (x > 0.5), x, x * x, x**3)",
                 X),
    "shifts": ("lambda x: (lax.shift_left((9 * x).astype(np.int32), np.int32(2) + 0 * "
               "(9 * x).astype(np.int32)), lax.shift_right_arithmetic((99 * x).astype(np.int32), "
               "np.full(x.shape, 2, np.int32)), lax.shift_right_logical((99 * x).astype(np.int32), "
               "np.full(x.shape, 2, np.int32)))", X, False),
    "sign": ("lambda x: lax.sign(x)", X),
    "sin": ("lambda x: lax.sin(x)", X),
    "sinh": ("lambda x: lax.sinh(x)", X),
    "sqrt": ("lambda x: lax.sqrt(x)", P),
    "square": ("lambda x: lax.square(x)", X),
    "sub": ("lambda x: lax.sub(x, x * x)", X),
    "tan": ("lambda x: lax.tan(x)", X),
    "tanh": ("lambda x: lax.tanh(x)", X),
    "zeta": ("lambda x: lax.zeta(3.0 + 0 * x, x + 1.0)", P, False),
    "bits": ("lambda x: (lax.bitwise_and((9 * x).astype(np.int32), (5 * x).astype(np.int32)), "
             "lax.bitwise_or((9 * x).astype(np.int32), (5 * x).astype(np.int32)), "
             "lax.bitwise_xor((9 * x).astype(np.int32), (5 * x).astype(np.int32)), "
             "lax.bitwise_not((9 * x).astype(np.int32)))", X, False),
    # shapes
    "broadcast": ("lambda x: lax.broadcast(x, (2,)) * x", X),
    "broadcast_in_dim": ("lambda x: lax.broadcast_in_dim(x, (4, 2, 3), (1, 2))", X),
    "broadcast_to_rank": ("lambda x: lax.broadcast_to_rank(x, 4)", X),
    "broadcasted_iota": ("lambda x: x * lax.broadcasted_iota(float, (2, 3), 1)", X),
    "collapse": ("lambda x: lax.collapse(x, 0, 2)", X),
    "concatenate": ("lambda x: lax.concatenate([x, x * x], 1)", X),
    "convert_element_type": ("lambda x: lax.convert_element_type(x, np.float32) * 2", X, False),
    "bitcast_convert_type": ("lambda x: lax.bitcast_convert_type(x, np.int64)", X, False),
    "bitcast smaller": ("lambda x: lax.bitcast_convert_type(x.astype(np.float32), np.uint16)", X,
                        False),
    "bitcast and back": ("lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, "
                         "np.int32), np.float64)", X),
    "expand_dims": ("lambda x: lax.expand_dims(x, (0, 2))", X),
    "full": ("lambda x: lax.full((2, 2), x[0])", V),
    "full_like": ("lambda x: lax.full_like(x, x[1])", V),
    "iota": ("lambda x: x * lax.iota(float, 5)", V),
    "pad": ("lambda x: lax.pad(x, x[0, 0], [(1, 2, 0), (0, 1, 2)])", X),
    "pad negative": ("lambda x: lax.pad(x, 0.5, [(-1, 2, 1), (1, -1, 0)])", X),
    "reshape": ("lambda x: lax.reshape(x, (3, 2))", X),
    "reshape dimensions": ("lambda x: lax.reshape(x, (6,), (1, 0))", X),
    "rev": ("lambda x: lax.rev(x, (1,))", X),
    "split": ("lambda x: lax.split(x, (2, 3))", V),
    "squeeze": ("lambda x: lax.squeeze(x[None], (0,))", X),
    "tile": ("lambda x: lax.tile(x, (2, 2))", X),
    "transpose": ("lambda x: lax.transpose(x, (1, 0))", X),
    # slices
    "dynamic_index_in_dim": ("lambda x: lax.dynamic_index_in_dim(x, -1, 1, False)", X),
    "dynamic_slice": ("lambda x: lax.dynamic_slice(x, (1, (x[0, 0] > 0) + 0), (1, 2))", X),
    "dynamic_slice beyond": ("lambda x: lax.dynamic_slice(x, (9,), (2,))", V),
    "dynamic_slice_in_dim": ("lambda x: lax.dynamic_slice_in_dim(x, 1, 2, 1)", X),
    "dynamic_update_slice": ("lambda x: lax.dynamic_update_slice(x, x[:1, :2] * 2, (1, 7))", X),
    "dynamic_update_slice traced": ("lambda x: lax.dynamic_update_slice(x, x[:2] ** 2, "
                                    "((x[0] > 0).astype(int),))", V),
    "dynamic_update_index_in_dim": ("lambda x: lax.dynamic_update_index_in_dim(x, x[0] ** 2, 1, 0)",
                                    X),
    "dynamic_update_slice_in_dim": ("lambda x: lax.dynamic_update_slice_in_dim(x, x[:2], 2, 0)", V),
    "gather rows": ("lambda x: lax.gather(x, np.array([[1], [0], [1]]), lax.GatherDimensionNumbers("
                    "(1,), (0,), (0,)), (1, 3))", X),
    "gather windows": ("lambda x: lax.gather(x, np.array([[0, 1], [1, 0]]), "
                       "lax.GatherDimensionNumbers((1, 2), (), (0, 1)), (1, 2))", X),
    "gather outside": ("lambda x: lax.gather(x, np.array([[4], [9]]), lax.GatherDimensionNumbers("
                       "(1,), (), (0,)), (2,), mode='fill', fill_value=7.0)", V),
    "gather clipped": ("lambda x: lax.gather(x, np.array([[4], [9]]), lax.GatherDimensionNumbers("
                       "(1,), (), (0,)), (2,), mode='clip')", V),
    "gather batches": ("lambda x: lax.gather(x, np.array([[2], [0]]), lax.GatherDimensionNumbers("
                       "(), (1,), (1,), (0,), (0,)), (1, 1))", X),
    "index_in_dim": ("lambda x: lax.index_in_dim(x, -1, 1)", X),
    "index_take": ("lambda x: lax.index_take(x, (np.array([1, 0]), np.array([2, 0])), (0, 1))", X),
    "scatter": ("lambda x: lax.scatter(x, np.array([[1], [3]]), x[:2] ** 2, "
                "lax.ScatterDimensionNumbers((), (0,), (0,)))", V),
    "scatter_add": ("lambda x: lax.scatter_add(x, np.array([[1], [1], [9]]), x[:3] ** 2, "
                    "lax.ScatterDimensionNumbers((), (0,), (0,)))", V),
    "scatter_add windows": ("lambda x: lax.scatter_add(x, np.array([[1], [0]]), x[:, :2] ** 2, "
                            "lax.ScatterDimensionNumbers((1,), (1,), (1,)))", X),
    "scatter_sub": ("lambda x: lax.scatter_sub(x, np.array([[1], [1]]), x[:2] ** 2, "
                    "lax.ScatterDimensionNumbers((), (0,), (0,)))", V),
    "scatter_mul": ("lambda x: lax.scatter_mul(x, np.array([[1], [3]]), x[:2] ** 2, "
                    "lax.ScatterDimensionNumbers((), (0,), (0,)), unique_indices=True)", V),
    "scatter_min": ("lambda x: lax.scatter_min(x, np.array([[1], [3]]), x[:2] ** 2, "
                    "lax.ScatterDimensionNumbers((), (0,), (0,)))", V),
    "scatter_max": ("lambda x: lax.scatter_max(x, np.array([[1], [3]]), x[:2] ** 2, "
                    "lax.ScatterDimensionNumbers((), (0,), (0,)))", V),
    "slice": ("lambda x: lax.slice(x, (0, 1), (2, 3), (1, 2))", X),
    "slice_in_dim": ("lambda x: lax.slice_in_dim(x, 0, 3, 2, 1)", X),
    # x.at
    "at set": ("lambda x: at(x)[1].set(x[0] ** 2)", V),
    "at set slice": ("lambda x: at(x)[1:3].set(x[:2] ** 2)", V),
    "at set mask": ("lambda x: at(x)[np.array([True, False, True, False, False])].set("
                    "0.5)", V),
    "at add": ("lambda x: at(x)[np.array([0, 0, 2])].add(x[:3] ** 2)", V),
    "at subtract": ("lambda x: at(x)[np.array([0, 0, 2])].subtract(x[:3] ** 2)", V),
    "at multiply": ("lambda x: at(x)[np.array([0, 3])].multiply(x[:2] ** 2, "
                    "unique_indices=True)", V),
    "at divide": ("lambda x: at(x)[np.array([0, 3])].divide(2.0 + x[:2] ** 2)", V,
                  False),
    "at power": ("lambda x: at(x)[np.array([0, 3])].power(2.0)", V, False),
    "at min": ("lambda x: at(x)[np.array([0, 1])].min(x[3:] ** 2 - 1)", V),
    "at max": ("lambda x: at(x)[np.array([0, 1])].max(x[3:] ** 2)", V),
    "at apply": ("lambda x: at(x)[np.array([0, 1])].apply(jnp.sin)", V, False),
    "at get": ("lambda x: at(x)[np.array([0, 0, 2])].get()", V),
    "at get fill": ("lambda x: at(x)[np.array([0, 9, -1])].get(mode='fill', "
                    "fill_value=3.0)", V),
    "at get clip": ("lambda x: at(x)[np.array([0, 9, -7])].get(mode='clip')", V),
    "at drop": ("lambda x: at(x)[np.array([0, 9, 2])].set(x[:3] ** 2, mode='drop')", V),
    "at add clip": ("lambda x: at(x)[np.array([0, 9, 2])].add(x[:3] ** 2, mode='clip')",
                    V),
    "at rows and columns": ("lambda x: at(x)[np.array([0, 1])[:, None], "
                            "np.array([0, 2])].add(x[:, :2] ** 2)", X),
    "at mixed": ("lambda x: at(x)[..., np.array([0, 2])].set(x[:, :2] ** 2)", X),
    "at no wrap": ("lambda x: at(x)[np.array([0, -1])].get(mode='fill', fill_value=0., "
                   "wrap_negative_indices=False)", V),
    # reductions
    "argmax": ("lambda x: lax.argmax(x, 1, np.int32)", X, False),
    "argmin": ("lambda x: lax.argmin(x, 0, np.int32)", X, False),
    "cumlogsumexp": ("lambda x: lax.cumlogsumexp(x, 1)", X),
    "cumlogsumexp reverse": ("lambda x: lax.cumlogsumexp(x, 1, True)", X),
    "cummax": ("lambda x: lax.cummax(x)", V),
    "cummin": ("lambda x: lax.cummin(x, 0, True)", V),
    "cumprod": ("lambda x: lax.cumprod(x, 1)", X),
    "cumsum": ("lambda x: lax.cumsum(x, 1, True)", X),
    "reduce add": ("lambda x: lax.reduce(x, 0.0, lax.add, (1,))", X),
    "reduce any function": ("lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (0, 1))", X),
    "reduce pairs": ("lambda x: lax.reduce((x, lax.sin(x)), (0.0, 1.0), lambda a, b: (a[0] + b[0], "
                     "a[1] * b[1]), (0,))", X, False),
    "reduce_and": ("lambda x: lax.reduce_and(x > -1, (0,))", X, False),
    "reduce_max": ("lambda x: lax.reduce_max(x, (0,))", X),
    "reduce_min": ("lambda x: lax.reduce_min(x, (1,))", X),
    "reduce_or": ("lambda x: lax.reduce_or(x > 1, (0,))", X, False),
    "reduce_prod": ("lambda x: lax.reduce_prod(x, (0, 1))", X),
    "reduce_sum": ("lambda x: lax.reduce_sum(x, (1,))", X),
    "reduce_xor": ("lambda x: lax.reduce_xor((99 * x).astype(np.int32), (1,))", X, False),
    "reduce_window add": ("lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'SAME')",
                          X),
    "reduce_window max": ("lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (2,))", V),
    "reduce_window min": ("lambda x: lax.reduce_window(x, np.inf, lax.min, (2,), (1,), [(1, 0)])",
                          V),
    "reduce_window dilated": ("lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), 'VALID', "
                              "(2,), (3,))", V),
    # sorting
    "sort": ("lambda x: lax.sort(x)", V),
    "sort axis": ("lambda x: lax.sort(x, 0)", X),
    "sort several": ("lambda x: lax.sort((x, lax.sin(x)))", V),
    "sort keys": ("lambda x: lax.sort((np.array([1, 0, 1, 0, 1]) + 0 * x, x, lax.exp(x)), "
                  "num_keys=2)", V),
    "sort_key_val": ("lambda x: lax.sort_key_val(x, x * x)", V),
    "top_k": ("lambda x: lax.top_k(x, 2)", X),
    "top_k ties": ("lambda x: lax.top_k(0 * x + np.array([1., 3., 3., 2., np.nan]), 4)", V, False),
    "approx_max_k": ("lambda x: lax.approx_max_k(x, 2)[0]", V),
    # products
    "batch_matmul": ("lambda x: lax.batch_matmul(x[:, None], x[:, :, None])", X),
    "dot": ("lambda x: lax.dot(x, x.T)", X),
    "dot vectors": ("lambda x: lax.dot(x, lax.sin(x), precision=lax.Precision.HIGHEST)", V),
    "dot_general": ("lambda x: lax.dot_general(x, lax.sin(x), (((1,), (1,)), ((0,), (0,))))", X),
    "dot_general free": ("lambda x: lax.dot_general(x, lax.sin(x), (((0,), (0,)), ((), ())), "
                         "preferred_element_type=float)", X),
    "conv": ("lambda x: lax.conv(x[None, None], x[None, None, :, :2], (1, 1), 'SAME')", X),
    "conv_transpose": ("lambda x: lax.conv_transpose(x[None, :, :, None], x[:, :2, None, None], "
                       "(2, 1), 'SAME')", X),
    "conv_transpose valid": ("lambda x: lax.conv_transpose(x[None], x[:1, :, None], (3,), 'VALID')",
                             X),
    "conv_transpose turned": ("lambda x: lax.conv_transpose(x[None, :, :, None], "
                              "x[:, :2, None, None], (2, 2), [(1, 1), (0, 1)], "
                              "transpose_kernel=True)", X),
    "fft": ("lambda x: lax.fft(x, 'RFFT', (5,))", V),
    "ifft": ("lambda x: lax.fft(lax.complex(x, x), 'IFFT', (2, 3))", X),
    # lax.linalg
    "cholesky": ("lambda x: lax.linalg.cholesky(x @ x.T + 2 * np.eye(2))", X),
    "eigh": ("lambda x: lax.linalg.eigh(x @ x.T + np.diag([1., 3.]))[1]", X),
    "qr": ("lambda x: lax.linalg.qr(x.T, full_matrices=False)[1] ** 2", X),
    "svd": ("lambda x: lax.linalg.svd(x, full_matrices=False)[1]", X),
    "svd values": ("lambda x: lax.linalg.svd(x, compute_uv=False)", X),
    "triangular_solve": ("lambda x: lax.linalg.triangular_solve(x[:, :2] + 2 * np.eye(2), x, "
                         "left_side=True, lower=True)", X),
    "triangular_solve x a": ("lambda x: lax.linalg.triangular_solve(x[:, :2] + 2 * np.eye(2), x.T, "
                               "transpose_a=True, unit_diagonal=True)", X),
    "symmetric_product": ("lambda x: lax.linalg.symmetric_product(x, x[:, :2] @ x[:, :2].T, "
                          "alpha=2.0, beta=0.5, symmetrize_output=True)", X, False),
    # what differs between places, groups and halves
    "patches": ("lambda x: lax.conv_general_dilated_patches(x[None, None], (2, 2), (1, 1), 'SAME')",
                X),
    "patches of channels": ("lambda x: lax.conv_general_dilated_patches(x[None], (2,), (1,), "
                            "[(1, 0)], rhs_dilation=(2,))", X),
    "patches layout": ("lambda x: lax.conv_general_dilated_patches(lax.stack([x, x * x], 2)[None], "
                       "(2, 2), (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))", X),
    "local": ("lambda x: lax.conv_general_dilated_local(x[None], jnp.arange(24.0).reshape(3, 4, 2) "
              "* x[0, 0], (1,), 'VALID', (2,))", X),
    "local layout": ("lambda x: lax.conv_general_dilated_local(x[None, :, :, None], "
                     "jnp.arange(24.0).reshape(1, 2, 4, 3) * x[0, 0], (1, 1), 'VALID', (2, 2), "
                     "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))", X),
    "mulhi": ("lambda x: (lax.mulhi((100 * x).astype(np.int8), (90 * x).astype(np.int8)), "
              "lax.mulhi((1e18 * x).astype(np.int64), (7e18 * x).astype(np.int64)), "
              "lax.mulhi((1e18 * x * x).astype(np.uint64), (9e18 * x * x).astype(np.uint64)))",
              X, False),
    "igamma_grad_a": ("lambda x: lax.igamma_grad_a(1.0 + x, 2.0 + 0 * x)", P, False),
    "random_gamma_grad": ("lambda x: lax.random_gamma_grad(1.0 + x, 2.0 + 0 * x)", P, False),
    "optimization_barrier": ("lambda x: lax.optimization_barrier((x, lax.sin(x)))", X),
    "lu": ("lambda x: lax.linalg.lu(x[:, :2] + np.array([[0.1, 2.0], [3.0, 0.2]]))[0]", X),
    "lu wide": ("lambda x: lax.linalg.lu(jnp.stack([x, x[::-1]]))[1:]", X, False),
    "lu tall": ("lambda x: lax.linalg.lu(x.T)", X, False),
    "pivots": ("lambda x: lax.linalg.lu_pivots_to_permutation((x > 0).astype(np.int32) * 2 + "
               "np.array([[0, 1, 2]], np.int32), 5)", X, False),
    "eig vectors": ("lambda x: lax.linalg.eig(x[:, :2] + np.array([[0.1, 2.0], [-3.0, 0.2]]))", X,
                    False),
    "schur": ("lambda x: lax.linalg.schur(x[:, :2] + np.array([[0.1, 2.0], [-3.0, 0.2]]))", X,
              False),
    "hessenberg": ("lambda x: lax.linalg.hessenberg(x.T @ x + x[0])", X, False),
    "householder_product": ("lambda x: lax.linalg.householder_product(x.T, x[:, 0])", X, False),
    "ormqr": ("lambda x: lax.linalg.ormqr(x.T, x[:, 0], x.T @ x, transpose=True)", X, False),
    "ormqr right": ("lambda x: lax.linalg.ormqr(x.T, x[:, 0], x, left=False)", X, False),
    "tridiagonal_solve": ("lambda x: lax.linalg.tridiagonal_solve(x[0], 3.0 + x[1], x[0] * x[1], "
                          "x.T)", X),
}  # fmt: skip
