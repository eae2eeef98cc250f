"""Geometry, graphics, games and number puzzles."""

from __future__ import annotations

import numpy as np

from tests.programs.collection import Array, integers, normal, program, uniform

POINTS = normal(25, 3, dtype="float64")


@program(integers(16, 18, below=2))
def game_of_life(board: Array) -> Array:
    for _ in range(2):
        near = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - board
        board = ((near == 3) | ((board == 1) & (near == 2))).astype(board.dtype)
    return board


@program(integers(40, below=2))
def cellular_automaton_rule_110(cells: Array) -> Array:
    rule = np.array([(110 >> k) & 1 for k in range(8)])
    rows = [cells]
    for _ in range(4):
        now = rows[-1]
        rows.append(np.choose(4 * np.roll(now, 1) + 2 * now + np.roll(now, -1), rule, mode="clip"))
    return np.stack(rows)


@program(np.linspace(-2, 1, 24, dtype=np.float64)[None, :] + 1j * np.linspace(-1, 1, 20)[:, None])
def mandelbrot_counts(c: Array) -> Array:
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, np.int64)
    for _ in range(6):
        live = (z.real**2 + z.imag**2) < 4
        z = np.where(live, z * z + c, z)
        counts = counts + live
    return counts


@program(uniform(14, 16, low=-1.0))
def ray_march_spheres(x: Array) -> Array:
    direction = np.stack([x, np.flip(x, 0), np.ones_like(x)], axis=-1)
    direction = direction / np.sqrt((direction**2).sum(-1, keepdims=True))
    travelled = np.zeros_like(x)
    for _ in range(5):
        p = direction * travelled[..., None] - np.array([0, 0, 3], np.float32)
        distance = np.minimum(np.sqrt((p**2).sum(-1)) - 1, p[..., 1] + 1.2)
        travelled = travelled + np.maximum(distance, 0.001)
    return np.where(travelled < 10, 1 / (1 + travelled), 0)


@program(POINTS, np.array([0.3, -0.2, 0.9]))
def rotate_by_quaternion(points: Array, axis: Array) -> Array:
    axis = axis / np.linalg.norm(axis)
    w, v = np.cos(0.35), np.sin(0.35) * axis
    t = 2 * np.cross(v, points)
    return points + w * t + np.cross(v, t)


@program(POINTS)
def perspective_projection(points: Array) -> Array:
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    near, far, f = 0.1, 100.0, 1.5
    matrix = np.array([[f, 0, 0, 0], [0, f, 0, 0], [0, 0, (far + near) / (near - far), 2 * far * near / (near - far)], [0, 0, -1, 0]])
    clip = homogeneous @ matrix.T
    return clip[:, :3] / clip[:, 3:]


@program(uniform(9, 2, dtype="float64"))
def polygon_area_and_centroid(corners: Array) -> tuple[Array, Array]:
    following = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    area = cross.sum() / 2
    return area, ((corners + following) * cross[:, None]).sum(axis=0) / (6 * area)


@program(uniform(9, 2, dtype="float64"), uniform(30, 2, seed=1, dtype="float64"))
def points_in_polygon(corners: Array, points: Array) -> Array:
    x0, y0 = corners[:, 0], corners[:, 1]
    x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
    px, py = points[:, :1], points[:, 1:]
    crosses = (y0 > py) != (y1 > py)
    left = px < (x1 - x0) * (py - y0) / (y1 - y0) + x0
    return np.sum(crosses & left, axis=1) % 2 == 1


@program(uniform(10, dtype="float64", low=-80, high=80), uniform(10, seed=1, dtype="float64", low=-170, high=170))
def great_circle_distances(latitude: Array, longitude: Array) -> Array:
    phi, lam = np.deg2rad(latitude), np.radians(longitude)
    half = np.sin((phi[:, None] - phi) / 2) ** 2 + np.cos(phi)[:, None] * np.cos(phi) * np.sin((lam[:, None] - lam) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))


@program(uniform(4, 2, dtype="float64"))
def bezier_curve(control: Array) -> Array:
    t = np.linspace(0, 1, 20)[:, None]
    return (1 - t) ** 3 * control[0] + 3 * (1 - t) ** 2 * t * control[1] + 3 * (1 - t) * t**2 * control[2] + t**3 * control[3]


@program(normal(12, 3, 3), normal(12, 3, 3, seed=1))
def triangle_normals_and_shading(a: Array, light: Array) -> Array:
    normals = np.cross(a[:, 1] - a[:, 0], a[:, 2] - a[:, 0])
    normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.maximum(np.vecdot(normals, light[:, 0]), 0) if hasattr(np, "vecdot") else np.maximum((normals * light[:, 0]).sum(-1), 0)


@program(integers(7, 7, below=50) + 1)
def floyd_warshall(distance: Array) -> Array:
    for k in range(7):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1, :])
    return distance


@program(integers(9, 9, below=9) + 1)
def sudoku_conflicts(board: Array) -> tuple[Array, Array, Array]:
    one_hot = board[:, :, None] == np.arange(1, 10)
    blocks = one_hot.reshape(3, 3, 3, 3, 9).sum(axis=(1, 3))
    return (one_hot.sum(axis=0) > 1).any(axis=1), (one_hot.sum(axis=1) > 1).any(axis=1), np.any(blocks > 1, axis=-1)


@program(101)
def sieve_of_eratosthenes(limit: int) -> Array:
    n = np.arange(limit)
    divisors = np.arange(2, 11)
    composite = ((n % divisors[:, None] == 0) & (n > divisors[:, None])).any(axis=0)
    return ~composite & (n >= 2)


@program(normal(20, dtype="float64"), normal(20, seed=1, dtype="float64"))
def polar_and_back(x: Array, y: Array) -> tuple[Array, Array]:
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    return radius * np.cos(angle), np.rad2deg(angle) % 360
