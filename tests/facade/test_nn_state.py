"""The state of modules: kept, loaded, with hooks, copied and pickled."""

import copy
import pickle

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same
from .nets import two_layers
from .programs import programs, refused


def state(torch, say):
    net = two_layers(torch)
    net.register_buffer("scale", torch.ones(1))
    net[0].register_buffer("hidden", torch.ones(1), persistent=False)
    s = net.state_dict()
    say(type(s).__name__, list(s), s._metadata)
    say(s["0.weight"].requires_grad, type(s["0.weight"]) is torch.Tensor)
    s["scale"][0] = 7.0
    say(net.scale)
    say(net.state_dict(keep_vars=True)["0.weight"] is net[0].weight)
    say(list(net.state_dict(prefix="model.")))
    target = {"old": 1}
    say(net.state_dict(destination=target) is target, list(target))
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    other.register_buffer("scale", torch.zeros(1))
    w = other[0].weight
    say(other.load_state_dict(s), other[0].weight is w, w.requires_grad, w._version > 0)
    say(bool((w == net[0].weight).all()), other.scale)
    del s["2.bias"]
    s["more"] = torch.ones(1)
    s["0.more.bias"] = torch.ones(1)
    say(other.load_state_dict(s, strict=False))


def state_errors(torch, say):
    net = two_layers(torch)

    def load(**changes):
        s = net.state_dict()
        for key, value in changes.items():
            key = key.replace("__", ".")[1:]
            if value is None:
                del s[key]
            else:
                s[key] = value
        return lambda: net.load_state_dict(s)

    refused(say, "missing", load(_0__weight=None, _2__bias=None))
    refused(say, "unexpected", load(_0__x=torch.ones(1), y=torch.ones(1), _9__a=torch.ones(1)))
    refused(say, "size", load(_0__weight=torch.ones(2, 3), _2__bias=torch.ones(1)))
    refused(say, "all", load(_0__weight=torch.ones(2, 3), _2__bias=None, _7=torch.ones(1)))
    refused(say, "type", load(_0__weight=[1.0]))
    refused(say, "dict", lambda: net.load_state_dict([1]))


def state_assigned(torch, say):
    net = two_layers(torch)
    before = net[0].weight
    s = {k: torch.zeros(tuple(v.shape), dtype=torch.float64) for k, v in net.state_dict().items()}
    say(net.load_state_dict(s, assign=True), net[0].weight is before, net[0].weight.dtype)
    say(type(net[0].weight) is torch.nn.Parameter, net[0].weight.requires_grad)
    s["0.weight"][0, 0] = 3.0
    say(net[0].weight[0, 0])


def extra_state(torch, say):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    net = torch.nn.Sequential(Counting(), torch.nn.Linear(1, 1))
    net[0].count = 5
    s = net.state_dict()
    say(list(s), s["0._extra_state"])
    other = torch.nn.Sequential(Counting(), torch.nn.Linear(1, 1))
    say(other.load_state_dict(s), other[0].count)
    del s["0._extra_state"]
    refused(say, "missing", lambda: other.load_state_dict(s))
    s = net.state_dict()
    s["1._extra_state"] = 1
    refused(say, "unexpected", lambda: other.load_state_dict(s))


def state_hooks(torch, say):
    net = two_layers(torch)
    net.register_state_dict_pre_hook(lambda m, prefix, keep: say("pre", prefix, keep))

    def post(module, state, prefix, metadata):
        state[prefix + "added"] = torch.ones(1)

    handle = net[2].register_state_dict_post_hook(post)
    say(list(net.state_dict()))
    handle.remove()
    net[0].register_load_state_dict_pre_hook(
        lambda m, s, prefix, meta, strict, missing, unexpected, errors: say(
            "load", type(m).__name__, prefix, meta, strict, list(s))
    )  # fmt: skip

    def after(module, keys):
        say("after", keys.missing_keys, keys.unexpected_keys)
        keys.missing_keys.clear()

    net.register_load_state_dict_post_hook(after)
    s = net.state_dict()
    del s["0.bias"]
    say(net.load_state_dict(s))


# ------------------------------------------------------------------------ copies of modules


def test_a_module_can_be_copied_and_pickled():
    net = two_layers(ours)
    net(ours.ones(1, 3)).sum().backward()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other) == repr(net)
        assert [p.grad for p in other.parameters()] == [None] * 4
        for p, q in zip(net.parameters(), other.parameters(), strict=True):
            assert p is not q and np.array_equal(p.detach().numpy(), q.detach().numpy())
            assert type(q) is ours.nn.Parameter and q.requires_grad


def test_tied_parameters_stay_tied_in_a_copy():
    net = ours.nn.Sequential(ours.nn.Linear(2, 2), ours.nn.Linear(2, 2))
    net[1].weight = net[0].weight
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other[1].weight is other[0].weight


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    same(program)
