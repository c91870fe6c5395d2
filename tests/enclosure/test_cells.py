import math
import random
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.enclosure.cells import Cells, halves, leaves
from anchorhead.enclosure.expressions import ONE, ZERO, Sum, combine, mix, node, plus, walk
from anchorhead.enclosure.mixture import grid_of, gridded, mixture
from anchorhead.enclosure.parts import Part, part_of
from anchorhead.enclosure.place import Place
from anchorhead.enclosure.reading import UnreadableError, read_target
from anchorhead.enclosure.series import exponents, precise
from enclosure import texts
from enclosure.sums import DIGITS, affine, fraction, rational, real, some_affine, value, x

SEEDS = st.integers(0, 10**6)
NAMES = ["x", "y", "z"]


def read(formula, variables=1):
    target = {"variables": NAMES[:variables], "where": [], "outputs": [formula]}
    return read_target(target, [x(i) for i in range(variables)])[0][0]


def whole(s, box):
    """A sum as a part whose coordinates are the entries themselves."""
    return Part(s, tuple(box), tuple(((i, ONE),) for i in range(len(box))))


def cells_of(formula, *box, order=4):
    """The cells of a formula over a box of rationals."""
    box = [tuple(map(fmpq, side)) for side in box]
    return Cells(whole(read(formula, len(box)), box), order)


def some_box(rng, variables):
    """Sides from nothing to a few units, with ends at simple fractions."""
    box = []
    for _ in range(variables):
        low = fmpq(int(rng.integers(-20, 21)), int(rng.choice([1, 2, 3, 4, 10])))
        width = fmpq(
            int(rng.choice([0, 1, 1, 1, 2, 5])), int(rng.choice([1, 2, 3, 10, 100, 10**6]))
        )
        box.append((low, low + width))
    return box


def points_of(rng, box, count):
    """Points of a box: spread evenly, and of its ends, middles and simple fractions."""
    sides = []
    for a, b in box:
        simple = (fmpq(k, d) for d in (1, 2, 3) for k in range(-60, 61))
        sides.append(sorted({a, b, (a + b) / 2, *(c for c in simple if a <= c <= b)}))
    for t in rng.integers(0, 2**20 + 1, (count, len(box))):
        yield [a + (b - a) * fmpq(int(s), 2**20) for s, (a, b) in zip(t, box, strict=True)]
    for _ in range(count):
        yield [side[int(rng.integers(len(side)))] for side in sides]


def inside(root, point):
    return all(a <= here <= b for here, (a, b) in zip(point, root, strict=True))


def dominated(cells, at, points, slack=1e-40):
    """Whether the bounds hold at points of the roots; ``at`` gives values, None where there is none."""
    bounds = [(root, cells.error(root)) for root in cells.roots]
    for point in points:
        found = at(point)
        if found is None:
            continue
        upper = max(bound.upper for root, bound in bounds if inside(root, point))
        assert abs(found) <= upper + slack, (point, found, upper)
    return max(bound.upper for _, bound in bounds)


def largest_on_grid(cells, at, root):
    """The largest value at the points at which a cell's polynomial is looked at."""
    count = {1: 33, 2: 17, 3: 9}[len(root)]
    lines = [[a + (b - a) * fmpq(i, count - 1) for i in range(count)] for a, b in root]
    return max(abs(at(point)) for point in product(*lines))


# Formulas


@given(SEEDS)
@settings(max_examples=250)
def test_bounds_of_formulas_hold_at_points(seed):
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    variables = int(rng.choice([1, 1, 1, 2, 2, 3]))
    formula = texts.text(draw, NAMES[:variables], draw.randint(1, 4))
    try:
        s = read(formula, variables)
        cells = Cells(whole(s, some_box(rng, variables)), int(rng.choice([1, 2, 3, 5])))
        cells.error(cells.roots[0])
    except (UnreadableError, ZeroDivisionError):
        return

    def at(point):
        with mpmath.workdps(50):
            known = {n: real(q) for n, q in zip(NAMES, point, strict=False)}
        return texts.value(formula, known)

    try:
        dominated(cells, at, points_of(rng, cells.roots[0], 15))
    except ZeroDivisionError:
        return


FORMULAS = [
    ("sin(3*x) + x**3", (-2, 2)),
    ("max(x, 0) - x/2", (-1, 2)),
    ("abs(x - 1/3)*exp(-x)", (-1, 1)),
    ("max(min(x, 1), -1)**2", (-3, 3)),
    ("sqrt(x)", (0, 2)),
    ("sqrt(abs(x))", (-1, 1)),
    ("(x**2)**(1/3)", (-1, 1)),
    ("x**1.5 - x", (0, 1)),
    ("sqrt(1 - x**2)", (-1, 1)),
    ("asin(x)*acos(x)", (-1, 1)),
    ("x**2 if x >= 1/3 else -x", (0, 1)),
    ("1/(x**2 + 0.01)", (-1, 1)),
    ("exp(-1/(x**2 + 0.01))*tanh(9*x)", (-1, 1)),
    ("erf(x) - erfc(x/2)", (-3, 3)),
    ("gamma(x) - lgamma(x)", (fmpq(5, 2), 3)),
    ("x*y - y**2", (-1, 2), (0, 3)),
    ("max(x + y, 0)", (-1, 1), (-1, 1)),
    ("max(x, y, 0)", (-1, 1), (-1, 1)),
    ("abs(x)*abs(y - 1/3)", (-1, 1), (0, 1)),
    ("sqrt(x**2 + y**2)", (-1, 1), (0, 1)),
    ("x/(2 + y) if x > y else sin(y)", (-1, 1), (-1, 1)),
    ("x*y*z + max(x, 0)*max(y, 0)", (-1, 1), (-1, 1), (0, 1)),
]


@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case[0])
@pytest.mark.parametrize("order", [1, 4])
def test_bounds_hold_at_many_points_and_lower_bounds_are_attained(case, order):
    formula, *box = case
    cells = cells_of(formula, *box, order=order)
    rng = np.random.default_rng(len(formula))

    def at(point):
        with mpmath.workdps(50):
            known = {n: real(q) for n, q in zip(NAMES, point, strict=False)}
        return texts.value(formula, known)

    dominated(cells, at, points_of(rng, cells.roots[0], 80))
    for _ in range(4):
        root = list(cells.roots[int(rng.integers(len(cells.roots)))])
        for _ in range(int(rng.integers(0, 8))):
            root = halves(root, int(rng.integers(len(root))))[int(rng.integers(2))]
        bound = cells.error(root)
        taken = [at(point) for point in points_of(rng, root, 10)]
        assert max(map(abs, taken)) <= bound.upper
        if bound.lower > max(map(abs, taken)):
            assert bound.lower <= largest_on_grid(cells, at, root)
        with mpmath.workdps(50):
            low, high = (real(end.fmpq()) for end in cells.range_over(root))
            slack = mpmath.mpf(10) ** -45 * (1 + abs(low) + abs(high))
            assert all(low - slack <= v <= high + slack for v in taken)


@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case[0])
def test_bounds_come_near_the_value_as_cells_shrink(case):
    formula, *box = case
    cells = cells_of(formula, *box)
    rng = np.random.default_rng(1)
    for _ in range(3):
        root = list(cells.roots[int(rng.integers(len(cells.roots)))])
        while max(b - a for a, b in root) > fmpq(1, 2**40):
            root = [(a, (a + b) / 2) if rng.random() < 0.5 else ((a + b) / 2, b) for a, b in root]
        known = {n: real(a) for n, (a, _) in zip(NAMES, root, strict=False)}
        bound = cells.error(root)
        assert bound.lower <= bound.upper
        assert bound.upper <= abs(texts.value(formula, known)) + 1e-4  # √x falls by 2⁻²⁰ there


def test_higher_orders_are_closer_on_smooth_functions():
    box = (-fmpq(1, 4), fmpq(1, 4))
    uppers = [
        cells_of("exp(x)*sin(x) - 0.25", box, order=order).error([box]).upper for order in (1, 3, 9)
    ]
    truth = 0.25 + math.exp(-0.25) * math.sin(0.25)
    assert truth <= uppers[2] < uppers[1] < uppers[0]
    assert uppers[2] < truth * 1.001


# Kinks and choices


def test_cells_begin_and_end_at_kinks():
    cells = cells_of("max(3*x - 1, 0) + abs(7*y - 2)*max(x - y, 0)", (0, 1), (0, 1))
    assert cells.roots == [
        [side, other]
        for side in pairwise([ZERO, fmpq(1, 3), ONE])
        for other in pairwise([ZERO, fmpq(2, 7), ONE])
    ]


@pytest.mark.parametrize(
    "kinked",
    [
        "max(x - 1/4, 0)",
        "abs(3*x - 1.5)",
        "max(x - 1/3, 0)",
        "max(3*x - 1, 0)",
        "abs(x - 1/3)",
        "max(0.3*x - 0.1, 0)",
    ],
)
def test_between_kinks_a_function_is_as_smooth_as_its_formulas(kinked):
    s = read(f"sin({kinked}) - {kinked}")
    cells = Cells(whole(s, [(ZERO, ONE)]), 8)
    assert len(cells.roots) == 2
    for root in cells.roots:
        assert (
            cells.error(root).upper
            < 1.01 * largest_on_grid(cells, lambda point: value(s, point), root) + 1e-9
        )


TIES = [
    "(1 if x > 0 else 0) - (1 if x >= 0 else 0)",
    "(1 if x >= 0 else 0) + (1 if -x >= 0 else 0)",
    "(1 if x > 0 else 0) + (1 if -x > 0 else 0) - 1",
    "(1 if 3*x >= 1 else 0)*(1 if 1 >= 3*x else 0)",
    "(x if x > 1/3 else 5) - (x if x >= 1/3 else 5)",
    "(5 if abs(x) > 0 else -7)",
    "(5 if max(x, 0) > 0 else -7) + (2 if x >= 0 else 3)",
    "(9 if (1 if x > 0 else 0) - (1 if x >= 0 else 0) >= 0 else 1)",
    "(9 if 0 >= x**2 else 1)",
    "(9 if x >= 1 else 1)",
    "(9 if -1 >= x else 1)",
    "(9 if 0 > x else 2)/(3 if x > 0 else 1)",
]


@pytest.mark.parametrize("formula", TIES)
def test_bounds_hold_where_choices_tie(formula):
    cells = cells_of(formula, (-1, 1))

    def at(point):
        return texts.value(formula, {"x": real(point[0])})

    ties = [[fmpq(k, 3)] for k in range(-3, 4)]
    dominated(cells, lambda point: value(read(formula), point), ties)
    dominated(cells, at, [[fmpq(k, 4)] for k in range(-4, 5)])


def test_bounds_hold_where_choices_of_several_variables_tie():
    formula = "(1 if x >= 0 else 0)*(1 if -x >= 0 else 0)*(1 if y > 0 else 2)*(1 if -y > 0 else 2)"
    cells = cells_of(formula, (-1, 1), (-1, 1))
    upper = dominated(
        cells,
        lambda point: value(read(formula, 2), point),
        [[fmpq(i), fmpq(k, 2)] for i in (-1, 0, 1) for k in (-2, -1, 0, 1, 2)],
    )
    assert upper < 4.001
    joined = "(1 if x + y >= 0 else 0) + (1 if -x - y >= 0 else 0)"
    assert cells_of(joined, (-1, 1), (-1, 1)).error([(-ONE, ONE)] * 2).upper >= 2


def test_choices_at_the_ends_of_a_domain_are_those_there():
    for formula, low, high in (("9 if x > 0 else 1", 0, 1), ("9 if x >= 0 else 1", -1, 0)):
        cells = cells_of(formula, (low, high))
        points = [[fmpq(low)], [fmpq(low + high, 2)], [fmpq(high)]]
        upper = dominated(cells, lambda point, f=formula: value(read(f), point), points)
        assert upper == pytest.approx(9)


@given(SEEDS)
@settings(max_examples=40)
def test_neighbours_that_share_a_cut_both_hold_it(seed):
    """A random piecewise function with many kinks and choices at the same few places."""
    rng = np.random.default_rng(seed)
    s = some_affine(rng, 1)
    for _ in range(5):
        head = affine(rational(float(rng.integers(-3, 4))) / 3, int(rng.choice([-1, 1])))
        kind = str(rng.choice(["relu", "abs", "if>=", "if>"]))
        branches = [some_affine(rng, 1) for _ in range(2)] if kind.startswith("if") else []
        s = plus(s, node(kind, head, *branches), fmpq(int(rng.integers(-3, 4)), 2))
    cells = Cells(whole(s, [(-ONE, ONE)]), 3)
    dominated(cells, lambda point: value(s, point), points_of(rng, [(-ONE, ONE)], 20))


# Mixtures


def some_mixture(rng, d, kind):
    """A mixture of d variables, from flat to steep, with values of any size."""
    sharp, size = 10.0 ** rng.uniform(-2, 5), 10.0 ** rng.uniform(-3, 6)

    def some(scale):
        return rational(float(rng.normal() * scale))

    count = int(rng.integers(2, 7))
    scores = [affine(some(sharp), *(some(sharp) for _ in range(d))) for _ in range(count)]
    offset = 1e9 if kind == "far" else 0.0
    values = [
        affine(
            some(size) + rational(offset),
            *(some(size) * (kind == "affine") for _ in range(d)),
        )
        for _ in range(count)
    ]
    if kind == "deep":
        inner = mix([Sum(), x(0, 3)], [Sum(ONE), Sum(-ONE)])
        scores = [plus(s, inner, some(1)) for s in scores]
        values = [plus(v, node("sin", inner)) for v in values]
    if kind == "grid":
        scores = some_grid(rng, d, sharp)
        values = [Sum(some(size)) for _ in scores]
    s = mix(scores, values)
    s = plus(s, node("relu", affine(some(0.3), ONE)), some(size))
    return plus(s, affine(some(size), some(size))), sharp


def some_grid(rng, d, sharp, sizes=None):
    """Scores that are sums over the coordinates, row by row."""
    sizes = sizes or [int(n) for n in rng.integers(2, 4, d)]
    parts = [
        [
            tuple(rational(float(c)) for c in rng.normal(size=2) * sharp)  # constant, slope
            for _ in range(n)
        ]
        for n in sizes
    ]
    return [
        affine(
            sum((parts[a][i][0] for a, i in enumerate(k)), ZERO),
            *(parts[a][i][1] for a, i in enumerate(k)),
        )
        for k in np.ndindex(*sizes)
    ]


@pytest.mark.parametrize("kind", ["plain", "affine", "far", "deep", "grid"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_bounds_of_mixtures_hold_at_points(kind, d):
    if kind == "grid" and d == 1:
        return
    for seed in range(12 if d == 1 else 6):
        rng = np.random.default_rng([seed, d, len(kind)])
        s, sharp = some_mixture(rng, d, kind)
        widths = 10.0 ** rng.uniform(-6, 0.5, d) / (sharp if rng.random() < 0.5 else 1)
        box = []
        for w in widths:
            low = rational(float(rng.uniform(-1, 1)))
            box.append((low, low + rational(float(w))))
        cells = Cells(whole(s, box), int(rng.choice([1, 2, 3, 5])))
        assert (len(cells.program.grids) == 1) == (kind == "grid")

        def at(point, s=s):
            return value(s, point)

        dominated(cells, at, points_of(rng, box, 6))
        for root in cells.roots[:2] if d < 3 else []:
            bound = cells.error(root)
            taken = max(abs(at(point)) for point in points_of(rng, root, 4))
            if bound.lower > taken and d == 1:
                assert bound.lower <= largest_on_grid(cells, at, root)


@pytest.mark.parametrize("kind", ["plain", "affine", "deep", "grid"])
@pytest.mark.parametrize("d", [1, 2])
def test_bounds_of_mixtures_come_near_the_value_as_cells_shrink(kind, d):
    if kind == "grid" and d == 1:
        return
    for seed in range(3):
        rng = np.random.default_rng(seed)
        s, sharp = some_mixture(rng, d, kind)
        point = [rational(float(c)) for c in rng.uniform(-1, 1, d)]
        width = rational(1e-4 / sharp)
        box = [(c, c + width) for c in point]
        cells = Cells(whole(s, box), 4)
        size = max(float(abs(n.const)) for m in walk([s]) if m.kind == "mix" for n in m.args[3:])
        true = float(abs(value(s, point)))
        upper = max(cells.error(root).upper for root in cells.roots)
        assert true <= upper * (1 + 1e-12)
        assert upper <= true + 0.01 * (size + 1)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 3, 2)])
def test_grids_of_keys_are_found_and_nothing_else_is(sizes):
    rng = np.random.default_rng(len(sizes))
    d = len(sizes)
    scores = some_grid(rng, d, 2.0, sizes)
    grid = grid_of(scores, d)
    assert [len(axis) for axis in grid] == list(sizes)
    for k, s in zip(np.ndindex(*sizes), scores, strict=True):
        const = sum(grid[a][i][0] for a, i in enumerate(k))
        assert abs(const - (s.const - scores[0].const)) < 1e-12
        for a, i in enumerate(k):
            assert abs(grid[a][i][1] - dict(s.lin)[a]) < 1e-12
    for number in (0, len(scores) - 1):
        for change in (Sum(fmpq(1, 2**60)), x(0, fmpq(1, 2**60)), node("sin", x(0))):
            others = list(scores)
            others[number] = plus(others[number], change)
            assert grid_of(others, d) is None
    swapped = [scores[1], scores[0], *scores[2:]]
    assert grid_of(swapped, d) is None
    assert grid_of(scores[:-1], d) is None
    assert grid_of(scores, 1) is None


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("order", [1, 3])
def test_a_grid_gives_what_the_same_mixture_gives_key_by_key(sizes, order):
    rng = np.random.default_rng(order)
    d = len(sizes)
    scores = some_grid(rng, d, 1.0, sizes)
    values = [Sum(rational(float(v))) for v in rng.normal(size=len(scores))]
    s = mix(scores, values)
    box = [(fmpq(int(k), 7), fmpq(int(k) + 1, 7)) for k in rng.integers(-5, 5, d)]
    cells = Cells(whole(s, box), order)
    (n,) = cells.program.grids
    with precise(order):
        place = Place(cells.program, box)
        args = place.args[n]
        half = len(args) // 2
        quick = gridded(place, cells.program.grids[n], args[half:])
        general = mixture(place, args[:half], args[half:])
        for i, k in enumerate(exponents(d, order)):
            assert quick[0][i].overlaps(general[0][i])
            assert quick[1][i].overlaps(general[1][i])
            apart = float(abs((quick[0][i] - general[0][i]).mid()))
            assert sum(k) > 0 or apart < 1e-25
            assert apart < 1e-25
            for _ in range(5):  # at any point of the cell the coefficient is in the second
                t = [a + (b - a) * fmpq(int(rng.integers(0, 9)), 8) for a, b in box]
                thin = Place(cells.program, [(c, c) for c in t])
                thin.half = place.half
                there = gridded(thin, cells.program.grids[n], args[half:])[0][i]
                assert quick[1][i].overlaps(there)
                assert general[1][i].overlaps(there)


# Loose coordinates


@given(SEEDS)
@settings(max_examples=25)
def test_bounds_hold_for_all_values_of_a_loose_coordinate(seed):
    """Two ridges parallel but for rounding: a part of one coordinate, and one that hardly varies."""
    rng = np.random.default_rng(seed)
    weights = [rational(float(w)) for w in rng.normal(size=3)]
    slack = fmpq(1, 2 ** int(rng.integers(31, 50)))
    ridges = [affine(0, *weights), affine(0, weights[0], weights[1], weights[2] * (1 + slack))]
    kinds = [str(k) for k in rng.choice(["sin", "relu", "abs", "mix"], 2)]
    s = Sum(ONE)
    for kind, ridge in zip(kinds, ridges, strict=True):
        scores = [Sum(), combine([(fmpq(9), ridge)]), combine([(fmpq(-7), ridge)])]
        made = mix(scores, [Sum(), Sum(ONE), ridge]) if kind == "mix" else node(kind, ridge)
        s = plus(s, made, rational(float(rng.normal())))
    part = part_of(s, [(-ONE, ONE)] * 3)
    assert part.loose == 1
    cells = Cells(part, 3)
    points = points_of(rng, part.root, 15)
    dominated(cells, lambda u: value(part.expression, u), points)


# Where there is no value


@pytest.mark.parametrize(
    ("formula", "low", "high", "kind"),
    [
        ("1/x", -1, 1, "inv"),
        ("x + 1/(x*x - 2)", 0, 2, "inv"),
        ("log(x)", 0, 1, "log"),
        ("sqrt(x)", -fmpq(1, 100), 1, "sqrt"),
        ("tan(x)", 1, 2, "tan"),
        ("acos(2*x)", 0, 1, "acos"),
        ("acosh(x)", 0, 2, "acosh"),
        ("atanh(x)", 0, 1, "atanh"),
        ("gamma(x)", -fmpq(3, 2), -fmpq(1, 2), "gamma"),
        ("lgamma(x)", -1, 1, "lgamma"),
        ("x**(-3)", -1, 1, "inv"),
        ("x**(-1/3)", 0, 1, "power"),
        ("x**1.7", -1, 1, "power"),
        ("exp(exp(exp(x)))", 20, 21, "exp"),
    ],
)
def test_nodes_without_a_finite_value_are_found(formula, low, high, kind):
    box = (fmpq(low), fmpq(high))
    cells = cells_of(formula, box)
    assert cells.undefined([box]).kind == kind
    assert cells.error([box]).upper == math.inf
    assert cells.error([box]).lower == 0
    assert not all(end.is_finite() for end in cells.range_over([box]))


@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case[0])
def test_where_all_is_defined_nothing_is_missed(case):
    formula, *box = case
    cells = cells_of(formula, *box)
    for root in cells.roots:
        assert cells.undefined(root) is None
        assert cells.error(root).upper < math.inf


@pytest.mark.parametrize("formula", ["1/max(x - 3, 0)", "1/(x - x)", "max(x - 3, 0)**(-1)"])
def test_the_inverse_of_what_is_0_is_undefined(formula):
    cells = cells_of(formula, (0, 1))
    assert cells.error(cells.roots[0]).upper == math.inf
    assert cells.undefined(cells.roots[0]).kind == "inv"


@pytest.mark.parametrize(
    "formula",
    ["exp(exp(exp(x*100)))", "(10**6*x)**400", "exp(9**999*x)", "x*10**400", "gamma(x + 999)"],
)
def test_what_no_float_holds_is_infinite_and_nobody_is_warned(formula):
    bound = cells_of(formula, (1, 2)).error([(ONE, ONE + ONE)])
    assert bound.upper == math.inf
    assert bound.lower == 0


# Boxes


@given(SEEDS)
@settings(max_examples=40)
def test_a_box_without_width_has_the_value_there(seed):
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    formula, *box = FORMULAS[draw.randrange(len(FORMULAS))]
    point = [fmpq(a) + (fmpq(b) - fmpq(a)) * fmpq(int(rng.integers(0, 65)), 64) for a, b in box]
    cells = cells_of(formula, *((c, c) for c in point))
    assert cells.roots == [[(c, c) for c in point]]
    with mpmath.workdps(DIGITS):
        true = texts.value(formula, {n: real(c) for n, c in zip(NAMES, point, strict=False)})
        bound = cells.error(cells.roots[0])
        assert abs(true) <= bound.upper <= abs(true) * (1 + 1e-11) + 1e-18
        low, high = (real(end.fmpq()) for end in cells.range_over(cells.roots[0]))
        assert low - 1e-36 <= true <= high + 1e-36
        assert high - low < 1e-18


def test_ranges_of_products_hold_to_the_last_bit():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        point = [fmpq(int(rng.integers(-60, 61)), int(rng.integers(1, 71))) for _ in range(2)]
        point[1] = abs(point[1])
        box = [(c, c) for c in point]
        low, high = (fraction(end.fmpq()) for end in cells_of("x/(2 + y)", *box).range_over(box))
        assert low <= fraction(point[0] / (2 + point[1])) <= high


def test_halves_are_a_box():
    box = [(ZERO, fmpq(1, 3)), (ONE, ONE)]
    assert halves(box, 0) == (
        [(ZERO, fmpq(1, 6)), (ONE, ONE)],
        [(fmpq(1, 6), fmpq(1, 3)), (ONE, ONE)],
    )
    assert box == [(ZERO, fmpq(1, 3)), (ONE, ONE)]


def volume(box):
    return math.prod((b - a for a, b in box), start=ONE)


def some_tree(rng, axes, depth=6):
    if depth == 0 or rng.random() < 0.3:
        return "."
    halves = (some_tree(rng, axes, depth - 1) for _ in range(2))
    return f"{rng.integers(axes)}{''.join(halves)}"


@given(SEEDS)
def test_a_tree_covers_its_root_exactly(seed):
    rng = np.random.default_rng(seed)
    root = [(a, a + fmpq(int(rng.integers(1, 9)), 7)) for a, _ in some_box(rng, 3)]
    tree = some_tree(rng, 3)
    found = list(leaves(root, tree))
    assert len(found) == tree.count(".")
    assert sum((volume(box) for box in found), ZERO) == volume(root)
    assert all(a <= c <= d <= b for box in found for (c, d), (a, b) in zip(box, root, strict=True))
    for point in points_of(rng, root, 4):  # volumes add up and every point is covered
        assert any(inside(box, point) for box in found)


@given(SEEDS, st.integers(0, 4))
def test_a_tree_that_was_tampered_with_is_refused(seed, how):
    rng = np.random.default_rng(seed)
    root = [(ZERO, ONE), (ZERO, ONE)]
    tree = some_tree(rng, 2)
    place = int(rng.integers(len(tree)))
    changed = [
        tree[:place],
        tree + ".",
        tree[:place] + "2" + tree[place + 1 :],
        tree[:place] + tree[place + 1 :],
        tree[:place] + "01"[tree[place] == "0"] + tree[place:],
    ][how]
    with pytest.raises(ValueError, match="subdivision"):
        list(leaves(root, changed))


@pytest.mark.parametrize(
    "tree", ["", "..", "0", "0.", "0...", ".0", "x", "0.-", "9..", "1..", " .", "٠..", ".\0", "².."]
)
def test_what_is_no_tree_is_refused(tree):
    with pytest.raises(ValueError, match="subdivision"):
        list(leaves([(ZERO, ONE)], tree))


@given(st.text("01.", max_size=30))
def test_any_text_of_letters_is_refused_or_covers(tree):
    root = [(ZERO, ONE), (ONE, fmpq(3))]
    try:
        found = list(leaves(root, tree))
    except ValueError:
        return
    assert sum((volume(box) for box in found), ZERO) == volume(root)


def test_a_tree_deeper_than_any_is_refused():
    with pytest.raises(ValueError, match="deeper"):
        list(leaves([(ZERO, ONE)], "0" * 10**5 + "." * (10**5 + 1)))


def test_the_axis_to_cut_is_the_one_that_matters():
    for formula, axis in (("sin(9*x) + y/9", 0), ("x/9 + sin(9*y)", 1)):
        cells = cells_of(formula, (0, 1), (0, 1), order=2)
        assert cells.error(cells.roots[0]).axis == axis
