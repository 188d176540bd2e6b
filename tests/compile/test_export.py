"""`jit(f).export`: the same values and derivatives from files that need no Python."""

import ctypes
import functools
import inspect
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile.llvm.target import host
from funcgrad.errors import NativeCodeError

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
RANDOM = np.random.default_rng(3)


def normal(*shape):
    return RANDOM.normal(size=shape)


def filtered(observed, noise):
    """A filter with matrices of two rows and columns, as a scan."""
    move, seen = np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2)

    def step(carry, y):
        mean, spread = carry
        mean, spread = move @ mean, move @ spread @ move.T + 0.01 * np.eye(2)
        total = spread + noise * seen
        gain = np.linalg.solve(total, spread).T
        missing = y - mean
        mean, spread = mean + gain @ missing, spread - gain @ spread
        return (mean, spread), missing @ np.linalg.solve(total, missing)

    (_, _), found = fg.scan(step, (np.zeros(2), np.eye(2)), observed)
    return np.sum(found)


def pendulum(start, length):
    """A loop of Python's."""
    angle, speed = start[0], start[1]
    for _ in range(200):
        speed = speed - 0.01 * 9.81 / length * np.sin(angle)
        angle = angle + 0.01 * speed
    return angle * angle + speed


def halved(x):
    return fg.while_loop(lambda v: np.sum(v * v) > 1.0, lambda v: 0.5 * v, x)


def attention(x):
    scores = x @ x.T / np.sqrt(x.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.sum(weights / np.sum(weights, axis=1, keepdims=True) @ x * x)


def of_trees(params, x):
    hidden = np.tanh(x @ params["w"] + params["b"])
    return {"mean": np.mean(hidden), "rows": hidden.sum(0), "positive": hidden > 0}


def likelihood(a, x):
    factor = np.linalg.cholesky(a @ a.T + np.eye(3))
    z = np.linalg.solve(factor, x)
    return np.sum(z * z) + 2 * np.sum(np.log(np.diag(factor)))


def gathered(table, places):
    return np.sum(table[places] ** 2)


def chosen(x, mask, scale):
    return np.sum(np.where(mask, x, 0.0) * scale)


CAPTURED = normal(4)
PROGRAMS = {
    "a number": (lambda x, y: x * np.sin(y) + y**3, (0.7, 1.3)),
    "elements": (lambda x: np.sum(np.exp(-x) * np.log1p(x * x)), (normal(1000),)),
    "single": (lambda x: np.sum(np.tanh(x)), (normal(7, 5).astype(np.float32),)),
    "a filter": (filtered, (normal(50, 2), 0.3)),
    "a loop of Python's": (pendulum, (np.array([0.4, 0.1]), 1.1)),
    "attention": (attention, (normal(60, 40),)),
    "small matrices": (likelihood, (normal(3, 3), normal(3))),
    "a table": (gathered, (normal(9), np.array([3, 3, 8, 0]))),
    "a mask": (chosen, (normal(5), np.array([True, False, True, True, False]), 2.0)),
    "an inverse": (lambda a: np.sum(np.linalg.inv(a) ** 2), (normal(4, 4),)),
    "a capture": (lambda x: np.sum(x * CAPTURED), (normal(4),)),
}
OTHERS = {
    "determinants": (np.linalg.det, (normal(2, 4, 4),)),
    "trees": (of_trees, ({"w": normal(3, 2), "b": normal(2)}, normal(4, 3))),
    "a while loop": (halved, (normal(3) * 100,)),
    "several": (lambda x, n: (x[::-1] * 2.0, np.cumsum(x), n + 1), (normal(6), 4)),
    "an array of one": (lambda x: np.atleast_1d(x) * 2.0, (2.5,)),
    "a view": (lambda x: x.T, (normal(3, 4),)),
    "a constant": (lambda x: np.ones((2, 2)) + 0.0 * x, (1.0,)),
    "nothing": (lambda x: x[:0] * 2.0, (normal(3),)),
}


def call(made, name, given, results):
    """Call a function of the shared library; `results` are arrays to be filled."""
    library = ctypes.CDLL(str(made.library))
    kinds = {"f8": ctypes.c_double, "f4": ctypes.c_float, "i8": ctypes.c_int64}
    given = [np.asarray(x, order="C") for x in given]
    passed = [
        ctypes.c_void_p(x.ctypes.data) if x.ndim else kinds[x.dtype.str[1:]](x[()]) for x in given
    ]
    workspace = np.empty(made.workspace[name] + 8, np.uint8)
    out = [ctypes.c_void_p(r.ctypes.data) for r in results]
    return getattr(library, name)(*passed, *out, ctypes.c_void_p(workspace.ctypes.data))


def like(x):
    return np.full(np.shape(x), 77, np.asarray(x).dtype)


@needs_compiler
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_values_are_those_of_the_compiled_function(name, tmp_path):
    f, args = (PROGRAMS | OTHERS)[name]
    made = fg.jit(f).export(tmp_path / "made", *args, name="f")
    wanted = fg.tree.leaves(fg.jit(f)(*args))
    results = [like(x) for x in wanted]
    assert call(made, "f", fg.tree.leaves(args), results) == 0
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5 if got.dtype == np.float32 else 1e-13)


@pytest.mark.costly
@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_the_compiled_function(name, tmp_path):
    f, args = PROGRAMS[name]
    leaves = fg.tree.leaves(args)
    moving = [k for k, x in enumerate(leaves) if np.asarray(x).dtype.kind == "f"]
    made = fg.jit(f).export(tmp_path / "made", *args, name="f", derivatives=("grad", "vjp", "jvp"))
    value, gradient = fg.value_and_grad(f, tuple(moving))(*args)
    tolerance = {"rtol": 1e-5 if np.asarray(leaves[0]).dtype == np.float32 else 1e-11}
    tolerance["atol"] = tolerance["rtol"]
    kind = np.asarray(value).dtype.type

    results = [like(value), *map(like, gradient)]
    assert call(made, "f_grad", leaves, results) == 0
    for got, want in zip(results, [value, *gradient], strict=True):
        np.testing.assert_allclose(got, want, **tolerance)

    results = [like(value), *map(like, gradient)]
    assert call(made, "f_vjp", [*leaves, kind(2.0)], results) == 0
    np.testing.assert_allclose(results[1], 2.0 * gradient[0], **tolerance)

    ts = [np.full(np.shape(leaves[k]), 0.5, np.asarray(leaves[k]).dtype) for k in moving]
    results = [like(value), like(value)]
    assert call(made, "f_jvp", [*leaves, *ts], results) == 0
    total = sum(np.sum(g * t) for g, t in zip(gradient, ts, strict=True))
    np.testing.assert_allclose(results[1], total, rtol=1e-4 if kind is np.float32 else 1e-10)


PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "filter.h"
#include "wave.h"

static double observed[100];
static double first[101];

static void *work(void *wrong) {
    double value, d_observed[100], d_noise;
    void *workspace = malloc(FILTERED_GRAD_WORKSPACE + 1);
    for (int k = 0; k < 300; k++) {
        if (filtered_grad(observed, 0.3, &value, d_observed, &d_noise, workspace))
            *(int *)wrong = 1;
        for (int i = 0; i < 100; i++) if (d_observed[i] != first[i]) *(int *)wrong = 1;
        if (d_noise != first[100]) *(int *)wrong = 1;
    }
    free(workspace);
    return NULL;
}

int main(void) {
    double value, w, d_w, x[3] = {0.1, 0.2, 0.3}, d_x[3];
    int wrong[4] = {0};
    pthread_t threads[4];
    void *workspace = malloc(FILTERED_GRAD_WORKSPACE + 1);
    for (int i = 0; i < 100; i++) observed[i] = 0.01 * i;
    if (filtered_grad(observed, 0.3, &value, first, &first[100], workspace)) return 1;
    printf("%.17g %.17g %.17g\\n", value, first[7], first[100]);
    for (int k = 0; k < 4; k++) pthread_create(&threads[k], NULL, work, &wrong[k]);
    for (int k = 0; k < 4; k++) { pthread_join(threads[k], NULL); if (wrong[k]) return 2; }
    if (wave_grad(x, 2.0, &w, d_x, &d_w, NULL)) return 3;
    printf("%.17g %.17g %.17g\\n", w, d_x[1], d_w);
    free(workspace);
    return 0;
}
"""


def wave(x, frequency):
    return np.sum(np.sin(frequency * x))


@needs_compiler
def test_a_program_in_c_with_threads(tmp_path):
    """Two exports in one program, compiled with warnings as errors; four threads at once."""
    observed = 0.01 * np.arange(100.0).reshape(50, 2)
    x = np.array([0.1, 0.2, 0.3])
    options = {"derivatives": "grad", "shared": False}
    one = fg.jit(filtered).export(tmp_path / "filter", observed, 0.3, **options)
    two = fg.jit(wave).export(tmp_path / "wave", x, 2.0, **options)
    assert one.library is None and two.workspace == {"wave": 0, "wave_grad": 0}
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = ["-Wall", "-Wextra", "-Werror", "-std=c11", "-o", "main"]
    outputs = set()
    for compiler in {COMPILER, *filter(shutil.which, ("gcc", "clang"))}:
        subprocess.run(
            [compiler, *flags, "main.c", "filter.o", "wave.o", "-lm", "-lpthread"],
            cwd=tmp_path, check=True,
        )  # fmt: skip
        run = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        outputs.add(run.stdout)
    (output,) = outputs  # the same bits by every compiler
    got = [[float(n) for n in line.split()] for line in output.splitlines()]
    value, (d_observed, d_noise) = fg.value_and_grad(filtered, (0, 1))(observed, 0.3)
    np.testing.assert_allclose(got[0], [value, d_observed.flat[7], d_noise], rtol=1e-10)
    value, (d_x, d_w) = fg.value_and_grad(wave, (0, 1))(x, 2.0)
    np.testing.assert_allclose(got[1], [value, d_x[1], d_w], rtol=1e-13)


CPP = [*filter(shutil.which, ("g++", "clang++"))]


@pytest.mark.skipif(not CPP, reason="there is no C++ compiler")
def test_the_header_is_one_of_cpp(tmp_path):
    fg.jit(lambda new, this: new * this).export(tmp_path / "a-b", 1.0, 2.0, name="times")
    (tmp_path / "main.cpp").write_text(
        '#include "a-b.h"\nint main() { double y; return times(2.0, 3.0, &y, nullptr) || y != 6; }'
    )
    for compiler in CPP:
        command = [compiler, "-Wall", "-Werror", "-o", "main", "main.cpp", "a-b.o", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], check=True)


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
@pytest.mark.parametrize("name", ["a filter", "attention", "small matrices", "elements"])
def test_it_needs_the_library_of_c_alone(name, tmp_path):
    f, args = PROGRAMS[name]
    made = fg.jit(f).export(tmp_path / "made", *args, name="f", derivatives="grad", shared=False)
    run = subprocess.run(["nm", made.object], capture_output=True, text=True, check=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    assert {n for *_, kind, n in lines if kind == "T"} == {"f", "f_grad"}
    missing = {n for *_, kind, n in lines if kind == "U"}
    assert missing <= {"memcpy", "memset", "memmove", "fma", "fmaf", "_GLOBAL_OFFSET_TABLE_"}


@needs_compiler
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3", "generic"])
@pytest.mark.parametrize("name", ["attention", "elements", "a filter"])
def test_for_other_processors(cpu, name, tmp_path):
    f, args = PROGRAMS[name]
    try:
        made = fg.jit(f).export(tmp_path / "made", *args, name="f", cpu=cpu)
    except ValueError as error:
        pytest.skip(str(error))
    if cpu == "x86-64-v3" and host().vector_bits < 256:
        pytest.skip("this processor cannot run it")
    result = [np.zeros(())]
    assert call(made, "f", args, result) == 0
    np.testing.assert_allclose(result[0], f(*args), rtol=1e-12)


@needs_compiler
def test_what_fails_is_told_by_the_status(tmp_path):
    made = fg.jit(gathered).export(tmp_path / "made", normal(9), np.array([1, 2]))
    result = [np.zeros(())]
    assert call(made, "gathered", [normal(9), np.array([1, 9])], result) == 1
    assert call(made, "gathered", [normal(9), np.array([1, -9])], result) == 0
    solve = fg.jit(lambda a, b: np.linalg.solve(a, b)).export(
        tmp_path / "solve", np.eye(2), np.ones(2), name="solve"
    )
    assert call(solve, "solve", [np.zeros((2, 2)), np.ones(2)], [np.zeros(2)]) == 1


@needs_compiler
def test_memory_comes_from_the_caller(tmp_path):
    made = fg.jit(attention).export(tmp_path / "made", normal(120, 80))
    assert made.workspace["attention"] > 100_000
    assert f"ATTENTION_WORKSPACE {made.workspace['attention']} " in made.header.read_text()
    library = ctypes.CDLL(str(made.library))
    x, out = normal(120, 80), np.zeros(())
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, out)]
    assert library.attention(*pointers, None) == 2


def line_of(f):
    return inspect.getsourcelines(f)[1] + 1


def with_eigenvalues(a):
    return np.linalg.eigvalsh(a)


def with_a_large_system(a, b):
    return np.linalg.solve(a, b)


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (with_eigenvalues, (np.eye(3),), "has no native form"),
        (with_a_large_system, (np.eye(65), np.ones(65)), "has no native form"),
    ],
)
def test_what_would_call_a_library_is_refused(f, args, text, tmp_path):
    with pytest.raises(NativeCodeError, match=text) as info:
        fg.jit(f).export(tmp_path / "made", *args)
    assert f'{__file__}", line {line_of(f)}' in str(info.value)
    assert not list(tmp_path.iterdir())


def test_other_refusals(tmp_path):
    path = tmp_path / "made"
    with pytest.raises(NativeCodeError, match="complex128"):
        fg.jit(lambda z: z * z).export(path, 1j)
    with pytest.raises(NativeCodeError, match=r"bind them first: jit\(functools\.partial"):
        fg.jit(lambda x, n: x**n, static_argnums=1).export(path, 1.0, 2)
    with pytest.raises(NativeCodeError, match="export its vjp"):
        fg.jit(lambda x: x * 2.0).export(path, np.ones(3), derivatives="grad")
    with pytest.raises(ValueError, match="derivatives are among 'grad', 'vjp', 'jvp'"):
        fg.jit(np.sin).export(path, 1.0, derivatives="hessian")
    with pytest.raises(ValueError, match=r"cpu is one of native, x86-64"):
        fg.jit(np.sin).export(path, 1.0, cpu="pdp11")
    assert not list(tmp_path.iterdir())


def test_names_and_shapes_of_the_header(tmp_path):
    def f(params, x, workspace):
        return {"loss": np.sum(x @ params["w"]), "parts": (x * workspace, x > 0)}

    given = {"w": fg.ShapeDtypeStruct((3,), "float64")}, fg.ShapeDtypeStruct((2, 3), float), 1.0
    made = fg.jit(functools.partial(f)).export(tmp_path / "made", *given, name="a loss")
    text = re.sub(r"\s+", " ", made.header.read_text())
    assert (
        "int a_loss( const double *params_w /* [3] */, const double *x /* [2, 3] */, double "
        "workspace_, double *out_loss, double *out_parts_0 /* [2, 3] */, bool *out_parts_1 /* [2, "
        "3] */, void *workspace);"
    ) in text


def test_buffers_of_the_program(tmp_path):
    def f(x):
        y = fnp.zeros(4)
        for k in range(4):
            y[k] = x[k] * k
        return np.sum(y * y)

    made = fg.jit(f).export(tmp_path / "made", normal(4), derivatives="grad", shared=False)
    assert made.object.stat().st_size > 0


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "export.md"


def program_of_the_page(language, with_text):
    """The program in this language that the page shows."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = (block for block in blocks if with_text in block)
    return found


@pytest.fixture
def chain(tmp_path):
    """The files that the programs of the page are for."""
    source = program_of_the_page("python", "def energy").partition("folder = ")[2]
    names = {"np": np, "fg": fg}
    exec(re.search(r"def energy.*?\n\n", source, re.DOTALL).group(), names)
    export = fg.jit(names["energy"]).export
    export(tmp_path / "chain", np.ones(5), 2.0, derivatives="grad", shared=False)
    return tmp_path


def printed(folder, *command):
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.split()


@needs_compiler
def test_the_program_of_the_page_in_c(chain):
    (chain / "main.c").write_text(program_of_the_page("c", "int main"))
    strict = ("-Wall", "-Wextra", "-Werror")
    printed(chain, COMPILER, *strict, "main.c", "chain.o", "-lm", "-o", "main")
    assert printed(chain, "./main") == ["0.5", "2"]


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no Fortran compiler")
def test_the_program_of_the_page_in_fortran(chain):
    (chain / "main.f90").write_text(program_of_the_page("fortran", "program main"))
    printed(chain, "gfortran", "-Wall", "main.f90", "chain.o", "-lm", "-o", "main")
    assert printed(chain, "./main") == ["0.50", "2.00"]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
def test_the_program_of_the_page_in_r(chain):
    (chain / "glue.c").write_text(program_of_the_page("c", "void chain"))
    (chain / "use.R").write_text(program_of_the_page("r", "dyn.load"))
    printed(chain, "R", "CMD", "SHLIB", "glue.c", "chain.o")
    assert printed(chain, "Rscript", "use.R") == ["[1]", "0.5", "2.0"]
