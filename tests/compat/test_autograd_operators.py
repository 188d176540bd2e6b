"""The operators of `funcgrad.compat.autograd` against autograd itself, and where they refuse."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.compat.autograd as ours
import funcgrad.compat.autograd.core
import funcgrad.compat.autograd.extend
import funcgrad.compat.autograd.misc
import funcgrad.compat.autograd.numpy as onp
import funcgrad.compat.autograd.tracer

pytestmark = pytest.mark.peers
X = np.array([0.3, -1.2, 2.0])
A = np.array([[0.5, 1.0, -0.3], [2.0, 0.1, 0.7]])
Z = np.array([0.4 + 0.3j, -1.0 + 2.0j])


@pytest.fixture(scope="module")
def theirs():
    for name in ("autograd.misc", "autograd.numpy", "autograd.extend"):
        pytest.importorskip(name)
    return pytest.importorskip("autograd")


def agree(found, wanted):
    found_leaves, wanted_leaves = fg.tree.leaves(found), fg.tree.leaves(wanted)
    assert len(found_leaves) == len(wanted_leaves)
    for a, b in zip(found_leaves, wanted_leaves, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


# Each makes something of (autograd or ours, its numpy): the two must agree.
CASES = {
    "grad": lambda ag, np_: ag.grad(lambda x: np_.sum(np_.tanh(x) ** 2))(X),
    "grad of one element": lambda ag, np_: ag.grad(lambda x: np_.dot(x[None], x[:, None]))(X),
    "grad of a list of one": lambda ag, np_: ag.grad(lambda x: np_.array([np_.sum(x)]))(X),
    "argnum": lambda ag, np_: ag.grad(lambda a, b: np_.sum(a @ b), 1)(A, X),
    "argnums": lambda ag, np_: ag.grad(lambda a, b, c: np_.sum(a @ b) * c, (0, 2))(A, X, 3.0),
    "argnums as a list": lambda ag, np_: ag.grad(lambda a, b: np_.sum(a @ b), [1, 0])(A, X),
    "keywords": lambda ag, np_: ag.grad(lambda x, n=1: np_.sum(x**n))(X, n=3),
    "containers": lambda ag, np_: ag.grad(lambda p: np_.sum(p["w"] @ p["b"][0]) * p["b"][1][0])(
        {"w": A, "b": [X, (2.0, 1.0)]}
    ),
    "value_and_grad": lambda ag, np_: ag.value_and_grad(lambda x: np_.sum(x**3))(X),
    "elementwise_grad": lambda ag, np_: ag.elementwise_grad(lambda x: np_.sin(x) * x[0])(X),
    "elementwise_grad of a matrix": lambda ag, np_: ag.elementwise_grad(lambda x: x @ X)(A),
    "deriv": lambda ag, np_: ag.deriv(np_.tanh)(X),
    "deriv in complex": lambda ag, np_: ag.deriv(lambda z: z**2)(Z),
    "jacobian": lambda ag, np_: ag.jacobian(lambda x: np_.outer(x, x))(X),
    "jacobian of a number": lambda ag, np_: ag.jacobian(lambda x: np_.array([x, x**2]))(2.0),
    "jacobian of a scalar": lambda ag, np_: ag.jacobian(lambda x: np_.sum(x**2))(X),
    "jacobian, second argument": lambda ag, np_: ag.jacobian(lambda a, x: a @ x**2, 1)(A, X),
    "hessian": lambda ag, np_: ag.hessian(lambda x: np_.sum(x) ** 3 + np_.prod(x))(X),
    "hessian of a vector": lambda ag, np_: ag.hessian(lambda x: np_.outer(x, x)[0])(X),
    "third derivative": lambda ag, np_: ag.grad(ag.grad(ag.grad(np_.tanh)))(0.7),
    "elementwise chain": lambda ag, np_: ag.elementwise_grad(ag.elementwise_grad(np_.tanh))(X),
    "hessian_vector_product": lambda ag, np_: ag.hessian_vector_product(
        lambda x: np_.sum(x**4) * x[0]
    )(X, 2 * X),
    "hessian_tensor_product": lambda ag, np_: ag.hessian_tensor_product(
        lambda a, x: np_.sum((a @ x) ** 3)
    )(A, X, 2 * A),
    "tensor_jacobian_product": lambda ag, np_: ag.tensor_jacobian_product(
        lambda x: np_.outer(x, x)
    )(X, np.outer(X, X)),
    "make_hvp": lambda ag, np_: called(ag.make_hvp(lambda x: np_.sum(x**3))(X), X),
    "make_vjp": lambda ag, np_: called(ag.make_vjp(lambda x: np_.outer(x, x))(X), np.ones((3, 3))),
    "make_vjp, two arguments": lambda ag, np_: called(
        ag.make_vjp(lambda a, x: a @ x, (0, 1))(A, X), np.ones(2)
    ),
    "make_jvp": lambda ag, np_: ag.make_jvp(lambda x: np_.outer(x, x))(X)(2 * X),
    "make_jvp, second argument": lambda ag, np_: ag.make_jvp(lambda a, x: a @ x, 1)(A, X)(X),
    "make_ggnvp": lambda ag, np_: ag.make_ggnvp(lambda x: np_.tanh(A @ x))(X)(2 * X),
    "make_ggnvp with a loss": lambda ag, np_: ag.make_ggnvp(
        lambda x: np_.tanh(A @ x), lambda y: np_.sum(np_.cosh(y))
    )(X)(X),
    "grad_and_aux": lambda ag, np_: ag.grad_and_aux(lambda x: (np_.sum(x**2), x * 3))(X),
    "grad_named": lambda ag, np_: ag.grad_named(lambda x, scale: np_.sum(x) * scale**2, "scale")(
        X, 3.0
    ),
    "holomorphic_grad": lambda ag, np_: ag.holomorphic_grad(lambda z: z**3 + np_.exp(z))(0.3 + 2j),
    "complex argument": lambda ag, np_: ag.grad(lambda z: np_.sum(np_.abs(z) ** 2 * np_.real(z)))(
        Z
    ),
    "complex jacobian": lambda ag, np_: ag.jacobian(lambda z: np_.abs(z) ** 2 + np_.imag(z))(Z),
    "complex vjp": lambda ag, np_: called(ag.make_vjp(lambda z: z * np_.conj(z[0]))(Z), 1j * Z),
    "checkpoint": lambda ag, np_: ag.grad(lambda x: np_.sum(ag.checkpoint(np_.sin)(x) ** 2))(X),
    "flatten": lambda ag, np_: flattened(ag, {"b": 3.0, "a": [A, (X, 2.0)]}),
    "flatten of nothing": lambda ag, np_: flattened(ag, []),
    "gradient through flatten": lambda ag, np_: ag.grad(
        lambda p: np_.sum(ag.misc.flatten(p)[0] ** 2)
    )({"b": 3.0, "a": X}),
}


def called(pair, g):
    pull, value = pair
    return pull(g), value


def flattened(ag, value):
    vector, unflatten = ag.misc.flatten(value)
    return vector, unflatten(2 * vector)


@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_autograd(name, theirs):
    agree(CASES[name](ours, onp), CASES[name](theirs, theirs.numpy))


def test_multigrad_dict_names_every_argument():
    def f(x, *rest, y=2.0, **options):
        return x * rest[0] * y * options["z"]

    found = ours.multigrad_dict(f)(1.0, 2.0, y=3.0, z=4.0)
    assert list(found) == ["x", "rest", "y", "options"]
    agree(list(found.values()), [24.0, (12.0,), 8.0, {"z": 6.0}])


def test_output_independent_of_input_is_a_warning_and_zero(theirs):
    for ag in (ours, theirs):
        with pytest.warns(UserWarning, match="Output seems independent of input"):
            assert ag.grad(lambda x: 3.0)(1.0) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.grad(lambda x: onp.array([x, 1.0])[0])(1.0)
        ours.grad(lambda x: ours.grad(lambda y: y * x)(2.0))(1.0)


def test_dependence_is_on_the_argument_of_this_operator():
    with pytest.warns(UserWarning, match="independent"):
        ours.grad(lambda x: ours.grad(lambda y: x * 2)(2.0) + x)(1.0)


@pytest.mark.parametrize("operator", ["grad", "value_and_grad"])
def test_several_numbers_are_refused(operator, theirs):
    for ag, np_ in ((ours, onp), (theirs, theirs.numpy)):
        with pytest.raises(TypeError, match="jacobian, elementwise_grad or holomorphic_grad"):
            getattr(ag, operator)(lambda x: np_.sin(x))(X)
        with pytest.raises(TypeError, match="jacobian, elementwise_grad or holomorphic_grad"):
            getattr(ag, operator)(lambda x: x * 1j)(1.0)


def test_integers_are_refused(theirs):
    for ag in (ours, theirs):
        with pytest.raises(TypeError):
            ag.grad(lambda x: x * 2.0)(1)
    with pytest.raises(fg.errors.InputTypeError, match=r"argument 0 of .* has dtype int64"):
        ours.grad(lambda x: onp.sum(x * 2.0))(np.arange(3))


def test_complex_outputs_of_elementwise_grad_are_refused(theirs):
    for ag in (ours, theirs):
        with pytest.raises(TypeError):
            ag.elementwise_grad(lambda z: z**2)(Z)


def test_argnum_that_is_no_number_is_an_error():
    with pytest.raises(TypeError, match="grad: argnum is an integer or a tuple of them"):
        ours.grad(onp.sin, "x")


def test_cotangents_need_not_have_the_dtype_of_the_output():
    pull, _ = ours.make_vjp(lambda x: x**2)(X.astype(np.float32))
    assert pull(np.ones(3)).dtype == np.float32
    agree(pull(1.0), 2 * X.astype(np.float32))


def test_operators_work_within_the_transforms_of_funcgrad():
    f = ours.grad(lambda x: onp.sum(onp.sin(x) * x))
    agree(fg.jit(f)(X), f(X))
    agree(fg.vmap(f)(np.stack([X, 2 * X])), np.stack([f(X), f(2 * X)]))
    agree(fg.jacfwd(f)(X), ours.jacobian(f)(X))


# ------------------------------------------------------------------------------ traced values


def test_traced_values_have_autograds_names():
    from funcgrad.compat.autograd.numpy.numpy_boxes import ArrayBox
    from funcgrad.compat.autograd.tracer import Box, getval, isbox

    seen = []

    def f(x):
        seen.append((isinstance(x, Box), isinstance(x, ArrayBox), isbox(x), x._value, getval(x)))
        return x * 2

    ours.grad(f)(3.0)
    assert seen == [(True, True, True, 3.0, 3.0)]
    assert not isinstance(X, Box) and not isbox(X) and getval(X) is X


def test_builtins_answer_for_the_value_behind():
    from funcgrad.compat.autograd.builtins import dict, isinstance, list, tuple, type

    def f(x):
        assert isinstance(x, np.ndarray) and type(x) is np.ndarray
        given = dict(a=list([x, x]), b=tuple((x,)))
        return onp.sum(given["a"][0] * given["b"][0])

    agree(ours.grad(f)(X), 2 * X)


def test_classes_of_the_user_are_registered_as_trees():
    for cls in (funcgrad_extend().Box, funcgrad_extend().VSpace):
        with pytest.raises(fg.errors.UnsupportedCallError, match=r"funcgrad\.tree\.register"):
            cls.register(dict)


def funcgrad_extend():
    return fg.compat.autograd.extend


# --------------------------------------------------------------------------------- the space


@pytest.mark.parametrize("value", [X, A, 2.0, Z, 1j, np.float32(2.0)], ids=repr)
def test_spaces_of_arrays_are_those_of_autograd(value, theirs):
    a, b = funcgrad_extend().vspace(value), theirs.extend.vspace(value)
    assert (a.size, a.shape, a.dtype, a.ndim, a.iscomplex) == (
        b.size, b.shape, b.dtype, b.ndim, b.iscomplex
    )  # fmt: skip
    agree([a.zeros(), a.ones(), *a.standard_basis()], [b.zeros(), b.ones(), *b.standard_basis()])
    x, y = a.randn(), a.randn()
    assert funcgrad_extend().vspace(x) == a
    for name in ("add", "inner_prod"):
        agree(getattr(a, name)(x, y), getattr(b, name)(x, y))
    agree(a.covector(x), b.covector(x))
    agree(a.scalar_mul(x, 3.0), b.scalar_mul(x, 3.0))


def test_spaces_of_containers_are_those_of_autograd(theirs):
    value = {"a": [A, 2.0], "b": (Z,)}
    a, b = funcgrad_extend().vspace(value), theirs.extend.vspace(value)
    assert (a.size, a.iscomplex) == (b.size, True)
    agree([a.zeros(), a.ones(), *a.standard_basis()], [b.zeros(), b.ones(), *b.standard_basis()])
    x, y = a.randn(), a.randn()
    agree([a.add(x, y), a.inner_prod(x, y)], [b.add(x, y), b.inner_prod(x, y)])
    assert a != funcgrad_extend().vspace({"a": [A, X], "b": (Z,)})
    with pytest.raises(fg.errors.UnsupportedCallError, match="has no shape"):
        print(a.shape)
