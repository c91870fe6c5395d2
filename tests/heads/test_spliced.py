from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import assume, given
from hypothesis import strategies as st

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.response import response, rounding, weights
from anchorhead.heads.spliced import TURN, constant, identity, joined, separate, steepness
from networks import evaluate_anchors

SEEDS = st.integers(0, 10**6)
Y = np.linspace(-1, 1, 2001)


def random_group(rng, count, width=2):
    return Anchors(
        np.sort(rng.normal(size=count)) * 3,
        rng.normal(size=count) * 3,
        rng.normal(size=(count, width)),
        float(rng.normal()),
        float(rng.exponential() + 0.1),
    )


def log_sum(group, y):
    scores = ((y - group.centre) / group.unit)[:, None] * group.slopes + group.intercepts
    return np.logaddexp.reduce(scores, axis=1)


@given(SEEDS, st.integers(2, 4))
def test_a_joined_head_is_a_softmax_of_softmaxes(seed, count):
    """Group i has the share softmax_i(log D_i + A_i y + C_i), in balance where groups meet."""
    rng = np.random.default_rng(seed)
    groups = [random_group(rng, int(rng.integers(1, 6))) for _ in range(count)]
    points, steps = np.sort(rng.uniform(-1, 1, count - 1)), rng.normal(size=count - 1) * 30
    head = joined(groups, points.tolist(), steps.tolist(), 0.3, 0.7)
    totals = [log_sum(groups[0], Y)]
    for i, (c, step) in enumerate(zip(points, steps, strict=True)):
        at, left, right = np.array([c]), groups[i], groups[i + 1]
        lift = totals[-1] - log_sum(left, Y) + log_sum(left, at) - log_sum(right, at)
        totals.append(log_sum(right, Y) + lift + step * (Y - c))
    shares = np.stack(totals, axis=1)
    shares = np.exp(shares - shares.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    outputs = np.stack([evaluate_anchors(group, Y) for group in groups], axis=1)
    exact = np.einsum("yi,yiw->yw", shares, outputs)
    np.testing.assert_allclose(evaluate_anchors(head, Y), exact, atol=1e-11)
    assert (head.centre, head.unit) == (0.3, 0.7)
    assert len(head) == sum(map(len, groups))


def kinked(seed):
    """Two groups that are straight lines within η on their sides, and the function that has a kink.

    f − f(c) = a(y − c) left of c and b(y − c) right of it; normalisers are not alike.
    """
    rng = np.random.default_rng(seed)
    (a, b), c = rng.normal(size=2) * 10.0 ** rng.uniform(-1, 1), rng.uniform(-0.9, 0.9)
    (line, eta), height = identity(3, 1e-7), rng.normal()

    def straight(slope):
        lifted = line.intercepts + 5 * rng.normal()
        return Anchors(line.slopes, lifted, slope * (line.values - c) + height)

    def f(y):
        return height + np.where(y < c, a * (y - c), b * (y - c))[:, None]

    eta *= max(abs(a), abs(b))
    return (straight(a), straight(b)), f, float(c), abs(b - a), eta


@given(SEEDS, st.floats(0, 8))
def test_a_splice_at_a_kink_costs_no_more_than_stated(seed, log_step):
    """η + 0.2785 J/β: what |F₁ − F₂| ≤ J t + 2η gives, t σ(−βt) being at most 0.2785/β."""
    groups, f, c, jump, eta = kinked(seed)
    beta = 10.0**log_step
    head = joined(groups, [c], [beta], 0.0, 1.0)
    y = np.clip(np.sort(np.concatenate([Y, c + np.linspace(-20, 20, 2001) / beta])), -1, 1)
    apart = np.abs(response(head, y) - f(y)).max()
    lost = rounding(head, y, "float64").max() + 4e-16 * (jump + np.abs(f(y)).max())
    assert apart <= eta + TURN * jump / beta + lost
    if 8 / beta < 1 - abs(c):
        assert apart >= 0.99 * TURN * jump / beta - eta - lost


def test_the_turn_is_the_largest_of_t_times_sigmoid():
    t = np.linspace(0, 10, 1_000_001)
    largest = (t / (1 + np.exp(t))).max()
    assert largest < TURN < largest + 1e-4


@given(SEEDS, st.floats(-7, -1))
def test_steepness_is_enough_and_half_of_it_is_not(seed, log_error):
    groups, f, c, jump, eta = kinked(seed)
    error = 10.0**log_error
    assume(eta < 0.01 * error)
    low, high = -1.0, 1.0
    step = steepness(*groups, c, f, low, high, error)
    y = np.unique(np.clip(np.append(Y, c + np.linspace(-20, 20, 2001) / step), -1, 1))

    def off(beta):
        head = joined(groups, [c], [beta], 0.0, 1.0)
        return np.abs(response(head, y) - f(y)).max() - rounding(head, y, "float64").max()

    assert off(step) <= 1.01 * error
    assert step <= max(1.1 * TURN * jump / (error - eta), 1 / (high - low))
    if step > 1 / (high - low):
        assert step >= 0.9 * TURN * jump / (error + eta) or off(step / 1.2) > error


def test_no_splice_is_so_steep_that_floating_point_cannot_see_it():
    left, right = constant(np.array([0.0])), constant(np.array([1.0]))
    step = steepness(left, right, 0.0, lambda y: (y > 0).astype(float)[:, None], -1.0, 1.0, 1e-3)
    assert 2.0**90 < step <= 2.0**96


@given(SEEDS, st.floats(2, 6))
def test_separate_heads_add_up_to_the_same_function(seed, log_step):
    """Each head keeps its group's frame; where splices are sharp their sum is f as the whole is."""
    groups, f, c, jump, eta = kinked(seed)
    beta = 10.0**log_step
    groups = (groups[0], groups[1], constant(f(np.array([0.95]))[0]))
    points, steps = [c, 0.95], [beta, beta]
    heads = separate(groups, points, steps, f(np.array(points)))
    assert [len(head) for head in heads] == [3 + 1, 3 + 2, 1 + 1]
    y = np.clip(np.sort(np.append(Y, c + np.linspace(-20, 20, 2001) / beta)), -1, 0.95)
    y = y[np.abs(y - 0.95) > 40 / beta]
    summed = sum(evaluate_anchors(head, y) for head in heads)
    slack = sum(rounding(head, y, "float64").max() for head in heads) + 1e-13 * (1 + jump)
    # both heads at c have their own balance; each is within η of f on its side and of f(c) beyond
    ends = max(np.abs(f(np.array([-1.0, 0.95]))).max(), jump) * np.exp(-beta * (0.95 - abs(c)))
    assert np.abs(summed - f(y)).max() <= 3 * eta + 2 * TURN * jump / beta + slack + ends
    beyond = sum(evaluate_anchors(head, np.array([3.0])) for head in heads)
    np.testing.assert_allclose(beyond[0], f(np.array([0.95]))[0], atol=1e-9)


def test_each_separate_head_runs_from_nought_to_its_rise():
    groups, f, c, *_ = kinked(3)
    points = [c]
    one, other = separate(groups, points, [1e4], f(np.array(points)))
    y = np.array([-1.0, 1.0])
    there = f(np.array(points))[0]
    np.testing.assert_allclose(evaluate_anchors(one, y), [f(y)[0], there], atol=1e-5)
    np.testing.assert_allclose(evaluate_anchors(other, y), [[0.0], f(y)[1] - there], atol=1e-5)


@pytest.mark.parametrize("count", [2, 3])
@given(st.floats(-13, 0))
def test_the_identitys_bound_holds_in_exact_arithmetic_and_meets_the_error(count, log_error):
    error = 10.0**log_error
    anchors, bound = identity(count, error)
    assert len(anchors) == count
    assert bound <= error * (1 + 1e-12)
    ctx.prec = 160
    slopes, intercepts = ([arb(float(x)) for x in a] for a in (anchors.slopes, anchors.intercepts))
    values = [arb(float(x)) for x in anchors.values[:, 0]]
    worst = 0.0
    for i in range(65):
        y = arb(str(Fraction(i, 64).numerator)) / Fraction(i, 64).denominator
        shares = [(a * y + g).exp() for a, g in zip(slopes, intercepts, strict=True)]
        F = sum((v * s for v, s in zip(values, shares, strict=True)), arb(0)) / sum(shares, arb(0))
        worst = max(worst, float(abs(F - y).upper()))
    stored = 4e-16 * float(np.abs(anchors.values).max())  # log 4 and the values are rounded
    assert worst <= bound + stored
    assert worst >= 0.5 * bound - stored


def test_an_identity_asked_for_more_exactly_has_larger_values():
    sizes = [identity(2, error)[0].values.max() for error in (1e-2, 1e-4, 1e-6)]
    np.testing.assert_allclose(np.diff(np.log10(sizes)), 1, atol=0.05)  # like 1/√error
    sizes = [identity(3, error)[0].values.max() for error in (1e-4, 1e-8, 1e-12)]
    np.testing.assert_allclose(np.diff(np.log10(sizes)), 1, atol=0.05)  # like 1/error^{1/4}


def test_scores_are_small_for_the_groups_whose_values_spread():
    flat, steep = constant(np.array([5.0])), random_group(np.random.default_rng(2), 4, 1)
    for groups in ((flat, steep), (steep, flat)):
        head = joined(groups, [0.0], [1e6], 0.0, 1.0)
        wide = np.flatnonzero(head.values[:, 0] != 5.0)
        assert len(wide) == 4
        assert np.abs(head.slopes[wide]).max() < 100
        assert np.abs(head.slopes).max() > 1e5
        assert weights(head, np.array([0.0]))[0, wide].sum() == pytest.approx(0.5)
