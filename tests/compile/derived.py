"""What is made of a random program: its gradient, and both for several rows."""

import numpy as np

import funcgrad as fg


def loss(program):
    """A number made of all outputs that have a derivative."""

    def f(*xs):
        total = 0.0
        for y in program(*xs):
            if y.dtype.kind == "c":
                y = np.real(y * np.conj(y))
            if y.dtype.kind == "f":
                total = total + np.sum(np.sin(y).astype("float64"))
        return total

    return f


def derived(program):
    """The program, its gradient, and both for every row of three: functions and arguments."""
    inputs = program.inputs
    which = tuple(k for k, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f")
    rows = [np.stack([x, x[::-1] if np.ndim(x) else x, x]) for x in inputs]
    found = {"value": (program, inputs), "rows": (fg.vmap(program), rows)}
    if which:
        found["gradient"] = fg.value_and_grad(loss(program), which), inputs
        found["gradients of rows"] = fg.vmap(fg.grad(loss(program), which)), rows
    return found
