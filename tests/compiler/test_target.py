import math

import numpy as np
import pytest

from anchorhead.compiler.target import given
from anchorhead.domain import Box, Interval
from anchorhead.errors import InputError, ShapeError

X1 = np.linspace(-1, 1, 11)[:, None]
X2 = np.random.default_rng(0).uniform(0, 1, (11, 2))
SQUARE = [(0, 1), (0, 1)]


def abs_of_numbers(x):
    return x if x > 0 else -x


def rosenbrock(x, y, *, a=1.0, b=2.0):
    return (a - x) ** 2 + b * (y - x * x) ** 2


@pytest.mark.parametrize(
    ("target", "domain", "X", "exact"),
    [
        (np.sin, (-1, 1), X1, np.sin(X1)),
        (np.sin, Interval(-1, 1), X1, np.sin(X1)),
        (math.exp, (-1, 1), X1, np.exp(X1)),
        (abs_of_numbers, [(-1, 1)], X1, np.abs(X1)),
        (lambda x: 3, (-1, 1), X1, np.full((11, 1), 3.0)),
        (lambda x: (x, x**2), (-1, 1), X1, np.hstack([X1, X1**2])),
        (lambda x: np.stack([x, x**2]), (-1, 1), X1, np.hstack([X1, X1**2])),
        (lambda x: np.stack([x, x**2], axis=-1), (-1, 1), X1, np.hstack([X1, X1**2])),
        (lambda x: x > 0.05, (-1, 1), X1, (X1 > 0.05).astype(float)),
        (lambda x, y: x * y, SQUARE, X2, X2[:, :1] * X2[:, 1:]),
        (lambda x: x[..., 0] - x[..., 1], SQUARE, X2, X2[:, :1] - X2[:, 1:]),
        (lambda y, x: x - y, {"x": (0, 1), "y": (0, 1)}, X2, X2[:, :1] - X2[:, 1:]),
        (rosenbrock, Box.of(SQUARE), X2, rosenbrock(*X2.T)[:, None]),
        (math.atan2, SQUARE, X2, np.arctan2(*X2.T)[:, None]),
    ],
)
def test_functions_of_many_kinds_become_one_kind(target, domain, X, exact):
    made = given(target, domain)
    assert made.width == exact.shape[1]
    np.testing.assert_allclose(made.values(X), exact, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    ("target", "domain", "kind", "message"),
    [
        ("sin", (-1, 1), InputError, "target is of type str"),
        (np.sin, (1, -1), InputError, "low"),
        (np.sin, (0, 0), InputError, "domain has variable 0"),
        (np.sin, (0, np.inf), InputError, "domain"),
        (np.sin, "ab", InputError, "domain"),
        (np.sin, None, InputError, "domain"),
        (np.sin, [[(-1, 1)]], ShapeError, "domain"),
        (np.log, (-1, 1), InputError, "target is nan at -1"),
        (lambda x: 1 / x, (0, 1), InputError, "target is inf at 0"),
        (lambda x, y: x, (-1, 1), InputError, "target fails"),
        (lambda x: x - x.mean(), (-1, 1), InputError, "another value"),
        (lambda x: "a", (-1, 1), InputError, "target fails"),
        (lambda x: 1j * x, (-1, 1), InputError, "target fails"),
    ],
)
def test_what_is_no_target_or_no_domain_is_told(target, domain, kind, message):
    with pytest.raises(kind, match=message):
        given(target, domain)


def test_a_target_that_is_not_finite_somewhere_is_told_where():
    made = given(lambda x: np.where(np.abs(x - 0.3) < 1e-9, np.nan, x), (-1, 1))
    with pytest.raises(InputError, match=r"target is nan at 0\.3"):
        made.values(np.array([[0.1], [0.3]]))


def test_named_variables_are_named_in_messages():
    with pytest.raises(InputError, match=r"a = 0\.95, b = 1"):
        given(lambda a, b: np.where(a > 0.9, np.inf, b), {"a": (0, 0.95), "b": (0, 1)})
