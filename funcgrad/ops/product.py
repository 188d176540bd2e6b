"""Products with contraction: matmul, dot, tensordot, inner, einsum.

Each keeps NumPy's own function, so that values agree bit for bit; what is derived from one goes
through `matmul` where the operands are matrices and through `einsum` otherwise.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Multilinear, multilinear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import multiply
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, swap_last


def _result_dtype(*types: ArrayType) -> Any:
    return np.result_type(*(t.dtype for t in types))


# --------------------------------------------------------------------------------- matmul


def _row(x: Array) -> Array:
    shape = type_of(x).shape
    return reshape(x, (1, *shape)) if len(shape) == 1 else x


def _column(y: Array) -> Array:
    shape = type_of(y).shape
    return reshape(y, (*shape, 1)) if len(shape) == 1 else y


def _full_cotangent(g: Array, x_rank: int, y_rank: int) -> Array:
    """The cotangent as if both operands had been matrices."""
    shape = type_of(g).shape
    if y_rank == 1:
        shape = (*shape, 1)
    if x_rank == 1:
        shape = (*shape[:-1], 1, shape[-1])
    return reshape(g, shape)


def _matmul_x(g: Array, x: ArrayType, y: Array) -> Array:
    wide = _full_cotangent(g, x.ndim, type_of(y).ndim)
    c = matmul(wide, swap_last(_column(y)))
    if x.ndim == 1:
        return reshape(algebra.conform(c, ArrayType((1, *x.shape), x.dtype)), x.shape)
    return algebra.conform(c, x)


def _matmul_y(g: Array, x: Array, y: ArrayType) -> Array:
    wide = _full_cotangent(g, type_of(x).ndim, y.ndim)
    c = matmul(swap_last(_row(x)), wide)
    if y.ndim == 1:
        return reshape(algebra.conform(c, ArrayType((*y.shape, 1), y.dtype)), y.shape)
    return algebra.conform(c, y)


def _matmul_type(x: ArrayType, y: ArrayType) -> ArrayType:
    a = x.shape if x.ndim > 1 else (1, *x.shape)
    b = y.shape if y.ndim > 1 else (*y.shape, 1)
    if a[-1] != b[-2]:
        raise ValueError(located(f"matmul: shapes {x.shape} and {y.shape} do not fit together"))
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    tail = (() if x.ndim == 1 else (a[-2],)) + (() if y.ndim == 1 else (b[-1],))
    return ArrayType(lead + tail, _result_dtype(x, y))


def _matmul_batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    ranks = [type_of(x).ndim - b for x, b in zip(xs, batched, strict=True)]
    x, y = xs
    if ranks[0] == 1:
        shape = type_of(x).shape
        x = reshape(x, (*shape[:-1], 1, shape[-1]))
    if ranks[1] == 1:
        y = reshape(y, (*type_of(y).shape, 1))
    deepest = max(2, *ranks)
    lifted = []
    for z, b in zip((x, y), batched, strict=True):
        shape = type_of(z).shape
        if b:
            z = reshape(z, shape[:1] + (1,) * (deepest + 1 - len(shape)) + shape[1:])
        lifted.append(z)
    out = matmul(*lifted)
    shape = type_of(out).shape
    if ranks[1] == 1:
        shape = shape[:-1]
    if ranks[0] == 1:
        shape = (*shape[:-2], shape[-1]) if ranks[1] != 1 else shape[:-1]
    return reshape(out, shape)


def _pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Sample]:
    out = [Sample((draw(a), draw(b, seed=1))) for a, b in shapes]
    a, b = shapes[0]
    out.append(Sample((draw(a).astype(np.float32), draw(b, seed=1))))
    out.append(Sample((draw(a) + 1j * draw(a, seed=2), draw(b, seed=1))))
    return out


MATMUL = multilinear(
    "matmul",
    np.matmul,
    (_matmul_x, _matmul_y),
    _matmul_type,
    _matmul_batch,
    sample=lambda: _pairs(
        ((2, 3), (3, 2)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((0, 3), (3, 2)),
    ),
)


def matmul(x: Any, y: Any) -> Array:
    """The matrix product over the last two axes; the others broadcast."""
    x, y = operand(x), operand(y)
    return bind(MATMUL, (x, y))


# ----------------------------------------------------------------------- einsum of letters


def _letters(used: str, count: int) -> str:
    free = [c for c in string.ascii_letters if c not in used]
    if len(free) < count:
        raise ValueError(located("einsum: more than 52 different axes"))
    return "".join(free[:count])


def _einsum_impl(*xs: Any, spec: str, optimize: Any = False) -> Any:
    return np.einsum(spec, *xs, optimize=optimize)


def _split(spec: str) -> tuple[list[str], str]:
    left, out = spec.split("->")
    return left.split(","), out


def _extents(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for c, n in zip(term, shape, strict=True):
            extents[c] = max(extents.get(c, 1), n) if extents.get(c, 1) != 0 and n != 0 else 0
    return extents


def _einsum_type(*types: ArrayType, spec: str, optimize: Any = False) -> ArrayType:
    terms, out = _split(spec)
    extents = _extents(terms, [t.shape for t in types])
    return ArrayType(tuple(extents[c] for c in out), _result_dtype(*types))


class Einsum(Multilinear):
    """Linear in each of any number of operands; every axis has a letter."""

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        terms, out = _split(node.params["spec"])
        types, saved = node.fix, node.saved[1:]
        optimize = node.params.get("optimize", False)
        return [
            None if p is None else _einsum_cotangent(i, g, saved, types, terms, out, optimize)
            for i, p in enumerate(node.parents)
        ]


def _einsum_cotangent(
    i: int, g: Array, saved: Any, types: Any, terms: list[str], out: str, optimize: Any
) -> Array:
    own, kind = terms[i], types[i]
    extents = _extents(terms, [t.shape for t in types])
    others = [j for j in range(len(terms)) if j != i]
    unique = "".join(dict.fromkeys(own))
    there = set(out).union(*(terms[j] for j in others))
    seen = "".join(c for c in unique if c in there)
    c = einsum_letters(
        ",".join([out, *(terms[j] for j in others)]) + "->" + seen,
        [g, *(saved[j] for j in others)],
        optimize,
    )
    # an axis that only this operand has was summed out: its cotangent is the same all along
    shape = tuple(extents[k] if k in seen else 1 for k in unique)
    full = broadcast_to(reshape(c, shape), tuple(extents[k] for k in unique))
    if unique == own:
        return algebra.conform(full, kind)
    return algebra.conform(_on_diagonal(full, unique, own, extents), kind)


def _on_diagonal(x: Array, unique: str, own: str, extents: dict[str, int]) -> Array:
    """Zeros but where the repeated letters of `own` agree."""
    index: list[Any] = []
    for c in own:
        shape = [1] * len(unique)
        shape[unique.index(c)] = extents[c]
        index.append(np.arange(extents[c]).reshape(shape))
    from funcgrad.ops.index import scatter_add

    whole = ArrayType(tuple(extents[c] for c in own), type_of(x).dtype)
    return scatter_add(x, whole, index)


def _einsum_batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    terms, out = _split(params["spec"])
    b = _letters(params["spec"], 1)
    new = [b + t if flag else t for t, flag in zip(terms, batched, strict=True)]
    return bind(EINSUM, xs, {**params, "spec": ",".join(new) + "->" + b + out})


def _einsum_samples() -> list[Sample]:
    return [
        Sample((draw((2, 3)), draw((3, 2), seed=1)), {"spec": "ij,jk->ik"}),
        Sample((draw((2, 3)),), {"spec": "ij->j"}),
        Sample((draw((3, 3)),), {"spec": "ii->"}),
        Sample((draw((3, 3)), draw((3,), seed=1)), {"spec": "ii,i->i"}),
        Sample((draw((2, 3)), draw((3,), seed=1), draw((2,), seed=2)), {"spec": "ij,j,i->"}),
        Sample((draw((2, 3)).astype(np.float32), draw((2, 3), seed=1)), {"spec": "ij,ij->ji"}),
    ]


EINSUM = Einsum("einsum", _einsum_impl, (), _einsum_type, _einsum_batch)
EINSUM.sample = _einsum_samples


def einsum_letters(spec: str, xs: Sequence[Array], optimize: Any = False) -> Array:
    """`einsum` with a letter for every axis and an explicit output."""
    params = {"spec": spec} if not optimize else {"spec": spec, "optimize": optimize}
    return bind(EINSUM, tuple(xs), params)


def einsum(*operands: Any, optimize: Any = False) -> Array:
    """NumPy's `einsum`: a string and operands, or operands with lists of axes."""
    if isinstance(operands[0], str):
        spec, xs = operands[0].replace(" ", ""), [operand(x) for x in operands[1:]]
    else:
        spec, xs = _from_sublists(operands)
    spec = _explicit(spec, [type_of(x).ndim for x in xs])
    return einsum_letters(spec, xs, optimize if not isinstance(optimize, list) else tuple(optimize))


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Array]]:
    def term(axes: Sequence[Any]) -> str:
        return "".join("..." if a is Ellipsis else string.ascii_letters[a] for a in axes)

    count = len(operands) // 2
    xs = [operand(operands[2 * k]) for k in range(count)]
    spec = ",".join(term(operands[2 * k + 1]) for k in range(count))
    return (spec + "->" + term(operands[-1]) if len(operands) % 2 else spec), xs


def _explicit(spec: str, ranks: Sequence[int]) -> str:
    """The specification with letters for an ellipsis, and with its output written out."""
    left, arrow, out = spec.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(located(f"einsum: {spec!r} names {len(terms)} operands, not {len(ranks)}"))
    for t, r in zip(terms, ranks, strict=True):
        named = len(t.replace("...", ""))
        if named > r or ("..." not in t and named != r):
            raise ValueError(located(f"einsum: the term {t!r} does not fit an operand of {r} axes"))
    extra = max(
        (r - len(t.replace("...", "")) for t, r in zip(terms, ranks, strict=True) if "..." in t),
        default=0,
    )
    fill = _letters(spec, extra)
    filled = []
    for t, r in zip(terms, ranks, strict=True):
        k = r - len(t.replace("...", ""))
        filled.append(t.replace("...", fill[extra - k :] if k else ""))
    if arrow:
        out = out.replace("...", fill)
    else:
        every = "".join(filled)
        once = sorted(c for c in set(every) if every.count(c) == 1 and c not in fill)
        out = fill + "".join(once)
    return ",".join(filled) + "->" + out


# ------------------------------------------------------------- dot, tensordot, inner, vdot


def _contraction(
    name: str,
    impl: Callable[..., Any],
    spec: Callable[..., str],
    samples: Callable[[], list[Sample]],
) -> Multilinear:
    """A product of two operands whose derivative is that of an einsum."""

    def cotangent(i: int) -> Callable[..., Any]:
        def rule(g: Array, x: Any, y: Any, **params: Any) -> Array:
            types = [v if isinstance(v, ArrayType) else type_of(v) for v in (x, y)]
            terms, out = _split(spec(types[0].ndim, types[1].ndim, **params))
            return _einsum_cotangent(i, g, (x, y), types, terms, out, True)

        return rule

    def type_rule(x: ArrayType, y: ArrayType, **params: Any) -> ArrayType:
        return _einsum_type(x, y, spec=spec(x.ndim, y.ndim, **params))

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        ranks = [type_of(x).ndim - b for x, b in zip(xs, batched, strict=True)]
        return _einsum_batch(size, xs, batched, {"spec": spec(*ranks, **params), "optimize": True})

    return multilinear(name, impl, (cotangent(0), cotangent(1)), type_rule, batch, samples)


def _dot_spec(m: int, n: int) -> str:
    left = string.ascii_lowercase[:m]
    right = list(string.ascii_uppercase[:n])
    right[-2 if n > 1 else -1] = left[-1]
    term = "".join(right)
    return f"{left},{term}->{left[:-1]}{term.replace(left[-1], '')}"


def _inner_spec(m: int, n: int) -> str:
    left, right = string.ascii_lowercase[:m], string.ascii_uppercase[: n - 1]
    return f"{left},{right}{left[-1]}->{left[:-1]}{right}"


def _tensordot_spec(m: int, n: int, axes: Any) -> str:
    left, right = string.ascii_lowercase[:m], list(string.ascii_uppercase[:n])
    for a, b in zip(*axes, strict=True):
        right[b] = left[a]
    summed = [left[a] for a in axes[0]]
    out = [c for c in [*left, *right] if c not in summed]
    return f"{left},{''.join(right)}->{''.join(out)}"


DOT = _contraction(
    "dot",
    np.dot,
    _dot_spec,
    lambda: _pairs(((2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3, 2))),
)
INNER = _contraction("inner", np.inner, _inner_spec, lambda: _pairs(((2, 3), (2, 3)), ((3,), (3,))))
TENSORDOT = _contraction(
    "tensordot",
    lambda x, y, axes: np.tensordot(x, y, axes),
    _tensordot_spec,
    lambda: [
        Sample((draw((2, 3)), draw((3, 2), seed=1)), {"axes": ((1,), (0,))}),
        Sample((draw((2, 3, 2)), draw((2, 3), seed=1)), {"axes": ((0, 1), (0, 1))}),
        Sample((draw((2,)), draw((3,), seed=1)), {"axes": ((), ())}),
    ],
)


def dot(x: Any, y: Any) -> Array:
    """NumPy's `dot`: the last axis of x with the last but one of y."""
    x, y = operand(x), operand(y)
    if not type_of(x).shape or not type_of(y).shape:
        return multiply(x, y)
    _check_contracted("dot", x, y, -1, -2 if type_of(y).ndim > 1 else -1)
    return bind(DOT, (x, y))


def inner(x: Any, y: Any) -> Array:
    """The sum over the last axes of both."""
    x, y = operand(x), operand(y)
    if not type_of(x).shape or not type_of(y).shape:
        return multiply(x, y)
    _check_contracted("inner", x, y, -1, -1)
    return bind(INNER, (x, y))


def _check_contracted(name: str, x: Array, y: Array, a: int, b: int) -> None:
    if type_of(x).shape[a] != type_of(y).shape[b]:
        raise ValueError(
            located(f"{name}: shapes {type_of(x).shape} and {type_of(y).shape} are not aligned")
        )


def vdot(x: Any, y: Any) -> Array:
    """The inner product of the flat arrays, the first one conjugated."""
    from funcgrad.ops.arithmetic import conjugate

    x, y = operand(x), operand(y)
    return dot(conjugate(reshape(x, (type_of(x).size,))), reshape(y, (type_of(y).size,)))


def outer(x: Any, y: Any) -> Array:
    """All products of an element of x and one of y."""
    x, y = operand(x), operand(y)
    return multiply(reshape(x, (type_of(x).size, 1)), reshape(y, (1, type_of(y).size)))


def tensordot(x: Any, y: Any, axes: Any = 2) -> Array:
    """NumPy's `tensordot`."""
    x, y = operand(x), operand(y)
    m, n = type_of(x).ndim, type_of(y).ndim
    if isinstance(axes, (int, np.integer)):
        left, right = tuple(range(m - axes, m)), tuple(range(axes))
    else:
        left, right = (tuple(np.atleast_1d(a).tolist()) for a in axes)
    left, right = normalize_axis_tuple(left, m), normalize_axis_tuple(right, n)
    if len(left) != len(right) or any(
        type_of(x).shape[a] != type_of(y).shape[b] for a, b in zip(left, right, strict=True)
    ):
        raise ValueError(
            located(
                f"tensordot: axes {axes} of shapes {type_of(x).shape} and {type_of(y).shape} do "
                "not match"
            )
        )
    return bind(TENSORDOT, (x, y), {"axes": (left, right)})
