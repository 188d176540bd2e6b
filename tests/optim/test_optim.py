"""Functional optimisers: the facade's steps, trees, transforms, states, line searches, errors."""

import pickle

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad import optim
from funcgrad.kernels.update_rules import OTHER_RULES, RULES

RNG = np.random.default_rng(0)
GRADIENTS = [RNG.normal(size=5) for _ in range(6)]
START = RNG.normal(size=5)


def steps(optimizer, start=START, gradients=GRADIENTS):
    params, state = start, optimizer.init(start)
    for g in gradients:
        updates, state = optimizer.update(g, state, params)
        params = optim.apply_updates(params, updates)
    return params


def facade_steps(make):
    p = torch.tensor(START.copy(), requires_grad=True)
    optimizer = make([p])
    for g in GRADIENTS:
        p.grad = torch.tensor(g.copy())
        optimizer.step()
    return p.detach().numpy()


SAME = {
    "sgd": (optim.sgd(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "momentum": (optim.sgd(0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, 0.9)),
    "nesterov": (optim.sgd(0.1, 0.9, nesterov=True),
                 lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True)),
    "adam": (optim.adam(0.1, eps=1e-3), lambda p: torch.optim.Adam(p, 0.1, eps=1e-3)),
    "adamw": (optim.adamw(0.1, weight_decay=0.2),
              lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.2)),
    "adamax": (optim.adamax(0.1), lambda p: torch.optim.Adamax(p, 0.1)),
    "adadelta": (optim.adadelta(0.5), lambda p: torch.optim.Adadelta(p, 0.5)),
    "rmsprop": (optim.rmsprop(0.1, 0.99, eps_in_sqrt=False),
                lambda p: torch.optim.RMSprop(p, 0.1)),
    "centered": (optim.rmsprop(0.1, 0.99, eps_in_sqrt=False, centered=True),
                 lambda p: torch.optim.RMSprop(p, 0.1, centered=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_steps_are_those_of_the_facade(name):
    ours, make = SAME[name]
    np.testing.assert_allclose(steps(ours), facade_steps(make), rtol=1e-12)


def test_each_rule_is_stated_once():
    """No optimiser has a formula of its own: without the rules there is none."""
    assert not {*RULES} & {*OTHER_RULES}
    for name in ("adam", "nadam", "radam", "adamax", "momentum", "nesterov", "adadelta"):
        assert name in RULES
    assert {*OTHER_RULES} == {
        "lion", "lion_smooth", "lion_refined", "adam_rooted", "adagrad_under_root",
        "rmsprop_under_root", "rmsprop_centered_under_root",
        "rmsprop_corrected", "rmsprop_centered_corrected",
    }  # fmt: skip


EVERY = {
    "sgd": optim.sgd(0.1, 0.9),
    "adam": optim.adam(0.1),
    "adamw": optim.adamw(0.1),
    "nadam": optim.nadam(0.1),
    "nadamw": optim.nadamw(0.1),
    "adamax": optim.adamax(0.1),
    "radam": optim.radam(0.1),
    "rmsprop": optim.rmsprop(0.1, momentum=0.5),
    "rmsprop centered": optim.rmsprop(0.1, centered=True, initial_scale=0.5),
    "adagrad": optim.adagrad(0.1),
    "adadelta": optim.adadelta(1.0),
    "lion": optim.lion(0.1),
    "clipped": optim.chain(optim.clip(0.5), optim.clip_by_global_norm(1.0), optim.adam(0.1)),
    "scheduled": optim.adam(optim.warmup_cosine_decay_schedule(0.0, 0.1, 2, 6)),
    "masked": optim.masked(optim.adam(0.1), {"w": True, "b": False}),
    "labelled": optim.multi_transform(
        {"a": optim.adam(0.1), "s": optim.sgd(0.1)}, {"w": "a", "b": "s"}
    ),
}
PARAMS = {"w": np.array([[0.5, -1.0, 2.0]]), "b": 0.3}


def loss(p):
    return np.sum((p["w"] - 1.0) ** 2) + (p["b"] + 2.0) ** 2


@pytest.mark.parametrize("name", EVERY)
def test_a_step_is_jitted_mapped_and_differentiated(name):
    optimizer = EVERY[name]

    def step(params, state):
        updates, state = optimizer.update(fg.grad(loss)(params), state, params)
        return optim.apply_updates(params, updates), state

    def run(params, step=step):
        state = optimizer.init(params)
        for _ in range(3):
            params, state = step(params, state)
        return params, state

    params, state = run(PARAMS)
    found, compiled = run(PARAMS, fg.jit(step))
    for a, b in zip(
        fg.tree.leaves((found, compiled)), fg.tree.leaves((params, state)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.shape(a) == np.shape(b)
    assert fg.tree.structure(compiled) == fg.tree.structure(optimizer.init(PARAMS))
    many = fg.tree.map(lambda x: np.stack([x, np.multiply(x, 0.5)]), PARAMS)
    rows, _ = fg.vmap(run)(many)
    for a, b in zip(fg.tree.leaves(rows), fg.tree.leaves(params), strict=True):
        np.testing.assert_allclose(a[0], b, rtol=1e-12)
    after = lambda s: loss(run(fg.tree.map(lambda x: x * s, PARAMS))[0])
    slope = (after(1.0 + 1e-6) - after(1.0 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.grad(after)(1.0), slope, rtol=1e-5, atol=1e-7)
    again = pickle.loads(pickle.dumps(state))
    assert fg.tree.structure(again) == fg.tree.structure(state)
    for a, b in zip(fg.tree.leaves(step(params, again)), fg.tree.leaves(step(params, state)),
                    strict=True):  # fmt: skip
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", sorted({*EVERY} - {"masked", "labelled"}))
def test_dtypes_stay(name):
    start = START.astype(np.float32)
    for given in (steps(EVERY[name], start, [g.astype(np.float32) for g in GRADIENTS[:2]]),):
        assert given.dtype == np.float32
    state = EVERY[name].init(start)
    g = GRADIENTS[0].astype(np.float32)
    for made in (EVERY[name].update(g, state, start), fg.jit(EVERY[name].update)(g, state, start)):
        assert {x.dtype for x in fg.tree.leaves(made) if np.ndim(x)} == {np.dtype(np.float32)}


def test_frozen_leaves_stay():
    optimizer = optim.multi_transform(
        {"train": optim.adam(0.1), "keep": optim.set_to_zero()},
        lambda p: {"w": "train", "b": "keep"},
    )
    state = optimizer.init(PARAMS)
    updates, _ = optimizer.update(fg.grad(loss)(PARAMS), state, PARAMS)
    assert updates["b"] == 0.0
    assert np.all(updates["w"] != 0.0)
    # what is not seen has no state
    assert (
        len(fg.tree.leaves(optim.masked(optim.adam(0.1), {"w": False, "b": True}).init(PARAMS)))
        == 3
    )


# ----------------------------------------------------------------------------- line searches


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


SEARCHES = {
    "zoom": (lambda: None, 60),
    "backtracking": (lambda: optim.scale_by_backtracking_linesearch(), 120),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_lbfgs_finds_a_minimum(name):
    make, count = SEARCHES[name]
    optimizer = optim.lbfgs(linesearch=make())
    x = np.array([1.3, 0.7, 0.8, 1.9])
    state = optimizer.init(x)
    both = fg.jit(fg.value_and_grad(rosenbrock))
    for _ in range(count):
        value, gradient = both(x)
        updates, state = optimizer.update(
            gradient, state, x, value=value, grad=gradient, value_fn=rosenbrock
        )
        x = optim.apply_updates(x, updates)
    np.testing.assert_allclose(x, 1.0, atol=1e-6)
    assert pickle.loads(pickle.dumps(state))[0].count == count


def step_of(optimizer):
    def step(x, state):
        value, gradient = fg.value_and_grad(rosenbrock)(x)
        updates, state = optimizer.update(
            gradient, state, x, value=value, grad=gradient, value_fn=rosenbrock
        )
        return optim.apply_updates(x, updates), state

    return step


@pytest.mark.parametrize("name", SEARCHES)
def test_a_line_search_is_jitted_and_mapped(name):
    optimizer = optim.lbfgs(linesearch=SEARCHES[name][0](), memory_size=4)
    step = step_of(optimizer)
    starts = np.array([[-1.2, 1.0], [0.5, 2.0]])
    want = [(x, optimizer.init(x)) for x in starts]
    got = want[0]
    lanes = starts, fg.vmap(optimizer.init)(starts)
    jitted, mapped = fg.jit(step), fg.jit(fg.vmap(step))
    for _ in range(5):
        want, got, lanes = [step(*w) for w in want], jitted(*got), mapped(*lanes)
    np.testing.assert_allclose(got[0], want[0][0], rtol=1e-9)
    np.testing.assert_allclose(lanes[0], [x for x, _ in want], rtol=1e-9)


def test_a_line_search_leaves_a_function_s_domain_and_comes_back():
    optimizer = optim.chain(optim.scale(-1.0), optim.scale_by_zoom_linesearch())

    def f(x):
        return np.where(x < 2.0, -x - np.log(np.maximum(2.0 - x, 1e-300)), np.nan)

    x, state = 0.5, optimizer.init(0.5)
    value, gradient = fg.value_and_grad(f)(x)
    updates, state = optimizer.update(
        50.0 * gradient, state, x, value=value, grad=gradient, value_fn=f
    )
    assert np.isfinite(state[-1].value)
    assert state[-1].value < value


def test_what_a_search_knows_is_not_computed_again():
    calls = []

    def f(x):
        calls.append(1)
        return rosenbrock(x)

    optimizer, x = optim.lbfgs(), np.array([-1.2, 1.0])
    state = optimizer.init(x)
    both = optim.value_and_grad_from_state(f)
    value, gradient = both(x, state=state)
    assert len(calls) == 1
    updates, state = optimizer.update(gradient, state, x, value=value, grad=gradient, value_fn=f)
    x = optim.apply_updates(x, updates)
    calls.clear()
    value, gradient = both(x, state=state)
    assert not calls
    np.testing.assert_allclose(gradient, fg.grad(rosenbrock)(x), rtol=1e-12)


# ------------------------------------------------------------------------------------ errors

WRONG = {
    "no parameters": (lambda: optim.adamw(0.1).update(1.0, optim.adamw(0.1).init(1.0)),
                      "needs the parameters"),
    "another state": (lambda: optim.chain(optim.sgd(1.0), optim.sgd(1.0)).update(1.0, ()),
                      "the state is of 0 transformations, not of 2"),
    "no label": (lambda: optim.multi_transform({"a": optim.sgd(1.0)}, {"w": "b"}).init({"w": 1.0}),
                 "no transformation of the label 'b', only of 'a'"),
    "no function": (lambda: optim.lbfgs().update(1.0, optim.lbfgs().init(1.0), 1.0),
                    "a line search needs the function"),
    "another guess": (lambda: optim.scale_by_zoom_linesearch(initial_guess_strategy="two"),
                      "initial_guess_strategy is 'keep' or 'one', not 'two'"),
    "no memory": (lambda: optim.lbfgs(memory_size=0), "memory_size is positive, not 0"),
    "boundaries": (lambda: optim.join_schedules([abs], [3]), "have 0 boundaries, not 1"),
    "decay steps": (lambda: optim.cosine_decay_schedule(1.0, 0), "decay_steps is positive, not 0"),
    "another tree": (lambda: optim.adam(0.1).update({"a": 1.0}, optim.adam(0.1).init([1.0])),
                     "do not match"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_are_named(name):
    call, text = WRONG[name]
    with pytest.raises(ValueError, match=text) as info:
        call()
    assert __file__ in str(info.value)


@pytest.mark.parametrize("made", [lambda f: f, fg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("search", ["scale_by_backtracking_linesearch", "scale_by_zoom_linesearch"])
def test_a_verbose_search_tells_what_it_has_not_found(search, made, capsys):
    search = getattr(fg.optim, search)(3, verbose=True)

    def step(x, f):
        value, g = fg.value_and_grad(f)(x)
        return search.update(-g, search.init(x), x, value=value, grad=g, value_fn=f)[0]

    made(lambda x: step(x, lambda v: (v - 1.0) ** 2))(0.8)
    assert capsys.readouterr().out == ""
    made(lambda x: step(x, lambda v: np.abs(v) * 1e3 + np.sin(1e6 * v) ** 2))(1e-9)
    assert "the line search has found no length" in capsys.readouterr().out


def test_an_unknown_mode_of_lion():
    with pytest.raises(ValueError, match=r"mode is one of .*'soft'"):
        fg.optim.scale_by_lion(mode="soft")
