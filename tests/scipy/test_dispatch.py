"""Calls of SciPy's own functions on traced values reach the definitions of funcgrad.scipy."""

import pickle
import subprocess
import sys
import traceback

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special
import scipy.stats

import funcgrad as fg
from funcgrad.errors import UnsupportedCallError
from funcgrad.scipy import dispatch


def run(code):
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.split()


def test_scipys_own_functions_take_traced_values():
    a = np.array([[1.0, 2.0], [0.0, 3.0]])
    assert np.isfinite(fg.grad(lambda a: np.sum(scipy.linalg.expm(a)))(a)).all()
    assert fg.grad(scipy.special.logsumexp)(np.zeros(2)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "imports",
    ["import funcgrad as fg\nimport scipy.linalg", "import scipy.linalg\nimport funcgrad as fg"],
)
def test_either_package_may_be_imported_first(imports):
    code = (
        f"{imports}\nimport sys, numpy as np\n"
        "assert 'funcgrad.scipy.linalg' not in sys.modules\n"
        "from scipy.linalg import expm\n"
        "print(fg.grad(lambda x: expm(x * np.eye(1))[0, 0])(0.0))"
    )
    assert run(code) == ["1.0"]


IMPORTED_BY_NAME = [  # before funcgrad: what is imported, a call, the derivative
    ("from scipy.linalg import expm", "expm(x * np.eye(1))[0, 0]", 1.0),
    ("from scipy.fft import fft", "np.sum(np.abs(fft(np.stack([x + 1, x]))) ** 2)", 4.0),
    ("from scipy.stats import norm", "norm.logpdf(x, 1.0)", 1.0),
    ("from scipy.integrate import simpson", "simpson(np.stack([x, x, x]))", 2.0),
    ("from scipy.linalg import logm as l\nclass A:\n    f = staticmethod(l)\ndel l",
     "A.f((1 + x) * np.eye(1))[0, 0]", 1.0),
    ("import functools, scipy.special as s\nf = functools.partial(s.logsumexp, axis=0)",
     "f(np.stack([x, x]))", 1.0),
    ("from numpy.polynomial.polynomial import polyval", "polyval(x, [1.0, 3.0])", 3.0),
]  # fmt: skip


def test_functions_that_were_imported_by_name_before_funcgrad_are_reached():
    lines = [imports for imports, _, _ in IMPORTED_BY_NAME]
    lines.append("import funcgrad as fg, numpy as np")
    for _, call, _ in IMPORTED_BY_NAME:
        lines.append(f"g = lambda x: {call}")
        lines.append("print(fg.grad(g)(0.0), fg.jvp(g, (0.0,), (1.0,))[1])")
    wanted = [d for *_, d in IMPORTED_BY_NAME for _ in range(2)]
    assert [float(x) for x in run("\n".join(lines))] == pytest.approx(wanted)


def test_functions_of_scipy_keep_what_they_are():
    import copy
    import functools
    import inspect

    expm = scipy.linalg.expm
    assert expm.__module__ == expm.__wrapped__.__module__ and expm.__name__ == "expm"
    assert inspect.signature(expm) == inspect.signature(expm.__wrapped__)
    assert "def expm" in inspect.getsource(expm)
    assert copy.deepcopy(expm) is expm
    assert pickle.loads(pickle.dumps(functools.partial(expm))).func is expm
    assert scipy.linalg._matfuncs.expm is expm
    with pytest.raises(TypeError, match="expm"):
        expm()


def test_frames_of_changed_functions_can_be_looked_at():
    with pytest.raises(ValueError) as caught:  # a decorator's function, which has a closure
        scipy.stats.skew(np.ones((2, 3)), axis=5)
    frames = [f.f_locals for f, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert any("cell0" in names for names in frames)
    assert len(scipy.stats.skew.__code__.co_freevars) == len(scipy.stats.skew.__closure__)


def test_without_traced_values_it_is_scipys_function():
    expm = scipy.linalg.expm
    a = np.array([[1.0, 2.0], [0.0, 3.0]])
    assert expm(a).tobytes() == expm.__wrapped__(a).tobytes()
    assert expm.__doc__ == expm.__wrapped__.__doc__
    assert pickle.loads(pickle.dumps(expm)) is expm


def test_importing_funcgrad_imports_nothing_of_scipy_nor_does_a_call_import_ours():
    code = (
        "import sys, funcgrad, numpy as np\n"
        "assert 'scipy' not in sys.modules\nimport scipy.linalg\n"
        "scipy.linalg.expm(np.eye(2))\nprint('funcgrad.scipy.linalg' in sys.modules)"
    )
    assert run(code) == ["False"]


def test_what_has_no_derivative_is_a_named_error_with_the_users_line():
    with pytest.raises(UnsupportedCallError, match=r"scipy\.linalg\.cossin(.|\n)*test_disp"):
        fg.grad(lambda a: scipy.linalg.cossin(a, 1, 1)[0][0, 0])(np.eye(2))


def test_arrays_made_inside_a_transform_are_plain_ones_to_scipy():
    import funcgrad.numpy as fnp

    def f(x):
        held = fnp.zeros((2, 2))
        held[0, 0] = 2.0
        return x * np.trace(scipy.linalg.expm(held))

    assert fg.grad(f)(1.0) == np.exp(2.0) + 1.0


def test_two_wrapped_functions_are_two_things_to_jit():
    chosen = [scipy.linalg.coshm]

    @fg.jit
    def f(x):
        return chosen[0](x)

    x = np.eye(2)
    assert f(x)[0, 0] == pytest.approx(np.cosh(1.0))
    chosen[0] = scipy.linalg.sinhm
    assert f(x)[0, 0] == pytest.approx(np.sinh(1.0))


def test_an_error_of_a_callback_stays_what_it_is():
    import scipy.optimize

    def f(x):
        def residual(y):
            raise ValueError("mine")

        return x * scipy.optimize.brentq(residual, 0.0, 1.0)

    with pytest.raises(ValueError, match=r"^mine$"):
        fg.grad(f)(1.0)


def test_a_warning_of_scipys_names_the_line_that_called_it():
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 3e-16]])
    for solve in (scipy.linalg.solve, scipy.linalg.solve.__wrapped__):
        with pytest.warns(scipy.linalg.LinAlgWarning) as caught:
            solve(nearly, np.ones(2))
        assert caught[0].filename == __file__


def test_tracebacks_and_profiles_show_the_functions_name_and_no_line_of_ours():
    with pytest.raises(ValueError) as caught:
        scipy.linalg.expm(np.ones((2, 3)))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [f.name for f in frames[1:]] == ["expm", "expm"]
    assert "funcgrad" in frames[1].filename and not frames[1].line
    assert scipy.linalg.inv.__code__.co_name == "inv" != scipy.linalg.expm.__code__.co_name


def test_a_module_that_another_thread_is_importing_is_served():
    code = """
import importlib.util, sys, threading
import numpy as np
started, go = threading.Event(), threading.Event()

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "scipy.linalg._basic":
            started.set()
            go.wait(1.0)
        return None

sys.meta_path.insert(0, Slow)
def first():
    import scipy.linalg
thread = threading.Thread(target=first)
thread.start()
started.wait()
threading.Timer(0.2, go.set).start()
import funcgrad as fg
thread.join()
from scipy.linalg import expm
print(fg.grad(lambda x: expm(x * np.eye(1))[0, 0])(0.0))
"""
    assert run(code) == ["1.0"]


def test_a_name_that_another_release_of_scipy_lacks_does_not_break_its_import():
    code = """
import funcgrad as fg, numpy as np
from funcgrad.scipy.dispatch import METHODS
METHODS["scipy.special"] = {"no_such_object": "__call__", "legendre_p": "no_such_method"}
import scipy.special
import scipy.stats
print(fg.grad(scipy.special.logsumexp)(np.zeros(2))[0])
"""
    assert run(code) == ["0.5"]


def test_plain_calls_of_fourier_transforms_are_left_to_scipy():
    backend = dispatch._Fourier.__ua_function__
    assert backend(scipy.fft.fft, (np.ones(2),), {}) is NotImplemented
    assert scipy.fft.fft(np.ones(2)).tolist() == [2.0, 0.0]


def test_a_generator_stays_one_and_loading_funcgrad_anew_changes_nothing():
    code = """
import importlib, inspect, sys
import funcgrad as fg, numpy as np
import scipy.interpolate, scipy.linalg
print(inspect.isgeneratorfunction(scipy.interpolate.generate_knots))
finders, body = list(sys.meta_path), scipy.linalg.expm.__code__
importlib.reload(scipy.linalg)
importlib.reload(fg)
print(finders == sys.meta_path and body is scipy.linalg.expm.__code__)
"""
    assert run(code) == ["True", "True"]
