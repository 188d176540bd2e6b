"""Calls of SciPy's own functions on traced values reach the definitions of funcgrad.scipy."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import funcgrad as fg
from funcgrad.errors import UnsupportedCallError


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


def test_a_function_that_was_imported_before_funcgrad_is_a_named_error():
    code = (
        "import warnings\nwarnings.simplefilter('ignore')\n"
        "from scipy.linalg import expm\nimport funcgrad as fg, numpy as np\n"
        "try:\n    fg.grad(lambda a: expm(a)[0, 0])(np.eye(2))\n"
        "except fg.errors.UnsupportedCallError as error:\n"
        "    assert 'scipy.linalg.expm cannot compute with an array of objects' in str(error)\n"
        "    assert 'import funcgrad before it is imported' in str(error)\n"
        "    assert '<string>' in str(error)\n    print('named')"
    )
    assert run(code) == ["named"]


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
    with pytest.raises(UnsupportedCallError, match=r"scipy\.linalg\.null_space(.|\n)*test_disp"):
        fg.grad(lambda a: scipy.linalg.null_space(a)[0, 0])(np.ones((2, 2)))


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
