"""Names that are not here say why, and what has no GPU behind it answers so, as PyTorch's CPU."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import funcgrad.torch as ours
from funcgrad.torch.names import NAMES, VERSION

from .both import same, theirs

REFUSED = [
    ("sparse_coo_tensor", "only dense tensors"), ("quantize_per_tensor", "quantised"),
    ("jit", "funcgrad.torch.compile compiles"), ("float8_e4m3fn", "NumPy has no such dtype"),
    ("SymInt", "shapes are numbers"), ("nested", "nested"), ("mps", "only the CPU"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "why"), REFUSED)
def test_a_name_that_is_refused_says_why(name, why):
    with pytest.raises(AttributeError, match=rf"torch.{name} of PyTorch .* not meant .*{why}"):
        getattr(ours, name)


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(AttributeError, match=r"no attribute 'tensr'; did you mean 'tensor'\?"):
        _ = ours.tensr
    with pytest.raises(AttributeError, match=r"did you mean 'Linear'\?"):
        _ = ours.nn.Linaer
    assert not hasattr(ours, "_nothing")


def test_a_name_that_means_another_thing_below_is_not_refused_there():
    for name in ("cond", "eig", "lstsq"):
        try:
            getattr(ours.linalg, name)
        except AttributeError as error:
            assert "not written yet" in str(error)


def test_the_list_of_names_is_that_of_pytorch():
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
    try:
        import write_torch_names as writer
    finally:
        sys.path.pop(0)
    assert theirs.__version__.split("+")[0] == VERSION
    assert {title: writer.public(title) for title in writer.MODULES} == {
        title: text.split() for title, text in NAMES.items()
    }


def constants(torch, say):
    say(torch.pi, torch.e, torch.inf, torch.nan, torch.newaxis)
    x = torch.arange(3.0)
    say(x[:, torch.newaxis], tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 0))


def devices(torch, say):
    c = torch.cuda
    say(c.is_available(), c.device_count(), c.is_initialized(), c.is_bf16_supported())
    say(c.memory_allocated(), c.get_arch_list(), c.empty_cache(), c.manual_seed_all(3))
    say(torch.device("cuda" if c.is_available() else "cpu"))
    for name in ("current_device", "synchronize", "get_device_name", "init", "current_stream"):
        try:
            getattr(c, name)()
        except AssertionError as error:
            say(name, error)
    b = torch.backends
    say(b.cuda.is_built(), b.cudnn.is_available(), b.cudnn.version(), b.mps.is_available())
    say(b.cudnn.benchmark, b.cudnn.deterministic, b.cudnn.enabled)
    b.cudnn.benchmark, b.cudnn.deterministic = False, False
    say(torch.get_default_device(), torch.get_float32_matmul_precision())
    torch.set_default_device("cpu")
    say(torch.ones(1).device)
    torch.set_default_device(None)
    torch.set_float32_matmul_precision("high")
    say(torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("program", [constants, devices], ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)


def test_another_device_is_refused_when_it_is_set():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        ours.set_default_device("cuda")
    assert ours.ones(1).device == ours.device("cpu")
    with pytest.raises(AttributeError, match="no switch 'bench'"):
        ours.backends.cudnn.bench = True
    assert math.isnan(ours.nan)
