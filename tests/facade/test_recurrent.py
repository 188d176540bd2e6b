"""Recurrent layers beside PyTorch: values, gradients, packed sequences, and refusals."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch import recurrent_steps

from .both import same, theirs

LAYERS = [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {}),
    ("LSTM", {"proj_size": 2}),
]  # fmt: skip
OPTIONS = [
    {}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True},
    {"bias": False}, {"batch_first": True},
]  # fmt: skip


def build(torch, kind, options, dtype="float64"):
    """A layer with weights that both libraries share."""
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, dtype=getattr(torch, dtype), **options)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.tensor(rng.normal(size=tuple(p.shape)) / 2))
    return layer


def numbers_of(torch, kind, options, given, packed, dtype):
    layer = build(torch, kind, options, dtype)
    rng = np.random.default_rng(1)
    own = getattr(torch, dtype)
    x = torch.tensor(rng.normal(size=(5, 5, 3)), dtype=own).requires_grad_()
    state = None
    if given:
        lines = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        sizes = [options.get("proj_size", 0) or 4] + [4] * (kind == "LSTM")
        state = [
            torch.tensor(rng.normal(size=(lines, 5, n)), dtype=own).requires_grad_() for n in sizes
        ]
    hx = None if state is None else (tuple(state) if kind == "LSTM" else state[0])
    rnn = torch.nn.utils.rnn
    if packed:
        first = options.get("batch_first", False)
        y, last = layer(
            rnn.pack_padded_sequence(x, [3, 5, 1, 3, 2], first, enforce_sorted=False), hx
        )
        y = rnn.pad_packed_sequence(y, first)[0]
    else:
        y, last = layer(x, hx)
    outs = [y, *(last if isinstance(last, tuple) else [last])]
    loss = sum((o * o * (1 + k)).sum() for k, o in enumerate(outs))
    inputs = [x, *(state or []), *layer.parameters()]
    grads = torch.autograd.grad(loss, inputs, create_graph=True)
    (second,) = torch.autograd.grad(sum((g * g).sum() for g in grads), [x])
    return [v.detach().numpy() for v in (*outs, *grads, second)]


def agree(kind, options, given, packed, dtype="float64"):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected = numbers_of(theirs, kind, options, given, packed, dtype)
    got = numbers_of(ours, kind, options, given, packed, dtype)
    tolerance = 1e-10 if dtype == "float64" else 3e-4
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "more"), LAYERS, ids=str)
def test_values_and_gradients_of_both_orders(kind, more, options, given, packed):
    agree(kind, {**options, **more}, given, packed)


@pytest.mark.parametrize(("kind", "more"), LAYERS, ids=str)
def test_single_precision(kind, more):
    agree(kind, more, True, False, "float32")


def first_weights(torch, say):
    for kind, more in LAYERS:
        torch.manual_seed(3)
        layer = getattr(torch.nn, kind)(2, 3, num_layers=2, bidirectional=True, **more)
        say(layer, [(n, tuple(p.shape)) for n, p in layer.named_parameters()])
        say(layer.weight_hh_l1_reverse, len(layer.all_weights))
    for kind in ("RNNCell", "LSTMCell", "GRUCell"):
        say(getattr(torch.nn, kind)(2, 3), getattr(torch.nn, kind)(2, 3, bias=False))
        say(getattr(torch.nn, kind)(2, 3).weight_ih)


def cells(torch, say):
    for kind in ("RNNCell", "LSTMCell", "GRUCell"):
        torch.manual_seed(4)
        cell = getattr(torch.nn, kind)(2, 3)
        x, h = torch.randn(4, 2), torch.randn(4, 3)
        state = (h, h * 2) if kind == "LSTMCell" else h
        for out in (cell(x), cell(x, state), cell(x[0])):
            parts = out if isinstance(out, tuple) else (out,)
            say([[round(v, 4) for v in p.flatten().tolist()] for p in parts], parts[0].shape)
        cell.zero_grad()
        cell(x, state)[0].sum().backward()
        say([[round(v, 4) for v in p.grad.flatten().tolist()] for p in cell.parameters()])


def unbatched(torch, say):
    for kind, more in LAYERS:
        layer = build(torch, kind, more)
        y, last = layer(torch.arange(12.0, dtype=torch.float64).reshape(4, 3) / 10)
        parts = last if isinstance(last, tuple) else (last,)
        say(y.shape, [p.shape for p in parts], [round(v, 5) for v in y.flatten().tolist()])


def dropout_between(torch, say):
    layer = build(torch, "LSTM", {"num_layers": 2, "dropout": 0.5})
    x = torch.ones(3, 2, 3, dtype=torch.float64)
    torch.manual_seed(0)
    say([round(v, 5) for v in layer(x)[0].flatten().tolist()])
    layer.eval()
    say([round(v, 5) for v in layer(x)[0].flatten().tolist()])
    torch.nn.GRU(2, 3, dropout=0.5)


def packing(torch, say):
    rnn = torch.nn.utils.rnn
    x = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    packed = rnn.pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False)
    say(packed)
    say(rnn.pad_packed_sequence(packed, batch_first=True))
    say(rnn.pad_packed_sequence(packed, padding_value=-1, total_length=4))
    parts = [torch.arange(3.0), torch.arange(2.0), torch.arange(1.0)]
    say(rnn.pad_sequence(parts), rnn.pad_sequence(parts, True, 9.0, "left"))
    say(rnn.unpack_sequence(rnn.pack_sequence(parts)))
    say(rnn.unpad_sequence(rnn.pad_sequence(parts), torch.tensor([3, 2, 1])))
    say(rnn.pack_sequence(parts).double(), rnn.invert_permutation(torch.tensor([2, 0, 1])))
    for call in (
        lambda: rnn.pack_padded_sequence(x, [1, 2, 3], batch_first=True),
        lambda: rnn.pack_padded_sequence(x, [3, 2], batch_first=True),
        lambda: rnn.pack_padded_sequence(x, [3, 2, 0], batch_first=True),
        lambda: rnn.pad_packed_sequence(packed, total_length=2),
        lambda: rnn.pad_sequence(parts, padding_side="up"),
        lambda: rnn.pad_sequence(3),
    ):
        try:
            call()
        except (RuntimeError, ValueError) as error:
            say(type(error).__name__, error)


def refusals(torch, say):
    nn, x = torch.nn, torch.ones(5, 2, 3)
    for make in (
        lambda: nn.LSTM(3, 0), lambda: nn.LSTM(0, 3), lambda: nn.LSTM(3, 4, 0),
        lambda: nn.LSTM(3.0, 4), lambda: nn.GRU(3, 4, bias=1), lambda: nn.GRU(3, 4, dropout=2),
        lambda: nn.LSTM(3, 4, proj_size=4), lambda: nn.LSTM(3, 4, proj_size=-1),
        lambda: nn.GRU(3, 4, proj_size=2), lambda: nn.RNN(3, 4, nonlinearity="no"),
        lambda: nn.LSTM(3, 4)(torch.ones(5)), lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 2)),
        lambda: nn.LSTM(3, 4)(x.double()),
        lambda: nn.LSTM(3, 4)(x, (torch.ones(1, 2, 3), torch.ones(1, 2, 4))),
        lambda: nn.LSTM(3, 4)(x, (torch.ones(1, 2, 4), torch.ones(1, 3, 4))),
        lambda: nn.LSTM(3, 4)(x, (torch.ones(2, 4), torch.ones(2, 4))),
        lambda: nn.GRU(3, 4)(x, torch.ones(2, 2, 4)), lambda: nn.GRU(3, 4)(x, torch.ones(2, 4)),
        lambda: nn.GRU(3, 4)(x[0], torch.ones(1, 2, 4)),
        lambda: nn.RNNCell(3, 4)(x), lambda: nn.RNNCell(3, 4, nonlinearity="no")(x[0]),
        lambda: nn.GRUCell(3, 4)(x[0], x), lambda: nn.LSTMCell(3, 4)(x[0], (x, x)),
        lambda: nn.RNNCell(2, 4)(x[0]), lambda: nn.RNNCell(3, 4)(x[0], torch.ones(3, 4)),
        lambda: nn.RNNCell(3, 4)(x[0], torch.ones(2, 3)),
    ):  # fmt: skip
        try:
            make()
        except (RuntimeError, ValueError, TypeError) as error:
            say(type(error).__name__, error)


PROGRAMS = [first_weights, cells, unbatched, dropout_between, packing, refusals]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)


def test_copies_files_and_transforms(tmp_path):
    layer = build(ours, "LSTM", {"num_layers": 2})
    x = ours.ones(4, 2, 3, dtype=ours.float64)
    y = layer(x)[0]
    ours.testing.assert_close(copy.deepcopy(layer)(x)[0], y)
    ours.save(layer.state_dict(), tmp_path / "lstm.pt")
    other = ours.nn.LSTM(3, 4, num_layers=2, dtype=ours.float64)
    other.load_state_dict(ours.load(tmp_path / "lstm.pt"))
    ours.testing.assert_close(other(x)[0], y)

    def total(w):
        return ours.func.functional_call(layer, {"weight_hh_l0": w}, (x,))[0].sum()

    w = layer.weight_hh_l0.detach()
    both = ours.stack([w, w / 2])
    slopes = ours.func.vmap(ours.func.grad(total))(both)
    ours.testing.assert_close(slopes[1], ours.func.grad(total)(w / 2))
    step = ours.compile(lambda v: layer(v)[0].square().sum())
    for _ in range(3):
        ours.testing.assert_close(step(x), layer(x)[0].square().sum())


def wrong_states(torch, say):
    x, wide = torch.ones(2, 3, 4), torch.zeros(1, 3, 5, dtype=torch.float64)
    for kind in ("RNN", "GRU"):
        layer, cell = getattr(torch.nn, kind)(4, 5), getattr(torch.nn, f"{kind}Cell")(4, 5)
        calls = (lambda: layer(x, wide), lambda: layer(x[:0]), lambda: cell(x[0], wide[0]))
        for call in calls:
            try:
                say(call())
            except RuntimeError as error:
                say(error)


def test_states_of_another_dtype_and_no_steps_are_refused():
    same(wrong_states)


@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_an_lstm_goes_back_twice_and_has_the_same_bits_without_a_record(options):
    found = []
    for torch in [t for t in (ours, theirs) if t is not None]:
        layer = build(torch, "LSTM", options)
        rng = np.random.default_rng(2)
        x = torch.tensor(rng.normal(size=(6, 2, 3)), requires_grad=True)
        y, (_, c) = layer(x)
        with torch.no_grad():
            assert (layer(x)[0] == y).all()
        loss = y.square().sum() + c.sin().sum()
        wanted = [x, *layer.parameters()]
        once = torch.autograd.grad(loss, wanted, retain_graph=True)
        again = torch.autograd.grad(loss, wanted)
        assert all((a == b).all() for a, b in zip(once, again, strict=True))
        only = torch.autograd.grad(layer(x)[1][1].square().sum(), x)[0]
        found.append([g.numpy() for g in (*once, only)])
    for mine, other in zip(found[0], found[-1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def wide_layer(torch, dtype, sizes, options):
    """Gradients of everything, of a layer whose panels, blocks of rows and tiles are ragged."""
    steps, rows, given, hidden = sizes
    torch.manual_seed(0)
    layer = torch.nn.LSTM(given, hidden, dtype=getattr(torch, dtype), **options)
    rng = np.random.default_rng(3)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.tensor(rng.normal(size=tuple(p.shape)) / hidden**0.5))
    lines = 1 + options.get("bidirectional", False)
    operands = [
        torch.tensor(rng.normal(size=shape), dtype=getattr(torch, dtype)).requires_grad_()
        for shape in ((steps, rows, given), (lines, rows, hidden), (lines, rows, hidden))
    ]
    y, (h, c) = layer(operands[0], tuple(operands[1:]))
    loss = y.square().sum() + (3 * h).sum() + c.sin().sum()
    return [g.numpy() for g in (y.detach(), *torch.autograd.grad(
        loss, [*operands, *layer.parameters()]))]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"bias": False}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(9, 50, 3, 33), (4, 101, 20, 40), (7, 1, 5, 70), (11, 7, 6, 16)])
def test_blocks_of_rows_threads_and_parts_of_the_steps_change_no_bit(
    sizes, dtype, options, monkeypatch
):
    before = ours.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            ours.set_num_threads(threads)
            found.append(wide_layer(ours, dtype, sizes, options))
    finally:
        ours.set_num_threads(before)
    monkeypatch.setattr(recurrent_steps, "TOGETHER", 3 * sizes[1] * sizes[3] ** 2 * 4)
    found.append(wide_layer(ours, dtype, sizes, options))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))
    if theirs is not None:
        eps = np.finfo(dtype).eps
        for mine, other in zip(found[0], wide_layer(theirs, dtype, sizes, options), strict=True):
            np.testing.assert_allclose(mine, other, 0, 64 * eps * np.abs(other).max())


@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"num_layers": 2, "bias": False}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_compiled_step_has_one_operation_for_an_lstm_and_one_for_its_way_back(options, dtype):
    found = []
    for compiled in (False, True):
        layer = build(ours, "LSTM", options, dtype)
        numbers = np.random.default_rng(4).normal(size=(6, 4, 3))
        x = ours.tensor(numbers, dtype=layer.weight_ih_l0.dtype, requires_grad=True)
        optimizer = ours.optim.Adam(layer.parameters(), lr=1e-2)

        def step(layer=layer, x=x, optimizer=optimizer):
            optimizer.zero_grad()
            y, (h, _) = layer(x)
            loss = y.square().mean() + 0.1 * h.sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = ours.compile(step, fullgraph=True) if compiled else step
        losses = [run().item() for _ in range(4)]
        found.append([losses, x.grad.numpy(), *(p.detach().numpy() for p in layer.parameters())])
        if compiled:
            ((program, _),) = run.programs.values()
            names = [e.prim.name for e in program.graph.equations]
            layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
            assert names.count("torch.lstm") == names.count("torch.lstm_backward") == layers
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, 1e-6 if dtype == "float32" else 1e-14, 1e-7)


def test_a_compiled_lstm_is_differentiated_twice():
    found = []
    for compiled in (False, True):
        layer = build(ours, "LSTM", {})
        x = ours.tensor(np.random.default_rng(4).normal(size=(6, 4, 3)), requires_grad=True)
        y, (_, c) = (ours.compile(layer, fullgraph=True) if compiled else layer)(x)
        loss = y.square().sum() + c.sin().sum()
        (g,) = ours.autograd.grad(loss, x, create_graph=True)
        more = ours.autograd.grad(g.square().sum(), [x, *layer.parameters()])
        found.append([v.detach().numpy() for v in (y, g, *more)])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, 1e-12, 1e-12)
