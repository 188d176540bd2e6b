"""Bad input: a clear error each, with the user's line, and a right answer afterwards."""

import gc
import weakref

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors

X = np.ones(3)


def total(x):
    return np.sum(x * x)


CASES = [
    ("argnums out of range", lambda: fg.grad(total, argnums=1)(X), ValueError,
     "names argument 1, but total was called with 1 positional"),
    ("argnums twice", lambda: fg.grad(total, argnums=(0, 0))(X), ValueError, "twice"),
    ("argnums no integer", lambda: fg.grad(total, argnums="x")(X), TypeError, "must be integers"),
    ("ragged list", lambda: fg.grad(lambda x: fnp.sum([[x, 1.0], [x]]))(1.0), Exception, ""),
    ("object array", lambda: fg.grad(total)(np.array([1.0, None])), TypeError,
     "dtype object"),
    ("shapes that do not broadcast", lambda: fg.grad(lambda x: fnp.sum(x + np.ones(2)))(X),
     ValueError, "broadcast"),
    ("axis out of range", lambda: fg.grad(lambda x: fnp.sum(x, axis=2))(X), ValueError, "axis 2"),
    ("non-scalar output", lambda: fg.grad(lambda x: x)(X), errors.NonScalarOutputError,
     r"float64\[3\], not a real scalar"),
    ("complex output", lambda: fg.grad(lambda x: np.sum(x * 1j))(X), errors.NonScalarOutputError,
     "complex128"),
    ("no array returned", lambda: fg.grad(lambda x: "text")(1.0), errors.NonScalarOutputError,
     "returned 'str'"),
    ("None returned", lambda: fg.grad(lambda x: None)(1.0), errors.NonScalarOutputError,
     "returned 'NoneType'"),
    ("integer input", lambda: fg.grad(total)(np.arange(3)), errors.InputTypeError, "3.0 instead"),
    ("float()", lambda: fg.grad(lambda x: float(x) * 2.0)(3.0), errors.TracerConversionError,
     r"float\(\).*would cut its gradient"),
    ("int()", lambda: fg.grad(lambda x: int(x) * 2.0)(3.0), errors.TracerConversionError, "cut"),
    ("asarray with a dtype", lambda: fg.grad(lambda x: np.sum(np.asarray(x, float)))(X), TypeError,
     "cut|traced|sequence"),
    ("vjp: cotangent of another shape", lambda: fg.vjp(lambda x: x, X)[1](np.ones(2)),
     errors.CotangentError, r"shape \(2,\); it has to be \(3,\)"),
    ("vjp: cotangent of another tree", lambda: fg.vjp(lambda x: x, X)[1]((X,)),
     errors.CotangentError, "has the tree"),
    ("vjp: cotangent of another dtype",
     lambda: fg.vjp(lambda x: x, X)[1](X.astype(np.complex64)), errors.CotangentError,
     "dtype complex64; it has to be float64"),
    ("jvp: tangent of another shape", lambda: fg.jvp(total, (X,), (1.0,)), errors.CotangentError,
     "the tangent"),
    ("jvp: no tuples", lambda: fg.jvp(total, X, X), TypeError, "as tuples"),
    ("vmap: sizes", lambda: fg.vmap(lambda x, y: x)(np.ones(2), X), errors.BatchSizeError,
     r"different sizes \[2, 3\]"),
    ("vmap: nothing mapped", lambda: fg.vmap(total, in_axes=None)(X), errors.BatchSizeError,
     "give axis_size"),
    ("vmap: axis", lambda: fg.vmap(total, in_axes=1)(X), errors.BatchSizeError, "out of range"),
    ("vmap: in_axes", lambda: fg.vmap(total, in_axes=(0, 0))(X), ValueError, "has 2 entries"),
    ("vmap: out_axes", lambda: fg.vmap(lambda x: x, out_axes=None)(X), ValueError, "is mapped"),
    ("vmap: a branch", lambda: fg.vmap(lambda x: x if x > 0 else -x)(X),
     errors.AbstractValueError, "where"),
    ("has_aux", lambda: fg.grad(lambda x: x, has_aux=True)(1.0), TypeError, "a pair"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "kind", "text"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_bad_input(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    # the state afterwards is that before
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0) == 1.0


def test_storing_into_a_plain_array():
    def f(x):
        b = np.zeros(2)
        b[0] = x
        return np.sum(b)

    with pytest.raises((TypeError, ValueError)) as caught:
        fg.grad(f)(3.0)
    messages = [str(e) for e in (caught.value, caught.value.__cause__) if e is not None]
    assert any("would cut its gradient" in m and "test_errors.py" in m for m in messages)


def test_messages_name_the_users_line():
    with pytest.raises(errors.TracerConversionError) as caught:
        fg.grad(lambda x: float(x))(1.0)
    line = test_messages_name_the_users_line.__code__.co_firstlineno + 2
    assert f'test_errors.py", line {line}' in str(caught.value)


def test_a_ufunc_without_a_rule():
    with pytest.raises(errors.FuncgradError, match=r"spacing|frexp"):
        fg.grad(lambda x: np.spacing(x) * 1.0)(1.0)


def test_after_an_exception_nothing_stays_alive():
    big = np.ones(10)
    held = weakref.ref(big)

    def f(x):
        raise KeyError("stop")

    for transform in (fg.grad(f), fg.jit(f), fg.vmap(f), lambda x: fg.jvp(f, (x,), (x,))):
        with pytest.raises(KeyError):
            transform(big)
    del big
    gc.collect()
    assert held() is None
    from funcgrad.core.tracer import running

    assert running.count == 0


def test_repr_and_format_of_traced_values():
    seen = []

    def f(x):
        seen.append((repr(x), f"{x:.2f}"))
        return x

    fg.grad(f)(1.5)
    assert seen == [("Traced(float64*[], value=1.5)", "1.50")]
