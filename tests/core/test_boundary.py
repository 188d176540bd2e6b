"""Tracebacks of errors that leave a transform: lines of the program only."""

import subprocess
import sys
import traceback

import numpy as np
import pytest

import funcgrad as fg


@pytest.fixture(autouse=True)
def shown(request):
    before, fg.config.traceback = fg.config.traceback, "program"
    yield
    fg.config.traceback = before


def wrong(x):
    return np.sum(x @ np.ones((2, 2)))


X = np.ones(3)
WAYS = {
    "grad": lambda: fg.grad(wrong)(X),
    "value_and_grad": lambda: fg.value_and_grad(wrong)(X),
    "vjp": lambda: fg.vjp(wrong, X),
    "a pullback": lambda: fg.vjp(np.sin, X)[1](np.ones(2)),
    "jvp": lambda: fg.jvp(wrong, (X,), (X,)),
    "hvp": lambda: fg.hvp(wrong, (X,), (X,)),
    "linearize": lambda: fg.linearize(wrong, X),
    "jacobian": lambda: fg.jacobian(wrong)(X),
    "jacfwd": lambda: fg.jacfwd(wrong)(X),
    "hessian": lambda: fg.hessian(wrong)(X),
    "vmap": lambda: fg.vmap(wrong)(np.ones((2, 3))),
    "jit": lambda: fg.jit(wrong)(X),
    "jit of grad": lambda: fg.jit(fg.grad(wrong))(X),
    "vmap of grad of jit": lambda: fg.vmap(fg.grad(fg.jit(wrong)))(np.ones((2, 3))),
    "checkpoint": lambda: fg.grad(fg.checkpoint(wrong))(X),
    "scan": lambda: fg.scan(lambda c, x: (wrong(X), None), 0.0, X),
    "cond": lambda: fg.jit(lambda x: fg.cond(x[0] > 0, wrong, np.sum, x))(X),
    "while_loop": lambda: fg.while_loop(lambda x: True, wrong, X),
    "eval_shape": lambda: fg.eval_shape(wrong, X),
    "make_graph": lambda: fg.make_graph(wrong)(X),
}


def files(error):
    return [entry.filename for entry in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("way", WAYS)
def test_frames_of_ours_are_hidden(way):
    with pytest.raises(Exception) as info:
        WAYS[way]()
    assert set(files(info.value)) == {__file__}
    lines = traceback.extract_tb(info.value.__traceback__)
    assert lines[-1].name in ("wrong", "<lambda>")


@pytest.mark.parametrize("way", WAYS)
def test_they_are_shown_on_request(way):
    fg.config.traceback = "full"
    with pytest.raises(Exception) as info:
        WAYS[way]()
    assert any("funcgrad" in name and "tests" not in name for name in files(info.value))
    assert not any("not shown" in note for note in getattr(info.value, "__notes__", []))


def test_a_note_tells_of_frames_that_would_help():
    with pytest.raises(ZeroDivisionError) as info:
        fg.grad(lambda x: x / 0)(1.0)
    (note,) = info.value.__notes__
    assert 'funcgrad.config.traceback = "full"' in note
    with pytest.raises(KeyError) as info:  # of the program alone
        fg.grad(lambda x: {}[x > 0])(1.0)
    assert not getattr(info.value, "__notes__", [])


def test_causes_are_shortened_too():
    def f(x):
        try:
            wrong(x)
        except ValueError as error:
            raise RuntimeError("mine") from error

    with pytest.raises(RuntimeError, match="mine") as info:
        fg.grad(f)(X)
    assert set(files(info.value.__cause__)) == {__file__}


def test_what_python_prints():
    text = "import funcgrad as fg, math\nf = lambda x: math.sin(x)\nfg.grad(f)(1.0)\n"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True, text=True, env={"FUNCGRAD_BUILD_KERNELS": "off"},
    )  # fmt: skip
    lines = run.stderr.splitlines()
    assert [line for line in lines if line.startswith("  File")] == [
        '  File "<string>", line 3, in <module>',
        '  File "<string>", line 2, in <lambda>',
    ]
    assert any("call np.sin" in line for line in lines)
