"""Bad input: a clear error each, with the user's line, and a right answer afterwards."""

import pathlib
import pickle
import re

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors
from funcgrad.graph.check import check
from funcgrad.graph.ir import Graph
from funcgrad.scipy.sparse.linalg import gmres

X = np.ones(3)


def total(x):
    return np.sum(x * x)


CASES = [
    ("argnums out of range", lambda: fg.grad(total, argnums=1)(X), ValueError,
     "names argument 1, but total was called with 1 positional"),
    ("argnums twice", lambda: fg.grad(total, argnums=(0, 0))(X), ValueError, "twice"),
    ("argnums no integer", lambda: fg.grad(total, argnums="x")(X), TypeError, "must be integers"),
    ("argnums of keywords", lambda: fg.grad(total, argnums=0)(x=X), ValueError, "by position"),
    ("trees that do not match", lambda: fg.tree.map(max, {"a": 1}, {"b": 1}), errors.TreeError,
     r"the trees do not match: at the root the first has \{'a': \*\}, another one \{'b': \*\}"),
    ("trees of in_axes", lambda: fg.vmap(total, in_axes=({"a": 0},))([X]), errors.TreeError,
     r"do not match: at the root the prefix has \{'a': \*\}, the tree \[\*\]"),
    ("trees of out_axes", lambda: fg.vmap(total, out_axes=(0, 0))(np.ones((2, 3))),
     errors.TreeError, "do not match"),
    ("tree of another size", lambda: fg.tree.unflatten(fg.tree.structure([1, 2]), [1.0]),
     errors.TreeError, r"1 leaves were given for the tree \[\*, \*\] of 2"),
    ("ragged list", lambda: fg.grad(lambda x: fnp.sum([[x, 1.0], [x]]))(1.0), errors.OperandError,
     "a ragged list is no array"),
    ("ragged list of numbers", lambda: fg.grad(lambda x: x * fnp.sum([[1.0], [1.0, 2.0]]))(1.0),
     ValueError, "inhomogeneous"),
    ("ragged list as an operand", lambda: fg.grad(lambda x: fnp.sum(x + [[1.0], [1.0, x]]))(1.0),
     (errors.OperandError, ValueError), "ragged|inhomogeneous"),
    ("object array in an operation",
     lambda: fg.grad(lambda x: np.sum(x * np.array([1.0, None, 2.0])))(X), errors.OperandError,
     r"dtype object and shape \(3,\) holds things that are no numbers"),
    ("text as an operand", lambda: fg.grad(lambda x: fnp.add(x, "a"))(1.0), errors.OperandError,
     "an operand of type 'str' is neither an array nor a number"),
    ("object array", lambda: fg.grad(total)(np.array([1.0, None])), TypeError,
     "dtype object"),
    ("shapes that do not broadcast", lambda: fg.grad(lambda x: fnp.sum(x + np.ones(2)))(X),
     ValueError, "broadcast"),
    ("shapes that do not broadcast, jit", lambda: fg.jit(lambda x: x + np.ones(2))(X), ValueError,
     r"shape \(3,\) and arg 1 with shape \(2,\)"),
    ("shapes of a product", lambda: fg.grad(lambda x: fnp.sum(np.ones((2, 2)) @ x))(X), ValueError,
     "size 3 is different from 2"),
    ("axis out of range", lambda: fg.grad(lambda x: fnp.sum(x, axis=2))(X), ValueError,
     "axis 2 is out of bounds for array of dimension 1"),
    ("axis out of range, jit", lambda: fg.jit(lambda x: fnp.sum(x, axis=-2))(X), IndexError,
     "axis -2 is out of bounds"),
    ("index out of range", lambda: fg.grad(lambda x: x[3])(X), IndexError, "index 3 is out of"),
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
     r"asarray.* would cut its gradient"),
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


# ------------------------------------------------------------------------ every class


def leak():
    seen = []
    fg.grad(lambda x: (seen.append(x), x)[1])(1.0)
    return seen[0] + 1.0


def capture_what_is_out_of_sight():
    fg.config.captures = "error"
    try:
        return fg.jit(lambda x: x * eval("2.0"))(1.0)
    finally:
        fg.config.captures = "warn"


def use_a_key_twice():
    fg.config.check_keys = True
    try:
        key = fg.random.key(0)
        return fg.random.normal(key) + fg.random.uniform(key)
    finally:
        fg.config.check_keys = False


def store_later(w):
    memory = fnp.zeros(1)

    def inner(y):
        memory[0] = y * w
        return memory[0]

    return fg.grad(inner)(2.0)


def change_a_capture():
    large = np.ones(600_000)
    _, pull = fg.vjp(lambda a: np.sum(a * a), large)
    large += 1.0
    return pull(1.0)


def unsound_graph():
    graph = fg.make_graph(lambda x: np.sin(x) * 2.0)(1.0)
    check(Graph(graph.inputs, graph.equations[::-1], graph.outputs))


EVERY = {
    "AbstractValueError": (lambda: fg.jit(lambda x: x if x > 0 else -x)(1.0), TypeError,
        "is not known while it is traced by jit or vmap; use funcgrad.numpy.where"),
    "AxisNameError": (lambda: fg.vmap(lambda x: x / fg.lax.psum(x, "batch"))(X), NameError,
        "no axis is named 'batch' here: vmap(f, axis_name='batch') gives an axis its name"),
    "CallbackError": (lambda: fg.pure_callback(lambda x: x[0], fg.ShapeDtypeStruct((2,), float), X),
        RuntimeError, "<lambda> returned dtype float64 and shape (); result_shape_dtypes say"),
    "EffectError": (lambda: fg.grad(fg.checkpoint(lambda x: x * fg.io_callback(lambda: 1.0,
        fg.ShapeDtypeStruct((), float))))(1.0), RuntimeError,
        "would have to be computed again for a derivative, by checkpoint or a while_loop"),
    "BatchSizeError": (lambda: fg.vmap(np.add)(np.ones(2), np.ones(3)), ValueError,
        "vmap of add: the mapped axes have different sizes [2, 3]"),
    "CaptureError": (capture_what_is_out_of_sight, RuntimeError, "calls eval(); if that changes"),
    "ConvergenceError": (lambda: fg.grad(lambda b: gmres(np.triu(np.ones((3, 3))), b, rtol=0.0,
        atol=0.0, maxiter=1, restart=1)[0][0])(X), RuntimeError,
        "needs one with the transpose of the matrix, which has not converged (info=1); give a"),
    "LoopLimitError": (lambda: fg.while_loop(lambda x: x > 0, np.sqrt, 2.0, max_steps=3),
        RuntimeError, "while_loop has run 3 steps, its max_steps, and"),
    "LoopTypeError": (lambda: fg.scan(lambda c, _: (c[None], None), X, length=2),
        (TypeError, ValueError), "the carry has type float64[3], and"),
    "CotangentError": (lambda: fg.vjp(np.sin, X)[1](1.0), (TypeError, ValueError),
        "the cotangent has shape (); it has to be (3,)"),
    "CustomRuleError": (lambda: fg.custom_vjp(total)(X), (TypeError, ValueError),
        "total has no rule yet; call defvjp(fwd, bwd) first"),
    "GraphError": (unsound_graph, RuntimeError, "is used in multiply before it is defined"),
    "InputTypeError": (lambda: fg.grad(total)(3), TypeError,
        "argument 0 of total has dtype int64, which has no derivative; pass a floating point"),
    "KeyReuseError": (use_a_key_twice, RuntimeError,
        "a key of funcgrad.random is used twice, so both draws have the same numbers; split"),
    "LaterTransformError": (lambda: fg.grad(store_later)(1.0), RuntimeError,
        "is written into an array that is older than that transform"),
    "LeakedTracerError": (leak, RuntimeError, "is used after that transform has ended; return it"),
    "MutatedCaptureError": (change_a_capture, RuntimeError,
        "an array of shape (600000,) and dtype float64 was changed in place after"),
    "NativeCodeError": (lambda: fg.jit(lambda x: np.nextafter(x, x)).njit(np.eye(2)), TypeError,
        "<lambda>: nextafter of float64[3,3], float64[3,3] has no native form; in the host"),
    "NonScalarOutputError": (lambda: fg.grad(np.sin)(X), TypeError,
        "grad: sin returned a value of type float64[3], not a real scalar; sum it, or use"),
    "NotDifferentiableError": (lambda: fg.grad(np.isnat)(1.0), TypeError,
        "funcgrad has no rule for np.isnat; write it with functions that have one, state a rule"),
    "OperandError": (lambda: fg.grad(lambda x: fnp.sum([[x], [x, x]]))(1.0), TypeError,
        "a ragged list is no array"),
    "RandomnessError": (lambda: fg.vmap(lambda x: x * np.random.rand())(X), RuntimeError,
        "random numbers were drawn, which all examples would share; say randomness="),
    "TracerConversionError": (lambda: fg.grad(float)(1.0), TypeError,
        "would cut its gradient; leave it out, or say funcgrad.value(t)"),
    "TreeError": (lambda: fg.grad(total)({"a": ["text"]}), (TypeError, ValueError),
        "argument 0 of total['a'][0] is 'str', which is neither an array nor a number; close over"),
    "UnhashableTracerError": (lambda: fg.grad(lambda x: {x: x}[x])(1.0), TypeError,
        "a traced value has no hash, so it can be no key of a dictionary, no member of a set and"),
    "UnsupportedCallError": (
        lambda: fg.grad(lambda x: np.packbits(x)[0])(X), TypeError,
        "numpy.packbits is not supported on traced values"),
}  # fmt: skip
# Raised by the compiler for what it generates itself; tests/compile has it.
OF_THE_COMPILER = {"CompilerError"}


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_class_is_raised_with_its_text(name):
    call, standard, text = EVERY[name]
    cls = getattr(errors, name)
    with pytest.raises(cls, match=re.escape(text)) as caught:
        call()
    assert issubclass(cls, errors.FuncgradError)
    assert issubclass(cls, standard)
    if name != "GraphError":  # a defect of ours, at no line of the user
        assert f'at File "{__file__}", line' in str(caught.value)
    assert str(caught.value).endswith(f"\n  see docs/errors.md#{name.lower()}")


def test_no_class_is_forgotten():
    others = {"FuncgradError", "CaptureWarning", "ObjectArrayWarning"}
    assert set(EVERY) | OF_THE_COMPILER | others == set(errors.__all__)


def test_the_manual_has_a_section_for_every_class():
    manual = pathlib.Path(__file__).parent.parent / "docs" / "errors.md"
    sections = re.findall(r"^## (\w+(?:Error|Warning))$", manual.read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(set(errors.__all__) - {"FuncgradError"})


@pytest.mark.parametrize("name", errors.__all__)
def test_a_text_ends_with_the_section_of_the_manual(name):
    """Once, also of a class that a program derives, and of an error that is told by another."""
    cls = getattr(errors, name)
    page = pathlib.Path(__file__).parent.parent / errors.PAGE
    anchors = [line[3:].lower() for line in page.read_text().splitlines() if line[:3] == "## "]
    last = str(cls("what happened")).splitlines()[-1].removeprefix(f"  see {errors.PAGE}")
    assert last == ("" if name == "FuncgradError" else f"#{name.lower()}")
    assert last == "" or last[1:] in anchors
    derived = type("Mine", (cls,), {"__module__": __name__})
    for error in (derived("what"), cls(str(cls("what"))), pickle.loads(pickle.dumps(cls("what")))):
        assert str(error) == str(cls("what"))
    assert cls("what").args == ("what",)


# ------------------------------------------------------------------------ where and after


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


@pytest.mark.parametrize(
    "use", [lambda t: t + 1.0, lambda t: t * t, lambda t: -t, np.sin, fnp.exp, lambda t: np.sum(t)]
)
def test_recorders_that_we_have_written_are_not_the_users_line(use):
    kept = []
    fg.grad(lambda x: (kept.append(x * 2.0), np.sum(x))[1])(np.ones(2))
    with pytest.raises(errors.LeakedTracerError) as caught:
        use(kept[0])
    assert "test_errors.py" in str(caught.value).splitlines()[-2]


def test_a_ufunc_without_a_rule():
    with pytest.raises(errors.FuncgradError, match="isnat"):
        fg.grad(lambda x: np.isnat(x) * 1.0)(1.0)


def test_repr_and_format_of_traced_values():
    seen = []

    def f(x):
        seen.append((repr(x), f"{x:.2f}"))
        return x

    fg.grad(f)(1.5)
    assert seen == [("Traced(float64*[], value=1.5)", "1.50")]


def test_lines_of_equal_code_are_those_of_each_file_and_names():
    """What is remembered of a line belongs to one piece of code, and to no name around it."""
    text = "def f(x):\n    y = x + 1.0\n    return y * x\n"
    found, places = [], [("one.py", 0), ("two.py", 0), ("one.py", 7)]
    for name, blank in places:
        space = {}
        exec(compile("\n" * blank + text, name, "exec"), space)
        for _ in range(2):
            graph = fg.make_graph(space["f"])(2.0)
            found.append([(e.source.file, e.source.line) for e in graph.equations])
    want = [
        [(name, 2 + k), (name, 3 + k)] for name, k in [("one.py", 0), ("two.py", 0), ("one.py", 7)]
    ]
    assert found == [line for line in want for _ in range(2)]
    named = fg.make_graph(fg.named_call(space["f"], name="outer"))(2.0)
    assert [e.source.function for e in named.equations] == ["outer/f"] * 2
    assert [e.source.function for e in fg.make_graph(space["f"])(2.0).equations] == ["f"] * 2


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("way", [fg.grad, fg.jit])
def test_a_range_of_a_traced_count_says_what_to_write(way):
    count = 3.0 if way is fg.grad else 3
    with pytest.raises(TypeError, match=r"start \+ step \* np\.arange\(count\)"):
        way(lambda n: np.sum(np.arange(n) * 1.0))(count)
