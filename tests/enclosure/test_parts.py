from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.enclosure.expressions import ONE, ZERO, Sum, combine, mix, node, normal, plus, walk
from anchorhead.enclosure.parts import (
    coordinates,
    of_one_number,
    over,
    part_of,
    separated,
    stage,
)
from enclosure.sums import (
    affine,
    fraction,
    rational,
    some_affine,
    some_rational,
    some_sum,
    value,
    x,
)

SEEDS = st.integers(0, 10**6)
RATIONAL = ["relu", "abs", "mul"]
ROOMS = [["sin", "atan", "mul"], [*RATIONAL, "sin"], ["relu"]]
VARIABLES = 4


def some_error(rng, variables=VARIABLES, depth=2):
    """A sum of terms, each of one or two linear forms."""
    s = some_affine(rng, variables)
    kinds = ROOMS[int(rng.integers(len(ROOMS)))]
    forms = [some_affine(rng, variables) for _ in range(4)]
    for _ in range(int(rng.integers(1, 5))):
        own = [forms[int(i)] for i in rng.integers(0, 4, int(rng.integers(1, 3)))]
        inner = some_sum(rng, len(own), kinds, depth)
        s = plus(s, on(inner, own), some_rational(rng))
    return s


def on(s, entries):
    """A sum with other sums for its entries."""
    done = {}

    def moved(s):
        terms = [(ONE, Sum(s.const)), *((c, entries[i]) for i, c in s.lin)]
        return combine([*terms, *((c, done[n]) for n, c in s.rest)])

    for n in walk([s]):
        done[n] = node(n.kind, *map(moved, n.args))
    return moved(s)


def directions(s):
    """The linear forms that a sum looks at."""
    args = [a for n in walk([s]) for a in n.args] + [s]
    return {normal(a.lin) for a in args if a.lin}


def rank(forms):
    rows = [[dict(form).get(i, ZERO) for i in range(VARIABLES)] for form in forms]
    return fmpq_mat(rows).rank() if rows else 0


def some_box(rng, variables=VARIABLES):
    low = [some_rational(rng) for _ in range(variables)]
    return [(a, a + abs(some_rational(rng)) * int(rng.random() < 0.9)) for a in low]


def points_of(rng, box, count=6):
    shares = rng.integers(0, 9, (count, len(box)))
    return [
        [a + (b - a) * fmpq(int(t), 8) for t, (a, b) in zip(row, box, strict=True)]
        for row in shares
    ]


def of_form(form, point):
    return sum((c * point[i] for i, c in form), ZERO)


# Separation


@given(SEEDS)
def test_groups_add_up_to_all_but_the_constant(seed):
    error = some_error(np.random.default_rng(seed))
    groups = separated(error)
    assert combine((ONE, g) for g in groups) == error._replace(const=ZERO)
    assert all(g.const == 0 and g != Sum() for g in groups)


@given(SEEDS)
def test_groups_look_at_forms_that_span_spaces_which_meet_only_in_0(seed):
    spans = [directions(g) for g in separated(some_error(np.random.default_rng(seed)))]
    for a, b in combinations(spans, 2):
        assert rank(a) + rank(b) == rank(a | b)


@given(SEEDS)
def test_what_comes_apart_is_separated(seed):
    """Functions of one ridge each, and a group for every direction that there is."""
    rng = np.random.default_rng(seed)
    ridges = [some_affine(rng, VARIABLES) for _ in range(3)]
    ridges = [r for r in ridges if r.lin]
    error = Sum(ONE)
    for kind in ("sin", "exp", "relu"):
        for ridge in ridges:
            factor = some_rational(rng)
            shift = Sum(some_rational(rng))
            error = plus(error, node(kind, plus(shift, ridge, factor)), fmpq(3))
    assert (
        len(separated(error))
        == len(directions(error) - {()})
        == len({normal(r.lin) for r in ridges} & directions(error))
    )


def test_an_error_that_does_not_come_apart_is_one_group():
    error = plus(node("sin", affine(0, 1, 1)), node("mul", x(0), node("exp", x(1))))
    assert separated(plus(error, Sum(ONE))) == [error]


def test_three_forms_in_a_plane_are_one_group_through_the_mixture_that_joins_two():
    ridges = [node("sin", s) for s in (x(0), x(1), affine(0, 1, 1))]
    joined = node("mul", ridges[0], ridges[1])
    assert len(separated(plus(joined, ridges[2]))) == 1
    assert len(separated(plus(plus(joined, ridges[2]), node("sin", x(2))))) == 2


def test_constants_that_are_no_numbers_stay_with_the_first_group():
    pi = node("pi")
    error = plus(node("sin", x(0)), pi)
    assert separated(error) == [error]
    assert separated(pi) == [pi]
    assert separated(Sum(ONE)) == []


def test_forms_that_are_parallel_but_for_rounding_stay_together():
    rounded = affine(0, 1, fmpq(1, 3) + fmpq(1, 2**50))
    error = plus(node("sin", affine(0, 1, fmpq(1, 3))), node("exp", rounded))
    assert separated(error) == [error]
    apart = plus(node("sin", affine(0, 1, fmpq(1, 3))), node("exp", affine(0, 1, fmpq(1, 2))))
    assert len(separated(apart)) == 2


# Parts


@given(SEEDS)
@settings(max_examples=100)
def test_a_part_has_the_value_of_its_expression_at_the_coordinates(seed):
    rng = np.random.default_rng(seed)
    error, box = some_error(rng), some_box(rng)
    part = part_of(error, box)
    exactly = all(n.kind in RATIONAL for n in walk([error]))
    for point in points_of(rng, box):
        u = [of_form(form, point) for form in part.forms]
        assert all(a <= here <= b for here, (a, b) in zip(u, part.root, strict=True))
        if exactly:
            assert value(part.expression, u, fraction) == value(error, point, fraction)
        else:
            a, b = value(part.expression, u), value(error, point)
            assert mpmath.almosteq(a, b, 1e-40, 1e-40)


@given(SEEDS)
def test_a_root_is_what_its_coordinate_takes_on_the_corners(seed):
    rng = np.random.default_rng(seed)
    box = some_box(rng)
    part = part_of(some_error(rng), box)
    assert len(part.forms) == len(part.root)
    for form, root in zip(part.forms, part.root, strict=True):
        taken = [of_form(form, corner) for corner in product(*box)]
        assert root == (min(taken), max(taken)) == over(form, box)


@given(SEEDS)
def test_a_part_has_no_more_coordinates_than_its_forms_span(seed):
    rng = np.random.default_rng(seed)
    error = some_error(rng)
    part = part_of(error, some_box(rng))
    spanned = rank(directions(error))
    assert len(part.forms) == max(spanned, 1) or part.forms == tuple(
        ((i, ONE),) for i in sorted({i for form in directions(error) for i, _ in form})
    )
    assert rank(part.forms) == len(part.forms)


def test_coordinates_are_the_variables_where_there_are_as_many():
    error = node("mul", node("sin", affine(0, 1, 1)), node("sin", affine(0, 1, -1)))
    assert part_of(error, [(ZERO, ONE)] * 2).forms == (((0, ONE),), ((1, ONE),))


def test_coordinates_with_kinks_come_first():
    ridge = affine(0, 3, 1, 1)
    error = plus(
        node("mul", node("sin", affine(0, 1, fmpq(1, 9))), node("exp", ridge)), node("relu", ridge)
    )
    part = part_of(error, [(ZERO, ONE)] * 3)
    assert part.forms[0] == normal(ridge.lin)
    assert len(part.forms) == 2


def test_equal_parts_have_equal_keys():
    box = [(ZERO, ONE)] * 4
    here, there = (part_of(node("sin", x(i, 2)), box) for i in (0, 3))
    assert here.key == there.key
    assert here.forms != there.forms
    assert here.key != part_of(node("sin", x(0, 2)), [(ZERO, ONE + ONE)]).key


@given(SEEDS)
def test_a_form_in_the_span_of_a_basis_is_written_in_it(seed):
    rng = np.random.default_rng(seed)
    basis = []
    for _ in range(int(rng.integers(1, 4))):
        form = some_affine(rng, VARIABLES).lin
        if form and rank([*basis, normal(form)]) > len(basis):
            basis.append(normal(form))
    if not basis:
        return
    place = coordinates(basis)
    factors = [some_rational(rng) for _ in basis]
    whole = combine((c, Sum(lin=form)) for c, form in zip(factors, basis, strict=True))
    found = place(whole.lin)
    assert dict(found) == {a: c for a, c in enumerate(factors) if c != 0}
    other = some_affine(rng, VARIABLES + 1).lin
    if other and (other[-1][0] == VARIABLES or rank([*basis, other]) > len(basis)):
        assert place(other) is None


# Coordinates that hardly vary


@given(SEEDS)
def test_forms_parallel_but_for_rounding_make_one_coordinate_and_a_loose_one(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=3)
    ridges = [affine(0, *map(rational, w)) for w in (weights, weights * (1 + 1e-13))]
    ridges[1] = plus(ridges[1], x(2), fmpq(1, 2**45))
    error = plus(node("relu", ridges[0]), node("sin", ridges[1]), fmpq(-2))
    box = some_box(rng, 3)
    part = part_of(error, box)
    assert (part.coordinates, part.loose) == (1, 1)
    assert part.forms[0] in {normal(r.lin) for r in ridges}
    for point in points_of(rng, box):
        u = [of_form(form, point) for form in part.forms]
        assert all(a <= here <= b for here, (a, b) in zip(u, part.root, strict=True))
        assert mpmath.almosteq(value(part.expression, u), value(error, point), 1e-40, 1e-40)


def test_forms_that_differ_are_coordinates_both():
    error = node(
        "mul", node("sin", affine(0, 1, 1, 1)), node("sin", affine(0, 1, 1, fmpq(1001, 1000)))
    )
    part = part_of(error, [(ZERO, ONE)] * 3)
    assert (part.coordinates, part.loose) == (2, 0)


# Stages


def staged(rng):
    """κ mix(g) + rest, where every argument of the mixture is α + β g; and what it is made of."""
    inner = [node(kind, affine(some_rational(rng), 1, 2)) for kind in ("sin", "relu")]
    g = combine([(some_rational(rng) or ONE, inner[0]), (ONE, inner[1])])

    def of(alpha, beta):
        return combine([(ONE, Sum(alpha)), (beta, g)])

    def argument():
        return of(some_rational(rng), some_rational(rng))

    scores = [argument() for _ in range(3)]
    values = [argument() if rng.random() < 0.3 else Sum(some_rational(rng)) for _ in range(3)]
    return plus(node("exp", x(0)), mix(scores, values), fmpq(2)), g


@given(SEEDS)
def test_a_stage_is_a_function_of_its_inner_quantity(seed):
    rng = np.random.default_rng(seed)
    error, _ = staged(rng)
    found = stage(error)
    if found is None:  # all scores equal, or all values
        assert not any(n.kind == "mix" for n, _ in error.rest)
        return
    n, c, g = found
    assert (n, c) in error.rest
    assert g.const == 0
    slope = some_rational(rng)
    outer = of_one_number(n, c, g, slope)
    assert {i for a in [outer, *(a for m in walk([outer]) for a in m.args)] for i, _ in a.lin} <= {
        0
    }
    assert not any(a.rest for m in walk([outer]) for a in m.args)
    for _ in range(4):
        point = [some_rational(rng) for _ in range(2)]
        with mpmath.workdps(60):
            u = value(g, point)
            direct = value(combine([(c, Sum(rest=((n, ONE),))), (-slope, g)]), point)
            through = value(outer, [u], lambda q: q if isinstance(q, mpmath.mpf) else _real(q))
            assert mpmath.almosteq(direct, through, 1e-40, 1e-40)


TWO = plus(node("sin", x(0)), node("sin", x(1)))


def _real(q):
    return mpmath.mpf(int(q.p)) / int(q.q)


@pytest.mark.parametrize(
    "error",
    [
        Sum(ONE),
        node("sin", x(0)),
        mix([x(0), x(1)], [Sum(ONE), Sum()]),
        mix([node("sin", x(0)), Sum()], [node("sin", x(1)), Sum()]),
        mix([plus(node("sin", x(0)), x(1)), x(1)], [x(0), Sum()]),
        mix([TWO, Sum()], [plus(node("sin", x(0)), node("cos", x(1))), Sum()]),
        mix([TWO, plus(TWO, x(0))], [Sum(ONE), Sum()]),
        node("relu", plus(node("sin", x(0)), node("sin", x(1)))),
    ],
)
def test_what_is_no_function_of_one_inner_quantity_is_no_stage(error):
    assert stage(error) is None
