"""What a user gets without any setting: Numba's functions where they pay, and only there."""

import os
import stat
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.compile import store
from funcgrad.kernels import choice, explain, load
from funcgrad.kernels.choice import Entry, entries


def executed(names):
    return {n: sum(e.calls for e in entries.values() if e.name == n) for n in names}


def until_taken(step, names):
    """Repeat a step until NumPy has spent what the kernels cost, and they run."""
    for _ in range(1000):
        before = executed(names)
        result = step()
        if all(executed(names)[n] > before[n] for n in names):
            return result
    raise AssertionError(explain())


NAMES = {"tanh_backward", "sin_backward"}


def test_a_gradient_runs_functions_of_numba():
    import numba

    x = np.linspace(-2, 2, 10**6)
    gradient = fg.grad(lambda x: np.sum(np.tanh(x) * np.sin(x)))
    g = until_taken(lambda: gradient(x), NAMES)
    taken = [e for e in entries.values() if e.calls]
    for e in taken:
        assert isinstance(e.function, numba.core.dispatcher.Dispatcher)
        assert e.function.signatures
        assert f"{e.name} ({e.types}): numba" in explain()
    exact = np.sin(x) / np.cosh(x) ** 2 + np.tanh(x) * np.cos(x)
    np.testing.assert_allclose(g, exact, rtol=1e-12, atol=1e-14)


def test_backward_of_a_tensor_runs_functions_of_numba():
    x = torch.linspace(-2, 2, 10**6, dtype=torch.float64).requires_grad_()

    def step():
        x.grad = None
        (torch.tanh(x) * torch.sin(x)).sum().backward()
        return x.grad.numpy()

    g, v = until_taken(step, NAMES), x.detach().numpy()
    exact = np.sin(v) / np.cosh(v) ** 2 + np.tanh(v) * np.cos(v)
    np.testing.assert_allclose(g, exact, rtol=1e-12, atol=1e-14)


def test_hooks_do_not_change_what_runs():
    x = torch.linspace(-2, 2, 10**6, dtype=torch.float64).requires_grad_()
    seen = []

    def step():
        x.grad = None
        y = torch.tanh(x)
        y.register_hook(lambda g: seen.append(g.shape))
        y.sum().backward()
        return x.grad.numpy()

    until_taken(step, {"tanh_backward"})
    assert set(seen) == {(10**6,)}


def test_special_values_are_masked_as_by_the_rule():
    x = np.linspace(0, 1, 1 << 16)

    def gradient(kernels):
        fg.config.kernels = kernels
        try:
            return fg.grad(lambda x: np.sum(np.where(x > 0, np.log(x) * np.sqrt(x), 0.0)))(x)
        finally:
            fg.config.kernels = True

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-13)


def run(code, **environment):
    text = f"import numpy as np, sys, funcgrad as fg\n{code}\nprint('numba' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return out.stdout.strip()


def test_small_arrays_never_wait_for_numba():
    code = "for _ in range(300): fg.grad(lambda x: np.sum(np.tanh(x) * x))(np.ones(1000))"
    assert run(code) == "False"


def test_a_short_program_does_not_wait_for_numba(tmp_path):
    code = "fg.grad(lambda x: np.sum(np.tanh(x) * x))(np.ones(10**5))"
    assert run(code, FUNCGRAD_CACHE_DIR=str(tmp_path)) == "False"


def test_kernels_can_be_switched_off():
    code = (
        "from funcgrad.kernels import choice\n"
        "choice.IMPORT = choice.COMPILE = choice.READ = 0\n"
        "fg.grad(lambda x: np.sum(np.tanh(x) * x))(np.ones(10**5))"
    )
    assert run(code, FUNCGRAD_KERNELS="off") == "False"
    assert run(code) == "True"


def test_kernels_can_be_wanted_from_the_first_use_on(tmp_path):
    code = (
        "x = np.linspace(0.1, 1.0, 10**5)\n"
        "grads = [fg.grad(lambda x: np.sum(np.sin(x) / x))(x) for _ in range(3)]\n"
        "assert all((g == grads[0]).all() for g in grads)"
    )
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    assert run(code, FUNCGRAD_KERNELS="always", **place) == "True"
    assert run("fg.config.kernels = 'always'\n" + code, **place) == "True"
    assert run(code, **place) == "False"
    with pytest.raises(ValueError, match=r"config\.kernels"):
        fg.config.kernels = "sometimes"


def test_the_next_process_finds_them_on_disk(tmp_path):
    grad = "fg.grad(lambda x: np.sum(np.tanh(x)))(np.ones({}))"
    eager = "from funcgrad.kernels import choice as c\nc.IMPORT = c.COMPILE = c.READ = 0\n"
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path)}
    assert run(grad.format(10**6), **place) == "False"
    assert run(eager + grad.format(10**6), **place) == "True"
    (folder,) = (tmp_path / "kernels-1").iterdir()
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))
    assert run(grad.format(10**6), **place) == "False"  # one gradient does not wait for Numba
    calls = "from funcgrad.kernels.choice import entries; n = [e.calls for e in entries.values()]"
    for size, count in ((10**6, 1), (10**5, 0)):
        run(f"import numba; {grad.format(size)}; {calls}; assert sum(n) == {count}, n", **place)


INTERRUPTED = """
import os, signal, threading
from funcgrad.kernels import choice, load
choice.IMPORT = choice.COMPILE = choice.READ = 0
fg.config.cache_directory = {folder!r}
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
assert [e.calls for e in choice.entries.values()] == [4 - interrupts]
"""


def test_an_interrupt_waits_until_numba_is_imported(tmp_path):
    assert run("import warnings; warnings.simplefilter('error')" +
               INTERRUPTED.format(folder=str(tmp_path))) == "True"  # fmt: skip


def test_processes_may_compile_the_same_kernel_at_once(tmp_path):
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "from funcgrad.kernels import choice as c\nc.IMPORT = c.COMPILE = c.READ = 0\n"
        "g = fg.grad(lambda x: np.sum(np.tanh(x)))(np.linspace(0.0, 1.0, 10**5))\n"
        "assert [e.calls for e in c.entries.values()] == [1]\n"
        "print(g.tobytes()[-80:].hex())"
    )
    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(run, code, FUNCGRAD_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    first, *others = [r.result() for r in results] + [run(code, FUNCGRAD_CACHE_DIR=str(tmp_path))]
    assert all(other == first for other in others)


def test_what_other_versions_have_compiled_is_not_known(tmp_path, monkeypatch):
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path))
    fingerprint = load.fingerprint.__wrapped__
    load.note("tanh_backward:a")
    assert load.known("tanh_backward:a")
    assert not load.known("tanh_backward:b")
    before, version = fingerprint(), metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "0.1" if name == "numba" else version(name)
    )
    assert fingerprint() != before
    monkeypatch.setattr(load, "fingerprint", fingerprint)
    assert not load.known("tanh_backward:a")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners")
def test_a_folder_where_others_can_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(fg.config, "cache_directory", str(tmp_path / "base"))
    folder = store.private_folder("kernels-1")
    assert folder is not None
    os.chmod(folder, 0o770)
    with pytest.warns(RuntimeWarning, match="mode is 770"):
        assert store.private_folder("kernels-1") is None
    os.chmod(folder, 0o700)
    os.chmod(tmp_path / "base", 0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert store.private_folder("kernels-1") is None
    os.chmod(tmp_path / "base", 0o700)
    os.rename(folder, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder)
    assert store.private_folder("kernels-1") is None


def test_a_kernel_that_cannot_be_loaded_is_reported_once(monkeypatch):
    def broken(name):
        raise ImportError("no Numba today")

    monkeypatch.setattr(load, "dispatcher", broken)
    monkeypatch.setattr(choice, "IMPORT", 0.0)  # Numba may not be there yet: each test on its own
    monkeypatch.setattr(choice, "COMPILE", 0.0)
    entry = Entry("tanh_backward", "test")
    entry.seconds = 10.0
    entry.on_disk = False
    with pytest.warns(RuntimeWarning, match="no Numba today"):
        assert not entry.taken(10**6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not entry.taken(10**6)
    assert "cannot be compiled" in str(entry)
