"""`jit(f).njit`: staged functions inside functions that Numba compiles, against Python."""

import subprocess
import sys
import threading
from collections import namedtuple

import numba
import numpy as np
import programs
import pytest

import funcgrad as fg
from funcgrad.errors import InputTypeError, NativeCodeError

pytestmark = pytest.mark.costly

X = np.linspace(0.1, 1.3, 5)
W = np.random.default_rng(0).normal(size=(4, 5))
Pair = namedtuple("Pair", "a b")


def wave(x, y):
    return np.sin(x) * y + x**3


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def network(w, x):
    return np.sum(np.tanh(w @ x))


def call_inside(f):
    """A function of Numba's that calls the compiled form of `f`."""
    g = fg.jit(f).njit

    @numba.njit
    def use(*args):
        return g(*args)

    return use


def agree(got, want, rtol=1e-12):
    assert fg.tree.structure(got) == fg.tree.structure(want)
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        if np.ndim(b):  # of scalars Numba makes Python numbers
            assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14)


CASES = {
    "value of numbers": (wave, 0.5, 2.0),
    "gradient of numbers": (fg.grad(wave), 0.5, 2.0),
    "several outputs": (fg.value_and_grad(wave, argnums=(0, 1)), 0.5, 2.0),
    "second derivative": (fg.hessian(wave), 0.5, 2.0),
    "hessian of numbers": (fg.hessian(wave, argnums=(0, 1)), 0.5, 2.0),
    "third derivative": (fg.grad(fg.grad(fg.grad(wave))), 0.5, 2.0),
    "an integer": (lambda x, n: x * n, X, 3),
    "a truth value": (lambda x, c: np.where(c, x, -x), X, True),
    "vector": (fg.value_and_grad(rosenbrock), X),
    "every second element": (fg.value_and_grad(rosenbrock), X[::2]),
    "backwards": (fg.grad(rosenbrock), X[::-1]),
    "hessian": (fg.hessian(rosenbrock), X),
    "jacobian": (fg.jacobian(lambda x: np.sin(x) * x[0]), X),
    "inner product": (fg.grad(lambda x: x @ x), X),
    "matrix and vector": (fg.value_and_grad(network, argnums=(0, 1)), W, X),
    "matrix and matrix": (fg.grad(lambda w, x: np.sum(np.tanh(x @ w.T))), W, np.ones((7, 5))),
    "stack of matrices": (lambda x, y: x @ y, np.ones((3, 2, 4)) * W[:2, :4], np.ones((4, 3))),
    "columns first": (fg.grad(lambda w: np.sum(np.tanh(w) * w)), np.asfortranarray(W)),
    "not contiguous": (lambda w: w * 2.0, W[:, ::2]),
    "no axes": (fg.grad(np.tanh), np.array(0.3)),
    "empty": (fg.grad(lambda x: np.sum(x**2)), np.zeros(0)),
    "running sums": (fg.grad(lambda x: np.sum(np.cumsum(x) ** 2)), X),
    "running sums of columns": (lambda w: np.cumsum(w, axis=0), W),
    "running products": (lambda x: np.sum(np.cumprod(x)), X),
    "gradient of running products": (fg.grad(lambda x: np.sum(np.cumprod(x) ** 2)), X),
    "of columns": (fg.grad(lambda w: np.sum(np.cumprod(w, axis=0) ** 2)), W),
    "of zeros and infinities": (lambda x: np.cumprod(x), np.array([2.0, 0.0, np.inf, 3.0])),
    "bounds": (fg.grad(lambda x: np.sum(np.clip(x, 0.5, 1.0) ** 2)), X),
    "bounds that vary": (lambda x, y: np.clip(x, y, 1.0), X, X[::-1]),
    "bounds that are not known": (lambda x: np.clip(x, np.nan, 1.0), X),
    "largest": (fg.grad(lambda x: x[np.argmax(x)] ** 2), X),
    "smallest from behind": (fg.grad(lambda x: x[np.argmin(x) - 2] ** 2), X),
    "largest of rows": (lambda w: (np.argmax(w, axis=1), np.argmin(w, axis=0)), W),
    "largest of ties": (lambda x: np.argmax(x), np.array([1.0, 3.0, 3.0])),
    "not a number is largest": (
        lambda x: (np.argmax(x), np.argmin(x)), np.array([1.0, np.nan, 5.0, np.nan]),
    ),
    "largest integer": (lambda n: np.argmax(n), np.array([1, 7, 7, 2])),
    "product": (fg.grad(lambda x: np.prod(x)), X),
    "letters": (fg.grad(lambda w, x: np.sum(np.einsum("ij,j->i", w, x) ** 2)), W, X),
    "letters of one and three": (
        lambda w: (np.einsum("ii->i", w), np.einsum("ij,kj,j->ki", w, w, w[0])),
        W[:4, :4],
    ),
    "contraction": (fg.grad(lambda w, v: np.tensordot(w, v, ((0, 1), (1, 0))) ** 2), W, W.T),
    "contraction of one axis": (lambda w, v: np.tensordot(w, v, 1), np.ones((2, 4, 5)) * W, W.T),
    "inner products": (fg.grad(lambda w, v: np.sum(np.inner(w, v) ** 2)), W, W[:3]),
    "dot of three axes": (lambda w, v: np.dot(w, v), W[:, :3], np.ones((2, 3, 4))),
    "counted": (lambda w: (np.sum(w > 0), np.sum(w > 0, axis=1), np.sum(w > 0, axis=0)), W),
    "joined": (fg.grad(lambda x: np.sum(np.stack([x, x[::-1]]) ** 2)), X),
    "softmax": (fg.grad(lambda w: np.sum(np.log(np.sum(np.exp(w), axis=1)))), W),
    "mapped": (fg.vmap(fg.grad(wave)), X, X),
    "unpacked": (fg.grad(lambda p: p[0] * np.exp(p[1]) * p[2]), X[:3]),
    "positions": (lambda x, i: x[i], X, np.array([1, -2, 0])),
    "tuples": (fg.grad(lambda p: np.sum(p[0] * p[1][0] * p[1][1])), (X, (2.0, X))),
    "named tuple": (fg.grad(lambda p: np.sum(p.a * p.b)), Pair(X, 2.0)),
    "what came in, views, numbers": (lambda w: (w, w.T, w[0], np.zeros(3), 2.0, w[:, 1:3]), W),
    "nothing": (lambda x: (x, None), X),
    "captured": (fg.grad(lambda x: np.sum(W * x**2)), X),
    "long": (fg.grad(lambda x: np.sum(np.tanh(x) * np.exp(x))), np.linspace(-2, 2, 70_001)),
    "much memory": (fg.hessian(rosenbrock), np.linspace(0.5, 1.5, 101)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_python(name):
    f, *args = CASES[name]
    before = fg.tree.map(np.copy, args)
    agree(call_inside(f)(*args), f(*args))
    fg.tree.map(np.testing.assert_array_equal, args, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_dtypes_are_those_of_numpy(dtype):
    x = np.arange(1, 6).astype(dtype)

    def f(x):
        return x * x + x, np.sum(x), x[0] * np.float32(2)

    agree(call_inside(f)(x), f(x), rtol=1e-6)


def test_float32_numbers_and_arrays():
    x = X.astype(np.float32)
    got = call_inside(fg.grad(lambda x, y: np.sum(np.tanh(x) * y)))(x, np.float32(2))
    agree(got, fg.grad(lambda x, y: np.sum(np.tanh(x) * y))(x, np.float32(2)), rtol=1e-6)


NATIVE_PROGRAMS = [
    f for f in programs.PROGRAMS
    if f.__name__ in ("elementwise", "reduction", "product", "quadratic", "loop_with_indexing",
                      "item_assignment", "selection", "join_and_shape")
]  # fmt: skip


@pytest.mark.parametrize("f", NATIVE_PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [lambda f: f, fg.jacrev, fg.jacfwd, fg.hessian])
def test_programs(f, transform):
    agree(call_inside(transform(f))(programs.X), transform(f)(programs.X), rtol=1e-9)


def test_one_compilation_serves_every_shape():
    use = call_inside(fg.grad(rosenbrock))
    for n in (5, 2, 9, 5, 40):
        x = np.linspace(0, 1, n)
        agree(use(x), fg.grad(rosenbrock)(x))
    assert len(use.signatures) == 1


def test_the_interpreter_is_left_alone(monkeypatch):
    """Python is asked for a shape once."""
    from funcgrad.compile.numba import shapes

    asked = []
    add = shapes.Table.add
    monkeypatch.setattr(shapes.Table, "add", lambda *a: asked.append(a[1]) or add(*a))
    g = fg.jit(fg.grad(rosenbrock)).njit

    @numba.njit(nogil=True)
    def use(x, n):
        total = 0.0
        for _ in range(n):
            total += g(x)[0] + g(x[1:])[0]
        return total

    use(X, 100)
    assert asked == [((5,),), ((4,),)]


def test_calls_within_calls():
    inner = fg.jit(fg.grad(wave)).njit
    outer = fg.jit(fg.grad(lambda x: np.sum(x**2))).njit

    @numba.njit
    def one(x, y):
        return inner(x, y) + 1.0

    @numba.njit
    def two(x):
        return outer(x)[0] + one(x[0], x[1])

    assert two(X) == pytest.approx(2 * X[0] + fg.grad(wave)(X[0], X[1]) + 1.0)


def test_it_is_a_function_of_numba():
    """It can be called from Python and handed to functions as an argument."""
    g = fg.jit(fg.grad(wave)).njit

    @numba.njit
    def newton(derivative, x):
        for _ in range(3):
            x = x - 0.1 * derivative(x, 2.0)
        return x

    x = 0.5
    for _ in range(3):
        x -= 0.1 * fg.grad(wave)(x, 2.0)
    assert newton(g, 0.5) == pytest.approx(x)
    assert g(0.5, 2.0) == pytest.approx(fg.grad(wave)(0.5, 2.0))
    assert g(x=0.5, y=2.0) == g(0.5, 2.0)


def test_defaults():
    g = fg.jit(lambda x, factor=2.0: x * factor).njit

    @numba.njit
    def use(x):
        return g(x), g(x, 3.0), g(x, factor=4.0)

    assert use(1.5) == (3.0, 4.5, 6.0)


def test_defaults_are_constants():
    """What Python branches on; NumPy's own functions have such defaults."""
    pick = fg.jit(
        lambda x, up=True, how="sum": (np.sum if how == "sum" else np.mean)(x if up else -x)
    )
    g, slope, norm = (
        pick.njit,
        fg.jit(fg.grad(np.median)).njit,
        fg.jit(fg.grad(np.linalg.norm)).njit,
    )

    @numba.njit
    def use(x):
        return g(x), slope(x), norm(x)

    x = np.array([3.0, 1.0, 4.0])
    total, median, unit = use(x)
    assert total == 8.0 == g(x)
    np.testing.assert_array_equal(median, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(unit, x / np.linalg.norm(x))


@pytest.mark.parametrize("nogil", [True, False])
def test_parallel_loops(nogil):
    """Shapes are met in many threads at once, whether or not somebody holds the GIL."""
    g = fg.jit(fg.value_and_grad(lambda x: np.sum(np.tanh(x) * x))).njit

    @numba.njit(parallel=True, nogil=nogil)
    def loop(xs, lengths):
        out = np.zeros((xs.shape[0], 2))
        for i in numba.prange(xs.shape[0]):
            value, gradient = g(xs[i, : lengths[i]])
            out[i, 0], out[i, 1] = value, np.sum(gradient)
        return out

    random = np.random.default_rng(1)
    xs, lengths = random.normal(size=(400, 6)), random.integers(1, 7, 400)
    got = loop(xs, lengths)
    f = fg.value_and_grad(lambda x: np.sum(np.tanh(x) * x))
    for row, x, n in zip(got, xs, lengths, strict=True):
        value, gradient = f(x[:n])
        np.testing.assert_allclose(row, [value, np.sum(gradient)], rtol=1e-12, atol=1e-14)


def test_threads():
    use = call_inside(fg.hessian(rosenbrock))
    want = {n: fg.hessian(rosenbrock)(np.linspace(0, 1, n)) for n in range(2, 8)}
    wrong = []

    def work(k):
        for i in range(60):
            n = 2 + (i + k) % 6
            if not np.allclose(use(np.linspace(0, 1, n)), want[n], rtol=1e-12):
                wrong.append(n)

    use(X)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


# --------------------------------------------------------------------------------- errors


def test_an_index_out_of_bounds():
    use = call_inside(lambda x, i: x[i])
    with pytest.raises(IndexError, match="out of bounds"):
        use(X, np.array([1, 5]))
    np.testing.assert_array_equal(use(X, np.array([1, 4])), X[[1, 4]])


def test_an_operation_without_native_form_is_named():
    def f(x):
        return np.sum(np.real(np.exp(1j * x)))

    with pytest.raises(NativeCodeError, match=r"of complex128\*\[\], float64\[3\]") as caught:
        call_inside(f)(X[:3])
    line = f.__code__.co_firstlineno + 1
    assert f'test_njit.py", line {line}' in str(caught.value)


@pytest.mark.parametrize(
    "f, args, text",
    [
        (lambda x: {"a": x}, (1.0,), r"\{'a': \*\} is no tuple"),
        (lambda x: x * 2, (2j,), "complex128"),
        (lambda x: x * 2, (np.ones(3, np.uint8),), "uint8"),
        (lambda x: np.nextafter(x, X), (X,), r"nextafter of .* has no native form"),
        (lambda x: x * 1j, (X,), "no arrays of complex128"),
        (lambda x: x.reshape(3, 7), (X,), r"(?s)no extents were found.*call the jitted function"),
    ],
)
def test_what_cannot_be_compiled(f, args, text):
    with pytest.raises(NativeCodeError, match=text):
        call_inside(f)(*args)


def test_errors_of_the_function_come_through():
    with pytest.raises(InputTypeError):
        call_inside(fg.grad(lambda x: x * 1.0))(3)
    with pytest.raises(NativeCodeError, match="static arguments"):
        _ = fg.jit(wave, static_argnums=1).njit


def test_a_shape_that_the_function_does_not_take():
    use = call_inside(lambda x, y: x + y)
    agree(use(X, X), 2 * X)
    with pytest.raises(ValueError, match="broadcast"):
        use(X, X[:3])
    agree(use(X[:3], X[:3]), 2 * X[:3])  # nothing is left behind


def test_ranks_that_depend_on_extents():
    use = call_inside(lambda x: x if len(x) < 8 else x.reshape(2, -1))
    agree(use(X), X)
    with pytest.raises(NativeCodeError, match="other ranks or dtypes"):
        use(np.ones(8))


def test_earlier_calls_tell_which_extents_fit():
    f = fg.jit(lambda x: x.reshape(7, 11) * 2.0)
    f(np.ones(77))

    @numba.njit
    def use(x, g=f.njit):
        return g(x)

    g = f.njit

    @numba.njit
    def call(x):
        return g(x)

    agree(call(np.arange(77.0)), np.arange(77.0).reshape(7, 11) * 2)


def test_captured_arrays_are_taken_when_compiled():
    a = np.ones(3)
    use = call_inside(lambda x: x * a)
    agree(use(X[:3]), X[:3])
    a[:] = 5.0  # as with globals of Numba
    agree(use(X[:3]), X[:3])
    with pytest.raises(NativeCodeError, match="closes over a value of a transform"):
        fg.grad(lambda y: fg.jit(lambda x: x * y).njit(2.0))(1.0)


def test_nothing_heavy_is_imported_before_use():
    code = (
        "import sys, numpy as np, funcgrad as fg, funcgrad.extend\n"
        "f = fg.jit(fg.grad(np.sin))\n"
        "assert not {'numba', 'llvmlite'} & set(sys.modules)\n"
        "f(1.0)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbas_cache_is_not_used(tmp_path):
    """It would not see that the function has changed."""
    (tmp_path / "module.py").write_text(
        "import numba, numpy as np, funcgrad as fg\n"
        "g = fg.jit(fg.grad(lambda x: np.sin(x) * FACTOR)).njit\n"
        "@numba.njit(cache=True)\n"
        "def use(x):\n"
        "    return g(x)\n"
        "print(use(0.0))\n"
    )
    source = (tmp_path / "module.py").read_text()
    for factor in ("1.0", "2.0"):
        text = (
            f"FACTOR = {factor}\nexec(compile({source!r}, {str(tmp_path / 'module.py')!r}, 'exec'))"
        )
        out = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == factor


@pytest.mark.parametrize("rows", [16, 33, 64])
@pytest.mark.parametrize("name", ["inv", "cholesky", "sort"])
def test_steps_with_memory_of_their_own(name, rows):
    """It is part of the memory of the program: they wrote where their parameters lie."""
    a = np.eye(rows) * 9 + np.random.default_rng(0).normal(size=(rows, rows))
    f = {
        "inv": np.linalg.inv,
        "cholesky": lambda a: np.linalg.cholesky(a @ a.T),
        "sort": lambda a: np.sort(np.reshape(a, -1)),
    }[name]
    np.testing.assert_allclose(fg.jit(f).njit(a), f(a), rtol=1e-10, atol=1e-12)
