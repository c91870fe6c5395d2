import copy
import gc
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.enclosure.expressions import (
    ONE,
    ZERO,
    Sum,
    combine,
    gathered,
    maximum,
    mix,
    node,
    normal,
    plus,
    power,
    walk,
)
from enclosure.sums import fraction, real, softmax, some_affine, some_rational, some_sum, value, x

SEEDS = st.integers(0, 10**6)
RATIONAL = ["relu", "abs", "mul"]
VARIABLES = 3


def some_point(rng):
    return [some_rational(rng) for _ in range(VARIABLES)]


def near(a, b, digits=45):
    with mpmath.workdps(60):
        return abs(a - b) <= mpmath.mpf(10) ** -digits * (1 + abs(b))


# Algebra


def applied(kind, a, b, c, n):
    """An operation on sums and on their values; a, b = (sum, value), and other numbers."""
    (s, p), (t, q) = a, b
    match kind:
        case "plus":
            return plus(s, t, c), p + fraction(c) * q
        case "combine":
            return combine([(c, s), (ONE, t), (-c, s), (c, Sum(c))]), q + fraction(c * c)
        case "mul":
            return node("mul", s, t), p * q
        case "relu":
            return node("relu", s), max(p, Fraction(0))
        case "abs":
            return node("abs", s), abs(p)
        case "maximum":
            return maximum(s, t), max(p, q)
        case "at least":
            return maximum(s, Sum(c)), max(p, fraction(c))
        case "inv":
            return (node("inv", s), 1 / p) if p else a
        case "power":
            return (power(s, n), p**n) if p or n >= 0 else a
        case "if>=":
            return node("if>=", s, t, s), q if p >= 0 else p
    return node("if>", s, t, s), q if p > 0 else p


OPERATIONS = ["plus", "combine", "mul", "relu", "abs", "maximum", "at least", "inv", "power"]
OPERATIONS += ["if>=", "if>"]


@given(SEEDS)
def test_operations_on_sums_are_those_on_their_values(seed):
    """A random straight-line program, run on sums and on Fractions at once."""
    rng = np.random.default_rng(seed)
    point = some_point(rng)
    made = [(x(i), fraction(q)) for i, q in enumerate(point)]
    for _ in range(12):
        a, b = (made[int(rng.integers(len(made)))] for _ in range(2))
        n = int(rng.integers(-2, 4))
        made.append(applied(str(rng.choice(OPERATIONS)), a, b, some_rational(rng, 3), n))
        s, expected = made[-1]
        assert value(s, point, fraction) == expected


@given(SEEDS)
def test_sums_are_in_one_form(seed):
    rng = np.random.default_rng(seed)
    s = some_sum(rng, VARIABLES, [*RATIONAL, "sin"])
    terms = [(ONE, Sum(s.const)), *((c, x(i)) for i, c in s.lin)]
    terms += [(c, Sum(rest=((n, ONE),))) for n, c in s.rest]
    for order in (terms, terms[::-1], [terms[i] for i in rng.permutation(len(terms))]):
        assert combine(order) == s
    assert [i for i, _ in s.lin] == sorted({i for i, _ in s.lin})
    assert all(c != 0 for _, c in s.lin + s.rest)
    assert plus(s, s, -ONE) == Sum()
    assert combine([(ZERO, s)]) == Sum()


def test_a_normal_form_starts_with_1_and_tells_parallel_forms():
    form = some_affine(np.random.default_rng(1), VARIABLES).lin
    assert normal(form)[0][1] == 1
    assert normal(tuple((i, -c / 7) for i, c in form)) == normal(form)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
def test_powers_of_numbers_are_numbers(n):
    assert power(Sum(fmpq(-2, 3)), n) == Sum(fmpq(-2, 3) ** n)
    assert value(power(x(0), n), [fmpq(-2, 3)], fraction) == Fraction(-2, 3) ** n


def test_numbers_too_long_are_refused_before_they_are_worked_out():
    for make in (
        lambda: power(Sum(fmpq(9)), 10**12),
        lambda: power(Sum(fmpq(1, 9)), -(10**12)),
        lambda: combine([(fmpq(3) ** 60000, Sum(fmpq(3) ** 60000))]),
    ):
        with pytest.raises(OverflowError):
            make()


# Maxima


def below(s):
    """The kinds of the nodes right below those of a sum."""
    return [m.kind for n, _ in s.rest for a in n.args for m, _ in a.rest]


@given(SEEDS, st.integers(1, 9), st.integers(0, 9))
def test_a_maximum_of_a_maximum_is_one_maximum(seed, k, c):
    rng = np.random.default_rng(seed)
    b = some_affine(rng, VARIABLES)
    k, c = fmpq(k, 3), fmpq(c, 2)
    inner = node("relu", b)
    for outer in (
        plus(combine([(k, inner)]), Sum(-c)),  # max(k max(b, 0) − c, 0)
        plus(combine([(-k, inner)]), Sum(c)),  # max(c − k max(b, 0), 0)
    ):
        s = node("relu", outer)
        assert "relu" not in below(s)
        for point in [some_point(rng) for _ in range(20)]:
            expected = max(value(outer, point, fraction), 0)
            assert value(s, point, fraction) == expected


@given(SEEDS)
def test_maxima_that_do_not_simplify_are_maxima_still(seed):
    rng = np.random.default_rng(seed)
    inner = plus(
        combine([(some_rational(rng), node("relu", some_affine(rng, VARIABLES)))]),
        some_affine(rng, VARIABLES) if rng.random() < 0.5 else Sum(some_rational(rng)),
    )
    for point in [some_point(rng) for _ in range(20)]:
        expected = max(value(inner, point, fraction), 0)
        assert value(node("relu", inner), point, fraction) == expected


def test_a_clipped_quantity_is_made_of_maxima_of_affine_functions():
    clipped = maximum(
        Sum(fmpq(-1)), combine([(-ONE, maximum(x(0, -1), Sum(-ONE)))])
    )  # max(−1, min(x, 1))
    assert {n.kind for n in walk([clipped])} == {"relu"}
    assert below(clipped) == []


# Mixtures


def some_mixture(rng, count=4):
    scores = [some_affine(rng, VARIABLES) for _ in range(count)]
    values = [some_sum(rng, VARIABLES, ["sin"], 1) for _ in range(count)]
    return scores, values


@given(SEEDS)
def test_a_mixture_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores, values = some_mixture(rng)
    point = some_point(rng)
    with mpmath.workdps(60):
        told = [[value(s, point) for s in part] for part in (scores, values)]
        assert near(value(mix(scores, values), point), softmax(*told))


@given(SEEDS)
def test_a_mixture_knows_what_does_not_change_it(seed):
    rng = np.random.default_rng(seed)
    scores, values = some_mixture(rng)
    made = mix(scores, values)
    common = some_sum(rng, VARIABLES, ["sin", "relu"], 1)
    assert mix([plus(s, common) for s in scores], values) == made
    plane = Sum(lin=common.lin, rest=common.rest)
    assert mix(scores, [plus(v, plane) for v in values]) == plus(made, plane)
    assert mix([common] * 4, values) == combine((fmpq(1, 4), v) for v in values)
    assert mix(scores, [common] * 4) == common
    assert mix(scores[:1], values[:1]) == values[0]


@given(SEEDS)
def test_mixtures_of_the_same_scores_become_one(seed):
    rng = np.random.default_rng(seed)
    scores, values = some_mixture(rng)
    others = [some_affine(rng, VARIABLES) for _ in scores]
    elsewhere = mix([plus(s, o) for s, o in zip(scores, others, strict=True)], values)
    factors = [some_rational(rng) for _ in range(3)]
    s = combine(zip(factors, (mix(scores, values), mix(scores, others), elsewhere), strict=True))
    joined = gathered(s)
    count = len({n for n in walk([s]) if n.kind == "mix"})
    assert len([n for n, _ in joined.rest if n.kind == "mix"]) == count - all(factors[:2])
    point = some_point(rng)
    assert near(value(joined, point), value(s, point))
    assert gathered(joined) == joined


def test_mixtures_that_cancel_are_gone():
    scores, values = some_mixture(np.random.default_rng(3))
    turned = [combine([(-ONE, v)]) for v in values]
    assert gathered(plus(mix(scores, values), mix(scores, turned))) == Sum()


# Nodes


def test_equal_nodes_are_one_object():
    a, b = (node("sin", plus(x(0), node("relu", x(1)))) for _ in range(2))
    assert a.rest[0][0] is b.rest[0][0]
    others = [
        node("sin", plus(x(0), node("relu", x(2)))),
        node("cos", plus(x(0), node("relu", x(1)))),
        node("sin", plus(x(0), node("relu", x(1)), -ONE)),
        node("sin", plus(plus(x(0), node("relu", x(1))), Sum(ONE))),
    ]
    assert len({s.rest[0][0].key for s in (a, *others)}) == 5


@given(SEEDS)
def test_pickled_nodes_come_back_as_themselves(seed):
    rng = np.random.default_rng(seed)
    scores, values = some_mixture(rng)
    s = plus(mix(scores, values), some_sum(rng, VARIABLES, [*RATIONAL, "sin"]))
    for back in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
        assert back == s
        assert all(n is m for n, m in zip(walk([back]), walk([s]), strict=True))


def build(order):
    """The same sums in one order or another."""
    made = {}
    for seed in order:
        rng = np.random.default_rng(seed)
        made[seed] = plus(mix(*some_mixture(rng)), some_sum(rng, VARIABLES, [*RATIONAL, "sin"]))
    whole = combine((ONE, made[seed]) for seed in order)
    return [n.key.hex() for n, _ in whole.rest]


def test_the_order_of_nodes_does_not_depend_on_when_or_where_they_were_made():
    first = build(range(8))
    assert first == sorted(first)
    gc.collect()
    assert build(range(7, -1, -1)) == first
    code = "from enclosure.test_expressions import build; print(*build(range(7, -1, -1)))"
    paths = os.pathsep.join(path for path in sys.path if path)
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == first


@given(SEEDS)
def test_nodes_are_walked_once_and_after_those_they_depend_on(seed):
    rng = np.random.default_rng(seed)
    sums = [some_sum(rng, VARIABLES, [*RATIONAL, "sin"]) for _ in range(3)]
    nodes = walk(sums)
    place = {n: i for i, n in enumerate(nodes)}
    assert len(place) == len(nodes)
    assert all(place[m] < place[n] for n in nodes for a in n.args for m, _ in a.rest)
    assert {n for s in sums for n, _ in s.rest} <= set(nodes)


def test_long_chains_are_walked():
    s = x(0)
    for _ in range(5000):
        s = node("sin", s)
    assert len(walk([s])) == 5000


def test_a_rational_is_the_one_it_prints_as():
    assert real(fmpq(1, 3)) == mpmath.mpf(1) / 3
