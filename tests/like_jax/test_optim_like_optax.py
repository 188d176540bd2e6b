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


def test_lbfgs_arrives_at_the_minimum():
    """Its line search is another one (Nocedal and Wright's zoom), so the path is not the same."""
    pytest.importorskip("jax")  # with which trees are compared
    o = fg.optim
    slope = lambda f: lambda p, state: o.value_and_grad_from_state(f)(p, state=state)
    for search in (None, o.scale_by_zoom_linesearch(15)):
        optimizer = o.lbfgs() if search is None else o.lbfgs(linesearch=search)
        last = path(o, fg, numpy, optimizer, slope, 40)[-1][0]
        agree(last, {"x": numpy.asarray(1.0), "y": numpy.ones(2)}, rtol=1e-6)


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
