"""Names, modes and unusual operands of `lax`, `nn`, `random` and `tree`, as JAX has them."""

import numpy
import pytest
from like_jax.swapped import agree, evaluate, ours, theirs

pytestmark = pytest.mark.peers


def names(jax, own):
    if own:
        import funcgrad as fg

        return ours() | {"numpy": numpy, "at": fg.at, "jax": fg}
    return theirs() | {"numpy": numpy, "at": lambda x: jax.numpy.asarray(x).at}


def compare(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        agree(*(evaluate(program, names(jax, own)) for own in (True, False)), rtol=1e-6)


OF_LAX = r"""
lax.approx_min_k(np.arange(6.) % 4, 2)
lax.broadcast_shapes((2, 1), (3,)), lax.broadcast_shapes((), (4,)), lax.broadcast_shapes((2, 0), (2, 1))
lax.conv_with_general_padding(np.arange(24.).reshape(1, 2, 12), np.ones((3, 2, 2)), (1,), [(1, 0)], (1,), (2,))
lax.empty((2, 3), 'float32').shape, lax.empty((2,), int).dtype.name
lax.padtype_to_pads((5, 6), (2, 3), (1, 2), 'SAME'), lax.padtype_to_pads((5, 6), (2, 3), (1, 2), 'VALID'), lax.padtype_to_pads((5,), (2,), (2,), 'SAME_LOWER')
lax.scatter_apply(np.arange(5.), np.asarray([[1], [3]]), np.sin, lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,))
lax.unstack(np.arange(6.).reshape(2, 3), 1), lax.unstack(np.arange(6.).reshape(2, 3))
tuple(lax.conv_dimension_numbers((1, 2, 3), (4, 2, 1), ('NCH', 'OIH', 'NCH')))
lax.reduce_window_shape_tuple((5, 6), (2, 3), (1, 2), ((0, 0), (1, 1)))
np.abs(lax.linalg.qdwh(np.asarray([[2., 1.], [0.5, 3.]]))[1])
m.vmap(lambda x: lax.top_k(x, 2), in_axes=1)(np.arange(12.).reshape(4, 3) % 5)
lax.top_k(np.arange(12.).reshape(3, 4) % 5, 2, axis=0)
m.grad(lambda x: np.sum(lax.top_k(x, 2)[0] ** 2))(np.asarray([1., 5., 3.]))
lax.sort((np.asarray([3, 1, 3, 2]), np.asarray([1., 2., 0., 4.])), num_keys=2), lax.sort([np.asarray([3, 1, 2])])
lax.sort(np.asarray([[3., np.nan, 1.], [0., -0., 2.]]), dimension=0, is_stable=False)
lax.cumsum(np.arange(4), reverse=True), lax.cumprod(np.arange(1, 5, dtype='int8')), lax.cummax(np.asarray([1., np.nan, 3.]))
lax.clamp(0, np.asarray([-1, 5, 9]), 6), lax.clamp(0.0, np.asarray(7.0), 5.0)
lax.select(np.asarray([True, False]), np.asarray([1, 2]), np.asarray([3, 4])), lax.select_n(np.asarray(1), 3.0, 4.0)
lax.convert_element_type(3.7, int), lax.convert_element_type(np.asarray([1.5, -2.7]), 'int8'), lax.convert_element_type(np.asarray([0, 2]), bool)
lax.convert_element_type(np.asarray(1 + 2j), float)
lax.bitcast_convert_type(np.asarray([1.0, -2.0], 'float32'), numpy.int32)
lax.dynamic_slice(np.arange(10.).reshape(2, 5), (0, 9), (2, 2)), lax.dynamic_slice(np.arange(5.), (-2,), (2,)), lax.dynamic_slice_in_dim(np.arange(5.), -1, 3)
m.jit(lambda x, i: lax.dynamic_update_slice(x, np.ones((1, 2)), (i, i)))(np.zeros((3, 4)), 2)
m.grad(lambda x: lax.dynamic_slice(x, (1,), (2,)).sum() ** 2)(np.arange(4.))
m.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), in_axes=(None, 0))(np.arange(5.), np.arange(4))
m.vmap(lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False), in_axes=(0, 0))(np.arange(6.).reshape(2, 3), np.asarray([2, -1]))
m.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)))(np.zeros((3, 5)), np.ones((3, 2)), np.arange(3))
lax.reduce(np.arange(6.).reshape(2, 3), -numpy.inf, lax.max, (0,)), lax.reduce(np.arange(6).reshape(2, 3), 0, lax.add, (0, 1)), lax.reduce(np.asarray([True, False]), False, lax.bitwise_or, (0,))
lax.reduce_window(np.arange(12.).reshape(3, 4), 0., lax.add, (2, 2), (1, 2), 'VALID'), lax.reduce_window(np.arange(5), -9, lax.max, (3,), (1,), ((1, 1),))
m.hessian(lambda x: np.sum(lax.reduce_window(x, 0., lax.add, (2,), (1,), 'SAME') ** 3))(np.arange(3.))
m.grad(lambda x: np.sum(lax.reduce_window(x, -numpy.inf, lax.max, (2,), (1,), 'SAME') ** 3))(np.asarray([1., 4., 2.]))
lax.dot_general(np.ones((2, 3, 4)), np.ones((2, 4, 5)), (((2,), (1,)), ((0,), (0,))), preferred_element_type='float32')
lax.dot_general(np.ones((2, 3), 'int8'), np.ones((3, 2), 'int8'), (((1,), (0,)), ((), ())), preferred_element_type='int32')
lax.dot(np.arange(3), np.arange(3)), lax.dot(np.ones((2, 3)), np.ones(3), precision='highest')
lax.conv_general_dilated(np.arange(32.).reshape(1, 2, 4, 4), np.ones((4, 1, 2, 2)), (1, 1), 'SAME', feature_group_count=2)
lax.conv_general_dilated(np.arange(32.).reshape(2, 4, 4, 1), np.ones((2, 2, 1, 3)), (2, 1), ((0, 1), (1, 0)), lhs_dilation=(1, 2), dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
m.grad(lambda k: np.sum(lax.conv(np.arange(16.).reshape(1, 1, 4, 4), k, (1, 1), 'VALID') ** 2))(np.ones((1, 1, 2, 2)))
lax.pad(np.arange(3), 9, [(1, 1, 1)]), lax.rev(np.arange(6).reshape(2, 3), (0, 1)), lax.squeeze(np.ones((1, 2, 1)), (0,)), lax.iota('int32', 4)
lax.rsqrt(4.0), lax.rsqrt(np.asarray([4.0, 0.0])), lax.erf_inv(np.asarray([-1., 0., 1.])), lax.integer_pow(np.asarray(3), 2), lax.square(3), lax.sign(np.asarray([-2., np.nan, 0.]))
lax.lt(1.0, 2.0), lax.eq(np.arange(3), 1), lax.bitwise_not(True), lax.shift_left(1, 4), lax.population_count(np.asarray([7, 8], 'uint8')), lax.clz(np.asarray([1], 'int32'))
lax.concatenate([np.ones(2, 'float32'), np.ones(3, 'float32')], 0), lax.concatenate([np.ones((1, 2)), np.ones((2, 2))], dimension=0)
lax.gather(np.arange(12.).reshape(3, 4), np.asarray([[0, 1], [2, 9]]), lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1), mode=lax.GatherScatterMode.CLIP)
lax.scatter_add(np.zeros(4), np.asarray([[1], [1], [7]]), np.ones(3), lax.ScatterDimensionNumbers((), (0,), (0,)), mode=lax.GatherScatterMode.FILL_OR_DROP)
m.vmap(lambda x, i, u: lax.scatter_add(x, i, u, lax.ScatterDimensionNumbers((), (0,), (0,))))(np.zeros((2, 4)), np.asarray([[[1], [1]], [[0], [3]]]), np.ones((2, 2)))
at(np.arange(4))[1].set(9), at(np.arange(4.))[1:3].add(1), at(np.arange(4))[np.asarray([0, 0])].add(1), at(np.arange(4))[-1].get(), at(np.arange(4.))[7].get(mode='fill', fill_value=-1.), at(np.arange(4))[np.asarray([True, False, True, False])].multiply(3)
at(np.arange(4))[9].get(mode='fill'), at(np.arange(4.))[np.asarray([0, 9])].set(5., mode='drop'), at(np.arange(4.))[np.asarray([0, 9])].set(5., mode='clip'), at(np.arange(6.).reshape(2, 3))[:, 1].min(0.5), at(np.arange(6.).reshape(2, 3))[1, ::2].max(np.asarray([9., 0.]))
at(np.arange(4, dtype='float32'))[1].set(2.5), at(np.arange(4))[1].set(2.7)
m.grad(lambda x: np.sum(at(x)[np.asarray([0, 0, 1])].multiply(2.0)))(np.arange(1., 4.))
m.grad(lambda v: np.sum(at(np.ones(3))[1:].set(v) ** 2))(np.asarray([2., 3.]))
m.jit(lambda x, i: at(x)[i].set(x[0] * 2))(np.arange(1., 4.), 2), m.vmap(lambda x, i: at(x)[i].add(1.))(np.zeros((2, 3)), np.asarray([0, 2]))
lax.expand_dims(np.ones((2, 3)), (0, -1)).shape, lax.collapse(np.ones((2, 3, 4)), 1).shape, lax.broadcast_in_dim(np.arange(3.), (2, 3), (1,)), lax.full((2,), 3, float), lax.full_like(np.ones(2, 'float32'), 2, shape=(3,))
lax.stop_gradient({'a': np.ones(2), 'b': 3}), lax.psum(3, ()) if 0 else 1
lax.ragged_dot(np.ones((5, 3)), np.arange(12.).reshape(2, 3, 2), np.asarray([2, 3], 'int32')), lax.batch_matmul(np.ones((2, 2, 3)), np.ones((2, 3, 1)))
lax.Precision.HIGHEST.name, lax.Precision('highest').name, lax.dot(np.ones(2), np.ones(2), precision=lax.Precision.DEFAULT), lax.dot(np.ones(2), np.ones(2), precision=(lax.Precision.HIGH, lax.Precision.HIGH))
m.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), in_axes=(None, 0))(np.arange(5.), np.arange(4))
m.vmap(lambda i: lax.dynamic_index_in_dim(np.arange(6.).reshape(2, 3), i, keepdims=False))(np.arange(2))
m.jit(lambda i: lax.dynamic_slice(numpy.arange(6.).reshape(2, 3), (i, 0), (1, 2)))(1)
m.vmap(lambda i: lax.dynamic_update_slice(numpy.zeros(4), np.ones(2), (i,)))(np.arange(3))
m.jit(lambda i: lax.dynamic_update_index_in_dim(numpy.zeros(4), 7., i, 0))(2)
m.vmap(lambda i: lax.index_take(numpy.arange(6.).reshape(2, 3), (i,), (1,)))(np.asarray([[0], [2]]))
m.vmap(lambda i: lax.gather(numpy.arange(5.), i, lax.GatherDimensionNumbers((), (0,), (0,)), (1,)))(np.asarray([[[0]], [[2]]]))
lax.Precision('highest').name, lax.Precision('tensorfloat32').name, lax.Precision(None).name
lax.div(numpy.int64(7), numpy.int64(2)), lax.div(np.asarray([-7, 7, -8], 'int8'), np.asarray(2, 'int8')), lax.rem(numpy.int64(-7), numpy.int64(2))
m.vmap(lambda x: lax.sort(x), in_axes=1, out_axes=1)(np.arange(6.).reshape(2, 3)[::-1]), m.vmap(lambda x: lax.cumsum(x))(np.ones((2, 3)))
m.vmap(lambda p, a, b: lax.select(p, a, b))(np.asarray([True, False]), np.ones((2, 3)), np.zeros((2, 3)))
m.vmap(lambda x: lax.reduce_window(x, -numpy.inf, lax.max, (2,), (2,), 'VALID'))(np.arange(8.).reshape(2, 4))
m.vmap(lambda x, k: lax.conv(x[None], k, (1,), 'SAME'), in_axes=(0, None))(np.arange(24.).reshape(2, 3, 4), np.ones((2, 3, 2)))
m.vmap(lambda x: lax.argmax(x, 0, numpy.int32))(np.asarray([[1., 3., 2.], [5., 1., 0.]]))
m.jit(lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))))(np.arange(6.).reshape(2, 3))
m.vmap(lambda i: lax.index_take(numpy.arange(6.).reshape(2, 3), (i,), (1,)))(np.asarray([[0], [2]]))
lax.argmax(np.asarray([[1, 5], [7, 2]]), 0, numpy.int64)
at(np.arange(5.))[1:3].power(2), at(np.arange(1., 5.))[0].divide(2), at(np.arange(5))[m.ds(1, 2)].set(0)
m.typeof(np.ones(3)).shape, m.typeof(np.ones(3)).dtype.name
m.block_until_ready({"a": np.ones(2)}), m.device_get(np.arange(3)), m.device_put(np.arange(2.0), None), m.effects_barrier()
m.grad(lambda x: m.device_put(x) ** 2)(3.0), m.jit(lambda x: m.named_call(np.sin, name="part")(x))(0.5)
lax.platform_dependent(0.3, cpu=np.cos, default=np.sin), m.jit(lambda x: lax.platform_dependent(x, default=np.sin))(0.3)
m.grad(lambda x: lax.platform_dependent(x, cpu=lambda v: v**3, cuda=lambda v: v))(2.0)
lax.FftType.FFT.name, lax.fft(np.arange(4.0) + 0j, lax.FftType.FFT, (4,)), lax.fft(np.arange(4.0), lax.FftType.RFFT, (4,))
lax.linalg.cholesky_update(np.asarray([[2.0, 0.5], [0.0, 1.0]]), np.asarray([0.3, 0.4]))
lax.broadcast_like(np.arange(3), np.zeros((2, 3)))
[k for k, _ in tu.flatten_one_level_with_keys([1, (2, 3)])[0]] == [tu.SequenceKey(0), tu.SequenceKey(1)]
""".strip().split("\n")


@pytest.mark.parametrize("program", OF_LAX)
def test_lax_like_jax(program):
    compare(program)


OF_OTHERS = r"""
m.grad(lambda x: nn.relu(x))(0.0), m.grad(nn.softplus)(800.0), m.grad(nn.softplus)(-800.0), m.grad(nn.silu)(-1000.0), m.grad(nn.gelu)(-50.0), m.grad(nn.log_sigmoid)(-900.0), m.grad(nn.mish)(100.0)
nn.softmax(np.asarray([-numpy.inf, -numpy.inf])), nn.softmax(np.asarray([numpy.inf, 1.])), nn.logsumexp(np.asarray([-numpy.inf, -numpy.inf])), nn.logsumexp(np.zeros((0,))), nn.log_softmax(np.asarray([1e300, -1e300]))
nn.one_hot(np.asarray([[0, 5], [-1, 2]]), 3), nn.one_hot(2, 3, dtype='float32'), nn.one_hot(np.asarray([1, 2]), 3, axis=0)
nn.standardize(np.ones((2, 3), 'float32')), nn.standardize(np.zeros((2, 0)))
m.vmap(nn.softmax)(np.arange(6.).reshape(2, 3)), m.vmap(lambda x: nn.one_hot(x, 4))(np.arange(3)), m.jit(nn.logsumexp, static_argnames='axis')(np.arange(6.).reshape(2, 3), axis=1)
m.jvp(nn.relu, (np.arange(-1., 2.),), (np.ones(3),)), m.hessian(lambda x: np.sum(nn.gelu(x)))(np.arange(2.))
m.vmap(lambda k: random.split(k, 2))(random.split(random.PRNGKey(0), 3)), random.split(random.PRNGKey(0), (2,)), random.fold_in(random.PRNGKey(0), 2**31)
m.jit(lambda k, n: random.randint(k, (3,), 0, n))(random.PRNGKey(0), 7), m.vmap(lambda n: random.randint(random.PRNGKey(0), (), 0, n))(np.asarray([3, 10]))
m.jit(lambda k: random.permutation(k, np.arange(5)))(random.PRNGKey(1)), m.jit(lambda k, p: random.choice(k, 3, (4,), p=p))(random.PRNGKey(1), np.asarray([.2, .3, .5]))
lax.cond(True, lambda k: random.uniform(k), lambda k: random.normal(k), random.key(3)), lax.fori_loop(0, 3, lambda i, k: random.split(k)[0], random.PRNGKey(3))
random.bernoulli(random.PRNGKey(0), np.asarray([0.0, 1.0]), (3, 2)), random.categorical(random.PRNGKey(0), np.asarray([-numpy.inf, 0., -numpy.inf]), shape=(4,))
tree.map(lambda x, y: (x, y), {'a': 1, 'b': None}, {'a': 2, 'b': None}), tree.leaves({'b': 1, 'a': {2: 3, 1: 4}})
tree.structure({'a': [1, 2]}).num_leaves, str(tree.structure([1])) != '', tree.flatten((1, (2, None)))[1] == tree.structure((3, (4, None)))
tu.tree_map(lambda x: x + 1, {'a': 1}), tu.tree_leaves([1, [2]]), tu.tree_reduce(lambda a, b: a + b, [1, 2, 3]), tu.tree_all([True, True]), tu.tree_transpose(tu.tree_structure([0, 0]), tu.tree_structure((0, 0)), [(1, 2), (3, 4)]), tu.tree_unflatten(tu.tree_structure([0, 0]), [1, 2])
[(tu.keystr(p), v) for p, v in tu.tree_flatten_with_path({'a': [1, 2], 'b': (3,)})[0]], tu.tree_map_with_path(lambda p, x: len(p), {'a': [1]}), tu.tree_leaves_with_path([1])[0][1], tu.tree_broadcast(1, [2, 3]), tu.tree_reduce_associative(lambda a, b: a + b, [1, 2, 3])
random.normal(random.PRNGKey(0), (2,), 'complex64')
random.key_data(random.clone(random.key(3)))
[init.kaiming_normal()(random.PRNGKey(0), (3, 4)), init.xavier_uniform()(random.PRNGKey(0), (3, 4))]
""".strip().split("\n")


@pytest.mark.parametrize("program", OF_OTHERS)
def test_others_like_jax(program):
    compare(program)


OF_NESTS = r"""
m.jit(m.jacfwd(m.jit(lambda d: {'o': d['x'] ** 2, 'n': None}), has_aux=False))({'x': np.arange(2.)})
m.jacrev(lambda x: (x ** 2, {'aux': x.shape}), has_aux=True)(np.arange(2.))
m.vmap(m.value_and_grad(lambda x, y: (np.sum(x * y), {'y': y}), argnums=1, has_aux=True), in_axes=(0, None))(np.ones((2, 3)), np.arange(3.))
m.linearize(lambda d: {'y': d['x'] * d['y'], 'n': 3}, {'x': 2.0, 'y': 3.0})[0]
m.vjp(m.vmap(lambda x, y: x @ y, in_axes=(0, None)), np.ones((2, 3)), np.arange(3.))[1](np.asarray([1., 2.]))
m.jvp(m.jit(m.vmap(lambda x: {'s': np.sum(x), 'b': x > 0})), (np.ones((2, 3)),), (np.ones((2, 3)),))[1]['s']
m.grad(lambda x: m.vmap(lambda y, i: y * lax.axis_index('b') * i, axis_name='b')(x, np.arange(3)).sum())(np.arange(3.))
m.vmap(lambda x: m.vmap(lambda y: lax.psum(y, ('a', 'b')) + lax.pmax(y, 'a'), axis_name='b')(x), axis_name='a')(np.arange(6.).reshape(2, 3))
m.jit(lambda x: m.vmap(lambda y: y / lax.psum(y, 'i'), axis_name='i')(x))(np.arange(1, 4, dtype='float32'))
m.checkpoint(lambda d, *, k: {'a': np.sin(d['a']) * k}, policy=m.checkpoint_policies.nothing_saveable)({'a': np.arange(2.)}, k=2.0)
m.jit(m.grad(m.checkpoint(lambda p, x: np.sum(np.tanh(p['w'] * x) + (0 if p['b'] is None else p['b'])))))({'w': np.ones(2), 'b': None}, np.arange(2.))
m.grad(lambda x: lax.fori_loop(0, 3, lambda i, t: {'a': t['a'] * x, 'n': t['n'] + 1}, {'a': x, 'n': 0})['a'])(2.0)
m.jit(lambda x: lax.scan(lambda c, t: ((c[0] + t['u'], None), {'y': c[0], 'e': t['n']}), (x, None), {'u': np.arange(3.), 'n': np.arange(3)}))(1.0)
m.vmap(lambda c: lax.scan(lambda s, _: (s * 2, s), c, None, length=3), out_axes=(0, 1))(np.arange(2.))
m.grad(lambda z: np.real(lax.scan(lambda c, x: (c * x, None), z, np.asarray([1j, 2.]))[0]))(1 + 1j)
m.vmap(lambda p, x: lax.switch(p, [lambda x: {'a': x}, lambda x: {'a': -x}, lambda x: {'a': 0 * x}], x), in_axes=(0, None))(np.asarray([0, 2, 1]), np.arange(2.))
m.linear_transpose(m.vmap(lambda x: x[::-1] * 2), np.ones((2, 3)))(np.arange(6.).reshape(2, 3))
m.vmap(m.linearize(lambda x: np.sin(x), 1.0)[1])(np.arange(3.))
m.closure_convert(lambda y: y * 2, 1.0)[0](3.0)
m.eval_shape(m.grad(lambda p: p['w'] @ p['w']), {'w': m.ShapeDtypeStruct((3,), 'float32')})['w'].dtype.name
m.grad(lambda x, y: x * y.astype(float), argnums=0)(2.0, np.asarray(True))
m.vmap(lambda b, x: np.where(b, x, -x))(np.asarray([True, False]), np.asarray([1 + 1j, 2.0]))
m.grad(lambda x: np.sum(np.asarray(x, 'float16') ** 2))(np.arange(3, dtype='float32'))
m.jvp(lambda x: np.asarray(x, 'complex64') * 1j, (np.arange(2, dtype='float32'),), (np.ones(2, 'float32'),))
m.grad(lambda t: t[0]['x'] * t[1][0])(({'x': 2.0}, [3.0, ()]))
m.jit(lambda x, *rest, scale=1.0, **more: x * scale + sum(rest) + more['b'])(1.0, 2.0, 3.0, scale=4.0, b=5.0)
m.vmap(lambda x, d: {'p': x * d['q'], 'r': d['q']}, in_axes=(None, {'q': 0}), out_axes={'p': 0, 'r': 0})(2.0, {'q': np.arange(3.)})
m.custom_gradient(lambda x: (np.sum(x), lambda g: g * np.ones(3) * 9))(np.arange(3.)), m.grad(m.custom_gradient(lambda x: (np.sum(x), lambda g: g * np.ones(3) * 9)))(np.arange(3.))
""".strip().split("\n")


@pytest.mark.parametrize("program", OF_NESTS)
def test_nests_of_unusual_arguments_like_jax(program):
    compare(program)


OF_SEVERAL_LINES = r"""
import dataclasses
class Q:
    def __init__(self, a, b): self.a, self.b = a, b
tu.register_pytree_with_keys(Q, lambda q: (((tu.GetAttrKey('a'), q.a), (tu.GetAttrKey('b'), q.b)), None), lambda aux, c: Q(*c))
[tu.keystr(p) for p, _ in tree.leaves_with_path([Q(1, {'z': 2})])], m.grad(lambda q: q.a * q.b)(Q(2.0, 3.0)).b

@tu.register_static
class S:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return isinstance(o, S) and self.n == o.n
    def __hash__(self): return hash(self.n)
tree.leaves([S(1), 2]), m.jit(lambda s, x: x * s.n)(S(3), 2.0), m.vmap(lambda s, x: x * s.n, in_axes=(None, 0))(S(3), np.arange(2.))

import collections
P = collections.namedtuple('P', 'x y')
m.jacfwd(lambda p: P(p.x * p.y, p.y))(P(2.0, 3.0)), m.vmap(lambda p: P(p.y, p.x), in_axes=(P(0, None),), out_axes=P(None, 0))(P(np.arange(3.), 1.0))

f = lambda x, y: x ** 2 * y
f.__name__ = 'named'
m.grad(f).__name__ in ('named', 'grad(named)'), m.jit(f).__name__, m.vmap(f).__wrapped__ is f

import functools
class A:
    k = 3.0
    @functools.partial(m.jit, static_argnums=0)
    def f(self, x): return x * self.k
    @functools.partial(m.vmap, in_axes=(None, 0))
    def g(self, x): return x * self.k
    @m.grad
    def h(x): return x ** 2
A().f(2.0), A.h(3.0)

import functools
m.grad(functools.partial(lambda a, x, *, k: a * x * k, 2.0, k=3.0))(4.0), m.jit(functools.partial(lambda a, x: a * x, 2.0))(4.0), m.vmap(functools.partial(np.sum, axis=0))(np.ones((2, 3)))

class C:
    def __call__(self, x): return x ** 2
m.grad(C())(3.0), m.jit(C())(3.0), m.vmap(C())(np.arange(3.))

f = m.custom_vjp(lambda x, s: x * s['k'], nondiff_argnums=())
f.defvjp(lambda x, s: (x * s['k'], (x, s)), lambda r, g: (g * r[1]['k'], {'k': g * r[0] * 3}))
m.vmap(m.grad(f, argnums=(0, 1)), in_axes=(0, {'k': None}))(np.arange(3.), {'k': 2.0})

f = m.custom_vjp(lambda x: (x, {'n': x * 2}))
f.defvjp(lambda x: ((x, {'n': x * 2}), None), lambda _, g: (g[0] + g[1]['n'] * 5,))
m.jacrev(f)(2.0), m.grad(lambda x: f(x)[1]['n'])(3.0), m.jit(m.vmap(m.grad(lambda x: f(x)[0])))(np.arange(2.))

f = m.custom_jvp(lambda d: d['a'] ** 2)
f.defjvp(lambda p, t: (f(p[0]), 7.0 * t[0]['a']))
m.jit(m.grad(lambda a: lax.scan(lambda c, _: (c + f({'a': a, 'b': None}), None), 0.0, None, length=3)[0]))(2.0)

f = m.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
f.defvjp(lambda n, x: (x * n, None), lambda n, r, g: (g * n * 10,))
m.grad(lambda x: f(3, x))(1.0), m.grad(lambda x: f(n=3, x=x))(1.0), m.vmap(m.grad(lambda x: f(3, x)))(np.ones(2, 'float32'))
""".strip().split("\n\n")


@pytest.mark.parametrize("program", OF_SEVERAL_LINES)
def test_objects_and_classes_like_jax(program):
    compare(program)


REFUSED = r"""
lax.top_k(np.arange(4), 5)
lax.dynamic_slice(np.arange(4), (0,), (5,))
lax.concatenate([np.ones((1, 2)), np.ones((2, 3))], 0)
lax.dot_general(np.ones((2, 3)), np.ones((2, 3)), (((1,), (0,)), ((), ())))
lax.select(np.asarray([True, False]), np.ones(2), np.ones(3))
lax.reshape(np.ones(4), (3,))
lax.split(np.arange(5), (2, 2))
lax.transpose(np.ones((2, 3)), (0, 0))
random.uniform(random.key(0), (2,), minval=np.zeros((3, 1)))
lax.scan(lambda k, _: random.split(k), random.PRNGKey(0), None, length=3)
tree.map(lambda x: x, {'b': 1, 3: 2})
""".strip().split("\n")


@pytest.mark.parametrize("program", REFUSED)
def test_refused_like_jax(program):
    jax = pytest.importorskip("jax")
    for own in (True, False):
        with jax.enable_x64(True), pytest.raises((TypeError, ValueError)):
            evaluate(program, names(jax, own))
