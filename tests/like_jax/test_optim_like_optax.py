"""Optimisers and schedules against optax, where that is there: the same text, the same numbers."""

import numpy
import pytest
from like_jax.swapped import agree

import funcgrad as fg

pytestmark = pytest.mark.peers

OPTIMIZERS = """
o.sgd(0.1)
o.sgd(0.1, momentum=0.9)
o.sgd(0.1, momentum=0.9, nesterov=True)
o.adam(0.1)
o.adam(0.1, b1=0.8, b2=0.95, eps=1e-3)
o.adam(0.1, nesterov=True)
o.nadam(0.1)
o.nadamw(0.1, weight_decay=0.2)
o.adamw(0.1, weight_decay=0.2)
o.adamw(0.1, weight_decay=0.2, mask={"w": True, "b": [False, True]})
o.adamax(0.1)
o.radam(0.1)
o.radam(0.1, threshold=4.5)
o.radam(0.1, b2=0.5)
o.rmsprop(0.1)
o.rmsprop(0.1, eps_in_sqrt=False, decay=0.7)
o.rmsprop(0.1, initial_scale=0.5, momentum=0.9, nesterov=True)
o.rmsprop(0.1, centered=True)
o.rmsprop(0.1, centered=True, initial_scale=3.0, eps_in_sqrt=False)
o.rmsprop(0.1, bias_correction=True)
o.rmsprop(0.1, eps_in_sqrt=False, eps=1e-3, bias_correction=True, momentum=0.5)
o.rmsprop(0.1, centered=True, eps=1e-2, bias_correction=True)
o.rmsprop(0.1, centered=True, eps=1e-2, initial_scale=0.5, eps_in_sqrt=False, bias_correction=True)
o.chain(o.scale_by_rms(0.8, bias_correction=True), o.scale(-0.1))
o.chain(o.scale_by_lion(mode="smooth", smooth_beta=0.7), o.scale(-0.1))
o.chain(o.scale_by_lion(mode="refined"), o.scale(-0.1))
o.adamaxw(0.1, weight_decay=0.2)
o.adamaxw(0.1, 0.8, 0.9, 1e-8, 0.3, {"w": True, "b": [False, True]})
o.adagrad(0.1)
o.adagrad(0.1, initial_accumulator_value=0.0, eps=1e-4)
o.adadelta(0.5)
o.lion(0.1)
o.lion(0.1, b1=0.7, b2=0.8, weight_decay=0.3)
o.adam(lambda count: 0.1 / (count + 1.0))
o.sgd(o.piecewise_constant_schedule(0.1, {2: 0.5, 4: 0.1}))
o.chain(o.clip(0.3), o.adam(0.1))
o.chain(o.clip_by_global_norm(0.5), o.sgd(0.1))
o.chain(o.clip_by_global_norm(50.0), o.sgd(0.1))
o.chain(o.scale_by_adam(), o.add_decayed_weights(0.1), o.scale(-0.1))
o.chain(o.trace(0.5), o.scale_by_schedule(lambda count: -1.0 / (count + 1.0)))
o.chain(o.scale_by_rms(), o.scale_by_learning_rate(0.1, flip_sign=False))
o.chain(o.identity(), o.set_to_zero())
o.masked(o.adam(0.1), {"w": True, "b": False})
o.masked(o.sgd(0.1), lambda p: {"w": False, "b": True})
o.multi_transform({"a": o.adam(0.1), "s": o.sgd(0.1)}, {"w": "a", "b": ["s", "a"]})
o.chain(o.scale_by_lion(b1=0.7), o.scale(-0.1))
o.chain(o.scale_by_adamax(), o.scale(-0.1))
o.chain(o.scale_by_radam(), o.scale(-0.1))
o.chain(o.scale_by_adadelta(rho=0.8), o.scale(-0.5))
o.chain(o.scale_by_rss(0.2), o.scale(-0.1))
o.chain(o.scale_by_stddev(0.8), o.scale(-0.1))
o.adam(0.1, eps_root=1e-4)
o.adam(0.1, 0.8, 0.9, 1e-6, 1e-3, nesterov=True)
o.adamw(0.1, 0.9, 0.99, 1e-8, 1e-3, None, 0.1)
o.nadamw(0.1, 0.9, 0.99, 1e-8, 1e-3, None, 0.1, nesterov=False)
o.nadam(0.1, b1=0.5, eps_root=1e-3)
o.radam(0.1, 0.9, 0.5, 1e-8, 1e-3, 3.0)
o.radam(0.1, b2=0.5, threshold=3.0, nesterov=True)
o.lion(0.1, 0.9, 0.99, None, 0.1)
o.adadelta(0.3, weight_decay=0.1, weight_decay_mask={"w": True, "b": False})
o.chain(o.scale_by_lbfgs(3), o.scale(-0.02))
o.chain(o.scale_by_lbfgs(2, scale_init_precond=False), o.scale(-0.02))
""".strip().split("\n")
P = {"w": numpy.array([[0.5, -1.0, 2.0]]), "b": [numpy.array(0.3), numpy.array([1.0, -2.0])]}


def curved(p):
    return {"w": 2.0 * (p["w"] - 1.0) ** 3, "b": [2.0 * p["b"][0] + 1.0, p["b"][1] * [3.0, 0.5]]}


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_steps_like_optax(text):
    optax = pytest.importorskip("optax")
    import jax

    with jax.enable_x64(True):
        found = []
        for o, tree in ((fg.optim, fg.tree), (optax, jax.tree)):
            optimizer = eval(text, {"o": o})
            as_arrays = jax.numpy.asarray if o is optax else numpy.asarray
            p = tree.map(as_arrays, P)
            state, path = optimizer.init(p), []
            for _ in range(5):
                g = curved(fg.tree.map(numpy.asarray, p))
                updates, state = optimizer.update(tree.map(as_arrays, g), state, p)
                p = o.apply_updates(p, updates)
                path.append(p)
            found.append(path)
        agree(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        'o.sgd(0.1, 0.9, False, "float32")',
        'o.adam(0.1, mu_dtype="float32")',
        'o.nadam(0.1, mu_dtype="float32")',
        'o.lion(0.1, mu_dtype="float32", weight_decay=0.0)',
    ],
)
def test_the_mean_is_kept_in_another_dtype(text):
    """Steps are rounded as far as the mean is; both keep the same dtypes."""
    optax = pytest.importorskip("optax")
    import jax

    with jax.enable_x64(True):
        found = []
        for o, tree in ((fg.optim, fg.tree), (optax, jax.tree)):
            as_arrays = jax.numpy.asarray if o is optax else numpy.asarray
            optimizer, p = eval(text, {"o": o}), tree.map(as_arrays, P)
            state = optimizer.init(p)
            for _ in range(3):
                updates, state = optimizer.update(tree.map(as_arrays, curved(P)), state, p)
                p = o.apply_updates(p, updates)
            means = [x for x in fg.tree.leaves(state) if numpy.asarray(x).dtype.kind == "f"]
            found.append((p, means))
        agree(*found, rtol=1e-5, atol=1e-6)


def test_steps_have_derivatives_where_a_gradient_is_zero():
    """As for learning how to learn: a root of 0 has none, one of `eps_root` has."""
    optimizer = fg.optim.adam(0.1, eps_root=1e-4)
    step = lambda g: optimizer.update(g, optimizer.init(1.0))[0]
    assert fg.grad(step)(0.0) == pytest.approx(-0.1 / (1e-2 + 1e-8))
    assert fg.jit(fg.grad(step))(0.0) == pytest.approx(-0.1 / (1e-2 + 1e-8))


def test_signatures_begin_as_those_of_optax():
    """So that arguments by position mean the same."""
    optax = pytest.importorskip("optax")
    import inspect

    own = {"chain": 0}  # what one name stands for on both sides
    for name in fg.optim.__all__:
        mine, other = getattr(fg.optim, name), getattr(optax, name, None)
        if other is None or not name.islower() or name in own:
            continue
        names = [list(inspect.signature(f).parameters) for f in (mine, other)]
        shared = [n for n in names[1] if n in names[0]]
        assert names[0] == shared, name
        assert names[1][: len(shared)] == shared or "nesterov" in names[1], name


def path(o, m, np, optimizer, slope, steps):
    """The steps of a minimisation, whose line search asks for the function itself."""
    loss = lambda p: (1.0 - p["x"]) ** 2 + 5.0 * np.sum((p["y"] - p["x"] ** 2) ** 2)
    p = {"x": np.asarray(-1.0), "y": np.asarray([1.5, 0.3])}
    state, found = optimizer.init(p), []
    slope = slope(loss)
    for _ in range(steps):
        value, g = slope(p, state)
        updates, state = optimizer.update(g, state, p, value=value, grad=g, value_fn=loss)
        p = o.apply_updates(p, updates)
        found.append((p, o.global_norm(p)))
    return found


def test_backtracking_line_search_like_optax():
    optax = pytest.importorskip("optax")
    import jax

    found = []
    with jax.enable_x64(True):
        for o, m, np in ((fg.optim, fg, numpy), (optax, jax, jax.numpy)):
            search = o.scale_by_backtracking_linesearch(max_backtracking_steps=20)
            slope = lambda f, m=m: lambda p, state: m.value_and_grad(f)(p)
            found.append(path(o, m, np, o.chain(o.sgd(0.3), search), slope, 5))
        agree(*found, rtol=1e-6, atol=1e-9)


BACKTRACKING = [
    {"decrease_factor": 0.5, "slope_rtol": 0.3},
    {"max_backtracking_steps": 1},  # which finds none: the last length that was tried is taken
    {"max_backtracking_steps": 1, "atol": 2.0},
    {"max_backtracking_steps": 2, "rtol": 0.5, "increase_factor": 1.0},
    {"max_learning_rate": 3.0, "store_grad": True},
]


@pytest.mark.parametrize("options", BACKTRACKING, ids=str)
def test_backtracking_with_options_like_optax(options):
    optax = pytest.importorskip("optax")
    import jax

    options = {"max_backtracking_steps": 20, **options}
    found = []
    with jax.enable_x64(True):
        for o, m, np in ((fg.optim, fg, numpy), (optax, jax, jax.numpy)):
            search = o.scale_by_backtracking_linesearch(**options)
            if options.get("store_grad"):
                slope = lambda f, o=o: lambda p, s: o.value_and_grad_from_state(f)(p, state=s)
            else:
                slope = lambda f, m=m: lambda p, state: m.value_and_grad(f)(p)
            found.append(path(o, m, np, o.chain(o.sgd(0.3), search), slope, 5))
        agree(*found, rtol=1e-6, atol=1e-9)


def test_a_search_that_meets_no_number_like_optax():
    optax = pytest.importorskip("optax")
    import jax

    found = []
    with jax.enable_x64(True):
        for o, np in ((fg.optim, numpy), (optax, jax.numpy)):
            search = o.scale_by_backtracking_linesearch(3)
            given = {"value": 1.0, "grad": np.asarray(1.0), "value_fn": lambda x: x * np.nan}
            x = np.asarray(2.0)
            updates, state = search.update(-x, search.init(x), x, **given)
            found.append((updates, state.learning_rate))
        agree(*found)


# functions to be minimised, and where from; the last one ends where values differ by rounding
FUNCTIONS = {
    "rosenbrock": (
        lambda np: lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2),
        [-1.2, 1.0, 0.3, -0.5]),
    "zakharov": (
        lambda np: lambda x: np.sum(x**2) + np.sum(x * np.arange(1.0, 4.0)) ** 4, [5.0, -7.0, 3.0]),
    "himmelblau": (
        lambda np: lambda x: (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2,
        [0.1, -4.0]),
    "beale": (
        lambda np: lambda x: (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2
        + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2, [1.0, 0.8]),
    "steep": (lambda np: lambda x: np.sum(np.exp(4.0 * x) - 20.0 * x), [1.5, -2.0]),
    "a pole": (lambda np: lambda x: np.sum(x - np.log(x)), [0.02, 7.0]),
    "quartic": (lambda np: lambda x: np.sum((x - 1.0) ** 4) + 1e3, [3.0, -1.0]),
}  # fmt: skip
SEARCHES = {
    "lbfgs": lambda o: o.lbfgs(),
    "kept": lambda o: o.lbfgs(linesearch=o.scale_by_zoom_linesearch(15)),
    "downhill": lambda o: o.chain(
        o.sgd(1.0),
        o.scale_by_zoom_linesearch(12, max_learning_rate=0.7, increase_factor=1.5, curv_rtol=0.1),
    ),
    "armijo": lambda o: o.chain(
        o.sgd(0.01), o.scale_by_zoom_linesearch(9, approx_dec_rtol=None, tol=1e-3)
    ),
}


def lengths(o, m, array, f, optimizer, x):
    """The points and the lengths of the steps of a minimisation."""
    x, found = array(x), []
    state, both = optimizer.init(x), o.value_and_grad_from_state(f)

    def step(x, state):
        value, g = both(x, state=state)
        updates, state = optimizer.update(g, state, x, value=value, grad=g, value_fn=f)
        return o.apply_updates(x, updates), state

    step = m.jit(step) if m is not fg else step
    for _ in range(10):
        x, state = step(x, state)
        found.append((numpy.asarray(x), float(state[-1].learning_rate), float(state[-1].value)))
    return found


@pytest.mark.parametrize(
    ("name", "search"),
    [*((name, "lbfgs") for name in FUNCTIONS), ("beale", "kept"), ("steep", "downhill"),
     ("quartic", "armijo")],
)  # fmt: skip
def test_the_path_of_a_line_search_is_that_of_optax(name, search):
    optax = pytest.importorskip("optax")
    import jax

    make, x = FUNCTIONS[name]
    with jax.enable_x64(True):
        ours, theirs = (
            lengths(o, m, np.asarray, make(np), SEARCHES[search](o), x)
            for o, m, np in ((fg.optim, fg, numpy), (optax, jax, jax.numpy))
        )
    near = [k for k, (_, _, v) in enumerate(theirs) if abs(v - theirs[-1][2]) <= 1e-9 * abs(v)]
    ours, theirs = ours[: near[0]], theirs[: near[0]]  # before values differ by rounding alone
    for (x, t, value), (y, u, other) in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose([t, value], [u, other], rtol=1e-6, atol=1e-12)
        numpy.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-9)


SCHEDULES = """
o.constant_schedule(0.3)
o.linear_schedule(1.0, 0.1, 10)
o.linear_schedule(1.0, 0.1, 10, transition_begin=4)
o.polynomial_schedule(1.0, 0.1, 3.0, 12, 2)
o.exponential_decay(1.0, 5, 0.7)
o.exponential_decay(1.0, 5, 0.7, transition_begin=3, staircase=True, end_value=0.4)
o.exponential_decay(1.0, 5, 1.3, end_value=2.0)
o.cosine_decay_schedule(1.0, 12)
o.cosine_decay_schedule(1.0, 12, alpha=0.2, exponent=2.0)
o.piecewise_constant_schedule(1.0, {3: 0.5, 9: 0.1})
o.warmup_constant_schedule(0.1, 1.0, 6)
o.warmup_cosine_decay_schedule(0.1, 1.0, 5, 15, 0.2)
o.warmup_exponential_decay_schedule(0.1, 1.0, 5, 4, 0.6, end_value=0.3)
o.join_schedules([o.linear_schedule(0.0, 1.0, 4), o.constant_schedule(2.0), abs], [4, 9])
""".strip().split("\n")


@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules_like_optax(text):
    optax = pytest.importorskip("optax")
    import jax

    with jax.enable_x64(True):
        ours, theirs = (eval(text, {"o": o}) for o in (fg.optim, optax))
        for count in range(0, 20, 2):
            want = float(theirs(count))
            numpy.testing.assert_allclose(float(ours(count)), want, rtol=1e-12)
            numpy.testing.assert_allclose(fg.jit(lambda k: ours(k) + 0.0)(count), want, rtol=1e-12)
