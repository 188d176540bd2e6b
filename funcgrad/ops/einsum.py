"""`einsum`: a product of any number of operands, every axis of which has a letter.

Values are those of NumPy's own function; what is derived from an `einsum` is an `einsum`. Inside,
a specification has no ellipsis and its output is written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Multilinear
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.index import scatter_add
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, unbroadcast


def _letters(used: str, count: int) -> str:
    from string import ascii_letters  # needed by few programs

    free = [c for c in ascii_letters if c not in used]
    if len(free) < count:
        raise ValueError(located("einsum: more than 52 different axes"))
    return "".join(free[:count])


def _einsum_impl(*xs: Any, spec: str, optimize: Any = False, order: Any = "K") -> Any:
    return np.einsum(spec, *xs, optimize=optimize, order=order)


def _split(spec: str) -> tuple[list[str], str]:
    left, out = spec.split("->")
    return left.split(","), out


def _extents(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for c, n in zip(term, shape, strict=True):
            known = extents.get(c, 1)
            if 1 not in (known, n) and known != n:
                raise ValueError(located(f"einsum: the axis {c!r} has {known} and {n} elements"))
            extents[c] = n if known == 1 else known
    return extents


def _einsum_type(
    *types: ArrayType, spec: str, optimize: Any = False, order: Any = "K"
) -> ArrayType:
    terms, out = _split(spec)
    extents = _extents(terms, [t.shape for t in types])
    return ArrayType(tuple(extents[c] for c in out), np.result_type(*(t.dtype for t in types)))


class Einsum(Multilinear):
    """Linear in each of any number of operands; every axis has a letter."""

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        terms, out = _split(node.params["spec"])
        types, saved = node.avals, node.saved[1:]
        optimize = node.params.get("optimize", False)
        return [
            None if p is None else _einsum_cotangent(i, g, saved, types, terms, out, optimize)
            for i, p in enumerate(node.parents)
        ]


def _einsum_cotangent(
    i: int, g: Array, saved: Any, types: Any, terms: list[str], out: str, optimize: Any
) -> Array:
    own, aval = terms[i], types[i]
    extents = _extents(terms, [t.shape for t in types])
    others = [j for j in range(len(terms)) if j != i]
    # A path given for the operands is none for the cotangent: an order of our own, where it pays.
    optimize = bool(optimize) or math.prod(extents.values()) > 1 << 16
    unique = "".join(dict.fromkeys(own))
    there = set(out).union(*(terms[j] for j in others))
    seen = "".join(c for c in unique if c in there)
    c = einsum_letters(
        ",".join([out, *(terms[j] for j in others)]) + "->" + seen,
        [g, *(saved[j] for j in others)],
        optimize,
    )
    # an axis that only this operand has was summed out: its cotangent is the same all along
    there_extents = dict(zip(seen, type_of(c).shape, strict=True))
    shape = tuple(there_extents.get(k, 1) for k in unique)
    full = broadcast_to(reshape(c, shape), tuple(extents[k] for k in unique))
    if unique == own:
        return unbroadcast(full, aval)
    return unbroadcast(_on_diagonal(full, unique, own, extents), aval)


def _on_diagonal(x: Array, unique: str, own: str, extents: dict[str, int]) -> Array:
    """Zeros but where the repeated letters of `own` agree."""
    index: list[Any] = []
    for c in own:
        shape = [1] * len(unique)
        shape[unique.index(c)] = extents[c]
        index.append(np.arange(extents[c]).reshape(shape))
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
        Sample((draw((2, 1)), draw((3,), seed=1)), {"spec": "ij,j->i"}),
        Sample((draw((2, 2, 3)), draw((3, 2), seed=1)), {"spec": "iij,jk->ik", "optimize": True}),
        Sample((draw((2, 3)) + 1j * draw((2, 3), seed=2), draw((3,), seed=1)), {"spec": "ij,j->"}),
        Sample((draw((0, 3)), draw((3,), seed=1)), {"spec": "ij,j->"}),
        Sample((draw((2, 3)).astype(np.float32), draw((2, 3), seed=1)), {"spec": "ij,ij->ji"}),
    ]


EINSUM = Einsum("einsum", _einsum_impl, (), _einsum_type, _einsum_batch)
EINSUM.sample = _einsum_samples


def einsum_letters(
    spec: str, xs: Sequence[Array], optimize: Any = False, order: Any = "K"
) -> Array:
    """`einsum` with a letter for every axis and an explicit output."""
    params = {"spec": spec} if not optimize else {"spec": spec, "optimize": optimize}
    if order != "K":
        params["order"] = order
    return bind(EINSUM, tuple(xs), params)


def einsum(*operands: Any, optimize: Any = False, order: Any = "K") -> Array:
    """NumPy's `einsum`: a string and operands, or operands with lists of axes."""
    spec, xs = _parsed(operands)
    optimize = tuple(optimize) if isinstance(optimize, list) else optimize
    return einsum_letters(spec, xs, optimize, order)


def view_spec(*operands: Any) -> tuple[str, Any] | None:
    """The specification and the operand, if it is one of which no axis is summed.

    NumPy gives a view of it.
    """
    if len(operands) > 3:
        return None
    spec, xs = _parsed(operands)
    if len(xs) > 1:
        return None
    (term,), out = _split(spec)
    return (spec, operands[isinstance(operands[0], str)]) if set(term) == set(out) else None


def _parsed(operands: Sequence[Any]) -> tuple[str, list[Array]]:
    """The specification with letters for all axes, and the operands."""
    if isinstance(operands[0], str):
        spec, xs = operands[0].replace(" ", ""), [operand(x) for x in operands[1:]]
    else:
        spec, xs = _from_sublists(operands)
    return _explicit(spec, [type_of(x).ndim for x in xs]), xs


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Array]]:
    from string import ascii_lowercase, ascii_uppercase  # needed by few programs

    def term(axes: Sequence[Any]) -> str:
        # capitals first: the order of the letters is that of the numbers, as in NumPy
        letters = ascii_uppercase + ascii_lowercase
        return "".join("..." if a is Ellipsis else letters[a] for a in axes)

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


def _lies(*given: Any) -> Any:
    """Where axes are only moved, a view: in another order also of an operand in C order."""
    return ordered(*given)


EINSUM.lies = _lies
