"""IPython: a cell that fails shows lines of the program only, as a notebook does."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("IPython")

PROGRAM = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("colors", "NoColor")
shell.run_cell('''import numpy as np
import funcgrad as fg

def wrong(x):
    y = np.sin(x)
    return np.sum(y @ np.ones((2, 2)))

kept = []
fg.grad(lambda x: (kept.append(x), np.sum(x))[1])(np.ones(3))
ended = kept[0]
''')
for mode, shown, cell in CALLS:
    print("=====")
    shell.run_line_magic("xmode", mode)
    print("-----")
    shell.run_cell("fg.config.traceback = " + repr(shown))
    shell.run_cell(cell)
"""
CELLS = {
    "grad": "fg.grad(wrong)(np.ones(3))",
    "jit": "fg.jit(wrong)(np.ones(3))",
    "jit of grad": "fg.jit(fg.grad(wrong))(np.ones(3))",
    "grad of jit": "fg.grad(fg.jit(wrong))(np.ones(3))",
    "vmap": "fg.vmap(wrong)(np.ones((2, 3)))",
    "hessian": "fg.hessian(wrong)(np.ones(3))",
    "scan": "fg.scan(lambda c, x: (wrong(np.ones(3)), None), 0.0, np.ones(3))",
    "callback": "fg.jit(lambda x: fg.debug.callback(wrong, x))(np.ones(3))",
}
ENDED = {
    "operator": "ended * 2.0",
    "function": "np.sin(ended)",
    "method": "ended.sum()",
    "element": "ended[0]",
    "in place": "ended += 1.0",
}
CALLS = {name: ("Context", "program", cell) for name, cell in CELLS.items()}
CALLS |= {name: ("Context", "program", cell) for name, cell in ENDED.items()}
CALLS |= {
    "verbose": ("Verbose", "program", CELLS["jit of grad"]),
    "plain": ("Plain", "program", CELLS["jit of grad"]),
    "full": ("Context", "full", CELLS["grad"]),
    "shown": (
        "Context",
        "program",
        "print(fg.jit(fg.grad(np.sin))(0.0)); fg.grad(lambda x: (print(x), x * x)[1])(2.0)",
    ),
}


@pytest.fixture(scope="module")
def printed():
    """What IPython prints of each cell, in one process."""
    source = f"CALLS = {list(CALLS.values())!r}\n{PROGRAM}"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert not run.returncode, run.stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout)
    parts = [part.split("-----\n", 1)[1] for part in text.split("=====\n")[1:]]
    return dict(zip(CALLS, parts, strict=True))


def frames(text):
    """The headings of the frames, which name a file or a cell."""
    return re.findall(r"^ *(?:File|Cell In\[\d+\]).*", text, re.MULTILINE)


@pytest.mark.parametrize("name", [*CELLS, "verbose", "plain"])
def test_a_cell_shows_lines_of_the_program(printed, name):
    found = frames(printed[name])
    assert found
    assert not [f for f in found if "funcgrad/" in f]
    assert "return np.sum(y @ np.ones((2, 2)))" in printed[name]


@pytest.mark.parametrize("name", ENDED)
def test_a_value_of_a_transform_that_has_ended_shows_its_cell(printed, name):
    (frame,) = frames(printed[name])
    assert frame.startswith("Cell In[1]")
    assert f"----> 1 {ENDED[name]}" in printed[name]


def test_a_message_names_the_cell(printed):
    assert "\n  at Cell In[1], line 6, in wrong\n" in printed["jit of grad"]


def test_all_frames_are_shown_on_request(printed):
    assert any("funcgrad/transforms/grad.py" in f for f in frames(printed["full"]))


def test_what_a_cell_prints(printed):
    assert printed["shown"].startswith("1.0\nTraced(float64*[], value=2.0)\n")
