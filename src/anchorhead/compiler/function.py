"""From a function to the smallest network found that does the same: try, choose, and try again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias, get_args

import numpy as np

from anchorhead.compiler.bilinear import bilinear
from anchorhead.compiler.candidates import Candidate, smallest_of
from anchorhead.compiler.gates import gated
from anchorhead.compiler.line import Wish, on_line
from anchorhead.compiler.sampling import POINTS, root_mean_square, scattered, strayed
from anchorhead.compiler.several import on_grid
from anchorhead.compiler.space import ridge, separate_sum, tilted_ridge
from anchorhead.compiler.target import Given, given
from anchorhead.errors import InputError, PrecisionError, require_choice, require_positive
from anchorhead.heads import grid
from anchorhead.heads.pointwise import pointwise
from anchorhead.heads.response import Precision

__all__ = ["BUDGET", "MARGIN", "candidates", "chosen", "searched"]

Kinks: TypeAlias = Sequence[Sequence[float] | None]
"""For every variable the points where the target is not smooth, or None to search for them."""

ROOM = 2.0
"""How much more than the best error met should be asked for: searches differ from goal to goal."""

MARGIN = 0.99
"""The part of the error that networks are made for: between the points at which it is measured it may
be a little larger."""

BUDGET = 100.0
"""Steps of descent that may be spent on leaving out anchors once a head meets the error."""

ATTEMPTS = 4
"""How often a search begins again with a closer look at points where its network strayed."""

FLOAT32 = 1e30
"""Numbers no larger than this, and no smaller than its inverse, leave float32 room to compute."""

WATCHED = 4
"""Points around which a search looks closer after a network strayed there."""

HOPELESS = 10.0
"""Errors so many times larger than asked for are not mended by aiming lower."""

NARROW = POINTS // 16
"""A network that strays at more fresh points than this is not good enough; at fewer, something narrow
was overlooked."""

AIMS = (1.0, 0.25)
"""Parts of the error that are aimed at: what a search for all of it misses, a search for less may
still reach."""

LOOSER = (64.0, 16.0, 4.0, 2.0)
"""Multiples of a root mean square that are tried as the largest error before that."""


def chosen(
    target: Any,
    domain: Any,
    error: float,
    dtype: Precision,
    kinks: Any,
    norm: str,
    gates: bool,
) -> Candidate:
    """The smallest network found that is within ``error`` of the target, tried at fresh points.

    ``gates`` says whether tokens may see themselves, which only the prefix form can write.
    """
    error = require_positive("error", error)
    require_choice("dtype", dtype, get_args(Precision))
    require_choice("norm", norm, ("sup", "rms"))
    target = given(target, domain)
    kinks = _kinks(kinks, target)
    if dtype == "float32":
        _require_float32(target)
    best: Candidate | None = None
    for times in (*LOOSER, *AIMS) if norm == "rms" else AIMS:
        wish = Wish(times * error, dtype, BUDGET, gates)
        found, _ = searched(target, wish, kinks, max(error, wish.error))
        if norm == "rms":
            reached = root_mean_square(found.network, target, dtype, seed=20)
            found = replace(found, error=reached)
        if found.error <= error:
            return found
        best = found if best is None or found.error < best.error else best
        if times == 1 and best.error > HOPELESS * error:
            break
    assert best is not None
    other = " or use dtype='float64'" if dtype == "float32" else ""
    other += "; kinks were not searched for beside those given" if kinks is not None else ""
    raise PrecisionError(
        f"error is {error:.3g} where the best network found is within {best.error:.2g} when computed "
        f"in {dtype}; ask for {_rounded_up(ROOM * best.error)} or more{other}"
    )


def candidates(
    target: Given, wish: Wish, kinks: Kinks | None, watched: np.ndarray
) -> Iterator[Candidate]:
    """Every construction's network for the target; not all of them meet the wish."""
    low, high = target.box.low, target.box.high
    if len(low) == 1:
        own = None if kinks is None else kinks[0]
        points = watched[:, 0].tolist()
        for made in on_line(target.on_line, low[0], high[0], wish, own, points):
            yield Candidate(made.construction, pointwise(*made.heads), made.error)
        if wish.gates:
            yield from gated(target.on_line, low[0], high[0], wish, own, points)
        return
    found = 0
    for candidate in chain(
        ridge(target, wish, kinks, watched),
        separate_sum(target, wish, kinks, watched),
        bilinear(target, wish),
        tilted_ridge(target, wish, kinks, watched),
    ):
        found += candidate.error <= wish.error
        yield candidate
    if not found:
        made = on_grid(
            target.values, low, high, wish.error, wish.dtype, wish.budget, kinks, watched
        )
        yield Candidate("grid", grid.network(made.lattice), made.error)


def searched(
    target: Given, wish: Wish, kinks: Kinks | None, error: float
) -> tuple[Candidate, tuple[Candidate, ...]]:
    """The smallest candidate within ``error``, at fresh points too, and all it was chosen from.

    They are made by aiming at the wish.

    Where one strays at few points, something narrow was overlooked; where it strays at many, what was
    overlooked may have spoiled the rest, once. The search begins again, watching the worst point, and
    for a little less than the error.
    """
    watched, missed = np.empty((0, target.box.low.size)), np.empty(0)
    for attempt in range(ATTEMPTS):
        aim = replace(wish, error=(MARGIN - 0.05 * attempt) * wish.error)
        made = tuple(candidates(target, aim, kinks, watched))
        found = smallest_of(made, MARGIN * error)
        missed = strayed(found.network, target, error, wish.dtype, seed=attempt)
        overlooked = 0 < len(missed) <= NARROW or attempt == 0
        if not len(missed) or (found.error > error and not overlooked):
            return found, made
        watched = np.concatenate([watched, _some_apart(missed, target)])
    raise PrecisionError(
        f"target strays from every network found near {missed[0].tolist()}, where it is too narrow "
        f"for the search; give its kinks, or compile it in parts"
    )


def _require_float32(target: Given) -> None:
    """Check that a domain and the values there are of a size at which float32 has all its digits."""
    values = target.values(scattered(target, POINTS, seed=9))
    for name, array in (
        ("domain reaches", np.concatenate([target.box.low, target.box.high])),
        ("domain spans", target.box.high - target.box.low),
        ("target reaches", values),
    ):
        largest = float(np.abs(array).max())
        if largest and not 1 / FLOAT32 < largest < FLOAT32:
            raise InputError(
                f"{name} {largest:.3g}, where float32 keeps its digits between {1 / FLOAT32:.0e} and "
                f"{FLOAT32:.0e} only; scale it to moderate size or use dtype='float64'"
            )


def _some_apart(missed: np.ndarray, target: Given) -> np.ndarray:
    """The worst point, and the worst of those far from the ones before: WATCHED at most."""
    reach = (target.box.high - target.box.low) / 64
    chosen = []
    while len(missed) and len(chosen) < WATCHED:
        chosen.append(missed[0])
        missed = missed[(np.abs(missed - missed[0]) > reach).any(axis=1)]
    return np.array(chosen)


def _kinks(kinks: Any, target: Given) -> Kinks | None:
    """The kinks a user names, for every variable; None to search for them."""
    if kinks is None:
        return None
    count = target.box.low.size
    if isinstance(kinks, Mapping):
        names = target.names or ()
        if strange := [name for name in kinks if name not in names]:
            raise InputError(
                f"kinks has {strange[0]!r}, which is no variable of domain; leave it out"
            )
        lists = [kinks.get(name) for name in names]
    elif count > 1 and (isinstance(kinks, str) or not isinstance(kinks, Iterable)):
        raise InputError(f"kinks is {kinks!r} for {count} variables; give one list for each")
    else:
        lists = [kinks] if count == 1 else list(kinks)
    if len(lists) != count:
        raise InputError(f"kinks has {len(lists)} lists for {count} variables; give one for each")
    return tuple(
        _inside(*each) for each in zip(lists, target.box.low, target.box.high, strict=True)
    )


def _inside(points: Any, low: float, high: float) -> tuple[float, ...] | None:
    """Points as numbers between low and high, in order; None stays, to search for them."""
    if points is None:
        return None
    try:
        if isinstance(points, str):
            raise TypeError
        found = np.unique(np.asarray(points, dtype=float).ravel())
    except (TypeError, ValueError):
        raise InputError(
            "kinks holds something that is no number; give a list of numbers"
        ) from None
    if not ((low < found) & (found < high)).all():
        raise InputError(
            f"kinks holds {found.tolist()}, not all inside ({low:g}, {high:g}); leave those out"
        )
    return tuple(found.tolist())


def _rounded_up(number: float) -> str:
    """Two digits, not below the number."""
    text = f"{number:.1e}"
    return text if float(text) >= number else f"{number * 1.1:.1e}"
