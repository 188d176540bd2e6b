"""Errors of arguments of the functions behind the layers: PyTorch's parser has the same words."""

import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")

PARSED = type(torch.mul)  # the class of functions whose arguments PyTorch's own parser takes apart
OUTSIDE = ("has_torch_function",)  # about classes of tensors, not of an operation


def parsed(module, mine):
    return [
        name for name, found in sorted(vars(module).items())
        if type(found) is PARSED and name in vars(mine) and not name.startswith(OUTSIDE)
    ]  # fmt: skip


NAMES = parsed(torch.nn.functional, ours.nn.functional)
LOWER = """
    alpha_dropout alpha_dropout_ batch_norm binary_cross_entropy_with_logits celu
    cosine_embedding_loss ctc_loss dropout dropout_ embedding feature_alpha_dropout group_norm
    hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss max_pool1d
    max_pool1d_with_indices max_pool2d max_pool3d poisson_nll_loss rms_norm rrelu selu threshold
    triplet_margin_loss adaptive_max_pool1d
"""
CALLS = """
f()
f("a")
f(None)
f(x, x, x, x, x, x, x, x, x, x)
f(x, "a")
f(x, x, "a")
f(x, x, x, "a")
f(x, "a", "a", "a")
f(x, foo=1)
f(x, x, foo=1)
f(input=x, foo=1)
f(x, out="a")
f(x, 2, "a")
f(x, 2.5)
"""


def refusal(module, name, call):
    home = module.nn.functional if name in NAMES else module
    try:
        eval(call, {"f": getattr(home, name), "x": module.ones(1, 2, 4)})
    except TypeError as error:
        return str(error)
    except (ArithmeticError, AssertionError, LookupError, NotImplementedError, RuntimeError):
        return "refused otherwise"
    except ValueError:
        return "refused otherwise"
    return "taken"


@pytest.mark.parametrize("name", [*NAMES, *LOWER.split()])
def test_a_refused_call_is_refused_in_the_words_of_pytorch(name):
    for call in CALLS.strip().splitlines():
        assert refusal(ours, name, call) == refusal(torch, name, call), call


@pytest.mark.parametrize("name", NAMES)
def test_what_pytorchs_parser_takes_apart_is_a_row(name):
    assert hasattr(getattr(ours.nn.functional, name), "operation")
