"""Functions of `torch` that are those of `nn.functional` with other arguments, and small ones."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives, theirs

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 6))
FUNCTIONS = {
    "frexp": lambda t, x, y: t.frexp(x * 5).mantissa * y,
    "method": lambda t, x, y: x.frexp()[0] + y,
    "adjoint": lambda t, x, y: t.adjoint(x) @ y,
    "frobenius_norm": lambda t, x, y: t.frobenius_norm(x * y, (1,)),
    "nuclear_norm": lambda t, x, y: t.nuclear_norm(x[:, :4] + y[:, :4]),
    "slice_copy": lambda t, x, y: t.slice_copy(x, 1, 1, 5, 2) * y[:, :2],
    "linear_cross_entropy": lambda t, x, y: t.nn.functional.linear_cross_entropy(
        x, y, t.tensor([0, 1, 3, 2])
    ),
    "with a bias": lambda t, x, y: t.nn.functional.linear_cross_entropy(
        x, y, t.tensor([0, 1, 3, 2]), linear_bias=x[:, 0], label_smoothing=0.1, ignore_index=3,
        reduction="sum",
    ),
    "at places": lambda t, x, y: t.nn.functional.linear_cross_entropy(
        x, y.reshape(2, 2, 6), t.tensor([[0, 1], [1, 0], [1, 1], [0, 0]])
    ),
    "group_norm": lambda t, x, y: t.group_norm(x, 2, x[0], y[0]),
    "batch_norm": lambda t, x, y: t.batch_norm(x, x[0], y[0], None, None, True, 0.1, 1e-5, True),
    "bce": lambda t, x, y: t.binary_cross_entropy_with_logits(x, y.sigmoid(), None, None, 2),
    "cosine": lambda t, x, y: t.cosine_embedding_loss(x, y, t.tensor([1, -1, 1, -1]), 0.1),
    "kl_div": lambda t, x, y: t.kl_div(x, y.sigmoid(), 2, log_target=False),
    "margin": lambda t, x, y: t.margin_ranking_loss(x, y, t.ones(4, 6), 0.1, 1),
    "poisson": lambda t, x, y: t.poisson_nll_loss(x, y.exp(), True, True, 1e-8, 1),
    "triplet": lambda t, x, y: t.triplet_margin_loss(x, y, x * 2),
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_are_pytorchs(name):
    same_derivatives(FUNCTIONS[name], A, B, tolerance=1e-8)


def said(torch, say):
    x = torch.tensor(A.tolist())
    mantissa = torch.frexp(torch.tensor([8.0, -3.0, 0.0, float("inf"), float("nan")]))
    say(mantissa.mantissa, mantissa.exponent[:3], mantissa.exponent.dtype)
    say(torch.nonzero_static(x > 0, size=3), torch.nonzero_static(x > 1, size=9, fill_value=-7))
    say(torch.histogramdd(x[:, :2], [2, 3]).hist)
    say(torch.histogramdd(x[:, :2], 3, range=(-1.0, 1.0, -2.0, 2.0), density=True).bin_edges)
    say(torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride(), torch.get_device(x))
    say(x.new_empty_strided((2, 3), (1, 2)).stride(), torch.adaptive_max_pool1d(x[None], 3)[1])
    say(torch.dropout(x, 0.5, False).equal(x), torch.embedding(x, torch.tensor([0, 2]), 0).shape)
    torch.manual_seed(0)
    say(torch.dropout(x, 0.5, True), torch.alpha_dropout(x, 0.5, True))
    x = x[:, None].log_softmax(-1)
    say(torch.ctc_loss(x, torch.tensor([[1, 2]]), (4,), (2,)), torch.get_device(x))
    x = x[:, 0]
    say(torch.hinge_embedding_loss(x, torch.ones(4, 6)).shape, torch.kl_div(x, x).shape)
    for call in (
        lambda: torch.nn.functional.linear_cross_entropy(x, x[:, :2], x),
        lambda: torch.nn.functional.linear_cross_entropy(x[0], x.reshape(2, 2, 6), x),
        lambda: torch.frexp(torch.ones(2, dtype=torch.int64)), lambda: torch.device("cpu:x"),
        lambda: torch.device(""), lambda: torch.nonzero_static(x, size=-1),
    ):  # fmt: skip
        try:
            call()
        except (RuntimeError, NotImplementedError) as error:
            say(type(error).__name__, str(error).split("\n")[0])


def test_results_and_refusals():
    same(said)


def test_a_last_layer_with_its_loss():
    loss = ours.nn.LinearCrossEntropyLoss(3, 4, bias=True, label_smoothing=0.1)
    x, y = ours.randn(5, 3), ours.tensor([0, 1, 2, 3, 1])
    logits = loss.linear(x)
    expected = ours.nn.functional.cross_entropy(logits, y, label_smoothing=0.1)
    assert loss(x, y).item() == expected.item()
    assert "num_classes=4" in repr(loss) and set(loss.state_dict()) == {
        "linear.weight", "linear.bias"
    }  # fmt: skip
    if theirs is not None:
        other = theirs.nn.LinearCrossEntropyLoss(3, 4, bias=True, out_features=(2,))
        mine = ours.nn.LinearCrossEntropyLoss(3, 4, bias=True, out_features=(2,))
        assert repr(mine) == repr(other)


def test_batch_norms_forget_their_moments():
    net = ours.nn.Sequential(ours.nn.Linear(2, 3), ours.nn.BatchNorm1d(3))
    assert ours.func.replace_all_batch_norm_modules_(net) is net
    assert net[1].running_mean is None and not net[1].track_running_stats
    assert net(ours.randn(4, 2)).shape == (4, 3)


@pytest.mark.parametrize("name", ["embedding_bag", "slice_inverse", "has_mkl", "multiprocessing"])
def test_what_is_pytorchs_own_is_refused_by_name(name):
    with pytest.raises(AttributeError, match="is not meant to be here"):
        getattr(ours, name)
