"""What `jit` returns: a function traced once for each kind of arguments, and run from its graph."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import tree
from funcgrad.compile.execute import Kept, executable, get_ready, kept_or_compiled
from funcgrad.compile.imports import interpreted
from funcgrad.core.boundary import boundary, bounded, hide_frames
from funcgrad.core.effects import logged
from funcgrad.core.tracer import Operand, Tracer, concrete, running, type_of, uncompiled
from funcgrad.core.types import Array
from funcgrad.graph.interpret import was_running
from funcgrad.graph.ir import Graph
from funcgrad.passes.templates import Templates
from funcgrad.transforms import native
from funcgrad.transforms.abstract import ShapeDtypeStruct, shapes_of
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.call import call_graph, residuals
from funcgrad.transforms.captures import Captures, announce, capture
from funcgrad.transforms.direct import direct
from funcgrad.transforms.fast_path import Quick, layouts_of
from funcgrad.transforms.random_draws import Draws, warn
from funcgrad.transforms.readings import Readings, warn_of_reading
from funcgrad.transforms.report import Report
from funcgrad.transforms.results import handed_back, own, unshared
from funcgrad.transforms.selection_sizes import SizeChanged, numbers_after
from funcgrad.transforms.staged_function import Staged, stage_function
from funcgrad.transforms.static import (
    Donated,
    Static,
    exact_structure,
    functions_within,
    objects,
    typed,
)
from funcgrad.transforms.transformed import described, named

if TYPE_CHECKING:
    from funcgrad.compile.export import Exported
    from funcgrad.transforms.ahead import Lowered

__all__ = ["Jitted"]

Function = Callable[..., Any]
CACHE_SIZE = 256


class Jitted:
    """A function that runs from its graph; made by `jit`."""

    is_transformed = True

    def __init__(self, f: Function, static: Static, donated: Donated) -> None:
        functools.update_wrapper(self, f, updated=())
        get_ready()
        self.fun, self.static, self.donated = f, static, donated
        # Keys may run code of the user, so no lock is held: each step is one of a dictionary's.
        # A key without layouts leads to the positions of those that make a difference.
        self.cache: dict[Hashable, Any] = {}
        self.templates = Templates()
        self.quick = Quick(self.static)
        self.tracings = Report()
        # the object of which a method was used last, and that
        self.last: tuple[Any, Jitted | None] = None, None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The method of an object: what the object holds is looked at as captures are.

        An object that is a tree of arrays is an argument.
        """
        before, last = self.last
        if before is instance and last is not None:
            return last
        if instance is None or isinstance(self.fun, staticmethod):
            return self
        if tree.is_container(instance) or isinstance(instance, Operand):
            return functools.partial(self, instance)
        method = types.MethodType(self.fun, instance)
        last = Jitted(method, self.static.bound(method), self.donated.bound(method))
        last.cache, last.tracings = self.cache, self.tracings
        last.templates = self.templates
        self.last = instance, last
        return last

    def __reduce__(self) -> Any:
        """By name where that leads here, as functions are pickled, else by what it is made of."""
        chosen = ((c.positions, c.names) for c in (self.static, self.donated))
        return named(self) or (_made_again, (self.fun, *chosen))

    def __repr__(self) -> str:
        return f"<jit of {described(self.fun)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not (running.count or uncompiled):  # within a transform results are boxed
                result = self.quick.call(*args, **kwargs) if kwargs else self.quick.call(*args)
                if result is not NotImplemented:
                    return result
            elif direct.on:
                return self.fun(*args, **kwargs)
            return _bounded_call(self, args, kwargs) if uncompiled else self._call(args, kwargs)
        except Exception as error:
            if isinstance(error, IndexError) and was_running(error):
                self._say_what_is_first(error, args, kwargs)
            hide_frames(error)
            raise

    def _say_what_is_first(self, error: IndexError, args: Any, kwargs: Any) -> None:
        """Of an index out of bounds where the program runs: the first as it is written."""
        if running.count or self.donated.any:
            return
        from funcgrad.transforms.first_error import first_error  # needed by few programs

        kwargs = self.static.named(kwargs)
        static, dynamic, named = self.static.divide(args, kwargs)
        leaves, definition = leaves_of((dynamic, named), ("the arguments", self.fun))
        first = first_error(self._flat(static, definition, tuple(kwargs)), leaves)
        if first is not None:
            error.args, error.__notes__ = first.args, first.__notes__

    def _flat(self, static: Any, definition: tree.TreeDef, order: tuple[str, ...]) -> Function:
        """The function of the leaves of the arguments that are not static."""

        def flat(*xs: Any) -> Any:
            dynamic, named = tree.unflatten(definition, xs)
            every = {**named, **dict(static[1])}
            return self.fun(*Static.merge(static, dynamic), **{n: every[n] for n in order})

        return flat

    def _call(self, args: Any, kwargs: Any) -> Any:
        """A call that the entry point did not take."""
        if args and isinstance(args[0], type) and 0 not in self.static.places(len(args), kwargs)[0]:
            # A class is no array: since Python 3.13 `classmethod` hands it over as an argument.
            return self.__get__(args[0])(*args[1:], **kwargs)
        quick = None if running.count or interpreted() else self.quick
        if quick is not None:
            known = quick.find(args, kwargs)
            if known is not None:
                entry, leaves = known
                return entry.build(entry.run(*leaves, *entry.captured))
        leaves, captures, staged = self._staged(args, kwargs)
        run: Any = None
        if quick is not None and not staged.sizes and not _traced(leaves):
            donated = self.donated.leaves(args, kwargs, self.static)
            if staged.reusable:
                held = staged.held(captures)
                run = kept_or_compiled(staged.graph, donated, len(held))
                quick.add(args, kwargs, run, captures, held, staged.out, staged.asked)
            else:
                run = executable(staged.graph, donated)
            if isinstance(run, Kept):
                result = quick.call(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        with logged() as log:
            while True:
                try:
                    return self._run(leaves, captures, staged, run)
                except SizeChanged as change:
                    if change.mark not in dict(staged.sizes):
                        raise  # it belongs to a function around this one
                    now = numbers_after(staged.sizes, change)
                log.again()
                leaves, captures, staged = self._staged(args, kwargs, now)

    def _run(
        self, leaves: Sequence[Array], captures: Captures, staged: Staged, run: Any = None
    ) -> Any:
        operands = [*leaves, *staged.consts, *staged.held(captures)]
        found: Sequence[Any] = (
            call_graph(staged.graph, *operands) if run is None else run(*operands)
        )
        if not running.count:  # else aliases are what a write has to be seen by
            found = self._apart(staged.graph, found, operands, run)
        return handed_back(staged.out, found, operands)

    @staticmethod
    def _apart(
        graph: Graph, found: Sequence[Any], operands: Sequence[Any], run: Any
    ) -> Sequence[Any]:
        """The results in memory that is nobody else's."""
        if interpreted():
            return own(found, (*operands, *(a for _, a in graph.constants)))
        return unshared(found, (run or executable(graph)).shared)

    @boundary
    def show(self, *args: Any, **kwargs: Any) -> str:
        """The graph for these arguments, the program, loops and native code made of it, as text."""
        graph = self._staged(args, kwargs)[2].graph
        return f"{graph}\n\n{executable(graph).show()}"

    @boundary
    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Which operations run together in one kernel for these arguments, which not, and why.

        Where it was differentiated for them (``grad(jit(f))``), also what is kept for the backward
        pass, and what is computed again there.
        """
        staged = self._staged(args, kwargs)[2]
        graph = staged.graph
        return "\n".join([executable(graph).explain(), *residuals(graph), *staged.notes])

    def report(self) -> str:
        """When the function was traced, and what had changed each time, as text."""
        return str(self.tracings)

    @boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """What the function is traced to for these arguments, ahead of its first call.

        Arrays, or `ShapeDtypeStruct` in their place. The result has ``compile()``,
        ``as_text()``, ``cost_analysis()`` and ``out_info``.
        """
        from funcgrad.transforms.ahead import Lowered  # needed by few programs

        static, dynamic, named = self.static.divide(args, kwargs)
        dynamic, named = tree.map(_stand_in, (dynamic, named))
        given = Static.merge(static, dynamic), {**named, **dict(static[1])}
        leaves, _, staged = self._staged(*given)
        types = tuple(map(type_of, leaves))
        shapes = shapes_of(staged.graph, staged.out)
        definition = tree.structure((dynamic, named))
        return Lowered(self, staged.graph, shapes, types, definition, static)

    @boundary
    def trace(self, *args: Any, **kwargs: Any) -> Lowered:
        """The same as `lower`: what is traced has the method ``lower()``, too."""
        return self.lower(*args, **kwargs)

    @boundary
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the results, as `funcgrad.eval_shape` gives them."""
        return self.lower(*args, **kwargs).out_info

    @functools.cached_property
    def njit(self) -> Any:
        """The function for code that Numba compiles: call it inside ``@numba.njit`` functions.

        It takes and returns numbers, arrays and tuples of them, and runs without the interpreter.
        A program is made for every shape: with arguments of numbers when the caller is compiled,
        with arrays when a shape is first met. Arrays that the function captures are taken when it
        is compiled. `NativeCodeError` names an operation that has no native form.
        """
        return native.njit(self)

    @boundary
    def cfunc(
        self,
        signature: str,
        *,
        vector: bool = False,
        size: int | None = None,
        data: int | None = None,
    ) -> Any:
        """A C function of this function, for libraries that take function pointers.

        Parameters
        ----------
        signature : str
            In C: numbers alone, as ``"double(double, double)"``, or one of SciPy's for
            `LowLevelCallable`, in which the function gets and returns what it would in Python:
            ``"double(int, double*)"`` and ``"double(int, double*, void*)"`` for `quad` and `nquad`
            (``f(x0, x1, …)``), ``"int(double*, npy_intp, double*, void*)"`` for `generic_filter`
            (``f(window)``, a number), ``"int(double*, npy_intp, double*, npy_intp, void*)"`` for
            `generic_filter1d` (``f(line)``, the new line), ``"int(npy_intp*, double*, int, int,
            void*)"`` for `geometric_transform` (``f(coordinates)``, those in the input); or
            ``"void(double, double*, double*)"``, also with a ``double*`` or ``void*`` behind, for
            solvers of differential equations (``f(t, y)``, the derivative).
        vector : bool, optional
            In ``"double(int, double*)"`` the function takes one array instead of the numbers.
        size : int, optional
            The number of differential equations.
        data : int, optional
            How many doubles the last pointer points to; they are one more argument, an array.

        Returns
        -------
        numba.core.ccallback.CFunc
            With ``address``, an integer, and ``ctypes``, which `scipy.LowLevelCallable` takes. It
            has to be kept as long as the pointer is in use.

        Raises
        ------
        ValueError
            The signature is none of these.
        NativeCodeError
            An operation has no native form.

        Examples
        --------
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> slope = fg.jit(fg.grad(np.sin)).cfunc("double(double)")
        >>> slope.ctypes(0.0)
        1.0
        """
        return native.cfunc(self, signature, vector, size, data)

    @boundary
    def export(
        self,
        path: str | os.PathLike[str],
        *args: Any,
        name: str | None = None,
        derivatives: str | Sequence[str] = (),
        cpu: str = "native",
        shared: bool = True,
    ) -> Exported:
        """Write the function as a C header with an object file, which need no Python.

        Parameters
        ----------
        path : path
            Without an ending: ``path.h`` and ``path.o`` are written, and the shared library
            ``lib….so`` beside them where a C compiler is found, which links it.
        *args
            Arguments like those of later calls, or `ShapeDtypeStruct` for arrays. Each leaf is a
            parameter in C: a number by value, an array by its address, dense and in C order.
        name : str, optional
            The name in C; by default that of the function.
        derivatives : sequence of {"grad", "vjp", "jvp"}, optional
            Further functions: ``name_grad`` gives the value and the gradient with respect to every
            floating point argument, of a function that returns one real number; ``name_vjp`` takes
            cotangents of the results, ``name_jvp`` tangents of the arguments.
        cpu : str, optional
            What the code is made for: "native", the processor at hand, or one of "x86-64",
            "x86-64-v2", "x86-64-v3", "x86-64-v4" and "generic", which others run too.
        shared : bool, optional
            Whether the shared library is wanted.

        Returns
        -------
        Exported
            The files, and how much memory each function wants from its caller.

        Raises
        ------
        NativeCodeError
            An operation has no native form that needs no library (LAPACK, a function of the
            user's); nothing is written.

        Notes
        -----
        What the function captures is taken as it is now. The functions have no state: any number of
        threads may call them, each with results and a workspace of its own. Loops stay loops.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = fg.jit(lambda x: np.sum(np.sin(x)))
        >>> folder = tempfile.mkdtemp()
        >>> made = f.export(f"{folder}/waves", np.ones(3), name="waves", derivatives="grad")
        >>> made.workspace
        {'waves': 0, 'waves_grad': 0}
        """
        from funcgrad.transforms.export import export

        return export(self, path, args, name, derivatives, cpu, shared)

    def _staged(
        self, args: Any, kwargs: Any, sizes: tuple[int, ...] = ()
    ) -> tuple[list[Array], Captures, Staged]:
        """What to run; `sizes` are the first numbers of elements that its masks have to select."""
        kwargs = self.static.named(kwargs)
        static, dynamic, named = self.static.divide(args, kwargs)
        leaves, definition = leaves_of((dynamic, named), ("the arguments", self.fun))
        types = [type_of(x) for x in leaves]
        captures = capture(self.fun, [*objects(static), *functions_within(definition)])
        asked: tuple[int, ...] = ()
        order = tuple(kwargs)
        structure = exact_structure(definition), order
        kinds = (structure, tuple(types), typed(static), tuple(captures.key))
        looking = uncompiled and running.watching  # at what is traced, and at lines: do it now
        if not captures.traced and not looking:
            asked = self.cache.get(kinds, ())
            key = (kinds, layouts_of(leaves, asked))
            known = self.cache.get((key, sizes))
            # inside another staging nobody would see that a mask selects another number
            if known is not None and (not known.sizes or all(map(concrete, leaves))):
                self.cache.pop((key, sizes), None)  # so that it is the last one
                self.cache[key, sizes] = known
                return leaves, captures, known

        flat = self._flat(static, definition, order)
        self._announce(captures.unseen)
        draws = Draws(captures.generators)
        with Readings(captures.reads) as readings:
            templates = None if looking else self.templates  # whose lines may be other ones
            given = flat, types, leaves, captures, name_of(self.fun), templates
            staged = stage_function(*given, drawn=draws.happened)
        if readings.first is not None:
            warn_of_reading(name_of(self.fun), readings.first)
            staged = staged._replace(reusable=False)
        self._announce([f"{r.name}() was called at {r.line}" for r in readings.files])
        if draws.happened():
            warn(name_of(self.fun))
            staged = staged._replace(reusable=False)
        kept = staged.reusable and not captures.traced and not looking
        lies = dict(zip(staged.asked, layouts_of(leaves, staged.asked), strict=True))
        self.tracings.add((dynamic, named), types, typed(static), captures, sizes, lies, kept)
        if kept:
            numbers = tuple(size for _, size in staged.sizes)
            if staged.asked:
                asked = tuple(sorted({*asked, *staged.asked}))
                self.cache[kinds], key = asked, (kinds, layouts_of(leaves, asked))
            for k in range(len(numbers) + 1):
                self.cache[key, numbers[:k]] = staged
            for oldest in list(self.cache)[: max(0, len(self.cache) - CACHE_SIZE)]:
                self.cache.pop(oldest, None)
        return leaves, captures, staged

    def _announce(self, unseen: Iterable[str]) -> None:
        self.tracings.unseen.update(dict.fromkeys(unseen))
        announce(f"jit of {name_of(self.fun)}", unseen, self.tracings.said)


@bounded
def _bounded_call(jitted: Jitted, args: Any, kwargs: Any) -> Any:
    """A call within a block that looks for something."""
    return jitted._call(args, kwargs)


def _stand_in(x: Any) -> Any:
    """An array for a `ShapeDtypeStruct`: only its type counts, and its memory is never touched."""
    return np.zeros(x.shape, x.dtype)[()] if isinstance(x, ShapeDtypeStruct) else x


def _made_again(f: Function, static: Any, donated: Any) -> Jitted:
    """A jitted function out of a pickle."""
    return Jitted(f, Static(f, *static), Donated(f, *donated))


def _traced(leaves: Sequence[Any]) -> bool:
    return any(isinstance(x, Tracer) for x in leaves)
