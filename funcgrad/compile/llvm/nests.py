"""Loops as LLVM IR: index by index, or several lanes at a time.

Where masks cost nothing (AVX-512) the last vector of a row is masked, like all before it unless
they have better use for the registers; elsewhere single elements follow the full vectors. Carries
are values of the loop's head; those in lanes are combined halves with halves when the loop has
ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compile.foreign import FOREIGN
from funcgrad.compile.llvm.access import Access
from funcgrad.compile.llvm.body import VectorTarget
from funcgrad.compile.llvm.emit import Value
from funcgrad.compile.llvm.frame import ELEMENTS, Frame
from funcgrad.compile.llvm.integers import literal
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.names import free, indices_of
from funcgrad.compile.llvm.operations import Operations
from funcgrad.compile.llvm.straight import Straight
from funcgrad.compile.loops import Combine, For, Kernel, Let, Load, Store, identity, statements

__all__ = ["Nests"]

FRAME = 192 << 10  # bytes of the values of a loop that may all be on the stack


class Nests:
    """How a kernel runs: its statements and loops."""

    def __init__(self, kernel: Kernel, target: VectorTarget) -> None:
        self.kernel, self.target = kernel, target
        self.frame = frame = Frame(kernel, target)
        self.single, self.body = frame.single, frame.body
        self.operations = operations = Operations(frame)
        self.access = access = Access(frame, operations)
        self.straight = Straight(frame, operations, access)

    def run(self) -> None:
        self.frame.arguments()
        self.statements(self.kernel.body)
        if self.kernel.requires:
            failed = self.single.new("i64", "load i64, ptr %failed")
            self.frame.line(f"%old = atomicrmw or ptr %flag, i64 {failed} monotonic")

    def statements(self, body: Sequence[Any]) -> None:
        for s in body:
            if not isinstance(s, For):
                self.straight.statement(s)
            elif s.kind == "vector" and (lanes := self.width(s)) > 1:
                self.vector_loop(s, lanes)
            elif s.kind == "blocks":
                self.blocks(s)
            elif s.kind == "steps":
                self.steps(s)
            else:
                self.loop(s)

    def loop(self, s: For) -> None:
        """Index by index; the chunks run from `first` to `last`."""
        chunks = s.kind == "chunks"
        start = "%first" if chunks else "0"
        end = self.single.value("%last", "i64") if chunks else self.frame.scalar(s.count)
        self.start_carries(s)
        if self.frame.lanes > 1:  # each lane has its own: beyond the end they may hold anything
            self.frame.apart.update(c.name for c in s.carries)
        around = self.frame.walked, self.frame.ahead
        self.frame.walked = s.index if self.frame.lanes > 1 else ""
        self.frame.ahead = self.access.rows_ahead(end) if self.frame.walked else None
        self.one_by_one(s, start, end)
        self.frame.walked, self.frame.ahead = around
        self.end_carries(s)

    def blocks(self, s: For) -> None:
        """Block by block; what the only one of a short row hands on is not added to nothing."""
        combined = [t for t in s.body if isinstance(t, Combine)]
        end = self.frame.scalar(s.count)
        if literal(end.name) not in (None, 1):
            self.start_carries(s)
            self.one_by_one(s, "0", end)
            return self.end_carries(s)
        self.start_carries(s)
        self.access.hoist(s)
        outer, prefix = dict(self.frame.known), dict(self.frame.prefix)
        self.frame.known[s.index], finish = self.open_loop(s, "0", end, 1)
        self.statements([t for t in s.body if not isinstance(t, Combine)])
        alone = {
            t.carry: self.operations.masked(self.frame.read(t.value), outer[t.carry])
            for t in combined
        }
        if end.name == "1":
            self.forget(s, outer, prefix)
            self.frame.known |= alone
            return None
        single, more, done = self.body.block, self.frame.label(), self.frame.label()
        one = self.single.compare("eq", end, self.single.constant(1, "i64"))
        self.frame.line(f"br i1 {one}, label %{done}, label %{more}")
        self.frame.open(more)
        self.statements(combined)
        finish()
        known = dict(self.body.known)
        self.forget(s, outer, prefix)
        self.end_carries(s)
        several = self.body.block
        self.frame.line(f"br label %{done}")
        self.frame.open(done)
        self.body.known = known
        for name, x in alone.items():
            pair = f"[ {x}, %{single} ], [ {self.frame.known[name]}, %{several} ]"
            self.frame.known[name] = x.emitter.new(x.element, f"phi {x.type} {pair}")
        return None

    def steps(self, s: For) -> None:
        """Step by step; the carries are values of the loop's head, and so is the condition."""
        self.start_carries(s)
        self.access.hoist(s)
        outer, prefix = dict(self.frame.known), dict(self.frame.prefix)
        index, finish = self.open_loop(s, "0", self.frame.scalar(s.count), 1)
        self.frame.known[s.index] = index
        self.statements(s.body)
        finish()
        self.forget(s, outer, prefix)
        self.frame.known[s.index] = index

    def undisturbed(self, index: Value, every: int) -> Value:
        """Whether no signal has ended the loop; the main thread looks `every` so many steps."""
        one = self.single
        look, thread, main = (self.frame.known[n] for n in self.kernel.polls)
        low = one.binary("and", index, one.constant(every - 1, "i64"))
        due = one.compare("eq", low, one.constant(every - 1, "i64"))

        def called(function: Value, kind: str) -> Value:
            at = one.new("ptr", f"inttoptr {function.typed} to ptr")
            return one.new(kind, f"call {kind} {at}()")

        def ask() -> list[Value]:
            mine = one.compare("eq", called(thread, "i64"), main)
            nothing = one.constant(0, "i32")
            (found,) = one.rarely(mine, [nothing], lambda: [called(look, "i32")])
            quiet = one.compare("eq", found, nothing)
            self.operations.require(quiet)
            return [quiet]

        return one.rarely(due, [one.mask(True)], ask)[0]

    def undamaged(self) -> Value:
        """Whether nothing has failed so far, as a loop within does that a signal has ended."""
        failed = self.single.new("i64", "load i64, ptr %failed")
        return self.single.compare("eq", failed, self.single.constant(0, "i64"))

    def one_by_one(self, s: For, start: str, end: Value) -> None:
        """The loop itself; what it defines is forgotten afterwards, but for the carries."""
        if start == end.name:
            return
        self.access.hoist(s)
        outer, prefix = dict(self.frame.known), dict(self.frame.prefix)
        index, finish = self.open_loop(s, start, end, 1)
        self.frame.known[s.index] = index
        self.statements(s.body)
        finish()
        self.forget(s, outer, prefix)

    def forget(
        self, s: For, outer: dict[str, Value], prefix: dict[int, tuple[Value, frozenset[int]]]
    ) -> None:
        carries = {c.name: self.frame.known[c.name] for c in s.carries}
        self.frame.known, self.frame.prefix = {**outer, **carries}, prefix

    def open_loop(self, s: For, start: str, end: Value, step: int) -> tuple[Value, Any]:
        """Begin a loop; what is returned closes it, after the body."""
        if s.kind != "steps" and _runs_once(start, end.name, step):
            return self.single.value(start, "i64"), lambda: None
        before, head, inside, after = (
            self.body.block,
            self.frame.label(),
            self.frame.label(),
            self.frame.label(),
        )
        self.frame.line(f"br label %{head}")
        self.frame.open(head)
        names = [c.name for c in s.carries]
        compensated = [n for n in names if self.frame.ops[n].op == "compensated"]
        number = self.frame.labels
        index = self.single.value(f"%x.i{number}", "i64")
        phis = [(index, self.single.value(start, "i64"))]
        for k, n in enumerate(names):
            v = self.frame.known[n]
            phis.append((v.emitter.value(f"%x.c{number}.{k}", v.element), v))
            self.frame.known[n] = phis[-1][0]
        for k, n in enumerate(compensated):
            v = self.frame.lost[n]
            phis.append((v.emitter.value(f"%x.l{number}.{k}", v.element), v))
            self.frame.lost[n] = phis[-1][0]
        place = len(self.body.lines)
        self.body.lines += [""] * len(phis)
        going = self.single.compare("ult", index, end)
        if s.condition is not None:
            self.frame.known[s.index] = index
            self.statements(s.test)
            going = self.single.binary("and", going, self.frame.read(s.condition))
        if s.every:
            going = self.single.binary("and", going, self.undisturbed(index, s.every))
        if s.kind == "steps" and s.inner_looks:
            going = self.single.binary("and", going, self.undamaged())
        self.frame.line(f"br i1 {going}, label %{inside}, label %{after}")
        self.frame.open(inside)
        known = dict(self.body.known)

        def finish() -> None:
            following = self.single.binary("add", index, self.single.constant(step, "i64"))
            last = self.body.block
            self.frame.line(f"br label %{head}")
            ends = [
                following,
                *(self.frame.known[n] for n in names),
                *(self.frame.lost[n] for n in compensated),
            ]
            for k, ((phi, first), again) in enumerate(zip(phis, ends, strict=True)):
                text = f"[ {first}, %{before} ], [ {again}, %{last} ]"
                self.body.lines[place + k] = f"  {phi} = phi {phi.type} {text}"
            for n, (phi, _) in zip([*names, *compensated], phis[1:], strict=True):
                target = self.frame.known if phi.name.startswith("%x.c") else self.frame.lost
                target[n] = phi
            self.frame.open(after)
            self.body.known = known

        return index, finish

    def start_carries(self, s: For) -> None:
        for c in s.carries:
            self.frame.ops[c.name] = c
            e, element = self.frame.emitter(ELEMENTS[c.dtype]), ELEMENTS[c.dtype]
            self.frame.known[c.name] = (
                e.constant(identity(c.op, c.dtype), element)
                if c.start is None
                else self.frame.read(c.start)
            )
            if c.op == "compensated":
                self.frame.lost[c.name] = e.constant(0.0, element)

    def end_carries(self, s: For) -> None:
        """Give back what rounding lost, unless it is not finite."""
        for c in s.carries:
            if c.op == "compensated":
                total, lost = self.frame.known[c.name], self.frame.lost[c.name]
                e = total.emitter
                finite = e.intrinsic("fabs", lost) < float("inf")
                self.frame.known[c.name] = e.select(finite, total + lost, total)

    def vector_loop(self, s: For, lanes: int) -> None:
        end = self.frame.scalar(s.count)
        self.start_in(lanes, s)
        self.frame.padded = s.lanes > 0
        if self.target.avx512 and (self.frame.padded or not _multiplies(s)):
            self.lane_body(s, "0", end, lanes, True)
            self.frame.padded = False
            self.to_one(s)
            return
        self.frame.padded = False
        full = self.single.binary("and", end, self.single.constant(-lanes, "i64"))
        self.lane_body(s, "0", full, lanes, False)
        if self.target.avx512:
            self.lane_body(s, str(full), end, lanes, True)
            self.to_one(s)
        else:
            self.to_one(s)
            self.one_by_one(s, str(full), end)

    def start_in(self, lanes: int, s: For) -> None:
        self.frame.lanes = lanes
        self.start_carries(s)
        self.frame.lanes = 1

    def lane_body(self, s: For, start: str, end: Value, lanes: int, masks: bool) -> None:
        if start == end.name:
            return
        self.access.hoist(s)
        outer, prefix = dict(self.frame.known), dict(self.frame.prefix)
        self.frame.lanes = lanes
        indices = indices_of(s)
        for name in free(s):
            v = outer.get(name)
            if v is not None and v.emitter.lanes == 1 and name not in indices:
                self.frame.known[name] = self.frame.splat(v)
        self.frame.lanes = 1
        index, finish = self.open_loop(s, start, end, lanes)
        self.frame.lanes, self.frame.lane_index = lanes, s.index
        self.frame.known[s.index] = index
        if masks and (literal(end.name) is None or int(end.name) % lanes):
            self.frame.mask = self.lanes_before(index, end)
        self.statements(s.body)
        self.frame.lanes, self.frame.lane_index, self.frame.mask = 1, "", None
        finish()
        self.forget(s, outer, prefix)

    def lanes_before(self, index: Value, end: Value) -> Value:
        """The mask of the lanes from `index` on that are before `end`, some of them."""
        first, last = literal(index.name), literal(end.name)
        if first is not None and last is not None:
            ones = (1 << (last - first)) - 1
            kind = f"<{self.frame.lanes} x i1>"
            text = f"bitcast (i{self.frame.lanes} {ones} to {kind})"
            return self.frame.emitter().value(text, "i1")
        if self.frame.lanes not in (8, 16, 32, 64):
            here = self.frame.emitter().binary("add", self.frame.splat(index), self.frame.iota())
            return self.frame.emitter().compare("ult", here, self.frame.splat(end))
        one, word, n = (
            self.single,
            f"i{self.frame.lanes}",
            self.single.constant(self.frame.lanes, "i64"),
        )
        left = one.binary("sub", end, index)
        over = one.select(
            one.compare("ult", left, n), one.binary("sub", n, left), one.lift(0, "i64")
        )
        beyond = over if self.frame.lanes == 64 else one.convert("trunc", over, word)
        bits = one.binary("lshr", one.constant(-1, word), beyond, word)
        return self.frame.emitter().new("i1", f"bitcast {bits.typed} to <{self.frame.lanes} x i1>")

    def to_one(self, s: For) -> None:
        """Combine the lanes of the carries."""
        for c in s.carries:
            self.frame.known[c.name] = self.operations.in_one(self.frame.known[c.name], c.op)

    def width(self, s: For) -> int:
        """How many lanes: several registers where there is little to do with each.

        Long code keeps most of its values on the stack, of which a thread may have little.
        """
        if s.lanes:
            return s.lanes
        inner = list(statements(s.body))
        native = self.native(inner)
        lanes = self.registers(s, inner, native)
        count = literal(str(self.frame.scalar(s.count)))
        while count is not None and lanes > native and lanes >= 2 * count:
            lanes //= 2
        while lanes > 1 and 8 * lanes * len(inner) > FRAME:
            lanes //= 2
        return lanes

    def native(self, inner: list[Any]) -> int:
        """How many lanes a register has."""
        wide = any(
            t.dtype == "float64" or (t.dtype == "int64" and not isinstance(t, Let))
            for t in inner
            if isinstance(t, (Let, Load, Store))
        )
        return self.target.vector_bits // (64 if wide else 32)

    def registers(self, s: For, inner: list[Any], native: int) -> int:
        """As many lanes as the registers like best."""
        lets = [t for t in inner if isinstance(t, Let)]
        if any(t.op in FOREIGN for t in lets) or len(s.carries) > 4:
            return native
        rows = any(isinstance(t, For) for t in inner)  # side by side: long reads from each
        few = len(lets) < 16
        if any(t.op in FUNCTIONS and t.op != "sqrt" for t in lets):
            return native * (4 if rows and few else 2)
        if rows:
            return native * (8 if few else 4)
        return native * (4 if few else 2)


def _runs_once(start: str, end: str, step: int) -> bool:
    first, last = literal(start), literal(end)
    return first is not None and last is not None and first < last <= first + step


def _multiplies(s: For) -> bool:
    """Whether products are added up in the loop: masks of many lanes would fill the registers."""
    return any(isinstance(t, Combine) and t.times is not None for t in statements(s.body))
