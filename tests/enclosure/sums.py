"""Sums at single points by their definitions, at 60 digits or exactly: what the tests compare with."""

from fractions import Fraction

import mpmath
from flint import fmpq

from anchorhead.enclosure.expressions import ONE, Sum, combine, node, plus
from formula.reading import NAMED

DIGITS = 60

KINDS = {
    **NAMED,
    "relu": lambda a: max(a, 0 * a),
    "inv": lambda a: 1 / a,
    "mul": lambda a, b: a * b,
    "pow": lambda a, n: a ** int(n),
    "power": lambda a, b: a**b,
    "pi": lambda: +mpmath.pi,
    "mix": lambda *args: softmax(args[: len(args) // 2], args[len(args) // 2 :]),
}


def softmax(scores, values):
    """Σ v e^s / Σ e^s."""
    top = max(scores)
    weights = [mpmath.exp(s - top) for s in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def real(q):
    """A rational at DIGITS digits."""
    return mpmath.mpf(int(q.p)) / int(q.q)


def fraction(q):
    """A rational, exactly."""
    return Fraction(int(q.p), int(q.q))


def rational(x):
    """The rational that a float or a Fraction is."""
    return fmpq(*(int(part) for part in x.as_integer_ratio()))


def value(s, point, number=real):
    """A sum at a point of rationals: of mpmath's numbers, or of Fractions where all is rational."""
    done = {}

    def of_sum(s):
        terms = [number(s.const)]
        terms += [number(c) * number(point[i]) for i, c in s.lin]
        return sum(terms + [number(c) * of_node(n) for n, c in s.rest])

    def of_node(n):
        if n not in done and n.kind in ("if>=", "if>"):
            head = of_sum(n.args[0])
            holds = head >= 0 if n.kind == "if>=" else head > 0
            done[n] = of_sum(n.args[1] if holds else n.args[2])
        if n not in done:
            done[n] = KINDS[n.kind](*map(of_sum, n.args))
        return done[n]

    with mpmath.workdps(DIGITS):
        return of_sum(s)


def x(i=0, c=1):
    """The entry c x_i."""
    return Sum(lin=((i, fmpq(c)),))


def affine(const, *slopes):
    """const + Σ c_i x_i."""
    return combine([(ONE, Sum(fmpq(const))), *((fmpq(c), x(i)) for i, c in enumerate(slopes))])


def some_rational(rng, size=20):
    """A rational with a small denominator."""
    return fmpq(int(rng.integers(-size, size + 1)), int(rng.integers(1, 8)))


def some_affine(rng, variables):
    """An affine function with small rational coefficients, some of them 0."""
    slopes = [some_rational(rng) * int(rng.random() < 0.7) for _ in range(variables)]
    return affine(some_rational(rng), *slopes)


def some_sum(rng, variables, kinds, depth=3):
    """A random sum of nodes of these kinds, and others below them."""
    s = some_affine(rng, variables)
    for _ in range(int(rng.integers(1, 3)) if depth else 0):
        kind = str(rng.choice(kinds))
        args = [some_sum(rng, variables, kinds, depth - 1) for _ in range(1 + (kind == "mul"))]
        s = plus(s, node(kind, *args), some_rational(rng))
    return s
