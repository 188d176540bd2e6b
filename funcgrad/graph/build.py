"""Staging: run a function on abstract values and write down the equations.

Equal equations become one by value numbering, but never across scopes. Arrays that the function
brings along are hoisted as constants, copied at that moment, because the program may reuse the
array as a workspace; traced values of outer transforms are adopted as further inputs.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from funcgrad.core.layout import standard
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import (
    Trace,
    Tracer,
    bind,
    layout,
    look_at_examples,
    operand,
    running,
    serial,
    twin,
    type_of,
    uncompiled,
)
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AbstractValueError, located, repeated, user_line
from funcgrad.graph.effects import acts, has_effect
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.layouts import Layouts
from funcgrad.graph.live import live, needed
from funcgrad.ops.arithmetic import WEAKEN, cast

__all__ = ["Stage", "StageTracer", "Trial", "distinct", "holds", "stage"]


class StageTracer(Tracer):
    """A value of the graph that is being built; it has a type and no number."""

    __slots__ = ("born", "variable")
    abstract: ClassVar[bool] = True
    variable: Var

    def __init__(self, var: Var, trace: Stage) -> None:
        self.variable, self.owner, self.born = var, trace, next(serial)

    @property
    def type(self) -> ArrayType:
        return self.variable.type

    @property
    def value(self) -> NoReturn:
        raise AbstractValueError(
            located(
                f"a value of type {self.type} is abstract while jit traces the function: there is "
                "no number to look at; use funcgrad.numpy.where (or cond) instead of a Python "
                "branch, or make the argument static with static_argnums"
            )
        )

    @property
    def payload(self) -> Var:
        return self.variable

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, StageTracer)
        self.variable = new.variable


class Stage(Trace):
    """The trace that builds a graph.

    Effects belong to it while it runs, also those that depend on none of its values: they run when
    the graph does. One that is staged beside numbers at hand, as by `linearize`, does not take
    them (`acting`). A `body` names what may run any number of times, or not at all: it cannot write
    into what is older, because a write happens once, while the function is traced.
    """

    __slots__ = (
        "acting",
        "around",
        "consts",
        "asked",
        "body",
        "constants",
        "equations",
        "full",
        "given",
        "layouts",
        "limit",
        "numbering",
        "numbers",
        "outer",
        "scope",
        "seen",
        "used",
    )
    what: ClassVar[str] = "jit"
    has_numbers: ClassVar[bool] = False
    stages: ClassVar[bool] = True

    def __init__(self, acting: bool = True, body: str = "") -> None:
        super().__init__()
        self.acting, self.body = acting, body
        self.equations: list[Equation] = []
        self.constants: dict[Hashable, tuple[Var, Any, Any]] = {}
        self.consts: dict[tuple[int, int], tuple[Var, Tracer, Tracer]] = {}
        self.numbering: dict[Hashable, tuple[Var, ...]] = {}
        self.numbers = count()
        self.scope = 0
        self.limit = sys.maxsize  # of equations, at which `full` is asked for another one
        self.full: Callable[[], int] = lambda: sys.maxsize
        self.used: list[np.ndarray[Any, Any]] = []  # arrays that were hoisted, as the user has them
        self.given: dict[Var, Array] = {}  # the arguments at hand, for `look`
        self.seen: dict[Var, Array] = {}  # what was looked at, raw
        self.layouts = Layouts(self.equations)
        self.asked: set[Var] = set()  # inputs whose layout in memory was asked for

    def __enter__(self) -> Self:
        self.around, self.outer = running.stage, running.body
        if self.acting:
            running.stage = self
        if self.body:
            running.body = self
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        running.stage, running.body = self.around, self.outer
        found = None
        if uncompiled and error is None and running.locks is not None:
            changed = [a for _, kept, a in self.constants.values() if not holds(a, kept)]
            found = running.locks.changed(changed[0]) if changed else None
        super().__exit__(kind, error, traceback)
        if found is not None:
            raise found

    def handler(self, top: Any, prim: Primitive, params: Params) -> Any:
        """Who handles an operation that may have an effect, the operands being those of `top`.

        By its operands alone, what depends on no traced value would run once, while the function
        is traced.
        """
        inner = top is None or self.level > top.level
        return self if inner and acts(prim, params) else top

    def var(self, aval: ArrayType) -> Var:
        return Var(aval, next(self.numbers))

    def input(self, aval: ArrayType, given: Array | None = None) -> StageTracer:
        """A new input; `given` is the argument at hand that it stands for."""
        v = self.var(aval)
        if given is not None:
            self.given[v] = given
        return StageTracer(v, self)

    def layout(self, t: Tracer) -> Any:
        assert isinstance(t, StageTracer)
        return layout(t.laid) if hasattr(t, "laid") else self.layouts.of(t.variable, self._source)

    def place(self, t: Tracer) -> Any:
        return twin(t)

    def _source(self, v: Var) -> Any:
        """The stand-in of an input, or of what the function brings along."""
        for w, _, array in self.constants.values():
            if w is v:
                return array
        for w, t, _ in self.consts.values():
            if w is v:
                return layout(t)
        self.asked.add(v)
        return layout(self.given[v]) if v in self.given else standard(v.type)

    def look(self, t: Tracer, why: str) -> Any:
        """Compute what lies behind `t` from the arguments at hand."""
        assert isinstance(t, StageTracer)
        seen = self.seen
        for e in live(self.equations, [t.variable], seen):
            if has_effect(e):  # it would run once more than the program says
                raise AbstractValueError(located(why))
            args = [a.value if isinstance(a, Literal) else self._see(a, why) for a in e.inputs]
            with np.errstate(all="ignore"):
                made = bind(e.prim, args, e.params)
            seen.update(zip(e.outputs, made if e.prim.multiple else (made,), strict=True))
        return self._see(t.variable, why)

    def _see(self, v: Var, why: str) -> Any:
        if v not in self.seen:
            held = [a for w, a, _ in self.constants.values() if w is v]
            held += [a for w, a, _ in self.consts.values() if w is v]
            held += [self.given[v]] if v in self.given else []
            if not held:
                raise AbstractValueError(located(why))
            self.seen[v] = look_at_examples(held[0], why)
        return self.seen[v]

    def atom(self, a: Array) -> Atom:
        """An operand as an atom of the graph."""
        if isinstance(a, Tracer):
            if a.owner is self:
                assert isinstance(a, StageTracer)
                return a.variable
            return self._adopt(a)
        if isinstance(a, np.ndarray):
            return self._hoist(a)
        return Literal(a, type_of(a))

    def _adopt(self, a: Tracer) -> Var:
        a.owner.check_open()
        count = 0
        while (known := self.consts.get((id(a), count))) is not None:
            if known[1].payload is a.payload:  # else it was written into meanwhile
                return known[0]
            count += 1
        # what it is now; the entry keeps `a` alive, too, so the id stays its own
        self.consts[id(a), count] = (self.var(a.type), twin(a), a)
        return self.consts[id(a), count][0]

    def _hoist(self, a: np.ndarray[Any, Any]) -> Var:
        count = 0
        while (known := self.constants.get((id(a), count))) is not None:
            if holds(a, known[1]):
                return known[0]
            count += 1
        if uncompiled and running.locks is not None:
            running.locks.hold(self, a)
        self.used.append(a)
        once = distinct(a)
        kept = np.broadcast_to(once.copy("K"), a.shape) if once is not a else a.copy("K")
        self.constants[id(a), count] = (self.var(type_of(a)), kept, a)
        return self.constants[id(a), count][0]

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        if prim.counts:
            args = _counted(args)
        return prim.stage(self, args, params)

    def append(
        self,
        prim: Primitive,
        args: Sequence[Array],
        params: Params,
        types: tuple[ArrayType, ...] | None = None,
    ) -> Any:
        """One equation, or the one that is there already: the default action.

        The `types` of the outputs are asked of the record where they are not given.
        """
        atoms = tuple([self.atom(a) for a in args])
        scope = self.scope or repeated.scope
        key = _key(prim, atoms, params, scope)
        try:
            outputs = None if key is None else self.numbering.get(key)
        except TypeError:  # parameters without a hash
            key = outputs = None
        if outputs is None:
            if types is None:
                found = prim.type_rule([a.type for a in atoms], params)
                types = found if prim.multiple else (found,)
            outputs = tuple([self.var(t) for t in types])
            if len(self.equations) >= self.limit:
                self.limit = self.full()
            line = repeated.line or user_line()
            self.equations.append(Equation(prim, atoms, params, outputs, scope, line))
            if key is not None:
                self.numbering[key] = outputs
        if not prim.multiple:
            return StageTracer(outputs[0], self)
        return tuple([StageTracer(v, self) for v in outputs])


def _counted(args: Sequence[Array]) -> Sequence[Array]:
    """The operands of Python's ``+`` and its kin: among Python's numbers a bool is an integer."""
    for x in args:
        if not type_of(x).weak:  # nearly always
            return args
    types = list(map(type_of, args))
    if not any(t.dtype.kind == "b" for t in types):
        return args
    return [_integer(x) if t.dtype.kind == "b" else x for x, t in zip(args, types, strict=True)]


def _integer(x: Any) -> Any:
    """A Python bool as Python's integer."""
    return bind(WEAKEN, (cast(x, np.dtype(int)),)) if isinstance(x, Tracer) else int(x)


def _key(prim: Primitive, atoms: tuple[Atom, ...], params: Params, scope: int) -> Hashable:
    """What two equations have in common that are one; None of effects, which never are."""
    if prim.effect is not False and acts(prim, params):
        return None
    parts = tuple([(type(a.value), repr(a.value)) if isinstance(a, Literal) else a for a in atoms])
    if not params:
        return prim, parts, scope
    named = sorted(params.items(), key=_name) if len(params) > 1 else params.items()
    return prim, parts, scope, *named


_name = operator.itemgetter(0)


def holds(a: np.ndarray[Any, Any], kept: np.ndarray[Any, Any]) -> bool:
    """Whether an array still holds what was copied: comparing costs a tenth of a digest."""
    if type_of(a) != type_of(kept):
        return False
    now, then = distinct(a), distinct(kept)
    if now.shape != then.shape:
        return False
    word = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}.get(a.itemsize)
    if word is None or a.dtype.kind not in "biuf":
        return now.tobytes() == then.tobytes()
    return np.array_equal(now.view(word), then.view(word))


def distinct(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without the elements that a broadcast repeats: what cotangents begin with."""
    if 0 not in a.strides or a.size < 2:
        return a
    return a[tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)]


def finish(
    trace: Stage, inputs: Sequence[Var], outputs: Sequence[Array]
) -> tuple[Graph, list[Tracer]]:
    """The graph of what was staged, and the adopted values, which are its last inputs."""
    atoms = [trace.atom(o) for o in outputs]
    equations = needed(trace.equations, atoms)
    used = {a for e in equations for a in e.inputs} | set(atoms)
    consts = [(v, t) for v, t, _ in trace.consts.values() if v in used]
    constants = tuple((v, a) for v, a, _ in trace.constants.values() if v in used)
    whole = (*inputs, *(v for v, _ in consts))
    return Graph(whole, equations, tuple(atoms), constants), [t for _, t in consts]


class Trial:
    """Steps of a loop that are tried, to see whether they are staged.

    Where they are, the loop begins again, and what they did outside must not stay.
    """

    def __init__(self) -> None:
        self.stage: Stage | None = running.stage
        self.length = 0 if self.stage is None else len(self.stage.equations)

    def undo(self) -> None:
        """Forget the effects since then, which nobody has seen: they are equations."""
        if self.stage is not None:
            rest = self.stage.equations[self.length :]
            self.stage.equations[self.length :] = [e for e in rest if not has_effect(e)]


def stage(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    given: Sequence[Array] | None = None,
    acting: bool = True,
    body: str = "",
) -> tuple[Graph, list[Tracer]]:
    """The graph of a flat function of operands of these types.

    Where the arguments at hand are `given`, as many elements of a mask are selected as they have.
    Unless it is `acting`, effects of numbers at hand happen while it is staged. A `body` may run
    any number of times, and must not write into what is older; the text names it.

    Returns
    -------
    graph, consts
        The inputs of the graph are those of the function and then one for each adopted value: a
        traced value of an outer transform over which the function closes.
    """
    with Stage(acting, body) as trace:
        inputs = list(map(trace.input, types, given or [None] * len(types)))
        variables = [t.variable for t in inputs]
        outputs = [operand(o) for o in function(*inputs)]
        return finish(trace, variables, outputs)
