"""`AdaptiveLogSoftmaxWithLoss` and the triplet loss with a distance of one's own."""

from __future__ import annotations

import numpy as np
import pytest

from .both import same, same_derivatives, theirs

TARGET = [0, 19, 5, 8, 2]
X = np.random.default_rng(0).standard_normal((5, 8))


def layer(torch, **more):
    torch.manual_seed(0)
    return torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9], div_value=2.0, **more).double()


def test_the_layer_has_pytorchs_parts_and_weights():
    def program(torch, say):
        for made in (layer(torch), layer(torch, head_bias=True)):
            say(made, dict(made.float().state_dict()))
            say(made.cutoffs, made.shortlist_size, made.n_clusters, made.head_size)
        made.reset_parameters()
        say([p.detach() for p in made.parameters()])
        say(torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, (4, 9), 4, True))

    same(program)


@pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("target", [TARGET, [4, 19, 4, 12, 9], [19, 4, 0, 3, 3]])
def test_outputs_and_gradients_of_both_orders(target):
    def function(torch, x, *weights):
        made = layer(torch, head_bias=True)
        names = [n for n, _ in made.named_parameters()]
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(made, given, (x, torch.tensor(target)))

    weights = [p.detach().numpy() for p in layer(theirs, head_bias=True).parameters()]
    same_derivatives(lambda t, *xs: tuple(function(t, *xs)), X, *weights)


def test_results_are_pytorchs_also_of_one_example_and_of_none():
    def program(torch, say):
        made, x = layer(torch), torch.tensor(X)
        for given, target in (
            (x, TARGET), (x[0], 7), (x[0], 0), (x[:1], [7]), (x[:0], []), (x * 50, TARGET),
        ):  # fmt: skip
            found = made(given, torch.tensor(target, dtype=torch.int64))
            say(type(found).__name__, found._fields, found.output.shape, found.loss.shape)
            say(found.output.detach(), found.loss.detach())
            say(type(found.output.grad_fn).__name__, type(found.loss.grad_fn).__name__)
        for given in (x, x * 10, x[:2], -x, x[:0]):
            say(made.log_prob(given).detach())
            say(made.predict(given))

    same(program)


def test_bad_calls_of_the_layer_are_refused_in_pytorchs_words():
    def program(torch, say):
        made, x = layer(torch), torch.tensor(X)
        calls = [
            lambda t=t: made(x, torch.tensor(t))
            for t in ([0, 19, 5, 8], [[0, 19]], [0, 20, 5, 8, 2], [0, -1, 5, 8, 2], 3,
                      [0.0, 1, 2, 3, 4])
        ]  # fmt: skip
        calls += [lambda: made(x[0], torch.tensor([7])), lambda: made.log_prob(x[0])]
        calls += [
            lambda c=c: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, c)
            for c in ([], [5, 4], [0, 3], [20], [3, 3], [2.5])
        ]
        for call in calls:
            try:
                call()
            except Exception as error:
                say(type(error).__name__, error)
            else:
                raise AssertionError

    same(program)


# ------------------------------------------------------------------------ triplets with a distance

DISTANCES = {
    "pairwise": lambda torch: None,
    "cosine": lambda torch: lambda x, y: 1.0 - torch.nn.functional.cosine_similarity(x, y),
    "largest": lambda torch: lambda x, y: (x - y).abs().amax(1),
}


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("options", [{}, {"swap": True, "margin": 2.0}, {"reduction": "none"},
                                     {"reduction": "sum", "margin": 0.3}])  # fmt: skip
def test_the_triplet_loss_with_a_distance(distance, options):
    def function(torch, *xs):
        chosen = DISTANCES[distance](torch)
        f = torch.nn.functional.triplet_margin_with_distance_loss
        made = torch.nn.TripletMarginWithDistanceLoss(distance_function=chosen, **options)
        return f(*xs, distance_function=chosen, **options), made(*xs)

    r = np.random.default_rng(1)
    same_derivatives(function, *(r.standard_normal((4, 3)) for _ in range(3)))


def test_the_triplet_loss_is_pytorchs():
    def program(torch, say):
        f, made = torch.nn.functional.triplet_margin_with_distance_loss, (
            torch.nn.TripletMarginWithDistanceLoss
        )  # fmt: skip
        x = torch.tensor(X, requires_grad=True)
        say(made(), made(distance_function=torch.nn.CosineSimilarity()), list(made().state_dict()))
        say(made(distance_function=lambda a, b: a), made(reduction="x").reduction)
        node = f(x, x * 2, x * 3).grad_fn
        while node is not None:
            say(type(node).__name__)
            node = node.next_functions[0][0]
        for call in (
            lambda: f(x, x, x[0]), lambda: f(x, x, x, margin=0), lambda: f(x, x, x, reduction="x"),
            lambda: made(margin=0), lambda: made(1), lambda: made(reduction="x")(x, x, x),
        ):  # fmt: skip
            try:
                call()
            except Exception as error:
                say(type(error).__name__, error)

    same(program)
