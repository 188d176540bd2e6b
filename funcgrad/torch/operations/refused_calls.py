"""PyTorch's errors for calls that have none of a function's signatures, quirks included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from funcgrad.torch.operations.argument_kinds import are_indices, is_index
from funcgrad.torch.operations.promotion import typename

if TYPE_CHECKING:
    from funcgrad.torch.operations.signature import Signature

__all__ = ["refuse_call"]


UNPACKED = (
    "{}(): argument '{}' failed to unpack the object at pos {} with error \"type must be {},but "
    'got {}"'
)


def refuse_call(
    name: str, signatures: Sequence[Signature], method: bool, args: Any, kwargs: Any
) -> NoReturn:
    """Raise what PyTorch says of a call that has none of the signatures."""
    if method and not any(s.parameters for s in signatures):
        owner = f"TensorBase.{name}()"
        if kwargs:
            raise TypeError(f"{owner} takes no keyword arguments")
        raise TypeError(f"{owner} takes no arguments ({len(args)} given)")
    if args and is_index(args[0]) and not are_indices(args):
        for s in signatures:
            if s.varargs() and s.required <= len(args):
                _blame(name, s, args, kwargs)
    given = len(args) + len(kwargs)
    likely = list(signatures)
    if len(likely) > 1:
        likely = [
            s for s in likely
            if s.required <= given <= len(s.parameters) and not s.hidden
        ]  # fmt: skip
    if len(likely) == 1:
        _blame(name, likely[0], args, kwargs)
    options = [s.text() for s in signatures if not s.hidden]
    raise TypeError(invalid_combination(name, args, kwargs, options))


def _blame(name: str, s: Signature, args: Any, kwargs: Any) -> NoReturn:
    """Raise what is wrong with a call of the one signature that it can have."""
    found: Any = s.matched(args, kwargs, [])
    n = s.positional
    if found.why == "surplus":
        were = "was" if len(args) == 1 and s.required == n else "were"
        if s.required != n:
            many = f"from {s.required} to {n} positional arguments"
        else:
            many = f"{n} positional argument{'' if n == 1 else 's'}"
        raise TypeError(f"{name}() takes {many} but {len(args)} {were} given")
    if found.why == "missing":
        lacking = [p.name for p in s.parameters[found.parameter :] if not p.optional]
        names = ", ".join(f'"{p}"' for p in lacking)
        ending = "s" if len(lacking) == 1 else ""  # so it stands in PyTorch
        raise TypeError(
            f"{name}() missing {len(lacking)} required positional argument{ending}: {names}"
        )
    if found.why == "name":
        _blame_name(name, s, kwargs)
    p = s.parameters[found.parameter]
    by_name = type(found.place) is str
    x = kwargs[found.place] if by_name else args[found.place]
    where = "" if by_name else f" (position {found.place + 1})"
    wanted, failed = p.kind.shown, typename(x)
    if s.varargs() and not by_name and is_index(x):
        k = next(i for i, item in enumerate(args) if not is_index(item))
        raise TypeError(UNPACKED.format(name, p.name, k + 1, wanted, typename(args[k])))
    if wanted == "tuple of Tensors" and isinstance(x, (tuple, list)):
        k = next(i for i, item in enumerate(x) if not p.kind.holds((item,)))
        raise TypeError(
            f"expected Tensor as element {k} in argument {0 if by_name else found.place}, but "
            f"got {typename(x[k])}"
        )
    if isinstance(x, (tuple, list)) and wanted.startswith("tuple of") and not by_name:
        k = next(i for i, item in enumerate(x) if not p.kind.holds((item,)))
        if k and wanted == "tuple of ints":
            raise TypeError(UNPACKED.format(name, p.name, k + 1, wanted, typename(x[k])))
        failed = f"found element of type {typename(x[k])} at pos {k}"
        raise TypeError(f"{name}(): argument '{p.name}'{where} must be {wanted}, but {failed}")
    raise TypeError(f"{name}(): argument '{p.name}'{where} must be {wanted}, not {failed}")


def _blame_name(name: str, s: Signature, kwargs: Any) -> NoReturn:
    names = [p.name for p in s.parameters]
    for given in kwargs:
        if given not in names:
            raise TypeError(f"{name}() got an unexpected keyword argument '{given}'")
    given = next(k for k in kwargs if names.index(k) < s.positional)
    raise TypeError(f"{name}() got multiple values for argument '{given}'")


# ---------------------------------------------------------- the message about several signatures


def invalid_combination(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: list[str]
) -> str:
    """PyTorch's message for a call that has none of several signatures."""
    start = f"{name}() received an invalid combination of arguments - "
    if len(options) == 1:
        wrong = _unknown_names(options[0], kwargs)
        if wrong:
            return f"{start}got unrecognized keyword arguments: {', '.join(wrong)}"
        said = _described(options[0], args, kwargs)
        return f"{start}got {said or _types(args, kwargs)}, but expected {options[0]}"
    lines = [f"{start}got {_types(args, kwargs)}, but expected one of:"]
    for option in options:
        lines.append(f" * {option}")
        if len(args) + len(kwargs) != len(_arguments(option)):
            continue
        wrong = _unknown_names(option, kwargs)
        if wrong:
            names = ", ".join(wrong)
            lines.append(f"      didn't match because some of the keywords were incorrect: {names}")
        else:
            lines.append(
                "      didn't match because some of the arguments have invalid types: "
                + _described(option, args, kwargs)
            )
    return "\n".join([*lines, ""])


def _arguments(option: str) -> list[tuple[str, str]]:
    """Type and name of each argument, as PyTorch reads its own message: ``*`` is one, and ""."""
    found = []
    for argument in option[1:-1].split(", "):
        kind, _, name = argument.rpartition(" ")
        found.append((kind, name))
    return found


def _types(args: Any, kwargs: Any) -> str:
    text = "".join(f"{typename(x)}, " for x in args)
    text += "".join(f"{name}={typename(x)}, " for name, x in reversed(kwargs.items()))
    return f"({text[:-2] if args else text})"


def _unknown_names(option: str, kwargs: Any) -> list[str]:
    arguments = _arguments(option)
    names = [name for _, name in arguments[max(len(arguments) - len(kwargs), 0) :]]
    return [name for name in kwargs if name not in names]


def _described(option: str, args: Any, kwargs: Any) -> str:
    """The types of the arguments, with marks at those that are wrong; "" for a wrong number."""
    arguments = _arguments(option)
    if len(args) + len(kwargs) != len(arguments):
        return ""
    words = []
    for k, (kind, name) in enumerate(arguments):
        x = args[k] if k < len(args) else kwargs[name]
        mark = "" if typename(x) in ((kind,) if kind != "float" else ("float", "int")) else "!"
        said = "" if k < len(args) else f"{name}="
        words.append(f"{mark}{said}{_type_of_items(x)}{mark}")
    text = "".join(f"{w}, " for w in words)
    return f"({text[:-2] if args else text})"


def _type_of_items(x: Any) -> str:
    if not isinstance(x, (tuple, list)):
        return typename(x)
    items = ", ".join(map(typename, x))
    if isinstance(x, list):
        return f"list of [{items}]"
    return f"tuple of ({items}{',' if len(x) == 1 else ''})"
