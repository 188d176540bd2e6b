"""`nn.utils.prune` beside PyTorch: masks, parameters, hooks, and what it refuses."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

import funcgrad.torch as ours
import funcgrad.torch.nn.utils.prune as our_prune

from .both import same, theirs

if theirs is not None:
    import torch.nn.utils.prune as their_prune


def prune_of(torch):
    return our_prune if torch is ours else their_prune


STEPS = {
    "random": lambda p, m: p.random_unstructured(m, "weight", 3),
    "random part": lambda p, m: p.random_unstructured(m, "weight", 0.3),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.4),
    "l1 none": lambda p, m: p.l1_unstructured(m, "weight", 0),
    "random channels": lambda p, m: p.random_structured(m, "weight", 1, 1),
    "random rows": lambda p, m: p.random_structured(m, "weight", 0.4, dim=-2),
    "norm 2": lambda p, m: p.ln_structured(m, "weight", 1, n=2, dim=0),
    "norm inf": lambda p, m: p.ln_structured(m, "weight", 0.3, n=float("inf"), dim=-1),
    "norm none": lambda p, m: p.ln_structured(m, "weight", 0, n=1, dim=1),
    "identity": lambda p, m: p.identity(m, "weight"),
    "bias": lambda p, m: p.random_unstructured(m, "bias", 1),
}
REMOVE = lambda p, m: p.remove(m, "weight")


def made(torch):
    torch.manual_seed(0)
    return torch.nn.Linear(6, 5)


def describe(torch, module, say):
    prune = prune_of(torch)
    say(module, dict(module.state_dict()))
    say([n for n, _ in module.named_parameters()], [n for n, _ in module.named_buffers()])
    say(module.weight.detach(), type(module.weight).__name__, type(module.weight.grad_fn).__name__)
    say(prune.is_pruned(module), [type(h).__name__ for h in module._forward_pre_hooks.values()])


@pytest.mark.parametrize("steps", [
    *((s,) for s in STEPS), *itertools.permutations(["random", "l1", "norm 2", "identity"], 2),
    ("random channels", "random"), ("norm inf", "random rows"), ("norm 2", "norm 2", "l1", "bias"),
], ids=", ".join)  # fmt: skip
def test_pruning_steps_give_pytorchs_module(steps):
    def program(torch, say):
        module, prune = made(torch), prune_of(torch)
        for step in steps:
            say(STEPS[step](prune, module) is module)
            describe(torch, module, say)
        x = torch.arange(12.0).reshape(2, 6)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
        for _ in range(2):
            optimizer.zero_grad()
            module(x).sum().backward()
            optimizer.step()
        say({n: p.grad for n, p in module.named_parameters()}, torch.rand(1).item())
        if hasattr(module, "weight_orig"):
            module(x)
            REMOVE(prune, module)
        describe(torch, module, say)

    same(program)


def test_a_pruned_module_saves_and_loads():
    def program(torch, say):
        prune, module = prune_of(torch), made(torch)
        prune.l1_unstructured(module, "weight", 0.5)
        other = torch.nn.Linear(6, 5)
        prune.identity(other, "weight")
        say(other.load_state_dict(copy.deepcopy(module.state_dict())))
        x = torch.ones(1, 6)
        say(torch.equal(other(x), module(x)), other.weight.detach())
        try:
            torch.nn.Linear(6, 5).load_state_dict(module.state_dict())
        except RuntimeError as error:
            say(error)

    same(program)


@pytest.mark.parametrize(("method", "options"), [
    ("L1Unstructured", {"amount": 0.3}), ("RandomUnstructured", {"amount": 5}),
])  # fmt: skip
def test_pruning_several_parameters_as_one(method, options):
    def program(torch, say):
        prune = prune_of(torch)
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        pairs = [(net[0], "weight"), (net[2], "weight"), (net[0], "bias")]
        for _ in range(2):
            prune.global_unstructured(pairs, getattr(prune, method), **options)
            say(dict(net.state_dict()))
        scores = {(net[2], "weight"): torch.arange(6.0).reshape(2, 3)}
        prune.global_unstructured(pairs, prune.L1Unstructured, scores, amount=2)
        say(dict(net.state_dict()))
        say(prune.is_pruned(net), prune.is_pruned(net[1]), net(torch.ones(1, 4)).detach())

    same(program)


def test_masks_scores_and_methods_of_ones_own():
    def program(torch, say):
        prune, module = prune_of(torch), made(torch)

        class EveryOther(prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        prune.custom_from_mask(module, "bias", torch.tensor([0, 1, 0, 1, 1]))
        EveryOther.apply(module, "weight")
        scores = torch.arange(30.0).reshape(5, 6)
        prune.l1_unstructured(module, "weight", 2, importance_scores=scores)
        describe(torch, module, say)
        (hook,) = [h for h in module._forward_pre_hooks.values() if h._tensor_name == "weight"]
        say(len(hook), [type(h).__name__ for h in hook], type(hook[0]).__name__)
        t = torch.tensor([[1.0, -2, 3], [0.5, 4, -6]])
        say(prune.L1Unstructured(2).prune(t), prune.LnStructured(1, 1, 0).prune(t))
        say(prune.L1Unstructured(1).prune(t, default_mask=t > 0, importance_scores=-t))

    same(program)


REFUSED = {
    "part": lambda p, m: p.l1_unstructured(m, "weight", 1.5),
    "negative": lambda p, m: p.l1_unstructured(m, "weight", -1),
    "no number": lambda p, m: p.random_structured(m, "weight", "a", 1),
    "too many": lambda p, m: p.random_unstructured(m, "weight", 100),
    "no channels": lambda p, m: p.ln_structured(m, "bias", 1, n=2, dim=0),
    "dimension": lambda p, m: p.ln_structured(m, "weight", 1, n=2, dim=4),
    "too many channels": lambda p, m: p.random_structured(m, "weight", 9, 0),
    "name": lambda p, m: p.identity(m, "nothing"),
    "not pruned": lambda p, m: p.remove(m, "bias"),
    "mask": lambda p, m: p.custom_from_mask(m, "weight", m.bias),
    "scores": lambda p, m: p.l1_unstructured(m, "weight", 2, importance_scores=m.bias),
    "no iterable": lambda p, m: p.global_unstructured(3, p.L1Unstructured, amount=1),
    "no dict": lambda p, m: p.global_unstructured([], p.L1Unstructured, 3, amount=1),
    "channels as one": lambda p, m: p.global_unstructured(
        [(m, "weight")], p.LnStructured, amount=1, n=2
    ),
    "method": lambda p, m: p.PruningContainer().add_pruning_method(3),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("before", ["", "l1"])
def test_bad_calls_are_refused_in_pytorchs_words_and_change_nothing(case, before):
    def program(torch, say):
        prune, module = prune_of(torch), made(torch)
        if before:
            STEPS[before](prune, module)
        kept = {k: v.tolist() for k, v in module.state_dict().items()}
        hooks = list(module._forward_pre_hooks.values())
        try:
            REFUSED[case](prune, module)
        except Exception as error:
            text = str(error).replace(our_prune.__name__, "torch.nn.utils.prune")
            say(type(error).__name__, text)
        else:
            raise AssertionError
        if torch is ours:  # PyTorch forgets the hook, and changes the order of the parameters
            assert kept == {k: v.tolist() for k, v in module.state_dict().items()}
            assert list(kept) == list(module.state_dict())
            assert hooks == list(module._forward_pre_hooks.values())

    same(program)


def test_the_hook_is_the_product_at_every_call():
    module = ours.nn.utils.prune.l1_unstructured(made(ours), "weight", 0.5)
    with ours.no_grad():
        module.weight_orig.fill_(2.0)
    module(ours.ones(1, 6))
    assert ours.equal(module.weight, 2 * module.weight_mask)
    (g,) = ours.autograd.grad(module(ours.ones(1, 6)).sum(), module.weight_orig)
    np.testing.assert_array_equal(g.numpy(), module.weight_mask.numpy())
