"""Distributions beside PyTorch: values, moments, shapes, and gradients to the second order."""

import pytest

from .distribution_cases import CASES, CONTINUOUS, close, made, ours, theirs

pytestmark = pytest.mark.peers
MOMENTS = ("mean", "mode", "variance", "stddev")
# PyTorch's Bessel functions have seven digits
COARSE = {"von mises": 2e-7}
MODELESS = {"dirichlet", "beta"}


@pytest.fixture(autouse=True)
def _defaults(request):
    """PyTorch's `GeneralizedPareto` computes in the default dtype only."""
    pytest.importorskip("torch")
    given = request.node.callspec.params
    wide = given["name"] == "generalized pareto" and given.get("dtype") != "float32"
    for m in (ours, theirs):
        m.set_default_dtype(m.float64 if wide else m.float32)
    yield
    for m in (ours, theirs):
        m.set_default_dtype(m.float32)


def both(name, ask, dtype="float64"):
    """What `ask` finds with each library; None where both refuse in the same words."""
    found = []
    for m in (ours, theirs):
        try:
            found.append(ask(m, *made(m, name, dtype)))
        except NotImplementedError as error:
            found.append(str(error).replace("funcgrad.", ""))
    if isinstance(found[0], str) or isinstance(found[1], str):
        assert found[0] == found[1]
        return None
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_log_prob(name, dtype):
    found = both(name, lambda m, d, p, x: d.log_prob(x), dtype)
    close(*found, tolerance=COARSE.get(name, 1e-10) if dtype == "float64" else 2e-5)


@pytest.mark.parametrize("what", ["cdf", "icdf"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution_functions(name, what):
    def ask(m, d, p, x):
        u = m.tensor([[0.1, 0.5], [0.7, 0.35], [0.99, 0.9]], dtype=m.float64)
        return getattr(d, what)(x if what == "cdf" else u)

    found = both(name, ask)
    if found is not None:
        close(*found)


@pytest.mark.parametrize("what", [*MOMENTS, "entropy", "perplexity"])
@pytest.mark.parametrize("name", CASES)
def test_moments_and_entropy(name, what):
    def ask(m, d, p, x):
        found = getattr(d, what)
        return found() if callable(found) else found

    found = both(name, ask)
    if found is not None:
        close(*found, tolerance=COARSE.get(name, 1e-9))


def seconds(m, d, p, y):
    """First derivatives of a sum by the parameters, and those of the sum of their squares."""
    given = [v for v in p.values() if v.requires_grad]
    first = m.autograd.grad(y.sum(), given, create_graph=True, allow_unused=True)
    first = [g for g in first if g is not None]
    whole = sum((g**2).sum() for g in first)
    if not whole.requires_grad:
        return first
    second = m.autograd.grad(whole, given, allow_unused=True)
    return first + [m.zeros(()) if g is None else g for g in second]


@pytest.mark.parametrize("what", ["log_prob", "entropy", "variance"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_to_second_order(name, what):
    found = []
    for m in (ours, theirs):
        d, p, x = made(m, name, grad=True)
        try:
            y = getattr(d, what)
            y = y if what == "variance" else y(x) if what == "log_prob" else y()
        except NotImplementedError:
            return
        if not y.requires_grad:
            return
        found.append(seconds(m, d, p, y))
    if name in COARSE:  # the slopes of its approximations have five digits
        found = [f[:2] for f in found]
    for got, expected in zip(*found, strict=True):
        if name in COARSE:
            close(got, expected, 1e-4)
        else:
            close(got, expected.to(theirs.float64) if expected.dim() else expected, 1e-7)


@pytest.mark.parametrize("name", CASES)
def test_shapes_and_expand(name):
    def ask(m, d, p, x):
        m.manual_seed(0)
        wide = d.expand((3, *d.batch_shape))
        taken = wide.sample((2,))
        return [
            tuple(d.batch_shape), tuple(d.event_shape), tuple(wide.batch_shape),
            tuple(wide.event_shape), type(wide).__name__, tuple(d.sample().shape),
            tuple(taken.shape), tuple(wide.log_prob(x).shape), d.has_rsample,
            d.has_enumerate_support, repr(d), repr(wide), repr(wide.expand(wide.batch_shape)),
        ]  # fmt: skip

    got, expected = both(name, ask)
    assert got == expected


@pytest.mark.parametrize("name", CASES)
def test_support_and_constraints(name):
    def ask(m, d, p, x):
        c = m.distributions.constraints
        told = {
            n: "dependent" if c.is_dependent(v) else repr(v) for n, v in d.arg_constraints.items()
        }
        return told, repr(d.support), d.support.event_dim, d.support.is_discrete

    got, expected = both(name, ask)
    assert got == expected


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_enumerated_support(name, expand):
    found = both(name, lambda m, d, p, x: d.enumerate_support(expand=expand))
    if found is not None:
        close(*found)
