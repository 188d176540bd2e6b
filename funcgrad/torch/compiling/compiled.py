"""`compile`: a training step, a model or a function that runs as one compiled program.

The program of a call is looked for in two ways: if everything that was looked at when it was made
is still the same thing, by a glance at each place; else by a walk over all that the call can reach,
which gives the key of a cache. Where nothing can be compiled the function runs as it is.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import running
from funcgrad.errors import outside
from funcgrad.passes.templates import Templates
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.compiling.captures import PLAIN, Reached, gradient_of, kind_of, name_of, reach
from funcgrad.torch.compiling.claims import claimed, others_trace
from funcgrad.torch.compiling.memory import Apart
from funcgrad.torch.compiling.program import EagerCall, Program
from funcgrad.torch.compiling.tracing import CannotCompile, trace
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer

__all__ = ["Compiled"]

PROGRAMS = 64  # kept for a function
GLANCES = 8  # kept for a function: one for each model and optimizer that it is used with
FAILURES = 8  # traces without a program, one after the other, after which no more are made


class Glance:
    """What a call looked like, and its program (or why there is none)."""

    def __init__(
        self, reached: Reached, program: Program | str, args: Any, kwargs: Any, state: Any
    ) -> None:
        self.reached, self.program, self.state = reached, program, state
        self.names = tuple(kwargs)
        self.arguments = [_argument(x) for x in (*args, *kwargs.values())]
        self.extras = [_extra(x) for x in reached.tensors]
        self.kinds = [kind_of(x) for x in reached.tensors]
        self.same = [x for x, o in zip(reached.tensors, reached.origins, strict=True)
                     if o[0] == "same"]  # fmt: skip
        self.own = {id(x) for x in self.same}
        self.apart = Apart()
        held = {k for how, k in reached.origins if how == "gradient"}
        self.without = [k for k in range(len(reached.tensors)) if k not in held]
        self.dictionaries = [bool(x.__dict__) for x in reached.tensors]

    def tensors(self, args: Any, kwargs: Any, state: Any) -> list[Tensor] | None:
        """The tensors of a call in the order of the walk; None if it is another kind of call."""
        if state != self.state or len(args) + len(kwargs) != len(self.arguments):
            return None
        given = (*args, *kwargs.values()) if kwargs else args
        if kwargs and tuple(kwargs) != self.names:
            return None
        for x, known in zip(given, self.arguments, strict=True):
            if isinstance(x, Tensor):
                if known is not Tensor or id(x) in self.own:
                    return None
            elif type(x) is not type(known) or not (
                x is known or (isinstance(x, PLAIN) and repr(x) == repr(known))
            ):
                return None
        if not self.reached.unchanged():
            return None
        return self._found(args, kwargs)

    def _found(self, args: Any, kwargs: Any) -> list[Tensor] | None:
        found: list[Any] = []
        seen = set()
        for (how, what), kind, extra, named in zip(
            self.reached.origins, self.kinds, self.extras, self.dictionaries, strict=True
        ):
            if how == "same":
                x = what
            elif how == "gradient":
                x = gradient_of(found[what])
            else:
                x = args[what] if type(what) is int else kwargs[what]
            if x is None or id(x) in seen or type(x._t) is not RootTracer or kind_of(x) != kind:
                return None
            if _extra(x) is not extra or (not named and how != "same" and x.__dict__):
                return None
            seen.add(id(x))
            found.append(x)
        if any(gradient_of(found[k]) is not None for k in self.without):
            return None
        return found


def _argument(x: Any) -> Any:
    return Tensor if isinstance(x, Tensor) else x


def _extra(x: Tensor) -> Any:
    """The hooks of a leaf."""
    node = x._t.node
    return node.extra if type(node) is AccumulateGrad else None


def _state() -> tuple[Any, ...]:
    return modes.grad, modes.inference, dtypes.get_default_dtype(), modes.autocast


class Compiled:
    """A function that runs as a compiled program; made by `compile`."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.fullgraph = function, fullgraph
        self.programs: OrderedDict[Hashable, tuple[Program | str, Reached]] = OrderedDict()
        self.templates = Templates()
        self.glances: list[Glance] = []
        self.failures = 0
        self.reasons: Counter[str] = Counter()
        self.calls = 0
        self.warned: set[str] = set()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            special = modes.anomaly or modes.saved_hooks or modes.dual is not None
            if modes.stage is not None or running.count:
                return self.function(*args, **kwargs)  # part of what is traced around it
            if special:
                return self._eagerly(
                    "a mode of autograd holds that looks at every step", args, kwargs
                )
            state = _state()
            for k, glance in enumerate(() if others_trace() else self.glances):
                tensors = glance.tensors(args, kwargs, state)
                if tensors is not None:
                    if k:
                        self.glances.insert(0, self.glances.pop(k))
                    return self._run(glance, tensors, args, kwargs)
            if self.failures >= FAILURES:
                return self._eagerly(f"{FAILURES} traces in a row gave no program", args, kwargs)
            return self._look(args, kwargs, state)
        except Exception as error:
            hide_frames(error)
            raise

    def _look(self, args: Any, kwargs: Any, state: Any) -> Any:
        """A call that is like none of the last ones."""
        with claimed(lambda: reach(self.function, args, kwargs)) as reached:
            program, later = self._program(reached, args, kwargs, state)
        if later:
            return self._eagerly(str(program), args, kwargs, quiet=self.failures < 3)
        glance = Glance(reached, program, args, kwargs, state)
        self.glances = [glance, *self.glances[: GLANCES - 1]]
        return self._run(glance, reached.tensors, args, kwargs)

    def _program(
        self, reached: Reached, args: Any, kwargs: Any, state: Any
    ) -> tuple[Program | str, bool]:
        """The program of a call, or why there is none and whether another call may have one."""
        key = (tuple(reached.key), state)
        known = self.programs.get(key)
        if known is not None:
            self.programs.move_to_end(key)
            return known[0], False
        program, later = self._traced(reached, args, kwargs)
        self.failures = self.failures + 1 if isinstance(program, str) else 0
        if not later:
            self.programs[key] = program, reached
            while len(self.programs) > PROGRAMS:
                self.programs.popitem(last=False)
        return program, later

    def _traced(self, reached: Reached, args: Any, kwargs: Any) -> tuple[Program | str, bool]:
        """The program of a trace, or why there is none and whether another call may have one."""
        if reached.reasons:
            return "; ".join(reached.reasons), False
        try:
            with warnings.catch_warnings(record=True) as caught:
                program = trace(self.function, args, kwargs, reached)
        except CannotCompile as problem:
            return str(problem), problem.later
        if caught:
            return f"the call warns: {caught[0].message}", False
        program.prepare(self.templates)
        return program, False

    def _run(self, glance: Glance, tensors: Any, args: Any, kwargs: Any) -> Any:
        program = glance.program
        if isinstance(program, str):
            return self._eagerly(program, args, kwargs)
        if not glance.apart.holds(tensors, program):
            return self._eagerly(
                "a Tensor that is written shares memory with another", args, kwargs
            )
        try:
            out = program.run(tensors, glance.reached)
        except EagerCall as problem:
            reason = str(problem)
        else:
            self.calls += 1
            return out
        return self._eagerly(reason, args, kwargs)

    def _eagerly(self, reason: str, args: Any, kwargs: Any, quiet: bool = False) -> Any:
        if self.fullgraph and not quiet:
            raise RuntimeError(f"torch.compile with fullgraph=True of {self._name()}: {reason}")
        self.reasons[reason] += 1
        if not quiet and reason not in self.warned:
            self.warned.add(reason)
            warnings.warn(
                f"torch.compile: a call of {self._name()} runs eagerly: {reason}",
                UserWarning,
                stacklevel=outside(),
            )
        return self.function(*args, **kwargs)

    def _name(self) -> str:
        return name_of(self.function)

    def report(self) -> str:
        """How many calls ran as programs, how many eagerly, and why."""
        programs = sum(not isinstance(p, str) for p, _ in self.programs.values())
        lines = [f"{self._name()}: {self.calls} calls in {programs} compiled programs"]
        lines += [f"{n} calls ran eagerly: {reason}" for reason, n in self.reasons.items()]
        return "\n".join(lines)
