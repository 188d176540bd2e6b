"""Backward passes that were written out give the bits of the general pass, whatever happens."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.torch import backward_engine, prepared_passes

from .both import same, theirs

ROWS, WIDTH = 160, 128  # so that elementwise operations have native code, and products


@pytest.fixture(autouse=True)
def soon(monkeypatch: Any) -> None:
    """Passes are written out after few times, and what is known of others is forgotten."""
    monkeypatch.setattr(prepared_passes, "_known", {})
    monkeypatch.setattr(prepared_passes, "OFTEN", (2, 5, 9))
    monkeypatch.setattr(prepared_passes, "TRIALS", 1)


def followed() -> list[int]:
    """How many trials each of the passes that are known has left."""
    return [p.trials for known in prepared_passes._known.values() for p in known.passes]


# ------------------------------------------------------------------------ random programs


class Program:
    """A random graph of operations that have native code and others, the same in each library."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = self.random.choice(["float32", "float64"])
        self.steps = [self.step(k) for k in range(int(self.random.integers(2, 9)))]
        self.loss = self.random.choice(["cross", "square", "mean", "given"])

    def step(self, k: int) -> tuple[Any, ...]:
        kinds = ["linear", "linear", "relu", "gelu", "softmax", "log_softmax", "tanh", "matmul",
                 "add", "twice", "scale", "times", "constant", "turn", "reshape", "tied", "narrow",
                 "silu"]  # fmt: skip
        return str(self.random.choice(kinds)), int(self.random.integers(k + 1))

    def parameters(self, lib: Any) -> list[Any]:
        made = np.random.default_rng(1)
        shapes = [(WIDTH, WIDTH), (WIDTH,), (WIDTH, WIDTH), (ROWS, WIDTH), (10, WIDTH), (10,)]
        arrays = [made.normal(0, 0.1, s).astype(self.dtype) for s in shapes]
        return [lib.from_numpy(a.copy()).requires_grad_() for a in arrays]

    def inputs(self, lib: Any, k: int, rows: int) -> tuple[Any, Any]:
        made = np.random.default_rng(k)
        x = made.normal(size=(rows, WIDTH)).astype(self.dtype)
        return lib.from_numpy(x), lib.from_numpy(made.integers(0, 10, rows))

    def run(self, lib: Any, ps: list[Any], x: Any, y: Any) -> tuple[Any, list[Any]]:
        f = lib.nn.functional
        w, b, m, c, head, end = ps
        rows = x.shape[0]
        xs = [x]
        for kind, which in self.steps:
            z = xs[which]
            xs.append(
                {
                    "linear": lambda z: f.linear(z, w, b),
                    "relu": lambda z: f.relu(z),
                    "gelu": lambda z: f.gelu(z),
                    "silu": lambda z: f.silu(z),
                    "softmax": lambda z: f.softmax(z, 1),
                    "log_softmax": lambda z: f.log_softmax(z, -1),
                    "tanh": lambda z: z.tanh(),
                    "matmul": lambda z: z @ m,
                    "add": lambda z: z + xs[-1],
                    "twice": lambda z: z + z,
                    "scale": lambda z: z * 0.5,
                    "times": lambda z: z * c[:rows],
                    "constant": lambda z: z * x,
                    "turn": lambda z: (z.t() @ z).t() @ m if rows == WIDTH else f.relu(z),
                    "reshape": lambda z: z.reshape(-1, 2, WIDTH // 2).reshape(rows, WIDTH),
                    "tied": lambda z: f.linear(f.relu(z), m, b),
                    "narrow": lambda z: z[:, : WIDTH // 2].repeat(1, 2),
                }[kind](z)
            )
        out = xs[-1]
        if self.loss == "cross":
            return f.cross_entropy(f.linear(out, head, end), y), xs
        if self.loss == "square":
            return (f.linear(out, head, end) ** 2).sum(), xs
        if self.loss == "mean":
            return out.mean() + f.mse_loss(out, x), xs
        return out, xs


def history(program: Program, lib: Any, steps: int, seed: int) -> list[Any]:
    """What steps with random events leave in the gradients, and what they raise."""
    random = np.random.default_rng(seed)
    ps = program.parameters(lib)
    said: list[Any] = []
    for k in range(steps):
        event = random.choice(["", "", "", "", "hook", "retain", "again", "write", "freed", "keep",
                               "rows", "frozen", "leaf hook", "node hook", "anomaly", "twice",
                               "input", "grad", "inputs"])  # fmt: skip
        rows = WIDTH if event == "rows" else ROWS
        if event != "keep":
            for p in ps:
                p.grad = None
        which = ps[int(random.integers(6))]
        which.requires_grad_(event != "frozen")
        x, y = program.inputs(lib, k % 7, rows)
        if event == "input":
            x.requires_grad_()
        handle = None
        try:
            loss, xs = program.run(lib, ps, x, y)
            inner = xs[len(xs) // 2]
            if not inner.requires_grad:
                inner = which
            if event == "hook":
                inner.register_hook(lambda g: said.append(as_array(g)) or g * 2)
            if event == "retain" and inner is not which:
                inner.retain_grad()
            if event == "leaf hook":
                handle = which.register_hook(lambda g: g * 3)
            if event == "node hook" and inner.grad_fn is not None:
                inner.grad_fn.register_hook(lambda *_: said.append("node"))
            if event == "write":
                with lib.no_grad():
                    which.mul_(1.0)
            given = None if loss.ndim == 0 else lib.ones_like(loss)
            if event == "grad":
                said += map(as_array, lib.autograd.grad(loss, ps, given, allow_unused=True))
            elif event == "inputs":
                loss.backward(given, inputs=[which])
            elif event == "anomaly":
                with lib.autograd.detect_anomaly(check_nan=False):
                    loss.backward(given)
            else:
                loss.backward(given, retain_graph=event in ("again", "twice"))
            if event == "again":
                loss.backward(given)
            if event == "twice":
                loss.backward(given, retain_graph=True)
                said += map(as_array, (p.grad for p in ps))
            if event == "freed":
                loss.backward(given)
            if event == "retain" and inner is not which:
                said.append(as_array(inner.grad))
            if event == "input":
                said.append(as_array(x.grad))
        except RuntimeError as error:
            said.append(str(error)[:60])
        if handle is not None:
            handle.remove()
        which.requires_grad_()
        said += map(as_array, (p.grad for p in ps))
    return said


def as_array(x: Any) -> Any:
    return None if x is None else np.array(x.detach().numpy())


def alike(xs: list[Any], ys: list[Any], exact: bool) -> None:
    assert len(xs) == len(ys)
    for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if x is None or y is None or isinstance(x, str):
            assert type(x) is type(y) and (isinstance(x, np.ndarray) or x == y), (k, x, y)
        elif exact:
            assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes(), k
        else:
            tolerance = 2e-3 if x.dtype == np.float32 else 1e-8
            scale = max(1.0, float(np.abs(y).max(initial=0)))
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


def check(seed: int, monkeypatch: Any, steps: int = 40) -> list[int]:
    found = history(Program(seed), torch, steps, seed)
    left = followed()
    with monkeypatch.context() as patch:
        patch.setattr(backward_engine.prepared_passes, "follow", lambda *_: None)
        patch.setattr(backward_engine.prepared_passes, "compare", lambda *_: None)
        alike(found, history(Program(seed), torch, steps, seed), True)
    if theirs is not None:
        alike(found, history(Program(seed), theirs, steps, seed), False)
    return left


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_with_events(seed: int, monkeypatch: Any) -> None:
    check(seed, monkeypatch)


# ------------------------------------------------------------------------------ single cases


def layers(lib: Any, seed: int = 0) -> list[Any]:
    made = np.random.default_rng(seed)
    shapes = [(WIDTH, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,)]
    return [
        lib.from_numpy(made.normal(0, 0.1, s).astype(np.float32)).requires_grad_() for s in shapes
    ]


def two_layers(ps: list[Any], x: Any) -> Any:
    f = torch.nn.functional
    return f.linear(f.relu(f.linear(x, ps[0], ps[1])), ps[2], ps[3])


def rows(seed: int = 0, count: int = ROWS) -> Any:
    made = np.random.default_rng(seed)
    return torch.from_numpy(made.normal(size=(count, WIDTH)).astype(np.float32))


def gradients(ps: list[Any], x: Any) -> list[bytes]:
    for p in ps:
        p.grad = None
    two_layers(ps, x).square().sum().backward()
    return [p.grad.numpy().tobytes() for p in ps]


def hits(monkeypatch: Any) -> list[bool]:
    """Whether each of the passes that come followed one that was written out."""
    found: list[bool] = []
    follow = prepared_passes.follow

    def noting(*args: Any) -> Any:
        known = follow(*args)
        found.append(known is not None)
        return known

    monkeypatch.setattr(prepared_passes, "follow", noting)
    return found


def test_bits_stay_from_the_first_pass_to_the_hundredth(monkeypatch: Any) -> None:
    ps, x, used = layers(torch), rows(), hits(monkeypatch)
    first = gradients(ps, x)
    assert all(gradients(ps, x) == first for _ in range(100))
    assert not used[0] and all(used[-20:])


def test_gradients_that_are_there_are_added_to_in_place(monkeypatch: Any) -> None:
    ps, x, used = layers(torch), rows(), hits(monkeypatch)
    for _ in range(20):
        gradients(ps, x)
    kept = [(p.grad, p.grad.detach(), p.grad.numpy().copy()) for p in ps]
    two_layers(ps, x).square().sum().backward()
    assert used[-1]
    for p, (grad, view, before) in zip(ps, kept, strict=True):
        assert p.grad is grad
        np.testing.assert_array_equal(view.numpy(), before + before)


def test_gradients_of_two_passes_are_apart(monkeypatch: Any) -> None:
    ps, x, used = layers(torch), rows(), hits(monkeypatch)
    for _ in range(20):
        gradients(ps, x)
    one = [p.grad for p in ps]
    values = [g.numpy().copy() for g in one]
    gradients(ps, rows(1))
    assert used[-1]
    for g, v in zip(one, values, strict=True):
        np.testing.assert_array_equal(g.numpy(), v)


def test_another_size_and_another_graph_of_the_same_classes(monkeypatch: Any) -> None:
    ps, used = layers(torch), hits(monkeypatch)
    expected = {n: gradients(ps, rows(0, n)) for n in (ROWS, WIDTH, 2 * WIDTH)}
    for _ in range(40):  # recipes come after 16 calls, and make other nodes
        for n, want in expected.items():
            assert gradients(ps, rows(0, n)) == want
    assert all(used[-30:])

    def tied() -> list[Any]:
        for p in ps:
            p.grad = None
        two_layers([ps[0], ps[1], ps[0], ps[1]], rows()).square().sum().backward()
        return [None if p.grad is None else p.grad.numpy().tobytes() for p in ps]

    want = tied()
    assert want[2:] == [None, None]
    assert all(tied() == want for _ in range(20))


def test_constants_that_were_one_and_are_two() -> None:
    x, y = (rows(k).requires_grad_() for k in (1, 2))
    f = torch.nn.functional

    def run(a: Any, b: Any) -> list[Any]:
        x.grad = y.grad = None
        (f.silu(x * a) + f.silu(y * b)).square().sum().backward()
        return [x.grad.numpy().tobytes(), y.grad.numpy().tobytes()]

    one, two = rows(3), rows(4)
    fresh, other = run(one, two), run(two, one)
    for _ in range(20):
        run(one, one)
    assert run(one, two) == fresh
    assert run(two, one) == other


def test_a_cotangent_that_is_an_operand() -> None:
    x, w = rows(1, WIDTH), layers(torch)[0]

    def run(g: Any) -> bytes:
        w.grad = None
        (torch.nn.functional.silu(x @ w) @ x).backward(g)
        return w.grad.numpy().tobytes()

    apart, own = run(rows(2, WIDTH)), run(x)
    for _ in range(20):
        assert run(x) == own
    for _ in range(20):
        assert run(rows(2, WIDTH)) == apart


def test_a_product_that_becomes_a_square() -> None:
    x, y = (rows(k).requires_grad_() for k in (1, 2))
    f = torch.nn.functional

    def run(a: Any, b: Any) -> list[Any]:
        x.grad = y.grad = None
        (f.silu(a) * f.silu(b)).square().sum().backward()
        return [None if z.grad is None else z.grad.numpy().tobytes() for z in (x, y)]

    square, product = run(x, x), run(x, y)
    for _ in range(20):
        assert run(x, y) == product
    assert run(x, x) == square


def test_a_graph_that_was_given_back_is_refused() -> None:
    ps, x = layers(torch), rows()
    for _ in range(20):
        gradients(ps, x)
    loss = two_layers(ps, x).square().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_what_was_written_since_is_refused() -> None:
    ps, x = layers(torch), rows()
    for _ in range(20):
        gradients(ps, x)
    loss = two_layers(ps, x).square().sum()
    with torch.no_grad():
        ps[2].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_no_tensor_is_kept_alive() -> None:
    import gc
    import weakref

    ps, x = layers(torch), rows()
    for _ in range(20):
        gradients(ps, x)
    known = [weakref.ref(p._t.node) for p in ps] + [weakref.ref(p.grad._t.value) for p in ps]
    del ps
    gc.collect()
    assert [r() for r in known] == [None] * 8


def test_threads_share_leaves() -> None:
    ps, x = layers(torch), rows()
    for _ in range(20):
        gradients(ps, x)
    for p in ps:
        p.grad = None
    ones = rows() * 0 + 1

    def work() -> None:
        for _ in range(20):
            two_layers(ps, ones).sum().backward()

    gathered = [threading.Thread(target=work) for _ in range(4)]
    for t in gathered:
        t.start()
    for t in gathered:
        t.join()
    assert ps[3].grad.tolist() == [80.0 * ROWS] * WIDTH


def test_a_step_beside_pytorch() -> None:
    def program(torch: Any, say: Any) -> None:
        ps = layers(torch)
        f = torch.nn.functional
        x = torch.from_numpy(np.ones((ROWS, WIDTH), np.float32))
        for k in range(30):
            if k % 5:
                for p in ps:
                    p.grad = None
            h = f.relu(f.linear(x, ps[0], ps[1]))
            if k % 7 == 6:
                h.register_hook(lambda g: say("seen", tuple(g.shape)))
            y = f.linear(h, ps[2], ps[3])
            y.square().mean().backward(retain_graph=k % 3 == 0)
            say(k, [round(float(p.grad.abs().mean()), 5) for p in ps], y.grad_fn)

    def told(torch: Any, say: Any) -> None:
        program(torch, lambda *things: say(str(things).split(" object at")[0]))

    same(told)


def test_passes_to_some_of_the_leaves_are_general_ones(monkeypatch: Any) -> None:
    ps, x, used = layers(torch), rows(), hits(monkeypatch)
    whole = gradients(ps, x)
    for _ in range(20):
        for k, p in enumerate(ps):
            p.grad = None
            two_layers(ps, x).square().sum().backward(inputs=[p])
            assert p.grad.numpy().tobytes() == whole[k]
    assert not any(used)
    assert all(gradients(ps, x) == whole for _ in range(20))
    assert used[-1]
