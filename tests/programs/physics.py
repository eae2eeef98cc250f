"""Simulation: differential equations on grids, particles, fields."""

from __future__ import annotations

import numpy as np

from tests.programs.collection import Array, normal, program, uniform

FIELD = normal(20, 24, dtype="float64")
LINE = normal(64, seed=1, dtype="float64")


@program(FIELD)
def heat_equation(u: Array) -> Array:
    for _ in range(3):
        inner = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u = np.pad(inner, 1, mode="edge")
    return u


@program(FIELD, 0.9 * FIELD)
def wave_equation(now: Array, before: Array) -> tuple[Array, Array]:
    for _ in range(2):
        curvature = np.roll(now, 1, 0) + np.roll(now, -1, 0) + np.roll(now, 1, 1) + np.roll(now, -1, 1) - 4 * now
        now, before = 2 * now - before + 0.2 * curvature, now
    return now, before


@program(LINE)
def burgers_upwind(u: Array) -> Array:
    for _ in range(4):
        left, right = np.roll(u, 1), np.roll(u, -1)
        u = u - 0.01 * np.where(u > 0, u * (u - left), u * (right - u)) + 0.005 * (right - 2 * u + left)
    return u


@program(normal(17, 3, dtype="float64"), normal(17, 3, seed=1, dtype="float64"), uniform(17, dtype="float64", low=0.5, high=2.0))
def n_body_step(position: Array, velocity: Array, mass: Array) -> tuple[Array, Array, Array]:
    apart = position[None, :, :] - position[:, None, :]
    squared = (apart**2).sum(axis=-1) + 1e-3
    force = (apart * (mass[None, :] / squared**1.5)[:, :, None]).sum(axis=1)
    velocity = velocity + 0.01 * force
    energy = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
    return position + 0.01 * velocity, velocity, energy


@program(uniform(19, 2, dtype="float64", high=5.0))
def lennard_jones(position: Array) -> tuple[Array, Array]:
    d = position[:, np.newaxis] - position
    d = d - 5.0 * np.round(d / 5.0)
    r2 = (d * d).sum(-1) + 10.0 * np.eye(len(position))
    s6 = 1.0 / r2**3
    energy = 2.0 * np.triu(s6 * s6 - s6, 1).sum()
    return energy, (d * ((24 * (2 * s6 * s6 - s6)) / r2)[..., None]).sum(axis=1)


@program(FIELD, np.roll(FIELD, 3, 0))
def divergence_and_curl(u: Array, v: Array) -> tuple[Array, Array]:
    du_dy, du_dx = np.gradient(u)
    dv_dy, dv_dx = np.gradient(v, 0.5)
    return du_dx + dv_dy, dv_dx - du_dy


@program(np.array([1.0, 1.0, 1.0]))
def lorenz_runge_kutta(state: Array) -> Array:
    def slope(s: Array) -> Array:
        x, y, z = s
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    for _ in range(5):
        k1 = slope(state)
        k2 = slope(state + 0.005 * k1)
        k3 = slope(state + 0.005 * k2)
        k4 = slope(state + 0.01 * k3)
        state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@program(np.sign(normal(16, 16)), uniform(16, 16))
def ising_checkerboard(spins: Array, chance: Array) -> Array:
    row, column = np.indices(spins.shape)
    for colour in range(2):
        near = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        flips = (chance < np.exp(-0.8 * spins * near)) & ((row + column) % 2 == colour)
        spins = np.where(flips, -spins, spins)
    return spins


@program(uniform(20, 20, dtype="float64", high=0.3), uniform(20, 20, seed=1, dtype="float64"))
def gray_scott(v: Array, u: Array) -> tuple[Array, Array]:
    def laplacian(f: Array) -> Array:
        p = np.pad(f, 1, mode="wrap")
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * f

    for _ in range(2):
        reaction = u * v * v
        u, v = u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u), v + 0.08 * laplacian(v) + reaction - 0.1 * v
    return u, v


@program(uniform(9, 6, 7, dtype="float64", low=0.1))
def lattice_boltzmann_collision(f: Array) -> Array:
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    rho = f.sum(axis=0)
    u = np.tensordot(c.T, f, axes=1) / rho
    cu = np.tensordot(c, u, axes=1)
    equilibrium = rho * w[:, None, None] * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u**2).sum(axis=0))
    moved = f + (equilibrium - f) / 0.6
    return np.stack([np.roll(moved[k], tuple(c[k]), axis=(0, 1)) for k in range(9)])


@program(normal(12, 12, dtype="float64"))
def jacobi_poisson(source: Array) -> Array:
    p = np.zeros_like(source)
    for _ in range(4):
        q = np.pad(p, 1)
        p = 0.25 * (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - source)
    return p - p.mean()


@program(uniform(30, dtype="float64"), uniform(30, seed=1, dtype="float64"))
def double_pendulum_energy(a: Array, b: Array) -> Array:
    kinetic = 0.5 * (2 * a**2 + b**2 + 2 * a * b * np.cos(a - b))
    return kinetic - 9.81 * (2 * np.cos(a) + np.cos(b))


@program(uniform(25, dtype="float64", low=300.0, high=900.0))
def planck_radiation(kelvin: Array) -> Array:
    wavelength = np.linspace(1e-6, 20e-6, 40)[:, None]
    h, c, k = 6.62607015e-34, 299792458.0, 1.380649e-23
    return 2 * h * c**2 / wavelength**5 / np.expm1(h * c / (wavelength * k * kelvin))
