"""Cases of the table of operations: Python sources on named arrays, by family.  They hold for NumPy and for traced arrays alike.

m (4, 6)    c (2, 3, 4)    q (3, 3)    v (5,)    w (6,)    s ()    o (1, 1)    z (0, 3)    e (0,)    g (4, 6) with NaN
k (4, 6) of bool    i (3,), j (2, 3) of indices -3 .. 2    h (2, 1, 2) of indices -3 .. 2
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import eqsat.numpy as enp
from tests.eqsat.tracing_cases import Array, sample

SHAPES = {"m": (4, 6), "c": (2, 3, 4), "q": (3, 3), "v": (5,), "w": (6,), "s": (), "o": (1, 1), "z": (0, 3), "e": (0,), "g": (4, 6)}
INDICES = {"i": (3,), "j": (2, 3), "h": (2, 1, 2)}
NAMES = ("enp", "np")

CASES: dict[str, str] = {
    "reductions": """
        enp.sum(m) | enp.sum(m, 0) | m.sum(-1, keepdims=True) | enp.sum(c, (0, 2)) | enp.sum(m, dtype='float64') | enp.sum(z)
        enp.sum(z, 0) | enp.sum(m, where=k) | enp.sum(m, 1, where=k[:, :1]) | enp.sum(m, 0, initial=3) | np.add.reduce(m) | enp.sum(s)
        enp.sum(m, ()) | enp.prod(m) | enp.prod(c, 1) | enp.prod(z, 0) | enp.prod(e) | enp.prod(m, 0, where=k)
        enp.prod(m, (0, 1), initial=2, keepdims=True) | np.multiply.reduce(m, axis=1) | m.prod() | enp.prod(o) | enp.prod(s)
        enp.max(m) | enp.max(c, (0, -1)) | enp.max(m, 0, initial=2, where=k) | enp.max(e, initial=4) | enp.max(z, 1)
        enp.max(m, initial=100) | enp.min(g) | enp.min(m, 1, keepdims=True) | enp.min(m, initial=-2, where=k) | enp.max(g, 0)
        enp.max(g, 1, initial=2) | enp.any(m) | enp.any(k, 0) | enp.any(z) | enp.any(g, 1) | enp.any(m > 4, 1, keepdims=True)
        enp.any(m > 4, 0, where=k) | k.any() | enp.all(m) | enp.all(k, 1) | enp.all(z, 0) | enp.all(k, (0, 1), keepdims=True)
        enp.all(m > -9, where=k) | k.all(0) | enp.all(s) | enp.count_nonzero(m) | enp.count_nonzero(k, 1)
        enp.count_nonzero(c, (0, 1), keepdims=True) | enp.count_nonzero(z, 0) | enp.argmax(m) | enp.argmax(m, 0)
        enp.argmax(c, 1, keepdims=True) | enp.argmax(m, keepdims=True) | enp.argmax(g) | enp.argmax(g, 1) | enp.argmin(m, -1)
        enp.argmin(g, 0) | enp.argmin(k, 1) | enp.argmax(k) | enp.argmax(s) | enp.argmax(z, 1) | m.argmin() | enp.argmax(o, 1)
        enp.argmax(m * m * -np.inf) | enp.argmin(m * 0) | enp.argmax(k & ~k, 1) | enp.argmax(s, 0) | enp.argmin(v.argmax())
    """,
    "folds of ufuncs": """
        np.bitwise_or.reduce(j) | np.bitwise_and.reduce(j, axis=1) | np.bitwise_xor.reduce(j, axis=None) | np.bitwise_or.reduce(h, (0, 2))
        np.bitwise_and.reduce(i, keepdims=True) | np.bitwise_or.reduce(j, 1, initial=4) | np.bitwise_xor.reduce(j, where=j > 0)
        np.bitwise_or.reduce(k) | np.bitwise_and.reduce(k, 1) | np.bitwise_xor.reduce(k, None) | np.bitwise_xor.reduce(k, 1, initial=True)
        np.bitwise_or.reduce(j.astype('uint8'), axis=None) | np.bitwise_and.reduce(j.astype('uint16')[:0]) | np.logical_xor.reduce(m)
        np.logical_xor.reduce(k, axis=None) | np.logical_xor.reduce(g, 1, where=k) | np.logaddexp.reduce(m) | np.logaddexp.reduce(m, 1)
        np.logaddexp.reduce(c, (0, 2), keepdims=True) | np.logaddexp.reduce(g, None) | np.logaddexp.reduce(m * -np.inf, 0)
        np.logaddexp.reduce(m * 900, 1) | np.logaddexp.reduce(m, 1, initial=2.0) | np.logaddexp.reduce(m, 1, where=k)
        np.logaddexp.reduce(z, 1) | np.logaddexp2.reduce(m) | np.logaddexp2.reduce(m * 900, None) | np.logaddexp.reduce(i)
        np.fmax.reduce(g) | np.fmin.reduce(g, 1) | np.fmax.reduce(g * np.nan, None)
        np.fmax.reduce(z, 0, initial=1.0) | np.fmax.reduce(g, initial=np.nan) | np.fmax.reduce(g * np.nan, initial=np.nan)
        np.logaddexp.reduce(w * 12.0 - 30) | np.logaddexp2.reduce(m - m[:, :1] * 9, 1, initial=-40) | enp.nanmax(g, 0, initial=np.nan)
        np.fmin.reduce(m, (0, 1), keepdims=True) | np.fmax.reduce(j, 1) | np.bitwise_or.reduce(s.astype('int64')) | np.fmax.reduce(s)
    """,
    "counts of bits": """
        enp.bitwise_count(i) | np.bitwise_count(j) | np.bitwise_count(k) | np.bitwise_count(s.astype('int64'))
        enp.bitwise_count((j * 37).astype('int8')) | enp.bitwise_count(j.astype('u1')) | np.bitwise_count((j * 0 + 128).astype('int8'))
        np.bitwise_count((j * 901).astype('int16')) | np.bitwise_count((j * 901).astype('uint16')) | np.bitwise_count((-j).astype('uint64'))
        np.bitwise_count((j * 99999).astype('int32')) | np.bitwise_count((-j).astype('uint32')) | np.bitwise_count(j.astype('int64') << 40)
    """,
    "statistics": """
        enp.mean(m) | enp.mean(c, (0, 1)) | enp.mean(m, 0, where=k) | enp.mean(e) | enp.mean(z, 0)
        enp.mean(m, 1, 'float64', keepdims=True) | enp.var(m) | enp.var(c, 1) | enp.var(m, 0, ddof=1) | enp.var(m, 1, correction=1)
        enp.var(o) | enp.var(o, ddof=1) | enp.var(e) | enp.var(m, 0, where=k) | enp.var(m, mean=enp.mean(m, keepdims=True))
        enp.var(m, 0, keepdims=True) | enp.var(m, ddof=0.5) | m.var(0) | enp.std(m) | enp.std(m, (0, 1), keepdims=True)
        enp.std(c, -1, ddof=1) | enp.std(g) | enp.std(m, 1, where=k) | m.std() | enp.std(z, 1) | enp.ptp(v) | enp.ptp(w, 0)
        enp.ptp(c * 1.0, (0, 2)) | enp.ptp(m + 1, 1, keepdims=True) | enp.average(m) | enp.average(m, 1) | enp.average(m, 1, w * w)
        enp.average(m, 1, w * w, keepdims=True) | enp.average(m, weights=m * m) | enp.average(c, (1, 0), (c[:, :, 0] * 3.0).T)
        enp.average(m, 0, returned=True) | enp.average(m, 1, w * w, returned=True) | enp.nansum(g) | enp.nansum(g, 0) | enp.nansum(m, 1)
        enp.nanprod(g, 1) | enp.nanprod(v) | enp.nanmax(g) | enp.nanmax(g, 0) | enp.nanmin(g, 1) | enp.nanmin(m)
        enp.nanmax(g * np.nan, 0) | enp.nanmin(g, initial=1.0) | enp.nanmean(g) | enp.nanmean(g, 0) | enp.nanmean(m, 1) | enp.nanvar(g)
        enp.nanvar(g, 0, ddof=1) | enp.nanvar(m) | enp.nanvar(g, 1, correction=1)
        enp.nanstd(g, 0, mean=enp.nanmean(g, 0, keepdims=True)) | enp.nanstd(g, 1) | enp.nanstd(g * np.nan, 0)
        enp.nanmean(g, 0, where=k) | enp.nanvar(g, 1, where=k) | enp.nansum(g, keepdims=True)
    """,
    "products": """
        enp.matmul(m, m.T) | m @ w | enp.matmul(w, m.T) | c @ c.mT | enp.matmul(v, v) | enp.matmul(c, m[:, :2]) | enp.matmul(z.T, z)
        z @ q | enp.matmul(k, k.T) | enp.matvec(c, c[:, 0]) | enp.vecmat(w, m.T) | enp.vecmat(c[:, :, 0], c) | enp.vecdot(m, w)
        enp.vecdot(c, c, axis=0) | enp.dot(m, w) | enp.dot(v, v) | enp.dot(c, m[:, :2]) | enp.dot(s, m) | enp.dot(m, s) | m.dot(m.T)
        enp.dot(q, c) | enp.vdot(m, m) | enp.dot(k, k.T) | enp.inner(m, m) | enp.inner(c, v[:4]) | enp.inner(v, v) | enp.inner(s, v)
        enp.inner(c, c) | enp.outer(v, w) | enp.outer(m, s) | enp.outer(v, e) | enp.tensordot(c, m, 0) | enp.tensordot(m, m.T, 1)
        enp.tensordot(m, m) | enp.tensordot(c, m, (2, 0)) | enp.tensordot(c, c, ([0, 2], [0, 2]))
        enp.tensordot(c, c, ((1, 0), (1, 0))) | enp.tensordot(z, q, 1) | enp.tensordot(q, q, (0, -1)) | enp.kron(v, w) | enp.kron(m, q)
        enp.kron(s, v) | enp.kron(q, v) | enp.kron(c, q) | enp.kron(z, v) | enp.cross(q, q[0]) | enp.cross(q, q[::-1])
        enp.cross(q, q[::-1], axis=0) | enp.cross(q, q, 0, 1, 0) | enp.cross(c[:, :, 0], q[1]) | enp.trace(m) | enp.trace(m, 1)
        enp.trace(c, -1, 1, 2) | enp.trace(k) | enp.trace(m, dtype='float64') | q.trace() | enp.trace(m, 9) | enp.diagonal(m)
        enp.diagonal(m, 2) | enp.diagonal(m, -3) | enp.diagonal(c, 0, 0, 2) | enp.diagonal(c, 1, 2, 1) | enp.diagonal(m, 7)
        enp.diag(m) | enp.diag(m, -1) | enp.diag(v) | enp.diag(v, 2) | enp.diag(v, -3) | enp.diag(e, 1) | enp.diagflat(q)
        enp.diagflat(v, 1) | enp.diag(v > 0) | q.diagonal(1) | enp.linalg.cross(q, q[::-1], axis=0) | enp.linalg.diagonal(c, offset=1)
        enp.linalg.trace(c) | np.linalg.trace(c, offset=-1, dtype='float64') | enp.linalg.outer(v, w) | enp.linalg.outer(m, w)
        enp.linalg.tensordot(c, m, axes=0) | enp.linalg.tensordot(m, m) | enp.linalg.vecdot(c, c, axis=0) | np.linalg.vecdot(m, w)
        enp.linalg.matmul(c, c.mT) | enp.linalg.matrix_transpose(c)
    """,
    "einsum": """
        enp.einsum('ij,kj->ik', m, m) | enp.einsum('ij,kj', m, m) | enp.einsum('ij->ji', m) | enp.einsum('ba', m) | enp.einsum('ii', q)
        enp.einsum('ii->i', q) | enp.einsum('ij->', m) | enp.einsum('i,j->ij', v, w) | enp.einsum('i,i', v, v)
        enp.einsum('...j,j->...', c, v[:4]) | enp.einsum('...ij,...kj->...ik', c, c) | enp.einsum('i...->...', c)
        enp.einsum(' i j , j -> i ', m, w) | enp.einsum('ij,ij->ij', m, m[:1]) | enp.einsum('ijk,ijl,lm->km', c, c, m)
        enp.einsum('ab,bc,cd,de->ae', m, m.T, m, w[:, None]) | enp.einsum('i,i,i', v, v, v) | enp.einsum('i,j,k->kij', v, w, v)
        enp.einsum(m, [0, 1], m, [2, 1], [0, 2]) | enp.einsum(c, [..., 1], v[:4], [1]) | enp.einsum(m, [1, 0])
        enp.einsum('ii,ij,j->i', q, q, q[0]) | enp.einsum('ij,jk', z, q) | enp.einsum('ij->j', z) | enp.einsum('i->', k[0])
        enp.einsum(',', s, s) | enp.einsum('ij,jk,kl->il', z, q, q) | enp.einsum('i...,i...', q, q) | enp.einsum('ij,kj->ik', k, k)
        enp.einsum('ij,j', m, w, dtype='float64') | enp.einsum('...,...', m, w, optimize=True)
        enp.einsum('bij,bjk,bk->bi', c, c.mT, c[:, :, 0], optimize='optimal')
    """,
    "assembling": """
        enp.split(m, 2) | enp.split(m, 3, 1) | enp.split(m, [1, 3], 0) | enp.split(m, [2, 9], -1) | enp.array_split(v, 3)
        enp.array_split(m, 4, 1) | enp.array_split(v, 7) | enp.hsplit(m, 2) | enp.hsplit(w, 3) | enp.vsplit(m, 2) | enp.dsplit(c, 2)
        enp.unstack(c) | enp.unstack(m, axis=1) | enp.split(z, 3, 1) | enp.hstack([m, m]) | enp.hstack((v, w)) | enp.hstack([c, c])
        enp.vstack([m, w]) | enp.vstack((v, v)) | enp.dstack([m, m]) | enp.dstack((v, v)) | enp.dstack([c, c])
        enp.column_stack([v, v]) | enp.column_stack((m, m[:, 0])) | enp.hstack([m, k]) | enp.hstack([s, s]) | enp.vstack(m)
        enp.hstack([v, v], dtype='float64') | enp.block([[m, m], [m, m]]) | enp.block([v, w]) | enp.block([[c, c]]) | enp.block(m)
        enp.block([[q, enp.zeros((3, 2))], [np.ones((2, 3)), enp.eye(2)]]) | enp.block([[s, s], [s, s]]) | enp.append(v, w)
        enp.append(m, m, 0) | enp.append(m, 3) | enp.delete(v, 1) | enp.delete(v, -2) | enp.delete(m, [0, 2], 0)
        enp.delete(m, slice(0, 5, 2), 1) | enp.delete(m, 3) | enp.delete(v, [1, 1]) | enp.delete(v, [])
        enp.delete(v, [True, False, True, False, False]) | enp.delete(c, slice(None), 2) | enp.insert(v, 2, 7)
        enp.insert(v, [1, 3], 7) | enp.insert(m, 1, w, 0) | enp.insert(m, 1, v[:4], 1) | enp.insert(v, 5, [1, 2]) | enp.insert(v, -1, 3)
        enp.insert(v, [2, 2], [6, 7]) | enp.insert(m, [0, 5], q[:2, :2].sum(), 1) | enp.insert(v, slice(0, 4, 2), 9)
        enp.insert(m, 1, m[:2], 0) | enp.insert(v, [4, 0], [6, 7]) | enp.insert(m, [1], m[:2], 0) | enp.broadcast_arrays(m, w)
        enp.broadcast_arrays(s, v) | enp.meshgrid(v, w) | enp.meshgrid(v, w, indexing='ij') | enp.meshgrid(v, w, s)
        enp.meshgrid(v, w, sparse=True) | enp.meshgrid(v) | enp.meshgrid(v, [1, 2], v, indexing='ij', sparse=True) | enp.meshgrid(v, e)
        enp.rot90(m) | enp.rot90(m, 2) | enp.rot90(m, -1) | enp.rot90(m, 4) | enp.rot90(c, 1, (1, 2)) | enp.rot90(c, 3, (2, 0))
        enp.fliplr(m) | enp.flipud(m) | enp.flipud(v) | enp.atleast_1d(s) | enp.atleast_2d(v) | enp.atleast_3d(m) | enp.atleast_3d(v)
        enp.atleast_2d(s, v, c) | enp.atleast_3d(s) | enp.repeat(m, [1, 0, 2, 3], 0) | enp.repeat(c, [0, 2], axis=0)
        enp.repeat(q, range(9)) | enp.repeat(v, (2,)) | enp.rollaxis(c, 2) | enp.rollaxis(c, 0, 3) | enp.rollaxis(c, 1, -1)
        np.rot90(q) | np.split(m, 2) | np.lib.stride_tricks.sliding_window_view(m, 2, 0) | np.subtract.outer(v, m) | np.add.outer(v, [1, 2])
        np.roll(q, (1, 2), (0, 0)) | enp.roll(m, (1, 3), 1)
        np.lib.stride_tricks.sliding_window_view(c, (2, 1, 3)) | np.lib.stride_tricks.sliding_window_view(m, (2, 2), (-1, 1)).sum(-1)
    """,
    "indexing": """
        m[i] | m[i, :] | m[:, i] | m[i, i] | m[i, 1] | m[1, i] | c[i % 2, :, i] | c[:, i, i] | c[0, :, i] | c[:, i % 3, 1] | c[j % 2]
        c[..., j] | c[None, j % 2, ..., 0] | m[j, i] | m[h, i[:2]] | c[h % 2, :, None, j[:, :2] % 3] | v[i[0]] | m[i[0], 1:3]
        m[::-1, i][::2] | m[1:, i] | m[::2, j % 3] | v[[0, 2, 4]] | v[[4, 3, 2, 1]] | m[[0, 2]] | m[[-1, 0, 1], ::2]
        m[[[0, 1], [2, 3]]] | m[[0, 1], [2, 3]] | m[[3, 1, 1], i] | v[[]] | m[np.array([1]), :0] | m[np.arange(4), np.arange(4)]
        m[np.arange(4)[:, None], [0, 2]] | m[np.eye(4, 6, dtype=bool)] | v[v[:0].shape[0]] | m[np.array([True, False, True, True])]
        c[:, np.ones((3, 4), bool)] | c[[True, False], :, i] | m[:, np.array(2)] | m[np.array(-1), i]
        m.reshape(2, 2, 3, 2, 1)[:, i % 2] | m.reshape(2, 2, 3, 2, 1)[i % 2, :, i % 3] | m.reshape(2, 2, 3, 2)[i % 2, 0, i % 3, i % 2]
        m[:, i[:0]] | c[:, :, i][..., 0] | m[i][i] | v[i] * 2 + v[0] | m[m.argmax(0) % 4, 0] | m[m.argmax(0)] | v[(v > 2) + 0]
        v[i % 5] | z[:, i] | m[(slice(None), [1, 2])] | c[1, [[0], [2]], [0, 3]] | c[[[1]], :, [0, 3]] | c[:, None, [0, 2]]
        c[..., None, [0, 2]] | c[[1, 0], ..., 2] | enp.take(m, i) | enp.take(m, i, 0) | enp.take(m, i, axis=1) | enp.take(c, j, 1)
        enp.take(m, 3) | enp.take(m, [0, 5], 1) | m.take(i) | enp.take(m, i * 9, 1, mode='wrap') | enp.take(m, i * 9, 0, mode='clip')
        enp.take(v, j, mode='wrap') | np.take(v, i) | enp.take(c, i[0], 2) | enp.take_along_axis(m, enp.argmax(m, 1, keepdims=True), 1)
        enp.take_along_axis(q, j[:1] + 0 * j[:1], 0) | enp.take_along_axis(m, j[:1, :2], 1)
        enp.take_along_axis(m, m.argmin(0, keepdims=True), 0) | enp.take_along_axis(v, i, 0)
        enp.take_along_axis(c, h[:, :, :1], axis=1) | enp.take_along_axis(m, i, None) | enp.take_along_axis(v, i)
        enp.choose(i % 2, [i, i * 2]) | enp.choose(i % 2, np.array([[5, 6, 7], [1, 2, 3]]))
        enp.choose(j, [j, 1, i], mode='clip') | enp.choose(i, (v[:3], 0, s), mode='wrap')
        (v > 2).astype('int64').choose([v, -v]) | enp.select([v > 2, v < 0], [v, v * 2]) | enp.select([m > 1], [m], 7)
        enp.select([k, m > 0], [m, 1], -1.5) | np.select([v > 0], [v], v * 3)
        enp.select([m > 1], [m.astype('uint8')], -1) | enp.choose(i % 2, [i.astype('uint8'), 300])
    """,
    "padding": """
        enp.pad(m, 2, 'edge') | enp.pad(m, ((1, 9), (0, 2)), 'edge') | enp.pad(v, 1, 'wrap')
        enp.pad(m, ((5, 0), (13, 2)), mode='wrap') | enp.pad(v, 3, 'reflect') | enp.pad(m, (9, 11), 'reflect')
        enp.pad(o, 2, 'reflect') | enp.pad(v, (4, 2), 'symmetric') | enp.pad(m, ((11, 3), (0, 0)), 'symmetric')
        enp.pad(o, ((1, 0), (2, 3)), 'symmetric') | enp.pad(o, 3, 'wrap') | enp.pad(m, {0: 1, -1: (2, 3)}) | enp.pad(m, {1: 2}, 'edge')
        enp.pad(m, 1, constant_values=((1, 2), (3, 4))) | enp.pad(m, ((1, 2), (0, 1)), constant_values=(5, 6))
        enp.pad(v, 2, constant_values=(1.7, -1)) | enp.zeros_like(enp.pad(z, 1, 'empty')) | enp.pad(z, ((0, 0), (1, 1)), 'edge')
        np.pad(c, 1, 'reflect') | enp.pad(z, 1, constant_values=(4, 5)) | enp.pad(s, 3, 'wrap') | enp.pad(m, 0, 'symmetric')
        np.pad(k, 1, 'symmetric') | enp.pad(e, (2, 1))
    """,
    "differences": """
        enp.diff(m) | enp.diff(m, axis=0) | enp.diff(m, 2) | enp.diff(v, 4) | enp.diff(v, 7) | enp.diff(m, 0) | enp.diff(k)
        enp.diff(v, prepend=1) | enp.diff(m, prepend=m[:, :2], append=0) | enp.diff(m, 1, 0, append=m[:1]) | enp.diff(e)
        enp.diff(z, axis=1) | enp.ediff1d(m) | enp.ediff1d(v, 1) | enp.ediff1d(v, to_begin=[1, 2], to_end=[3]) | enp.ediff1d(v, v[:1])
        np.diff(k, 2) | enp.gradient(v * 1.5) | enp.gradient(m * 1.5) | enp.gradient(m * 1.5, axis=0) | enp.gradient(m * 1.0, 2.0, 0.5)
        enp.gradient(v * 1.0, 3, edge_order=2) | enp.gradient(m * 1.0, axis=(1, 0), edge_order=2) | enp.gradient(m, axis=1)
        enp.gradient(v * 1.0, [0.0, 1.0, 3.0, 3.5, 7.0]) | enp.gradient(v * 1.0, w[:5] * w[:5] + [0, 40, 80, 120, 160], edge_order=2)
        enp.gradient(m * 1.0, [0.0, 1.0, 4.0, 5.0], 2.0) | enp.gradient(v[:2] * 1.0) | enp.gradient(v[:2] * 1.0, [1.0, 3.0])
        enp.gradient(v[:3] * 1.0, [1.0, 3.0, 4.5], edge_order=2) | np.gradient(c * 1.0, axis=-1) | enp.gradient(s * 1.0)
        enp.convolve(v, w) | enp.convolve(v, w, 'same') | enp.convolve(w, v[:2], 'same') | enp.convolve(w, v[:3], 'valid')
        enp.convolve(v, s) | enp.convolve(v[:4], w, 'same') | enp.convolve(v[:1], w[:1]) | enp.correlate(v, w) | enp.correlate(w, v[:2])
        enp.convolve(s, s) | enp.correlate(v, w, 'same') | enp.correlate(w, v[:4], 'same') | enp.correlate(v[:4], w, 'full')
        enp.correlate(w, v, mode='full') | enp.convolve(v > 0, w > 0) | np.convolve(v, [1, 2, 1], 'valid')
        enp.correlate(v[:3], w[:3], 'same') | enp.unwrap(v * 2) | enp.unwrap(m, axis=0) | enp.unwrap(c * 2.0, 4.0, 1, period=3.0)
        enp.unwrap(m, period=5) | enp.unwrap(m, period=4, discont=3) | np.unwrap(v * 1.5, axis=-1) | enp.unwrap(v[:1])
    """,
    "sorted tables": """
        enp.searchsorted(enp.sort(w), v) | enp.searchsorted(enp.sort(w), m, 'right') | enp.searchsorted(enp.sort(w), s)
        enp.searchsorted(enp.sort(w), 1.5) | enp.searchsorted(enp.sort(c.ravel()), c, side='right')
        enp.searchsorted(v, w, sorter=enp.argsort(v))
        enp.searchsorted(enp.sort(enp.tile(w, 9)), m) | enp.searchsorted(enp.sort(enp.tile(w, 9)), m, 'right') | enp.searchsorted(e, v)
        enp.searchsorted(enp.sort(g.ravel()), g) | enp.searchsorted(enp.sort(enp.tile(g.ravel(), 2)), g, 'right')
        enp.searchsorted(enp.sort(v), z)
        enp.searchsorted([0, 2, 4], m) | enp.sort(w).searchsorted(w) | enp.digitize(m, enp.sort(w))
        enp.digitize(m, enp.sort(w), right=True)
        enp.digitize(m, enp.sort(w)[::-1]) | enp.digitize(v, enp.sort(w)[::-1], True) | enp.digitize(m, [4, 2, 0]) | enp.digitize(s, [0, 1])
        enp.digitize(g, [-1.0, 0.0, 2.5]) | np.digitize(w, enp.sort(v)) | enp.digitize(w, v[:1]) | enp.interp(m, [0, 1, 3], [5, 2, 4])
        enp.interp(w, [0.5, 1, 3], v[:3]) | enp.interp(v, np.arange(5), v) | enp.interp(v, np.arange(5), v, left=-1, right=9)
        enp.interp(s, [0, 1], [1, 3]) | enp.interp(w, v[:1], v[1:2]) | enp.interp(g, [0, 1, 2], [0, 1, 4]) | np.interp(v, [1, 2], [3, 5])
        enp.interp(w, [0.25, 2, 1], [5.0, 6, 9], period=2.5) | enp.interp(0.5, np.arange(5), v) | enp.interp(v, [0, 1], [1j, 2])
        np.maximum.accumulate(v) | np.maximum.accumulate(m, axis=1) | np.minimum.accumulate(c, 1) | np.minimum.accumulate(g)
        enp.maximum.accumulate(g, axis=-1) | np.maximum.accumulate(e) | np.minimum.accumulate(k) | np.maximum.accumulate(s)
    """,
    "parts": """
        enp.angle(m) | enp.angle(c, deg=True) | enp.angle(s) | enp.angle(g) | enp.angle(m * 1j) | enp.modf(m * 1.25) | enp.modf(v)
        enp.modf(g) | np.modf(s) | enp.isposinf(m) | enp.isneginf(v / 0.0) | enp.isposinf(v / 0.0) | enp.isposinf(k) | enp.isreal(m)
        enp.iscomplex(c) | enp.isreal(g) | np.iscomplex(v * 2j) | enp.spacing(m) | enp.spacing(g / 0.0) | np.spacing(v * 1e-3)
        enp.nancumsum(g) | enp.nancumsum(g, 1) | enp.nancumprod(v) | enp.nancumsum(m, axis=0, dtype='float64') | enp.nancumprod(g, 0)
        enp.bitwise_not(v) | m.reshape(3, 8, order='F') | enp.reshape(c, (4, -1), order='F') | m.ravel('F') | c.flatten('F')
        enp.ravel(m, order='F') | enp.reshape(z, (3, 0), order='F') | enp.reshape(s, (1, 1), order='F') | v * enp.hanning(5)
        m + enp.shape(m)[0] * enp.ndim(m) + enp.size(m) | m[enp.ix_([0, 2], [1, 3])] | m[enp.tril_indices(4, 0, 6)]
        m[enp.triu_indices(4, 1, 6)] | q[enp.diag_indices(3)] | v * enp.bartlett(5) + enp.blackman(5)
        w * enp.hamming(6) + enp.kaiser(6, 3.5)
        m + enp.zeros(enp.broadcast_shapes((4, 1), (6,))) | enp.row_stack([v, v]) | m + enp.indices((4, 6))[1]
    """,
    "polynomials": """
        enp.polyadd(v, w) | enp.polyadd(w, 3) | enp.polysub(v, w) | enp.polysub(w[:2], v) | enp.polyder(v) | enp.polyder(w, 2)
        enp.polyder(v, 7) | enp.polyder(v, 0) | enp.polyint(v) | enp.polyint(v, 2) | enp.polyint(v, 2, [3, 4.5]) | enp.polyint(v, k=2)
        enp.polyint(v, 0) | np.polyadd([1, 2], v) | np.polyint(w, 3)
    """,
    "derived": """
        enp.cov(m) | enp.cov(m, rowvar=False) | enp.cov(v) | enp.cov(v, w[:5]) | enp.cov(m, bias=True) | enp.cov(m, m[:2], ddof=2)
        enp.cov(m[:0]) | enp.unravel_index((m > 3).argmax(), m.shape)
        np.cov(q, dtype='float32') | enp.corrcoef(m.real) | enp.corrcoef(v.real, w[:5].real) | enp.corrcoef(v.real) | enp.trapezoid(m)
        enp.trapezoid(m, dx=0.5, axis=0) | enp.trapezoid(v, w[:5]) | enp.trapezoid(m, m * m) | enp.trapezoid(c, [0.0, 1.0, 4.0], axis=1)
        enp.polyval(v, w) | enp.polyval([1, 2, 3], m) | enp.polyval(v, s) | enp.isin(m, v) | enp.isin(v, [1, 2, 3], invert=True)
        enp.isin(m, e) | enp.resize(v, (3, 4)) | enp.resize(m, 7) | enp.resize(v, (2, 0)) | enp.unravel_index(m.real.argmax(), m.shape)
        enp.unravel_index(i % 24, (4, 6)) | enp.ravel_multi_index((i % 4, i % 6), (4, 6))
        enp.ravel_multi_index((i, i[::-1]), (4, 2), mode='wrap') | enp.ravel_multi_index((i, i), (4, 2), mode=('clip', 'wrap'))
        enp.array_equal(m, m * 1) | enp.array_equal(m, v) | enp.array_equal(g, g) | enp.array_equal(g, g, equal_nan=True)
        enp.linalg.multi_dot([m, m.T, m, w]) | enp.linalg.multi_dot([v[:4], m]) | m.astype(enp.result_type(m, w))
        np.linalg.multi_dot([q, q, q])
    """,
    "creation": """
        v * enp.linspace(0, 1, 5, dtype='float32') | m + enp.identity(6)[:4] | q @ enp.tri(3, k=1)
        v + enp.vander([1, 2, 3, 4, 5], 1)[:, 0] | enp.logspace(0, 1, 5) * v | v / enp.geomspace(1, 16, 5)
        enp.zeros_like(enp.empty_like(m)) | enp.full_like(c, 3) | enp.full_like(m, w) | enp.full_like(m, w[0], shape=(2, 3))
        enp.full_like(v, 1.7, dtype=int) | enp.zeros_like(m, shape=(3,)) | enp.ones_like(m, "int8", shape=2)
        np.zeros_like(np.empty_like(v)) | enp.zeros_like(z) | enp.ones_like(k) | enp.full((2, 3), s) | enp.full((4, 6), w, 'int8')
        enp.full(3, v[0]) | enp.linspace(s, w, 4) | enp.linspace(0, v, 3, endpoint=False, axis=1) | enp.linspace(s, 2.5, 1)
        enp.linspace(v, s, 5, dtype='int32') | enp.linspace(w, 1, 0) | enp.vander(v) | enp.vander(w, 3, increasing=True) | enp.vander(v, 0)
    """,
    "arrays as they are": """
        enp.asanyarray(m) + 1 | enp.ascontiguousarray(m.T) | enp.ascontiguousarray(c, dtype='float64')
    """,
    "places of numbers": """
        enp.nanargmax(g) | enp.nanargmax(g, 1) | enp.nanargmin(g, 0, keepdims=True) | enp.nanargmin(g) | enp.nanargmin(m, 1)
        enp.nanargmax(m) | enp.nanargmax(g[:, ::-1], -1)
    """,
    "bits and bytes": """
        enp.packbits(k) | enp.packbits(k, 1) | enp.packbits(k, axis=0, bitorder='little') | enp.packbits(m, -1) | enp.packbits(e > 0)
        enp.unpackbits(m.astype('uint8')) | enp.unpackbits(m.astype('uint8'), 1) | enp.unpackbits(v.astype('uint8'), count=-3)
        enp.unpackbits(m.astype('uint8'), axis=0, count=11, bitorder='little') | enp.unpackbits(v.astype('uint8'), count=50)
        enp.gcd(m, 12) | enp.gcd(j, i) | enp.lcm(m, m[:, ::-1]) | enp.ldexp(m, j[0, 0]) | enp.ldexp(w, i[:, None]) | enp.frexp(m)
        np.logical_or.accumulate(k) | np.logical_and.accumulate(k, axis=1) | np.logical_or.accumulate(m, 1)
        np.bitwise_xor.accumulate(m, 1)
        np.bitwise_and.accumulate(m) | np.add.reduceat(m, [0, 3, 5], axis=1) | np.maximum.reduceat(w, [4, 0, 2])
        np.add.reduceat(v, np.abs(i))
        np.logical_or.reduceat(k, [0, 2]) | np.multiply.reduceat(m, [1, 1, 3])
    """,
    "more frames": """
        enp.pad(m, 2, mode='mean') | enp.pad(m, ((1, 2), (0, 3)), mode='maximum') | enp.pad(c, 1, 'minimum', stat_length=2)
        enp.pad(v, (3, 1), mode='mean', stat_length=((2, 9),)) | enp.pad(m, 2, mode='linear_ramp') | enp.pad(z, 1, mode='mean')
        enp.pad(v, (2, 3), mode='linear_ramp', end_values=(4, 7)) | enp.pad(m, ((1, 0), (2, 2)), 'linear_ramp', end_values=3)
        enp.pad(v, 1, mode='maximum', stat_length=0) | enp.pad(m, {1: (2, 0)}, mode='maximum') | enp.pad(s, 1, mode='mean')
    """,
    "grids and orders": """
        enp.histogram2d(v, v[::-1], bins=4, range=[[-3, 3], [-3, 3]]) | enp.histogram2d(v, w[:5], bins=[3, 40], range=[[-3, 3], [0, 9]])
        enp.histogram2d(v, w[:5], bins=[[-9, 0, 2, 9], 3], range=[[0, 1], [0, 9]], weights=v)
        enp.histogram2d(v, v, [-3, 0, 3], density=True)
        enp.histogram_bin_edges(m, 4, (-2, 2)) | enp.histogram_bin_edges(m, [1, 2, 4]) | enp.lexsort((v, v > 0))
        enp.lexsort((m, k), axis=0)
        enp.lexsort((w,)) | enp.sort_complex(v) | enp.array_equiv(m, m[:1]) | enp.array_equiv(m, m) | enp.array_equiv(m, v)
        m[:, :4][enp.triu_indices_from(m[:, :4], 1)] | m[enp.tril_indices_from(m)] | q[enp.diag_indices_from(q)] | enp.diag_indices_from(m)
        enp.compress([True, False, True], m, axis=0) | enp.compress([0, 1, 0, 1], m[:, 0]) | enp.compress([0] * 9 + [1], m)
        enp.extract(np.arange(24).reshape(4, 6) % 5 == 0, m) | enp.compress([0, 0, 0, 0, 1], m, axis=0) | enp.r_[v, 0, 2:5, w]
        enp.c_[v, v * 2]
        enp.r_[m, m] | enp.c_[m, m[:, 0], m] | enp.r_[1.5, v, [2, 3]] | enp.c_[q, [1, 2, 3]]
    """,
    "equations": """
        enp.linalg.lstsq(m.T, w) | enp.linalg.lstsq(m.T[:, :2], m.T) | enp.linalg.tensorinv((q + np.eye(3) * 9).reshape(3, 1, 3), 1)
        enp.linalg.tensorsolve(q.reshape(3, 3, 1) + np.eye(3).reshape(3, 3, 1) * 9, v[:3]) | enp.linalg.tensorinv(c)
        enp.polyfit(v, w[:5], 1)
        enp.polyfit(v, m[:, :5].T, 1, w=np.arange(5.0)) | enp.polyfit(v * 2, w[:5], 0)
        enp.linalg.tensorsolve((q + np.eye(3) * 9).reshape(3, 1, 3), v[:3], axes=(2,)) | enp.i0(v)
    """,
    "pieces by functions": """
        np.piecewise(m, [m < 0, m >= 2], [lambda x: x * x, 3, lambda x: x + 1]) | np.piecewise(v, v > 1, [1, 0])
        np.piecewise(v, [v > 1], [np.exp, 0])
        np.apply_along_axis(np.sum, 0, m) | np.apply_along_axis(np.sort, 1, m) | np.apply_along_axis(lambda r: r[:2, None] * r[:3], 0, m)
        np.apply_along_axis(np.cumsum, -1, c) | np.apply_over_axes(np.sum, c, [0, 2]) | np.apply_over_axes(np.max, c, (-1,))
        np.piecewise(m, [k, ~k], [lambda x, y: x + y, 2], 5) | np.piecewise(m, [k, ~k], [1, 2, 3, 4]) | np.piecewise(s, s > 0, [1, -1])
        np.piecewise(m, [m < 0], [lambda x: x * enp.abs(x)]) | np.apply_over_axes(np.sum, c, [3])
        np.piecewise(m, [m > 0, k], [lambda x: np.where(x > 1, x, 2) * s, 7])
    """,
    "what is refused as by NumPy": """
        np.maximum.accumulate(m, dtype='float64') | np.minimum.accumulate(v, dtype='int64')
        np.add.accumulate(m, axis=None) | np.add.accumulate(s)
        enp.compress([[1, 0]], m, 0) | enp.pad(m, 1, mode='mean', end_values=3) | enp.pad(m, 1, mode='edge', constant_values=2)
        enp.pad(k, 2, mode='mean') | enp.histogram2d(v, w[:5], 4, [None, [0, 9]]) | enp.histogram2d(v, w[:5], [3, 4], [[0, 9], None])
        enp.histogram_bin_edges(m, 4, (-1, 1), weights=np.ones(24)) | m.compress([1, 0, 1], axis=0) | enp.lexsort([v, w[:5]])
        enp.asfortranarray(m.T) + 1 | enp.require(m, 'float64') * 2 | np.logical_xor.reduceat(k, [0, 2])
        enp.polyfit(v * 1.0, w[:5] * 1.0, np.int64(2))
    """,
}


def sources() -> list[tuple[str, str]]:
    """(family, source) of every case."""
    return [
        (family, source.strip()) for family, text in CASES.items() for line in text.strip().splitlines() for source in line.split(" | ")
    ]


def given(source: str, dtype: str) -> dict[str, Array]:
    """The arrays that a source names."""
    return {name: array(name, dtype) for name in dict.fromkeys(re.findall(r"(?<![\w.'])[a-z](?![\w'=])", source)) if is_array(name)}


def is_array(name: str) -> bool:
    return name in SHAPES or name in INDICES or name == "k"


def array(name: str, dtype: str) -> Array:
    if name in INDICES:
        return np.asarray(np.random.default_rng(3).integers(-3, 3, INDICES[name]))
    if name == "k":
        return sample((4, 6), "bool", 5)
    found = np.asarray(sample(SHAPES[name], dtype, ord(name)))
    if name == "g" and found.dtype.kind == "f":
        found[1, 2] = found[3, 0] = np.nan
    return found


def function(source: str, names: list[str]) -> Any:
    """The source as a function of the arrays that it names."""
    code = compile(source, source, "eval")
    return lambda *arrays: eval(code, {"enp": enp, "np": np, **dict(zip(names, arrays, strict=True))})
