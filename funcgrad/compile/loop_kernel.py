"""A loop of a graph as one kernel: what its body is made of, one after the other, for each step.

The body is optimised, fused and lowered as every graph is; its kernels become parts of one. Rows
of `xs` and `ys` are read and written where they lie. Carries, and what a step hands from one part
to the next, are local buffers, or values in registers where all their elements have fixed places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.compile.code import Code, Written
from funcgrad.compile.inlining import Place, inlined
from funcgrad.compile.layout import Layout
from funcgrad.compile.loops import (
    NOT_FINITE,
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Let,
    Load,
    Operand,
    Require,
    Store,
)
from funcgrad.compile.lower import Lowered, lower
from funcgrad.compile.nest import whole_strides
from funcgrad.compile.registers import (
    element_name,
    in_registers,
    promoted,
    written_again,
    written_out,
)
from funcgrad.compile.scalars import NATIVE
from funcgrad.compile.signals import poll
from funcgrad.compile.small_matrices import small_matrix_step
from funcgrad.compile.steps import step_of
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops.product import MATMUL
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Region
from funcgrad.passes.views import View, whole

if TYPE_CHECKING:
    from funcgrad.compile.backend import Backend

__all__ = ["NotNative", "loop_kernel"]

PADDING = 64  # elements behind a local buffer, over which the last lanes of a loop may go
FOREVER = 1 << 62
LONG = 2e7  # additions, some 20 ms: from there on a loop looks for signals,
BETWEEN = 2e6  # and does about so much before it looks again
TURNED = 1 << 16  # elements of a matrix that is turned round before a loop, at the most
SMALL_PRODUCT = 2048  # multiplications, up to which a product is written as plain loops

PlanOf = Callable[[Graph], Plan]
ProductOf = Callable[[Plan, Equation, str], "Lowered | None"]


class NotNative(Exception):
    """What of a loop has no native form."""


def loop_kernel(
    plan: Plan,
    e: Equation,
    backend: Backend,
    name: str,
    plan_of: PlanOf,
    product_of: ProductOf,
    within: bool = False,
) -> Lowered:
    """The kernel of a loop, which may stand `within` another one.

    Raises
    ------
    NotNative
        An operation of the body has no native form.
    """
    return _LoopKernel(plan, e, backend, name, plan_of, product_of, within).lowered()


class _LoopKernel:
    def __init__(
        self,
        plan: Plan,
        e: Equation,
        backend: Backend,
        name: str,
        plan_of: PlanOf,
        product_of: ProductOf,
        within: bool,
    ) -> None:
        self.plan, self.e, self.backend = plan, e, backend
        self.plan_of, self.product_of = plan_of, product_of
        self.p = Loop(**e.params)
        self.code = Code(name)
        self.parts = 0
        self.work = 0.0
        self.before: list[Any] = []
        self.after: list[Any] = []
        self.local: set[str] = set()
        self.within, self.polls = within, list[str]()
        for a in (*e.inputs, *e.outputs):
            _check_dtype(a)
            if not a.type.size:
                raise NotNative("it has arrays without elements")

    # ----------------------------------------------------------------------------- memory

    def fresh(self, letter: str) -> str:
        return self.code.fresh(letter + "_")

    def buffer(self, dtype: str, size: int) -> str:
        name = self.fresh("m")
        self.code.locals.append(Buffer(name, dtype, "local", size + PADDING))
        self.local.add(name)
        return name

    def argument(self, v: Var, role: str) -> str:
        return self.code.argument((role, v), v, role, NATIVE[v.type.dtype], max(v.type.size, 1))

    def outer(self, a: Atom) -> View | Const:
        """Where an operand of the loop lies, or the number that all of it is."""
        if isinstance(a, Var) and a in self.plan.uniform:
            a = self.plan.uniform[a]
        if isinstance(a, Literal):
            return Const(a.value, NATIVE[a.type.dtype])
        return self.plan.views[a]

    def copy(
        self, source: View | Const, place: Place, target: Place, shape: Sequence[int], dtype: str
    ) -> list[Any]:
        """Loops that copy a view, of which `place` is the base, into memory in C order."""
        body: list[Any] = []
        top, indices = body, []
        for k, n in enumerate(shape):
            loop = For(self.fresh("i"), n, "vector" if k == len(shape) - 1 else "sequential")
            body.append(loop)
            body = loop.body
            indices.append(loop.index)
        x: Operand = source if isinstance(source, Const) else self.fresh("v")
        if isinstance(source, View):
            terms = [(i, s) for i, s in zip(indices, source.strides, strict=True) if s]
            at = Address(place.buffer, (*place.terms, *terms), place.offset + source.offset)
            body.append(Load(str(x), dtype, at))
        own = [(i, s) for i, s in zip(indices, whole_strides(shape), strict=True) if s]
        at = Address(target.buffer, (*target.terms, *own), target.offset)
        body.append(Store(at, x, dtype))
        return top

    def operand(self, a: Atom, row: str | None = None) -> tuple[Place, list[Any]]:
        """Where an operand lies in C order, or a row of it, and what copies it there first."""
        source, shape = self.outer(a), a.type.shape
        terms: tuple[tuple[str, int], ...] = ()
        if row is not None:
            shape = shape[1:]
            if isinstance(source, View):
                terms = ((row, source.strides[0]),)
                source = source._replace(shape=shape, strides=source.strides[1:])
        dtype = NATIVE[a.type.dtype]
        if isinstance(source, View):
            place = Place(self.argument(source.base, "input"), 0, terms)
            pairs = zip(source.strides, whole_strides(shape), shape, strict=True)
            if all(s == w or n == 1 for s, w, n in pairs):
                return place._replace(offset=source.offset), []
        else:
            place = Place("")
        target = Place(self.buffer(dtype, int(np.prod(shape, dtype=int))))
        return target, self.copy(source, place, target, shape, dtype)

    # ------------------------------------------------------------------------------- parts

    def graph(self, graph: Graph, places: dict[Var, Place]) -> tuple[list[Any], Plan]:
        """The statements of a graph whose inputs lie at `places`, to which others are added."""
        plan = self.plan_of(graph)
        out: list[Any] = []
        if graph is self.p.body:
            self.turn_factors(plan, places)
        for step in plan.steps:
            found = self.kernels(plan, step)
            self.hold(plan, places)  # a loop within may have brought more
            for written in found:
                out += self.part(written, places)
        self.hold(plan, places)
        return out, plan

    def turn_factors(self, plan: Plan, places: dict[Var, Place]) -> None:
        """Lay matrices that no step changes as products read them, before the loop."""
        fixed = set(self.p.body.inputs[: self.p.consts])
        for step in plan.steps:
            if isinstance(step, Region) or step.prim is not MATMUL:
                continue
            a = step.inputs[1]
            if (
                not isinstance(a, Var)
                or a in plan.uniform
                or _multiplications(step) <= SMALL_PRODUCT
            ):
                continue
            view = plan.views[a]
            if view.base not in fixed or view.strides[-1] == 1 or a.type.size > TURNED:
                continue
            dtype = NATIVE[a.type.dtype]
            turned = Var(a.type, -1 - len(places))
            places[turned] = Place(self.buffer(dtype, a.type.size))
            self.before += self.copy(view, places[view.base], places[turned], a.type.shape, dtype)
            plan.views[a] = whole(turned)

    def hold(self, plan: Plan, places: dict[Var, Place]) -> None:
        """Make the constants of a body those of the program."""
        for v, array in plan.graph.constants:
            if v not in places:
                _check_dtype(v)
                held = self.plan.constant(np.asarray(array, order="C"))
                places[v] = Place(self.argument(held, "input"))

    def kernels(self, plan: Plan, step: Region | Equation) -> list[Written]:
        name = f"{self.code.name}p{self.parts}"
        if isinstance(step, Region):
            low: Lowered | None = lower(plan, step, self.backend.functions, name)
        elif step.prim.loops:
            low = loop_kernel(plan, step, self.backend, name, self.plan_of, self.product_of, True)
        else:
            written = small_matrix_step(step, plan, name)
            if written is None and _multiplications(step) <= SMALL_PRODUCT:
                written = step_of(step, plan, name)
            low = None if written is not None else self.product_of(plan, step, name)
            written = written or (step_of(step, plan, name) if low is None else None)
            if written is not None:
                self.work += sum(a.size for a in written.arguments) + _multiplications(step)
                return [written]
        if low is None:
            assert isinstance(step, Equation)
            types = ", ".join(str(a.type) for a in step.inputs)
            raise NotNative(f"{step.prim.name} of {types} has no native form, at {step.source}")
        self.work += low.work
        found = [_direct(low)]
        if low.end is not None and not low.direct:
            found.append(low.end)
        return found

    def part(self, written: Written, places: dict[Var, Place]) -> list[Any]:
        """The statements of one kernel."""
        self.parts += 1
        prefix = f"p{self.parts}."
        where: dict[str, Place] = {}
        for a in written.arguments:
            if a.role == "partial":
                where[a.name] = self.partial(a, places)
            else:
                if a.var not in places:
                    places[a.var] = Place(self.buffer(a.dtype, a.size))
                where[a.name] = places[a.var]
        for b in written.kernel.buffers:
            if b.role == "local":
                sizes = dict(zip(written.kernel.integers, written.integers, strict=True))
                size = sizes[b.size] if isinstance(b.size, str) else b.size
                where[b.name] = Place(self.buffer(b.dtype, int(size)))
        self.code.requires |= written.kernel.requires
        return inlined(written, prefix, where)

    def partial(self, a: Any, places: dict[Any, Place]) -> Place:
        key = ("partial", a.var)
        if key not in places:
            places[key] = Place(self.buffer(a.dtype, a.size))
        return places[key]

    def value(self, plan: Plan, a: Atom, places: dict[Var, Place], target: Place) -> list[Any]:
        """What writes an output of a graph to a place."""
        source: View | Const
        if isinstance(a, Var) and a in plan.uniform:
            a = plan.uniform[a]
        place = Place("")
        shape = a.type.shape
        if isinstance(a, Literal):
            source = Const(a.value, NATIVE[a.type.dtype])
        else:
            source = plan.views[a]
            place = places[source.base]
        return self.copy(source, place, target, shape, NATIVE[a.type.dtype])

    # -------------------------------------------------------------------------------- loop

    def lowered(self) -> Lowered:
        p, e = self.p, self.e
        counts, constants, state, xs = p.parts(e.inputs)
        inputs = p.body.inputs
        places: dict[Var, Place] = {}
        for v, a in zip(inputs, constants, strict=False):
            places[v], copied = self.operand(a)
            self.before += copied
        count, last = self.count(counts)
        step = self.fresh("t")
        row, head = self.row(step, last)
        carries = list(inputs[p.consts : p.consts + p.carries])
        for v in carries:
            places[v] = Place(self.buffer(NATIVE[v.type.dtype], v.type.size))
        for v, a in zip(inputs[p.consts + p.carries :], xs, strict=True):
            places[v], copied = self.operand(a, row)
            head += copied
        test, condition = self.condition(places)
        body, plan = self.graph(p.body, places)
        outputs = plan.graph.outputs
        for o, y in zip(outputs[p.carries :], self.rows(row), strict=True):
            body += self.value(plan, o, places, y)
        body += self.next(plan, outputs[: p.carries], carries, places)
        loop = For(step, count, "steps", [*head, *body], [], 0, test, condition)
        self.finish(loop, state, carries, places)
        main = self.code.written([*self.before, loop, *self.after])
        main.kernel.polls = tuple(self.polls)
        steps = p.length if p.length is not None else 1000
        return Lowered(Layout([], [], None, None, 1, 1), main, self.work * steps)

    def count(self, counts: Sequence[Atom]) -> tuple[int | str, int | str]:
        """The number of steps, and that of the last row."""
        length = FOREVER if self.p.length is None else self.p.length
        if not counts:
            return length, length - 1
        place, copied = self.operand(counts[0])
        given, count, last = self.fresh("n"), self.fresh("n"), self.fresh("n")
        self.before += [
            *copied,
            Load(given, "int64", Address(place.buffer, (), place.offset)),
            Let(count, "int64", "min", (given, Const(length, "int64"))),
            Let(last, "int64", "sub", (count, Const(1, "int64"))),
        ]
        return count, last

    def row(self, step: str, last: int | str) -> tuple[str, list[Any]]:
        """The number of the row of a step, and what computes it."""
        if not self.p.reverse:
            return step, []
        row = self.fresh("r")
        top: Operand = Const(last, "int64") if isinstance(last, int) else last
        return row, [Let(row, "int64", "sub", (top, step))]

    def rows(self, row: str) -> list[Place]:
        """Where the ys of a step go; rows of steps that are not run are zeros, if anyone reads."""
        p, found = self.p, []
        ys = self.e.outputs[p.carries : len(p.body.outputs)]
        partly = p.condition is not None or p.counted
        seen = self.seen_as_a_whole(ys) if partly else set()
        for v in ys:
            size = int(np.prod(v.type.shape[1:], dtype=int))
            name, dtype = self.argument(v, "output"), NATIVE[v.type.dtype]
            if v in seen:
                nothing = Const(np.dtype(dtype).type(0), dtype)
                self.before += self.copy(nothing, Place(""), Place(name), (v.type.size,), dtype)
            found.append(Place(name, 0, ((row, size),)))
        return found

    def seen_as_a_whole(self, ys: Sequence[Var]) -> set[Var]:
        """Those of which others are read than the rows of the steps that are run.

        A loop that runs as many steps, as that of the backward pass does, reads of its xs the rows
        that were written: from the first on, in either order, as steps are counted from 0.
        """
        p, plan = self.p, self.plan
        if p.condition is not None and p.reverse:
            return set(ys)  # which starts at the last row
        count = self.e.outputs[-1] if p.condition is not None else self.e.inputs[0]
        seen = {o for o in plan.graph.outputs if isinstance(o, Var)}
        seen |= {view.base for w, view in plan.views.items() if w is not view.base}
        for e in plan.graph.equations:
            read = {a for a in e.inputs if isinstance(a, Var)}
            if e.prim.loops:
                counts, constants, state, _ = Loop(**e.params).parts(e.inputs)
                if counts and counts[0] is count:
                    read = {a for a in (*constants, *state) if isinstance(a, Var)}
            seen |= read
        return seen.intersection(ys)

    def condition(self, places: dict[Var, Place]) -> tuple[list[Any], str | None]:
        """What says whether to go on."""
        p = self.p
        if p.condition is None:
            return [], None
        own = {v: places[w] for v, w in zip(p.condition.inputs, p.body.inputs, strict=False)}
        test, plan = self.graph(p.condition, own)
        held, at = self.fresh("c"), Place(self.buffer("bool", 1))
        test += self.value(plan, plan.graph.outputs[0], own, at)
        return [*test, Load(held, "bool", Address(at.buffer, (), 0))], held

    def next(
        self, plan: Plan, outputs: Sequence[Atom], carries: Sequence[Var], places: dict[Var, Place]
    ) -> list[Any]:
        """What makes the carries those of the next step, when all that reads them is done."""
        first: list[Any] = []
        then: list[Any] = []
        for o, v in zip(outputs, carries, strict=True):
            if o is v:
                continue
            shape, dtype = v.type.shape, NATIVE[v.type.dtype]
            shown = isinstance(o, Var) and o not in plan.uniform and plan.views[o].base in carries
            if shown:  # another carry, which may be overwritten before
                aside = Place(self.buffer(dtype, v.type.size))
                first += self.value(plan, o, places, aside)
                then += self.copy(whole(v), aside, places[v], shape, dtype)
            else:
                then += self.value(plan, o, places, places[v])
        return [*first, *then]

    def finish(
        self, loop: For, state: Sequence[Atom], carries: Sequence[Var], places: dict[Var, Place]
    ) -> None:
        """First and final carries, in registers where that is possible, and what follows."""
        loop.body, loop.test = written_out(loop.body), written_out(loop.test)
        own = {places[v].buffer for v in carries}
        kept = in_registers([*loop.test, *loop.body], self.local, own)
        test, step = promoted(loop.test, kept), promoted(loop.body, kept)
        loop.body, loop.test = step.body, test.body
        loop.condition = test.known.get(loop.condition, loop.condition)  # type: ignore[arg-type]
        names = {element_name(places[v].buffer, k) for v in carries for k in range(v.type.size)}
        ends: list[Combine] = []
        for v, a, out in zip(carries, state, self.e.outputs, strict=False):
            place = places[v]
            if place.buffer not in kept:
                self.in_memory(place, a, out)
                continue
            for k in range(v.type.size):
                name, dtype = element_name(place.buffer, k), NATIVE[v.type.dtype]
                loop.carries.append(Carry(name, dtype, "next", self.start(a, k)))
                at = Address(self.argument(out, "output"), (), k)
                self.after.append(Store(at, name, dtype))
                new = step.writes.get((place.buffer, k), name)
                if new in names and new != name:
                    aside = self.fresh("w")
                    loop.body.append(Let(aside, dtype, "copy", (new,)))
                    new = aside
                if new != name:
                    ends.append(Combine(name, new))
        if self.p.finite:
            self.require_finite(loop, [(c.name, c.dtype) for c in loop.carries])
        loop.body += ends
        self.hoist(loop)
        self.look_for_signals(loop)
        if self.p.condition is not None:
            self.after_condition(loop)

    def require_finite(self, loop: For, numbers: Sequence[tuple[str, str]]) -> None:
        """Look at these carries before each step and after the last: 0 times a number is 0."""
        for name, dtype in numbers:
            zero, total, nothing, more = Const(0.0, dtype), *(self.fresh("z") for _ in range(3))
            last, end, held = (self.fresh("z") for _ in range(3))
            loop.carries.append(Carry(total, dtype, "next", zero))
            loop.body += [
                Let(nothing, dtype, "mul", (name, zero)),
                Let(more, dtype, "add", (total, nothing)),
                Combine(total, more),
            ]
            self.after += [
                Let(last, dtype, "mul", (name, zero)),
                Let(end, dtype, "add", (total, last)),
                Let(held, "bool", "eq", (end, zero)),
                Require(held, NOT_FINITE),
            ]
        self.code.requires = True

    def start(self, a: Atom, k: int) -> Operand:
        """Element `k` of the first value of a carry."""
        source, dtype = self.outer(a), NATIVE[a.type.dtype]
        if isinstance(source, Const):
            return Const(np.dtype(dtype).type(source.value), dtype)
        index = np.unravel_index(k, source.shape) if source.shape else ()
        steps = (int(i) * s for i, s in zip(index, source.strides, strict=True))
        name = self.fresh("s")
        at = Address(self.argument(source.base, "input"), (), source.offset + sum(steps))
        self.before.append(Load(name, dtype, at))
        return name

    def in_memory(self, place: Place, a: Atom, out: Var) -> None:
        """A carry that stays in memory: copied there before the loop, and from there after it."""
        source, dtype = self.outer(a), NATIVE[out.type.dtype]
        base = Place("")
        if isinstance(source, View):
            base = Place(self.argument(source.base, "input"))
        self.before += self.copy(source, base, place, out.type.shape, dtype)
        target = Place(self.argument(out, "output"))
        self.after += self.copy(whole(out), place, target, out.type.shape, dtype)

    def hoist(self, loop: For) -> None:
        """Elements of what nobody writes are read before the loop."""
        fixed = {a.name for a in self.code.arguments.values() if a.role == "input"}

        def is_fixed(s: Any) -> bool:
            read = isinstance(s, Load) and s.guard is None and not s.address.terms
            return read and s.address.buffer in fixed

        for body in (loop.test, loop.body):
            self.before += [s for s in body if is_fixed(s)]
            body[:] = [s for s in body if not is_fixed(s)]

    def look_for_signals(self, loop: For) -> None:
        """A long loop ends where a signal's handler raises, and with it those around it."""
        if not self.backend.signals:
            return
        steps = FOREVER if self.p.length is None else self.p.length
        if steps * self.work >= LONG:
            loop.every = 1 << max(0, int(BETWEEN / max(self.work, 1.0)).bit_length() - 1)
        if not loop.every and not loop.inner_looks:
            return
        self.code.requires = True
        if not self.within:
            self.polls = [str(self.code.integer(("poll", k), n)) for k, n in enumerate(poll())]

    def after_condition(self, loop: For) -> None:
        """The number of steps, and whether the condition holds after the most of them."""
        at = Address(self.argument(self.e.outputs[-1], "output"), (), 0)
        self.after.append(Store(at, loop.index, "int64"))
        if self.p.strict is None:
            return
        assert self.p.length is not None
        self.code.requires = True
        again, held = written_again(loop.test, loop.condition)
        names = [self.fresh("q") for _ in range(3)]
        self.after += [
            *again,
            Let(names[0], "bool", "lt", (loop.index, Const(self.p.length, "int64"))),
            Let(names[1], "bool", "not", (held,)),
            Let(names[2], "bool", "or", (names[0], names[1])),
            Require(names[2]),
        ]


def _check_dtype(a: Atom) -> None:
    if a.type.dtype not in NATIVE:
        raise NotNative(f"it has values of dtype {a.type.dtype}")


def _direct(low: Lowered) -> Written:
    """The main kernel of a step; what its only chunk finds is the result."""
    arguments = [
        replace(a, role="output") if a.name in low.direct else a for a in low.main.arguments
    ]
    return low.main._replace(arguments=arguments)


def _multiplications(e: Equation) -> int:
    """About how many a product takes."""
    out = sum(v.type.size for v in e.outputs)
    return out * max([a.type.shape[-1] for a in e.inputs if a.type.ndim], default=1)
