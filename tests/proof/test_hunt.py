"""Hundreds of random certificates, attacked: nowhere may an error be larger than what is proven.

The attack knows nothing of the proof. It samples in float64, crowds points at kinks, ends, borders of
cells and breakpoints of heads, polishes the worst by golden sections, and measures errors in 200 bits
(``oracle``). Then it runs the network in the certificate's dtype, anchors shuffled and sums in several
orders, and compares with the exact values of the network. All is seeded: what fails fails again.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from flint import arb

import anchorhead
from anchorhead import Attention, Box, Head, Linear, Network, Softmax, Term, certify, check
from anchorhead.run.numpy import evaluate
from anchorhead.theorems import multi_head, one_layer_softmax, single_head, two_layers
from networks import random_head, random_linear, relu_network

_spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

GOLD = (math.sqrt(5) - 1) / 2

TIGHT = 1.1


# The attack


class Hunt:
    """One certificate, and the points at which it is attacked."""

    def __init__(self, network, target, domain, seed, *, dtype="float64", budget=400, **options):
        self.rng = np.random.default_rng([seed, 17])
        self.network, self.dtype = network, dtype
        self.corners = options.pop("corners", ())
        self.snap = options.pop("snap", ())
        self.count = options.pop("count", 1200)
        self.certificate = certify(
            network, target, domain, dtype=dtype, budget=budget, tightness=TIGHT, **options
        )
        self.record = self.certificate.record
        self.targets = oracle.Targets(self.record["target"])
        low, high = (np.array(self.record["domain"][end]) for end in ("low", "high"))
        self.alone = low.ndim == 1
        rows, width = network.shape_in
        self.shape = ((rows or 1) if self.alone else len(low), width)
        self.low = np.broadcast_to(low, self.shape).ravel()
        self.high = np.broadcast_to(high, self.shape).ravel()
        self.varying = np.flatnonzero(self.low < self.high)

    def run(self):
        """Everything that must hold."""
        assert self.certificate.proven, self.certificate.statement
        verdict = check(self.certificate, self.network)
        assert verdict.valid, verdict.reason
        worst = self.attack()
        self.check_attained(worst)
        self.check_rounding()
        return self.certificate

    # Errors in exact arithmetic

    def wanted(self, point):
        """The target's values at X, row by row, exactly."""
        if not self.alone:
            return self.targets.exactly(point)
        kept = self.network.shape_out[0] or self.shape[0]
        tokens = np.reshape(point, self.shape)[:kept]
        return [value for token in tokens for value in self.targets.exactly(token)]

    def network_at(self, point):
        """The network's values at X, row by row, exactly."""
        rows = oracle.network_values(self.network, np.reshape(point, self.shape))
        return [value for row in rows for value in row]

    def error(self, point):
        """The largest |network − target| of any entry, exactly."""
        with oracle.precisely():
            apart = zip(self.network_at(point), self.wanted(point), strict=True)
            return max((abs(a - b) for a, b in apart), key=lambda e: float(e.mid()))

    def rough_errors(self, points):
        X = points.reshape(-1, *self.shape)
        out = evaluate(self.network, X)
        if self.alone:
            tokens = X[:, : out.shape[1]].reshape(-1, self.shape[1])
            told = self.targets.roughly(tokens).reshape(out.shape)
        else:
            told = self.targets.roughly(points).reshape(out.shape)
        apart = np.abs(out - told)
        assert not np.isnan(apart).any(), "the target is undefined at a point of the domain"
        return apart.reshape(len(points), -1).max(axis=1)

    def attack(self):
        """Search for an error above what is proven; the largest that was found."""
        points = self.points()
        rough = self.rough_errors(points)
        order = np.argsort(-rough)
        worst = []
        for i in order:  # some of the worst, apart from each other
            near = [np.abs(points[i] - points[j])[self.varying] for j in worst]
            span = (self.high - self.low)[self.varying]
            if all((gap > 0.02 * span).any() for gap in near):
                worst.append(i)
            if len(worst) == 3:
                break
        chosen = [points[i] for i in worst]
        brackets = [self.bracket(points, i) for i in worst]
        more = [*points[order[:6]], *points[self.rng.integers(len(points), size=6)]]
        found = [self.error(point) for point in (*chosen, *more)]
        found += [self.polished(*pair) for pair in zip(chosen, brackets, strict=True)]
        proven = arb(self.certificate.approximation)
        for error in found:
            assert not error > proven, (
                f"{self.certificate}: error {error.str(20)} is above "
                f"{self.certificate.approximation!r}"
            )
        return max(float(error.mid()) for error in found)

    def bracket(self, points, i):
        """On a line, the points to the left and to the right of one; else nothing."""
        if len(self.varying) != 1:
            return None
        (axis,) = self.varying
        line = points[:, axis]
        left, right = line[line < line[i] - 1e-13], line[line > line[i] + 1e-13]
        return left.max(initial=self.low[axis]), right.min(initial=self.high[axis])

    def polished(self, point, bracket):
        """Golden sections: between neighbours, or along each axis in turn, on shorter stretches."""
        best, point = self.error(point), np.array(point)
        if bracket is not None:
            stretches = [(self.varying[0], *bracket)]
        else:
            stretches = [
                (axis, point[axis] - part * span, point[axis] + part * span)
                for part in (2e-2, 1e-3)
                for axis in self.varying
                for span in [self.high[axis] - self.low[axis]]
            ]
        for axis, a, b in stretches:
            a, b = max(a, self.low[axis]), min(b, self.high[axis])
            for _ in range(18 if bracket is not None else 8):
                tried = []
                for x in (b - GOLD * (b - a), a + GOLD * (b - a)):
                    at = point.copy()
                    at[axis] = min(max(x, self.low[axis]), self.high[axis])
                    tried.append((self.error(at), at))
                (left, _), (right, _) = tried
                a, b = (a, tried[1][1][axis]) if left > right else (tried[0][1][axis], b)
                for error, at in tried:
                    if error > best:
                        best, point = error, at
        return best

    def points(self):
        """Points of the domain, most of them where something may happen."""
        low, high, rng = self.low, self.high, self.rng
        span = high - low
        made = [low + span * rng.random((self.count // 2, len(low)))]
        if len(self.varying) == 1:
            line = np.repeat(low[None], self.count, axis=0)
            (axis,) = self.varying
            line[:, axis] = np.linspace(low[axis], high[axis], self.count)
            made.append(line)
        steps = np.concatenate([[0.0], 2.0 ** -np.arange(2, 54)])
        steps = np.concatenate([-steps, steps])
        for axis in self.varying:
            places = self.places(axis)
            crowd = np.repeat(places, len(steps)) + np.tile(steps, len(places)) * span[axis]
            crowd = np.concatenate([crowd, np.nextafter(places, -np.inf)])
            if len(crowd) > self.count and len(self.varying) > 1:
                crowd = rng.choice(crowd, self.count, replace=False)
            others = low + span * rng.random((len(crowd), len(low)))
            others[:, axis] = crowd
            made.append(others)
        ends = [sorted({low[a], high[a]}) for a in self.varying][:6]
        for corner in product(*ends):
            point = low.copy()
            point[self.varying[:6]] = corner
            made.append(point[None])
        if len(self.varying) > 1:  # where kinks of several axes meet
            point = low + span * rng.random((8, len(low)))
            for axis in self.varying:
                point[:, axis] = rng.choice(self.places(axis), 8)
            made.append(point)
        points = np.clip(np.concatenate(made), low, high)
        for snap in self.snap:
            points = np.concatenate([points, np.clip(snap(points[: self.count]), low, high)])
        return points

    def places(self, axis):
        """Where to look closely along an axis: ends, kinks, borders of cells."""
        low, high = self.low[axis], self.high[axis]
        borders = low + (high - low) * np.arange(1, 16) / 16
        kinks = self.corners
        if len(kinks) and np.ndim(kinks[0]):
            kinks = kinks[min(axis, len(kinks) - 1)]
        inside = [k for k in kinks if low <= k <= high]
        more = self.rng.choice(borders, 4)
        return np.array([low, high, *more, *inside], dtype=float)

    def check_attained(self, worst):
        """What is said to be attained is so, and bounds that are said to be tight are tight."""
        c = self.certificate
        assert 0 <= c.attained <= c.approximation
        single = all(len(hint.get("parts", ())) == 1 for hint in self.record["outputs"])
        if c.complete and single and c.attained > 1e-250:
            assert c.approximation <= TIGHT * c.attained * (1 + 1e-9)
        if (
            len(self.varying) <= 2 and c.attained > 1e-12
        ):  # float64 shows where smaller ones are not
            near = 1.02 if len(self.varying) == 1 else 1.3
            assert c.attained <= near * worst + 1e-200, (
                f"{c.attained} is said to be attained, and {worst} is the most that was found"
            )

    # Rounding

    def check_rounding(self):
        """The network run in the dtype, in many orders, is as near to its exact values as claimed."""
        X = self.points_of_dtype()
        if not len(X):
            return
        shaped = X.reshape(-1, *self.shape)
        one_by_one = oracle.sequential(self.network, shaped[-800:], self.rng)
        runs = [evaluate(self.network, shaped), evaluate(shuffled(self.network, self.rng), shaped)]
        padded = runs[1].copy()
        padded[-800:] = one_by_one
        runs.append(padded)
        if self.dtype == "float32":
            middle = evaluate(self.network, shaped.astype(float))
        else:
            middle = np.mean(runs, axis=0)
        apart = [np.abs(run - middle).reshape(len(X), -1).max(axis=1) for run in runs]
        rows = {int(i) for a in apart for i in np.argsort(-a)[:12]}
        rows |= {int(i) for i in self.rng.integers(len(X), size=8)}
        rounding = arb(self.certificate.rounding)
        for i in sorted(rows):
            point = X[i].astype(float)
            truth = self.network_at(point)
            for run in runs:
                for value, exact in zip(run[i].ravel(), truth, strict=True):
                    assert np.isfinite(value)
                    with oracle.precisely():
                        wrong = abs(arb(float(value)) - exact)
                    assert not wrong > rounding, (
                        f"{self.certificate}: at {point} the network gives {value!r} in "
                        f"{self.dtype}, wrong by {wrong.str(10)}, above {self.certificate.rounding}"
                    )

    def points_of_dtype(self):
        X = self.points().astype(self.dtype)
        for _ in range(2):  # those that rounding has put outside are put back
            X = np.where(X < self.low, np.nextafter(X, np.inf, dtype=self.dtype), X)
            X = np.where(X > self.high, np.nextafter(X, -np.inf, dtype=self.dtype), X)
        inside = ((self.low <= X) & (self.high >= X)).all(axis=1)
        return X[inside]


def shuffled(network, rng):
    """The same network with its anchors in another order."""
    layers = []
    for layer in network.layers:
        if isinstance(layer, Attention):
            heads = []
            for head in layer.heads:
                order = rng.permutation(head.anchors) if head.anchors else None
                heads.append(
                    head
                    if order is None
                    else replace(
                        head,
                        anchor_keys=head.anchor_keys[order],
                        anchor_values=head.anchor_values[order],
                    )
                )
            order = rng.permutation(len(heads))
            layer = replace(layer, heads=tuple(heads[i] for i in order))
        layers.append(layer)
    return Network(tuple(layers))


def hunt(*arguments, **options):
    return Hunt(*arguments, **options).run()


# (a) Single heads


def formula(rng, low, high, depth=0):
    """A random function of one array, and where it has kinks; c lies within the domain."""
    span = high - low
    c = float(low + span * rng.choice([0.5, 0.25, 0.3, 1 / 3, rng.random()]))
    e = float(low + span * rng.random())
    a = float(rng.choice([1.0, 3.0, 0.7, 8.0])) / span
    w = span / float(rng.choice([1.0, 3.0, 10.0]))
    smooth = [
        (lambda x: np.sin(a * x), []),
        (lambda x: np.exp(-(((x - c) / w) ** 2)), []),
        (lambda x: 1 / (1 + 25 * ((x - c) / span) ** 2), []),
        (lambda x: np.tanh((x - c) / w), []),
        (lambda x: 0.3 * ((x - e) / span) ** 3 - ((x - c) / span) ** 2 + 0.1, []),
        (lambda x: np.log1p(((x - c) / w) ** 2), []),
        (lambda x: np.sqrt(((x - c) / w) ** 2 + 0.01), []),
        (lambda x: np.arctan(4 * (x - c) / span) * np.cos(a * x), []),
        (lambda x: np.sin(40 * x / span), []),
        (lambda x: np.exp(np.cos(a * x)) / 3, []),
        (lambda x: np.arcsin((x - c) / span * 0.5) + np.sinh((x - c) / span), []),
    ]
    kinked = [
        (lambda x: np.abs(x - c) / span, [c]),
        (lambda x: np.maximum((x - c) / span, 0.25 * (e - x) / span), [c, e, (4 * c + e) / 5]),
        (lambda x: np.clip(3 * (x - c) / span, -0.5, 0.75), [c - span / 6, c + span / 4]),
        (lambda x: np.where(x > c, (x - c) / w, 2 * (c - x) / w), [c]),
        (lambda x: np.where(x >= c, 1.0, -0.5), [c]),
        (lambda x: np.where(c > x, np.cos(a * x), np.sin(a * x)), [c]),
        (lambda x: np.sqrt(np.abs(x - c) / span), [c]),
        (lambda x: np.abs(np.sin(6 * (x - c) / span)), [c, c + np.pi * span / 6]),
        (lambda x: (x - c) / span * np.abs(x - c) / span, [c]),
        (lambda x: np.abs(np.abs(x - c) - np.abs(e - c)) / span, [c, e, 2 * c - e]),
        (lambda x: np.abs((x - c) / span) ** 1.5, [c]),
        (
            lambda x: np.interp(x, [low, min(c, e), max(c, e) + 0.01 * span], [0.0, 1.0, -0.5]),
            [c, e, max(c, e) + 0.01 * span],
        ),
        (lambda x: np.maximum(np.minimum(np.sin(a * x), (x - c) / w), -0.3), [c]),
        (lambda x: np.sign(x - c) * np.sqrt(np.abs(x - c) / span), [c]),
        (lambda x: np.where(x > c, np.where(x > e, 1.0, 0.3), np.abs(x - c) / span), [c, e]),
        (lambda x: np.log(np.abs(x - c) / span + 1e-3), [c]),
    ]
    f, kinks = (smooth, kinked)[int(rng.random() < 0.55)][int(rng.integers(11))]
    if depth == 0 and rng.random() < 0.25:
        g, more = formula(rng, low, high, 1)
        if rng.random() < 0.5:
            return (lambda x: f(x) - 0.5 * g(x)), kinks + more
        return (lambda x: np.tanh(f(x)) * g(x)), kinks + more
    return f, kinks


DOMAINS = [(-1.0, 1.0), (0.0, 3.0), (-1.0, 2.0), (0.001, 2.0), (-1000.0, 1000.0), (1.0, 1.0 + 1e-6)]


def some_head(rng, low, high, steepest):
    """One head with random anchors on an interval, and where its anchors change places."""
    p = int(rng.integers(1, 13))
    steep = 10.0 ** rng.uniform(-1, steepest) / (high - low)
    slopes = [
        lambda: rng.normal(size=p),
        lambda: np.arange(p, dtype=float),
        lambda: rng.integers(-2, 3, p).astype(float),
        lambda: 1 + 1e-6 * rng.normal(size=p),
        lambda: np.sort(rng.normal(size=p)) ** 3,
        lambda: 2.0 ** rng.integers(-4, 4, p),
    ][rng.integers(6)]() * steep
    where = rng.uniform(low, high, p)
    intercepts = [
        lambda: -slopes * where,
        lambda: rng.normal(size=p),
        lambda: np.zeros(p),
        lambda: -np.concatenate([[0.0], np.cumsum(np.diff(slopes) * np.sort(where)[1:])]),
    ][rng.integers(4)]()
    size = float(rng.choice([1.0, 1.0, 1e-3, 1e3]))
    values = (rng.normal(size=(p, 1)) + rng.choice([0.0, 0.0, 5.0])) * size
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = np.subtract.outer(intercepts, intercepts) / -np.subtract.outer(slopes, slopes)
    meet = meet[np.isfinite(meet) & (meet > low) & (meet < high)]
    keys = np.column_stack([slopes, intercepts])
    if rng.random() < 0.3:  # the query is scaled, and the key is scaled back
        unit = float(rng.choice([2.0, 3.0, 1e-3]))
        return Head(
            query=np.diag([1 / unit, 1.0]),
            anchor_keys=keys * [unit, 1.0],
            anchor_values=values,
            sees="anchors",
        ), meet
    return Head(query=np.eye(2), anchor_keys=keys, anchor_values=values, sees="anchors"), meet


def with_one(*layers):
    """x ↦ (x, 1), and what follows."""
    first = Linear((None, 1), (None, 2), (Term(features=np.eye(1, 2)),), np.array([[0.0, 1.0]]))
    return Network((first, *layers))


def stretched(factor, constant):
    return Linear(
        (None, 1), (None, 1), (Term(features=np.array([[factor]])),), np.array([[constant]])
    )


@pytest.mark.parametrize("seed", range(90))
def test_random_single_heads(seed):
    rng = np.random.default_rng([1, seed])
    low, high = DOMAINS[rng.integers(len(DOMAINS))] if seed % 3 else DOMAINS[0]
    head, meet = some_head(rng, low, high, 8 if seed % 4 == 3 else 3)
    layers = [Attention((head,))]
    if rng.random() < 0.3:
        layers.append(stretched(float(rng.choice([0.01, -3.0, 100.0])), float(rng.normal())))
    f, kinks = formula(rng, low, high)
    meet = rng.choice(meet, min(6, len(meet)), replace=False) if len(meet) else []
    hunt(
        with_one(*layers),
        f,
        (low, high),
        seed,
        dtype=("float64", "float32")[seed % 2],
        corners=[*kinks, *meet],
        budget=(30, 300)[seed % 2],
    )


@pytest.mark.parametrize("seed", range(12))
def test_heads_against_their_own_formula(seed):
    """What is left is tiny, and what is proven may not be less."""
    rng = np.random.default_rng([2, seed])
    head, meet = some_head(rng, -1.0, 1.0, 2)
    keys, values = head.anchor_keys, head.anchor_values[:, 0]
    query = np.diag(head.query)
    shift = float(rng.choice([0.0, 1e-9, 1e-3]))

    def f(x):
        s = [query[0] * a * x + b for a, b in keys]
        e = [np.exp(t) for t in s]
        return sum(v * w for v, w in zip(values, e, strict=True)) / sum(e) + shift * np.abs(x)

    network = with_one(Attention((head,)))
    hunt(network, f, (-1, 1), seed, corners=[0.0, *meet[:4]], budget=60)


# (b) Compiled networks

COMPILED = [
    (lambda x: np.sin(3 * x), (-1, 2), 1e-3, []),
    (lambda x: np.sin(3 * x), (-1, 2), 1e-7, []),
    (lambda x: np.abs(x), (-1, 1), 1e-4, [0.0]),
    (lambda x: np.abs(x - 1 / 3), (-1, 1), 1e-6, [1 / 3]),
    (lambda x: np.maximum(x, 0.0), (-2, 1), 1e-9, [0.0]),
    (lambda x: 1 / (1 + 25 * x**2), (-1, 1), 1e-4, []),
    (lambda x: np.sqrt(np.abs(x)), (-1, 1), 1e-2, [0.0]),
    (lambda x: np.clip(x, -0.3, 0.4), (-1, 1), 1e-5, [-0.3, 0.4]),
    (lambda x: x**2, (0, 3), 1e-6, []),
    (lambda x: np.exp(x), (0, 5), 1e-3, []),
    (lambda x: np.tanh(8 * x), (-1, 1), 1e-5, []),
    (lambda x: x * np.abs(x), (-1, 1), 1e-4, [0.0]),
    (lambda x: np.where(x > 0.2, (x - 0.2) ** 2, 0.2 - x), (-1, 1), 1e-4, [0.2]),
    (lambda x: np.abs(np.sin(5 * x)), (0, 2), 1e-3, [np.pi / 5, 2 * np.pi / 5, 3 * np.pi / 5]),
    (lambda x: np.interp(x, [0.0, 0.5, 1.0], [0.0, 1.0, 0.25]), (0, 1), 1e-6, [0.5]),
    (lambda x: x, (-3, 2), 1e-9, []),
    (lambda x: np.exp(-50 * (x - 0.5) ** 2), (0, 1), 1e-3, []),
    (lambda x: np.cos(20 * x), (0, 1), 1e-2, []),
    (lambda x: (np.sin(x), np.abs(x)), (-1, 1), 1e-3, [0.0]),
    (lambda x: np.sqrt(x), (0, 1), 1e-2, [0.0]),
]


@pytest.mark.parametrize("case", range(len(COMPILED)))
def test_compiled_networks(case):
    f, domain, error, kinks = COMPILED[case]
    dtype = "float32" if error >= 1e-3 and case % 2 else "float64"
    network = anchorhead.compile(f, domain, error, dtype=dtype, prove=False)
    c = hunt(network, f, domain, case, corners=kinks, dtype=dtype, budget=800)
    assert c.approximation <= 1.3 * error


# (c) Random networks of many kinds


def random_target(rng, shape, outputs):
    """A function of an array to an array, kinks along planes included."""
    A, B = rng.normal(size=(outputs[0], shape[0])), rng.normal(size=(shape[1], outputs[1]))
    return [
        lambda X: np.tanh(A @ X @ B),
        lambda X: np.abs(A @ X @ B),
        lambda X: np.maximum(A @ X @ B, 0.25),
        lambda X: np.sin(A @ (X * X) @ B),
        lambda X: np.exp(-((A @ X @ B) ** 2)),
        lambda X: np.where(A @ X @ B > 0, A @ X @ B, 0.1 * (A @ X @ B)),
        lambda X: np.zeros_like(A @ X @ B),
        lambda X: A @ X @ B,
    ][rng.integers(8)]


def random_network(rng, shape, layers, softmax, residual):
    """Layers of random heads, every mask among them."""
    first, made = shape, []
    for _ in range(layers):
        if rng.random() < 0.7:
            after = (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
            made.append(random_linear(rng, shape, after, int(rng.integers(1, 3))))
            shape = after
        out = shape[1] if residual else int(rng.integers(1, 3))
        heads = tuple(
            random_head(
                rng,
                shape[1],
                out,
                str(rng.choice(["all", "self", "anchors"])),
                bool(rng.random() < 0.5),
                int(rng.integers(0, 4)),
                bool(rng.random() < 0.5),
            )
            for _ in range(int(rng.integers(1, 3)))
        )
        keep = int(rng.integers(1, shape[0] + 1)) if rng.random() < 0.3 else None
        made.append(Attention(heads, residual=residual, keep=keep))
        shape = keep or shape[0], out
    if softmax:
        made.append(Softmax())
    if not isinstance(made[0], Linear) or made[0].shape_in[0] is None:
        made.insert(0, Linear(first, first, (Term(),)))
    return Network(tuple(made))


@pytest.mark.parametrize("seed", range(45))
def test_random_networks_of_arrays(seed):
    rng = np.random.default_rng([3, seed])
    shape = (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    network = random_network(rng, shape, 1 + seed % 2, seed % 5 == 4, seed % 3 == 2)
    low = rng.integers(-4, 4, shape) / 4
    high = low.copy()
    vary = 1 if seed % 2 or seed % 3 == 0 else 2
    for i in rng.permutation(math.prod(shape))[:vary]:
        high.flat[i] += float(rng.choice([1.0, 0.5]))
    target = random_target(rng, shape, (network.shape_out[0] or shape[0], network.shape_out[1]))
    hunt(
        network,
        target,
        Box(low, high),
        seed,
        dtype=("float64", "float32")[seed // 2 % 2],
        budget=20,
        count=500,
    )


@pytest.mark.parametrize("seed", range(16))
def test_sums_of_heads(seed):
    """Several heads on one number: residual or not, a softmax after them, two layers of them."""
    rng = np.random.default_rng([4, seed])
    heads, meet = [], []
    for _ in range(int(rng.integers(2, 4))):
        head, places = some_head(rng, -1.0, 1.0, 2.5)
        heads.append(replace(head, output=rng.normal(size=(1, 2))))
        meet += list(places[:3])
    layers = [Attention(tuple(heads), residual=seed % 2 == 0)]
    if seed % 4 == 1:
        layers.append(Softmax())
    if seed % 4 == 3:
        second = Head(
            query=rng.normal(size=(2, 2)) * 3,
            anchor_keys=rng.normal(size=(4, 2)),
            anchor_values=rng.normal(size=(4, 2)),
            sees="anchors",
        )
        layers.append(Attention((second,), residual=bool(rng.random() < 0.5)))
    f, kinks = formula(rng, -1.0, 1.0)
    g, more = formula(rng, -1.0, 1.0)
    hunt(
        with_one(*layers),
        lambda x: (f(x), g(x)),
        (-1, 1),
        seed,
        corners=[*kinks, *more, *meet],
        dtype=("float32", "float64")[seed // 2 % 2],
        budget=40,
    )


# (d) Several variables

PLANE = [lambda P: np.repeat(P[:, :1], P.shape[1], axis=1)]
"""Points with equal coordinates."""

SEVERAL = [
    (lambda x, y: np.maximum(x, y), 1e-3, [], PLANE),
    (lambda x, y: np.minimum(x, 2 * y), 1e-3, [], [lambda P: P * [0, 1] + P[:, 1:] * [2, 0]]),
    (lambda x, y: np.abs(x - y), 1e-2, [], PLANE),
    (lambda x, y: np.sin(2 * (x - 2 * y)), 1e-2, [], []),
    (lambda x, y: np.abs(x - 2 * y), 1e-2, [], [lambda P: P * [0, 1] + P[:, 1:] * [2, 0]]),
    (lambda x, y: np.sin(2 * x) + np.abs(y - 0.25), 1e-3, [[], [0.25]], []),
    (lambda x, y: np.exp(x) - np.cos(3 * y), 1e-2, [], []),
    (lambda x, y: x * y, 1e-2, [], PLANE),
    (lambda x, y: np.exp(-x * x - y * y), 5e-2, [], []),
    (lambda x, y: x / (2 + y), 5e-2, [], []),
    (lambda x, y: np.sqrt(x * x + y * y + 0.1), 5e-2, [], []),
    (lambda x, y: np.maximum(x + y, 0.5), 1e-3, [], []),
    (lambda x, y: (np.maximum(x, y), np.minimum(x, y)), 3e-2, [], PLANE),
    (lambda x, y: x, 1e-6, [], []),
]


@pytest.mark.parametrize("case", range(len(SEVERAL)))
def test_compiled_networks_of_two_variables(case):
    f, error, kinks, snap = SEVERAL[case]
    domain = [(-1, 1), (-1, 1)]
    dtype = "float32" if error >= 1e-2 and case % 2 else "float64"
    network = anchorhead.compile(f, domain, error, dtype=dtype, prove=False)
    c = hunt(network, f, domain, case, corners=kinks, snap=snap, dtype=dtype, budget=150, count=600)
    assert c.bound < math.inf


@pytest.mark.parametrize("form", ["sequence", "heads"])
@pytest.mark.parametrize("case", range(5))
def test_other_forms(form, case):
    f, domain, error, kinks = [
        (lambda x: np.sin(3 * x), (-1, 1), 1e-2, []),
        (lambda x: np.abs(x), (-1, 1), 1e-2, [0.0]),
        (lambda x: x**2, (0, 2), 1e-3, []),
        (lambda x, y: np.sin(x - 2 * y), [(-1, 1)] * 2, 3e-2, []),
        (lambda x, y: np.sin(x) + np.abs(y), [(-1, 1)] * 2, 3e-2, []),
    ][case]
    network = anchorhead.compile(f, domain, error, form=form, prove=False)
    hunt(network, f, domain, case, corners=kinks, budget=100, count=300)


def plane_head(rng, d):
    """A head of random anchors on all coordinates, sometimes a grid of them."""
    if rng.random() < 0.5:
        lines = [np.sort(rng.normal(size=int(rng.integers(2, 4)))) * 4 for _ in range(d)]
        keys = np.array(list(product(*lines)))
        consts = np.array([sum(-(k**2) / 8 for k in row) for row in keys])
    else:
        keys = rng.normal(size=(int(rng.integers(2, 7)), d)) * 10.0 ** rng.uniform(-0.5, 1.5)
        consts = rng.normal(size=len(keys))
    keys = np.column_stack([keys, consts])
    return Head(
        query=np.eye(d + 1),
        anchor_keys=keys,
        anchor_values=rng.normal(size=(len(keys), 1)),
        sees="anchors",
    )


@pytest.mark.parametrize("seed", range(24))
def test_random_heads_of_two_and_three_variables(seed):
    rng = np.random.default_rng([5, seed])
    d = 3 if seed % 8 == 7 else 2
    constant = np.zeros((1, d + 1))
    constant[0, d] = 1.0
    first = Linear((None, d), (None, d + 1), (Term(features=np.eye(d, d + 1)),), constant)
    network = Network((first, Attention((plane_head(rng, d),))))
    w, c = rng.normal(size=d), float(rng.normal() / 3)
    target = [
        lambda *x: np.abs(sum(a * b for a, b in zip(w, x, strict=True)) - c),
        lambda *x: np.sin(sum(a * b for a, b in zip(w, x, strict=True))),
        lambda *x: np.maximum(x[0], x[1]) * 0.5,
        lambda *x: np.where(x[0] > c, x[1], x[1] - 0.5),
        lambda *x: x[0] * x[1] - np.abs(x[1] - c),
        lambda *x: np.where(x[0] * x[0] + x[1] * x[1] >= 0.5, 1.0, 0.0),
        lambda *x: np.sqrt(np.abs(x[0] - x[1])),
        lambda *x: np.exp(-sum(t * t for t in x)),
    ][rng.integers(8)]
    hunt(
        network,
        target,
        [(-1, 1)] * d,
        seed,
        corners=[c],
        snap=PLANE,
        dtype=("float64", "float32")[seed % 2],
        budget=40 if d == 2 else 12,
        count=500,
    )


@pytest.mark.parametrize("seed", range(8))
def test_heads_that_see_themselves(seed):
    """Gates: a token with itself and a few anchors, keys and values of its own."""
    rng = np.random.default_rng([6, seed])
    d = 1 + seed % 2
    heads = tuple(
        Head(
            query=rng.normal(size=(d, 2)) * 2,
            key=rng.normal(size=(d, 2)),
            value=rng.normal(size=(d, 1)),
            anchor_keys=rng.normal(size=(2, 2)),
            anchor_values=rng.normal(size=(2, 1)),
            sees="self",
        )
        for _ in range(1 + seed % 3)
    )
    f, kinks = formula(rng, -1.0, 1.0)
    target = f if d == 1 else (lambda x, y: f(x) * y)
    domain = (-1, 1) if d == 1 else [(-1, 1)] * 2
    dtype = ("float64", "float32")[seed // 2 % 2]
    network = Network((Attention(heads),))
    hunt(network, target, domain, seed, corners=kinks, dtype=dtype, budget=40, count=500)


@pytest.mark.parametrize("seed", range(2))
def test_windows(seed):
    """Enough queries for the reference to leave anchors out."""
    rng = np.random.default_rng([7, seed])
    keys = np.arange(40.0) * 40
    head = Head(
        query=np.eye(2),
        anchor_keys=np.column_stack([keys, -keys * (np.arange(40) - 20) / 40]),
        anchor_values=rng.normal(size=(40, 1)),
        sees="anchors",
    )
    network = with_one(Attention((head,)))
    hunt(network, lambda x: 0 * x, (-1, 1), seed, budget=40, count=3000)


# (e) The constructions of the theorems


@pytest.mark.parametrize("case", range(10))
def test_theorems(case):
    rng = np.random.default_rng([8, case])
    n, d = (4, 1) if case % 2 else (3, 2)
    weights, offsets = rng.normal(size=(n, d)), rng.normal(size=n) / 2
    relu = relu_network(*((2, 1) if case == 5 else (1, 1)), 3, seed=5)
    flat = [(-1, 1)] * (2 if case == 5 else 1)
    construction = [
        lambda: single_head(weights, offsets, -1.0, 1.0, 12),
        lambda: single_head(weights, offsets, -1.0, 2.0, "graded", count=9),
        lambda: multi_head(weights, offsets, -1.0, 1.0, 4),
        lambda: multi_head(weights, offsets, -1.0, 1.0, 2, anchors="graded"),
        lambda: two_layers(relu, flat, 0.5),
        lambda: two_layers(relu, flat, 1e-3, anchors="graded"),
        lambda: one_layer_softmax(relu, flat, 0.8),
        lambda: one_layer_softmax(relu, flat, 1e-2, anchors="graded"),
        lambda: single_head(weights, offsets, -1.0, 1.0, 20),
        lambda: multi_head(weights, offsets, 0.0, 1.0, 6),
    ][case]
    if case == 3:
        n, weights, offsets = 4, rng.normal(size=(4, 1)), rng.normal(size=4)
    made = construction()
    shape = made.network.shape_in
    box = Box(np.full(shape, -1.0), np.full(shape, 1.0))
    c = hunt(made.network, made.target, box, case, budget=2000, count=300)
    assert c.approximation <= made.bound * (1 + 1e-9)


# The oracle itself, and formulas against functions


def test_oracle_agrees_with_mpmath():
    import mpmath

    names = ["sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"]
    names += ["tanh", "asinh", "atanh", "erf", "erfc", "gamma"]
    with mpmath.workprec(200), oracle.precisely():
        for x in (0.3, 0.8125):
            for name in names:
                told = oracle.Targets(
                    {
                        "variables": ["x"],
                        "where": [],
                        "outputs": [f"{name}(x)**2/3 + 0.1*exp(x)**2.5"],
                    }
                )
                (value,) = told.exactly([x])
                meant = getattr(mpmath, name)(mpmath.mpf(x)) ** 2 / 3
                meant += mpmath.mpf(0.1) * mpmath.exp(x) ** 2.5
                assert abs(mpmath.mpf(value.mid().str(60, radius=False)) - meant) < 1e-55
        head, _ = some_head(np.random.default_rng(0), -1.0, 1.0, 3)
        network = with_one(Attention((head,)))
        x = mpmath.mpf(0.37)
        E = [mpmath.exp(head.query[0, 0] * x * a + b) for a, b in head.anchor_keys]
        meant = sum(mpmath.mpf(v) * e for (v,), e in zip(head.anchor_values, E, strict=True))
        ((value,),) = oracle.network_values(network, [[0.37]])
        apart = mpmath.mpf(value.mid().str(60, radius=False)) - meant / mpmath.fsum(E)
        assert abs(apart) < 1e-50


@pytest.mark.parametrize("seed", range(30))
def test_formulas_are_the_functions(seed):
    """The text that a certificate tells has the values of the function, in float64."""
    rng = np.random.default_rng([9, seed])
    f, kinks = formula(rng, -1.0, 1.0)
    c = certify(with_one(stretched_pair()), f, (-1, 1), budget=1)
    told = oracle.Targets(c.record["target"])
    points = np.array([-1.0, 1.0, *[k for k in kinks if abs(k) <= 1], *rng.uniform(-1, 1, 12)])
    for x, meant in zip(points, f(points), strict=True):
        (value,) = told.exactly([x])
        jump = 0.0 if x not in kinks else 1e-7
        assert abs(float(value.mid()) - meant) <= 1e-12 + jump


def stretched_pair():
    return Linear((None, 2), (None, 1), (Term(features=np.zeros((2, 1))),))


# What the hunt and its hunters found


def zero(value=0.0):
    return Network((stretched(0.0, value),))


@pytest.mark.parametrize(
    ("f", "there"),
    [
        (lambda x: np.where(x == 0, 5.0, 1.0), 0.0),
        (lambda x: np.where(x > 0, 1.0, 0.0) + np.where(-x > 0, 1.0, 0.0), 0.0),
        (lambda x: np.where((x >= 0.5) & (x <= 0.5), 7.0, 1.0), 0.5),
        (lambda x: np.where((x > 0.5) | (x < 0.5), 1.0, 7.0), 0.5),
        (lambda x: np.heaviside(x, 9.0) * 0 + np.where(np.sign(x) == 0, 2.0, 1.0), 0.0),
    ],
)
def test_values_taken_at_one_point_only(f, there):
    """Two choices with one cut: at the cut each may take the branch of its own side."""
    network = zero(1.0)
    c = certify(network, f, (-1, 1))
    assert c.bound >= abs(float(f(np.array(there))) - 1)
    assert check(c, network).valid


def lines(*factors):
    terms = [(Term(features=np.array([[f]])),) for f in factors]
    return Network(tuple(Linear((None, 1), (None, 1), term) for term in terms))


@pytest.mark.parametrize(
    ("factors", "dtype", "x"),
    [
        ((2.0**-140, 2.0**70, 2.0**70), "float32", 0.3),
        ((2.0**-1060, 2.0**530, 2.0**530), "float64", 0.3),
        ((2.0**-140, 2.0**120, 2.0**20), "float32", 0.7),
    ],
)
def test_numbers_below_the_normal_range_on_the_way(factors, dtype, x):
    network = lines(*factors)
    c = certify(network, lambda x: x, (0, 1), dtype=dtype)
    X = np.array([[x]], dtype=dtype)
    assert abs(float(evaluate(network, X)[0, 0]) - float(X[0, 0])) <= c.bound


@pytest.mark.parametrize(
    ("factors", "dtype"),
    [
        ((2.0**100, 2.0**-100), "float32"),
        ((1e30, 1e-30), "float32"),
        ((2.0**1000, 2.0**-1000), "float64"),
    ],
)
def test_numbers_above_the_largest_on_the_way(factors, dtype):
    """What overflows in the dtype has no bound there."""
    network = lines(*factors)
    with pytest.raises(anchorhead.errors.AnchorheadError):
        certify(network, lambda x: x, (0, 2.0**30), dtype=dtype)


def test_attained_is_attained_where_coordinates_hang_together():
    """x + y and −y − z are not free of each other: the product is at most 1, at y = 0."""
    network = Network((Linear((None, 3), (None, 1), (Term(features=np.zeros((3, 1))),)),))
    c = certify(
        network,
        lambda x, y, z: np.maximum(x + y, 0) * np.maximum(-y - z, 0),
        [(-1, 1)] * 3,
        budget=200,
    )
    assert c.attained <= 1 + 1e-9


def test_statements_are_not_rounded_down():
    network = zero(1.0)
    c = certify(network, lambda x: 1 + 1.23449e-5 * (1 + x) / 2, (-1, 1))
    told = Fraction(c.statement.split("≤ ")[1].split(" ")[0])
    assert told >= Fraction(c.bound)
