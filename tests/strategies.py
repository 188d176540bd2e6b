"""Random programs as Python source, drawn by hypothesis.

A program is a function of one array, written line by line by a `Writer` that knows the shape of
every name, so that each line is legal. It is analytic: run on complex numbers it gives exact
derivatives by the complex step. The names that a program uses are `xp` (NumPy or funcgrad.numpy),
`np`, `dtype` (of the buffers that it makes) and `tr` (the transforms that it applies inside, each
given together with what it amounts to in plain NumPy).
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import amount
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import funcgrad as fg

__all__ = ["Program", "backend", "derandomized", "programs"]


def derandomized(examples: int) -> settings:
    """The same examples in every run, without a limit on their time."""
    return settings(
        derandomize=True,
        deadline=None,
        max_examples=amount.examples(examples),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@contextlib.contextmanager
def backend(name: str) -> Iterator[None]:
    """What runs the graphs of `jit` meanwhile."""
    before = fg.config.backend
    fg.config.backend = name
    try:
        yield
    finally:
        fg.config.backend = before


Shape = tuple[int, ...]
SHAPES: list[Shape] = [(3,), (1,), (2,), (4,), (2, 3), (3, 1), (2, 2), (1, 3), (2, 1, 3)]


class Var(NamedTuple):
    """What is known of a name: a NumPy scalar cannot be written into, a raw array holds no traced
    value and is never made of one."""

    name: str
    shape: Shape
    scalar: bool = False
    writable: bool = True
    raw: bool = False


@dataclasses.dataclass
class Held:
    """Something that a copy has to go into."""

    content: Any


class Program:
    """Source text with marks: ``$(…)`` is a value that rounding may have touched."""

    def __init__(self, shape: Shape, lines: list[str], exact: bool, double: bool) -> None:
        self.shape, self.lines, self.exact, self.double = shape, lines, exact, double

    def source(self, mark: str = "") -> str:
        body = "\n".join("    " + line for line in self.lines)
        return f"def program(x):\n{body}\n".replace("$", mark)

    def __repr__(self) -> str:
        return f"<program of x with shape {self.shape}\n{self.source()}>"

    def function(self, xp: Any, tr: Any, dtype: Any, note: Any = None) -> Any:
        """The program as a function; `note` sees every computed value and may replace it."""
        space = {"np": np, "xp": xp, "tr": tr, "dtype": dtype, "note": note}
        space |= {"copy": copy, "dataclasses": dataclasses, "Held": Held}
        exec(compile(self.source("note" if note else ""), "<program>", "exec"), space)
        return space["program"]


def broadcasts(shape: Shape, target: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def compatible(a: Shape, b: Shape) -> bool:
    try:
        return len(np.broadcast_shapes(a, b)) <= 3
    except ValueError:
        return False


UNARY = [
    "xp.sin({0})",
    "np.cos({0})",
    "xp.tanh({0})",
    "np.exp(xp.sin({0}))",
    "xp.sqrt(1.3 + {0} * {0})",
    "np.log(1.5 + {0} * {0})",
    "xp.log1p({0} * {0})",
    "np.expm1(0.3 * np.tanh({0}))",
    "xp.arctan(0.5 * {0})",
    "np.square({0})",
    "xp.reciprocal(2.0 + {0} * {0})",
    "{0} ** 2",
    "{0} ** 3",
    "{0} ** 2.0",
    "(0.5 + {0} * {0}) ** 1.5",
    "2.0 ** np.sin({0})",
    "np.sinh(xp.sin({0}))",
    "-{0}",
    "+{0}",
    "1 - {0}",
    "xp.where(np.real({0}) > 0.1234567, {0} * {0}, np.sin({0}))",
    'tr.named("sigmoid")({0})',  # operations of users, which have names of ours
    'tr.named("multiply")({0})',
    'tr.named("sum")({0})',
]
BINARY = [
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / (1.5 + {1} * {1})",
    "np.add({0}, {1})",
    "xp.multiply({0}, np.sin({1}))",
    "xp.where(np.real({0}) > 0.2345678, {0}, {1})",
]
SCALARS = ["0.7", "2", "-1.25", "np.float64(0.5)", "np.float32(1.5)", "np.array(0.8)"]
# what gives an array of its own with the same elements: writing into it must not be seen in {0}
COPIES = [
    "xp.array({0})",
    "{0}.copy()",
    "xp.copy({0})",
    "np.copy({0})",
    "{0}.astype(dtype)",
    "{0} * 1",
    "+{0}",
    "np.positive({0})",
    "xp.where(True, {0}, 0.0)",
    "{0}[np.arange({0}.shape[0])]",
    "{0}[np.ones({0}.shape, bool)].reshape({0}.shape)",
    "xp.concatenate([{0}])",
    "xp.stack([{0}])[0]",
    "xp.tile({0}, 1)",
    "xp.repeat({0}, 1, axis=0)",
    "xp.roll({0}, 0)",
    "xp.sum({0}, axis=())",
    "xp.take({0}, np.arange({0}.shape[0]), axis=0)",
    "xp.pad({0}, 0)",
    "np.full_like({0}, {0})",
    "{0}.flatten().reshape({0}.shape)",
    "{0}.cumsum(0) - {0}.cumsum(0) + {0}",
    "np.append({0}, [])[:].reshape({0}.shape)",
    "xp.broadcast_to({0}, {0}.shape).copy()",
    "copy.copy({0})",
    "copy.deepcopy({0})",
    "copy.deepcopy([{0}, {0}])[1]",
    "dataclasses.replace(Held({0})).content.copy()",
    "dataclasses.asdict(Held([{0}]))['content'][0]",
]
# other names of the same memory, or of a part of it
ALIASES = [
    "{0}",
    "{0}[...]",
    "{0}[:]",
    "{0}[::-1]",
    "{0}.T",
    "{0}[None]",
    "{0}.reshape(-1)",
    "{0}.ravel()",
    "xp.reshape({0}, (-1, 1))",
    "np.transpose({0})",
    "xp.flip({0})",
    "np.flip({0}, 0)",
    "xp.expand_dims({0}, 0)",
    "xp.asarray({0})",
    "np.moveaxis({0}, 0, -1)",
    "xp.atleast_2d({0})",
    "{0}[..., :1]",
    "{0}[1:]",
    "{0}[:-1]",
    "{0}.swapaxes(0, -1)",
    "xp.squeeze({0})",
    "np.rot90({0}.reshape(1, -1))",
    "{0}.view()",
    "np.split({0}, {0}.shape[0])[-1]",
    "xp.diagonal({0}.reshape(1, -1))",
]
REDUCTIONS = ["xp.sum", "np.sum", "xp.mean", "np.prod"]


class Writer:
    """Writes a program one statement at a time, from what hypothesis draws."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.indent = ""
        self.count = 0
        self.exact = True
        self.double = False  # whether it makes Python objects of elements, hence of doubles
        self.shape: Shape = draw(st.sampled_from(SHAPES))
        self.vars = [Var("x", self.shape)]
        self.functions: list[tuple[str, Shape]] = []

    # ------------------------------------------------------------------------- drawing

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def some(self, *conditions: Any) -> Var | None:
        """A name that fits."""
        found = [v for v in self.vars if all(c(v) for c in conditions)]
        return self.pick(found) if found else None

    def constant(self, shape: Shape) -> str:
        """Untraced numbers of a shape that broadcasts to `shape`."""
        if self.chance() or not shape:
            return self.pick(SCALARS)
        own = tuple(1 if self.draw(st.integers(0, 4)) == 0 else n for n in shape)
        size = int(np.prod(own))
        return f"np.linspace(0.4, 1.3, {size}).reshape({own})"

    def value(self, target: Shape) -> str:
        """An expression that broadcasts to `target`."""
        found = self.some(lambda v: broadcasts(v.shape, target))
        kind = self.draw(st.integers(0, 5))
        if found is None or kind == 0:
            other = self.some()
            return f"$(xp.sum({other.name}) * 0.3)" if kind else self.constant(target)
        if kind == 1:
            return f"$({found.name} * {self.constant(target)})"
        if kind == 2 and target:
            return f"[{found.name}]" if len(found.shape) < len(target) else found.name
        return found.name

    # ------------------------------------------------------------------------- writing

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def new(self, text: str, shape: Shape, **what: Any) -> None:
        """``v = text``; a rounded value if it is marked."""
        name = self.name()
        self.line(f"{name} = {text}")
        self.vars.append(Var(name, shape, **what))

    def computed(self, text: str, shape: Shape) -> None:
        names = set(re.findall(r"\b(?:v\d+|x)\b", text))
        # an array of NumPy scalars alone is raw: these are not traced where nothing went into them
        raw = all(v.raw or v.scalar for v in self.vars if v.name in names)
        self.new(f"$({text})", shape, scalar=shape == (), writable=shape != (), raw=raw)

    def statement(self, nested: bool = False) -> None:
        steps = [
            *(self.unary, self.binary, self.binary, self.reduction, self.product, self.join),
            *(self.alias, self.alias, self.element, self.gather, self.copy, self.running),
            *(self.buffer, self.buffer, self.write, self.write, self.write, self.augmented),
            *(self.augmented, self.rebind, self.out, self.at, self.workspace, self.workspace_write),
            *(self.closure, self.call, self.inner, self.mapped),
        ]
        if not nested:
            steps += [self.loop, self.loop]
        self.pick(steps)()

    # ------------------------------------------------------------------------ statements

    def unary(self) -> None:
        v = self.some()
        self.computed(self.pick(UNARY).format(v.name), v.shape)

    def binary(self) -> None:
        v = self.some()
        if self.draw(st.integers(0, 3)) == 0:
            pair, shape = [v.name, self.constant(v.shape)], v.shape
        else:
            w = self.some(lambda w: compatible(v.shape, w.shape))
            pair, shape = [v.name, w.name], np.broadcast_shapes(v.shape, w.shape)
        if self.chance():
            pair.reverse()
        self.computed(self.pick(BINARY).format(*pair), shape)

    def reduction(self) -> None:
        v = self.some(lambda v: 0 not in v.shape)
        if v is None:
            return
        axis = self.pick([None, *range(-len(v.shape), len(v.shape))]) if v.shape else None
        keep = self.chance()
        along = None if axis is None else self.integer(axis)
        text = f"{self.pick(REDUCTIONS)}({v.name}, axis={along}, keepdims={keep})"
        shape = np.sum(np.zeros(v.shape), axis=axis, keepdims=keep).shape
        if shape == () and v.scalar and keep:
            return
        self.computed(text, shape)

    def running(self) -> None:
        v = self.some(lambda v: v.shape)
        if v is not None:
            axis = self.pick(range(-len(v.shape), len(v.shape)))
            self.computed(f"{self.pick(['xp.cumsum', 'np.cumprod'])}({v.name}, {axis})", v.shape)

    def product(self) -> None:
        v = self.some(lambda v: len(v.shape) in (1, 2) and 0 not in v.shape)
        if v is None:
            return
        w = self.some(
            lambda w: len(w.shape) in (1, 2) and w.shape[-2:][0] == v.shape[-1] and w.shape[-1]
        )
        if w is None:
            return
        shape = (np.zeros(v.shape) @ np.zeros(w.shape)).shape
        forms = ["{0} @ {1}", "xp.dot({0}, {1})", "np.matmul({0}, {1})"]
        if len(v.shape) == 2 == len(w.shape):
            forms += ["np.einsum('ij,jk->ik', {0}, {1})", "xp.tensordot({0}, {1}, 1)"]
        self.computed(self.pick(forms).format(v.name, w.name), shape)

    def join(self) -> None:
        v = self.some(lambda v: len(v.shape) in (1, 2))
        if v is None:
            return
        w = self.some(lambda w: w.shape == v.shape)
        both = f"[{v.name}, {w.name}]"
        axis = self.pick(range(len(v.shape)))
        joined = np.concatenate([np.zeros(v.shape)] * 2, axis).shape
        form, shape = self.pick(
            [
                (f"xp.concatenate({both}, {axis})", joined),
                (f"np.concatenate({both}, axis={axis})", joined),
                (f"xp.stack({both}, {axis})", np.stack([np.zeros(v.shape)] * 2, axis).shape),
                (f"xp.array({both})", (2, *v.shape)),
                (f"xp.r_[{v.name}, {w.name}]", np.concatenate([np.zeros(v.shape)] * 2).shape),
                (
                    f"xp.c_[{v.name}, {w.name}]",
                    np.c_[np.zeros(v.shape), np.zeros(v.shape)].shape,
                ),
                # an object array of traced elements, of which NumPy would compute in Python
                (f"xp.asarray(np.array({both}))", (2, *v.shape)),
            ]
        )
        self.computed(form, shape)
        if "np.array(" in form:
            self.double = True
            # of untraced values it is NumPy's own array, which takes no traced one
            self.vars[-1] = self.vars[-1]._replace(writable=False)

    def alias(self) -> None:
        v = self.some(lambda v: v.shape and not v.scalar)
        if v is None:
            return
        text = self.pick(ALIASES)
        try:
            made = eval(text.format("a"), {"xp": np, "np": np, "a": np.zeros(v.shape)})
        except (ValueError, ZeroDivisionError):
            return
        # an alias of one element with no axis left is a 0-d array in NumPy
        if made.shape and made.ndim <= 3:
            writable = v.writable and made.flags.writeable
            self.new(text.format(v.name), made.shape, writable=writable, raw=v.raw)

    def integer(self, value: int) -> str:
        """A number as one of the kinds of integers that indices, axes and shapes come as."""
        kinds = ["{}", "{}", "np.int64({})", "np.int8({})", "np.array({})[()]"]
        return self.pick([*kinds, "np.uint8({})"] if value >= 0 else kinds).format(value)

    def flags(self, shape: Shape) -> list[Any]:
        """The elements of a mask."""
        if len(shape) == 1:
            return [self.chance() for _ in range(shape[0])]
        return [self.flags(shape[1:]) for _ in range(shape[0])]

    def index(self, shape: Shape, advanced: bool) -> tuple[str, Shape, bool]:
        """An index into an array of that shape, the shape of what it finds, whether it is basic."""
        if advanced and self.chance():
            n = shape[0]
            if self.chance() and n:
                count = self.draw(st.integers(1, 4))
                at = [self.draw(st.integers(-n, n - 1)) for _ in range(count)]
                kind = self.pick(["", ", np.int8", ", np.int64"])
                text = self.pick([f"np.array({at}{kind})", f"{at}"])
            elif self.chance():
                wide = self.draw(st.integers(1, len(shape)))
                text = f"np.array({self.flags(shape[:wide])}, bool)"
            else:
                text = f"..., np.array({self.flags(shape[-1:])}, bool)"
            if len(shape) > 1 and self.chance():
                text += self.pick([", ::-1", ", ..., None", ", 0", ", ..., 0"])
            basic = False
        else:
            items, basic = [], True
            for n in shape[: self.draw(st.integers(1, len(shape)))]:
                kind = self.draw(st.integers(0, 3))
                if kind == 0 and n:
                    items.append(self.integer(self.draw(st.integers(-n, n - 1))))
                else:
                    items.append(self.pick([":", "::-1", "1:", ":-1", "::2", ":1", "-1:", "2:1"]))
            if len(items) < len(shape) and self.chance():
                items.insert(self.pick([0, len(items)]), "...")
            text = ", ".join(items)
        try:
            found = eval(f"a[{text}]", {"np": np, "a": np.zeros(shape)})
        except IndexError:  # an integer that the Ellipsis moved to a shorter axis
            return "...", shape, True
        return text, np.shape(found), basic

    def element(self) -> None:
        """An element, row or slice; the slice is an alias."""
        v = self.some(lambda v: v.shape and not v.scalar)
        if v is None:
            return
        text, shape, _ = self.index(v.shape, advanced=False)
        zero_d = shape == () and "..." in text
        if len(shape) <= 3 and not zero_d:
            writable = v.writable and shape != ()
            self.new(f"{v.name}[{text}]", shape, scalar=not shape, writable=writable, raw=v.raw)

    def gather(self) -> None:
        v = self.some(lambda v: v.shape and not v.scalar)
        if v is None:
            return
        text, shape, basic = self.index(v.shape, advanced=True)
        if not basic and 0 < len(shape) <= 3:
            self.computed(f"{v.name}[{text}]", shape)

    def copy(self) -> None:
        v = self.some(lambda v: v.shape and not v.scalar and not v.raw)
        if v is not None:
            self.new(self.pick(COPIES).format(v.name), v.shape)

    def buffer(self) -> None:
        v = self.some(lambda v: not v.raw)
        shape = self.pick([v.shape, self.shape, (2,), (3,), (2, 3), ()])
        kind = self.draw(st.integers(0, 6))
        if kind == 0:
            filler = self.value(shape)
            self.new(f"xp.empty({shape}, dtype)", shape)
            self.line(f"{self.vars[-1].name}[...] = {filler}")
        elif kind == 1 and v.shape:
            self.new(f"{self.pick(['xp', 'np'])}.zeros_like({v.name}, dtype)", v.shape)
        elif kind == 2:
            scalar = self.some(lambda w: w.shape == ())
            filler = scalar.name if scalar else "0.6"
            self.new(f"xp.full({shape}, {filler}, dtype)", shape)
        elif kind == 3:
            size = int(np.prod(shape))
            self.new(f"xp.array(np.linspace(0.2, 0.9, {size}).reshape({shape}), dtype)", shape)
        else:
            self.new(f"xp.{self.pick(['zeros', 'ones'])}({shape}, dtype)", shape)

    def target(self) -> Var | None:
        return self.some(lambda v: v.writable and not v.scalar and not v.raw)

    def write(self) -> None:
        v = self.target()
        if v is None:
            return
        if v.shape:
            text, shape, _ = self.index(v.shape, advanced=True)
        else:
            text, shape = self.pick(["...", "()"]), ()
        symbol = self.pick(["=", "=", "+=", "*=", "-="])
        self.line(f"{v.name}[{text}] {symbol} {self.value(shape)}")

    def augmented(self) -> None:
        v = self.target()
        if v is not None:
            self.line(f"{v.name} {self.pick(['+=', '-=', '*='])} {self.value(v.shape)}")

    def rebind(self) -> None:
        """``v = v * w + …``: the name leaves its array, the aliases keep it."""
        v = self.some(lambda v: not v.raw and v.name != "x")
        if v is None or (not v.scalar and not v.shape):
            return
        text = self.value(v.shape)
        form = self.pick(["{0} * 0.5 + {1}", "np.sin({0}) - {1}", "{1} * np.cos({0})"])
        if text.startswith("[") and v.scalar:
            return
        self.line(f"{v.name} = $({form.format(v.name, text)})")
        self.vars = [
            w._replace(writable=w.shape != ()) if w.name == v.name else w for w in self.vars
        ]

    def out(self) -> None:
        v = self.target()
        if v is None or not v.shape:
            return
        a, b = self.value(v.shape), self.value(v.shape)
        forms = [
            f"np.add({a}, {b}, out={v.name})",
            f"xp.multiply({a}, {b}, out={v.name})",
            f"np.sin({a}, out={v.name})",
            f"np.copyto({v.name}, {a})",
            f"xp.copyto({v.name}, {a})",
            f"{v.name}.fill($(xp.sum({a})))",
        ]
        self.line(self.pick(forms))

    def at(self) -> None:
        v = self.target()
        if v is None or not v.shape or not v.shape[0]:
            return
        n = v.shape[0]
        at = [self.draw(st.integers(-n, n - 1)) for _ in range(self.draw(st.integers(1, 4)))]
        shape = (len(at), *v.shape[1:])
        self.line(f"np.add.at({v.name}, np.array({at}), {self.value(shape)})")

    def workspace(self) -> None:
        """A plain NumPy array, which holds constants only."""
        shape = self.pick([self.shape, (3,), (2, 3)])
        self.new(f"np.full({shape}, 0.75)", shape, raw=True)

    def workspace_write(self) -> None:
        v = self.some(lambda v: v.raw and v.writable and v.shape)
        if v is None:
            return
        text = self.index(v.shape, advanced=True)[0]
        self.line(f"{v.name}[{text}] {self.pick(['=', '+=', '*='])} {self.pick(SCALARS[:4])}")

    # -------------------------------------------------------- inner functions and transforms

    def closure(self) -> None:
        """A function over names of the program, which reads them when it is called."""
        y = self.some()
        w = self.some(lambda w: broadcasts(w.shape, y.shape))
        name = self.name("f")
        self.line(f"def {name}(y):")
        kind = self.draw(st.integers(0, 2))
        if kind == 0 or not y.shape:
            self.line(f"    return xp.sin(y) * {w.name if w else 0.5}")
        elif kind == 1:
            self.line("    b = xp.zeros_like(y, dtype)")
            self.line(f"    b[...] = {w.name if w else 0.5}")
            self.line("    c = b[::-1]")
            self.line("    c += y")
            self.line("    return b * y")
        else:
            self.line("    b = xp.empty(y.shape, dtype)")
            self.line("    b[...] = np.cos(y)")
            self.line(f"    b *= {w.name if w else 0.5}")
            self.line("    return b")
        wrap = self.pick(["tr.jit", "tr.checkpoint", ""])
        self.exact &= kind == 0 or not wrap
        if wrap:
            self.line(f"{name} = {wrap}({name})")
        self.functions.append((name, y.shape))

    def call(self) -> None:
        if self.functions:
            name, shape = self.pick(self.functions)
            y = self.some(lambda y: y.shape == shape)
            if y is not None:
                self.computed(f"{name}({y.name})", shape)

    def inner(self) -> None:
        """A derivative inside the program, next to what it is in plain NumPy."""
        y = self.some(lambda y: not y.raw)
        w = self.some(lambda w: broadcasts(w.shape, y.shape))
        w_ = w.name if w else "0.5"
        self.exact = False
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            f, df = f"xp.sum(xp.sin(y * {w_}) * 0.7)", f"xp.cos(y * {w_}) * {w_} * 0.7"
            self.computed(f"tr.grad(lambda y: {f}, lambda y: {df})({y.name})", y.shape)
        elif kind == 1 and y.shape:
            name = self.name("g")
            self.line(f"def {name}(y):")
            self.line(f"    b = xp.zeros({y.shape}, dtype)")
            self.line("    c = b[::-1]")
            self.line(f"    b[...] = y * {w_}")
            self.line("    b += y")
            self.line("    return xp.sum(c * c) * 0.25")
            df = f"0.5 * y * ({w_} + 1.0) * ({w_} + 1.0)"
            self.computed(f"tr.grad({name}, lambda y: {df})({y.name})", y.shape)
        elif kind == 2:
            u = self.some(lambda u: u.shape == y.shape and not u.raw)
            f, df = f"xp.sin(y) * {w_} + y", f"xp.cos(y) * t * {w_} + t"
            self.computed(f"tr.jvp(lambda y: {f}, lambda y, t: {df})({y.name}, {u.name})", y.shape)
        elif kind == 3:
            u = self.some(lambda u: u.shape == y.shape and not u.raw)
            f, df = f"xp.tanh(y) * {w_}", f"(1.0 - xp.tanh(y) ** 2) * {w_} * g"
            self.computed(f"tr.vjp(lambda y: {f}, lambda y, g: {df})({y.name}, {u.name})", y.shape)
        else:
            f = f"xp.sum(y ** 3 * {w_}) / 6.0"
            ddf = f"y * {w_} * 1.0"
            text = (
                f"tr.hvp(lambda y: {f}, lambda y, t: {ddf} * t)({y.name}, xp.ones_like({y.name}))"
            )
            self.computed(text, y.shape)

    def mapped(self) -> None:
        """A vmap inside the program."""
        y = self.some(lambda y: len(y.shape) >= 1 and 0 not in y.shape and not y.raw)
        if y is None:
            return
        row = y.shape[1:]
        w = self.some(lambda w: broadcasts(w.shape, row))
        w_ = w.name if w else "0.5"
        self.exact = False
        if self.chance() or not row:
            self.computed(f"tr.vmap(lambda r: r * {w_} + xp.sum(r))({y.name})", y.shape)
            return
        name = self.name("m")
        self.line(f"def {name}(r):")
        self.line(f"    b = xp.zeros({row}, dtype)")
        self.line("    c = b[:1]")
        self.line(f"    b[...] = r * {w_}")
        self.line("    c += r[-1:]")
        self.line("    r += b")
        self.line("    return b * r")
        self.computed(f"tr.vmap({name})({y.name}.copy())", y.shape)

    def loop(self) -> None:
        """Some statements several times; the names that they make are of the last round."""
        self.line(f"for i in range({self.draw(st.integers(1, 3))}):")
        before = len(self.lines)
        self.indent += "    "
        if self.chance():
            v = self.target()
            if v is not None:
                self.line(f"{v.name}[...] = $({self.pick_value(v)} * (i + 0.5))")
        self.draw(st.lists(statement(self, nested=True), min_size=1, max_size=4))
        if len(self.lines) == before:
            self.line("pass")
        self.indent = self.indent[:-4]

    def pick_value(self, v: Var) -> str:
        w = self.some(lambda w: broadcasts(w.shape, v.shape))
        return w.name if w else "0.5"

    # ----------------------------------------------------------------------------- output

    def finish(self) -> Program:
        count = self.draw(st.integers(1, min(3, len(self.vars))))
        names = [v.name for v in self.vars[-count:]]
        if self.chance():
            names.append("x")
        forms = ["({}, [{}])", "{{'a': {}, 'b': ({},)}}"]
        one, rest = names[0], ", ".join(names[1:])
        if not rest:
            text = self.pick(["{}", "[{}]", "{{'a': {}}}"]).format(one)
        else:
            text = self.pick(forms).format(one, rest)
        self.line(f"return {text}")
        return Program(self.shape, self.lines, self.exact, self.double)


@st.composite
def statement(draw: Any, writer: Writer, nested: bool = False) -> None:
    """One statement; as a strategy of its own it can be left out when an example shrinks."""
    writer.draw, before = draw, writer.draw
    writer.statement(nested)
    writer.draw = before


@st.composite
def programs(draw: Any, most: int = 12) -> Program:
    """A program of up to `most` statements, loops counted once."""
    writer = Writer(draw)
    least = draw(st.sampled_from([1, most // 2, most]))
    draw(st.lists(statement(writer), min_size=least, max_size=most))
    return writer.finish()
