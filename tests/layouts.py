"""Random programs over memory layouts: views, copies, orders, writes, scalars and 0-d arrays.

A program is drawn while plain NumPy runs it, so that every statement fits the arrays at hand. It
is a list of statements over numbered names, and runs again with any namespace.
"""

import math

import numpy as np

import funcgrad as fg

REAL = {"maximum", "clip", "sort", "complex"}  # what is of real arrays alone


class Program:
    """Statements drawn at random; ``run(np, x)`` returns the arrays, and facts of their memory."""

    def __init__(self, rng, inputs, count):
        self.rng = rng
        self.statements = []
        names = [exact(x) for x in inputs]
        while len(self.statements) < count:
            made = self.draw(names)
            if made is None:
                continue
            text, function = made
            function(np, names, [])
            self.statements.append((text, function))

    def run(self, namespace, inputs):
        names, facts = list(inputs), []
        for _, function in self.statements:
            function(namespace, names, facts)
        return names, facts

    def __str__(self):
        return "\n".join(text for text, _ in self.statements)

    # ------------------------------------------------------------------------- statements

    def draw(self, names):
        kinds = ["view"] * 5 + ["order"] * 4 + ["compute"] * 4 + ["write"] * 5
        kinds += ["scalar"] * 3 + ["like"] + ["fact"] * 2 + ["reduce"] + ["parts"] * 2
        return getattr(self, self.rng.choice(kinds))(names)

    def pick(self, names, least=1, most=4):
        fit = [k for k, a in enumerate(names) if least <= np.ndim(a) <= most and np.size(a)]
        return self.rng.choice(fit) if fit else None

    def new(self, text, function):
        def append(np_, names, facts):
            names.append(function(np_, names))

        return f"n[] = {text}", append

    def view(self, names):
        rng, k = self.rng, self.pick(names)
        if k is None:
            return None
        a = names[k]
        n = a.ndim
        axes = tuple(rng.sample(range(n), n))
        axis = rng.randrange(n)
        new = rng.choice(shapes(a.size, rng))
        cut = (slice(None),) * axis
        step = rng.choice([slice(None, None, -1), slice(None, None, 2), slice(1, None)])
        other = rng.randrange(n)
        choices = {
            "T": lambda np_, v: v[k].T,
            f"transpose {axes}": lambda np_, v: np_.transpose(v[k], axes),
            f"step {axis} {step}": lambda np_, v: v[k][(*cut, step)],
            f"swapaxes {axis} {other}": lambda np_, v: v[k].swapaxes(axis, other),
            f"reshape {new}": lambda np_, v: v[k].reshape(new),
            f"np.reshape {new}": lambda np_, v: np_.reshape(v[k], new),
            "reshape -1": lambda np_, v: v[k].reshape(-1),
            "ravel": lambda np_, v: v[k].ravel(),
            f"flip {axis}": lambda np_, v: np_.flip(v[k], axis),
            "None": lambda np_, v: v[k][None],
            f"expand {axis}": lambda np_, v: np_.expand_dims(v[k], axis),
            "squeeze": lambda np_, v: np_.squeeze(v[k]),
            "view": lambda np_, v: v[k].view(),
            "...": lambda np_, v: v[k][...],
            f"row {axis}": lambda np_, v: v[k][(*cut, 0)],
            f"row {axis} ...": lambda np_, v: v[k][(*cut, 0, ...)],
            f"broadcast {axis}": lambda np_, v: np_.broadcast_to(v[k], (2, *v[k].shape)) + 0.0,
            "asarray": lambda np_, v: np_.asarray(v[k]),
            "alias": lambda np_, v: v[k],
            "atleast": lambda np_, v: np_.atleast_2d(v[k]),
            f"split {axis}": lambda np_, v: np_.array_split(v[k], 2, axis)[0],
            f"moveaxis {axis}": lambda np_, v: np_.moveaxis(v[k], axis, 0),
        }
        return self.one(choices, k, names)

    def one(self, choices, k, names):
        name = self.rng.choice(list(choices))
        function = choices[name]
        try:
            made = function(np, names)
        except ValueError:
            return None
        if np.ndim(made) > 4 or np.size(made) > 64 or not np.size(made):
            return None
        return self.new(f"{name} of {k}", function)

    def order(self, names):
        rng, k = self.rng, self.pick(names)
        if k is None:
            return None
        new, order = rng.choice(shapes(names[k].size, rng)), rng.choice("CFAK")
        fixed = "C" if order == "K" else order
        strict = rng.choice("CF")
        choices = {
            f"ravel {order}": lambda np_, v: v[k].ravel(order),
            f"np.ravel {order}": lambda np_, v: np_.ravel(v[k], order=order),
            f"flatten {order}": lambda np_, v: v[k].flatten(order),
            f"reshape {new} {fixed}": lambda np_, v: v[k].reshape(new, order=fixed),
            f"copy {order}": lambda np_, v: v[k].copy(order),
            f"np.copy {order}": lambda np_, v: np_.copy(v[k], order),
            f"array {order}": lambda np_, v: np_.array(v[k], order=order),
            f"astype {order}": lambda np_, v: v[k].astype(v[k].dtype, order=order),
            f"astype {order} 32": lambda np_, v: v[k].astype(np.complex64, order=order),
            f"astype {order} no": lambda np_, v: v[k].astype(v[k].dtype, order=order, copy=False),
            f"asarray {strict}": lambda np_, v: np_.asarray(v[k], order=strict),
            "ascontiguousarray": lambda np_, v: np_.ascontiguousarray(v[k]),
        }
        return self.one(choices, k, names)

    def like(self, names):
        rng, k = self.rng, self.pick(names)
        if k is None:
            return None
        order = rng.choice("CFAK")
        choices = {
            f"zeros_like {order}": lambda np_, v: np_.zeros_like(v[k], order=order) + v[k],
            f"ones_like {order}": lambda np_, v: np_.ones_like(v[k], order=order),
            f"full_like {order}": lambda np_, v: np_.full_like(v[k], 2.0, order=order),
            "zeros F": lambda np_, v: np_.zeros(v[k].shape, order=strict),
            "full": lambda np_, v: np_.full((2, 3), v[k].ravel()[0]),
        }
        strict = rng.choice("CF")
        return self.one(choices, k, names)

    def compute(self, names):
        rng, k = self.rng, self.pick(names)
        if k is None:
            return None
        a = names[k]
        axis = rng.randrange(a.ndim)
        fit = [j for j, b in enumerate(names) if fits(b, a)]
        j = rng.choice(fit)
        at = np.array([0, a.shape[axis] - 1])
        choices = {
            "sin": lambda np_, v: np_.sin(v[k]),
            "times": lambda np_, v: v[k] * 2.0,
            f"plus {j}": lambda np_, v: v[k] + v[j],
            f"minus {j}": lambda np_, v: v[j] - v[k],
            f"where {j}": lambda np_, v: np_.where(v[k] > 0.1, v[k], v[j]),
            f"maximum {j}": lambda np_, v: np_.maximum(v[k], v[j]),
            "clip": lambda np_, v: np_.clip(v[k], -0.5, 0.5),
            f"cumsum {axis}": lambda np_, v: np_.cumsum(v[k], axis),
            f"sort {axis}": lambda np_, v: np_.sort(v[k], axis),
            f"take {axis}": lambda np_, v: np_.take(v[k], at, axis),
            f"concatenate {axis}": lambda np_, v: np_.concatenate([v[k], v[k]], axis),
            f"stack {axis}": lambda np_, v: np_.stack([v[k], v[k]], axis),
            f"repeat {axis}": lambda np_, v: np_.repeat(v[k], 2, axis),
            "tile": lambda np_, v: np_.tile(v[k], 2),
            f"roll {axis}": lambda np_, v: np_.roll(v[k], 1, axis),
            f"diff {axis}": lambda np_, v: np_.diff(v[k], axis=axis),
            "abs": lambda np_, v: abs(v[k]),
            "neg": lambda np_, v: -v[k],
            "power": lambda np_, v: v[k] ** 2,
            "constant": lambda np_, v: v[k] + constant,
            "complex": lambda np_, v: v[k] + 1j * v[k],
            "checkpoint": lambda np_, v: through(np_, fg.checkpoint, lambda y: y.T * 2.0, v[k]),
            "custom rule": lambda np_, v: through(np_, custom, lambda y: y.T * 2.0, v[k]),
            "cond": lambda np_, v: through(np_, chosen, lambda y: y.T * 2.0, v[k]),
            "jit": lambda np_, v: v[k].copy("C") if np_ is np else fg.jit(lambda y: y)(v[k]),
            "stop_gradient": lambda np_, v: through(np_, stopped, lambda y: y, v[k]),
            "diagonal": lambda np_, v: np_.einsum(v[k][None], [0, ...], [..., 0])[..., 0],
            "squares": lambda np_, v: np_.einsum("...i,...i->...i", v[k], v[k]),
        }
        constant = laid_out(rng, a.shape)
        if np.iscomplexobj(a):
            for name in [n for n in choices if n.split()[0] in REAL]:
                del choices[name]
        return self.one(choices, k, names)

    def parts(self, names):
        fit = [k for k, a in enumerate(names) if np.iscomplexobj(a)]
        if not fit:
            return None
        k = self.rng.choice(fit)
        choices = {
            "real": lambda np_, v: v[k].real,
            "imag": lambda np_, v: np_.imag(v[k]),
            "conj": lambda np_, v: v[k].conj(),
            "abs": lambda np_, v: abs(v[k]),
        }
        return self.one(choices, k, names)

    def reduce(self, names):
        rng, k = self.rng, self.pick(names, 2)
        if k is None:
            return None
        axis = rng.randrange(names[k].ndim)
        name = rng.choice(["sum", "mean", "max", "min", "prod", "var"])
        keep = rng.random() < 0.5
        choices = {
            f"{name} {axis} {keep}": lambda np_, v: getattr(np_, name)(
                v[k], axis=axis, keepdims=keep
            )
        }
        return self.one(choices, k, names)

    def scalar(self, names):
        rng, k = self.rng, self.pick(names, 0, 4)
        zero = [j for j, b in enumerate(names) if np.ndim(b) == 0]
        if zero and rng.random() < 0.7:
            k = rng.choice(zero)
        first = (0,) * np.ndim(names[k])
        choices = {
            "sum": lambda np_, v: np_.sum(v[k]),
            "method max": lambda np_, v: v[k].max(),
            "first": lambda np_, v: v[k][first] if first else v[k] * 1.0,
            "first ...": lambda np_, v: v[k][(*first, ...)],
        }
        if not first:
            choices |= {
                "None": lambda np_, v: v[k][None],
                "...": lambda np_, v: v[k][...],
                "()": lambda np_, v: v[k][()],
                "reshape": lambda np_, v: v[k].reshape(1),
                "ravel": lambda np_, v: v[k].ravel(),
                "np.reshape": lambda np_, v: np_.reshape(v[k], (1, 1)),
                "view": lambda np_, v: v[k].view(),
                "copy": lambda np_, v: v[k].copy(),
                "np.copy": lambda np_, v: np_.copy(v[k]),
                "array": lambda np_, v: np_.array(v[k]),
                "asarray": lambda np_, v: np_.asarray(v[k]),
                "where": lambda np_, v: np_.where(v[k] > 0.1, v[k], 0.5),
                "atleast": lambda np_, v: np_.atleast_1d(v[k]),
                "expand": lambda np_, v: np_.expand_dims(v[k], 0),
                "squeeze": lambda np_, v: np_.squeeze(v[k]),
                "transpose": lambda np_, v: np_.transpose(v[k]),
                "T": lambda np_, v: v[k].T,
                "sin": lambda np_, v: np_.sin(v[k]),
                "neg": lambda np_, v: -v[k],
                "plus": lambda np_, v: v[k] + 1.0,
                "astype": lambda np_, v: v[k].astype(v[k].dtype),
                "alias": lambda np_, v: v[k],
                "flatten": lambda np_, v: v[k].flatten(),
                "zeros_like": lambda np_, v: np_.zeros_like(v[k]),
            }
        return self.one(choices, k, names)

    def write(self, names):
        rng = self.rng
        fit = [k for k, a in enumerate(names) if writable(a)]
        if not fit:
            return None
        k = rng.choice(fit)
        a = names[k]
        axis = rng.randrange(max(a.ndim, 1))
        cut = (slice(None),) * axis
        sources = [j for j, b in enumerate(names) if fits(b, a)]
        j = rng.choice(sources)
        number = rng.choice([2.0, -0.5, 0.25])

        def scaled(np_, v, facts):
            t = v[k]
            t *= number
            v[k] = t

        def added(np_, v, facts):
            t = v[k]
            t += v[j]
            v[k] = t

        def put(np_, v, facts):
            v[k][(*cut, 0)] = number

        def row(np_, v, facts):
            v[k][(*cut, slice(0, 1))] *= number

        def whole(np_, v, facts):
            v[k][...] = v[j]

        def fill(np_, v, facts):
            v[k].fill(number)

        def copyto(np_, v, facts):
            np_.copyto(v[k], v[j])

        def out(np_, v, facts):
            np_.multiply(v[k], number, out=v[k])

        def flat(np_, v, facts):
            v[k].flat[0] = number

        choices = {
            f"{k} *= {number}": scaled,
            f"{k} += {j}": added,
            f"{k}[...] = {j}": whole,
            f"fill {k} {number}": fill,
            f"copyto {k} {j}": copyto,
            f"out {k} {number}": out,
            f"flat {k}": flat,
        }
        if a.ndim:
            choices |= {f"{k} put {axis} {number}": put, f"{k} row {axis} {number}": row}
        text = rng.choice(list(choices))
        return text, choices[text]

    def fact(self, names):
        k = self.rng.randrange(len(names))

        def note(np_, v, facts):
            facts.append(facts_of(v[k]))

        return f"facts of {k}", note


def exact(x):
    """A copy with the strides of `x`; a scalar as it is."""
    if not isinstance(x, np.ndarray):
        return x
    low, high = np.lib.array_utils.byte_bounds(x)
    space = np.empty(high - low, np.uint8)
    start = x.__array_interface__["data"][0] - low
    made = np.ndarray(x.shape, x.dtype, space, start, x.strides)
    made[...] = x
    return made


def through(namespace, made, f, x):
    """`f` of `x`, in plain NumPy as it is, else made another function."""
    return f(x) if namespace is np else made(f)(x)


def custom(f):
    """`f` with a rule of its own."""
    made = fg.custom_vjp(f)
    made.defvjp(lambda x: (f(x), None), lambda _, g: (g.T * 2.0,))
    return made


def chosen(f):
    """`f` where the condition, which is traced, holds."""
    return lambda x: fg.cond(abs(x.ravel()[0]) < 1e9, f, lambda y: -f(y), x)


def stopped(f):
    return fg.stop_gradient


def facts_of(x):
    """Strides of the axes that have any, and contiguity."""
    steps = tuple(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1)
    return x.shape, steps, x.flags.c_contiguous, x.flags.f_contiguous


def shapes(size, rng):
    """Shapes of that many elements."""
    found = [(size,), (1, size), (size, 1)]
    found += [(n, size // n) for n in range(2, size) if size % n == 0]
    found += [(n, m, size // n // m) for n in (2, 3) for m in (2, 3) if size % (n * m) == 0]
    return found


def fits(b, a):
    """Whether `b` can be written into `a`."""
    try:
        fit = np.broadcast_shapes(np.shape(a), np.shape(b)) == np.shape(a)
        return fit and np.can_cast(np.result_type(b), np.result_type(a), "same_kind")
    except ValueError:
        return False


def writable(a):
    return isinstance(a, np.ndarray) and a.flags.writeable and 0 not in a.strides


def laid_out(rng, shape):
    """An array of that shape in some layout."""
    n = len(shape)
    axes = rng.sample(range(n), n)
    gaps = [rng.choice([1, 1, 1, 2]) for _ in shape]
    signs = [rng.choice([1, 1, 1, -1]) for _ in shape]
    whole = np.zeros([shape[a] * gaps[a] for a in axes]).transpose(np.argsort(axes))
    cuts = tuple(slice(None, None, g * s) for g, s in zip(gaps, signs, strict=True))
    x = whole[cuts]
    values = [rng.uniform(-1, 1) for _ in range(math.prod(shape))]
    x[...] = np.reshape(values, shape)
    return x
