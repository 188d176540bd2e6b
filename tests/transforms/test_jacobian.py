"""Jacobians, Hessians, `hvp` and `linearize` on trees: against each other and against JAX."""

import functools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.transforms import jacobian

X = np.array([0.3, -0.6, 0.9])
A = np.array([[1.0, 0.5, -0.2], [0.3, 2.0, 0.7]])


def vector(m, x):
    return m.sin(x) * x[1] + m.cumsum(x**2)


def matrix(m, a, x):
    return m.outer(m.tanh(a @ x), x)


def to_tree(m, x):
    return {"s": m.sum(x**3), "pair": (m.exp(x), [m.stack([x, x * x[0]])])}


def from_tree(m, p):
    return m.sin(p["w"]) * p["b"][0] + p["b"][1]


def tree_to_tree(m, p, k):
    return {"y": p["w"] @ p["b"] * k, "z": (m.sum(p["b"]) * p["w"],)}


def scalar(m, x):
    return m.sum(m.exp(x) * x[::-1]) * m.prod(x)


P = {"b": (2.0, X), "w": X + 1}
Q = {"b": X, "w": A}
PROGRAMS = {
    "vector": (vector, (X,), 0),
    "matrix, first": (matrix, (A, X), 0),
    "matrix, last": (matrix, (A, X), -1),
    "matrix, both": (matrix, (A, X), (0, 1)),
    "matrix, both backwards": (matrix, (A, X), (1, 0)),
    "matrix, a tuple of one": (matrix, (A, X), (1,)),
    "matrix, a list": (matrix, (A, X), [0, -1]),
    "scalar argument": (lambda m, x: m.stack([x, x**2]), (1.5,), 0),
    "scalar on both sides": (lambda m, x: x**3, (1.5,), 0),
    "tree out": (to_tree, (X,), 0),
    "tree in": (from_tree, (P,), 0),
    "trees on both sides": (tree_to_tree, (Q, 2.0), 0),
    "trees on both sides, both": (tree_to_tree, (Q, 2.0), (0, 1)),
    "float32": (vector, (X.astype(np.float32),), 0),
    "an unused argument": (lambda m, x, y: m.sin(x), (X, A), (0, 1)),
    "constant": (lambda m, x: m.ones(2), (X,), 0),
}
SCALARS = {
    "vector": (scalar, (X,), 0),
    "two": (lambda m, a, x: m.sum(m.tanh(a @ x)), (A, X), (0, 1)),
    "last": (lambda m, a, x: m.sum(m.tanh(a @ x)), (A, X), -1),
    "tree": (lambda m, p: m.sum(from_tree(m, p) ** 2), (P,), 0),
    "number": (lambda m, x: m.sin(x) * x, (0.7,), 0),
}
MODES = {"jacobian": fg.jacobian, "jacrev": fg.jacrev, "jacfwd": fg.jacfwd}


def same(found, wanted, rtol=1e-12):
    found, definition = fg.tree.flatten(found)
    wanted, expected = fg.tree.flatten(wanted)
    assert definition == expected
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        tolerance = 1e-5 if np.asarray(b).dtype == np.float32 else rtol
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def ours(name, table=PROGRAMS):
    f, args, argnums = table[name]
    return functools.partial(f, np), args, argnums


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    before = module.config.read("jax_enable_x64")
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


def theirs(jax, name, table=PROGRAMS):
    f, args, argnums = table[name]
    argnums = tuple(argnums) if isinstance(argnums, list) else argnums
    return functools.partial(f, jax.numpy), args, argnums


# ----------------------------------------------------------------------------- jacobians


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_modes_agree(name):
    f, args, argnums = ours(name)
    wanted = fg.jacrev(f, argnums)(*args)
    same(fg.jacfwd(f, argnums)(*args), wanted)
    same(fg.jacobian(f, argnums)(*args), wanted)


@pytest.mark.peers
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobians_are_those_of_jax(name, mode, jax):
    f, args, argnums = ours(name)
    g, _, numbers = theirs(jax, name)
    wanted = getattr(jax, mode.replace("jacobian", "jacrev"))(g, numbers)(*args)
    same(MODES[mode](f, argnums)(*args), jax.tree.map(np.asarray, wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_shapes_are_those_of_output_and_argument(name, mode):
    f, args, argnums = ours(name)
    found = MODES[mode](f, argnums)(*args)
    several = isinstance(argnums, (tuple, list))
    chosen = tuple(args[k] for k in argnums) if several else args[argnums]
    leaves, definition = fg.tree.flatten(f(*args))
    blocks = [
        fg.tree.map(lambda x, y=y: np.zeros(np.shape(y) + np.shape(x)), chosen) for y in leaves
    ]
    wanted = fg.tree.unflatten(definition, blocks)
    assert fg.tree.structure(found) == fg.tree.structure(wanted)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert np.shape(a) == b.shape


@pytest.mark.parametrize("mode", MODES)
def test_jacobians_under_the_other_transforms(mode):
    f = lambda x: np.sin(x) * x[0]
    jacobian = MODES[mode](f)
    wanted = jacobian(X)
    same(fg.jit(jacobian)(X), wanted)
    same(MODES[mode](fg.jit(f))(X), wanted)
    same(MODES[mode](fg.checkpoint(f))(X), wanted)
    rows = np.stack([X, 2 * X])
    same(fg.vmap(jacobian)(rows), np.stack([jacobian(r) for r in rows]))
    along = fg.jvp(jacobian, (X,), (X,))[1]
    same(along, MODES[mode](jacobian)(X) @ X)
    same(fg.grad(lambda x: np.sum(jacobian(x) ** 2))(X), 2 * np.einsum(
        "ij,ijk->k", wanted, MODES[mode](jacobian)(X)
    ))  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_keywords_and_integers_are_handed_through(mode):
    f = lambda x, n, *, shift=0.0: x**n + shift
    same(MODES[mode](f)(X, 3, shift=1.0), np.diag(3 * X**2))


@pytest.mark.parametrize("mode", MODES)
def test_a_complex_jacobian(mode):
    z = X + 1j * X[::-1]
    same(MODES[mode](lambda z: z**2, holomorphic=True)(z), np.diag(2 * z))


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_on_a_value(mode):
    f = lambda x: np.sin(x) if x[0] > 0 else x
    same(MODES[mode](f)(X), np.diag(np.cos(X)))


@pytest.mark.parametrize("mode", MODES)
def test_no_elements(mode):
    assert MODES[mode](lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert MODES[mode](lambda x: np.concatenate([x, np.ones(2)]))(np.zeros(0)).shape == (2, 0)
    assert MODES[mode](lambda x: x[:0])(X).shape == (0, 3)


# ------------------------------------------------------------------------------- hessians


@pytest.mark.parametrize("name", SCALARS)
def test_hessian_is_the_jacobian_of_the_gradient(name):
    f, args, argnums = ours(name, SCALARS)
    wanted = fg.jacrev(fg.grad(f, argnums), argnums)(*args)
    same(fg.hessian(f, argnums)(*args), wanted, 1e-11)
    same(fg.jacfwd(fg.grad(f, argnums), argnums)(*args), wanted, 1e-11)


@pytest.mark.peers
@pytest.mark.parametrize("name", SCALARS)
def test_hessians_are_those_of_jax(name, jax):
    f, args, argnums = ours(name, SCALARS)
    g, _, numbers = theirs(jax, name, SCALARS)
    wanted = jax.tree.map(np.asarray, jax.hessian(g, numbers)(*args))
    same(fg.hessian(f, argnums)(*args), wanted, 1e-11)


@pytest.mark.peers
def test_the_hessian_of_a_vector_is_that_of_jax(jax):
    f, args, _ = ours("vector")
    g, _, _ = theirs(jax, "vector")
    same(fg.hessian(f)(*args), np.asarray(jax.hessian(g)(*args)))


def test_hvp_is_the_hessian_times_the_tangent():
    f, (x,), _ = ours("vector", SCALARS)
    t = np.array([1.0, -2.0, 0.5])
    same(fg.hvp(f, (x,), (t,)), fg.hessian(f)(x) @ t, 1e-11)
    same(fg.jit(lambda x, t: fg.hvp(f, (x,), (t,)))(x, t), fg.hessian(f)(x) @ t, 1e-11)


def test_hvp_of_several_arguments_and_trees():
    f, (a, x), argnums = ours("two", SCALARS)
    ta, tx = np.ones_like(a), X[::-1].copy()
    (aa, ax), (xa, xx) = fg.hessian(f, argnums)(a, x)
    found = fg.hvp(f, (a, x), (ta, tx))
    wanted = (
        np.einsum("ijkl,kl->ij", aa, ta) + np.einsum("ijk,k->ij", ax, tx),
        np.einsum("ijk,jk->i", xa, ta) + xx @ tx,
    )
    same(found, wanted, 1e-11)
    f, (p,), _ = ours("tree", SCALARS)
    t = fg.tree.map(np.ones_like, p)
    found = fg.hvp(f, (p,), (t,))
    assert fg.tree.structure(found) == fg.tree.structure(p)
    h = fg.hessian(f)(p)
    wanted = fg.tree.unflatten(fg.tree.structure(p), [
        sum(np.sum(b, axis=tuple(range(np.ndim(x), np.ndim(b)))) for b in fg.tree.leaves(block))
        for x, block in zip(fg.tree.leaves(p), [h["b"][0], h["b"][1], h["w"]], strict=True)
    ])  # fmt: skip
    same(found, wanted, 1e-11)


# ------------------------------------------------------------------------------ linearize


@pytest.mark.parametrize("name", PROGRAMS)
def test_linearize_is_jvp(name):
    f, args, _ = ours(name)
    rng = np.random.default_rng(0)
    dtype = lambda x: np.asarray(x).dtype
    ts = fg.tree.map(lambda x: rng.normal(size=np.shape(x)).astype(dtype(x))[()], args)
    out, push = fg.linearize(f, *args)
    wanted, moved = fg.jvp(f, args, ts)
    same(out, wanted, 0)
    same(push(*ts), moved)
    same(push(*fg.tree.map(lambda t: 2 * t, ts)), fg.tree.map(lambda t: 2 * t, moved))


@pytest.mark.peers
@pytest.mark.parametrize("name", PROGRAMS)
def test_linearize_is_that_of_jax(name, jax):
    f, args, _ = ours(name)
    g, _, _ = theirs(jax, name)
    ts = fg.tree.map(lambda x: np.ones_like(x)[()], args)
    out, push = fg.linearize(f, *args)
    wanted, theirs_push = jax.linearize(g, *args)
    cast = fg.tree.map(lambda t, x: jax.numpy.asarray(t, np.asarray(x).dtype), ts, args)
    same(out, jax.tree.map(np.asarray, wanted))
    same(push(*ts), jax.tree.map(np.asarray, theirs_push(*cast)))


def test_linearize_runs_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return x**2

    _, push = fg.linearize(f, X)
    for t in np.eye(3):
        same(push(t), 2 * X * t)
    assert len(calls) == 1


def test_linearize_inside_transforms():
    f = lambda x: fg.linearize(lambda y: y**3, x)[1](np.ones(3))
    same(f(X), 3 * X**2)
    same(fg.jacrev(f)(X), np.diag(6 * X))
    same(fg.jit(f)(X), 3 * X**2)
    same(fg.vmap(f)(np.stack([X, 2 * X])), np.stack([3 * X**2, 12 * X**2]))
    push = fg.linearize(lambda y: y**3, X)[1]
    same(fg.vmap(push)(np.eye(3)), np.diag(3 * X**2))
    same(fg.jit(push)(X), 3 * X**3)
    same(fg.grad(lambda t: np.sum(push(t)))(X), 3 * X**2)


# --------------------------------------------------------------------------------- errors

SEVERAL = {
    **MODES,
    "grad": lambda f, k: fg.grad(lambda *xs: np.sum(f(*xs)), k),
    "hessian": lambda f, k: fg.hessian(lambda *xs: np.sum(f(*xs)), k),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_argnums_errors(name):
    f = lambda x, y: x * y
    call = lambda k, *args: SEVERAL[name](f, k)(*args)
    with pytest.raises(ValueError, match=r"names argument 2, but .* with 2 positional"):
        call(2, X, X)
    with pytest.raises(ValueError, match="names argument -3, but"):
        call((0, -3), X, X)
    with pytest.raises(ValueError, match=r"argnums=\(0, 0\) names an argument twice"):
        call((0, 0), X, X)
    with pytest.raises(ValueError, match=r"argnums=\(1, -1\) names an argument twice"):
        call((1, -1), X, X)
    with pytest.raises(TypeError, match=r"argnums must be integers, not 0\.5"):
        call((0.5,), X, X)
    with pytest.raises(TypeError, match="argnums must be integers, not True"):
        call((True,), X, X)


@pytest.mark.parametrize("name", SEVERAL)
def test_integer_arguments_are_named(name):
    with pytest.raises(errors.InputTypeError, match=r"argument 1 of .*\['n'\] has dtype int64"):
        SEVERAL[name](lambda x, p: x * p["n"], 1)(X, {"n": np.arange(3)})


INTEGERS = {
    "argmax": (np.argmax, r"argmax returned integers \(int64\[\]\), which have no derivative"),
    "a Python integer": (lambda x: 3, r"<lambda> returned integers"),
    "truth values": (lambda x: x > 0.0, r"truth values \(bool\[3\]\)"),
    "an array": (lambda x: np.floor(x).astype(int), r"integers \(int64\[3\]\)"),
}
BESIDE = {"a leaf": (lambda x: {"y": np.sin(x), "k": np.argsort(x)}, r"int64\[3\] at \['k'\]")}


@pytest.mark.parametrize("name", ["jacobian", "jacrev", "hessian"])
@pytest.mark.parametrize("f, what", [*INTEGERS.values(), *BESIDE.values()])
def test_integers_that_a_function_returned_are_named(name, f, what):
    with pytest.raises(errors.NotDifferentiableError, match=what):
        getattr(fg, name)(f)(X)
    with pytest.raises(errors.NotDifferentiableError, match="has_aux=True"):
        fg.jit(getattr(fg, name)(f))(X)


@pytest.mark.parametrize("f, what", INTEGERS.values(), ids=INTEGERS)
def test_gradients_of_integers_are_named(f, what):
    with pytest.raises(errors.NonScalarOutputError, match=what):
        fg.grad(f)(X)


def test_integers_do_not_move_in_forward_mode():
    np.testing.assert_array_equal(fg.jacfwd(np.argmax)(X), np.zeros(3))
    both, k = fg.jacobian(lambda x: (np.sin(x), np.argmax(x)), has_aux=True)(X)
    assert k == 2
    np.testing.assert_array_equal(both, np.diag(np.cos(X)))


def test_hvp_and_linearize_name_a_wrong_tangent():
    with pytest.raises(errors.CotangentError, match=r"the tangent.* has shape \(2,\)"):
        fg.hvp(np.sum, (X,), (np.ones(2),))
    push = fg.linearize(np.sin, X)[1]
    with pytest.raises(errors.CotangentError, match=r"the tangent.* has shape \(2,\)"):
        push(np.ones(2))
    with pytest.raises(errors.CotangentError, match="the tangent has the tree"):
        push(X, X)
    same(push(X), np.cos(X) * X)


def test_a_hessian_of_no_scalar_is_a_jacobian_of_a_jacobian():
    assert fg.hessian(lambda x: x**3)(X).shape == (3, 3, 3)


def test_the_hessian_takes_the_mode_that_needs_fewer_passes():
    runs = []
    modes = {name: getattr(jacobian, name) for name in ("jacfwd", "jacrev")}

    def watched(name):
        return lambda *args, **options: runs.append(name) or modes[name](*args, **options)

    x = np.array([0.3, -0.2])
    programs = {
        ("jacrev", "jacfwd"): lambda x: np.sum(np.sin(x) * x[::-1]),
        ("jacfwd", "jacfwd"): lambda x: np.outer(np.sin(x), x[::-1]),
    }
    for expected, f in programs.items():
        with pytest.MonkeyPatch.context() as patch:
            for name in modes:
                patch.setattr(jacobian, name, watched(name))
            found = fg.hessian(f)(x)
        assert tuple(runs) == expected
        runs.clear()
        np.testing.assert_allclose(found, fg.jacrev(fg.jacrev(f))(x), rtol=1e-13, atol=1e-15)


STEPS = {
    "scan": lambda x: fg.scan(lambda c, r: (np.sin(c) * r, c + r), x, np.array([0.5, 1.1])),
    "fori_loop": lambda x: fg.fori_loop(0, 3, lambda k, c: np.sin(c) * x, x),
    "while_loop": lambda x: fg.while_loop(lambda c: c[0] > 0.2, lambda c: 0.5 * c, x),
    "cond": lambda x: fg.cond(x[0] > 0.0, np.sin, np.cos, x),
    "checkpoint": lambda x: fg.checkpoint(lambda v: np.sin(v) * v)(x),
    "map": lambda x: fg.map(lambda v: v * v, x),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_compiled_linearize_gives_the_value_of_loops_and_branches(name):
    f, x, t = STEPS[name], np.array([0.9, 0.4]), np.array([1.0, -2.0])

    def both(x):
        y, push = fg.linearize(f, x)
        return y, push(t)

    def with_aux(x):
        y, push, aux = fg.linearize(lambda x: (f(x), f(2.0 * x)), x, has_aux=True)
        return y, push(t), aux

    expected = fg.jvp(f, (x,), (t,))
    for found in (fg.jit(both)(x), fg.jit(with_aux)(x)[:2], fg.vmap(both)(x[None])):
        for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.reshape(one, np.shape(other)), other, rtol=1e-13)
    for one, other in zip(
        fg.tree.leaves(fg.jit(with_aux)(x)[2]), fg.tree.leaves(f(2.0 * x)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)
