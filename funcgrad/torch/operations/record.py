"""One record an operation: what PyTorch calls it, takes, computes, records, saves, shows, refuses.

A row of a family's table is a call of `op`. From its record `install` makes the function, the
method, the in-place form, ``out=`` and the checks of arguments; the node's class is made here.

    mul = op("mul", "operand input, operand other, *, out", core=a.multiply, promote=pair,
             node="Mul", saves="self other")

An operation that is more than a promotion, an operation of the core and a node is a function with
its record above it: it is given the arguments of `order` (all but `out`) and returns the tensor.

    @operation("round", "input, *, out | input, *, int decimals, out")
    def round(input: Tensor, decimals: int | None) -> Tensor: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import Array
from funcgrad.torch import dtypes, recorders
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nodes import OF_CORE, Bends, GradNode, node_class
from funcgrad.torch.operations.common import boxed, computed
from funcgrad.torch.operations.install import changing_function, changing_method, installed
from funcgrad.torch.operations.operators import Operator
from funcgrad.torch.operations.promotion import dtype_of, floating, kind_of, promoted
from funcgrad.torch.operations.promotion import pair as paired
from funcgrad.torch.operations.results import Order

__all__ = [
    "Function", "NodeClass", "Operation", "Operator", "Promote", "alias", "apart", "common",
    "floats", "in_place",
    "method_in_place", "node", "op", "operation", "pair", "pair_floats", "refuse", "same",
]  # fmt: skip

NodeClass = type[GradNode]
Refusals = Mapping[str, str | Exception]
SELF = ((0, (0,)),)


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Function(Protocol[R_co]):
    """The function of an operation."""

    operation: Operation

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...


class Operation:
    """Everything that is to be known of one operation; see `op` for what the fields say."""

    __slots__ = (
        "before_change", "casts", "core", "doc", "hot", "lies", "method_signature", "name", "node",
        "operator", "overlap", "positions", "quick", "recorders", "remembers", "requires", "rule",
        "sees_out", "signature",
        "variants",
    )  # fmt: skip

    def __init__(self, name: str, signature: str, variants: str, doc: str) -> None:
        self.name, self.signature, self.doc = name, signature, doc
        self.variants = frozenset(variants.split())
        self.rule: Callable[..., Any] = NotImplemented
        self.core: Any = None
        self.node: NodeClass | None = None
        self.method_signature = signature
        self.positions = self.requires = ""
        self.lies: str | Order = ""
        self.before_change: Callable[..., None] | None = None
        self.remembers = self.casts = self.hot = self.sees_out = False
        self.overlap = "same"
        self.operator: Operator | None = None
        self.quick: Callable[..., Any] | None = None
        self.recorders: list[Any] = [None] * 4


# --------------------------------------------------------------------------------------- nodes


def node(
    name: str,
    saves: str = "",
    shows: tuple[int, ...] | None = None,
    tells: str = "",
    bends: str | Bends | None = None,
    of: str = "",
) -> NodeClass:
    """The class of the nodes of an operation: ``"Mul"`` is short for ``"MulBackward0"``.

    `saves` has PyTorch's names of what it saves: ``result``, and of the operands in order, with
    ``_`` for one that it does not save; results of other names stand first, before ``;``. `shows`
    are the operands that count as inputs, by default all that can be differentiated, with -1 for
    an input that the core does not have. `tells` are the numbers that it shows, as
    ``_saved_alpha``. Where its derivative is zero and yet depends on an operand, `bends` is the
    name of the gradient's node (see `ties`), with which operands' gradients bend with which, if it
    is not the first with itself. `of` are the names of the core's operations whose nodes are of
    this class wherever they are recorded.
    """
    outputs, _, rest = saves.rpartition(";")
    names = rest.split()
    result = outputs or next((n for n in names if n.startswith("result")), "")
    operands = ["" if n == "_" else n for n in names if n != result]
    bent = (_full(bends), SELF) if isinstance(bends, str) else bends
    made = node_class(_full(name), (result, *operands), shows, tuple(tells.split()), bent)
    OF_CORE.update(dict.fromkeys(of.split(), made))
    return made


def _full(name: str) -> str:
    return name if "Backward" in name or name == "NotImplemented" else f"{name}Backward0"


# ---------------------------------------------------------------------- the dtype of the operands


def same(name: str, input: Any) -> Sequence[Array]:
    """The operand in its own dtype."""
    return (_content(input),)


def floats(name: str, *operands: Any) -> Sequence[Array]:
    """The operands in one floating or complex dtype."""
    if len(operands) == 1:
        return (floating(name, operands[0]),)
    return promoted(name, *operands, floats=True)


def common(name: str, *operands: Any) -> Sequence[Array]:
    """The operands in the dtype of the result; Python numbers become scalars of it."""
    return promoted(name, *operands)


def apart(name: str, *operands: Any) -> Sequence[Array]:
    """The operands, each in its own dtype."""
    return [_content(x) for x in operands]


def pair(name: str, x: Any, y: Any) -> Sequence[Array]:
    """Two operands in one dtype; a Python number may stay one."""
    return paired(name, x, y)


def pair_floats(name: str, x: Any, y: Any) -> Sequence[Array]:
    """As `pair`; integers become floats."""
    return paired(name, x, y, floats=True)


def _content(x: Any) -> Array:
    return x.content() if isinstance(x, Tensor) else x


Promote = Callable[..., Sequence[Array]]


# ------------------------------------------------------------------------------------- refusals


def refuse(refuses: Refusals, x: Array) -> None:
    """Raise what is said of the dtype of an operand, by NumPy's letters of kinds.

    "h" is half precision. Words are the name of PyTorch's kernel that does not cover it; else it is
    the error itself.
    """
    dtype = dtype_of(x)
    for kinds, said in refuses.items():
        if dtype.kind in kinds or ("h" in kinds and is_half(dtype)):
            if isinstance(said, str):
                name = dtypes.scalar_name(kind_of(x))
                raise NotImplementedError(f"\"{said}\" not implemented for '{name}'")
            raise type(said)(*said.args)


# ------------------------------------------------------------------------------------------ rows


def op(
    name: str,
    signature: str,
    *,
    core: Any,
    promote: Promote = same,
    node: str | NodeClass | None = None,
    number: NodeClass | None = None,
    saves: str = "",
    shows: tuple[int, ...] | None = None,
    tells: str = "",
    bends: str | Bends | None = None,
    refuses: Refusals | None = None,
    variants: str = "method inplace",
    remembers: bool = True,
    casts: bool = False,
    overlap: str = "same",
    before_change: Callable[..., None] | None = None,
    lies: str | Order = "operands",
    method_signature: str = "",
    operator: str | Operator | None = None,
    doc: str = "",
) -> Function[Tensor]:
    """Make an operation that applies the `core`'s to its operands, and return its function.

    `signature` is PyTorch's (see `signature`). The operands are brought into one dtype by
    `promote`, which gets the name and the operands; what `refuses` says of a dtype is raised; the
    operation of the `core` is applied to them; its node is of the class `node`, or of `number`
    where the second operand is a Python number. For `saves`, `shows`, `tells` and `bends` see
    `node`.

    `variants`: ``method``, ``inplace`` (the method ``mul_``). An operation that `remembers` what it
    did follows a recipe when the same call has come often (see `remembered`). In place: a result of
    any dtype is written if it `casts`; `overlap` is how operands may lie in the memory that is
    written: the ``same`` elements, in ``any`` way, ``none`` of it; `before_change` gets the
    arguments first, and may refuse. `operator` is Python's (see `Operator`); `method_signature` is
    given where the method's is not that of the function; it is written with its tensor, too.

    `lies` says how the result lies in memory, where it is not as the operands do together (see
    `lying`).
    """
    record = Operation(name, signature, variants, doc or f"`{name}` of each element.")
    record.remembers, record.casts, record.overlap = remembers, casts, overlap
    record.before_change = before_change
    record.method_signature = method_signature or signature
    record.operator = Operator(operator) if isinstance(operator, str) else operator
    record.core, record.lies = core, lies
    if isinstance(node, str):
        record.node = _row_node(node, core, saves, shows, tells, bends)
    else:
        record.node = node
    record.hot = (
        promote in (same, floats) and recorders.suits(core) and core.primitive.ufunc.nin == 1
    )
    record.hot = record.hot and "f" not in "".join(refuses or ())
    record.rule = _rule(record, promote, number, refuses or {})
    return installed(record)  # type: ignore[no-any-return]


def operation(
    name: str,
    signature: str,
    *,
    node: NodeClass | None = None,
    variants: str = "method inplace",
    remembers: bool = False,
    positions: str = "",
    lies: str | Order = "",
    casts: bool = False,
    overlap: str = "same",
    before_change: Callable[..., None] | None = None,
    method_signature: str = "",
    operator: str | Operator | None = None,
    sees_out: bool = False,
    quick: Callable[..., Any] | None = None,
    doc: str = "",
) -> Callable[[Callable[..., R]], Function[R]]:
    """Make an operation of a function that takes its arguments but `out`, and gives the tensor.

    The function is given every argument of every overload, those that are absent with their
    default, or None. For the others see `op`; an operation `remembers` only where what it does
    depends on the types, shapes and numbers among its arguments, not on what is in its tensors;
    `positions` is that of `remembered`. `doc` is by default that of the
    function. One that `sees_out` is given ``out`` last, where there is one. `quick` is tried before
    anything else with arguments that are given by position, and gives None where it has no answer.
    What an operation requires of its arguments stands below the row (see `requirements`).
    """

    def made(rule: Callable[..., R]) -> Function[R]:
        record = Operation(name, signature, variants, doc or rule.__doc__ or "")
        record.remembers, record.casts, record.overlap = remembers, casts, overlap
        record.before_change, record.node, record.rule = before_change, node, rule
        record.positions, record.lies, record.sees_out = positions, lies, sees_out
        record.quick, record.requires = quick, getattr(rule, "requires", "")
        record.method_signature = method_signature or signature
        record.operator = Operator(operator) if isinstance(operator, str) else operator
        return installed(record)  # type: ignore[no-any-return]

    return made


def _row_node(
    name: str, core: Any, saves: str, shows: tuple[int, ...] | None, tells: str, bends: Any
) -> NodeClass:
    primitive = getattr(core, "primitive", None)
    return node(name, saves, shows, tells, bends, "" if primitive is None else primitive.name)


def _rule(
    record: Operation, promote: Promote, number: NodeClass | None, refuses: Refusals
) -> Callable[..., Tensor]:
    name, core, made = record.name, record.core, record.node

    def rule(*operands: Any) -> Tensor:
        xs = promote(name, *operands)
        if refuses:
            refuse(refuses, xs[0])
        kind = made
        if number is not None and not isinstance(operands[1], (Tensor, Tracer)):
            kind = number
        return boxed(computed(core, *xs), kind)

    return rule


def alias(
    name: str,
    function: Function[R],
    signature: str | None = None,
    variants: str | None = None,
) -> Function[R]:
    """The same operation by another name, with the same signature and variants by default."""
    old = function.operation
    record = Operation(name, signature or old.signature, variants or "", old.doc)
    if variants is None:
        record.variants = old.variants
    if signature is None:
        record.method_signature = old.method_signature
    for field in Operation.__slots__:
        if field not in ("name", "signature", "method_signature", "operator", "variants"):
            setattr(record, field, getattr(old, field))
    return installed(record)  # type: ignore[no-any-return]


def method_in_place(
    name: str, signature: str
) -> Callable[[Callable[..., Tensor]], Function[Tensor]]:
    """Make of a function the method `name`, which does more than to write a result into the tensor.

    What comes of it is the function of the same name.
    """

    def made(change: Callable[..., Tensor]) -> Function[Tensor]:
        record = Operation(name.removesuffix("_"), signature, "", change.__doc__ or "")
        changing_method(record, change)
        return changing_function(record)  # type: ignore[return-value]

    return made


def in_place(*functions: Function[Any]) -> list[Callable[..., Tensor]]:
    """The functions ``exp_(x)`` that do what the methods ``x.exp_()`` do."""
    return [changing_function(f.operation) for f in functions]
