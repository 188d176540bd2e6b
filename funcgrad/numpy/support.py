"""What funcgrad makes of a function: `supports` answers from the records that compute it."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.forms.elementwise import Elementwise
from funcgrad.core.primitive import Primitive
from funcgrad.numpy.function_calls import FUNCTIONS, Record
from funcgrad.numpy.methods import METHODS as ARRAY_METHODS
from funcgrad.numpy.ufuncs import COMPOSED, LIBRARIES, METHODS, Ufunc, rule_of

__all__ = ["Support", "supports"]

TRANSFORMS = ("reverse", "forward", "jit", "vmap")

DIFFERENTIABLE, CONSTANT = "differentiable", "locally constant"
NONE, UNKNOWN = "no derivative", "unknown"


class Support(NamedTuple):
    """What funcgrad makes of a function; true where traced values may meet it.

    Its kind is "differentiable", "locally constant" (results have the derivative 0), "no
    derivative" (traced values are a named error), or "unknown" (a program that nothing is stated
    of). Its transforms are those of "reverse", "forward", "jit" and "vmap" in which traced values
    may meet the function, and its reason says why it has no derivative, or is not in every one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> str(fg.supports(np.floor))
    'locally constant in reverse, forward, jit, vmap'
    """

    kind: str
    transforms: tuple[str, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        return self.kind in (DIFFERENTIABLE, CONSTANT)

    def __str__(self) -> str:
        """One sentence."""
        where = f" in {', '.join(self.transforms)}" if self.transforms else ""
        return self.kind + where + (f": {self.reason}" if self.reason else "")


def _of_record(record: Record) -> Support:
    kind = CONSTANT if record.constant else DIFFERENTIABLE
    lacking = tuple(t for t in TRANSFORMS if t not in record.lacks)
    reason = "what it returns depends on values, which have to be known" if record.lacks else ""
    return Support(kind, lacking, reason)


def _of_primitive(made: Any) -> Support:
    flat = isinstance(made, Primitive) and not made.differentiable
    if isinstance(made, Elementwise):
        flat = flat or all(not callable(d) and d == 0 for d in made.partials)
    return Support(CONSTANT if flat else DIFFERENTIABLE, TRANSFORMS)


# Functions of NumPy without a definition of ours, and why they need none.
_OWN: dict[str, str] = {
    "it makes an array of constants": (
        "bartlett blackman hamming hanning kaiser frombuffer fromfile fromiter fromregex "
        "fromstring genfromtxt load loadtxt diag_indices tril_indices triu_indices mask_indices "
        "fftfreq rfftfreq broadcast_shapes from_dlpack"
    ),
    "it writes files or text": (
        "save savetxt savez savez_compressed base_repr binary_repr format_float_positional "
        "format_float_scientific info typename"
    ),
    "it is about dates": (
        "busday_count busday_offset is_busday datetime_as_string datetime_data isnat"
    ),
    "it is about types": "isdtype issubdtype promote_types mintypecode isfortran isscalar iterable",
    "it is a setting": (
        "get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions "
        "setbufsize seterr seterrcall show show_config show_runtime test"
    ),
    "it works on the bits of integers": "packbits unpackbits",
    "it reads memory, which a traced value has none of": "as_strided nested_iters",
    "it makes a matrix, a class that has no traced values": "asmatrix bmat",
    "it makes a ufunc, which has no rule": "frompyfunc",
    "NumPy 2.4 has it no more; take isin": "in1d",
}
_REASONS = {name: reason for reason, names in _OWN.items() for name in names.split()}
# They hand on what they are given, as the object arrays that stand for traced values too.
_TRANSPARENT = frozenset(["fromfunction", "require", "trapz"])
_TAKES_NUMBERS = frozenset(["item", "tolist", "tobytes", "tofile", "dump", "dumps"])


def supports(function: Any) -> Support:
    """What traced values may be expected of a function of NumPy or SciPy, or one of ours.

    Parameters
    ----------
    function : callable
        A function, a ufunc, a method of one (``np.add.reduce``) or of an array
        (``np.ndarray.sum``), of NumPy, SciPy or a namespace of funcgrad.

    Returns
    -------
    Support
        True where traced values may meet it; its text says in which transforms, or why not. What
        is a program of yours is "unknown": what it calls counts.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> print(fg.supports(np.interp))
    differentiable in reverse, forward, jit, vmap
    >>> fg.supports(np.argsort).kind
    'locally constant'
    >>> print(fg.supports(np.union1d).transforms)
    ('reverse', 'forward', 'jit', 'vmap')
    >>> print(fg.supports(np.save))
    no derivative: it writes files or text
    """
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", None) or _name_in(module, function)
    found = _stated(function)
    if found is not None:
        refused = module.startswith("scipy.") and _of_scipy(module, name, "reasons", "REFUSED")
        return Support(NONE, (), refused) if refused else found
    ours = FUNCTIONS.values()
    if any(function is f for f in ours):
        return _of_record(function.record)
    known = _of_scipy(module, name, "programs", "KNOWN")
    if known:
        return _of_record(known)
    working = _of_scipy(module, name, "as_they_are", "AS_THEY_ARE")
    if working:
        return _as_it_is(working)
    stated = _of_scipy(module, name, "reasons", "REASONS")
    if stated or module.split(".")[0] == "scipy":
        return Support(NONE, (), stated or "SciPy's code is not traced")
    if module.split(".")[0] != "numpy" and not isinstance(function, np.ufunc):
        return Support(UNKNOWN, (), "it is a program: what it calls counts")
    if name in _TRANSPARENT:
        return Support(DIFFERENTIABLE, TRANSFORMS)
    return Support(NONE, (), _REASONS.get(name, "there is no rule for it"))


def _as_it_is(full: str) -> Support:
    """Of a function of SciPy's whose own code computes with traced values."""
    table = importlib.import_module("funcgrad.scipy.as_they_are")
    kind = CONSTANT if full in table.CONSTANT else DIFFERENTIABLE
    return Support(kind, TRANSFORMS[:2] if full in table.BY_VALUES else TRANSFORMS)


def _name_in(module: str, function: Any) -> str:
    """What its module calls an object without a name: special functions of SciPy 1.15 are such."""
    things = vars(sys.modules[module]) if module in sys.modules else {}
    return next((name for name, thing in things.items() if thing is function), "test")  # NumPy's


def _of_scipy(module: str, name: str, source: str, table: str) -> Any:
    """What a table says of a function of SciPy, which may stand in a module below a public one."""
    stated = getattr(importlib.import_module(f"funcgrad.scipy.{source}"), table)
    parts = module.split(".") if module else ["scipy", "special"]  # ufuncs have no module
    places = (".".join(parts[:k]) for k in range(len(parts), 1, -1))
    return next((stated[f"{p}.{name}"] for p in places if f"{p}.{name}" in stated), "")


def _stated(function: Any) -> Support | None:
    """What the records say."""
    if isinstance(function, Primitive):
        return _of_primitive(function)
    if isinstance(function, Ufunc):
        function = function.ufunc
    if isinstance(function, np.ufunc):
        rule = rule_of(function)
        if rule is None:
            return None
        return _of_primitive(getattr(rule, "primitive", None) or COMPOSED.get(function))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (np.ufunc, Ufunc)):
        return _of_method(owner, function.__name__)
    if any(c.__name__ in ("rv_generic", "rv_frozen") for c in type(owner).__mro__):
        return _of_distribution(owner, function.__name__)
    if getattr(function, "__objclass__", None) is np.ndarray:
        return _of_array_method(function.__name__)
    _load(getattr(function, "__module__", None) or "")
    try:
        found = FUNCTIONS.get(function)
    except TypeError:  # no hash
        return None
    if found is None:
        return None
    return _of_record(getattr(found, "record", Record()))


def _of_distribution(owner: Any, name: str) -> Support:
    """A method of a distribution of SciPy's, which may be frozen."""
    table = importlib.import_module("funcgrad.scipy.stats.distributions")
    found = table.record_of(owner, name)
    if found is not None:
        return _of_primitive(found)
    if name in ("interval", "support", "expect"):  # SciPy's own programs over the others
        return Support(DIFFERENTIABLE, TRANSFORMS[:2])
    return Support(NONE, (), "there is no formula of it for this distribution")


def _load(module: str) -> None:
    """Import our definitions for a module of a library."""
    for theirs, ours in LIBRARIES.items():
        if module == theirs or module.startswith(f"{theirs}."):
            importlib.import_module(ours)


def _of_method(owner: Any, name: str) -> Support | None:
    ufunc = owner.ufunc if isinstance(owner, Ufunc) else owner
    whole = _stated(ufunc)
    if name in ("reduce", "accumulate") and (ufunc, name) in METHODS:
        return _of_record(METHODS[ufunc, name].record)  # type: ignore[attr-defined]
    binary = ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None
    if whole is None or (not binary and name not in ("at", "__call__")):
        return Support(NONE, (), f"NumPy has no {name} of it, or there is no rule for it")
    return whole


def _of_array_method(name: str) -> Support:
    if name in _TAKES_NUMBERS:
        return Support(NONE, (), "it would make numbers of traced values and cut the gradient")
    found = ARRAY_METHODS.get(name)
    if found is None or name == "resize":
        return Support(NONE, (), "there is no rule for it")
    if not hasattr(found, "record") and hasattr(np, name):
        return supports(getattr(np, name))
    return _of_record(getattr(found, "record", Record()))
