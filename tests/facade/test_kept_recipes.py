"""Recipes on disk: the next process follows them from the first call on, with the same bits.

Each program runs in new processes that share a folder, the first of which finds nothing there.
"""

import os
import subprocess
import sys

import pytest

HEAD = """
import hashlib
import warnings
import funcgrad
import funcgrad.torch as torch
from funcgrad.torch import recipes, recorders, remembered

F = torch.nn.functional
printed = []
for module, name in ((recipes._Writer, "write"), (recorders, "_text")):
    def counted(*args, of=getattr(module, name)):
        printed.append(of)
        return of(*args)
    setattr(module, name, counted)


def bits(x):
    return None if x is None else hashlib.md5(x.detach()._t.value.tobytes()).hexdigest()[:8]


def node(y):
    names = [n for n in dir(y.grad_fn) if n.startswith("_saved_")]
    shown = [(n, getattr(y.grad_fn, n)) for n in names]
    shown = [(n, bits(v) if isinstance(v, torch.Tensor) else v) for n, v in shown]
    return y.grad_fn.name(), len(y.grad_fn.next_functions), shown
"""
OPERATIONS = """
from benchmarks.facade_operations import OPERATIONS, Given

for size in (3, 1000):
    for dtype in (torch.float32, torch.float64):
        given = Given(torch, size, dtype)
        for name, f in OPERATIONS.items():
            x = torch.linspace(0.1, 0.9, size, dtype=dtype).requires_grad_()
            z = torch.linspace(0.9, 0.2, size, dtype=dtype).requires_grad_()
            found = set()
            for _ in range(20):
                x.grad = z.grad = None
                y = f(torch, x, z, given)
                told = y.dtype, y.shape, y.stride(), y._is_view(), y._t.kind is None, bits(y)
                y.backward(torch.linspace(-1.0, 1.0, y.numel(), dtype=dtype).reshape(y.shape))
                found.add((told, bits(x.grad), bits(z.grad)))
            print(name, size, dtype, *found, node(f(torch, x, z, given)))
"""
SETTINGS = {"FUNCGRAD_CACHE": "on", "FUNCGRAD_BUILD_KERNELS": "off"}


def run(program, folder, **settings):
    """What a new process prints, and how many programs it has printed."""
    code = f"{HEAD}\n{program}\nprint(len(printed))"
    environment = {
        **os.environ, "FUNCGRAD_CACHE_DIR": str(folder), **SETTINGS, **settings,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True)  # fmt: skip
    assert not done.returncode, done.stderr
    *lines, count = done.stdout.splitlines()
    return lines, int(count)


def test_the_next_process_has_the_same_bits_from_the_first_call_on(tmp_path):
    cold, written = run(OPERATIONS, tmp_path)
    warm, again = run(OPERATIONS, tmp_path)
    assert warm == cold  # one set of bits an operation in either
    assert written > 200
    assert again < 20  # of what cannot be kept
    assert run(OPERATIONS, tmp_path, FUNCGRAD_THREADS="1")[0] == cold


def test_what_is_kept_without_kernels_is_not_taken_with_them(tmp_path):
    program = """
x = torch.linspace(-1.0, 1.0, 1000).requires_grad_()
for _ in range(20):
    y = F.silu(x)
    y.sum().backward()
print(bits(y), bits(x.grad))
"""
    plain = run(program, tmp_path, FUNCGRAD_KERNELS="off")
    native = run(program, tmp_path)
    assert native[0] == run(program, tmp_path / "other")[0]
    assert run(program, tmp_path, FUNCGRAD_KERNELS="off") == (plain[0], 0)
    assert run(program, tmp_path) == (native[0], 0)


@pytest.mark.parametrize(
    "call",
    ["x.expand(2, 3, 3).T", "x.add(0.5, x)", "torch.tensor(1j).expand(3).to(torch.float32)"],
)
def test_what_warns_once_warns_in_every_process(call, tmp_path):
    program = f"""
x = torch.ones(3, 3, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(40):
        y = {call}
print(sorted(str(w.message)[:40] for w in caught))
"""
    first = run(program, tmp_path)[0]
    assert first[0] != "[]"
    assert run(program, tmp_path)[0] == first


def test_refusals_come_in_place_of_what_is_kept(tmp_path):
    program = """
x = torch.ones(3, requires_grad=True)
at = torch.tensor([0, 2])
for _ in range(20):
    x[at].sum().backward()
    torch.index_select(x, 0, at).sum().backward()
print(bits(x.grad))
"""
    wrong = """
x = torch.ones(3, requires_grad=True)
for f in (lambda at: x[at], lambda at: torch.index_select(x, 0, at)):
    for numbers in ([0, 5], [-1, 2], [0, 2]):
        try:
            print(bits(f(torch.tensor(numbers))))
        except Exception as error:
            print(type(error).__name__, error)
"""
    alone = run(wrong, tmp_path / "other")[0]
    run(program, tmp_path)
    assert run(wrong, tmp_path)[0] == alone


def test_damaged_entries_are_written_anew(tmp_path):
    program = """
x = torch.linspace(-1.0, 1.0, 5).requires_grad_()
for _ in range(20):
    torch.where(x > 0, x, x * 0.5).sum().backward()
print(bits(x.grad))
"""
    first = run(program, tmp_path)
    for entry in tmp_path.rglob("*"):
        if entry.is_file():
            entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert run(program, tmp_path)[0] == first[0]
    assert run(program, tmp_path) == (first[0], 0)


def test_nothing_is_kept_where_the_cache_is_off(tmp_path):
    program = "x = torch.ones(3, requires_grad=True)\nfor _ in range(20): x.sum().backward()"
    count = run(program, tmp_path, FUNCGRAD_CACHE="off")[1]
    assert count
    assert run(program, tmp_path, FUNCGRAD_CACHE="off")[1] == count
