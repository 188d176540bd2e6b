"""Velocities that carry smoke to a picture: a small incompressible fluid."""

import autograd.numpy as np
from autograd import value_and_grad
from scipy.optimize import minimize


def project(vx, vy):
    """The velocities made incompressible, by Jacobi's iteration for the pressure."""
    p = np.zeros(vx.shape)
    h = 1.0 / vx.shape[0]
    div = (
        -0.5
        * h
        * (
            np.roll(vx, -1, axis=0)
            - np.roll(vx, 1, axis=0)
            + np.roll(vy, -1, axis=1)
            - np.roll(vy, 1, axis=1)
        )
    )
    for _ in range(5):
        p = (
            div
            + np.roll(p, 1, axis=0)
            + np.roll(p, -1, axis=0)
            + np.roll(p, 1, axis=1)
            + np.roll(p, -1, axis=1)
        ) / 4.0
    vx -= 0.5 * (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0)) / h
    vy -= 0.5 * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1)) / h
    return vx, vy


def advect(f, vx, vy):
    """What the velocities carry to each cell, interpolated linearly."""
    rows, cols = f.shape
    cell_ys, cell_xs = np.meshgrid(np.arange(rows), np.arange(cols))
    center_xs = (cell_xs - vx).ravel()
    center_ys = (cell_ys - vy).ravel()
    left_ix = np.floor(center_xs).astype(int)
    top_ix = np.floor(center_ys).astype(int)
    rw = center_xs - left_ix
    bw = center_ys - top_ix
    left_ix = np.mod(left_ix, rows)
    right_ix = np.mod(left_ix + 1, rows)
    top_ix = np.mod(top_ix, cols)
    bot_ix = np.mod(top_ix + 1, cols)
    flat_f = (1 - rw) * ((1 - bw) * f[left_ix, top_ix] + bw * f[left_ix, bot_ix]) + rw * (
        (1 - bw) * f[right_ix, top_ix] + bw * f[right_ix, bot_ix]
    )
    return np.reshape(flat_f, (rows, cols))


def simulate(vx, vy, smoke, steps):
    for _ in range(steps):
        vx_updated = advect(vx, vx, vy)
        vy_updated = advect(vy, vx, vy)
        vx, vy = project(vx_updated, vy_updated)
        smoke = advect(smoke, vx, vy)
    return smoke


def run():
    n = 8
    grid = np.arange(n)
    smoke = np.exp(-0.3 * ((grid[:, None] - 2) ** 2 + (grid[None] - 3) ** 2))
    target = np.exp(-0.3 * ((grid[:, None] - 4) ** 2 + (grid[None] - 4) ** 2))

    def objective(params):
        vx, vy = np.reshape(params, (2, n, n))
        return np.mean((target - simulate(vx, vy, smoke, 3)) ** 2)

    start = 0.1 * np.sin(np.arange(2 * n * n))
    found = minimize(
        value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 2}
    )
    return value_and_grad(objective)(start), found.x
