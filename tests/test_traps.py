"""Programs that a plausible design gets silently wrong; the numbers are those of the manual."""

import gc
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest
from captured_programs import SEEN, UNSEEN
from layouts import exact

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors


def second(f):
    return fg.grad(fg.grad(f))


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("partial", "want"),
    [
        (lambda x: fnp.sqrt(x), [0.0, 0.0, 0.25]),
        (lambda x: fnp.log(x), [0.0, 0.0, 0.25]),
        (lambda x: x * fnp.log(x), [0.0, 0.0, np.log(4.0) + 1.0]),
    ],
)
def test_trap_01_masked_lanes_stay_zero(partial, want, transform):
    x = np.array([-1.0, 0.0, 4.0])

    def f(x):
        return fnp.sum(fnp.where(x > 0, partial(x), 0.0))

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(transform(fg.grad(f))(x), want)
        forward = fg.jvp(lambda x: fnp.where(x > 0, partial(x), 0.0), (x,), (np.ones(3),))[1]
        np.testing.assert_allclose(forward, want)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: fnp.sqrt(x) ** 2, 0.0),
        (lambda x: fnp.cos(fnp.arccos(x)), 1.0),
        (lambda x: fnp.exp(fnp.log(x)), 0.0),
    ],
)
def test_trap_01_the_number_zero_times_infinity_is_nan(f, x):
    with np.errstate(all="ignore"):
        for way in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f)), fg.jacfwd(f)):
            assert np.isnan(way(x)) or way(x) == 1.0


def test_trap_01_zero_cotangent_keeps_the_second_order():
    assert second(lambda x: fnp.sin(x) * fnp.sin(x))(0.0) == 2.0


def test_trap_02_double_where_to_second_order():
    def f(x):
        safe = fnp.where(x > 0, x, 1.0)
        return fnp.where(x > 0, fnp.sqrt(safe), 0.0)

    assert second(f)(0.0) == 0.0
    np.testing.assert_allclose(second(f)(4.0), -0.25 * 4.0**-1.5)


def test_trap_03_ties_are_split_equally():
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_allclose(fg.grad(fnp.max)(x), [0, 0.5, 0.5])
    np.testing.assert_allclose(fg.grad(lambda x: fnp.min(-x))(x), [0, -0.5, -0.5])
    along = fg.grad(lambda m: fnp.sum(fnp.max(m, axis=0)))(np.array([[1.0, 2.0], [1.0, 0.0]]))
    np.testing.assert_allclose(along, [[0.5, 1], [0.5, 0]])
    assert fg.grad(fnp.maximum, argnums=(0, 1))(2.0, 2.0) == (0.5, 0.5)


def test_trap_04_kinks():
    assert fg.grad(lambda x: fnp.maximum(x, 0.0))(0.0) == 0.5
    assert fg.grad(lambda x: fnp.clip(x, 0.0, 1.0))(0.0) == 0.5
    assert fg.grad(lambda x: fnp.clip(x, 0.0, 1.0))(0.5) == 1.0


def test_trap_05_abs_and_sign_at_zero():
    assert fg.grad(abs)(0.0) == 0.0
    assert fg.grad(fnp.sign)(0.0) == 0.0


def test_trap_06_roots_at_the_origin():
    with np.errstate(all="ignore"):
        assert fg.grad(fnp.sqrt)(0.0) == np.inf
    zero = np.zeros(3)
    np.testing.assert_array_equal(fg.grad(fnp.linalg.norm)(zero), zero)
    np.testing.assert_array_equal(fg.grad(fnp.std)(zero), zero)
    assert fg.grad(fnp.hypot, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert fg.grad(fnp.arctan2, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_trap_07_powers():
    assert fg.grad(lambda x: x**0.0)(0.0) == 0.0
    assert fg.grad(lambda x: x ** np.array(0.0))(0.0) == 0.0
    with np.errstate(all="ignore"):
        base, exponent = fg.grad(fnp.power, argnums=(0, 1))(-2.0, 3.0)
    assert base == 12.0
    assert np.isnan(exponent)
    assert fg.grad(lambda x: x**2)(0.0) == 0.0
    assert fg.grad(lambda x: x**1)(0.0) == 1.0
    assert fg.grad(lambda y: 0.0**y)(2.0) == 0.0
    for two in (2, 2.0, np.array(2.0), np.array(2)):
        assert second(lambda x, two=two: fnp.power(x, two))(0.0) == 2.0
    for three in (3, 3.0, np.array(3.0)):
        assert second(lambda x, three=three: fnp.power(x, three))(0.0) == 0.0


@pytest.mark.parametrize("zeros", [[0], [0, 2], [0, 1, 2], []])
def test_trap_08_products_with_zeros_to_second_order(zeros):
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[zeros] = 0.0
    others = [
        [np.prod(np.delete(x, [i, j])) if i != j else 0.0 for j in range(4)] for i in range(4)
    ]
    np.testing.assert_allclose(fg.hessian(fnp.prod)(x), others)
    np.testing.assert_allclose(fg.hessian(lambda x: fnp.cumprod(x)[-1])(x), others)


def test_trap_09_sinc_at_zero():
    assert fg.grad(fnp.sinc)(0.0) == 0.0
    np.testing.assert_allclose(second(fnp.sinc)(0.0), -(np.pi**2) / 3, rtol=1e-12)
    np.testing.assert_allclose(second(fnp.sinc)(1e-3), -(np.pi**2) / 3, rtol=1e-5)


def test_trap_12_logaddexp_far_out():
    x, y = np.array([1e4]), np.array([-1e4])
    a, b = fg.grad(lambda x, y: fnp.sum(fnp.logaddexp(x, y)), argnums=(0, 1))(x, y)
    assert (a[0], b[0]) == (1.0, 0.0)
    both = fg.grad(fnp.logaddexp, argnums=(0, 1))(-np.inf, -np.inf)
    assert both == (0.5, 0.5)
    np.testing.assert_allclose(second(lambda x: fnp.logaddexp(x, 0.3))(0.3), 0.25)


def test_trap_15_equal_values():
    def of_vectors(a):
        return np.sum(np.linalg.eigh(a)[1] ** 3)

    a = np.eye(3)
    for f in (np.linalg.eigvalsh, np.linalg.svdvals):
        np.testing.assert_allclose(fg.grad(lambda a, f=f: np.sum(f(a) ** 2))(a), 2 * a, atol=1e-14)
    assert np.isnan(fg.grad(of_vectors)(a)).any()


def test_trap_38_second_order_through_masked_branches():
    def f(x):
        return np.sum(np.where(x > 0, np.log(x), x**2))

    x, want = np.array([0.0, 1.0]), [[2.0, 0.0], [0.0, -1.0]]
    with np.errstate(all="ignore"):
        for h in (
            fg.hessian(f),
            fg.jacrev(fg.grad(f)),
            fg.jacfwd(fg.grad(f)),
            fg.jit(fg.hessian(f)),
        ):
            np.testing.assert_array_equal(h(x), want)


def test_trap_18_repeated_indices():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.grad(lambda x: x[np.array([0, 0, 2])].sum())(x), [2, 0, 1])

    def last_write_wins(v):
        b = fnp.zeros(3)
        b[np.array([1, 1, 0])] = v
        return fnp.sum(b * np.array([1.0, 10.0, 100.0]))

    np.testing.assert_array_equal(fg.grad(last_write_wins)(x), [0, 10, 1])

    def add_at(v):
        b = fnp.zeros(3)
        np.add.at(b, np.array([1, 1, 0]), v)
        return fnp.sum(b * np.array([1.0, 10.0, 100.0]))

    np.testing.assert_array_equal(fg.grad(add_at)(x), [10, 10, 1])


def test_trap_19_out_of_bounds():
    x = np.ones(3)
    for f in (lambda x: x[3], lambda x: x[np.array([0, 3])].sum(), lambda x: x[-4]):
        with pytest.raises(IndexError):
            fg.grad(f)(x)
    with pytest.raises(IndexError):
        fg.jit(lambda x: x[3])(x)


@pytest.mark.parametrize(
    "x",
    [
        np.ones((1, 3)),
        np.array(2.0),
        np.ones((0, 3)),
        np.ones((2, 6))[::-1, ::-2],
        np.asfortranarray(np.ones((2, 3))),
        np.ones((2, 3), ">f8"),
        np.ones((2, 1, 3), np.float32),
    ],
    ids=["one", "0-d", "empty", "strides", "fortran", "big-endian", "float32"],
)
def test_trap_20_layouts(x):
    cubes = np.ones((4, 1, 1, 1), np.float32)
    g = fg.grad(lambda x: fnp.sum(x * np.ones(3, np.float32) + cubes))(x)
    assert np.shape(g) == np.shape(x)
    assert g.dtype == x.dtype
    if x.size:
        np.testing.assert_allclose(g, 4.0 * 3 / (x.shape[-1] if x.ndim else 1))


@pytest.mark.parametrize("x", [3, True, np.arange(3), {"a": 1}])
def test_trap_21_integers(x):
    with pytest.raises(TypeError, match=r"has no derivative; pass a floating point value"):
        fg.grad(lambda x: 1.0)(x)


def test_trap_22_promotion():
    x = np.ones(3, np.float32)
    for f in (
        lambda s: fnp.sum((s * 2.0) * x),
        lambda s: fnp.sum((s + 1) ** 2 / 3.0 * x),
        lambda s: fnp.sum(fnp.sin(s) * x),
        lambda s: fnp.sum(np.float64(2.0) * s * x),
        lambda s: fnp.sum(abs(-s) * x.astype(np.float16)),
    ):
        value, gradient = fg.value_and_grad(f)(2.0)
        assert type(value) is type(f(2.0))
        assert value == f(2.0)
        assert gradient.dtype == np.float64
    for dtype in (np.float16, np.float32, np.float64):
        gradient = fg.grad(lambda x: fnp.sum(x * np.arange(3) * np.float64(1.5)))(np.ones(3, dtype))
        assert gradient.dtype == dtype


def test_trap_23_overflow_in_partials():
    gradient = fg.grad(lambda y: 1e300 / y)(1e200)
    np.testing.assert_allclose(gradient, -1e-100)


def test_trap_26_perturbation_confusion():
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0) == 1.0


def test_trap_27_leaks():
    store = []

    def f(x):
        store.append(x * 2.0)
        return x

    fg.grad(f)(1.0)
    for use in (lambda t: t + 1.0, lambda t: np.sin(t), lambda t: t > 0, lambda t: fnp.sum(t)):
        with pytest.raises(errors.LeakedTracerError, match=r"test_traps\.py"):
            use(store[0])

    def outer(x):
        fg.grad(lambda y: (store.append(y * x), y)[1])(x)
        return store[-1] * x

    with pytest.raises(errors.LeakedTracerError):
        fg.grad(outer)(3.0)
    with pytest.raises(errors.LeakedTracerError):
        fg.grad(lambda x: store[0])(3.0)


def test_trap_29_a_reused_workspace():
    for size in (3, 20_000):
        buffer = np.zeros(size)

        def f(x, buffer=buffer):
            s = 0.0
            for i in range(3):
                buffer[:] = i
                s = s + fnp.sum(x * buffer)
            return s

        try:
            np.testing.assert_array_equal(fg.grad(f)(np.ones(size)), np.full(size, 3.0))
        except errors.MutatedCaptureError as error:
            assert size > 3
            assert "changed in place" in str(error)
        np.testing.assert_array_equal(fg.jit(fg.grad(f))(np.ones(3)), 3.0) if size == 3 else None


def test_trap_29_the_input_changes_before_its_pullback():
    x = np.array([1.0, 2.0])
    _, pull = fg.vjp(lambda a: fnp.sum(a * a), x)
    x += 100
    np.testing.assert_array_equal(pull(1.0)[0], [2, 4])
    large = np.ones(20_000)
    _, pull = fg.vjp(lambda a: fnp.sum(a * a), large)
    large += 1
    with pytest.raises(errors.MutatedCaptureError, match="changed in place"):
        pull(1.0)


def test_trap_29_the_output_changes_before_its_pullback():
    y, pull = fg.vjp(np.exp, np.zeros(3))
    y += 100
    np.testing.assert_array_equal(pull(np.ones(3))[0], np.ones(3))


def test_trap_30_threads():
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).normal(size=5)
        for _ in range(200):
            g = fg.grad(lambda x: fnp.sum(x * fg.grad(lambda y: fnp.sum(fnp.sin(x * y)))(x)))(x)
            # inner: x cos(x²); outer: d/dx of x² cos(x²)
            want = 2 * x * np.cos(x * x) - 2 * x**3 * np.sin(x * x)
            if not np.allclose(g, want):
                wrong.append(g)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_trap_30_fork():
    """In an interpreter of its own: other packages of the tests have threads that do not fork."""
    code = """
        import os
        import funcgrad as fg

        def child():
            pid = os.fork()
            if pid == 0:
                os._exit(0 if fg.grad(lambda x: x * x)(3.0) == 6.0 else 1)
            assert os.waitpid(pid, 0)[1] == 0

        child()
        assert fg.grad(lambda x: x * x)(3.0) == 6.0
        child()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_trap_31_a_million_operations():
    def f(x):
        for _ in range(1_000_000):
            x = x + 0.0
        return x

    assert fg.grad(f)(1.0) == 1.0


def test_trap_32_nothing_for_the_cycle_collector():
    x = np.linspace(0, 1, 4)

    def f(x):
        return fnp.sum(fnp.tanh(x) * x[1] + fnp.max(x))

    fg.grad(f)(x)
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            fg.grad(f)(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_trap_33_nested_gradients_in_a_loop_leave_nothing():
    x = np.linspace(0, 1, 4)

    def f(x):
        return fnp.sum(fg.grad(lambda y: fnp.sum(fnp.sin(y) * y))(x) ** 2)

    fg.grad(f)(x)
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            fg.grad(f)(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f)), fg.vmap])
def test_trap_34_masks_of_the_wrong_length(transform):
    short, x = np.array([True, False]), np.arange(5.0)

    def written(a, mask):
        b = a * 1.0
        b[mask] = 3.0
        return np.sum(b)

    for f in (
        lambda a: np.sum(a[short]),
        lambda a: np.sum(np.stack([a, a])[:, short]),
        lambda a: np.sum(a[a[:2] > 0]),
        lambda a: written(a, short),
        lambda a: written(a, a[:2] > 0),
    ):
        with pytest.raises(IndexError, match=r"boolean index did not match indexed array along"):
            transform(f)(np.stack([x, x]) if transform is fg.vmap else x)


def reads_in_memory_order(x):
    return np.ravel(x.T, order="A") + np.ravel(x.T, order="K")


def writes_through_a_view(x):
    t = np.sin(x.T).T.ravel()
    t *= 2.0
    y = x.reshape(6)
    y[0] = 9.0
    return x


def writes_into_a_copy(x):
    t = x.T.ravel()
    t *= 2.0
    return x


def writes_into_what_is_seen_of_a_scalar(x):
    s = np.sum(x)
    for t in (s[None], s[...], s.view()):
        t *= 2.0
    return s


def writes_into_an_array_without_axes(x):
    y = z = np.where(x[0, 0] > 0, x[0, 1], 1.0)
    z *= 2.0
    return y + 0.0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "program",
    [
        reads_in_memory_order,
        writes_through_a_view,
        writes_into_a_copy,
        writes_into_what_is_seen_of_a_scalar,
        writes_into_an_array_without_axes,
    ],
)
def test_trap_35_memory_layouts_and_scalars(program, order):
    x = np.arange(6.0).reshape(2, 3).copy(order)
    want = program(x.copy("K"))
    np.testing.assert_array_equal(fg.vjp(program, x)[0], want)
    np.testing.assert_array_equal(fg.jit(program)(x), want)
    xs = np.stack([x, x], -1)
    found = fg.vmap(program, in_axes=-1)(xs)
    for k in range(2):
        np.testing.assert_array_equal(found[k], program(exact(xs[..., k])))


@pytest.mark.parametrize("transform", [fg.jit, lambda f: fg.jit(fg.value_and_grad(f))])
def test_trap_36_order_of_dictionaries_and_keywords(transform):
    def f(d, **given):
        first, *_ = d.values()
        name, *_ = given
        return first * given[name]

    run = transform(f)
    for d in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}) * 2:
        for given in ({"x": 3.0, "y": 5.0}, {"y": 5.0, "x": 3.0}):
            got = run(d, **given)
            assert (got[0] if isinstance(got, tuple) else got) == f(d, **given)


@pytest.mark.parametrize("make", [*SEEN, *UNSEEN], ids=lambda f: f.__name__)
def test_trap_37_captures(make):
    f, change = make()
    run = fg.jit(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", fg.CaptureWarning)
        run(2.0)
        change()
        got = run(2.0)
    assert caught or got == f(2.0)


@pytest.mark.parametrize("point", [(0.0, 1.0), (2.0, 0.0), (0.0, 2.0)])
def test_trap_38_mixed_derivatives_of_powers_at_zero(point):
    def power(v):
        return v[0] ** v[1]

    for second in (fg.hessian(power), fg.jit(fg.hessian(power)), fg.jacrev(fg.jacfwd(power))):
        got = second(np.array(point))
        want = [0.0, point[0] ** (point[1] - 1.0)][point != (0.0, 2.0)]
        assert got[0, 1] == got[1, 0] == want


def test_checkpoint_closes_over_a_traced_value():
    got = fg.grad(lambda w: fg.checkpoint(lambda y: fnp.sin(y * w))(w * 1.0))(0.7)
    np.testing.assert_allclose(got, np.cos(0.49) * 1.4)


def test_vmap_of_solve_with_a_square_batch():
    a, b = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    got = fg.vmap(lambda v: fnp.linalg.solve(a, v))(b)
    np.testing.assert_allclose(got, [np.linalg.solve(a, v) for v in b])


def test_a_cached_method_whose_attribute_became_traced():
    class Model:
        w = np.ones(3)

    model, x = Model(), np.arange(3.0)
    f = fg.jit(lambda v: fnp.sum(model.w * v))
    f(x)

    def loss(w):
        model.w = w
        return f(x)

    np.testing.assert_array_equal(fg.grad(loss)(np.full(3, 5.0)), x)


def test_slices_and_writes_share_memory():
    def earlier_slice(x):
        b = fnp.zeros(3)
        v = b[:2]
        b[0] = x
        return fnp.sum(v)

    def through_slice(x):
        b = fnp.zeros(3)
        v = b[1:]
        v[0] = x
        return b[1]

    def augmented(x):
        b = fnp.zeros((2, 2))
        row = b[1]
        row += x
        b *= 2.0
        return b.sum() + row[0]

    assert fg.value_and_grad(earlier_slice)(3.0) == (3.0, 1.0)
    assert fg.value_and_grad(through_slice)(3.0) == (3.0, 1.0)
    assert fg.value_and_grad(augmented)(3.0) == (18.0, 6.0)


def test_augmented_assignment_reaches_every_alias():
    def f(x):
        y = x * 1.0
        z = y
        z += x
        return fnp.sum(y)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [2, 2, 2])


def test_writing_a_later_value_into_an_older_array():
    def f(x):
        b = fnp.zeros(2)

        def inner(y):
            b[0] = y
            return y * 1.0

        fg.grad(inner)(x)
        return x

    with pytest.raises(errors.LaterTransformError, match="older than that transform"):
        fg.grad(f)(1.0)


def test_no_warning_from_a_gradient():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.grad(lambda x: fnp.sum(fnp.where(x > 0, x, 0.0) ** 0.5))(np.array([1.0, 4.0]))
