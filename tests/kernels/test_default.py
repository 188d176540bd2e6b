"""What a user gets without any setting: kernels of large arrays whose code is there, the same bits
at every call, and a program that waits for nothing.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import choice, explain, load
from funcgrad.kernels.choice import Entry, entries
from funcgrad.kernels.native import kind


def executed(names):
    return {n: sum(e.calls for e in entries.values() if e.name == n) for n in names}


def by_kernels(step, names, monkeypatch):
    """The result of a step, which these kernels took a part in; the second one has its bits."""
    monkeypatch.setattr(fg.config, "kernels", "always")
    before = executed(names)
    found = step().copy()
    assert all(count > before[n] for n, count in executed(names).items()), explain()
    np.testing.assert_array_equal(found, step())
    return found


NAMES = {"tanh_backward", "sin_backward"}


def test_a_gradient_runs_functions_of_numba(monkeypatch):
    import numba

    x = np.linspace(-2, 2, 10**6)
    gradient = fg.grad(lambda x: np.sum(np.tanh(x) * np.sin(x)))
    g = by_kernels(lambda: gradient(x), NAMES, monkeypatch)
    for e in [e for e in entries.values() if e.name in NAMES]:
        assert isinstance(load.dispatcher(e.name), numba.core.dispatcher.Dispatcher)
        assert f"{e.name} ({e.types}): native code" in explain()
    exact = np.sin(x) / np.cosh(x) ** 2 + np.tanh(x) * np.cos(x)
    np.testing.assert_allclose(g, exact, rtol=1e-12, atol=1e-14)


def test_hooks_do_not_change_what_runs(monkeypatch):
    x = torch.linspace(-2, 2, 10**6, dtype=torch.float64).requires_grad_()
    seen = []

    def step():
        x.grad = None
        y = torch.logsumexp(x.reshape(1000, 1000), 1)
        y.register_hook(lambda g: seen.append(g.shape))
        y.sum().backward()
        return x.grad.numpy()

    by_kernels(step, {"logsumexp_backward_along"}, monkeypatch)
    assert set(seen) == {(1000,)}


def test_special_values_are_masked_as_by_the_rule():
    x = np.linspace(0, 1, 1 << 16)

    def gradient(kernels):
        fg.config.kernels = kernels
        try:
            return fg.grad(lambda x: np.sum(np.where(x > 0, np.log(x) * np.sqrt(x), 0.0)))(x)
        finally:
            fg.config.kernels = True

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient("always"), gradient(False), rtol=1e-13)


def run(code, **environment):
    text = f"import numpy as np, sys, funcgrad as fg\n{code}\nprint('numba' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"FUNCGRAD_BUILD_KERNELS": "off"} | environment,
    )
    return out.stdout.strip()


GRADIENT = "fg.grad(lambda x: np.sum(np.tanh(x) * x))(np.linspace(0, 1, 10**5))"
CALLS = "from funcgrad.kernels.choice import entries; n = [e.calls for e in entries.values()]"


def test_small_arrays_never_ask_for_kernels(tmp_path):
    code = "for _ in range(300): fg.grad(lambda x: np.sum(np.tanh(x) * x))(np.ones(100))"
    assert run(f"{code}\n{CALLS}; assert not n", FUNCGRAD_CACHE_DIR=str(tmp_path)) == "False"


def test_a_program_does_not_wait_for_numba(tmp_path):
    code = f"for _ in range(50): {GRADIENT}\n{CALLS}; assert n and not any(n)"
    assert run(code, FUNCGRAD_CACHE_DIR=str(tmp_path)) == "False"


def test_kernels_can_be_switched_off(tmp_path):
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    assert run(GRADIENT, FUNCGRAD_KERNELS="always", **place) == "True"
    assert run(f"{GRADIENT}; {CALLS}; assert all(n)", **place) == "False"
    assert run(f"{GRADIENT}; {CALLS}; assert not any(n)", FUNCGRAD_KERNELS="off", **place)


def test_kernels_can_be_wanted_from_the_first_use_on(tmp_path):
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    code = f"{GRADIENT}; {CALLS}; assert all(n)"
    assert run("fg.config.kernels = 'always'\n" + code, **place) == "True"
    # what is on disk does not need Numba
    assert run(code, FUNCGRAD_KERNELS="always", **place) == "False"
    with pytest.raises(ValueError, match=r"config\.kernels"):
        fg.config.kernels = "sometimes"


def test_the_next_processes_have_the_bits_of_this_one_from_the_first_call_on(tmp_path):
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    code = (
        f"g = [{GRADIENT} for _ in range(20)]\n"
        "assert all(x.tobytes() == g[0].tobytes() for x in g)\n"
        "import hashlib; print(hashlib.sha256(g[0].tobytes()).hexdigest())\n"
        f"{CALLS}; assert n and all(x == 20 for x in n)"
    )
    first, _ = run(code, FUNCGRAD_KERNELS="always", **place).split()
    for threads in ("1", "2", "3"):
        assert run(code, FUNCGRAD_THREADS=threads, **place).split() == [first, "False"]


def test_without_a_store_kernels_are_built_if_they_are_wanted():
    code = f"{GRADIENT}; {CALLS}; assert all(n)"
    assert run(code, FUNCGRAD_KERNELS="always", FUNCGRAD_CACHE="off") == "True"
    code = f"{GRADIENT}; {CALLS}; assert not any(n)\nassert 'not there' in fg.kernels.explain()"
    assert run(code, FUNCGRAD_CACHE="off") == "False"


INTERRUPTED = """
import os, signal
from funcgrad.kernels import load
dispatcher, interrupts = load.dispatcher, 0
def interrupted(name):
    os.kill(os.getpid(), signal.SIGINT)
    found = dispatcher(name)
    os.kill(os.getpid(), signal.SIGINT)
    return found
load.dispatcher = interrupted
for _ in range(4):
    try:
        fg.grad(lambda x: np.sum(np.tanh(x)))(np.ones(10**5))
    except KeyboardInterrupt:
        interrupts += 1
assert interrupts == 1, interrupts
"""


def test_an_interrupt_waits_until_a_kernel_is_built(tmp_path):
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path), "FUNCGRAD_KERNELS": "always"}
    code = f"import warnings; warnings.simplefilter('error'){INTERRUPTED}{CALLS}; assert n == [3]"
    assert run(code, **place) == "True"


def test_a_kernel_that_cannot_be_built_is_reported_once(monkeypatch, tmp_path, recwarn):
    def broken(name):
        raise ImportError("no Numba today")

    monkeypatch.setattr(load, "dispatcher", broken)
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path))
    monkeypatch.setattr(fg.config, "kernels", "always")
    monkeypatch.setattr(choice, "entries", {})
    entry = Entry("tanh_backward", "test")
    kinds = (kind(1), kind(np.ones(3)))
    assert entry.taken()
    for _ in range(2):
        assert entry.code("pieces", kinds) is None
        assert not entry.taken()
    (warning,) = recwarn
    assert "no Numba today" in str(warning.message)
    assert "cannot be compiled" in str(entry)
