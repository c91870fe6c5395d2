import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead import Attention, Head, Linear, Network, Softmax, Term
from anchorhead.enclosure.cells import Cells
from anchorhead.enclosure.parts import part_of, separated
from anchorhead.enclosure.reading import entries_of, exact, read_network
from anchorhead.enclosure.rounding import rounding
from anchorhead.enclosure.spread import Dtype, Spread, added, mapped, mixed
from anchorhead.run import windows
from anchorhead.run.numpy import evaluate
from anchorhead.theorems import multi_head, single_head
from enclosure.runs import BITS, Exactly, Rounded, run
from networks import networks, random_head, random_linear

SEEDS = st.integers(0, 10**6)
DTYPES = ["float32", "float64"]


def bounds(network, low, high, dtypes=DTYPES, cut=False):
    """The rounding bounds over the box of arrays between low and high; with cells of parts, if cut."""
    low, high = (np.broadcast_to(end, np.shape(low)).ravel() for end in (low, high))
    box = [(exact(a), exact(b)) for a, b in zip(low, high, strict=True)]
    arrays = read_network(network, entries_of(box))
    parts = []
    if cut:
        groups = [g for row in arrays[-1] for s in row for g in separated(s)]
        parts = [part_of(g, box) for g in groups]
        parts = [(p, Cells(p, 1).roots) for p in parts if p.coordinates <= 2]
    return [rounding(network, arrays, box, parts, dtype) for dtype in dtypes]


def points(rng, low, high, dtype, count):
    """Arrays of numbers of the dtype between low and high, the ends among them."""
    low, high = (np.asarray(end, dtype=dtype) for end in (low, high))
    X = rng.uniform(low, high, (count, *low.shape)).astype(dtype)
    X[:2] = low, high
    return np.clip(X, low, high)


def apart(runs, true):
    """The largest difference between what was computed and what is true; inf for what is no number."""
    before = ctx.prec
    ctx.prec = BITS
    try:
        worst = 0.0
        for Y in runs:
            if not np.isfinite(Y).all():
                return math.inf
            gaps = [abs(t - arb(float(y))) for t, y in zip(true.flat, Y.flat, strict=True)]
            assert all(gap.is_finite() for gap in gaps)
            worst = max(worst, *(float(gap.abs_upper()) for gap in gaps))
        return worst
    finally:
        ctx.prec = before


def wrong(network, X, rng, orders=3, flush=False):
    """How wrong a network is at arrays X, run in their dtype: by the reference, and in other orders."""
    true = run(network, X, Exactly)
    with np.errstate(all="ignore"):
        runs = [run(network, X, Rounded(X.dtype, rng, flush)) for _ in range(orders)]
        if not flush and all(np.isfinite(Y).all() for Y in runs):
            runs.append(evaluate(network, X))
    assert all(Y.dtype == X.dtype for Y in runs)
    return apart(runs, true)


def of_float32(low, high):
    """A box whose ends are numbers of float32, as those of every dtype tried are."""
    return (np.asarray(end).astype(np.float32).astype(float) for end in (low, high))


def some_box(rng, shape):
    middle = rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 2)
    half = np.abs(rng.normal(size=shape)) * 10.0 ** rng.uniform(-6, 1)
    half = half * (rng.random(shape) < 0.7)
    return of_float32(middle - half, middle + half)


def altered(rng, array):
    """Weights as they are, or scaled, or powers of two, or sparse, or numbers of float32."""
    if array is None:
        return None
    match int(rng.integers(5)):
        case 0:
            return array * 10.0 ** rng.uniform(-3, 3)
        case 1:
            return np.sign(array) * 2.0 ** np.round(np.log2(np.abs(array) + 1e-9))
        case 2:
            return array * (rng.random(array.shape) < 0.5)
        case 3:
            return array.astype(np.float32).astype(float)
    return array


def some_network(rng):
    """A network of one or two attention layers, of all kinds of weights."""
    shape = first = tuple(int(n) for n in rng.integers(1, 4, 2))
    layers = []
    for _ in range(int(rng.integers(1, 3))):
        after = (int(rng.integers(1, 5)), int(rng.integers(1, 4)))
        made = random_linear(rng, shape, after, int(rng.integers(0, 4)))
        terms = tuple(
            Term(*(altered(rng, a) for a in (t.features, t.tokens, t.scale))) for t in made.terms
        )
        layers.append(Linear(shape, after, terms, altered(rng, made.constant)))
        residual = bool(rng.random() < 0.4)
        out = after[1] if residual else int(rng.integers(1, 4))
        heads = []
        for _ in range(int(rng.integers(1, 4))):
            sees = str(rng.choice(["all", "self", "anchors"]))
            anchors, narrow = int(rng.integers(0, 30)), bool(rng.random() < 0.5)
            h = random_head(rng, after[1], out, sees, bool(rng.random() < 0.5), anchors, narrow)
            names = ("query", "key", "value", "output", "anchor_keys", "anchor_values")
            weights = {name: altered(rng, getattr(h, name)) for name in names}
            if anchors and rng.random() < 0.4:  # what all keys, or all values, have in common
                for name in ("anchor_keys", "anchor_values"):
                    weights[name] = weights[name] + 10.0 ** rng.uniform(-2, 4)
            heads.append(Head(**weights, sees=h.sees, causal=h.causal))
        keep = int(rng.integers(1, after[0] + 1)) if rng.random() < 0.5 else None
        layers.append(Attention(tuple(heads), residual=residual, keep=keep))
        shape = (keep or after[0], out)
    if rng.random() < 0.3:
        layers.append(Softmax())
    return Network(tuple(layers)), first


# Bounds hold


@given(SEEDS)
@settings(max_examples=60)
def test_no_order_of_sums_is_further_from_the_exact_value_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    network, shape = some_network(rng)
    low, high = some_box(rng, shape)
    for dtype, bound in zip(DTYPES, bounds(network, low, high, cut=seed % 3 > 0), strict=True):
        if bound < math.inf:
            assert wrong(network, points(rng, low, high, dtype, 4), rng) <= bound


@given(networks(), SEEDS)
@settings(max_examples=40)
def test_bounds_of_plain_networks_are_finite_and_hold(case, seed):
    network, X = case
    rng = np.random.default_rng(seed)
    low, high = of_float32(X - 0.25, X + 0.25)
    b32, b64 = bounds(network, low, high)
    assert 0 < b64 < b32 < math.inf
    assert wrong(network, points(rng, low, high, "float32", 3), rng) <= b32
    assert wrong(network, points(rng, low, high, "float64", 3), rng) <= b64


def some_head(rng):
    """A head of one number: keys (α, γ) from flat to very steep, and values of any size."""
    count, sharp = int(rng.integers(2, 60)), 10.0 ** rng.uniform(-1, 4)
    slopes = np.sort(rng.normal(size=count)) * sharp
    crossings = np.sort(rng.uniform(-1, 1, count - 1))
    keys = np.stack([slopes, -np.append(0.0, np.cumsum(np.diff(slopes) * crossings))], axis=1)
    values = rng.normal(size=(count, 2)) * 10.0 ** rng.uniform(-2, 3) + rng.choice([0, 0, 1e3])
    entry = Linear((1, 1), (1, 2), (Term(features=np.array([[1.0, 0.0]])),), np.array([[0.0, 1.0]]))
    head = Head(query=np.eye(2), anchor_keys=keys, anchor_values=values, sees="anchors")
    return Network((entry, Attention((head,))))


@given(SEEDS)
@settings(max_examples=40)
def test_bounds_of_steep_heads_hold_at_many_points(seed):
    """float64 serves as the truth of float32, and is itself within its bound of it."""
    rng = np.random.default_rng(seed)
    network = some_head(rng)
    low, high = of_float32(*np.sort(rng.uniform(-1.2, 1.2, (2, 1, 1)), axis=0))
    b32, b64 = bounds(network, low, high, cut=True)
    X = points(rng, low, high, "float32", 2000)
    near = run(network, X.astype(float), Rounded("float64", rng))
    for _ in range(3):
        moved = np.abs(run(network, X, Rounded("float32", rng)).astype(float) - near).max()
        assert moved <= b32 + b64
    assert wrong(network, points(rng, low, high, "float64", 4), rng) <= b64


@pytest.mark.parametrize("made", [single_head, multi_head])
def test_bounds_of_theorems_hold(made):
    rng = np.random.default_rng(3)
    network = made(rng.normal(size=(3, 2)), rng.normal(size=3), -1.0, 2.0, 16).network
    low, high = np.zeros((3, 2)), np.full((3, 2), 0.5)
    for dtype, bound in zip(DTYPES, bounds(network, low, high, cut=True), strict=True):
        X = points(rng, low, high, dtype, 4)
        assert wrong(network, X, rng) <= bound < 1


def test_a_query_that_cancels_is_as_wrong_as_it_is():
    """x − 10⁴ on [10⁴, 10⁴ + 1] before a steep head; the weights are no numbers of float32."""
    rng = np.random.default_rng(5)
    entry = Linear(
        (1, 2), (1, 1), (Term(features=np.array([[1.1], [-1.1]])),), np.array([[1e4 / 3]])
    )
    keys = np.array([[50.0], [0.0], [-30.0]])
    head = Head(query=np.ones((1, 1)), anchor_keys=keys, anchor_values=keys / 7, sees="anchors")
    network = Network((entry, Attention((head,))))
    low, high = np.array([[1e4, 1e4 + 3030.0]]), np.array([[1e4 + 1, 1e4 + 3031.0]])
    found = []
    for dtype, bound in zip(DTYPES, bounds(network, low, high), strict=True):
        found.append(wrong(network, points(rng, low, high, dtype, 30), rng))
        assert found[-1] <= bound < math.inf
    assert found[0] > 1e-4  # so there was something to bound


def test_heads_run_by_windows_are_within_the_bound():
    count = 200
    slopes = np.linspace(-1, 1, count) * 1e4
    between = np.linspace(-1, 1, count - 1)
    keys = np.stack([slopes, -np.append(0.0, np.cumsum(np.diff(slopes) * between))], axis=1)
    values = np.sin(9 * np.arange(count))[:, None] + 1e3
    rng = np.random.default_rng(0)
    entry = Linear((1, 1), (1, 2), (Term(features=np.array([[1.0, 0.0]])),), np.array([[0.0, 1.0]]))
    head = Head(query=np.eye(2), anchor_keys=keys, anchor_values=values, sees="anchors")
    network = Network((entry, Attention((head,))))
    low, high = -np.ones((1, 1)), np.ones((1, 1))
    X = points(rng, low, high, "float64", 2000)
    queries = np.concatenate([X, np.ones_like(X)], axis=2)
    assert windows.pay(head, queries)
    some = slice(0, 2000, 50)
    (bound,) = bounds(network, low, high, ["float64"], cut=True)
    assert apart([evaluate(network, X)[some]], run(network, X[some], Exactly)) <= bound < 1e-10


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sees", ["all", "self"])
def test_bounds_hold_where_tokens_are_keys(sees, causal):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        width = int(rng.integers(1, 4))
        head = Head(
            query=rng.normal(size=(width, 2)) * 5,
            key=rng.normal(size=(width, 2)) * 5,
            value=rng.normal(size=(width, 2)),
            anchor_keys=rng.normal(size=(3, 2)),
            anchor_values=rng.normal(size=(3, 2)),
            sees=sees,
            causal=causal,
        )
        network = Network((Linear((4, width), (4, width), (Term(),)), Attention((head,))))
        low, high = some_box(rng, (4, width))
        for dtype, bound in zip(DTYPES, bounds(network, low, high), strict=True):
            assert wrong(network, points(rng, low, high, dtype, 3), rng) <= bound


def test_a_causal_token_is_not_blamed_for_what_it_does_not_see():
    """The last token is huge; the first sees only itself."""
    head = Head(query=np.ones((1, 1)), key=np.ones((1, 1)), causal=True)
    network = Network((Linear((2, 1), (2, 1), (Term(),)), Attention((head,), keep=1)))
    low, high = np.array([[0.0], [1e6]]), np.array([[1.0], [2e6]])
    (bound,) = bounds(network, low, high, ["float32"])
    assert bound < 1e-5


# Numbers too small and too large


def chain(*factors):
    """A network that multiplies by one number after the other."""
    return Network(
        tuple(Linear((1, 1), (1, 1), (Term(features=np.array([[f]])),)) for f in factors)
    )


ONE_TO_TWO = np.array([[1.0]]), np.array([[2.0]])


@pytest.mark.parametrize(
    "factors",
    [
        (2.0**-140, 2.0**100, 2.0**40),
        (2.0**-100, 2.0**-40, 2.0**120),
        (1e-42, 1e20, 1e20),
        (3e-39, 2.0**127),
        (1e-30, 1e-10, 1e35),
    ],
)
def test_what_is_lost_below_the_normal_range_is_counted(factors):
    rng = np.random.default_rng(1)
    network = chain(*factors)
    (bound,) = bounds(network, *ONE_TO_TWO, ["float32"])
    X = points(rng, *ONE_TO_TWO, "float32", 50)
    assert 0 < wrong(network, X, rng) <= bound
    assert wrong(network, X, rng, flush=True) <= bound


@given(SEEDS)
@settings(max_examples=40)
def test_bounds_hold_on_machines_that_have_no_numbers_below_the_normal_range(seed):
    rng = np.random.default_rng(seed)
    network, shape = some_network(rng)
    layers = list(network.layers)
    last = network.shape_out
    down = Linear(shape, shape, (Term(scale=np.full(shape, 2.0**-126) * rng.uniform(0.5, 9)),))
    up = Linear(last, last, (Term(features=np.eye(last[1]) * 2.0**120),))
    network = Network((down, *layers, up) if rng.random() < 0.5 else (*layers, up))
    low, high = some_box(rng, shape)
    if rng.random() < 0.5:
        low, high = of_float32(low * 2.0**-130, high * 2.0**-130)
    (bound,) = bounds(network, low, high, ["float32"])
    if bound < math.inf:
        X = points(rng, low, high, "float32", 4)
        assert wrong(network, X, rng, flush=True) <= bound
        assert wrong(network, X, rng) <= bound


def test_a_difference_below_the_normal_range_may_be_0():
    """Of numbers that are not: 1.5e-38 − 1.2e-38, made large by powers of two."""
    rng = np.random.default_rng(0)
    nothing = Linear((1, 1), (1, 2), (), np.array([[1.5e-38, 1.2e-38]]))
    apart = Linear((1, 2), (1, 1), (Term(features=np.array([[1.0], [-1.0]])),))
    network = Network((nothing, apart, *chain(2.0**100, 2.0**20).layers))
    (bound,) = bounds(network, *ONE_TO_TWO, ["float32"])
    X = points(rng, *ONE_TO_TWO, "float32", 3)
    assert wrong(network, X, rng) <= bound
    assert wrong(network, X, rng, flush=True) <= bound


def test_a_weight_below_the_normal_range_may_be_0():
    rng = np.random.default_rng(0)
    low, high = of_float32(np.array([[1e30]]), np.array([[2e30]]))
    (bound,) = bounds(chain(2.0**-140), low, high, ["float32"])
    X = points(rng, low, high, "float32", 3)
    assert wrong(chain(2.0**-140), X, rng) <= bound
    assert wrong(chain(2.0**-140), X, rng, flush=True) <= bound


@pytest.mark.parametrize("factors", [(1e39,), (-1e39,), (1e20, 1e20), (3e38,), (1e30, 1e10, 1e-30)])
def test_no_bound_is_given_where_float32_overflows(factors):
    b32, b64 = bounds(chain(*factors), *ONE_TO_TWO)
    assert b32 == math.inf
    assert b64 < math.inf


@pytest.mark.parametrize("factors", [(1e200, 1e200), (1e308, 10.0), (1e300, 1e20, 1e-300)])
def test_no_bound_is_given_where_float64_overflows(factors):
    assert bounds(chain(*factors), *ONE_TO_TWO) == [math.inf, math.inf]


def pointed(query, keys, first=1.0):
    """A head of the anchors given on a number, multiplied before by another."""
    keys = np.array(keys)[:, None]
    head = Head(
        query=np.array([[query]]),
        anchor_keys=keys,
        anchor_values=np.arange(1.0, len(keys) + 1)[:, None],
        sees="anchors",
    )
    return Network((*chain(first).layers, Attention((head,))))


@pytest.mark.parametrize(
    ("network", "dtype"),
    [
        (pointed(1e20, [1e20, -1e20]), "float32"),
        (pointed(1e200, [1e109, -1e109]), "float64"),
        (pointed(1.0, [1.0, -1.0], first=1e39), "float32"),
        (pointed(1e30, [1.0, -1.0], first=1e30), "float32"),
    ],
)
def test_no_bound_is_given_where_scores_overflow(network, dtype):
    """The largest score less itself is no number then."""
    rng = np.random.default_rng(2)
    assert wrong(network, points(rng, *ONE_TO_TWO, dtype, 4), rng) == math.inf
    assert bounds(network, *ONE_TO_TWO, [dtype]) == [math.inf]


def test_large_scores_that_do_not_overflow_have_a_bound():
    rng = np.random.default_rng(2)
    network = pointed(1e10, [1e10, -1e10, 0.0])
    for dtype, bound in zip(DTYPES, bounds(network, *ONE_TO_TWO), strict=True):
        assert wrong(network, points(rng, *ONE_TO_TWO, dtype, 8), rng) <= bound < 10


def test_values_that_overflow_have_no_bound():
    head = Head(
        query=np.ones((1, 1)),
        anchor_keys=np.array([[0.0], [0.0]]),
        anchor_values=np.array([[3e38], [3e38]]),
        sees="anchors",
    )
    assert bounds(Network((*chain(1.0).layers, Attention((head,)))), *ONE_TO_TWO)[0] == math.inf


# Bounds are no larger than they need be


def test_bounds_of_tame_networks_are_a_modest_number_of_units():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        heads = tuple(
            random_head(rng, 3, 2, sees, False, 4, True) for sees in ("all", "self", "anchors")
        )
        network = Network((Linear((3, 3), (3, 3), (Term(),)), Attention(heads)))
        low, high = of_float32(-0.5 * np.ones((3, 3)), 0.5 * np.ones((3, 3)))
        X = points(rng, low, high, "float64", 50)
        scale = max(1.0, np.abs(evaluate(network, X)).max())
        for dtype, bound in zip(DTYPES, bounds(network, low, high), strict=True):
            assert bound <= 1e4 * np.finfo(dtype).eps * scale


def test_what_is_exact_has_next_to_no_bound():
    """Powers of two, signs, and sums with 0."""
    network = chain(2.0, -0.25, 1.0, 8.0)
    assert max(bounds(network, *ONE_TO_TWO)) < 1e-35
    moved = Network((Linear((2, 2), (2, 2), (Term(tokens=np.eye(2)[::-1]),), np.zeros((2, 2))),))
    assert max(bounds(moved, np.zeros((2, 2)), np.ones((2, 2)))) < 1e-35


def test_bounds_are_seldom_a_hundred_times_what_is_seen():
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        network = some_head(rng)
        low, high = -np.ones((1, 1)), np.ones((1, 1))
        (bound,) = bounds(network, low, high, ["float32"], cut=True)
        X = points(rng, low, high, "float32", 3000)
        moved = run(network, X, Rounded("float32", rng)) - run(
            network, X.astype(float), Rounded("float64", rng)
        )
        shares.append(np.abs(moved).max() / bound)
    assert max(shares) <= 1
    assert np.median(shares) > 0.01


def test_a_smaller_box_has_no_larger_bound():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        network, shape = some_network(rng)
        low, high = some_box(rng, shape)
        outer = bounds(network, low, high)
        inner = bounds(network, low, (low + high) / 2)
        assert all(a <= b * (1 + 1e-6) for a, b in zip(inner, outer, strict=True))
        assert outer[1] <= outer[0]


def test_cells_of_parts_make_bounds_of_steep_heads_better():
    rng = np.random.default_rng(7)
    network = some_head(rng)
    low, high = -np.ones((1, 1)), np.ones((1, 1))
    (whole,), (cut,) = (bounds(network, low, high, ["float64"], cut=c) for c in (False, True))
    assert cut < whole


# Arrays with their errors


@given(SEEDS)
def test_a_map_of_an_array_holds_all_that_the_array_may_be(seed):
    """Exact values within ``far``, and computed ones, rounded in any order, within ``err`` of them."""
    rng = np.random.default_rng(seed)
    rows, n, m = (int(k) for k in rng.integers(1, 6, 3))
    W = altered(rng, rng.normal(size=(n, m)))
    mid, far = rng.normal(size=(1, rows, n)), np.abs(rng.normal(size=(1, rows, n)))
    err = np.abs(rng.normal(size=far.shape)) * 1e-6 * (rng.random(far.shape) < 0.7)
    kind = Dtype.of("float32")
    Y = mapped(Spread(mid, far, err), W, kind)
    Z = added([Y, Spread(*(np.ones_like(a) * s for a, s in zip(Y, (2, 0, 0), strict=True)))], kind)
    for _ in range(5):
        true = mid + far * rng.choice([-1, 1, 0.3], far.shape)
        seen = true + err * rng.choice([-1, 1, 0.3], err.shape)
        held = seen.astype(np.float32)
        slack = np.abs(held - seen)  # that of the dtype, which the array's own err leaves out
        if (slack @ np.abs(W)).max() > 0:
            held = np.where(slack <= err, held, true.astype(np.float32))
        Y_true, Y_seen = true @ W, (held @ W.astype(np.float32)).astype(float)
        start = np.abs(held - true) @ np.abs(W)
        assert (np.abs(Y_true - Y.mid) <= Y.far + 1e-12).all()
        assert (np.abs(Y_seen - Y_true) <= Y.err + np.maximum(start - err @ np.abs(W), 0)).all()
        assert (np.abs(Y_true + 2 - Z.mid) <= Z.far + 1e-12).all()
        assert (Z.err >= Y.err).all()


@given(SEEDS)
def test_a_mixture_over_a_cell_holds_all_mixtures_of_it(seed):
    """Scores that vary and are wrong, values that vary and are wrong."""
    rng = np.random.default_rng(seed)
    keys, width = int(rng.integers(1, 20)), int(rng.integers(1, 4))
    scores = rng.normal(size=(1, keys)) * 10.0 ** rng.uniform(-1, 3)
    far = np.abs(rng.normal(size=scores.shape)) * 10.0 ** rng.uniform(-5, 1)
    off = np.abs(rng.normal(size=scores.shape)) * 10.0 ** rng.uniform(-7, 0.5)
    mid = rng.normal(size=(1, keys, width)) * 10.0 ** rng.uniform(-2, 3)
    size = np.abs(rng.normal(size=mid.shape))
    values = Spread(mid, size * 10.0 ** rng.uniform(-5, 0), size * 1e-6)
    found = mixed(scores, far, off, values, Dtype.of("float64"))

    def mixture(s, v):
        w = np.exp(s - s.max())
        return (w[..., None] * v).sum(axis=1) / w.sum()

    def some(shape):
        return np.clip(rng.uniform(-2, 2, shape), -1, 1)

    for _ in range(20):
        s, v = scores + far * some(far.shape), values.mid + values.far * some(mid.shape)
        true = mixture(s, v)
        seen = mixture(s + off * some(off.shape), v + values.err * some(mid.shape))
        tiny = 1e-12 * np.abs(mid).max()
        assert (np.abs(true - found.mid) <= found.far + tiny).all()
        assert (np.abs(seen - true) <= found.err + tiny).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_knows_its_numbers(dtype):
    kind, info = Dtype.of(dtype), np.finfo(dtype)
    assert (kind.unit, kind.tiny) == (float(info.eps) / 2, float(info.tiny))
    for count in (0, 1, 7, 1000):
        exactly = count * kind.unit / (1 - count * kind.unit)
        assert exactly <= kind.gamma(count) <= exactly * (1 + 1e-8)
    assert kind.gamma(2**60) == math.inf
    weights = np.array([1.0, 0.1, 1e-42, 1e300, 0.0])
    with np.errstate(over="ignore"):
        held = weights.astype(dtype).astype(float)
        held[np.abs(held) < np.finfo(dtype).tiny] = 0  # as on machines that flush to 0
        np.testing.assert_array_equal(kind.lost(weights), np.abs(held - weights))


@pytest.mark.parametrize("count", [100, 3000, 20000])
def test_sums_of_many_terms_stay_where_they_are_said_to_be(count):
    """All terms alike, so that every addition is wrong in the same direction."""
    kind = Dtype.of("float64")
    before = ctx.prec
    ctx.prec = BITS
    try:
        for seed in range(10):
            a, b = np.random.default_rng(seed).uniform(1, 2, 2)
            X = Spread(np.full((1, 1, count), a), np.zeros((1, 1, count)), np.zeros((1, 1, count)))
            Y = mapped(X, np.full((count, 3), b), kind)
            true = arb(a) * arb(b) * count
            assert float(abs(true - arb(Y.mid[0, 0, 0]))) <= Y.far[0, 0, 0]
            assert float(abs(true - arb(Y.mid[0, 0, 0]))) <= Y.err[0, 0, 0]
            terms = [Spread(np.full((1, 2), a), np.zeros((1, 2)), np.zeros((1, 2)))] * count
            Z = added(terms, kind)
            assert float(abs(arb(a) * count - arb(Z.mid[0, 0]))) <= Z.far[0, 0]
    finally:
        ctx.prec = before
