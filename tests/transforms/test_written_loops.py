"""Python loops that write in place, hand on numbers, lists and masks, around 48 steps.

The oracles are NumPy, differences of it, and the program with its loops as they are.
"""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.random.default_rng(0).normal(size=(5, 3)) * 0.7
STEPS = [1, 2, 47, 48, 49]


def written_several_times(m, x, n):
    y = m.zeros((n, 3))
    y[0] = x[0]
    for i in range(1, n):
        y[i] = np.sin(y[i - 1]) + x[i % 5] * 0.1
        y[i, :] += 0.2 * y[i, ::-1]
        y[-i, 1] *= 0.9
        y[i, :2] -= y[i, 1:] * 0.1
    return y


def written_from_the_end(m, x, n):
    y = m.zeros((n, 3))
    for i in range(n):
        y[-1 - i] = np.cos(x[i % 5] + (y[-i] if i else 0.0))
    return y


def written_slices_that_overlap(m, x, n):
    y = m.zeros(2 * n + 4)
    for i in range(n):
        y[2 * i : 2 * i + 3] += x[i % 5]
        y[2 * i + 1 : 2 * i + 4 : 2] = np.sin(y[2 * i : 2 * i + 2] * 0.7)
    return y


def a_triangle(m, x, n):
    n = min(n, 12)
    s = m.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s[i, j] = np.sin(x[i % 5, j % 3] + (s[i - 1, j] if i else 0.0))
            s[i, j] += s[i, j - 1] * 0.3 if j else 0.0
    return s


def two_loops_share_arrays(m, x, n):
    y, z = m.zeros(n), m.zeros(n)
    for i in range(1, n):
        y[i] = 0.5 * y[i - 1] + x[i % 5, 0]
        z[i] = z[i - 1] + y[i] * x[0, 1]
    for i in range(n - 1):
        y[i] += np.sin(z[n - 1 - i])
        z[i + 1] -= y[i]
    return y * z


def two_names_of_an_array(m, x, n):
    y = m.array(x[0])
    z = y
    for _ in range(n):
        y += np.sin(z) * 0.1
        z[0] *= 0.9
    return y + z


def there_and_back_again(m, x, n):
    y = m.array(np.outer(np.arange(n) + 1.0, [1, 2, 3]) / n * x[0])
    for i in range(1, n):
        y[i] += y[i - 1]
    for i in range(n - 2, -1, -1):
        y[i] -= 0.5 * y[i + 1]
        y[i, -1] = y[i, 0] * y[i + 1, -1] * 0.01
    return y


def breaks_and_continues(m, x, n):
    c, s = x[0], 0.0
    for i in range(1000):
        if i >= n:
            break
        if i % 3 == 1:
            continue
        c = np.tanh(c * 1.1 + 0.1 * i)
        s = s + c * i
    return s


def carries_that_are_exchanged(m, x, n):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = b, np.sin(a + b)
    return a - 2 * b


def a_list_that_moves_up(m, x, n):
    cs = [x[0], x[1], x[2]]
    for _ in range(n):
        cs = [*cs[1:], np.tanh(cs[0] - cs[1] * cs[2])]
        cs[1] = cs[1] * 0.99
    return cs[0] + cs[2] * 3


def numbers_of_all_kinds(m, x, n):
    k, w, c, g, b, j = 0, 1.0, x[0], np.float64(0.5), True, np.int64(3)
    for _ in range(n):
        k, w, g, b, j = k + 2, w * 0.97, g * 0.9 + 0.1, not b, (j * 5 + 1) % 7
        c = np.sin(c * w) + k * 0.001 * (x[1] if b else x[2]) + g / (j + 1)
    return c * k + w


def masks_that_change(m, x, n):
    c = x[0]
    held = c > 0
    for _ in range(n):
        c = np.where(held, np.sin(c) + 0.1, c * 0.9 - 0.05)
        held = held ^ (c > 0.2)
    return c * held + c


def complex_numbers(m, x, n):
    z = x[0] + 1j * x[1]
    for i in range(n):
        z = z * np.exp(0.1j * i) * 0.98 + np.conj(z) * 0.1
    return np.abs(z) + z.real * z.imag


def rows_in_other_orders(m, x, n):
    r, c = np.linspace(0, 1, n), x[0]
    for k, (a, b) in enumerate(zip(r, reversed(list(r)), strict=True)):
        c = c * np.cos(a) + np.sin(b * x[1]) * k / n
    for a in r[::-2]:
        c = c + np.sin(a * c)
    for row in np.outer(x[:, 0], np.arange(1, n + 1) / n).T:
        c = np.sin(c + row[0] * row[1:4])
    return c


PROGRAMS = [
    written_several_times, written_from_the_end, written_slices_that_overlap, a_triangle,
    two_loops_share_arrays, two_names_of_an_array, there_and_back_again, breaks_and_continues,
    carries_that_are_exchanged, a_list_that_moves_up, numbers_of_all_kinds, masks_that_change,
    complex_numbers, rows_in_other_orders,
]  # fmt: skip


# each program with two of the numbers of steps, one of them on each side of the threshold
CASES = [(f, STEPS[k % 3]) for k, f in enumerate(PROGRAMS)]
CASES += [(f, STEPS[3 + k % 2]) for k, f in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("program", "n"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_the_compiled_loop_is_that_of_numpy(program, n):
    def total(x, m=fnp):
        return np.sum(np.sin(program(m, x, n)))

    direction = np.cos(np.arange(15.0)).reshape(5, 3)
    plain = fg.value_and_grad(total)(X)
    np.testing.assert_array_equal(plain[0], total(X, np))
    h = 1e-6
    slope = (total(X + h * direction, np) - total(X - h * direction, np)) / (2 * h)
    scale = 1e-5 * np.abs(plain[1]).max() + 1e-7
    np.testing.assert_allclose(np.sum(plain[1] * direction), slope, rtol=1e-5, atol=scale)
    for compiled in (fg.jit(fg.value_and_grad(total)), fg.value_and_grad(fg.jit(total))):
        found = compiled(X)
        np.testing.assert_allclose(found[0], plain[0], rtol=1e-10)
        np.testing.assert_allclose(found[1], plain[1], rtol=1e-8, atol=1e-4 * scale)


@pytest.mark.parametrize("program", PROGRAMS[::3], ids=lambda f: f.__name__)
def test_derivatives_of_higher_order_and_of_examples(program):
    def total(x):
        return np.sum(np.sin(program(fnp, x, 49)))

    def examples(x):
        return fg.vmap(fg.grad(total))(np.stack([x, 0.5 * x, -x]))

    for f in (examples, fg.hessian(total), fg.jacfwd(total)):
        wanted = f(X)
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(fg.jit(f)(X), wanted, rtol=1e-8, atol=1e-9 * scale)
