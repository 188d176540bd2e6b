"""Options of the transforms: names of arguments, integers, aux, chunks, graphs, plain calls."""

import numpy as np
import pytest

import funcgrad as fg


def test_gradient_by_name_whether_given_by_keyword_or_by_position():
    f = lambda x, w, *, b=0.0: (w * x + b) ** 2
    assert fg.grad(f, argnames="w")(2.0, 3.0) == 24.0
    assert fg.grad(f, argnames="w")(2.0, w=3.0) == 24.0
    assert fg.grad(f, argnames=["w", "b"])(2.0, w=3.0, b=1.0) == {"w": 28.0, "b": 14.0}
    value, found = fg.value_and_grad(f, argnames=("x", "b"))(2.0, 3.0, b=1.0)
    assert (value, found) == (49.0, {"x": 42.0, "b": 14.0})
    assert fg.jit(fg.grad(f, argnames="b"))(2.0, 3.0, b=1.0) == 14.0
    assert fg.vmap(fg.grad(f, argnames="b"))(np.ones(2), np.ones(2), b=np.ones(2)).tolist() == [
        4,
        4,
    ]


def test_names_that_are_not_there():
    f = lambda x, w=1.0: x * w
    with pytest.raises(TypeError, match="was called without its argument 'w'"):
        fg.grad(f, argnames="w")(2.0)
    with pytest.raises(TypeError, match="give argnums or argnames, not both"):
        fg.grad(f, 1, argnames="w")
    with pytest.raises(ValueError, match="one comes twice"):
        fg.grad(f, argnames=("w", "w"))(2.0, 3.0)
    with pytest.raises(fg.errors.InputTypeError, match=r"argument 'w' of .* has dtype int64"):
        fg.grad(f, argnames="w")(2.0, w=3)


def test_integers_have_gradients_that_hold_nothing():
    found = fg.grad(lambda p: p[0] ** 2 * p[1].sum(), allow_int=True)((3.0, np.arange(3)))
    assert found[0] == 18.0
    assert found[1].dtype == fg.float0
    assert found[1].shape == (3,)
    only = fg.grad(lambda n: 1.0 * n, allow_int=True)(2)
    assert only.dtype == fg.float0
    jacobian = fg.jacrev(lambda p: p[0] * p[1], allow_int=True)((np.ones(2), np.arange(2)))
    assert jacobian[0].shape == (2, 2)


def test_jacobians_hand_on_what_the_function_returns_besides():
    f = lambda x: (x**2, {"kept": x.sum(), "name": "x", "n": 3})
    for mode in (fg.jacfwd, fg.jacrev, fg.jacobian):
        found, aux = mode(f, has_aux=True)(np.array([1.0, 2.0]))
        np.testing.assert_array_equal(found, np.diag([2.0, 4.0]))
        assert aux == {"kept": 3.0, "name": "x", "n": 3}
        assert type(aux["kept"]) is np.float64
    found, aux = fg.hessian(lambda x: ((x**3).sum(), x * 2), has_aux=True)(np.ones(2))
    np.testing.assert_array_equal(found, 6 * np.eye(2))
    assert type(aux) is np.ndarray
    np.testing.assert_array_equal(aux, [2.0, 2.0])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_chunks_change_nothing(size):
    f = lambda x: {"a": np.sin(x) * x[0], "b": x @ x}
    x = np.linspace(0.1, 1.0, 7)
    for mode in (fg.jacfwd, fg.jacrev, fg.jacobian):
        whole, parts = mode(f)(x), mode(f, chunk_size=size)(x)
        np.testing.assert_array_equal(whole["a"], parts["a"])
        np.testing.assert_array_equal(whole["b"], parts["b"])
    g = lambda x: (x**3).sum() * x[0]
    np.testing.assert_array_equal(fg.hessian(g)(x), fg.hessian(g, chunk_size=size)(x))


def test_a_chunk_has_a_size():
    with pytest.raises(ValueError, match="chunk_size=0 is not positive"):
        fg.jacfwd(np.sin, chunk_size=0)
    with pytest.raises(TypeError, match="chunk_size must be an integer"):
        fg.jacrev(np.sin, chunk_size=1.5)


def test_the_graph_with_shapes_and_static_arguments():
    graph, shapes = fg.make_graph(lambda x, n: {"y": x**n}, 1, True)(np.ones(2), 3)
    assert shapes == {"y": fg.ShapeDtypeStruct((2,), float)}
    assert len(graph.inputs) == 1


def test_without_jit_python_sees_the_numbers():
    seen = []

    @fg.jit
    def f(x):
        seen.append(x)
        return x + 1.0 if x > 0.0 else x

    with fg.disable_jit():
        assert f(2.0) == 3.0
        with fg.disable_jit(False), pytest.raises(fg.errors.AbstractValueError):
            f(2.0)
        assert fg.grad(f)(-1.0) == 1.0
    assert seen[0] == 2.0
    with pytest.raises(fg.errors.AbstractValueError):
        f(2.0)


def test_ahead_of_the_first_call():
    f = fg.jit(lambda x, w: np.tanh(x @ w).sum())
    lowered = f.lower(fg.ShapeDtypeStruct((3, 4), float), np.ones((4, 2)))
    assert lowered.out_info == fg.ShapeDtypeStruct((), float)
    assert "tanh" in lowered.as_text()
    figures = lowered.cost_analysis()
    assert figures == {"flops": 54.0, "transcendentals": 6.0, "bytes accessed": 360.0}
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(np.ones((3, 4)), np.ones((4, 2))), 6 * np.tanh(4.0))
    assert "program" in compiled.as_text()
    with pytest.raises(TypeError, match="called with arguments of other types"):
        compiled(np.ones((3, 3)), np.ones((3, 2)))
    assert f.eval_shape(np.ones((3, 4)), np.ones((4, 2))).shape == ()


def test_loops_count_for_their_steps():
    loop = lambda x: fg.scan(lambda c, _: (np.sin(c), None), x, None, length=10)[0]
    assert fg.jit(loop).lower(1.0).cost_analysis()["transcendentals"] == 10.0


def test_products_of_curvature():
    x, t = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])
    model = lambda x: np.stack([np.sin(x).sum(), x @ x])
    loss = lambda r: (r**4).sum() + r[0] * r[1]
    jacobian, inner = fg.jacfwd(model)(x), fg.hessian(loss)(model(x))
    np.testing.assert_allclose(
        fg.gnvp(model, loss, (x,), (t,)), jacobian.T @ inner @ jacobian @ t, rtol=1e-13
    )
    np.testing.assert_allclose(fg.fvp(model, (x,), (t,)), jacobian.T @ jacobian @ t / 2, rtol=1e-13)
    compiled = fg.jit(lambda x: fg.gnvp(model, loss, (x,), (t,)))(x)
    np.testing.assert_allclose(compiled, jacobian.T @ inner @ jacobian @ t, rtol=1e-13)


@pytest.mark.parametrize(
    "f, text",
    [
        (np.sin, "is not linear: it applies sin (linear_transpose of sin)"),
        (lambda x: x + 1.0, "it applies add (linear_transpose of"),
        (lambda x: x * x, "it applies multiply (linear_transpose of"),
        (lambda x: np.ones(2), "its value at zero is not zero (linear_transpose of"),
    ],
)
def test_what_is_not_linear_has_no_transpose(f, text):
    with pytest.raises(fg.errors.NotDifferentiableError) as caught:
        fg.linear_transpose(f, np.zeros(2))
    assert text in str(caught.value)


def test_transposes_of_integers_and_of_shapes():
    with pytest.raises(fg.errors.InputTypeError, match="has dtype int64; only functions of"):
        fg.linear_transpose(lambda x: x, 3)
    transposed = fg.linear_transpose(lambda x: x[::2], fg.ShapeDtypeStruct((4,), float))
    np.testing.assert_array_equal(transposed(np.array([1.0, 2.0]))[0], [1.0, 0.0, 2.0, 0.0])
    with pytest.raises(fg.errors.CotangentError, match="has shape"):
        transposed(np.ones(3))
