"""Kernels between processes: kept under a seal, built by a process apart, taken for good."""

import dataclasses
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile import cache, store
from funcgrad.kernels import ahead, choice, helper, load
from funcgrad.kernels.choice import entries
from funcgrad.ops.transcendental import tanh

PROGRAM = """
import hashlib, sys, numpy as np, funcgrad as fg
from funcgrad.kernels.choice import entries
from funcgrad.ops.transcendental import tanh
x = np.linspace(-2, 2, 1 << 16)
def loss(x):
    return np.sum(np.tanh(x) * np.exp(-x**2) + np.log1p(x**2))
g = [fg.grad(loss)(x).tobytes() for _ in range(4)]
assert g[0] == g[1] == g[2] == g[3]
fg.config.kernels = False
np.testing.assert_allclose(np.frombuffer(g[0]), fg.grad(loss)(x), rtol=1e-12, atol=1e-14)
print(hashlib.sha256(g[0]).hexdigest(), sum(e.calls for e in entries.values()),
      "numba" in sys.modules)
"""


def run(place, **settings):
    environment = {"FUNCGRAD_CACHE_DIR": str(place), "FUNCGRAD_BUILD_KERNELS": "off"} | settings
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, check=True, env=os.environ | environment,
    )  # fmt: skip
    return (*made.stdout.split(), made.stderr)


def files(place):
    return sorted(p for p in place.rglob("*") if p.is_file())


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("turn", range(4))
def test_whatever_is_damaged_is_built_again(tmp_path, turn):
    """Each file is damaged in another way in each turn."""
    rng = random.Random(turn)
    bits, *_ = run(tmp_path, FUNCGRAD_KERNELS="always")
    whole = {p: p.read_bytes() for p in files(tmp_path)}
    assert len(whole) > 6
    for k, (p, content) in enumerate(whole.items()):
        spoiled = bytearray(content)
        damage = ("bit", "end", "nothing", "other")[(k + turn) % 4]
        if damage == "bit":
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
        elif damage == "end":
            del spoiled[rng.randrange(len(spoiled)) :]
        elif damage == "nothing":
            spoiled.clear()
        else:
            spoiled[:] = whole[rng.choice([q for q in whole if q != p])]
        p.write_bytes(spoiled)
    assert run(tmp_path)[1:3] == ("0", "False")  # nothing may be used: NumPy's rule runs
    found, calls, numba, said = run(tmp_path, FUNCGRAD_KERNELS="always")
    assert (found, numba) == (bits, "True")
    assert "RuntimeWarning: compiled code" in said
    assert run(tmp_path)[:3] == (bits, calls, "False")


def test_a_process_apart_builds_what_was_asked_for(tmp_path, monkeypatch):
    expected, *_ = run(tmp_path / "known", FUNCGRAD_KERNELS="always")
    place = tmp_path / "asked"
    _, calls, numba, _ = run(place, FUNCGRAD_BUILD_KERNELS="on")
    assert (calls, numba) == ("0", "False")  # and it ended, whatever the helper does
    monkeypatch.setattr(fg.config, "cache_directory", str(place))
    assert [p for p in files(place) if p.name.startswith(helper.REQUEST)] or len(files(place)) > 5
    while (lock := store.lock(helper.LOCK)) is None:
        time.sleep(0.1)  # until the helper has nothing left to do
    os.close(lock)
    assert not [p for p in files(place) if p.name.startswith(helper.REQUEST)]
    found, calls, numba, _ = run(place)
    assert (found, numba) == (expected, "False")
    assert int(calls) > 0


@pytest.fixture
def cold(monkeypatch, tmp_path):
    """Nothing is there yet, and nobody builds."""
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path))
    monkeypatch.setattr(cache, "_recent", type(cache._recent)())
    monkeypatch.setattr(cache, "_libraries", type(cache._libraries)())
    entries.clear()
    asked = []
    monkeypatch.setattr(helper, "ask", asked.append)
    yield asked
    entries.clear()


def test_a_process_takes_a_kernel_once_and_for_all(cold):
    x = np.linspace(-2, 2, choice.FEWEST)
    gradient = fg.grad(lambda x: np.sum(np.tanh(x)))
    by_rule = [gradient(x).tobytes() for _ in range(3)]
    (kernel,) = cold  # asked for once
    load.make(kernel)
    by_kernel = [gradient(x).tobytes() for _ in range(3)]
    assert len(set(by_rule)) == len(set(by_kernel)) == 1
    (entry,) = entries.values()
    assert entry.calls == 3
    np.testing.assert_allclose(np.frombuffer(by_kernel[0]), 1 - np.tanh(x) ** 2, atol=1e-15)


def test_the_name_of_a_missing_kernel_is_made_once(cold, monkeypatch):
    gradient = fg.grad(lambda x: np.sum(np.tanh(x)))
    gradient(np.linspace(-2, 2, choice.FEWEST))
    (kernel,) = cold
    misses = load._digest.cache_info().misses, store._path.cache_info().misses
    for _ in range(5):
        gradient(np.linspace(-2, 2, choice.FEWEST))
        assert not load.arrived(kernel)
    assert misses == (load._digest.cache_info().misses, store._path.cache_info().misses)
    host, name = load.host(), load._key(kernel)
    monkeypatch.setattr(load, "host", lambda: dataclasses.replace(host, features="none"))
    assert load._key(kernel) != name


def test_the_store_follows_the_settings_and_the_environment(monkeypatch, tmp_path):
    seen = [store.path()]
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        monkeypatch.setattr(fg.config, "cache_directory", "kept")
        seen.append(store.path())
        assert seen[-1].startswith(str(tmp_path / place))
        monkeypatch.setattr(fg.config, "cache_directory", None)
        monkeypatch.setenv("LOCALAPPDATA" if os.name == "nt" else "HOME", str(tmp_path / place))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        seen.append(store.path())
        assert seen[-1].startswith(str(tmp_path / place))
    assert len(set(seen)) == 5


def test_a_kernel_that_cannot_be_built_is_not_asked_for_again(cold, monkeypatch):
    x = np.linspace(-2, 2, choice.FEWEST)
    gradient = fg.grad(lambda x: np.sum(np.tanh(x)))
    gradient(x)
    (kernel,) = cold
    monkeypatch.setattr(load, "dispatcher", lambda name: None)
    load.make(kernel)
    with pytest.warns(RuntimeWarning, match="cannot be used, NumPy runs instead"):
        gradient(x)
    entries.clear()
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        gradient(x)
    assert len(cold) == 1


def test_who_does_not_start_a_helper(monkeypatch):
    monkeypatch.setattr(fg.config, "build_kernels", True)
    monkeypatch.setattr(fg.config, "cache", True)
    assert helper._possible()
    assert "another process" in helper.state()
    child = os.fork()
    if not child:
        os._exit(3 if helper._possible() else 0)
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    assert not helper._possible()
    monkeypatch.undo()
    monkeypatch.setattr(fg.config, "build_kernels", False)
    assert not helper._possible()
    assert "python -m funcgrad.kernels build" in helper.state()


def test_one_helper_at_a_time(monkeypatch, tmp_path):
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path))
    first = store.lock("a")
    assert first is not None
    assert store.lock("a") is None
    os.close(first)
    second = store.lock("a")
    assert second is not None
    os.close(second)


def test_common_kernels_are_built_ahead(cold, monkeypatch):
    """What is built ahead is what a program asks for."""
    monkeypatch.setattr(fg.config, "kernels", True)

    monkeypatch.setattr(ahead, "FLOATS", ahead.FLOATS[:1])
    monkeypatch.setattr(ahead.elementwise, "primitives", lambda: [tanh.primitive])
    for part in ("_reductions", "_values", "_updates"):
        monkeypatch.setattr(ahead, part, lambda: iter(()))
    assert ahead.build() == 0
    fg.config.kernels = True
    entries.clear()
    x = np.linspace(-2, 2, choice.FEWEST)
    fg.grad(lambda x: np.sum(np.tanh(x)))(x)
    fg.grad(lambda x: np.sum(np.tanh(np.tanh(x))))(x)
    assert not cold
    assert sum(e.calls for e in entries.values()) == 3
