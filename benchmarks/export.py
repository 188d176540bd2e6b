"""Exported code beside CasADi's generated C: time of a call, to make it, and size.

python -m benchmarks.export        needs casadi (pip install casadi), gcc and objcopy
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import funcgrad as fg

STEP, STEPS = 0.01, 200
REPEATS = {"rosenbrock": 2000, "pendulum": 200, "network": 500}
SIZES: dict[str, tuple[int, ...]] = {"rosenbrock": (100,), "pendulum": (3,), "network": (320, 8)}


def rosenbrock(x: Any, m: Any = np) -> Any:
    return m.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def pendulum(p: Any, m: Any = np) -> Any:
    angle, speed, cost = p[0], p[1], 0.0
    for _ in range(STEPS):
        angle, speed = (
            angle + STEP * speed,
            speed + STEP * (-9.81 * m.sin(angle) - p[2] * speed),
        )
        cost = cost + STEP * (angle**2 + 0.1 * speed**2)
    return cost


def network(w: Any, x: Any, m: Any = np) -> Any:
    return m.dot(w[288:], m.tanh(m.reshape(w[:256], (32, 8)) @ x + w[256:288]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rosenbrock": rosenbrock, "pendulum": pendulum, "network": network,
}  # fmt: skip


class Theirs:
    """NumPy's names for CasADi. Its matrices, and the parameters, lie in the order of columns."""

    def __init__(self, casadi: Any) -> None:
        self.sin, self.tanh = casadi.sin, casadi.tanh
        self.sum, self.dot = casadi.sum1, casadi.dot
        self.reshape = lambda x, shape: casadi.reshape(x, *shape)


def export(name: str) -> float:
    begin = time.process_time()
    args = [np.ones(n) for n in SIZES[name]]
    fg.jit(FUNCTIONS[name]).export(name, *args, derivatives="grad", shared=False, name=name)
    return time.process_time() - begin


def generate(casadi: Any, name: str, kind: str) -> tuple[float, float]:
    begin = time.process_time()
    symbols = getattr(casadi, kind)
    xs = [symbols.sym(f"x{k}", n) for k, n in enumerate(SIZES[name])]
    value = FUNCTIONS[name](*xs, m=Theirs(casadi))
    slopes = [casadi.gradient(value, x) for x in xs]
    whole = f"{name}_{kind}"
    casadi.Function(whole, xs, [value, *slopes]).generate(f"{whole}.c")
    generated = time.process_time() - begin
    before = os.times().children_user
    subprocess.run(["gcc", "-O3", "-march=native", "-c", f"{whole}.c"], check=True)
    compiled = os.times().children_user - before
    subprocess.run(["objcopy", f"--keep-global-symbol={whole}", f"{whole}.o"], check=True)
    return generated, compiled


CALLS = """
#include <stdio.h>
#include <time.h>
#include "{name}.h"
int {name}_SX(const double **, double **, long long *, double *, int);
int {name}_MX(const double **, double **, long long *, double *, int);
static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}}
static double x[512], y[512], value, g[512], h[512], work[200000];
static long long numbers[200000];
int main(void) {{
    double best[3] = {{1e18, 1e18, 1e18}};
    for (int i = 0; i < 512; i++) x[i] = 0.5 + (i * 37 % 101) / 202.0, y[i] = 0.3 * (i % 8);
    for (int round = 0; round < 60; round++) for (int who = 0; who < 3; who++) {{
        double begin = now();
        for (int i = 0; i < {repeats}; i++) {{
            const double *in[8] = {{x, y}};
            double *out[8] = {{&value, g, h}};
            if (who == 0) {name}_grad({ours}, NULL);
            if (who == 1) {name}_SX(in, out, numbers, work, 0);
            if (who == 2) {name}_MX(in, out, numbers, work, 0);
        }}
        begin = (now() - begin) / {repeats};
        if (begin < best[who]) best[who] = begin;
    }}
    printf("%.0f %.0f %.0f\\n", best[0], best[1], best[2]);
    return 0;
}}
"""


def called(name: str) -> list[str]:
    ours = "x, y, &value, g, h" if len(SIZES[name]) > 1 else "x, &value, g"
    Path("main.c").write_text(CALLS.format(name=name, repeats=REPEATS[name], ours=ours))
    objects = [f"{name}{end}.o" for end in ("", "_SX", "_MX")]
    subprocess.run(["gcc", "-O2", "main.c", *objects, "-lm", "-o", "main"], check=True)
    return subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    import casadi

    os.chdir(tempfile.mkdtemp())
    fg.jit(lambda x: x * 2.0).export("first", 1.0, shared=False)  # imports the compiler
    for name in FUNCTIONS:
        made = export(name)
        print(f"{name}: funcgrad {made:.2f} s, {os.path.getsize(f'{name}.o')} bytes")
        for kind in ("SX", "MX"):
            generated, compiled = generate(casadi, name, kind)
            sizes = [os.path.getsize(f"{name}_{kind}.{end}") for end in "oc"]
            print(f"  {kind} {generated:.2f} + {compiled:.2f} s, {sizes[0]} bytes, C {sizes[1]}")
        print("  ns a call: funcgrad {}, SX {}, MX {}".format(*called(name)))


if __name__ == "__main__":
    sys.exit(main())
