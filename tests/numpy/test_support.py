"""`supports`: every public function of NumPy has a rule, or a mark that says why not."""

from __future__ import annotations

import importlib
import types
from typing import Any

import numpy as np
import pytest
import write_coverage
from call_patterns import PATTERNS

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import FuncgradError

MODULES = [np, np.linalg, np.fft, np.lib.stride_tricks, np.emath]


def functions() -> list[Any]:
    found = []
    for module in MODULES:
        for name in dir(module):
            thing = getattr(module, name) if name != "core" else None
            if name.startswith("_") or isinstance(thing, type) or not callable(thing):
                continue
            found.append(pytest.param(thing, id=f"{module.__name__}.{name}"))
    return found


@pytest.mark.parametrize("function", functions())
def test_every_public_function_has_a_rule_or_a_reason(function: Any) -> None:
    found = fg.supports(function)
    assert found.kind != "unknown"
    assert bool(found) == (found.kind in ("differentiable", "locally constant"))
    assert found or found.reason != "there is no rule for it", str(found)


def test_every_method_of_arrays_has_an_answer() -> None:
    methods = [n for n in dir(np.ndarray) if not n.startswith("_")]
    for name in methods:
        method = getattr(np.ndarray, name)
        if isinstance(method, types.MethodDescriptorType):
            found = fg.supports(method)
            assert found or found.reason, name
    assert fg.supports(np.ndarray.argsort).kind == "locally constant"
    assert fg.supports(np.ndarray.cumsum).kind == "differentiable"
    assert "cut the gradient" in fg.supports(np.ndarray.tolist).reason


HEADS = {p.text.split("(")[0]: p for p in PATTERNS if p.text.startswith("np.")}


@pytest.mark.parametrize("head", HEADS)
def test_what_is_stated_is_what_the_calls_show(head: str) -> None:
    parts = head.split(".")[1:]
    function: Any = np
    for part in parts:
        function = getattr(function, part, None)
    if not callable(function) or isinstance(function, type) or parts[0] == "polynomial":
        return
    same = [p for p in PATTERNS if p.text.startswith(head + "(") and p.text.count("np.") == 1]
    for p in same:
        found = fg.supports(function)
        assert found
        if "constant" in p.flags:
            assert found.kind == "locally constant" or p.text.startswith("np.heaviside")
        elif p.text.endswith(")"):
            assert found.kind == "differentiable", str(p)
        assert "jit" in found.transforms or "constant" in p.flags


def test_answers_for_people() -> None:
    assert str(fg.supports(np.sin)) == "differentiable in reverse, forward, jit, vmap"
    assert fg.supports(fnp.sin) == fg.supports(np.sin) == fg.supports(np.add.outer)
    assert fg.supports(fnp.argmax) == fg.supports(np.argmax)
    assert fg.supports(np.floor).kind == fg.supports(np.less).kind == "locally constant"
    assert fg.supports(np.logaddexp.reduce) and fg.supports(np.maximum.accumulate)
    assert not fg.supports(np.busday_count) and "dates" in fg.supports(np.busday_count).reason
    assert fg.supports(np.unique).transforms == fg.supports(np.sin).transforms
    assert fg.supports(lambda x: x).kind == "unknown"


def test_the_page_on_coverage_is_made_of_the_answers() -> None:
    text = write_coverage.page()
    assert "unknown" not in text and "`interp`" in text and "## Methods of arrays" in text
    everywhere = next(line for line in text.splitlines() if line.startswith("**Differentiable.**"))
    assert "`sin`" in everywhere and "`argsort`" not in everywhere and "`unique`" in everywhere
    assert fg.supports(np.ndarray.searchsorted).kind == "locally constant"


def test_methods_of_distributions() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert fg.supports(stats.norm.logpdf).transforms == ("reverse", "forward", "jit", "vmap")
    assert fg.supports(stats.burr12(2.0, 3.0).median).kind == "differentiable"
    assert fg.supports(stats.poisson.ppf).kind == "locally constant"
    assert fg.supports(stats.gamma.interval).transforms == ("reverse", "forward")
    for refused in (stats.poisson.entropy, stats.norm.moment, stats.norm.fit, stats.norm.rvs):
        assert fg.supports(refused).kind == "no derivative"


def test_a_definition_that_only_refuses_is_no_support() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert fg.supports(stats.ppcc_max).kind == "no derivative"


def test_scipy_answers_too() -> None:
    special = pytest.importorskip("scipy.special")
    linalg = pytest.importorskip("scipy.linalg")
    assert fg.supports(special.erf) and fg.supports(special.logsumexp)
    assert fg.supports(linalg.expm)
    assert (
        not fg.supports(special.ellip_normal)
        and "no formula" in fg.supports(special.ellip_normal).reason
    )


@pytest.mark.parametrize("module", ["integrate", "linalg", "optimize", "special"])
def test_every_public_function_of_scipy_has_a_rule_or_a_reason(module: str) -> None:
    pytest.importorskip("scipy")
    space = importlib.import_module(f"scipy.{module}")
    for name in space.__all__:
        function = getattr(space, name)
        if callable(function) and not isinstance(function, type):
            found = fg.supports(function)
            assert found or not found.reason.startswith(("SciPy's code", "there is no")), name


@pytest.mark.parametrize("function", functions())
def test_no_function_without_a_rule_takes_a_traced_value_in_silence(function: Any) -> None:
    found = fg.supports(function)
    if found or found.reason.startswith(
        ("it makes", "it is a setting", "it is about types", "it writes")
    ):
        return

    def call(x: Any) -> Any:
        function(x)
        return x.sum()

    with pytest.raises((FuncgradError, TypeError, ValueError)):
        fg.grad(call)(np.ones(3))
