"""The first programs of newcomers: what they print, and what their errors say."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([0.5, 1.5, 2.5])

# -------------------------------------------------------------------------------- what is shown


def wave(x):
    return np.sin(x) * 2.0


SHOWN = {
    "grad": (lambda: fg.grad(wave), "<grad of wave>"),
    "grad in jit": (lambda: fg.jit(fg.grad(wave)), "<jit of grad of wave>"),
    "jit in vmap": (lambda: fg.vmap(fg.jit(wave)), "<vmap of jit of wave>"),
    "a custom rule": (lambda: fg.custom_vjp(wave), "<custom_vjp of wave>"),
    "jit": (lambda: fg.jit(wave), "<jit of wave>"),
    "vmap": (lambda: fg.vmap(np.sin), "<vmap of sin>"),
    "a pullback": (lambda: fg.vjp(wave, X)[1], "<pullback of wave>"),
    "a pushforward": (lambda: fg.linearize(wave, X)[1], "<pushforward of wave>"),
    "a patch": (lambda: fg.patch_numpy(), "<patch_numpy()>"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_transforms_give_is_shown(name):
    make, text = SHOWN[name]
    made = make()
    assert repr(made) == text
    if name == "a patch":
        made.undo()
        assert repr(made) == "<patch_numpy(), undone>"


def test_a_graph_is_shown_as_it_is_printed():
    graph = fg.make_graph(wave)(X)
    assert repr(graph) == str(graph)
    assert "sin" in repr(graph)
    long = fg.make_graph(lambda x: sum(np.sin(x) * k for k in range(200)))(X)
    assert re.fullmatch(r"<graph of \d+ equations; print\(graph\) shows them>", repr(long))


def test_a_traced_value_is_shown():
    seen = []
    fg.grad(lambda x: (seen.append(f"{x:.2f} {x!r}"), x)[1])(1.0)
    fg.jit(lambda x: (seen.append(f"{x}"), x)[1])(X)
    assert seen == ["1.00 Traced(float64*[], value=1.0)", "Traced(float64[3])"]


# --------------------------------------------------------------------------------- what is said


def extents(n):
    return np.zeros(n)


def steps(n):
    return sum(k * 1.0 for k in range(n))


def in_a_matrix(x):
    a = np.eye(3)
    a[0, 1] = x
    return np.linalg.inv(a).sum()


def mean_of_a_list(x):
    return np.mean([v**2 for v in x])


SAID = {
    "an integer": (lambda: fg.grad(lambda x: x**2)(3), r"float.* instead|3\.0 instead of 3"),
    "an array": (lambda: fg.grad(lambda x: x**2)(X), "sum it, or use jacobian or vjp"),
    "a branch": (lambda: fg.jit(lambda x: x if x.sum() > 0 else -x)(X), r"numpy\.where"),
    "extents": (lambda: fg.jit(extents)(3), r"static_argnums.*\n.*in extents"),
    "a range": (lambda: fg.jit(steps)(3), "static_argnums"),
    "a number": (lambda: fg.vmap(lambda x: float(x))(X), "not known while it is traced"),
    "a matrix": (lambda: fg.grad(in_a_matrix)(2.0), r"funcgrad\.numpy\.zeros"),
    "a list": (lambda: fg.grad(mean_of_a_list)(X), "import funcgrad.numpy as np"),
    "a text": (lambda: fg.grad(lambda s: len(s))("abc"), "neither an array nor a number"),
    "shapes": (lambda: fg.grad(lambda x, y: x @ y)(X, np.ones(4)), r"\(3,\).*\(4,\)|size 4"),
    "a misspelt transform": (lambda: fg.gradd, "did you mean 'grad'"),
    "a misspelt function": (lambda: fnp.sinn, "did you mean 'sin"),
    "a number in place of a function": (lambda: fg.grad(3), "grad: 3 is no function"),
    "an operand too many": (lambda: fg.grad(np.sin)(1.0, 2.0), "`out` argument.*not 'float'"),
    "a key": (lambda: fg.jit(lambda x: {x.sum(): 1})(X), "has no hash"),
    "sizes": (lambda: fg.vmap(lambda x, y: x)(X, np.ones(2)), r"different sizes \[3, 2\]"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_an_error_says(name):
    program, text = SAID[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as info:
            program()
    assert re.search(text, str(info.value), re.DOTALL)


# --------------------------------------------------------------------------------- what is right

RIGHT = {
    "powers": (lambda: fg.grad(lambda x: sum(x[i] ** 2 for i in range(3)))(X), 2 * X),
    "writing": (lambda: fg.grad(lambda x: squared_in_place(x))(X), 2 * X),
    "choices": (lambda: fg.grad(lambda x: abs(x) * min(x, 2.0))(1.5), 3.0),
    "a table": (lambda: fg.grad(lambda x: np.interp(x, [0.0, 1.0], [0.0, 2.0]))(0.3), 2.0),
    "a hessian": (lambda: fg.hessian(lambda x: np.sum(x**3))(X), np.diag(6 * X)),
    "a matrix": (lambda: fg.grad(lambda x: np.linalg.det(fnp.array([[x, 1.0], [0.0, x]])))(2.0), 4),
    "a list": (lambda: fg.grad(lambda x: fnp.mean([v**2 for v in x]))(X), 2 * X / 3),
    "a decorator": (lambda: fg.grad(lambda x: np.sum(x**2))(X), 2 * X),
}


def squared_in_place(x):
    for i in range(3):
        x[i] = x[i] ** 2
    return x.sum()


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right(name):
    program, wanted = RIGHT[name]
    np.testing.assert_allclose(program(), wanted, rtol=1e-12)


# ------------------------------------------------------------------------------ NumPy's warnings

WARNS = """
import numpy as np
import funcgrad as fg
X = np.zeros(3)
def f(x):
    for _ in range(3):
        y = np.log(x)
    return np.sum(y + np.log(x * 0.0))
fg.grad(f)(X)
fg.grad(f)(X)
fg.jvp(f, (X,), (X,))
fg.grad(lambda x: np.sum(np.log(x)))(X.astype(np.float32))
np.log(X)
"""


def test_numpys_warnings_tell_the_line_of_the_program(tmp_path):
    """Once for each line, as Python's filters want it, in all that computes with NumPy."""
    program = tmp_path / "program.py"
    program.write_text(WARNS)
    path = os.pathsep.join(map(str, sys.path))
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    lines = [line for line in run.stderr.splitlines() if "Warning: " in line]
    wanted = "RuntimeWarning: divide by zero encountered in log"
    assert lines == [f"{program}:{n}: {wanted}" for n in (7, 8, 12, 13)]


RECORDED = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fg.grad(lambda x: np.sum(np.log(x)))(X)
    fg.jvp(np.sqrt, (-1.0,), (1.0,))
    np.log(X)
print([(w.filename == __file__, w.lineno) for w in caught])
"""


def test_warnings_that_are_recorded_tell_the_line_too(tmp_path):
    """As pytest does, whose summary would show our files."""
    program = tmp_path / "program.py"
    program.write_text("\n".join(WARNS.splitlines()[:4]) + RECORDED)
    path = os.pathsep.join(map(str, sys.path))
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert run.stdout == "[(True, 8), (True, 9), (True, 9), (True, 10)]\n"
