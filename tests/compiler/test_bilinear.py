import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.bilinear import bilinear
from anchorhead.compiler.line import Wish
from anchorhead.compiler.target import given as target_of


def found(f, domain, error=1e-6, dtype="float64"):
    return list(bilinear(target_of(f, domain), Wish(error, dtype, 0.0)))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(-10, -1))
def test_products_shifted_and_scaled_are_made_within_their_error(seed, log_error):
    """c (x − x₀)(y − y₀) + k: all functions a + bx + cy + dxy with d ≠ 0."""
    rng = np.random.default_rng(seed)
    low = rng.normal(size=2) * 2
    high = low + 10.0 ** rng.uniform(-1, 1, 2)
    a, b, c, d = rng.normal(size=4)

    def f(x, y):
        return a + b * x + c * y + d * x * y

    error = 10.0**log_error
    for product in found(f, list(zip(low, high, strict=True)), error):
        X = rng.uniform(low, high, (5000, 2))
        assert product.construction == "product"
        assert product.error <= error
        assert np.abs(product.network(X)[:, 0] - f(*X.T)).max() <= product.error
        assert 4 <= product.network.size.anchors <= 13


def test_plain_products_are_found_at_every_error():
    for error in (0.1, 1e-4, 1e-9):
        (product,) = found(lambda x, y: x * y, [(-1, 1), (-1, 1)], error)
        assert product.error <= error
    for domain in ([(2, 3), (-1, 4)], [(100, 101), (0, 1e-3)]):
        assert len(found(lambda x, y: 3 * x * y - 5, domain)) == 1


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (lambda x, y: x + y, [(-1, 1)] * 2),
        (lambda x, y: 0 * x + 1, [(-1, 1)] * 2),
        (lambda x, y: x * y * y, [(-1, 1)] * 2),
        (lambda x, y: x * y + 1e-4 * np.sin(20 * x), [(-1, 1)] * 2),
        (lambda x, y: np.maximum(x, 0) * y, [(-1, 1)] * 2),
        (lambda x, y: (x * y, x), [(-1, 1)] * 2),
        (lambda x, y, z: x * y, [(-1, 1)] * 3),
        (lambda x: x, (-1, 1)),
    ],
    ids=["sum", "constant", "cubic", "wave", "kink", "two outputs", "three variables", "one"],
)
def test_what_is_no_product_is_not_taken_for_one(f, domain):
    assert not found(f, domain)


def test_what_is_a_product_but_for_less_than_the_error_is_one():
    (product,) = found(lambda x, y: x * y + 1e-9 * np.sin(20 * x), [(-1, 1)] * 2, 1e-6)
    assert product.error <= 1e-6


def test_an_error_that_rounding_forbids_is_left_to_others():
    assert not found(lambda x, y: x * y, [(-1, 1)] * 2, 1e-15)
