"""The differences from PyTorch that `docs/torch.md` lists: each is still one, and as told there."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

theirs = pytest.importorskip("torch")


def answer(torch, f):
    """What a program gives, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(torch)
        except Exception as error:
            return type(error).__name__


def partly_refused(torch):
    """The gradient of what is reached before the refusal."""
    x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    saved = y * y
    saved.sum().backward()
    y.grad = None
    try:
        (x * 1.0 + saved).sum().backward()
    except RuntimeError:
        return x.grad is None


def written_in_inference_mode(torch):
    with torch.inference_mode():
        x = torch.ones(2)
    try:
        x.zero_()
    except RuntimeError:
        return x.tolist()


def of_a_view_made_without_grad(torch):
    x = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        v = x[0]
    return (v * 2).requires_grad


def added_in_place(torch):
    x = torch.ones(2, dtype=torch.float32)
    x.add_(torch.ones(2, dtype=torch.float64, requires_grad=True))
    return x.grad_fn.name()


def gradient_of_imaginary_strides(torch):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    x.imag.as_strided((2,), (1,)).sum().backward()
    return x.grad.tolist()


def read_only(torch):
    array = np.ones(2)
    array.flags.writeable = False
    return torch.from_numpy(array).add_(1).tolist()


def expanded_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    return torch.autograd.grad(x.sum(), x)[0].add_(1).tolist()


def squared_in_place(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return x.addmm_(x, x).tolist()


def mapped_dimension(torch):
    said = []
    torch.func.vmap(lambda x: (said.append(repr(x)), x)[1], in_dims=1)(torch.ones(2, 3))
    return said[0].split("value")[0]


def saved_dimension(torch):
    return torch.ones(2, requires_grad=True).softmax(-1).grad_fn._saved_dim


LISTED = {
    partly_refused: (True, False),
    written_in_inference_mode: ([1.0, 1.0], [0.0, 0.0]),
    of_a_view_made_without_grad: (False, True),
    added_in_place: ("ToCopyBackward0", "AddBackward0"),
    gradient_of_imaginary_strides: ([1j, 1 + 0j], [1j, 0j]),
    read_only: ("RuntimeError", [2.0, 2.0]),
    expanded_gradient: ([2.0, 2.0], "RuntimeError"),
    squared_in_place: ([[8.0, 12.0], [18.0, 26.0]], None),
    mapped_dimension: ("BatchedTensor(lvl=1, bdim=0, ", "BatchedTensor(lvl=1, bdim=1, "),
    saved_dimension: (0, 2**64 - 1),
}


@pytest.mark.parametrize("program", LISTED, ids=lambda f: f.__name__)
def test_differs_as_told(program):
    mine, other = LISTED[program]
    assert answer(ours, program) == mine
    if other is not None:
        assert answer(theirs, program) == other


EXPRESSIONS = {
    "t.ones(1, device='cuda')": "AssertionError",
    "t.tensor(np.ones(2, np.uint16))": "TypeError",
    "t.tensor([1j]).conj()._is_view()": False,
    "t.tensor([1j]).conj().numpy().tolist()": [-1j],
    "t.utils.checkpoint.create_selective_checkpoint_contexts": "AttributeError",
    "t.nn.functional.gelu(t.tensor([float('inf')] * 16)).tolist()": [float("inf")] * 16,
    "t.optim.SGD([t.ones(1, requires_grad=True)], 0.1, differentiable=True)": "RuntimeError",
}


@pytest.mark.parametrize("code", EXPRESSIONS)
def test_expressions(code):
    assert answer(ours, lambda t: eval(code, {"t": t, "np": np})) == EXPRESSIONS[code]
