"""What is said of programs in which NumPy makes Python objects of traced values.

``np.array([t, 1.0])`` has no protocol by which it could stay traced: NumPy fills an array of
objects, with which it computes one by one. It is warned of at its line; where a function refuses
such an array, NumPy's own words are put in the place of which ours say what to write instead. So
are those of compiled code that takes no traced values.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from funcgrad.errors import (
    AbstractValueError,
    FuncgradError,
    ObjectArrayWarning,
    UnsupportedCallError,
    failed_in_scipy,
    ours_for,
    program_line,
    user_line,
    warn_at_line,
)

if TYPE_CHECKING:
    from funcgrad.core.tracer import Trace

__all__ = ["about_objects", "explain", "note_objects"]

_MADE_OBJECTS = "numpy has made Python objects"

# What Python and Cython say where memory is asked of a traced value
_REFUSED = re.compile(
    r"bytes-like object.*'(View|Cell|Box|\w*Tracer)'|got (View|Cell|Box|\w*Tracer)\)"
    r"|argument \d+ must be numpy.ndarray, not (?P<array>View|Cell|Box|\w*Tracer)"
    r"|^(?P<fused>No matching signature found)$"  # a function of Cython for several dtypes
)
# What NumPy says of ufuncs, casts and linear algebra of object arrays
_OF_OBJECTS = re.compile(r"ufunc|dtype\('O'\)|\bobject\b.*(type|has no attribute)")


def explain(trace: Trace, error: BaseException) -> None:
    """Raise an error of ours in place of one that NumPy raises of an array of tracers."""
    behind: BaseException | None = error
    if type(error) is ValueError and isinstance(error.__cause__, SystemError):
        behind = error.__cause__  # which SciPy, too, takes for something else
    while isinstance(behind, SystemError):  # NumPy or compiled code has gone on after an error
        behind = behind.__cause__ or behind.__context__
    if type(behind) is ValueError and str(behind).startswith("setting an array element"):
        behind = behind.__cause__  # what NumPy says of an error of ours
    theirs = None
    if trace.objects is not None and not isinstance(error, FuncgradError):
        theirs = failed_in_scipy(error)
    if behind is not error and isinstance(behind, FuncgradError) and not theirs:
        raise behind.with_traceback(error.__traceback__) from None
    if isinstance(error, TypeError) and "Multiple namespaces for array inputs" in str(error):
        raise UnsupportedCallError(
            "a function for any array library was given traced values beside NumPy's arrays; "
            "give it the others as arrays of the transform, funcgrad.numpy.array(x), or write "
            "it with functions of funcgrad.numpy and funcgrad.scipy if it mixes them itself"
        ) from error
    if not trace.has_numbers and type(error) is TypeError and "'Traced(" in str(error):
        raise AbstractValueError(
            f"{error}: Python needs a number here, and none is known while the function is "
            "traced by jit or vmap; make the argument static with static_argnums, or take it "
            f"from a shape (x.shape, len(x))\n  at {program_line(error)}"
        ).with_traceback(error.__traceback__) from None
    refused = isinstance(error, TypeError) and _REFUSED.search(str(error))
    named = refused and (refused["array"] or refused["fused"])
    compiled = refused and (failed_in_scipy(error) or (named and "what was called"))
    if compiled:
        raise UnsupportedCallError(
            f"{compiled} is compiled code, which takes no traced values ({error}), and there "
            "is no definition of it in funcgrad.scipy; write it with functions of NumPy, or "
            "state its derivative with funcgrad.custom_vjp around funcgrad.pure_callback\n"
            f"  at {program_line(error)}"
        ).with_traceback(error.__traceback__) from error
    if trace.objects is None:
        return
    if isinstance(error, FuncgradError):
        _add_note(trace, error)
        return
    if theirs:
        ours = ours_for(theirs)
        take = f"take {ours}" if ours else "there is no definition of it in funcgrad.scipy"
        raise UnsupportedCallError(
            f"{theirs} cannot compute with an array of objects ({error}), and {take}; "
            f"{about_objects(trace)}"
        ).with_traceback(error.__traceback__) from error
    if isinstance(error, (TypeError, AttributeError)) and _OF_OBJECTS.search(str(error)):
        raise UnsupportedCallError(
            f"NumPy cannot compute with an array of objects ({error}); {about_objects(trace)}"
        ).with_traceback(error.__traceback__) from error
    _add_note(trace, error)


def _add_note(trace: Trace, error: BaseException) -> None:
    """Tell of the objects in a note, unless the error has told of them."""
    told = (str(error), *getattr(error, "__notes__", ()))
    if not any(_MADE_OBJECTS in text for text in told):
        error.add_note(about_objects(trace))


def about_objects(trace: Trace) -> str:
    """What to do where NumPy has made Python objects of tracers of this trace."""
    if trace.objects is None:
        return ""
    return (
        f"{_MADE_OBJECTS} of traced values; make the array with funcgrad.numpy.array (import "
        "funcgrad.numpy as np), or join with np.stack or np.concatenate, which keep them "
        f"traced\n  at {trace.objects}"
    )


def note_objects(trace: Trace) -> None:
    """NumPy makes Python objects of tracers of this trace: the line is kept, and warned of."""
    line = user_line()
    if line == trace.objects:  # an array of many tracers asks each of them
        return
    trace.objects = line
    warn_at_line(
        "numpy has made an array of Python objects of traced values, with which it computes "
        "one by one, and which many functions refuse; import funcgrad.numpy as np in this "
        "file, or make the array with funcgrad.numpy.array, np.stack or np.concatenate",
        ObjectArrayWarning,
    )
