"""`permute_copy` and its kin: the values of the view, memory of their own, and gradients."""

from __future__ import annotations

import pytest

from .both import same

CALLS = {
    "alias": (), "as_strided": ((2, 2), (1, 2)), "detach": (), "diagonal": (1,),
    "expand": ((2, 3, 4),), "permute": ((1, 0),), "select": (0, 1), "split": (2,),
    "split_with_sizes": ((1, 2),), "squeeze": (), "t": (), "transpose": (0, 1), "unbind": (1,),
    "unfold": (0, 2, 1), "unsqueeze": (0,), "view": ((4, 3),), "view_as_real": (),
    "view_as_complex": (),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_copy_has_the_values_of_the_view(name):
    def program(torch, say):
        x = torch.arange(12.0).reshape(3, 4)
        if name == "view_as_real":
            x = torch.complex(x, x)
        if name == "view_as_complex":
            x = x.reshape(6, 2)
        x.requires_grad_(name != "view_as_complex")  # PyTorch's has no derivative
        found = getattr(torch, f"{name}_copy")(x, *CALLS[name])
        parts = found if isinstance(found, tuple) else (found,)
        say(type(found).__name__, [p.detach() for p in parts])
        if name == "view_as_real":  # PyTorch's zeros have other signs
            return
        if name not in ("detach", "view_as_complex"):
            (g,) = torch.autograd.grad(sum((p.abs() ** 2).sum() for p in parts), x)
            say(g)
        with torch.no_grad():
            parts[0].zero_()
        say(x.detach())

    same(program)


def as_strided_of_a_leaf_that_is_a_view(torch, say):
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    y = x.as_strided((2, 2), (1, 2), 3)
    say(y.requires_grad, type(y.grad_fn).__name__)
    (g,) = torch.autograd.grad((y * y).sum(), x)
    say(g)
    part = torch.arange(12.0).reshape(3, 4)[1:].requires_grad_()
    y = part.as_strided((2, 2), (1, 2), 5)
    (g,) = torch.autograd.grad((y * y).sum(), part)
    say(y.detach(), g)


def test_as_strided_of_a_leaf_that_is_a_view():
    same(as_strided_of_a_leaf_that_is_a_view)
