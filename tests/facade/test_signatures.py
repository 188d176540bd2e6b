"""Errors of arguments: the overloads of PyTorch's functions, in its words."""

import threading

import pytest

import funcgrad.torch as ours
from funcgrad.torch.operations import signature

torch = pytest.importorskip("torch")

# `x` is a tensor of three ones, `p` a parameter; the calls are those that PyTorch refuses
REFUSED = """
torch.mul()
torch.mul(x)
torch.mul(x, "a")
torch.mul(x, x, x)
torch.mul(x, x, foo=1)
torch.mul(other=x)
torch.mul(x, other="a")
torch.mul(input="a", other=x)
torch.mul(x, None)
torch.mul(x, x, out=(x,))
torch.mul(p, "a")
torch.multiply(x, "a")
x.mul("a")
x.mul()
x.mul(x, x)
x.mul_("a")
torch.exp()
torch.exp(3)
torch.exp(None)
torch.exp(x, x)
torch.exp(x, foo=3)
torch.exp(x, input=x)
torch.exp(x, out=3)
x.exp(3)
x.exp(a=3)
x.exp_(3)
torch.exp_(x, 3)
torch.exp_(3)
torch.add(x)
torch.add(x, "a")
torch.add(x, x, alpha="a")
torch.add(x, x, x, x)
torch.add(x, x, foo=3)
x.add("a")
x.add_("a", alpha=2)
torch.sub(x, "a")
torch.subtract(x, "a")
torch.rsub(x, "a")
torch.div(x, "a")
torch.div(x, x, rounding_mode=3)
torch.divide(x, "a")
torch.true_divide(x, "a")
torch.neg("a")
x.neg(3)
torch.pow(x, "a")
torch.pow("a", x)
torch.pow(x, x, foo=1)
torch.pow(2, 3)
x.pow("a")
torch.float_power(x, "a")
torch.remainder(x, "a")
torch.fmod(x, "a")
torch.floor_divide(x, "a")
torch.eq(x, "a")
torch.eq(x)
torch.eq(x, x, x)
torch.eq(3, x)
torch.eq(x, foo=1)
torch.eq(x, other="a", bar=3)
torch.eq(x, x, out="s")
torch.eq(x, [1])
torch.eq(x, None)
torch.eq(p, "a")
x.eq("a")
x.eq_("a")
x.eq(foo=1)
torch.bitwise_and(x, "a")
torch.logical_and(x, 3)
torch.gcd(x, 3)
torch.isnan()
torch.isnan(3)
torch.isclose(x, 3)
torch.isclose(x, x, rtol="a")
torch.equal(x, 3)
torch.round(x, decimals="a")
torch.round(x, 2)
x.round(2)
torch.heaviside(x, 3)
torch.atan2(x, 3)
torch.copysign(x, "a")
torch.ldexp(x, 3)
torch.hypot(x, 3)
torch.relu(3)
torch.special.expit(3)
torch.special.entr(3)
torch.special.xlog1py(x, "a")
torch.special.polygamma(1, 2)
torch.special.round(x, decimals="a")
torch.xlogy(2, 3)
torch.polygamma(True, x)
x.polygamma("a")
torch.logit(x, "a")
torch.mvlgamma(x, "a")
torch.clamp(x, "a")
torch.clamp(x, x, 0.5)
torch.clip(x, max="a")
torch.clamp_min(x, "a")
x.clamp_max_("a")
torch.where(x > 0, x)
x.where(x > 0, "a")
x.masked_fill(x > 0, "a")
torch.maximum(x, 3)
torch.nan_to_num(x, "a")
torch.complex(x, 3)
torch.polar(x, x, out=3)
torch.angle()
torch.real(3)
x.conj(3)
torch.conj_physical_(3)
"""


def refusal(module, call):
    names = {"torch": module, "x": module.ones(3), "p": module.nn.Parameter(module.ones(3))}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    return str(caught.value)


@pytest.mark.parametrize("call", REFUSED.strip().splitlines())
def test_a_refused_call_is_refused_in_the_words_of_pytorch(call):
    assert refusal(ours, call) == refusal(torch, call)


TAKEN = """
torch.add(x, 2, x)
torch.add(x, x, alpha=torch.tensor(3.0))
torch.mul(x=x, x2=y)
torch.neg(a=y)
torch.eq(x, other=2)
torch.pow(self=2, exponent=y)
torch.div(x, y, rounding_mode=None)
torch.round(y, decimals=1)
y.round(decimals=0)
torch.isclose(x, y, 1, equal_nan=True)
torch.abs_(input=y)
torch.multiply(y, 2)
y.true_divide_(3)
torch.clamp(y, torch.tensor(0.0), 0.75)
y.where(y > 0, 2)
torch.where(y > 0, 2, x)
torch.xlogy(0, x)
torch.special.round(y)
"""


@pytest.mark.filterwarnings("ignore:This overload of add is deprecated")
@pytest.mark.parametrize("call", TAKEN.strip().splitlines())
def test_a_call_by_any_of_the_signatures_is_taken(call):
    found = []
    for module in (torch, ours):
        x, y = module.ones(3), module.tensor([0.5, -1.25, 3.0])
        found.append(eval(call, {"torch": module, "x": x, "y": y}).tolist())
    assert found[0] == found[1]


def test_an_overload_that_is_no_longer_listed_warns_in_the_words_of_pytorch():
    said = []
    torch.set_warn_always(True)
    for module in (torch, ours):
        x = module.ones(3)
        with pytest.warns(UserWarning, match="This overload of sub_ is deprecated") as caught:
            x.sub_(2, x)
        said.append(str(caught[0].message).partition(" (Triggered")[0])
    torch.set_warn_always(False)
    assert said[0] == said[1]


def test_a_tensor_that_is_given_for_a_number_is_read_on_every_call():
    x, y = ours.ones(3), ours.ones(3)
    for k in range(100):
        assert ours.add(x, y, alpha=ours.tensor(float(k))).tolist() == [1.0 + k] * 3


def test_two_threads_may_make_the_first_call(monkeypatch):
    arguments = signature.Arguments("f", "input, Number other=1, *, str mode='a', out", "function")
    canonical, seen = signature._canonical, []

    def meanwhile(parameter):
        """The other thread calls while this one reads the signatures."""
        if not seen:
            seen.append(None)
            other = threading.Thread(target=lambda: seen.append(arguments((x, 2), {})))
            other.start()
            other.join()
        return canonical(parameter)

    x = ours.ones(3)
    monkeypatch.setattr(signature, "_canonical", meanwhile)
    expected = (x, 2, "a", None)
    assert arguments((x, 2), {}) == expected
    assert seen[1:] == [expected]
    assert arguments((x, 2), {}) == expected
