"""Random programs that use most of NumPy: every kind of dtype, memory layout, index and reduction.

A value knows whether it is exact, which no rounding has touched: only such ones are compared, and
turned into indices or integers, since a rounded value may differ in its last bits. The choices of a
program depend on shapes, dtypes and exactness alone, so that it does the same under every
transform.
"""

import random as source
from typing import Any, NamedTuple

import numpy as np
from random_moves import LIMIT, fits, laid_out, move, positions, some_slice

import funcgrad as fg
import funcgrad.numpy as fnp

EXTENTS = [1, 1, 2, 3, 4, 5, 8, 17, 33]
DTYPES = ["float64"] * 4 + ["float32"] * 3 + ["int64"] * 2 + [
    "complex128", "complex64", "int32", "bool", "float16", "uint8", "int16",
]  # fmt: skip
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -1e-310, 1.0]
SMOOTH = [
    np.sin,
    np.cos,
    np.tanh,
    np.arctan,
    lambda x: np.exp(np.sin(x)),
    lambda x: np.log1p(x * x),
    lambda x: np.sqrt(x * x + 1),
    lambda x: 1 / (1 + x * x),
    lambda x: np.expm1(-x * x),
    lambda x: np.hypot(x, 1),
    lambda x: fnp.logaddexp(x, 0.5),
    lambda x: (x * x + 1) ** 0.3,
    lambda x: x / 3,
    lambda x: np.tanh(x) ** 3,
]
ENTIRE = [np.sin, np.cos, lambda x: np.exp(np.sin(x)), lambda x: x / 3, lambda x: x * (1 + 2j)]
EXACT = [np.negative, np.positive, np.abs, np.square, lambda x: x * 1, lambda x: x + 0]
ROUNDINGS = [np.floor, np.ceil, np.rint, np.trunc, np.sign]
COMPARISONS = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
LOGICAL = [np.logical_and, np.logical_or, np.logical_xor]
BOUNDS = [np.maximum, np.minimum, np.fmax, np.fmin]
INTEGER = [np.add, np.subtract, np.multiply, np.maximum, np.minimum,
           np.bitwise_and, np.bitwise_or, np.bitwise_xor]  # fmt: skip
SHAPED = [np.add, np.subtract, np.maximum, np.minimum, np.copysign, np.fmax, np.fmin, np.arctan2,
          lambda x, y: np.tanh(x) * y, lambda x, y: x / (1 + y * y)]  # fmt: skip


class Value(NamedTuple):
    x: Any
    exact: bool = True

    @property
    def kind(self):
        return self.x.dtype.kind

    @property
    def shape(self):
        return self.x.shape


def is_rounded(dtype):
    return dtype.kind in "fc"


class Program:
    """A function of a few arrays; `steps` says which were drawn, for people."""

    def __init__(self, random, *, special=None, dtypes=DTYPES, length=None, nested=True):
        r = self.random = random
        self.special = r.random() < 0.2 if special is None else special
        self.dtypes = [r.choice(dtypes) for _ in range(r.randint(1, 3))]
        self.shape = tuple(r.choice(EXTENTS) for _ in range(r.randint(0, 3)))
        if self.shape and r.random() < 0.08:
            k = r.randrange(len(self.shape))
            self.shape = (*self.shape[:k], 0, *self.shape[k + 1 :])
        elif len(self.shape) == 1 and r.random() < 0.1:
            self.shape = (r.choice([130, 1025, 2500, 5000]),)
        self.inputs = [self.array() for _ in range(r.randint(1, 3))]
        self.length = r.randint(1, 18) if length is None else length
        self.nested = nested
        self.seed = r.randint(0, 10**9)
        self.steps = []

    def array(self):
        """An array that broadcasts against the program's shape."""
        r = self.random
        shape = tuple(n if r.random() < 0.75 else 1 for n in self.shape)
        shape = shape[r.randint(0, len(shape)) if r.random() < 0.3 else 0 :]
        g = np.random.default_rng(r.randint(0, 10**9))
        dtype = np.dtype(r.choice(self.dtypes))
        if dtype.kind in "iub":
            return laid_out(r, g.integers(0 if dtype.kind != "i" else -9, 9, shape).astype(dtype))
        x = g.standard_normal(shape)
        if r.random() < 0.2:
            x = np.round(x)  # ties
        if dtype.kind == "c":
            x = x + 1j * g.standard_normal(shape)
        if self.special:
            x = np.where(g.random(shape) < 0.2, g.choice(SPECIAL, shape), x)
        with np.errstate(all="ignore"):
            return laid_out(r, np.asarray(x).astype(dtype))

    def __call__(self, *args):
        r = source.Random(self.seed)
        self.steps = []
        values = [Value(fnp.asarray(x)) for x in args]
        first = len(values)
        for _ in range(self.length):
            values.append(self.step(r, values))
        last = [v.x for v in values[first:] if r.random() < 0.4]
        return (values[-1].x, *last, *(v.x for v in values[:first] if r.random() < 0.05))

    def step(self, r, values):
        v = r.choice(values[-4:]) if r.random() < 0.7 else r.choice(values)
        kinds = [self.unary, self.binary, self.reduction, self.movement, self.index, self.choice,
                 self.cast, self.scan, self.write, self.product]  # fmt: skip
        weights = [4, 5, 4, 4, 3, 2, 2, 1, 2, 1]
        if self.nested:
            kinds, weights = [*kinds, self.within], [*weights, 1]
        for kind in r.choices(kinds, weights, k=4):
            made = kind(r, v, values)
            if made is None:
                continue
            if not isinstance(made, Value):
                made = Value(fnp.asarray(made), False)
            if made.x.size < LIMIT and made.x.ndim < 7:
                self.steps.append(kind.__name__)
                return made
        return v

    # ----------------------------------------------------------------------------- elements

    def unary(self, r, v, values):
        x = v.x
        if v.kind == "b":
            return Value(np.logical_not(x))
        if v.kind in "iu":
            f = r.choice([*EXACT, np.invert, np.sin, np.sqrt])
            return Value(np.abs(x) if f is np.sqrt else f(x), f not in (np.sin, np.sqrt))
        if v.kind == "c":
            if r.random() < 0.4:
                return Value(r.choice([np.real, np.imag, np.conjugate, np.negative])(x), v.exact)
            return Value(r.choice(ENTIRE)(x), False)
        if r.random() < 0.25:
            f = r.choice(EXACT)
            return Value(f(x), v.exact and f is not np.square)
        if v.exact and r.random() < 0.1:
            return Value(r.choice(ROUNDINGS)(x))
        return Value(r.choice(SMOOTH)(x), False)

    def partner(self, r, v, values):
        fitting = [w for w in values if fits(w.shape, v.shape)]
        return r.choice(fitting)

    def binary(self, r, v, values):
        x, w = v.x, self.partner(r, v, values)
        if r.random() < 0.15:
            if v.kind == "b":
                return Value(x & True)
            number = r.choice([2, -1, 3] if v.kind == "i" else [2, 1] if v.kind == "u" else
                              [2.0, -1.0, 0.5, 0.1, 3])  # fmt: skip
            f = r.choice([np.add, np.multiply, np.subtract])
            return Value(f(x, number), v.exact and not is_rounded(x.dtype))
        kinds = {v.kind, w.kind}
        if kinds == {"b"}:
            return Value(r.choice(LOGICAL)(x, w.x))
        if kinds <= set("iub"):
            if r.random() < 0.2:
                f = r.choice([np.floor_divide, np.remainder])
                return Value(f(x, np.abs(w.x) % 5 + 1))
            f = r.choice([np.add, np.multiply] if "b" in kinds else INTEGER)
            return Value(f(x, w.x))
        if "c" in kinds:
            f = r.choice([np.add, np.subtract, lambda x, y: np.sin(x) * y])
            return Value(f(x, w.x), False)
        if v.exact and w.exact and r.random() < 0.3:
            return Value(r.choice(COMPARISONS)(x, w.x))
        f = r.choice(SHAPED)
        if (f is np.copysign and not w.exact) or (f in BOUNDS and v.exact != w.exact):
            return None  # the sign of NaN; ties of what is rounded with what is not
        return Value(f(x, w.x), False)

    def choice(self, r, v, values):
        masks = [m for m in values if m.kind == "b" and fits(m.shape, v.shape)]
        if v.kind == "b" or not masks:
            if not v.exact or v.kind in "bc":
                return Value(np.isfinite(v.x)) if v.exact else None
            return Value(r.choice(COMPARISONS)(v.x, r.choice([0, 1, 2])))
        mask, w = r.choice(masks), self.partner(r, v, values)
        if not fits(np.broadcast_shapes(mask.shape, v.shape), w.shape):
            w = v
        y = w.x if r.random() < 0.7 else 0
        return Value(fnp.where(mask.x, v.x, y), v.exact and w.exact)

    def cast(self, r, v, values):
        target = np.dtype(r.choice(DTYPES))
        if v.kind in "iub" or target.kind == "c":
            return Value(v.x.astype(target), v.exact and np.can_cast(v.x.dtype, target))
        if v.kind == "c":
            return Value(np.real(v.x), v.exact)
        if target.kind == "f":
            return Value(v.x.astype(target), v.exact and target.itemsize >= v.x.dtype.itemsize)
        if not v.exact:
            return None
        if target.kind == "b":
            return Value(v.x.astype(bool))
        low = 0 if target.kind == "u" else -9
        return Value(np.rint(fnp.clip(fnp.nan_to_num(v.x), low, 9)).astype(target))

    # --------------------------------------------------------------------------- reductions

    def axes(self, r, v):
        axes = tuple(k for k in range(v.x.ndim) if r.random() < 0.5)
        if r.random() < 0.3:
            axes = tuple(k - v.x.ndim for k in axes)
        if len(axes) == 1 and r.random() < 0.5:
            return axes[0]
        return None if r.random() < 0.15 else axes

    def reduction(self, r, v, values):
        axes, keep = self.axes(r, v), r.random() < 0.4
        over = range(v.x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        count = int(np.prod([v.shape[k] for k in over], dtype=int))
        x = v.x
        if v.kind == "b":
            f = r.choice([fnp.any, fnp.all, fnp.sum, fnp.count_nonzero])
            return Value(f(x, axis=axes, keepdims=keep))
        if count == 0:
            return Value(fnp.sum(x, axis=axes, keepdims=keep), v.exact)
        if v.kind in "iu":
            f = r.choice([fnp.sum, fnp.max, fnp.min, fnp.prod, fnp.any])
            return Value(f(x, axis=axes, keepdims=keep) % 17)
        if v.kind == "c":
            return fnp.sum(x, axis=axes, keepdims=keep) / count
        name = r.choice(["sum", "mean", "max", "min", "var", "prod", "ptp", "softmax", "arg",
                         "where", "median", "norm"])  # fmt: skip
        if name in ("max", "min"):
            return Value(getattr(fnp, name)(x, axis=axes, keepdims=keep), v.exact)
        if name == "prod":
            x = 1 + np.tanh(x) / count  # of moderate size
        if name == "sum":
            return fnp.sum(x, axis=axes, keepdims=keep) / np.sqrt(count).astype("float32").item()
        if name == "softmax":
            y = np.exp(x - fnp.max(x, axis=axes, keepdims=True))
            return y / fnp.sum(y, axis=axes, keepdims=True)
        if name == "arg":
            f = r.choice([fnp.argmax, fnp.argmin])
            return Value(f(x, axis=r.randrange(x.ndim))) if x.ndim and v.exact else None
        if name == "where":
            masks = [m for m in values if m.kind == "b" and m.shape == v.shape]
            return fnp.sum(x, axis=axes, where=masks[0].x) / count if masks else np.sin(x)
        if name == "norm":
            return np.sqrt(fnp.sum(x * x, axis=axes, keepdims=keep) + 1)
        if name == "median" and not x.size:
            return None  # NumPy's own fails for some of them
        return getattr(fnp, name)(x, axis=axes, keepdims=keep)

    def scan(self, r, v, values):
        """Cumulative operations, and orders."""
        if not v.x.ndim or v.kind == "b":
            return None
        axis = r.randrange(v.x.ndim)
        name = r.choice(["cumsum", "cumprod", "sort", "argsort", "diff", "quantile"])
        if name == "cumsum":
            made = fnp.cumsum(v.x, axis)
            return Value(made, True) if v.kind in "iu" else made / (1 + v.shape[axis]) ** 0.5
        if name == "diff" and v.shape[axis] > 1:
            return Value(fnp.diff(v.x, axis=axis), v.kind in "iu")
        if v.kind == "c" or name == "diff":
            return None
        if name == "argsort":
            return Value(fnp.argsort(v.x, axis, kind="stable"), v.exact) if v.exact else None
        if name == "sort":
            return Value(fnp.sort(v.x, axis), v.exact)
        if v.kind != "f" or not v.x.size or self.special:
            return None
        if name == "cumprod":
            return fnp.cumprod(1 + np.tanh(v.x) / (1 + v.shape[axis]), axis)
        return fnp.quantile(v.x, r.choice([0.0, 0.25, 0.5, 1.0]), axis)

    def product(self, r, v, values):
        x = v.x
        if x.ndim == 0 or v.kind not in "fc":
            return None
        scale = 1 / (1 + x.shape[-1]) ** 0.5
        if x.ndim == 1:
            return fnp.outer(x, np.cos(x)) if x.size < 60 else x @ np.cos(x) * scale
        other = fnp.swapaxes(np.cos(x), -1, -2)
        which = r.randrange(3)
        if which == 0:
            return x @ other * scale
        if which == 1:
            return fnp.einsum("...ij,...ij->...i", x, np.cos(x)) * scale
        return fnp.tensordot(x, np.cos(x), axes=x.ndim) / max(x.size, 1)

    # ---------------------------------------------------------------------------- positions

    def movement(self, r, v, values):
        made = move(r, v.x, [w.x for w in values if w.x.dtype == v.x.dtype])
        return None if made is None else Value(made, v.exact)

    def index(self, r, v, values):
        x = v.x
        if not x.ndim or not x.size:
            return Value(x[...], v.exact)
        n = x.shape[0]
        which = r.randrange(8)
        if which == 0:
            return Value(x[positions(r, n, r.randint(0, 6))], v.exact)
        if which == 1 and x.ndim > 1:
            count = r.randint(1, 5)
            index = positions(r, n, count), positions(r, x.shape[1], count)
            return Value(x[index], v.exact)
        if which == 2:
            return Value(x[np.arange(n) % 3 != 1], v.exact)  # a mask that is known
        if which == 3:
            axis = r.randrange(x.ndim)
            return Value(fnp.take(x, positions(r, x.shape[axis], 4), axis), v.exact)
        if which == 4:  # positions that are computed
            found = [w for w in values if w.kind in "iu" and w.x.size < 200 and w.exact]
            if found and v.kind != "b":
                return Value(x[np.abs(r.choice(found).x.astype("int64") % n)], v.exact)
        if which == 5:
            axis = r.randrange(x.ndim)
            order = np.argsort(np.sin(np.arange(x.size)).reshape(x.shape), axis)
            return Value(fnp.take_along_axis(x, order, axis), v.exact)
        if which == 6:
            return Value(x[r.randrange(-n, n)], v.exact)
        slices = [some_slice(r, n) for n in x.shape]
        if r.random() < 0.2:
            slices[r.randrange(len(slices))] = Ellipsis
        return Value(x[tuple(slices)], v.exact)

    def write(self, r, v, values):
        """Writes at slices, positions and masks, and additions at positions."""
        x = v.x
        if not x.ndim or not x.size:
            return None
        n, tail = x.shape[0], x.shape[1:]
        which = r.randrange(5)
        if which == 0:
            b = fnp.zeros((n + 2, *tail), x.dtype)
            b[1 : n + 1] = x
            return Value(b, v.exact)
        if which == 1:
            b = fnp.zeros((5, *tail), x.dtype)
            fnp.add.at(b, positions(r, 5, n), x)
            return b / n if v.kind in "fc" else Value(b, v.exact)
        if which == 2:
            b = fnp.array(x)
            at = positions(r, n, 1)
            b[at] = x[:1]
            return Value(b, v.exact)
        if which == 3 and v.kind == "f" and x.ndim == 1:
            return fnp.bincount(positions(r, 7, n) % 7, weights=x, minlength=7) / n
        b = fnp.array(x)
        b[::2] *= 2 if v.kind != "b" else True
        return Value(b, v.exact and v.kind not in "fc")

    # --------------------------------------------------------------------------- transforms

    def within(self, r, v, values):
        """A program in a program, under a transform."""
        if v.kind != "f":
            return None
        inner = Program(source.Random(r.randint(0, 10**9)), length=r.randint(1, 4), nested=False)
        inner.special = self.special

        def f(x):
            return inner(x)[0]

        name = r.choice(["jit", "checkpoint", "vmap", "jvp", "grad", "cond"])
        if name == "jvp":
            return fg.jvp(f, (v.x,), (np.cos(v.x),))[1] if makes_float(f, v.x) else None
        if name == "grad":
            if not makes_float(f, v.x) or v.x.dtype == np.float16:
                return None
            return fg.grad(lambda x: np.sum(np.sin(f(x)) + 0.0))(v.x)
        if name == "vmap" and v.x.ndim and v.shape[0]:
            return fg.vmap(f)(v.x)
        if name == "cond":
            held = [w for w in values if w.kind == "b" and w.x.ndim == 0]
            if held:
                return fg.cond(held[0].x, lambda x: x * 2, lambda x: np.sin(x), v.x)
        return (fg.checkpoint if name == "checkpoint" else fg.jit)(f)(v.x)


def makes_float(f, x):
    found = fg.eval_shape(f, fg.ShapeDtypeStruct(x.shape, x.dtype))
    return found.dtype.kind == "f" and found.dtype != np.float16
