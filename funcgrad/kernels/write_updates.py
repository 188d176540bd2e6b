"""Writes what the steps of optimisers run on arrays, from `update_rules`.

    python -m funcgrad.kernels.write_updates

Each rule is staged, and its graph printed twice: as one loop for Numba, and as a sequence of
operations of NumPy in which arrays that are no longer needed take what comes next. A test holds
that the files are what this script writes, others that both give the same bits.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from funcgrad.compile.numba.printer import print_graph
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Graph, Var
from funcgrad.kernels.update_rules import OPTIONS, RULES, arrays_of, numbers_of, prepared
from funcgrad.ops.records import MAXIMUM, MINIMUM, WHERE

__all__ = ["NUMBA", "NUMPY", "in_numba", "in_numpy"]

NUMBA = Path(__file__).with_name("updates_generated.py")
NUMPY = Path(__file__).with_name("updates_in_numpy_generated.py")
ELEMENT, NUMBER = ArrayType((8,), np.dtype(np.float64)), ArrayType((), np.dtype(np.float64))

NUMBA_HEADER = '''"""The steps of optimisers as Numba functions: written, not edited.

`python -m funcgrad.kernels.write_updates` prints it from `update_rules`. Each function takes flat
arrays of one size: the parameter, its gradient and the state, which it changes in place; then what
may come before (None where it does not), and numbers.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba import njit
'''

NUMPY_HEADER = '''"""The steps of optimisers in NumPy: written, not edited.

`python -m funcgrad.kernels.write_updates` prints it from `update_rules`. Each function changes a
parameter `x` and its state in place; a gradient is left as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
'''

LOOP = '''

@njit(nogil=True, error_model="numpy")
def {name}_update({parameters}) -> None:
    """A step of `{name}`."""
    real = x.dtype.type
{numbers}
    for j in range(x.size):
{loads}
{options}
{body}
{stores}
'''

CALLS = '''

def {name}({parameters}) -> None:
    """A step of `{name}`."""
{body}
'''


def _parameters(name: str) -> list[str]:
    rule = RULES[name]
    return [*arrays_of(rule), *OPTIONS, *numbers_of(rule)]


def _head(start: str, parameters: list[str]) -> str:
    """The parameters in one line, or as the formatter has it."""
    text = ", ".join(f"{p}: Any" for p in parameters)
    if len(f"def {start}({text}) -> None:") <= 100:
        return text
    return "\n" + "".join(f"    {p}: Any,\n" for p in parameters)


def _rule_graph(name: str) -> Graph:
    rule = RULES[name]
    arrays, numbers = arrays_of(rule), numbers_of(rule)

    def function(*values: Any) -> tuple[Any, ...]:
        given = dict(zip(numbers, values[len(arrays) :], strict=True))
        return rule(*values[: len(arrays)], **given)

    return stage(function, [ELEMENT] * len(arrays) + [NUMBER] * len(numbers))[0]


def _option_graph(option: str) -> Graph:
    """`prepared` with one option: its inputs and outputs begin with `x` and `g`."""
    function = lambda x, g, number: prepared(x, g, **{option: number})
    return stage(function, [ELEMENT, ELEMENT, NUMBER])[0]


# --------------------------------------------------------------------------------------- Numba


def _option_lines(option: str) -> list[str]:
    graph = _option_graph(option)
    lines, results, _ = print_graph(graph, ["x_", "g_", f"real({option})"])
    kept = [
        f"{name} = {result}"
        for name, result in zip(("x_", "g_"), results, strict=True)
        if result != name
    ]
    return [f"if {option} is not None:", *("    " + line for line in (*lines, *kept))]


def _loop(name: str) -> str:
    rule = RULES[name]
    arrays, numbers = arrays_of(rule), numbers_of(rule)
    elements = [f"{n}_" for n in (*arrays, *numbers)]
    lines, results, _ = print_graph(_rule_graph(name), elements)
    changed = [a for a in arrays if a != "g"]
    body = "\n".join(lines)
    read = [a for a in arrays if a in ("x", "g") or f"{a}_" in body]
    return LOOP.format(
        name=name,
        parameters=_head(f"{name}_update", _parameters(name)),
        numbers=indent("\n".join(f"{n}_ = real({n})" for n in numbers), " " * 4),
        loads=indent("\n".join(f"{a}_ = {a}[j]" for a in read), " " * 8),
        options=indent("\n".join(line for o in OPTIONS for line in _option_lines(o)), " " * 8),
        body=indent(body, " " * 8),
        stores=indent(
            "\n".join(f"{a}[j] = {r}" for a, r in zip(changed, results, strict=True)), " " * 8
        ),
    )


def in_numba() -> str:
    """The content of the file for Numba."""
    return NUMBA_HEADER + "".join(map(_loop, RULES))


# --------------------------------------------------------------------------------------- NumPy


def _function(prim: Any) -> str:
    """NumPy's function that has the value of a record."""
    return "where" if prim is WHERE else str(prim.ufunc.__name__)


class _Sequence:
    """Prints a graph as calls of ufuncs, each into an array that is free by then.

    `changed` are the arrays that become the outputs, "" for one that is only to be known by a name.
    """

    def __init__(self, graph: Graph, inputs: list[str], changed: list[str]) -> None:
        self.graph = graph
        self.names: dict[Any, str] = dict(zip(graph.inputs, inputs, strict=True))
        given = set(self.names)
        ends = list(zip(graph.outputs, changed, strict=True))
        self.targets = {v: name for v, name in ends if name and v not in given}
        self.made = 0
        self.scratch: list[str] = []
        self.free: list[str] = []
        self.lines = [self.line(k) for k in range(len(graph.equations))]
        self.results = [self.names[v] for v in graph.outputs if isinstance(v, Var)]
        for (v, name), result in zip(ends, self.results, strict=True):
            if name and v in given and name != result:
                self.lines.append(f"np.copyto({name}, {result})")

    def line(self, k: int) -> str:
        e, rest = self.graph.equations[k], self.graph.equations[k + 1 :]
        operands = [self.names[a] if isinstance(a, Var) else repr(float(a.value)) for a in e.inputs]
        needed = {self.names[a] for f in rest for a in f.inputs if a in self.names}
        self.free += [n for n in self.scratch if n in operands and n not in needed | set(self.free)]
        (result,) = e.outputs
        call = f"np.{_function(e.prim)}({', '.join(operands)}"
        target = self.targets.get(result)
        alone = e.prim is WHERE or result.type != ELEMENT  # no place for it can be given
        if target is None and (alone or not self.free):
            target = self.names[result] = f"t{self.made}"
            self.made += 1
            if result.type == ELEMENT:
                self.scratch.append(target)
            return f"{target} = {call})"
        if target in needed:
            raise ValueError(f"the old value of {target} is needed after the new one is known")
        self.names[result] = self.free.pop() if target is None else target
        if alone:
            return f"np.copyto({self.names[result]}, {call}))"
        by_name = "out=" if e.prim in (MAXIMUM, MINIMUM) else ""  # NumPy 2.4 warns else
        return f"{call}, {by_name}{self.names[result]})"


def _option_sequence(option: str) -> list[str]:
    sequence = _Sequence(_option_graph(option), ["x", "g", option], ["x", ""])
    _, g = sequence.results
    lines = sequence.lines + ([] if g == "g" else [f"g = {g}"])
    return [f"if {option} is not None:", *("    " + line for line in lines)]


def _calls(name: str) -> str:
    rule = RULES[name]
    arrays = arrays_of(rule)
    changed = [a for a in arrays if a != "g"]
    sequence = _Sequence(_rule_graph(name), [*arrays, *numbers_of(rule)], changed)
    options = [line for o in OPTIONS for line in _option_sequence(o)]
    return CALLS.format(
        name=name,
        parameters=_head(name, _parameters(name)),
        body=indent("\n".join([*options, *sequence.lines]), " " * 4),
    )


def in_numpy() -> str:
    """The content of the file for NumPy."""
    return NUMPY_HEADER + "".join(map(_calls, RULES))


if __name__ == "__main__":
    NUMBA.write_text(in_numba())
    NUMPY.write_text(in_numpy())
