"""The shape of a body in a stream that is lifted most for its drag."""

import autograd.numpy as np
from autograd import value_and_grad
from scipy.optimize import minimize

ROWS, COLUMNS = 8, 10


def neighbours(f):
    return [np.roll(f, shift, axis=axis) for axis in (0, 1) for shift in (1, -1)]


def continued(f, solid):
    """The field outside of the body; inside, the mean of what is free around."""
    free = 1 - solid
    near = sum(a * b for a, b in zip(neighbours(f), neighbours(free)))
    return f * free + solid * near / (sum(neighbours(free)) + 0.001)


def without_sources(vx, vy, solid, sweeps=6):
    pressure = np.zeros(vx.shape)
    source = -0.5 * (
        np.roll(vx, -1, axis=1)
        - np.roll(vx, 1, axis=1)
        + np.roll(vy, -1, axis=0)
        - np.roll(vy, 1, axis=0)
    )
    source = continued(source, solid)
    for _ in range(sweeps):
        pressure = continued((source + sum(neighbours(pressure))) / 4.0, solid)
    vx = vx - 0.5 * (np.roll(pressure, -1, axis=1) - np.roll(pressure, 1, axis=1))
    vy = vy - 0.5 * (np.roll(pressure, -1, axis=0) - np.roll(pressure, 1, axis=0))
    return vx * (1 - solid), vy * (1 - solid)


def carried(f, vx, vy):
    xs, ys = np.meshgrid(np.arange(COLUMNS), np.arange(ROWS))
    from_x, from_y = (xs - vx).ravel(), (ys - vy).ravel()
    left, top = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
    right_part, lower_part = from_x - left, from_y - top
    left, top = np.mod(left, COLUMNS), np.mod(top, ROWS)
    right, below = np.mod(left + 1, COLUMNS), np.mod(top + 1, ROWS)
    upper = (1 - right_part) * f[top, left] + right_part * f[top, right]
    lower = (1 - right_part) * f[below, left] + right_part * f[below, right]
    return np.reshape((1 - lower_part) * upper + lower_part * lower, f.shape)


def flow(shape, steps):
    mask = np.zeros((ROWS, COLUMNS))
    mask[2:6, 2:6] = 1.0
    solid = 0.5 * (np.tanh(shape) + 1.0) * mask
    vx, vy = np.ones((ROWS, COLUMNS)), np.zeros((ROWS, COLUMNS))
    vx, vy = without_sources(vx, vy, solid)
    for _ in range(steps):
        vx, vy = carried(vx, vx, vy), carried(vy, vx, vy)
        vx, vy = without_sources(vx, vy, solid)
    return vx, vy


def run():
    start = -np.ones((ROWS, COLUMNS))
    start[3:5, 3:6] = np.linspace(-0.2, 0.3, 3)

    def objective(parameters):
        vx, vy = flow(np.reshape(parameters, (ROWS, COLUMNS)), 3)
        return -np.mean(vy) / np.mean(1.0 - vx)

    first = value_and_grad(objective)(start.ravel())
    found = minimize(
        value_and_grad(objective), start.ravel(), jac=True, method="CG", options={"maxiter": 2}
    )
    return first, np.round(found.fun, 5)
