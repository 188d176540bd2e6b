"""Programs with loops, drawn from a number: see `tests.test_random_loops`."""

from __future__ import annotations

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.loop_carries import KINDS, Pair, ones

__all__ = ["AtHand", "Draws", "Ours", "Written"]

TABLE = np.cos(np.arange(20.0)).reshape(5, 4)
KEY = fg.random.key(3)
GRID = np.array([-0.9, -0.3, 0.1, 0.4, 0.95])


class Written:
    """The loops as what they stand for."""

    @staticmethod
    def scan(f, init, xs=None, length=None, reverse=False, **_):
        leaves, definition = fg.tree.flatten(xs)
        n = length if xs is None else leaves[0].shape[0]
        carry, ys = init, []
        if not n:
            return init, None
        for i in range(n - 1, -1, -1) if reverse else range(n):
            carry, y = f(carry, fg.tree.unflatten(definition, [x[i] for x in leaves]))
            ys.append(y)
        ys = ys[::-1] if reverse else ys
        return carry, fg.tree.map(lambda *each: fnp.stack(each), *ys)

    @staticmethod
    def while_loop(cond, body, val, **_):
        while fg.value(cond(val)):
            val = body(val)
        return val

    @staticmethod
    def fori_loop(low, high, body, val, **_):
        for i in range(low, high):
            val = body(i, val)
        return val

    @staticmethod
    def map(f, xs):
        return fnp.stack([f(x) for x in xs])

    @staticmethod
    def associative_scan(f, xs, reverse=False):
        found = [xs[-1] if reverse else xs[0]]
        for x in xs[::-1][1:] if reverse else xs[1:]:
            found.append(f(found[-1], x))
        return fnp.stack(found[::-1] if reverse else found)

    @staticmethod
    def each(f, xs):
        return fnp.stack([f(xs[k]) for k in range(xs.shape[0])])


class Ours:
    """The loops of funcgrad."""

    scan, while_loop, fori_loop = fg.scan, fg.while_loop, fg.fori_loop
    map, associative_scan = fg.map, fg.associative_scan

    @staticmethod
    def each(f, xs):
        return fg.vmap(f)(xs)


class AtHand(Ours):
    """Its loops where numbers are at hand.

    Those of several examples at once are compiled, and those that keep few carries.
    """

    each, associative_scan = Written.each, Written.associative_scan

    @staticmethod
    def scan(*args, checkpoint=False, **more):
        return fg.scan(*args, **more)

    @staticmethod
    def while_loop(*args, checkpoint=False, **more):
        return fg.while_loop(*args, **more)

    @staticmethod
    def fori_loop(*args, checkpoint=False, **more):
        return fg.fori_loop(*args, **more)


class Draws:
    """A program, written down while it is drawn; it can be run again and again."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.empty = False  # whether a loop may have no steps
        self.rounds = False  # whether something is rounded to single precision

    def among(self, *options):
        return options[self.rng.integers(len(options))]

    def expression(self, depth):
        """A function of a list of values, numbers or vectors of 4; the result is like the first."""
        pick = self.rng.integers(0, 100, 3)
        scale = self.rng.uniform(-1, 1)
        index = int(self.rng.integers(0, 4))
        several = int(self.among(1, 1, 1, 1, 1, 1, 1, 4))
        if depth == 0:
            return lambda loops, vs, x: vs[pick[0] % len(vs)]
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        one = {
            "sum": lambda a, b, x: np.sum(a) * 0.3 + b,
            "sin": lambda a, b, x: np.sin(a * x[index] + b),
            "tanh": lambda a, b, x: np.tanh(a - scale * b),
            "product": lambda a, b, x: 0.5 * a * b,
            "quotient": lambda a, b, x: a / (1.5 + np.cos(b)),
            "where": lambda a, b, x: root(a, b, scale),
            "max": lambda a, b, x: fnp.maximum(a, scale * b),
            "exp": lambda a, b, x: np.exp(-np.abs(a)) * x[index] + b * scale,
            "turned": lambda a, b, x: a + (ones(x) * b)[::-1],
            "matrix": lambda a, b, x: np.outer(x, ones(x) * a) @ (0.1 * ones(x)) + b,
            "row": lambda a, b, x: a * TABLE[index].astype(x.dtype) + b * x,
            "branch": lambda a, b, x: branch(a, b, scale, x),
            "sorted": lambda a, b, x: np.sort(ones(x) * a + x * scale) * b,
            "written": lambda a, b, x: written(a * ones(x), b, index),
            "running": lambda a, b, x: np.cumprod(np.tanh(x + a)) - b,
            "solved": lambda a, b, x: np.linalg.solve(matrix(a, x), b * ones(x)),
            "factored": lambda a, b, x: np.linalg.cholesky(matrix(a, x)) @ x * b,
            "logarithm": lambda a, b, x: np.linalg.slogdet(matrix(b, x, several))[1] * a,
            "inverse": lambda a, b, x: np.linalg.inv(matrix(a, x, several))[:4, 0] * b,
            "custom": lambda a, b, x: bent(a) + stated(b) * scale,
            "masked": lambda a, b, x: fnp.where(x > 0.5, a, b) * (np.sum(b) > scale),
            "determinant": lambda a, b, x: np.linalg.det(matrix(a, x)) * 0.1 * b,
            "interpolated": lambda a, b, x: between(a, b * ones(x), x),
            "found": lambda a, b, x: np.searchsorted(GRID, a).astype(x.dtype) * 0.3 + b,
            "ordered": lambda a, b, x: ordered(a, b, x, scale),
            "running sum": lambda a, b, x: np.cumsum(ones(x) * a)[::-1] * b,
            "running maximum": lambda a, b, x: np.maximum.accumulate(ones(x) * a - x) * b,
            "complex": lambda a, b, x: turned(a, b, x, index),
            "known": lambda a, b, x: np.where(scale > 0, np.sin(a), b) + a * 0.1,
            "switched": lambda a, b, x: switched(a, b, x, scale),
            "rounded": lambda a, b, x: rounded(a * ones(x), x) * b,
        }  # fmt: skip
        looped = {
            "until": lambda loops, a, b, x: until(loops, np.sum(a), scale) * b,
            "each": lambda loops, a, b, x: loops.each(lambda v: until(loops, v, scale), x * a) + b,
            "taken": lambda loops, a, b, x: taken(loops, a, b, x, several),
            "mapped": lambda loops, a, b, x: loops.map(lambda v: np.sin(v * np.sum(b)) + v, x * a),
            "joined": lambda loops, a, b, x: joined(loops, a, b, x, bool(index % 2)),
        }
        rare = ("solved", "factored", "logarithm", "inverse", *looped)
        name = self.among(*(k for k in one if k != "rounded"), *looped)
        if self.rng.random() < 0.01:
            name, self.rounds = "rounded", True
        if name in rare and self.rng.random() < 0.6:
            name = self.among("sum", "tanh", "product", "row")
        if name in looped:
            return lambda loops, vs, x: looped[name](loops, a(loops, vs, x), b(loops, vs, x), x)
        return lambda loops, vs, x: one[name](a(loops, vs, x), b(loops, vs, x), x)

    def update(self, kind):
        """The next value of a carry of a kind, as numbers that it is made of."""
        e = self.expression(int(self.rng.integers(1, 3)))
        if kind in ("number", "counted"):
            return lambda loops, vs, x: np.tanh(np.sum(ones(x) * e(loops, vs, x)) * 0.4)
        return lambda loops, vs, x: np.tanh(ones(x) * e(loops, vs, x))

    def rows(self, length):
        """Data, a row for each step, which lies in memory in one of several ways."""
        way = self.among("dense", "dense", "every second", "backwards", "columns", "repeated")
        if way == "every second":
            return self.rng.uniform(-1, 1, (2 * length, 8))[::2, ::2]
        if way == "backwards":
            return self.rng.uniform(-1, 1, (length, 4))[::-1, ::-1]
        if way == "columns":
            return self.rng.uniform(-1, 1, (4, length)).T
        if way == "repeated":
            return np.broadcast_to(self.rng.uniform(-1, 1, 4), (length, 4))
        return self.rng.uniform(-1, 1, (length, 4))

    def kinds(self):
        usual = ("number", "vector", "counted")
        rare = tuple(k for k in KINDS if k not in usual)
        return [
            self.among(*rare) if self.rng.random() < 0.35 else self.among(*usual)
            for _ in range(self.rng.integers(1, 3))
        ]

    def loop(self, depth):
        """A function of the loops, a number, a vector and the parameters, which gives a number."""
        names = self.kinds()
        kinds = [KINDS[name] for name in names]
        updates = [self.update(name) for name in names]
        made = self.update(self.among("number", "vector"))
        inner = self.loop(depth - 1) if depth and self.rng.random() < 0.6 else None
        length, reverse = int(self.among(0, 1, 2, 2, 3, 3, 6, 6)), bool(self.rng.integers(2))
        if inner is None and self.rng.random() < 0.08:
            length = int(self.among(17, 33, 40))  # such as passes take apart
        kept = self.among({}, {}, {}, {}, {"checkpoint": True}, {"checkpoint": 2})
        unrolled = self.among({}, {}, {}, {"unroll": 2}, {"unroll": True})
        small = self.among(0, 0.25, np.float32(0.5), True)
        rows = self.rows(length)
        places = self.rng.integers(0, 4, length)
        way = self.among("scan", "scan", "scan", "steps", "fori", "while")
        limit, least = self.rng.uniform(0.5, 3.0), int(self.rng.random() < 0.75)
        self.empty |= (least if way == "while" else length) == 0
        bounded = bool(self.rng.integers(2))
        counts = bool(self.rng.integers(2))
        noisy = self.rng.random() < 0.15

        def step(loops, x, carry, row, place):
            place = fnp.where(place < 4, place, 0)
            table = fnp.take(TABLE.astype(x.dtype), place, 0)
            values = [v for k, c in zip(kinds, carry, strict=True) for v in k.read(c, x)]
            values += [row, table, fnp.take(x, place, 0), row[0]]
            if noisy:
                own = fg.random.fold_in(KEY, place)
                values.append(fg.random.uniform(own, (4,)).astype(x.dtype))
            if inner is not None:
                number = values[0][1] if np.ndim(values[0]) else values[0]
                values.append(inner(loops, number, row, x))
            found = [u(loops, values, x) for u in updates]
            pairs = zip(kinds, carry, found, strict=True)
            return [k.next(c, v, place, x) for k, c, v in pairs], made(loops, [*values, *found], x)

        def run(loops, number, vector, x):
            first = [k.start(number, vector, x) for k in kinds]
            if way == "scan":

                def body(c, r):
                    row, place = r["row"], r["places"][0]
                    new, y = step(loops, x, c[0], row * (x if counts else 1.0), place)
                    grown = c[2] + 1 if type(small) is not bool else c[2] & (place < 3)
                    found = {"y": y, "low": place < 2, "none": None, "n": c[1]}
                    return (new, c[1] + 1, grown, c[3] * 0.5), found

                given = {"row": rows.astype(x.dtype, order="K"), "places": (places,)}
                start = first, 0, small, 1.0
                last, ys = loops.scan(body, start, given, reverse=reverse, **kept, **unrolled)
                last, n, grown, half = last
                ends = total(kinds, last, x) + n * 0.1 + (grown + half) * number
                return ends if ys is None else ends + stacked(ys, x)
            if way == "steps":

                def body(c, _):
                    new, y = step(loops, x, c.vector, vector, c.number)
                    return Pair(new, c.number + 1), y

                start = Pair(first, 0)
                last, y = loops.scan(body, start, None, length=length, reverse=reverse, **kept)
                ends = total(kinds, last.vector, x) + last.number
                return ends if y is None else ends + np.sum(y)
            if way == "fori":
                body = lambda i, c: step(loops, x, c, vector + i, i)[0]
                return total(kinds, loops.fori_loop(0, length, body, first, **kept), x)

            def more(c):
                return (c["t"] < limit) & (c["n"] < 7) | (c["n"] < least)

            def until(c):
                new, y = step(loops, x, c["c"], vector, c["n"])
                return {"c": new, "t": c["t"] + 0.3 + np.sum(y * y), "n": c["n"] + 1}

            start = {"c": first, "t": number * number, "n": 0}
            bound = {"max_steps": 7} if bounded else {}
            last = loops.while_loop(more, until, start, **bound, **kept)
            return total(kinds, last["c"], x) + last["t"] + last["n"]

        return run

    def program(self):
        one, two = self.loop(1), self.loop(0)

        def f(loops, x):
            number = one(loops, x[0], x, x)
            return number + two(loops, np.sin(number), x * number, x)

        return f


def branch(a, b, bound, x):
    """A branch with an infinite derivative at its border."""
    return fg.cond(
        np.sum(a) > bound,
        lambda a: np.sqrt(ones(x) * np.sum(a) - bound) + b,
        lambda a: np.cumsum(ones(x) * a) * b,
        a,
    )


def between(a, b, x):
    """Interpolated in a table, of which both the places and the heights are traced."""
    heights = np.concatenate([b, b[:1] * 0.5])
    return np.interp(np.tanh(a), GRID, heights).astype(x.dtype)


def ordered(a, b, x, scale):
    """Gathered, written and added up at places that values decide, which may be equal."""
    order = np.argsort(ones(x) * a + x * scale)
    out = fnp.zeros(4, x.dtype)
    out[order] = ones(x) * b
    np.add.at(out, order % 2, x * a)
    return out * fnp.take(x, order)


def turned(a, b, x, index):
    """Numbers with an imaginary part on the way."""
    z = (ones(x) * a + 1j * b) * np.exp(1j * x[index])
    return z.real * 0.5 + (z * np.conj(z)).real * 0.1 - z.imag


def switched(a, b, x, scale):
    """One of three functions, which a value chooses; all give the dtype of `x`."""
    a, b = ((ones(x) * v).astype(x.dtype) for v in (a, b))
    functions = [lambda a: np.sin(a) * b, lambda a: a * a - b, lambda a: ones(x) * scale * a]
    return fg.switch(np.argmax(b - x) - 1, functions, a)


def rounded(a, x):
    """Single precision beside what `x` has."""
    return (a.astype(np.float32) * np.float32(0.7)).astype(x.dtype)


def joined(loops, a, b, x, reverse):
    """Steps y → p y + q, joined in any order."""
    p, q = np.tanh(x * a), ones(x) * b
    pairs = fnp.stack([p, q], 1)
    join = lambda f, g: fnp.stack([f[..., 0] * g[..., 0], g[..., 0] * f[..., 1] + g[..., 1]], -1)
    return loops.associative_scan(join, pairs, reverse=reverse)[:, 1]


def matrix(a, x, several=1):
    """A regular, symmetric matrix, of as many times four rows."""
    v = np.tanh(np.concatenate([a * ones(x) + 0.1 * k for k in range(several)]))
    return np.outer(v, v) + 2 * np.eye(4 * several, dtype=x.dtype)


def until(loops, v, bound):
    """As many steps as a number wants."""
    return loops.while_loop(
        lambda c: (c[0] < 1.0) & (c[1] < 4) | (c[1] < 1),
        lambda c: (c[0] + 0.3 + c[2] * c[2] * 0.1, c[1] + 1, np.sin(c[2] + bound * c[1])),
        (v * v, 0, v),
    )[2]


@fg.custom_vjp
def bent(a):
    """A rule of its own, which is not the derivative: who follows it is told apart.

    Rules call their function again, so that derivatives of any order follow them.
    """
    return np.sin(a)


bent.defvjp(lambda a: (bent(a), a), lambda a, g: (1.5 * g * np.cos(a),))


@fg.custom_jvp
def stated(a):
    return np.tanh(a)


@stated.defjvp
def _(primals, tangents):
    y = stated(primals[0])
    return y, tangents[0] * (1 - y) * 2.0


def taken(loops, a, b, x, several):
    """A loop within a branch."""
    steps = lambda a: loops.fori_loop(0, several, lambda i, c: np.cos(c * i + b) * ones(x), a)
    return fg.cond(np.sum(b) > 0, steps, lambda a: a * b, ones(x) * a)


def written(a, b, place):
    """An array of which an element is written over, at a position that values decide."""
    out = fnp.array(a)
    out[(place + fnp.argmax(a)) % 4] = np.sum(b)
    return out


def root(a, b, bound):
    """A mask with an infinite derivative at its border."""
    return fnp.where(a > bound, np.sqrt(fnp.where(a > bound, a - bound, 1.0)), b)


def stacked(ys, x):
    """A number of what all steps have made."""
    chosen = np.where(ys["low"], ys["n"], 0.5).astype(x.dtype)
    return np.sum(ys["y"].T * chosen) * 0.3


def total(kinds, carries, x):
    values = [v for k, c in zip(kinds, carries, strict=True) for v in k.read(c, x)]
    return sum((np.sum(v) for v in values), 0.0)
