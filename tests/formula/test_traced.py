import copy
import dataclasses
import keyword
import math
from fractions import Fraction
from functools import partial

import flint
import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anchorhead import errors
from anchorhead.formula import FUNCTIONS, Formula, NotTraceable, trace
from anchorhead.formula.canonical import call
from anchorhead.formula.expression import name as variable
from anchorhead.formula.expression import number, ordered
from anchorhead.formula.text import written
from anchorhead.reproduce.functions import FUNCTIONS as REPRODUCED
from anchorhead.theorems.ramps import Ramps
from formula.reading import values
from networks import relu_network

RNG = np.random.default_rng(3)
W, C, v = RNG.normal(size=(3, 5)), RNG.normal(size=(5, 2)), RNG.normal(size=5)
W32 = W.astype(np.float32)
MASK = np.array([True, False, True])


def names(*shape, of="x"):
    """An array of names, x0, x1, …"""
    count = math.prod(shape)
    return np.array([f"{of}{i}" for i in range(count)], dtype=object).reshape(shape)


def agrees(function, *layouts, low=-1.0, high=1.0, points=8):
    """The formula's values are the function's, at random points."""
    formula = trace(function, *layouts)
    assert trace(function, *layouts) == formula
    for _ in range(points):
        at = {n: RNG.uniform(low, high) for n in formula.variables}
        arrays = [np.vectorize(at.get, otypes=[float])(layout) for layout in layouts]
        with np.errstate(all="ignore"):
            expected = function(*arrays)
        if isinstance(expected, tuple | list):
            parts = np.broadcast_arrays(*map(np.asarray, expected))
            expected = np.stack(parts, axis=-1)
        expected = np.asarray(expected, dtype=float)
        assert formula.shape == expected.shape
        found = [float(y) for y in values(formula, at.values())]
        np.testing.assert_allclose(found, expected.ravel(), rtol=1e-13, atol=1e-14)
    return formula


@pytest.mark.parametrize("function", REPRODUCED, ids=lambda f: f.name)
def test_the_reproduced_functions(function):
    low, high = function.domain[0]
    layouts = [np.array([n], dtype=object) for n in "xy"[: function.variables]]
    agrees(function.of, *layouts, low=low, high=high)


ENTRYWISE = {
    "polynomial": lambda x: 3 * x**3 - 2.5 * x**2 + x - 7,
    "rational": lambda x: (x - 2) / (x * x + 1) - x / -3,
    "signs": lambda x: -(x**2) + (-x) ** 2 - (-x) ** 3 * -2,
    "trigonometric": lambda x: np.sin(x) * np.cos(3 * x) + np.tan(x / 2),
    "inverse": lambda x: np.arcsin(x) + np.arccos(x / 2) - np.arctan(5 * x),
    "hyperbolic": lambda x: np.sinh(x) / np.cosh(x) - np.tanh(x),
    "inverse hyperbolic": lambda x: np.arcsinh(x) + np.arccosh(x + 3) + np.arctanh(x / 2),
    "exponential": lambda x: np.exp(-x) + np.exp2(x) + np.expm1(x / 3),
    "logarithms": lambda x: np.log(x + 2) + np.log2(x + 2) + np.log10(x + 2) + np.log1p(x / 2),
    "powers": lambda x: 2**x + (x + 2) ** x + (x + 2) ** -1.5 + np.power(x + 2.0, 0.25) + x**0,
    "float_power": lambda x: np.float_power(x + 3, 1.5) + np.square(x) + np.reciprocal(x + 3),
    "roots": lambda x: np.sqrt(x + 2) + np.cbrt(x) + np.hypot(x, 1) + (x + 2) ** 0.5,
    "softplus": lambda x: np.logaddexp(0, x) + np.logaddexp2(x, 1),
    "sizes": lambda x: abs(x) + np.abs(-x) + np.fabs(x - 0.5) + np.absolute(x + 0.2),
    "sign": lambda x: np.sign(x) * x + np.heaviside(x, 0.5) * x**2,
    "extremes": lambda x: (
        np.maximum(x, 0) - np.minimum(x, 0.3) + np.fmax(x, -x) + np.fmin(x, 2 * x)
    ),
    "clip": lambda x: np.clip(x, -0.5, None) + np.clip(x, 0, np.inf) + x.clip(-0.1, 0.2),
    "clip by keywords": lambda x: np.clip(x, min=-0.5, max=0.25),
    "where": lambda x: np.where(x > 0, x, 0.1 * x),
    "where, both": lambda x: np.where((x > -0.5) & (x < 0.5), x**2, np.where(x <= -0.5, 0.25, 1)),
    "where, either": lambda x: np.where(np.logical_or(x < -0.5, ~(x < 0.5)), np.sin(x), np.cos(x)),
    "where, not": lambda x: np.where(np.logical_not(x >= 0), -x, x * x),
    "sinc": lambda x: np.where(x == 0, 1.0, np.sin(x) / x) + np.sinc(x) + np.where(x != 0, x, 1),
    "select": lambda x: np.select([x < -0.5, x < 0.5], [-1.0 * x, x**2], default=2 + x),
    "conditions as numbers": lambda x: (x > 0) * x + (x > 0.5) * 2 + (x < 0).astype(float),
    "gamma": lambda x: scipy.special.gamma(x + 2) + scipy.special.gammaln(x + 3),
    "erf": lambda x: scipy.special.erf(x) - scipy.special.erfc(2 * x),
    "expit": lambda x: scipy.special.expit(x) + scipy.special.ndtr(x) + scipy.special.log1p(x / 2),
    "logit": lambda x: scipy.special.logit((x + 2) / 4) + scipy.special.log_expit(x),
    "interp": lambda x: np.interp(x, [-0.7, -0.1, 0.3, 0.8], [1.0, -2.0, 0.5, 0.7]),
    "interp, beyond": lambda x: np.interp(x, [-0.5, 0.5], [1.0, -2.0], left=4, right=5.5),
    "polyval": lambda x: np.polyval([1.0, -2.0, 0.5], x),
    "Chebyshev": lambda x: np.polynomial.chebyshev.chebval(x, [1.0, 0.5, 0.25, 0.125]),
    "Horner": lambda x: ((0.1 * x + 0.2) * x + 0.3) * x + 0.4,
    "a loop": lambda x: sum(np.sin(k * x) / k for k in range(1, 9)),
    "angles": lambda x: np.deg2rad(90 * x) + np.degrees(x),
    "exact numbers": lambda x: x * Fraction(1, 3) + np.float32(0.1) * x + np.int64(7) + np.True_,
    "reflected": lambda x: (
        np.float64(2) ** x - np.float64(3) / (x + 2) + np.arange(3.0) @ np.ones(3)
    ),
    "in place": lambda x: in_place(x),
    "assignment": lambda x: assigned(x),
    "like": lambda x: np.zeros_like(x) + np.ones_like(x) * x + np.full_like(x, 0.1) ** 2 * x,
    "tuple": lambda x: (np.sin(x), x**2, 1.0),
    "constant": lambda x: np.full(x.shape, 0.1),
}


def in_place(x):
    hills = np.exp(-x)
    hills += 0.5 * x
    hills *= hills
    hills -= 1
    hills /= 2
    hills **= 2
    np.sin(hills, out=hills)
    np.clip(hills, -0.1, 0.5, out=hills)
    np.cumsum(hills, out=hills)
    return hills


def assigned(x):
    out = np.zeros_like(x)
    out[...] = x**2
    out[out > 0.25] = 0.25
    out[:1] = out[:1] + x[:1]
    return out


@pytest.mark.parametrize("name", ENTRYWISE)
def test_entrywise_functions(name):
    agrees(ENTRYWISE[name], names(1))
    agrees(ENTRYWISE[name], names(3))


def softmax(X):
    E = np.exp(X - X.max(-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def attention(X):
    return softmax(X @ X.T / np.sqrt(3)) @ (X @ W)


def normalised(X):
    return (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-5)


def rows(X):
    return np.stack([np.sum(row * row) for row in X])


def views(X):
    Y = X.copy()
    Y[:, 0] += 1
    first = Y[0]
    first *= 2
    Y.ravel()[-1:] = 5.0
    total = Y.sum()
    other = total
    other += 1
    return np.stack([total, other, *Y[:, -1]])


def ramps(X):
    """Ramps that write to one coordinate or another, by where they are."""
    y = np.clip((X * W.T[:2]).sum(axis=-1) + v[:2], -1.0, 1.0)
    low, high = np.array([-2.0, -0.5, 0.25]), np.array([-0.5, 0.25, 2.0])
    chosen = (y[..., None] >= low) & (y[..., None] < high)
    return np.where(chosen, y[..., None], 0.0) @ np.eye(2)[[0, 1, 0]]


def scored(X):
    Y = np.where(X[..., None, :] > X[..., :, None], 1.0, 0.0)
    return (Y * X[..., None, :]).sum(axis=(-2, -1))


ARRAYS = {
    "ReLU network": lambda X: np.maximum(X @ W + v, 0) @ C,
    "float32 weights": lambda X: np.tanh(X @ W32),
    "constants on the left": lambda X: W.T @ X.T,
    "softmax": softmax,
    "attention": attention,
    "layer norm": normalised,
    "standard deviation": lambda X: np.std(X, axis=0) + np.var(X, axis=0, ddof=1),
    "rows": rows,
    "views": views,
    "comparisons": scored,
    "ramps": ramps,
    "einsum": lambda X: np.einsum("ij,jk->ik", X, W) + np.einsum("ij,kj->i", X, X)[:, None],
    "tensordot": lambda X: np.tensordot(X, W, axes=1),
    "dot": lambda X: np.dot(X, W) + X.dot(W) + np.inner(X, W.T) - np.matmul(X, W),
    "outer": lambda X: np.outer(X[0], X[1]) + np.multiply.outer(X[0], np.arange(3.0)),
    "vectors": lambda X: X[0] @ X[1] + np.vecdot(X[0], X[1]) + np.vdot(X[0], X[0]) + X[0] @ v[:3],
    "sums": lambda X: np.sum(X, axis=(0, 1)) + X.sum() + np.add.reduce(X[0]) + sum(X[0]),
    "products": lambda X: np.prod(X, axis=1) + X.prod(axis=-1) + np.multiply.reduce(X, axis=1),
    "means": lambda X: X.mean() + np.mean(X, axis=0) + np.average(X, axis=0, weights=[1, 3]),
    "maxima": lambda X: np.max(X, axis=0) - X.min(axis=0) + np.amax(X) + np.ptp(X, axis=0),
    "maxima, kept": lambda X: np.max(X, axis=(0, 1), keepdims=True) * np.maximum.reduce(X),
    "all and any": lambda X: np.where(np.all(X > -0.5, axis=1), 1.0, X[:, 0]) + (X > 0.5).any(),
    "cumulative": lambda X: np.cumsum(X, axis=1) + np.cumprod(X, axis=1) + np.add.accumulate(X, 1),
    "differences": lambda X: np.diff(X, axis=1) + np.trapezoid(X, dx=0.5, axis=1)[:, None],
    "shapes": lambda X: X.reshape(3, 2).T.ravel() + np.transpose(X).flatten() + X.reshape(-1),
    "indices": lambda X: X[..., 0] + X[:, 1] + X[None][0, :, -1] + X[:, [0, 2]].sum(-1),
    "constant masks": lambda X: X[:, MASK] * np.where(MASK[:2], 2.0, 3.0),
    "stack": lambda X: np.stack([X[:, 0], X[:, 1] ** 2, np.ones(2)], axis=-1),
    "concatenate": lambda X: np.concatenate([X, np.ones((2, 1)), X**2], axis=-1),
    "hstack and vstack": lambda X: np.vstack([np.hstack([X, X]), np.zeros((1, 6))]),
    "broadcasting": lambda X: np.broadcast_to(X[0], (2, 3)) + np.broadcast_arrays(X[0], X)[1],
    "pairs": lambda X: X[:, None, :] - X[None, :, :],
    "norms": lambda X: np.linalg.norm(X, axis=1) + np.linalg.norm(X) + np.linalg.norm(X, 1, axis=1),
    "cross": lambda X: np.cross(X[0], X[1]),
    "triangles": lambda X: np.tril(X) + np.triu(X) * 2 + np.roll(X, 1, axis=0) + np.flip(X, 1),
    "repeated": lambda X: (
        np.repeat(X, 2, axis=0) + np.tile(X, (2, 1)) + np.kron(np.ones((2, 1)), X)
    ),
    "moved axes": lambda X: np.moveaxis(X, 0, 1) + np.swapaxes(X, 0, 1) + X.mT,
    "diagonals": lambda X: np.trace(X) + X.diagonal() + np.diag(X),
    "squeezed": lambda X: np.squeeze(np.expand_dims(X, 0)) + np.atleast_1d(X),
    "sizes": lambda X: (
        X / len(X) + np.arange(X.size).reshape(np.shape(X)) * np.ndim(X) + np.size(X)
    ),
    "nested lists": lambda X: ([X[0, 0], X[0, 1]], [X[1, 0], 2.0]),
    "convolution": lambda X: np.convolve(X[0], [0.5, 0.25]) + np.correlate(X[0], X[1], "full")[:4],
    "padding": lambda X: np.pad(X, 1) + np.pad(X, 1, mode="edge"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_functions_of_arrays(name):
    agrees(ARRAYS[name], names(2, 3), points=3)


def test_several_arguments_of_any_shape():
    agrees(lambda X, y, z: X @ y + z, names(2, 3), names(3, of="y"), names(of="z"))
    agrees(lambda x, y: (x * y, x - y), ["a"], [["b"], ["c"]])


def test_the_same_variable_may_stand_in_several_places():
    formula = trace(lambda X, y: X.sum() + y, ["a", "b", "a"], ["b"])
    assert formula == Formula(("a", "b"), (), ("a + b + a + b",), (1,))


BALLS = {
    **dict.fromkeys(("sin", "cos", "tan", "exp", "atan", "asin", "acos", "sinh", "cosh", "tanh")),
    **dict.fromkeys(("asinh", "atanh", "erf", "erfc", "log1p", "expm1")),
    **dict.fromkeys(("log", "sqrt", "rsqrt", "gamma", "lgamma", "acosh"), 2),
}


@pytest.mark.parametrize("method", BALLS)
def test_functions_of_balls(method):
    def function(x):
        return (
            getattr(x + (BALLS[method] or 0), method)() * 3 + abs(x) ** 2 - x.max(flint.arb(0.25))
        )

    formula = trace(function, np.array("x", dtype=object))
    for x in RNG.uniform(0.1, 0.9, 5):
        expected = function(flint.arb(x))
        assert abs(float(values(formula, [x])[0]) - float(expected.mid())) < 1e-13


def test_balls_compare_with_methods():
    def function(x):
        return (
            x.max(0)
            - x.min(flint.arb(0.5))
            + flint.fmpq(1, 3) * x
            + flint.fmpz(2)
            + flint.arb(3) ** 2
        )

    assert trace(function, np.array("x", dtype=object)).outputs == (
        "max(x, 0) - min(x, 0.5) + 1/3*x + 2 + 9",
    )


def test_numbers_mix_in_exactly():
    one = ["x"]
    text = {
        "x + 0.1": lambda x: x + 0.1,
        "x + 10000000000000000000001": lambda x: x + (10**22 + 1),
        "x + 1e+22": lambda x: x + 10**22,
        "x + 9007199254740991": lambda x: x + (2.0**53 - 1),
        "x + 9007199254740992.0": lambda x: x + 2.0**53,
        "x + 0.10000000149011612": lambda x: x + np.float32(0.1),
        "x + 1/10": lambda x: x + Fraction(1, 10),
        "x + 5e-324": lambda x: x + 5e-324,
        "2*x": lambda x: np.int8(2) * x,
        "x": lambda x: x + 0.0 - -0.0 * x,
    }
    for expected, function in text.items():
        assert trace(function, one).outputs == (expected,)


def test_canonical_forms():
    text = {
        "-x**2": lambda x: -x * x,
        "x**2": lambda x: -x * -x,
        "(-1 - x)**2": lambda x: (-1 - x) ** 2,
        "1/(1 + 25*x**2)": lambda x: 1 / (1 + 25 * x * x),
        "x**3": lambda x: x * x * x,
        "1 - x": lambda x: -x + 1,
        "x - 2*y": lambda x, y: x + y * -2,
        "x/(2*y)": lambda x, y: x / (2 * y),
        "x/2/y": lambda x, y: x / 2 / y,
        "x - (y - 1)": lambda x, y: x - (y - 1),
        "2**x**y": lambda x, y: 2 ** (x**y),
        "(2**x)**y": lambda x, y: (2**x) ** y,
        "x**-y": lambda x, y: x ** (-y),
        "x**(1/3)": lambda x: x ** Fraction(1, 3),
        "(-2)**x": lambda x: (-2) ** x,
        "exp(-x**2/2)": lambda x: np.exp(-(x**2) / 2),
        "max(x, y)": lambda x, y: np.where(x > y, x, y),
        "min(x, y)": lambda x, y: np.where(x > y, y, x),
        "abs(x)": lambda x: np.where(x > 0, x, -x),
        "(0.1*x if 0 > x else x)": lambda x: np.where(x < 0, 0.1 * x, x),
        "(2 if 1 > x else 3)": lambda x: np.where(~(x >= 1), 2, 3),
        "(2 if 1 >= x else 3)": lambda x: np.where(~(x > 1), 2, 3),
        "-(x + y)": lambda x, y: -(x + y),
        "exp(-(x + y)/2)": lambda x, y: np.exp(-(x + y) / 2),
        "x**-2*x": lambda x: x**-2 * x,
        "0": lambda x: x - x,
        "sqrt(x)": lambda x: x**0.5,
        "2": lambda x: np.maximum(2, 1) + 0 * x,
        "(x + 1)*(x - 1)": lambda x: (x + 1) * (x - 1),
    }
    for expected, function in text.items():
        variables = [[n] for n in "xy"[: function.__code__.co_argcount]]
        assert trace(function, *variables).outputs == (expected,)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x if x > 0 else -x, "branches on its argument"),
        (lambda x: x > 0 and x, "branches"),
        (lambda x: max(x, 0), "branches"),
        (lambda x: np.vectorize(math.sin)(x), "into an array of numbers"),
        (lambda x: math.sin(x), "into a plain number"),
        (lambda x: float(x), "plain number"),
        (lambda x: range(x), "plain number"),
        (lambda x: np.asarray(x), "into an array of numbers"),
        (lambda x: np.array([x, x]), "into an array of numbers"),
        (lambda x: written_to(np.zeros(1), x), "into an array of numbers"),
        (lambda x: added_to(np.zeros(1), x), "into an array of numbers"),
        (lambda x: np.floor(x), "uses np.floor, which has no formula"),
        (lambda x: x // 1, "uses np.floor_divide"),
        (lambda x: x % 1, "uses np.remainder"),
        (lambda x: scipy.special.j0(x), "uses scipy.special.j0, which has no formula"),
        (lambda x: np.sort(x), "uses np.sort, which has no formula"),
        (lambda x: np.linalg.inv(x), "uses np.linalg.inv"),
        (lambda x: np.add.reduceat(x, [0]), "uses np.add.reduceat"),
        (lambda x: np.add(x, 1, where=np.array([True])), "with where="),
        (lambda x: np.where(x > 0), "without two choices"),
        (lambda x: np.interp(x, [0.0, 1.0], [1.0, 2.0], period=1), "with a period"),
        (lambda x: np.linalg.norm(x, 3), "ord=3"),
        (lambda x: x + np.inf, "inf or nan"),
        (lambda x: np.where(x > 0, x, np.nan), "inf or nan"),
        (lambda x: np.array([np.inf]), "inf or nan"),
        (lambda x: x + flint.arb(1, 0.1), "with a radius"),
        (lambda x: x + flint.arb("inf"), "inf or nan"),
        (lambda x: x * flint.arb(2) ** 100_000, "thousands of digits"),
        (lambda x: x * 7**10_000, "thousands of digits"),
        (lambda x: x / 0, "divides by the number 0"),
        (lambda x: (x - x) ** -1, "divides by the number 0"),
        (lambda x: x + 1j, "mixes in a complex"),
        (lambda x: x + "1", "mixes in a str"),
        (lambda x: x[x > 0], "chooses entries by its argument"),
        (lambda x: np.arange(3)[x], "plain number|array of numbers"),
        (lambda x: masked(x), "where a condition on its argument holds"),
        (lambda x: x.astype(int), "int64 numbers"),
        (lambda x: x.numpy(), "have no numpy"),
        (lambda x: np.clip(x, 0, 1, x), "by its place; use out="),
        (lambda x: np.clip(x, 0, 1, out=np.zeros(1)), "into an array of numbers"),
        (lambda x: np.sum(x, where=x > 0), "Cannot cast"),
        (lambda x: np.compress(x > 0, x), "branches"),
        (lambda x: np.compress(x, x), "branches"),
        (lambda x: np.max(x, initial=0), "initial"),
        (lambda x: x + None, "mixes in a NoneType"),
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x, y: x, "missing 1 required positional argument"),
        (lambda x: None, "returns nothing"),
        (lambda x: {"y": x}, "mixes in a dict"),
    ],
)
def test_what_has_no_formula_is_refused_with_its_reason(function, reason):
    with pytest.raises(NotTraceable, match=reason) as caught:
        trace(function, ["x"])
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, errors.AnchorheadError)
    assert "\n" not in str(caught.value)


def written_to(array, x):
    array[...] = x
    return array


def added_to(array, x):
    array += x
    return array


def masked(x):
    out = np.zeros_like(x)
    out[x > 0] = np.ones(2)
    return out


@pytest.mark.parametrize("name", ["lambda", "pi", "sin", "min", "2x", "a b", "", "ﬁ", 3, None])
def test_names_of_variables_are_names(name):
    with pytest.raises(errors.InputError, match="arguments holds"):
        trace(lambda x: x, [name])
    with pytest.raises(errors.InputError, match="empty"):
        trace(lambda x: x, [])
    with pytest.raises(errors.InputError, match="where the name of a variable is needed"):
        trace(lambda x: x, [["x"], ["y", "z"]])


def test_named_quantities_avoid_the_variables():
    def function(t1, x):
        y = np.exp(np.sin(t1 + x) * x + 1)
        return y * np.cos(y) + 1 / y

    formula = trace(function, ["t1"], ["x"])
    assert formula.variables == ("t1", "x")
    assert formula.where == (("t2", "exp(sin(t1 + x)*x + 1)"),)
    assert formula.outputs == ("t2*cos(t2) + 1/t2",)


def squarings(x, count=200):
    for _ in range(count):
        x = x * x - 0.5 * x
    return x


def test_texts_are_as_long_as_there_are_operations():
    lengths = [
        sum(len(text) for _, text in trace(lambda x, n=n: squarings(x, n), ["x"]).where)
        for n in (100, 200, 400)
    ]
    assert lengths[2] - lengths[1] < 2.3 * (lengths[1] - lengths[0]) < 6000


def test_a_function_repeated_many_times():
    agrees(lambda x: squarings(x, 30), ["x"], low=-0.5, high=0.5)
    formula = trace(lambda x: squarings(x, 200), ["x"])
    assert len(formula.where) == 99


def deep(x, depth=5000):
    y = x
    for i in range(depth):
        y = np.sin(y) if i % 2 else y + 0.5
    return y


def test_depth_needs_no_recursion():
    formula = trace(deep, ["x"])
    assert max(text.count("(") for text in [*dict(formula.where).values(), *formula.outputs]) <= 41
    assert abs(float(values(formula, [0.3])[0]) - deep(0.3)) < 1e-12
    agrees(lambda x: deep(x, 100) + np.sum(x * np.arange(3000.0)), ["x"])


def nested(x, depth=5000):
    for i in range(depth):
        x = np.where(x > i, x / 2, 1.5 * x - 1)
    return x


def test_depth_in_conditions_needs_no_recursion():
    trace(nested, ["x"])
    trace(lambda x: np.where(np.all(x > np.arange(5000.0)), 1.0, x[0]), ["x"])


def test_equal_expressions_are_one_node():
    x = variable("x")
    a, b = call("sin", x + 1) * 2, call("sin", 1.0 * x + Fraction(1)) * 2
    assert a is b
    assert len(list(ordered([a, b]))) == 6
    assert call("if>=", x, x, a, 0) is a
    assert call("if>", x, x, 0, a) is a
    with pytest.raises(dataclasses.FrozenInstanceError):
        x.text = "y"


def test_formulas_are_plain_data():
    formula = trace(lambda x: np.sin(x), ["x"])
    assert formula == copy.deepcopy(formula)
    assert hash(formula) == hash(trace(np.sin, ["x"]))
    assert not set(FUNCTIONS) & set(keyword.kwlist)


def test_the_targets_of_the_theorems():
    network = relu_network(4, 3, 7, seed=6)
    formula = agrees(network, names(4, 3), points=3)
    assert formula.shape == tuple(network.shape_out)
    assert len(formula.variables) == 12
    target = Ramps(W.T[:2], v[:2], -1.0, 1.0, np.ones(9, dtype=int), 3, 0.1).target
    formula = agrees(target, names(2, 3), points=3)
    assert formula.outputs[0] == formula.outputs[2] == "0"


NUMBERS = st.one_of(
    st.integers(-4, 4),
    st.fractions(-3, 3, max_denominator=5),
    st.floats(-2, 2, allow_nan=False, width=16),
)


def trees():
    """Expressions as nested tuples: a function's name, and its arguments."""
    leaves = st.one_of(st.sampled_from(["x", "y", "z"]), NUMBERS)

    def larger(parts):
        return st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "/", "min", "max"]), parts, parts),
            st.tuples(st.sampled_from(["neg", "abs"]), parts),
            st.tuples(st.just("**"), parts, st.integers(-2, 3)),
            st.tuples(st.sampled_from(["if>=", "if>"]), parts, parts, parts, parts),
        )

    return st.recursive(leaves, larger, max_leaves=25)


def built(tree):
    if isinstance(tree, str):
        return variable(tree)
    return call(tree[0], *map(built, tree[1:])) if isinstance(tree, tuple) else call("+", tree, 0)


def value(tree, point):
    """The tree's value by its definition."""
    if isinstance(tree, str):
        return point[tree]
    if not isinstance(tree, tuple):
        return Fraction(tree)
    function, *parts = tree
    if function.startswith("if"):
        p, q, a, b = (value(part, point) for part in parts)
        return a if (p >= q if function == "if>=" else p > q) else b
    a, *rest = (value(part, point) for part in parts)
    match function:
        case "neg":
            return -a
        case "abs":
            return abs(a)
        case "min" | "max":
            return (min if function == "min" else max)(a, *rest)
        case "+":
            return a + rest[0]
        case "-":
            return a - rest[0]
        case "*":
            return a * rest[0]
        case "/":
            return a / rest[0]
    return a ** int(rest[0])


@settings(max_examples=250)
@given(trees(), *[st.fractions(-2, 2, max_denominator=7)] * 3)
def test_a_text_has_the_value_of_the_expression(tree, x, y, z):
    point = {"x": x, "y": y, "z": z}
    try:
        expected = value(tree, point)
    except ZeroDivisionError:
        assume(False)
    formula = written([built(tree)], ("x", "y", "z"), ())
    assert values(formula, point.values(), Fraction) == [expected]


REBUILT = {
    **{f: partial(call, f) for f in FUNCTIONS},
    "if>=": lambda p, q, a, b: call("if>=", p, q, a(), b()),
    "if>": lambda p, q, a, b: call("if>", p, q, a(), b()),
}


@settings(max_examples=250)
@given(trees())
def test_a_canonical_form_is_its_own(tree):
    """A text, read back, is written as the same text."""
    try:
        first = written([built(tree)], ("x", "y", "z"), ())
    except NotTraceable:
        assume(False)
    nodes = values(first, "xyz", lambda c: (variable if isinstance(c, str) else number)(c), REBUILT)
    assert written(nodes, ("x", "y", "z"), ()) == first
