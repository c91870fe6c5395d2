import numpy as np
import pytest

from anchorhead.errors import InputError
from anchorhead.heads.graded import graded
from anchorhead.heads.response import response

ZERO = [0.0]
SIZES = np.geomspace(1e-15, 1, 400)
Y = np.unique(np.concatenate([-SIZES, [0.0], SIZES, np.linspace(-1, 1, 2001)]))


def off(found, f, y=Y, dtype="float64"):
    return np.abs(response(found.anchors, y, dtype)[:, 0] - f(y)).max()


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.parametrize(("count", "most"), [(18, 1.1e-4), (34, 2e-6), (50, 9e-8)])
def test_meshes_are_no_worse_than_the_prototypes_of_the_theory(count, most):
    found = graded(relu, -1, 1, count, ZERO, rate=3.0, refine=False)
    assert found.error <= most
    assert off(found, relu) <= 1.003 * found.error


def rates(f, counts):
    """C in error ~ e^{−C√p}, from one number of anchors to the next."""
    errors = [graded(f, -1, 1, count, ZERO, refine=False).error for count in counts]
    return -np.diff(np.log(errors)) / np.diff(np.sqrt(counts))


def test_errors_of_a_kink_fall_root_exponentially():
    """As the best rational approximations' do, 8e^{−π√p}, though with another constant: against √p
    the logarithm of the error falls at a rate that neither grows nor fades."""
    found = rates(np.abs, (8, 16, 24, 32))
    assert (found > np.pi / 2).all()
    assert (found < 2 * np.pi).all()
    assert found.max() < 2 * found.min()


def test_errors_of_a_root_fall_root_exponentially_too():
    found = rates(lambda x: np.sqrt(np.abs(x)), (8, 16, 24, 32))
    assert (found > np.pi / 4).all()
    assert found.max() < 2 * found.min()


def test_an_even_mesh_would_be_far_worse():
    from anchorhead.heads.smooth import smooth

    even = smooth(np.abs, -1, 1, 24, refine=False)
    crowded = graded(np.abs, -1, 1, 24, ZERO, refine=False)
    assert crowded.error < 1e-2 * even.error


def test_without_a_rate_the_best_of_all_is_taken():
    alone = [graded(np.abs, -1, 1, 10, ZERO, rate=r, refine=False).error for r in (2.0, 3.0, 4.0)]
    assert graded(np.abs, -1, 1, 10, ZERO, refine=False).error <= min(alone)
    assert len(set(alone)) == 3


def test_refined_meshes_are_better():
    mesh, free = (graded(relu, -1, 1, 8, ZERO, rate=2.5, refine=r) for r in (False, True))
    assert free.error < 0.5 * mesh.error
    assert off(free, relu) <= 1.003 * free.error


def test_several_points_and_points_at_the_ends_are_crowded_to():
    def ramp(x):
        return np.clip(x, -0.5, 0.5)

    found = graded(ramp, -1, 1, 40, [-0.5, 0.5], rate=2.5, refine=False)
    y = np.unique(np.concatenate([Y - 0.5, Y + 0.5]))
    y = y[np.abs(y) <= 1]
    assert off(found, ramp, y) <= 1.003 * found.error < 1e-4
    found = graded(np.sqrt, 0, 1, 24, ZERO, refine=False)
    assert off(found, np.sqrt, SIZES) <= 1.003 * found.error < 1e-3
    assert found.anchors.centre == 0  # near its origin floating point has every scale


def test_float32_keeps_what_it_counts():
    found = graded(relu, -1, 1, 16, ZERO, rate=2.5, refine=False, dtype="float32")
    y = Y.astype(np.float32).astype(float)
    assert off(found, relu, y, "float32") <= found.error < 1e-2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.abs, 1, -1, 8, ZERO), {}, "low"),
        ((np.abs, -1, 1, 1, ZERO), {}, "count is 1 where at least 2"),
        ((np.abs, -1, 1, 8, []), {}, "toward is empty"),
        ((np.abs, -1, 1, 8, 0.0), {}, "toward has shape"),
        (
            (np.abs, -1, 1, 8, [0.0, 2.0]),
            {},
            r"toward holds \[0.0, 2.0\], not all inside \[-1, 1\]",
        ),
        ((np.abs, -1, 1, 8, [-1.5]), {}, "toward holds"),
        ((np.abs, -1, 1, 8, ZERO), {"rate": 0.0}, "rate is 0.0 where a number above 0"),
        ((np.abs, -1, 1, 8, ZERO), {"dtype": "half"}, "dtype is 'half'; use"),
        ((np.abs, -1, 1, 8, ZERO), {"refine": 1}, "refine"),
        (("abs", -1, 1, 8, ZERO), {}, "target is a str"),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message):
        graded(*arguments, **options)
