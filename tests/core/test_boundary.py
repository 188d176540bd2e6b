"""Tracebacks of errors that leave a transform: lines of the program only."""

import importlib
import inspect
import pathlib
import pickle
import subprocess
import sys
import traceback

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core.boundary import _needs_boundary
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand


@pytest.fixture(autouse=True)
def shown(request):
    before, fg.config.traceback = fg.config.traceback, "program"
    yield
    fg.config.traceback = before


def wrong(x):
    return np.sum(x @ np.ones((2, 2)))


X = np.ones(3)
PACKAGE = str(pathlib.Path(fg.__file__).parent)
WAYS = {
    "grad": lambda: fg.grad(wrong)(X),
    "value_and_grad": lambda: fg.value_and_grad(wrong)(X),
    "vjp": lambda: fg.vjp(wrong, X),
    "a pullback": lambda: fg.vjp(np.sin, X)[1](np.ones(2)),
    "jvp": lambda: fg.jvp(wrong, (X,), (X,)),
    "hvp": lambda: fg.hvp(wrong, (X,), (X,)),
    "linearize": lambda: fg.linearize(wrong, X),
    "jacobian": lambda: fg.jacobian(wrong)(X),
    "jacfwd": lambda: fg.jacfwd(wrong)(X),
    "hessian": lambda: fg.hessian(wrong)(X),
    "vmap": lambda: fg.vmap(wrong)(np.ones((2, 3))),
    "jit": lambda: fg.jit(wrong)(X),
    "jit of grad": lambda: fg.jit(fg.grad(wrong))(X),
    "vmap of grad of jit": lambda: fg.vmap(fg.grad(fg.jit(wrong)))(np.ones((2, 3))),
    "checkpoint": lambda: fg.grad(fg.checkpoint(wrong))(X),
    "scan": lambda: fg.scan(lambda c, x: (wrong(X), None), 0.0, X),
    "cond": lambda: fg.jit(lambda x: fg.cond(x[0] > 0, wrong, np.sum, x))(X),
    "while_loop": lambda: fg.while_loop(lambda x: True, wrong, X),
    "eval_shape": lambda: fg.eval_shape(wrong, X),
    "make_graph": lambda: fg.make_graph(wrong)(X),
}


def files(error):
    return [entry.filename for entry in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("way", WAYS)
def test_frames_of_ours_are_hidden(way):
    with pytest.raises(Exception) as info:
        WAYS[way]()
    assert set(files(info.value)) == {__file__}
    lines = traceback.extract_tb(info.value.__traceback__)
    assert lines[-1].name in ("wrong", "<lambda>")


@pytest.mark.parametrize("way", WAYS)
def test_they_are_shown_on_request(way):
    fg.config.traceback = "full"
    with pytest.raises(Exception) as info:
        WAYS[way]()
    assert any(name.startswith(PACKAGE) for name in files(info.value))
    assert not any("not shown" in note for note in getattr(info.value, "__notes__", []))


def test_a_note_tells_of_frames_that_would_help():
    with pytest.raises(ZeroDivisionError) as info:
        fg.grad(lambda x: x / 0)(1.0)
    (note,) = info.value.__notes__
    assert 'funcgrad.config.traceback = "full"' in note
    with pytest.raises(KeyError) as info:  # of the program alone
        fg.grad(lambda x: {}[x > 0])(1.0)
    assert not getattr(info.value, "__notes__", [])


def test_causes_are_shortened_too():
    def f(x):
        try:
            wrong(x)
        except ValueError as error:
            raise RuntimeError("mine") from error

    with pytest.raises(RuntimeError, match="mine") as info:
        fg.grad(f)(X)
    assert set(files(info.value.__cause__)) == {__file__}


def test_what_python_prints():
    text = "import funcgrad as fg, math\nf = lambda x: math.sin(x)\nfg.grad(f)(1.0)\n"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True, text=True, env={"FUNCGRAD_BUILD_KERNELS": "off"},
    )  # fmt: skip
    lines = run.stderr.splitlines()
    assert [line for line in lines if line.startswith("  File")] == [
        '  File "<string>", line 3, in <module>',
        '  File "<string>", line 2, in <lambda>',
    ]
    assert any("call np.sin" in line for line in lines)


class Odd:
    """What no function takes."""


KEY = fg.random.key(0)
TWO = fg.optim.chain(fg.optim.clip(1.0), fg.optim.adam(0.1))


@fg.custom_vjp
def ruled(x):
    return wrong(x)


ruled.defvjp(lambda x: (x, x), lambda x, g: (g,))

# a call outside of all transforms -> how it fails
OUTSIDE = {
    "random": lambda: fg.random.normal(Odd()),
    "a key": lambda: KEY[1],
    "lax": lambda: fg.lax.dynamic_slice(X, (0,), (7,)),
    "lax.linalg": lambda: fg.lax.linalg.cholesky(X),
    "an operation by name": lambda: fg.lax.add(X, np.ones(2)),
    "nn": lambda: fg.nn.softmax(X, axis=3),
    "an initialiser": lambda: fg.nn.initializers.glorot_uniform()(KEY, (3,)),
    "optim": lambda: fg.optim.lbfgs(memory_size=0),
    "an optimiser": lambda: TWO.update(np.ones((2, 5)), TWO.init(X), X),
    "a schedule": lambda: fg.optim.cosine_decay_schedule(0.1, 10)(Odd()),
    "tree": lambda: fg.tree.map(wrong, (X,)),
    "tree_util": lambda: fg.tree_util.tree_unflatten(fg.tree.structure((1, 2)), [1]),
    "a function that unravels": lambda: fg.flatten_util.ravel_pytree((1.0, 2.0))[1](np.ones(5)),
    "a ufunc": lambda: fg.numpy.add(X, np.ones(2)),
    "a method of a ufunc": lambda: fg.numpy.add.reduce(X, axis=4),
    "numpy": lambda: fg.numpy.concatenate([X, X], axis=1),
    "a writing function": lambda: fg.numpy.put(Odd(), 0, 1),
    "scipy.special": lambda: importlib.import_module("funcgrad.scipy.special").erf(Odd()),
    "image": lambda: fg.image.resize(X, (2, 2), "cubic"),
    "at": lambda: fg.at(X)[7].set(1.0),
    "a struct": lambda: fg.ShapeDtypeStruct(Odd(), float),
    "stop_gradient": lambda: fg.stop_gradient(),
    "a custom rule": lambda: ruled(X),
    "its definition": lambda: ruled.defvjp(),
    "a named call": lambda: fg.named_call(wrong)(X),
    "jit(f).lower": lambda: fg.jit(wrong).lower(X),
    "jit(f).show": lambda: fg.jit(wrong).show(X),
    "a compiled function": lambda: fg.jit(np.sin).lower(X).compile()(X, X),
    "the structure of a tree": lambda: fg.tree.structure((1, 2)).unflatten([1]),
    "a tree of another structure": lambda: fg.tree.structure((1, 2)).flatten_up_to(3),
    "a partial application": lambda: fg.tree.Partial(3),
    "all keys of one": lambda: iter(KEY),
    "a scope": lambda: fg.named_scope(3),
    "a graph in a pickle": lambda: pickle.dumps(fg.make_graph(np.sin)(1.0)),
    "a sparse array": lambda: fg.scipy.sparse.csr_array(Odd()),
    "a polynomial": lambda: fg.numpy.polynomial.Polynomial([1.0]).trim(-1.0),
    "a spline": lambda: fg.scipy.interpolate.CubicSpline(X, X[:2]),
}


@pytest.mark.parametrize("way", OUTSIDE)
def test_frames_of_ours_are_hidden_outside_of_transforms(way):
    with pytest.raises(Exception) as info:
        OUTSIDE[way]()
    assert not ours_in(info.value)
    assert files(info.value)[0] == __file__


SPACES = ["", ".lax", ".lax.linalg", ".nn", ".nn.initializers", ".random", ".optim", ".tree",
          ".tree_util", ".numpy", ".numpy.linalg", ".numpy.fft", ".image", ".flatten_util",
          ".debug", ".testing", ".scipy.linalg", ".scipy.special", ".scipy.stats",
          ".scipy.signal", ".scipy.sparse", ".scipy.sparse.linalg", ".scipy.interpolate",
          ".scipy.fft", ".scipy.integrate", ".scipy.ndimage", ".scipy.optimize"]  # fmt: skip


def ours_in(error):
    return [name for name in files(error) if name.startswith(PACKAGE)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("space", SPACES)
def test_no_function_of_a_namespace_shows_them(space):
    """Whatever it is called with."""
    module = importlib.import_module(f"funcgrad{space}")
    seen = set()
    for name in module.__all__:
        function = getattr(module, name)
        if not callable(function) or isinstance(function, type):
            continue
        for count in range(4):
            try:
                function(*[Odd()] * count)
            except Exception as error:
                if ours_in(error):
                    seen.add(name)
    assert not seen


@pytest.mark.parametrize("space", SPACES)
def test_no_class_of_a_namespace_shows_them(space):
    """Their methods, and the properties that compute, have a boundary as functions have."""
    module = importlib.import_module(f"funcgrad{space}")
    bare = set()
    for name in module.__all__:
        made = getattr(module, name)
        if not isinstance(made, type) or issubclass(made, (Operand, Primitive)):
            continue
        ours = [base for base in made.__mro__ if base.__module__.startswith("funcgrad")]
        for member, value in (each for base in ours for each in vars(base).items()):
            inner = getattr(value, "fget", getattr(value, "__func__", value))
            if not member.startswith("_") and _needs_boundary(inner):
                bare.add(f"{name}.{member}")
    assert not bare


def test_a_function_is_one_object_that_pickles_and_keeps_its_signature():
    for function in (fg.random.normal, fg.lax.dynamic_slice, fg.nn.gelu, fg.optim.adam):
        assert pickle.loads(pickle.dumps(function)) is function
        assert str(inspect.signature(function)) != "(*args, **kwargs)"
    assert fg.lax.stop_gradient is fg.stop_gradient
    assert fg.tree.map is fg.tree_util.tree_map


def mine(updates, state, params=None):
    return updates, state


def test_functions_of_the_program_stay_what_they_are():
    assert fg.optim.GradientTransformation(mine, mine).update is mine
