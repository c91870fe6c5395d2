import random
import re
import resource
import subprocess
import sys
import textwrap
import time

import mpmath
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead import Attention, Head, Linear, Network, Softmax, Term
from anchorhead.enclosure.expressions import ONE, Sum, walk
from anchorhead.enclosure.reading import (
    UnreadableError,
    entries_of,
    exact,
    read_network,
    read_target,
)
from anchorhead.run.numpy import evaluate
from enclosure import texts
from enclosure.sums import DIGITS, affine, rational, real, some_rational, value, x
from networks import networks

SEEDS = st.integers(0, 10**6)
NAMES = ["x", "y"]
ENTRIES = [x(0), x(1)]


def target(*outputs, where=(), names=NAMES):
    return {"variables": names, "where": where, "outputs": outputs}


def read(*outputs, where=(), names=NAMES, entries=ENTRIES):
    return read_target(target(*outputs, where=where, names=names), entries)[0]


def agree(s, formula, point):
    """Whether a sum and a text have the same value at a point; None where digits do not tell."""
    with mpmath.workdps(DIGITS):
        known = {n: real(q) for n, q in zip(NAMES, point, strict=True)}
        rough, expected = (texts.value(formula, known, digits) for digits in (DIGITS - 20, DIGITS))
        if rough is None or expected is None or not mpmath.almosteq(rough, expected, 1e-30, 1e-30):
            return None
        return abs(value(s, point) - expected) <= mpmath.mpf(10) ** -25 * (1 + abs(expected))


# Texts


RANGES = {
    **dict.fromkeys(texts.FUNCTIONS, (-3, 3)),
    **dict.fromkeys(("sqrt", "log", "gamma", "lgamma"), (0.01, 5)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-0.99, 0.99)),
    "acosh": (1.01, 6),
}


@pytest.mark.parametrize("name", texts.FUNCTIONS)
def test_every_function_is_read_as_itself(name):
    rng = np.random.default_rng(len(name))
    (s,) = read(f"2*{name}(x) - y")
    for _ in range(5):
        point = [rational(rng.uniform(*RANGES[name])), some_rational(rng)]
        with mpmath.workdps(60):
            own = {"abs": abs, "lgamma": mpmath.loggamma}
            expected = 2 * own.get(name, getattr(mpmath, name, None))(real(point[0]))
            assert abs(value(s, point) + real(point[1]) - expected) < mpmath.mpf(10) ** -50


@given(SEEDS)
@settings(max_examples=300)
def test_a_text_is_read_as_its_grammar_says(seed):
    rng = random.Random(seed)
    formula = texts.text(rng, NAMES)
    try:
        (s,) = read(formula)
    except UnreadableError:
        assert re.search(r"\*\*7|\*\*4", formula)  # a power of a number that would be too long
        return
    for _ in range(4):
        point = [fmpq(rng.randint(-30, 30), rng.randint(1, 9)) for _ in NAMES]
        assert agree(s, formula, point) in (True, None)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("1 - 2 - 3", -4),
        ("2**3**2", 512),
        ("-2**2", -4),
        ("(-2)**3", -8),
        ("8/4/2", 1),
        ("1/3 + 1/6", fmpq(1, 2)),
        ("2**-2", fmpq(1, 4)),
        ("0.1", fmpq(*(0.1).as_integer_ratio())),
        ("1e-300", fmpq(*(1e-300).as_integer_ratio())),
        ("2**0.5*0", 0),
        ("max(3, 1, 2) + min(3, 1, 2)", 4),
        ("max(-7)", -7),
        ("abs(-7/2)", fmpq(7, 2)),
        ("0**0", 1),
        ("0x10 + 0b11", 19),
        ("1_000", 1000),
        ("(x + y)*(x + y) - (x + y)**2", 0),
        ("x*y/1 - 1*(x*y)", 0),
        ("10**30 + 1 - 10**30", 1),
    ],
)
def test_arithmetic_is_exact(formula, expected):
    assert read(formula) == [Sum(fmpq(expected))]


def test_a_choice_asks_for_at_least_or_for_more():
    s = read("2 if x >= 1 else 3", "2 if x > 1 else 3")
    at = [[value(part, [fmpq(c), fmpq(0)]) for part in s] for c in (0, 1, 2)]
    assert at == [[3, 3], [2, 3], [2, 2]]


def test_quantities_are_named_in_order():
    where = [["a", "x + 1"], ["b", "a*a"], ["c", "sin(b)"]]
    assert read("b - c", where=where) == read("(x + 1)**2 - sin((x + 1)**2)")
    with pytest.raises(UnreadableError, match="'b'"):
        read("x", where=[["a", "b"], ["b", "x"]])


def test_variables_are_the_entries_given():
    s = affine(1, 2, 3)
    assert read("x*y", entries=[s, Sum(fmpq(5))]) == read("5*(1 + 2*x + 3*y)")
    for names in (["pi", "x"], ["x", "x"], ["sin", "x"], ["x", "max"]):
        with pytest.raises(UnreadableError, match="names"):
            read("x", names=names)
    with pytest.raises(ValueError, match="zip"):
        read("x", entries=[x(0)])


def test_entries_that_are_fixed_are_numbers():
    box = [(fmpq(1), fmpq(2)), (fmpq(1, 3), fmpq(1, 3)), (fmpq(-1), fmpq(0))]
    assert entries_of(box) == [x(0), Sum(fmpq(1, 3)), x(2)]


def test_nodes_have_the_texts_they_were_read_from():
    (s,), told = read_target(target("sin(x + y)*exp(x) + 1/(x - 2)"), ENTRIES)
    assert {told[n] for n in walk([s])} == {
        "sin(x + y)",
        "exp(x)",
        "sin(x + y) * exp(x)",
        "1/(x - 2)",
    }


FOREIGN = """
x.real | x.__class__ | (x).y | lambda: 1 | lambda x: x | 'a' | b'a' | f'{x}' | x[0] | [x] | (x, y)
{x} | {x: y} | [i for i in x] | (i for i in x) | (z := 1) | x if x else y | x and y | not x | ~x | +x
x < y | x if x < y else y | x if x <= y else y | x if x == y else y | x if 0 >= x >= y else y
x if x >= 0 and y >= 0 else 1
True | None | ... | 1j | 1e999 | -1e999 | x // 2 | x % 2 | x @ y | x << 2 | x >> 2
x ^ y | x & y | sin | sin() | sin(x, y) | sin(x=1) | sin(*x) | max() | max(*x) | max(x, key=y)
max(x, default=0) | sin(sin)(x) | (sin)(x)(y) | eval('1') | open('/etc/passwd') | z | __import__('os')
exec('x') | globals() | x() | sqrt.real | nan | inf | e | await x | (yield) | x; y | x = 1 | | import os
print(x) | x y | x +
"""


@pytest.mark.parametrize("formula", [t.strip() for t in FOREIGN.replace("\n", "|").split("|")])
def test_what_is_no_formula_is_refused(formula):
    with pytest.raises(UnreadableError) as told:
        read(formula)
    assert isinstance(told.value, ValueError)
    assert len(str(told.value)) < 300


def test_nothing_is_evaluated(tmp_path):
    seen = tmp_path / "seen"
    for formula in (
        f"__import__('pathlib').Path({str(seen)!r}).touch()",
        f"max(x, open({str(seen)!r}, 'w'))",
        f"(lambda: open({str(seen)!r}, 'w'))()",
        f"[open({str(seen)!r}, 'w') for x in (1,)]",
    ):
        with pytest.raises(UnreadableError):
            read(formula)
    assert not seen.exists()


LONG = {
    "minus signs": "-" * 10**6 + "x",
    "parentheses": "(" * 10**4 + "x" + ")" * 10**4,
    "calls": "sin(" * 10**4 + "x" + ")" * 10**4,
    "terms": "+".join(["x"] * 10**5),
    "factors": "*".join(["x"] * 10**4),
    "powers": "**".join(["x"] * 10**4),
    "choices": "x if x > 0 else " * 10**4 + "y",
    "name": "x" * 10**6,
    "text": "'" + "x" * 10**6 + "'",
    "comparisons": ">".join(["x"] * 10**5),
    "digits": "9" * 10**6,
    "zeros": "0" * 10**6 + "1",
}


@pytest.mark.parametrize("formula", LONG.values(), ids=LONG)
def test_what_is_long_or_deep_is_refused_at_once(formula):
    started = time.perf_counter()
    with pytest.raises(UnreadableError):
        read(formula)
    assert time.perf_counter() - started < 2


BOMBS = [
    "(9**10000)**10000",
    "((9**10000)**10000)**10000",
    "((9**-10000)**10000)**10000",
    "(1e308**10000)**10000",
    "*".join(["9**10000"] * 100),
    "x*(9**9999)**9999",
]


def test_powers_that_fill_the_memory_are_refused_at_once():
    """In a process of its own, with little memory: GMP ends the process where it gets none."""
    code = f"""
        from anchorhead.enclosure.expressions import Sum
        from anchorhead.enclosure.reading import UnreadableError, read_target
        from anchorhead.enclosure.reading import entries_of
        for text in {BOMBS!r}:
            try:
                read_target({{"variables": [], "where": [], "outputs": [text.replace("x", "2")]}}, [])
            except UnreadableError as error:
                print("refused")
        """
    started = time.perf_counter()
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=30,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32)),
    )
    assert told.returncode == 0, told.stderr[-500:]
    assert told.stdout.split() == ["refused"] * len(BOMBS)
    assert time.perf_counter() - started < 8


def test_a_tower_of_powers_is_read_and_not_worked_out():
    (s,) = read("9**9**9")
    (n,) = walk([s])
    assert n.kind == "power"
    assert n.args == (Sum(fmpq(9)), Sum(fmpq(9**9)))


@pytest.mark.parametrize("text", [None, 5, ["x"]])
def test_what_is_no_text_raises(text):
    with pytest.raises((TypeError, UnreadableError, AttributeError)):
        read(text)


# Numbers


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_the_rationals_they_are(number):
    assert exact(number) == fmpq(*number.as_integer_ratio())
    assert exact(np.float64(number)) == exact(number)
    assert float(int(exact(number).p) / int(exact(number).q)) == number


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_refused(number):
    with pytest.raises(UnreadableError):
        exact(number)


# Networks


def compared(network, X, entries=None):
    """The arrays between the layers, as expressions and in float64."""
    free = [x(i) for i in range(X.size)]
    arrays = read_network(network, free if entries is None else entries)
    point = [exact(number) for number in X.ravel()]
    np.testing.assert_array_equal([[float(value(s, point)) for s in row] for row in arrays[0]], X)
    for count, array in enumerate(arrays[1:], 1):
        run = evaluate(Network(network.layers[:count]), X)
        assert (len(array), len(array[0])) == run.shape
        told = [[float(value(s, point)) for s in row] for row in array]
        np.testing.assert_allclose(told, run, rtol=1e-9, atol=1e-9)
    return arrays


@given(networks())
@settings(max_examples=40)
def test_a_network_is_read_as_it_runs(case):
    network, X = case
    compared(network, X)


@given(networks(), SEEDS)
@settings(max_examples=10)
def test_entries_that_are_fixed_change_no_value(case, seed):
    network, X = case
    fixed = np.random.default_rng(seed).random(X.size) < 0.5
    entries = [
        Sum(exact(number)) if here else x(i)
        for i, (number, here) in enumerate(zip(X.ravel(), fixed, strict=True))
    ]
    point = [exact(number) for number in X.ravel()]
    free = read_network(network, [x(i) for i in range(X.size)])[-1]
    for rows in zip(read_network(network, entries)[-1], free, strict=True):
        for a, b in zip(*rows, strict=True):
            assert mpmath.almosteq(value(a, point), value(b, point), 1e-30, 1e-30)


@pytest.mark.parametrize("tokens", [1, 3])
def test_a_network_of_any_number_of_tokens_is_read_for_the_number_given(tokens):
    rng = np.random.default_rng(tokens)
    head = Head(query=rng.normal(size=(2, 2)), key=rng.normal(size=(2, 2)), causal=True)
    network = Network(
        (
            Linear(
                (None, 3), (None, 2), (Term(features=rng.normal(size=(3, 2))),), np.ones((1, 2))
            ),
            Attention((head,), residual=True),
            Softmax(),
        )
    )
    compared(network, rng.normal(size=(tokens, 3)))


def test_affine_layers_are_read_exactly():
    rng = np.random.default_rng(4)
    terms = tuple(
        Term(
            features=rng.normal(size=(2, 3)),
            tokens=rng.normal(size=(4, 2)),
            scale=rng.normal(size=(2, 2)),
        )
        for _ in range(2)
    )
    layer = Linear((2, 2), (4, 3), terms, rng.normal(size=(4, 3)))
    made = read_network(Network((layer,)), [x(i) for i in range(4)])[1]
    assert not any(s.rest for row in made for s in row)
    for i, j in np.ndindex(4, 3):
        s = made[i][j]
        assert s.const == exact(layer.constant[i, j])
        for k, c in s.lin:
            r, f = divmod(k, 2)
            assert c == sum(
                (
                    exact(t.tokens[i, r]) * exact(t.scale[r, f]) * exact(t.features[f, j])
                    for t in terms
                ),
                fmpq(0),
            )


def test_a_softmax_of_equal_entries_is_even():
    layer = Linear((1, 1), (1, 4), (Term(features=np.ones((1, 4))),))
    made = read_network(Network((layer, Softmax())), [x(0)])[-1]
    assert made == [[Sum(ONE / 4)] * 4]


def test_a_layer_of_another_kind_is_refused():
    class Dropout:
        pass

    class Forged:
        shape_in = (1, 1)
        layers = (Dropout(),)

    with pytest.raises(UnreadableError, match="Dropout"):
        read_network(Forged(), [x(0)])
