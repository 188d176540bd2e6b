"""Modules as PyTorch has them: registration, printing, state, hooks and refusals, line by line."""

import collections

import pytest

import funcgrad.torch as ours

from .both import same
from .nets import short, two_layers
from .programs import programs, refused

# -------------------------------------------------------------------------------- printing


def printed_layers(torch, say):
    nn = torch.nn
    for layer in (
        nn.Identity(3, a=1), nn.Linear(2, 3), nn.Linear(2, 3, bias=False), nn.Bilinear(2, 3, 4),
        nn.Flatten(), nn.Flatten(0, 1), nn.Unflatten(1, (2, 3)), nn.Embedding(5, 3),
        nn.Embedding(5, 3, padding_idx=-1), nn.Embedding(5, 3, max_norm=2.0, norm_type=1.0),
        nn.Embedding(5, 3, scale_grad_by_freq=True, sparse=True), nn.LayerNorm(3),
        nn.LayerNorm((2, 3), eps=1e-3, elementwise_affine=False), nn.LayerNorm(3, bias=False),
        nn.BatchNorm1d(3), nn.BatchNorm2d(3, 1e-3, None, affine=False),
        nn.BatchNorm1d(3, bias=False), nn.BatchNorm3d(2, track_running_stats=False),
        nn.InstanceNorm1d(3), nn.InstanceNorm3d(2),
        nn.InstanceNorm2d(3, affine=True, track_running_stats=True), nn.GroupNorm(2, 4),
        nn.GroupNorm(1, 3, 1e-3, bias=False), nn.LocalResponseNorm(2, k=2.0), nn.RMSNorm((2, 3)),
        nn.RMSNorm(3), nn.Dropout(), nn.Dropout(0.1, inplace=True), nn.ReLU(), nn.ReLU(True),
        nn.ReLU6(), nn.ReLU6(True), nn.LeakyReLU(), nn.LeakyReLU(0.2, True), nn.Threshold(0.1, 2.0),
        nn.Threshold(0.1, 2.0, True), nn.Hardtanh(), nn.Hardtanh(-2.0, 2.0, True), nn.Hardsigmoid(),
        nn.Hardswish(), nn.Hardshrink(), nn.Softshrink(0.3), nn.ELU(), nn.ELU(0.5, True), nn.SELU(),
        nn.SELU(True), nn.CELU(), nn.Sigmoid(), nn.LogSigmoid(), nn.Tanh(), nn.Tanhshrink(),
        nn.Softsign(), nn.Softplus(), nn.Softplus(2.0, 10.0), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
        nn.SiLU(True), nn.Mish(), nn.GLU(), nn.Softmax(), nn.Softmax(1), nn.Softmin(0),
        nn.LogSoftmax(dim=-1), nn.PReLU(), nn.PReLU(3), nn.MSELoss(), nn.L1Loss(reduction="sum"),
        nn.CrossEntropyLoss(), nn.NLLLoss(), nn.BCELoss(), nn.BCEWithLogitsLoss(),
        nn.SmoothL1Loss(), nn.HuberLoss(), nn.KLDivLoss(), nn.Module(), nn.Sequential(),
        nn.ModuleList(), nn.ModuleDict(), nn.ParameterList(), nn.ParameterDict(),
    ):  # fmt: skip
        say(layer)


def printed_containers(torch, say):
    nn = torch.nn
    say(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1))))
    named = collections.OrderedDict([("first", nn.Linear(2, 3)), ("then", nn.ReLU())])
    say(nn.Sequential(named))
    say(nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)]))
    say(nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.ReLU()}))
    say(nn.ParameterList([torch.zeros(2), torch.zeros(3, 1), 7]))
    say(nn.ParameterDict({"w": torch.zeros(2, 3), "s": torch.tensor(1.0), "o": "text"}))

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(1, 1)
            self.none = None
            self.register_module("absent", None)

        def extra_repr(self):
            return "one\ntwo"

    say(Named())
    say(nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.tensor(1.0), requires_grad=False))
    say([nn.Parameter(torch.ones(1))], nn.Parameter(torch.ones(1)) * 2)


# ---------------------------------------------------------------- parameters and attributes


def parameters(torch, say):
    t = torch.ones(2)
    p = torch.nn.Parameter(t)
    t[0] = 5.0
    say(p, p.is_leaf, p.requires_grad, isinstance(p, torch.Tensor), p._version, t._version)
    say(type(p + 1) is torch.Tensor, type(p.data) is torch.Tensor, type(p.detach()) is torch.Tensor)
    say(torch.nn.Parameter(p) is p, torch.nn.Parameter(), torch.nn.Parameter(p, False))
    refused(say, "int", lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.int64)))
    say(torch.nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False))
    made = torch.nn.Parameter((p * 2).exp())
    say(made.is_leaf, made.grad_fn)
    b = torch.nn.Buffer(torch.zeros(1))
    say(isinstance(b, torch.nn.Buffer), isinstance(p, torch.nn.Buffer), b.persistent, b)


def attributes(torch, say):
    nn = torch.nn
    m = nn.Module()
    m.a = nn.Parameter(torch.ones(1))
    m.b = nn.Linear(1, 1)
    m.c = 5
    m.d = torch.ones(2)
    m.register_buffer("e", torch.zeros(1))
    m.register_buffer("f", torch.zeros(1), persistent=False)
    m.register_buffer("g", None)
    m.h = nn.Buffer(torch.ones(1))
    m.register_parameter("i", None)
    say(list(m._parameters), list(m._buffers), list(m._modules), list(m.state_dict()))
    say(sorted(k for k in dir(m) if len(k) == 1), m.i, m.g)
    m.e = torch.ones(3)
    say(m.e, dict(m.named_buffers()).keys())
    m.a = None
    say(m.a, list(m.parameters(recurse=False)))
    m.a = nn.Parameter(torch.zeros(1))
    m.b = None
    say(m.b, [n for n, _ in m.named_modules()])
    m.d = nn.Parameter(torch.ones(1))  # an ordinary attribute becomes a parameter
    say("d" in m.__dict__, "d" in m._parameters)
    m.c = nn.ReLU()
    say("c" in m.__dict__, list(m._modules))
    m.e = nn.Parameter(torch.ones(1))  # a buffer becomes a parameter
    say(list(m._buffers), list(m._parameters))
    del m.e, m.f, m.c
    say(list(m._buffers), list(m._parameters), list(m._modules), m._non_persistent_buffers_set)
    say(hasattr(m, "e"), hasattr(m, "zzz"))


def attribute_errors(torch, say):
    nn = torch.nn
    m = nn.Module()
    m.p = nn.Parameter(torch.ones(1))
    m.m = nn.ReLU()
    m.x = 1
    m.register_buffer("b", torch.ones(1))
    for name, call in {
        "missing": lambda: m.zzz,
        "delete": lambda: delattr(m, "zzz"),
        "tensor as parameter": lambda: setattr(m, "p", torch.ones(1)),
        "text as parameter": lambda: setattr(m, "p", "text"),
        "tensor as module": lambda: setattr(m, "m", torch.ones(1)),
        "text as buffer": lambda: setattr(m, "b", "text"),
        "parameter name": lambda: m.register_parameter(1, None),
        "parameter dot": lambda: m.register_parameter("a.b", None),
        "parameter empty": lambda: m.register_parameter("", None),
        "parameter exists": lambda: m.register_parameter("x", None),
        "parameter type": lambda: m.register_parameter("q", torch.ones(1)),
        "parameter text": lambda: m.register_parameter("q", "text"),
        "buffer name": lambda: m.register_buffer(1, None),
        "buffer dot": lambda: m.register_buffer("a.b", None),
        "buffer empty": lambda: m.register_buffer("", None),
        "buffer exists": lambda: m.register_buffer("x", None),
        "buffer type": lambda: m.register_buffer("q", 5),
        "module name": lambda: m.add_module(1, nn.ReLU()),
        "module dot": lambda: m.add_module("a.b", nn.ReLU()),
        "module empty": lambda: m.add_module("", nn.ReLU()),
        "module exists": lambda: m.add_module("x", nn.ReLU()),
        "module type": lambda: m.add_module("q", 5),
        "forward": lambda: m(1),
        "train": lambda: m.train(1),
        "to": lambda: m.to(torch.int64),
        "submodule": lambda: m.get_submodule("m.zzz"),
        "submodule type": lambda: m.get_submodule("p"),
        "parameter path": lambda: m.get_parameter("m.zzz"),
        "parameter path type": lambda: m.get_parameter("b"),
        "buffer path": lambda: m.get_buffer("p"),
        "set nothing": lambda: m.set_submodule("", nn.ReLU()),
        "init": lambda: nn.Module(1),
    }.items():
        try:
            say(name, call())
        except Exception as error:
            say(name, type(error).__name__, "" if name == "init" else error)

    class Early(nn.Module):
        def __init__(self, what):
            if what == "parameter":
                self.p = nn.Parameter(torch.ones(1))
            elif what == "module":
                self.m = nn.ReLU()
            elif what == "buffer":
                self.register_buffer("b", None)
            else:
                self.register_parameter("p", None)

    for what in ("parameter", "module", "buffer", "None"):
        refused(say, what, lambda what=what: Early(what))
    p = nn.Parameter(torch.ones(1))
    m.q = p
    refused(say, "non-leaf", lambda: m.register_parameter("r", nn.Parameter(torch.ones(1)) * 2))


def iteration(torch, say):
    nn = torch.nn
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.ReLU(), nn.Sequential(shared, nn.Linear(2, 1)))
    net.register_buffer("scale", torch.ones(1))
    net[2].register_buffer("same", net.scale)
    say([n for n, _ in net.named_parameters()], len(list(net.parameters())))
    say([n for n, _ in net.named_parameters(remove_duplicate=False)])
    say([n for n, _ in net.named_parameters("top")], list(net.named_parameters(recurse=False)))
    say([n for n, _ in net.named_buffers()], len(list(net.buffers())))
    say([(n, type(m).__name__) for n, m in net.named_modules()])
    say([n for n, _ in net.named_modules(prefix="x", remove_duplicate=False)])
    say([n for n, _ in net.named_children()], len(list(net.children())), len(list(net.modules())))
    say(net.get_submodule("2.1"), net.get_submodule("") is net)
    say(net.get_parameter("2.1.bias").shape, net.get_buffer("2.same"))
    net.set_submodule("2.1", nn.Identity())
    say(net)
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    say(seen)


def modes_and_flags(torch, say):
    net = two_layers(torch)
    say(net.training, net.eval() is net, [m.training for m in net.modules()])
    net.train()
    net[0].eval()
    say([m.training for m in net.modules()])
    say(net.requires_grad_(False) is net, [p.requires_grad for p in net.parameters()])
    net[0].weight.requires_grad_()
    say([p.requires_grad for p in net.parameters()])
    net(torch.ones(1, 3)).sum().backward()
    say([p.grad is None for p in net.parameters()])
    g = net[0].weight.grad
    net.zero_grad(set_to_none=False)
    say(net[0].weight.grad is g, short(g))
    net.zero_grad()
    say(net[0].weight.grad)


def conversion(torch, say):
    net = two_layers(torch)
    net.register_buffer("count", torch.tensor([1]))
    net.register_buffer("scale", torch.ones(1))
    w = net[0].weight
    net(torch.ones(1, 3)).sum().backward()
    say(net.double() is net, net[0].weight is w, w.dtype, w.grad.dtype, net.count.dtype)
    say(net.scale.dtype, w.is_leaf, w.requires_grad)
    net(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    say(short(w.grad))
    say(net.half()[0].weight.dtype, net.float()[0].weight.dtype, net.to(torch.float64).scale.dtype)
    say(net.to("cpu") is net, net.to(torch.ones(1))[0].weight.dtype, net.cpu() is net)
    say(net.type(torch.float64)[0].bias.dtype, net.count.dtype)


# ------------------------------------------------------------------------------ containers


def sequential(torch, say):
    nn = torch.nn
    s = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
    say(len(s), s[0], s[-1], s[1:], list(s)[1])
    s[1] = nn.Sigmoid()
    say(s.append(nn.ELU()) is s, s.insert(1, nn.ReLU()) is s, s)
    del s[0]
    say(s, s.pop(0), len(s), s.extend([nn.ReLU()]))
    del s[0:2]
    say(s + nn.Sequential(nn.Tanh()), s * 2, 2 * s)
    s += nn.Sequential(nn.Tanh())
    s *= 2
    say(s, nn.Sequential()(5))
    refused(say, "index", lambda: s[9])
    refused(say, "text", lambda: s["a"])
    refused(say, "insert", lambda: s.insert(99, nn.ReLU()))
    refused(say, "one", lambda: nn.Sequential(nn.ReLU(), 5))


def module_list(torch, say):
    nn = torch.nn
    m = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    m.append(nn.Tanh()).extend([nn.ELU(), nn.SELU()])
    m.insert(1, nn.Sigmoid())
    say(m, len(m), m[-1], m[1:3], [type(x).__name__ for x in m])
    m[0] = nn.Identity()
    del m[1]
    say(m, m.pop(0), m + [nn.ReLU()], list(m.state_dict()))
    m += [nn.Linear(2, 2)]
    say([n for n, _ in m.named_parameters()], nn.ReLU in [type(x) for x in m])
    refused(say, "index", lambda: m[9])
    refused(say, "extend", lambda: m.extend(5))


def module_dict(torch, say):
    nn = torch.nn
    m = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    m["c"] = nn.Tanh()
    m.update([("d", nn.ELU())])
    m.update(nn.ModuleDict({"e": nn.SELU()}))
    say(m, len(m), list(m), "a" in m, "z" in m, list(m.keys()), m.pop("b"))
    del m["d"]
    say([k for k, _ in m.items()], [type(v).__name__ for v in m.values()])
    m.clear()
    say(len(m))
    refused(say, "key", lambda: m["zzz"])
    refused(say, "update", lambda: m.update(5))
    refused(say, "pairs", lambda: m.update([("a",)]))


def parameter_containers(torch, say):
    nn = torch.nn
    m = nn.ParameterList([torch.ones(1), nn.Parameter(torch.zeros(2))])
    m.append(torch.ones(3))
    m += [torch.ones(1)]
    m[0] = torch.zeros(4)
    say(m, len(m), m[-1], [n for n, _ in m.named_parameters()], m[1:3])
    refused(say, "index", lambda: m[9])
    refused(say, "call", lambda: m(1))
    d = nn.ParameterDict({"b": torch.ones(1), "a": torch.zeros(2)})
    d["c"] = torch.ones(3)
    say(d, list(d), len(d), "a" in d, d.get("z"), [n for n, _ in d.named_parameters()])
    say(d.pop("c"), d.setdefault("x", torch.ones(1)), d.popitem()[0], list(reversed(d)))
    del d["a"]
    say(list(d.items()), d.copy())
    refused(say, "key", lambda: d["zzz"])


# ------------------------------------------------------------------------------- utilities


def clipping(torch, say):
    utils = torch.nn.utils

    def parameters():
        ps = [torch.zeros(2, requires_grad=True), torch.zeros(2, 2, requires_grad=True),
              torch.zeros(1, requires_grad=True)]  # fmt: skip
        ps[0].grad = torch.tensor([3.0, -4.0])
        ps[1].grad = torch.tensor([[1.0, 2.0], [-2.0, 4.0]])
        return ps

    for order in (2.0, 1, float("inf")):
        ps = parameters()
        say(order, utils.clip_grad_norm_(ps, 1.0, order), ps[0].grad, ps[1].grad, ps[2].grad)
        say(ps[0].grad._version)
    ps = parameters()
    say(utils.clip_grad_norm_(ps, 100.0), ps[0].grad)
    say(utils.clip_grad_norm_(ps[0], 1.0), utils.clip_grad_norm_([], 1.0))
    utils.clip_grad_value_(ps, 1.5)
    say(ps[1].grad)
    ps[0].grad[0] = float("nan")
    refused(say, "nan", lambda: utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True))
    say(utils.clip_grad_norm_(ps, 1.0), ps[0].grad)


def vectors(torch, say):
    utils = torch.nn.utils
    net = two_layers(torch)
    v = utils.parameters_to_vector(net.parameters())
    say(v.shape, short(v)[:3], v.grad_fn.name())
    w = net[0].weight
    utils.vector_to_parameters(torch.arange(26.0), net.parameters())
    say(net[0].weight is w, short(w), short(net[2].bias), w.requires_grad)
    refused(say, "type", lambda: utils.vector_to_parameters([1.0], net.parameters()))


def training_step(torch, say):
    net = two_layers(torch)
    x, y = torch.ones(4, 3), torch.tensor([0, 1, 1, 0])
    loss = torch.nn.CrossEntropyLoss()(net(x), y)
    loss.backward()
    say([short(p.grad) for p in net.parameters()], f"{loss.item():.5f}", loss.grad_fn.name())


@pytest.mark.parametrize("kernels", [False, "always"])
def test_a_training_step_leaves_no_garbage(kernels, monkeypatch):
    import gc

    monkeypatch.setattr(ours.settings.config, "kernels", kernels)
    net = two_layers(ours)
    optimizer = ours.optim.SGD(net.parameters(), lr=0.1)
    x, y = ours.ones(4, 3), ours.tensor([0, 1, 1, 0])

    def step():
        optimizer.zero_grad()
        ours.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            step()
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    same(program)
