"""Executables: graphs optimised, fused, lowered and built, with the program that runs them.

An operation without a native form runs as its primitive does, so no graph is refused. Several
threads may run an executable at once.
"""

from __future__ import annotations

import functools
import itertools
import traceback
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.backend import Backend
from funcgrad.compile.buffer_assignment import Places
from funcgrad.compile.dots import dots
from funcgrad.compile.eligible import moves, reduces
from funcgrad.compile.gemm import gemm
from funcgrad.compile.host import write_program
from funcgrad.compile.kernel_calls import Call, calls_of
from funcgrad.compile.llvm.target import lock
from funcgrad.compile.loop_kernel import NotNative, loop_kernel
from funcgrad.compile.loops import NOT_FINITE, OUT_OF_BOUNDS, Kernel, Require, show, statements
from funcgrad.compile.lower import Lowered, lower
from funcgrad.compile.scalars import resolve
from funcgrad.compile.signals import reraise
from funcgrad.compile.small_steps import is_small, once, small_step
from funcgrad.compile.tiles import product_of
from funcgrad.compile.workspace import Layout, Workspaces
from funcgrad.core.collector import uncollected
from funcgrad.core.effects import logged
from funcgrad.core.tracer import running
from funcgrad.errors import GraphError
from funcgrad.graph.effects import effects_of
from funcgrad.graph.interpret import blame, evaluate
from funcgrad.graph.ir import Equation, Graph
from funcgrad.passes.fuse import fuse
from funcgrad.passes.pipeline import optimize
from funcgrad.passes.plan import Plan
from funcgrad.passes.recurrences import Form
from funcgrad.passes.region import Region
from funcgrad.passes.rewrite import rewrite

__all__ = ["Executable", "compile_graph"]

_numbers = itertools.count(1)


@functools.lru_cache(maxsize=256)
def _code(source: str) -> types.CodeType:
    """The code of a host program, which is the same for every size of the arguments."""
    return compile(source, f"<program of graph {next(_numbers)}>", "exec")


def compile_graph(
    graph: Graph, backend: Backend, donated: Collection[int] = (), form: Form = Form.FINITE
) -> Executable:
    """The executable of a graph; it may write results into the inputs of the `donated` numbers.

    In the `form` that is `Form.FINITE` it may be one that another one takes the place of, which is
    possible in Python only.
    """
    if form is Form.FINITE and (donated or effects_of(graph) or _open_ended(graph)):
        form = Form.EITHER  # numbers that mean nothing end no loop, and are written over nothing
    with uncollected():
        return Executable(graph, plan_of(graph, backend, form=form), backend, donated, form)


def _open_ended(graph: Graph) -> bool:
    """Whether a graph has a loop whose steps are as many as its numbers say."""
    if "open-ended" not in graph.derived:
        params = [p for e in graph.equations for p in e.params.items()]
        graph.derived["open-ended"] = any(
            isinstance(p, Graph) and (name == "condition" or _open_ended(p)) for name, p in params
        )
    found: bool = graph.derived["open-ended"]
    return found


def plan_of(
    graph: Graph, backend: Backend, within_loops: bool = False, form: Form = Form.EITHER
) -> Plan:
    """The graph optimised and fused, `within_loops` without what only Python can run."""

    def elementwise(e: Equation) -> bool:
        return moves(e) or resolve(e, backend.functions) is not None

    if within_loops:
        graph = rewrite(graph, lambda r, e: e.prim.within_loops and e.prim.within_loops(r, e))
    return fuse(optimize(graph, form=form), elementwise, reduces)


def _asks_for_finite(kernel: Kernel) -> bool:
    found = (s for s in statements(kernel.body) if isinstance(s, Require))
    return kernel.requires and any(s.kind == NOT_FINITE for s in found)


class Executable:
    """A compiled graph: call it with the inputs of the graph, get its outputs.

    Attributes
    ----------
    source : str
        The host program.
    lowered, calls : dict
        The steps that are loop nests, and what they call with what, by the identity of the step.
    shared : tuple of int
        The outputs that are inputs, or show the memory of an earlier output.
    runs_again : bool
        Whether another executable, without `passes.recurrences`, takes its place where numbers are
        not finite. It is made when that happens.
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        backend: Backend,
        donated: Collection[int],
        form: Form,
    ) -> None:
        self.graph, self.plan, self.backend, self.form = graph, plan, backend, form
        self.donated = tuple(donated)
        self.products: dict[str, str] = {}
        self.lowered: dict[int, Lowered] = {}
        named: dict[str, Kernel] = {}
        with backend.making() as making:  # which begins with the first before the last is known
            for step, low in self.native_steps():
                self.lowered[step] = low
                named.update((k.name, k) for k in low.kernels)
                making.add(low.kernels, low.work)
            self.kernels = list(named.values())
            self.code = making.code() if self.kernels else None
        self.runs_again = any(map(_asks_for_finite, self.kernels))
        self.plain: Executable | None = None
        self.acts = effects_of(graph)
        self.uses_numpy = len(self.lowered) < len(plan.steps)
        inputs = plan.graph.inputs
        self.calls: dict[int, list[Call]] = {
            id(step): calls_of(k, self.lowered[id(step)])
            for k, step in enumerate(plan.steps)
            if id(step) in self.lowered
        }
        self.places = Places(plan, self.lowered, self.calls, {inputs[k] for k in donated})
        self.shared = self.places.shared
        constants = {v: np.asarray(a, order="C") for v, a in plan.graph.constants}
        self.layout = Layout(self.places, constants)
        self.source, self.names, self.equations = write_program(self)
        exec(_code(self.source), self.names)
        self.program: Callable[..., tuple[Any, ...]] = self.names["program"]
        self.workspaces = Workspaces(self.layout, self.code)

    def native_steps(self) -> Iterator[tuple[int, Lowered]]:
        """The steps that are kernels, by identity: regions, and some products."""
        k = 0
        for step in self.plan.steps:
            if isinstance(step, Region):
                low: Lowered | None = lower(self.plan, step, self.backend.functions, f"k{k}")
            elif step.prim.loops:
                low = self.loop(step, f"k{k}")
            elif step.prim.within_loops is not None:
                low = self.loop(once(step), f"k{k}") if is_small(step) else None
            else:
                low = self.named(self.product(self.plan, step, f"k{k}"), f"k{k}")
                low = low or small_step(self.plan, step, f"k{k}")
            if low is not None:
                yield id(step), low
                k += 1

    def loop(self, e: Equation, name: str) -> Lowered | None:
        """The kernel of a loop whose body has a native form; otherwise a note says why not."""
        make = functools.partial(plan_of, backend=self.backend, within_loops=True, form=self.form)
        try:
            return loop_kernel(self.plan, e, self.backend, name, make, self.product)
        except NotNative as why:
            what = "loop" if e.prim.loops else e.prim.name
            steps = " step by step" if e.prim.loops else ""
            self.plan.notes.append(f"the {what} of {e.source} runs{steps} in Python: {why}")
            return None

    def product(self, plan: Plan, e: Equation, name: str) -> Lowered | None:
        """The kernel of a matrix product that BLAS does not do better."""
        p = product_of(plan, e)
        return None if p is None else dots(p, name) or gemm(p, self.backend.vector_bytes, name)

    def named(self, low: Lowered | None, name: str) -> Lowered | None:
        if low is not None:  # products of the same kind share their code
            low.kernel.name = ""
            low.kernel.name = self.products.setdefault(show(low.kernel), name)
        return low

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        w = self.workspaces.take()
        found = self.run(w, leaves)
        self.workspaces.give(w)  # not after an exception: what it left half done goes with it
        return found

    def run(self, w: Any, leaves: Sequence[Any]) -> tuple[Any, ...]:
        if not self.uses_numpy:
            return self.program(w, *leaves)
        with np.errstate(all="ignore"):  # backward equations meet inf and NaN, masked later
            try:
                if not self.acts:
                    return self.program(w, *leaves)
                with logged():
                    return self.program(w, *leaves)
            except Exception as error:
                self.blame(error)
                raise

    def blame(self, error: Exception) -> None:
        """Say which operation of the program raised an error."""
        frames = traceback.walk_tb(error.__traceback__)
        lines = [n for frame, n in frames if frame.f_globals is self.names]
        if lines and lines[-1] in self.equations:
            blame(error, self.equations[lines[-1]])

    def interpret(self, *leaves: Any) -> tuple[Any, ...]:
        """The reference, for arguments that are not of the types of the graph."""
        with np.errstate(all="ignore"):
            return evaluate(self.graph, *leaves)

    def fail(self, leaves: Sequence[Any], flag: Any) -> tuple[Any, ...]:
        """A kernel met what it does not do: let NumPy say why, or do it. Or a signal ended a loop.

        A matrix that is singular or indefinite but for rounding NumPy may factor. It cannot take
        an index that was out of bounds.
        """
        reraise()
        if flag[0] & NOT_FINITE:  # all else that failed may have failed for that
            flag[0] = 0
            return self.again(leaves)
        if self.acts:  # what has happened has happened
            running.log.again()
        found = self.interpret(*leaves)
        if flag[0] & OUT_OF_BOUNDS:
            raise GraphError("a kernel found an index out of bounds that NumPy takes")
        flag[0] = 0
        shared = self.shared
        return tuple(x if k in shared else np.array(x)[()] for k, x in enumerate(found))

    def again(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The results of loops as the program has them."""
        plain = self.plain
        if plain is None:
            with lock:
                plain = self.plain = self.plain or compile_graph(
                    self.graph, self.backend, form=Form.PLAIN
                )
        own = set(plain.shared) - set(self.shared)
        return tuple(x.copy() if k in own else x for k, x in enumerate(plain(*leaves)))

    def show(self) -> str:
        """The optimised graph, the host program, the loops, and the text of the backend."""
        loops = "\n\n".join(map(show, self.kernels))
        text = self.backend.text(self.kernels) if self.kernels else ""
        return "\n\n".join([str(self.plan.graph), self.source, loops, text])

    def explain(self) -> str:
        """What became one kernel, what runs in NumPy, and why."""
        lines = []
        for step in self.plan.steps:
            low = self.lowered.get(id(step))
            if isinstance(step, Region):
                assert low is not None
                names = " ".join(e.prim.name for e in step.equations)
                lanes = "rows" if low.layout.across else "elements"
                shape = f"{low.layout.rows} rows in {low.layout.chunks} chunks, lanes over {lanes}"
                count = len(step.equations)
                lines.append(
                    f"{low.kernel.name}: {count} operations in one kernel, {shape}: {names}"
                )
            else:
                types = ", ".join(str(a.type) for a in step.inputs)
                where = "NumPy" if low is None else low.kernel.name
                lines.append(f"{where}: {step.prim.name} of {types}")
        if self.runs_again:
            lines.append(
                "where numbers of its loops are not finite, another program takes its place"
            )
        return "\n".join([*lines, *self.plan.notes])
