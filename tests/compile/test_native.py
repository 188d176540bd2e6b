"""Graphs in native code: the kinds of loops, layouts of arguments, threads, errors, aliasing."""

import threading

import numpy as np
import pytest
from native import assert_close, check
from nests import NESTS, chain, cross_entropy, draw, layer_norm
from programs import PROGRAMS, X

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile import cache
from funcgrad.compile.execute import executable
from funcgrad.config import config

SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308])


@pytest.fixture(params=["avx512", "narrow"])
def width(request, monkeypatch):
    monkeypatch.setattr(config, "avx512", request.param == "avx512")


@pytest.mark.parametrize("name", NESTS)
def test_nests(name, width):
    f, args = NESTS[name]
    check(fg.make_graph(f)(*args), *args)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 32, 33, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_length(n, dtype, width):
    x = draw(n).astype(dtype)
    for f in (fg.value_and_grad(chain), lambda x: (x - x.max(), x.min(), np.sort(x) * 2)):
        check(fg.make_graph(f)(x), x)
    for shape in ((n, 3), (3, n)):
        y = draw(*shape).astype(dtype)
        for axis in (0, 1):

            def f(y, axis=axis):
                return (y - y.mean(axis, keepdims=True)) / y.std(axis, keepdims=True), y.max(axis)

            check(fg.make_graph(f)(y), y, ulp=2048)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("derive", ["value", "grad", "hessian", "vmap"])
def test_programs(program, derive):
    def loss(x):
        return sum(np.sum(leaf * leaf) for leaf in fg.tree.leaves(program(x)))

    f = {
        "value": program,
        "grad": fg.grad(loss),
        "hessian": fg.hessian(loss),
        "vmap": lambda x: fg.vmap(fg.grad(loss))(np.stack([x, 2 * x, -x])),
    }[derive]
    check(fg.make_graph(f)(X), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x + 1.0, x - x, x * 0.0, 1.0 / x, -x, abs(x)),
        lambda x: (np.maximum(x, 1.0), np.minimum(1.0, x), fnp.fmax(x, 1.0), fnp.fmin(x, 1.0)),
        lambda x: (np.sign(x), np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x)),
        lambda x: (x > 1, x == x, x != 1, x <= 0, np.logical_and(x, 1.0), np.logical_not(x)),
        lambda x: (np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.copysign(2.0, x)),
        lambda x: (x.max(), x.min(), x[:4].sum(), x[:4].prod(), x[4:6].sum(), x[1:2].max()),
        lambda x: (np.sqrt(x), x * x, x**2, x**3, np.heaviside(x, 0.5), np.where(x > 0, x, -x)),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_values(f, dtype, width):
    x = SPECIAL.astype(dtype)
    made = executable(fg.make_graph(f)(x))
    with np.errstate(all="ignore"):
        want = f(x)
    for g, w in zip(made(x), want, strict=True):
        np.testing.assert_array_equal(g, w)
        if np.asarray(w).dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(g) | np.isnan(g), np.signbit(w) | np.isnan(w))


def test_a_zero_cotangent_meets_an_infinite_partial():
    x = np.array([0.0, 1.0, 4.0])
    f = fg.grad(lambda x: np.sum(np.sqrt(x) ** 2))
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))


def test_layouts_of_arguments():
    x = draw(20, 30)
    f = fg.jit(fg.value_and_grad(lambda x: chain(x) + (x.sum(0) ** 2).sum()))
    for y in (
        x[::-1],
        x[:, ::2],
        np.asfortranarray(x),
        x[3:7, 5:8],
        np.broadcast_to(x[:1], (9, 30)),
    ):
        want = f(np.ascontiguousarray(y))
        for g, w in zip(f(y), want, strict=True):
            np.testing.assert_array_equal(g, w)
    misaligned = np.frombuffer(b"." + x.tobytes(), np.float64, offset=1).reshape(x.shape)
    np.testing.assert_array_equal(f(misaligned)[1], f(x)[1])
    read_only = x.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(f(read_only)[1], f(x)[1])
    swapped = x.astype(">f8")
    np.testing.assert_allclose(np.asarray(f(swapped)[1], float), f(x)[1], rtol=1e-12)


def test_results_are_nobody_elses():
    x = draw(5)
    f = fg.jit(lambda x: (x * 2.0, (x * 2.0)[::2], x.T, np.ones(3), np.broadcast_to(x + 1, (2, 5))))
    first = f(x)
    kept = [np.array(o) for o in first]
    f(x + 1.0)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)
    first[3][:] = 7.0
    np.testing.assert_array_equal(f(x)[3], np.ones(3))


def test_scalars_stay_what_they_were():
    assert type(fg.jit(lambda x: x * 2.0)(3.0)) is float
    assert type(fg.jit(lambda x: x * 2)(3)) is int
    assert fg.jit(lambda x: x * x)(10**12) == 10**24  # Python's integers do not wrap
    assert type(fg.jit(np.sin)(np.float32(3.0))) is np.float32
    assert type(fg.jit(lambda x: x.sum())(np.ones(3))) is np.float64
    x = np.float32([1.0, 2.0])
    assert fg.jit(lambda x, s: x * s)(x, 0.1).dtype == np.float32


SCATTERS = {
    "of sums of rows": lambda x, at: np.sum(np.outer(x, x)[at], 1),
    "of one element": lambda x, at: x[at[:1]] ** 2,
    "of several lanes": lambda x, at: fg.jacfwd(lambda y: np.prod(y[at]))(x),
    "between joined pieces": lambda x, at: fg.jacrev(fg.jacfwd(lambda y: np.prod(y[at])))(x),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_adding_at_positions(name, width):
    f = SCATTERS[name]
    x, at = draw(5), np.array([0, 3, 3])
    loss = fg.grad(lambda x, at: np.sum(np.sin(f(x, at))))
    check(fg.make_graph(loss)(x, at), x, at)
    check(fg.make_graph(fg.jacfwd(loss))(x, at), x, at)
    xs = np.stack([x, -x, 2 * x])
    check(fg.make_graph(fg.vmap(loss, (0, None)))(xs, at), xs, at)


def test_an_index_out_of_bounds_is_an_error():
    f = fg.jit(lambda x, at: x[at] * 2.0)
    x = np.arange(5.0)
    np.testing.assert_array_equal(f(x, np.array([0, -1, -5])), [0.0, 8.0, 0.0])
    for at in ([0, 5], [-6, 1]):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
            f(x, np.array(at))
    np.testing.assert_array_equal(f(x, np.array([1, 1])), [2.0, 2.0])


def test_labels_out_of_bounds_are_an_error():
    z, labels = draw(6, 5), np.arange(6) % 5
    f = fg.jit(fg.value_and_grad(cross_entropy))
    f(z, labels)
    with pytest.raises(IndexError):
        f(z, labels + 5)


def test_empty_arrays_and_reductions_of_nothing():
    for shape in ((0,), (0, 3), (3, 0)):
        x = np.zeros(shape)
        check(fg.make_graph(lambda x: (x * 2.0, x.sum(), np.exp(x).sum(0), x.prod(-1)))(x), x)
    with pytest.raises(ValueError, match="zero-size"):
        fg.jit(lambda x: x.max())(np.zeros(0))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_for_any_number_of_threads(threads, monkeypatch):
    cases = [
        (fg.value_and_grad(chain), (draw(300_000),)),
        (fg.value_and_grad(layer_norm, (0, 1, 2)), (draw(900, 200), draw(200), draw(200))),
        (fg.value_and_grad(cross_entropy), (draw(3000, 50), np.arange(3000) % 50)),
    ]
    for f, args in cases:
        made = executable(fg.make_graph(f)(*args))
        monkeypatch.setattr(config, "threads", 1)
        alone = made(*args)
        monkeypatch.setattr(config, "threads", threads)
        for _ in range(3):
            for a, b in zip(made(*args), alone, strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_several_threads_compile_and_run_one_function():
    f = fg.jit(fg.value_and_grad(chain))
    xs = [draw(2000) for _ in range(8)]
    want = [fg.value_and_grad(chain)(x) for x in xs]
    failed = []

    def work(k):
        try:
            for _ in range(20):
                v, g = f(xs[k])
                assert_close(v, want[k][0])
                assert_close(g, want[k][1])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.mean(),
        lambda x: x.var(),
        lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
        lambda x: np.sin(x),
    ],
)
def test_one_kernel_for_every_length(f, monkeypatch):
    class OfThisThread(threading.local):  # others may compile better code meanwhile
        memory = disk = built = 0

    jitted = fg.jit(f)
    jitted(draw(10))
    monkeypatch.setattr(cache, "statistics", OfThisThread())
    for n in range(11, 31):
        x = draw(n)
        assert_close(jitted(x), f(x))
    assert cache.statistics.built == 0


def test_operations_without_a_native_form_run_in_numpy():
    x = draw(4, 4)
    f = lambda x: fnp.linalg.inv(np.exp(x)) @ np.linalg.eigvalsh(x * 2.0)
    made = check(fg.make_graph(f)(x), x)
    assert "NumPy: eigvalsh" in made.explain()


def test_show_and_explain():
    f = fg.jit(fg.value_and_grad(cross_entropy))
    z, labels = draw(6, 5), np.arange(6) % 5
    text = f.show(z, labels)
    for part in ("graph(", "kernel k0(", "define void @k0", "def program("):
        assert part in text
    assert "operations in one kernel" in f.explain(z, labels)


def test_the_interpreter_can_be_chosen(monkeypatch):
    monkeypatch.setattr(config, "backend", "interpreter")
    f = fg.jit(chain)
    x = draw(50)
    assert f(x) == chain(x)


@pytest.mark.parametrize("rows", [3, 1100, 2100, 5000])
def test_many_rows_that_are_computed_and_summed_up_side_by_side(rows):
    x = np.random.default_rng(0).standard_normal(rows)
    y = np.arange(40.0) / 7.0

    def f(x, y):
        return np.mean(x[:, None] * y + y, 0)

    np.testing.assert_allclose(fg.jit(f)(x, y), f(x, y), rtol=1e-12)


@pytest.mark.parametrize("n", [3, 17, 255, 1000, 3001])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lanes_that_add_to_the_same_column(n, dtype):
    def f(x):  # lanes run along the long axis, over which is summed as well
        weights = np.exp(x - x.max(0))
        return (weights / weights.sum(0)).sum(1), (x - x.max(0)).max(1)

    x = np.random.default_rng(n).standard_normal((5, n)).astype(dtype)
    check(fg.make_graph(f)(x), x)


def test_chains_longer_than_the_stack_of_python():
    def f(x):
        for _ in range(600):
            x = x * 0.99 + 0.001
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 50)
    for a, b in zip(fg.jit(fg.value_and_grad(f))(x), fg.value_and_grad(f)(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_function_used_often_is_called():
    def f(x):
        y = x
        for _ in range(12):
            y = np.sin(y) * x
        return np.sum(y)

    x = np.linspace(0.1, 1.5, 1000)  # beyond, what is repeated is chaotic
    graph = fg.make_graph(fg.value_and_grad(f))(x)
    check(graph, x, ulp=4096)
    text = executable(graph).show()
    assert "declare" in text and "define internal" not in text  # one copy for all kernels
    assert text.count("@funcgrad.sin.") > 12


def test_a_function_is_called_in_one_kernel_and_written_out_in_another():
    def f(x, y):
        for _ in range(6):
            x = np.sin(x + 0.1)
        return x, np.sort(np.sin(y))

    x, y = np.linspace(0, 1e9, 200), np.linspace(-3e8, 3, 1000)
    check(fg.make_graph(f)(x, y), x, y)


def test_a_constant_without_axes_keeps_its_shape():
    _, zero = fg.jit(lambda x: (x, np.array(0.0)))(np.ones(2))
    assert np.shape(zero) == () and zero == 0.0


def test_a_piece_without_elements_on_an_axis_of_one():
    def f(x):
        m = np.log1p(x * x)
        n = np.fmax(m, x / (1 + x * x))
        return np.sum(np.sin(np.concatenate([n, m, n[:0]])))

    check(fg.make_graph(fg.grad(f))(np.ones(1, "f4")), np.ones(1, "f4"))


def test_one_position_for_all_in_another_order_of_axes():
    def f(x):
        column = np.transpose(np.transpose(np.sin(x))[np.full(5, -4)])
        total = fnp.zeros((3, 5))
        fnp.add.at(total, np.arange(7) % 3, column)
        return np.sum(np.sin(total)) + np.sum(np.sin(column))

    x = draw(7, 6)
    check(fg.make_graph(fg.grad(f))(x), x)


@pytest.mark.parametrize(
    ("f", "args", "kind"),
    [
        (lambda x: np.linalg.inv(x) * 2.0, (np.zeros((2, 2)),), np.linalg.LinAlgError),
        (lambda x, i: x[i] * 2.0, (np.ones(3), np.array([9])), IndexError),
    ],
)
@pytest.mark.parametrize("backend", ["llvm", "interpreter"])
def test_errors_at_run_time_name_the_line(f, args, kind, backend, monkeypatch):
    monkeypatch.setattr(config, "backend", backend)
    with pytest.raises(kind) as caught:
        fg.jit(f)(*args)
    note, section = caught.value.__notes__
    assert "test_native.py" in note and "of a traced function" in note
    assert section.endswith("see docs/errors.md#wrong-arguments")


@pytest.mark.parametrize("f", [np.argmin, np.argmax])
def test_the_position_in_nothing_is_an_error_even_if_nobody_reads_it(f):
    """Of program 108904 of the random ones that draw on most of NumPy."""
    for call in (lambda x: np.sum(x) + 0 * f(x), lambda x: (f(x), np.sum(x))[1]):
        with pytest.raises(ValueError, match="empty sequence"):
            fg.jit(fg.grad(call))(np.ones(0))
    assert fg.jit(lambda x: f(x, axis=1))(np.ones((0, 2))).shape == (0,)


def test_a_value_in_the_memory_of_a_result_is_read_before_that_is_written():
    def f(a, b, c):
        d, e = c + a, np.tanh(c)
        h = np.maximum(np.minimum(d, b), e * c)
        rows = np.sin(np.tanh(np.mean(h, axis=0)) ** 2)
        return rows.sum() + np.sin(d).sum() + np.sin(e * c).sum()

    args = draw(1, 17), draw(17, 33, 1), draw(17, 33, 17)
    check(fg.make_graph(fg.value_and_grad(f, (0, 1, 2)))(*args), *args)
