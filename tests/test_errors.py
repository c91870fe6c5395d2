import numpy as np
import pytest
import torch

from anchorhead import errors
from anchorhead.errors import (
    AnchorheadError,
    InputError,
    MissingExtraError,
    ShapeError,
    require_array,
    require_fraction,
    require_integer,
    require_number,
    require_positive,
    require_range,
    require_shape,
)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array([1, 2]), "int64"),
        (np.array([True]), "bool"),
        (np.array([1j]), "real numbers"),
        (["a"], "real numbers"),
        ([[1.0], [1.0, 2.0]], "real numbers"),
        (None, "real numbers"),
        ([], "empty"),
        (np.zeros((3, 0)), "empty"),
        ([1.0, np.nan], r"weights\[1\] is nan"),
        ([[1.0, -np.inf]], r"weights\[0, 1\] is -inf"),
        (np.nan, "weights is nan"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "masked"),
        ([10**400], "real numbers"),
        (torch.ones(2, requires_grad=True), "real numbers"),
        (torch.ones(2, dtype=torch.int32), "int32"),
    ],
)
def test_array_refuses(value, says):
    with pytest.raises(InputError, match=says) as caught:
        require_array("weights", value)
    assert "weights" in str(caught.value)


def test_array_converts_lists_and_keeps_values():
    assert require_array("x", [1, 2]).dtype == np.float64
    given = np.array([1.5, 2.5], dtype=np.float32)
    assert (require_array("x", given) == [1.5, 2.5]).all()
    with pytest.raises(ShapeError, match="2 dimensions"):
        require_array("x", [1.0], dimensions=2)


def test_array_is_a_copy():
    given = np.zeros(3)
    require_array("x", given)[0] = 1
    assert given[0] == 0


@pytest.mark.parametrize("value", [1.5, "3", None, True, 0])
def test_integer_refuses(value):
    with pytest.raises(InputError, match="heads"):
        require_integer("heads", value, least=1)


def test_integer_takes_numpy_integers():
    assert require_integer("heads", np.int64(3), least=3) == 3


@pytest.mark.parametrize("value", [np.inf, np.nan, "x", "1", b"1", True, None, 10**400])
def test_number_refuses(value):
    with pytest.raises(InputError, match="error"):
        require_number("error", value)


@pytest.mark.parametrize("value", [0, 1, -0.1, 2])
def test_fraction_refuses(value):
    with pytest.raises(InputError, match="between 0 and 1"):
        require_fraction("softmax_error", value)


def test_positive_refuses_zero():
    with pytest.raises(InputError, match="above 0"):
        require_positive("error", 0.0)


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1), (2, 1), (np.nan, 1), (0, np.inf), (-1.5e308, 1.5e308)]
)
def test_range_refuses(low, high):
    with pytest.raises(InputError):
        require_range(low, high)


def test_shape_says_where_it_comes_from():
    with pytest.raises(ShapeError, match="one for each token"):
        require_shape("offsets", np.zeros(2), (3,), "one for each token")


def test_every_error_is_ours_and_a_usual_kind():
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type):
            assert issubclass(kind, AnchorheadError)
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert "anchorhead[torch]" in str(MissingExtraError("PyTorch", "torch"))
