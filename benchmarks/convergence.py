"""The error against the number of anchors: drawn, and printed as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from anchorhead.compiler.function import chosen
from anchorhead.heads import Found, graded, smooth
from anchorhead.reproduce.__main__ import markdown

mpl.use("Agg")

import matplotlib.pyplot as plt

FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "convergence.png"

KINKED = (4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64)
FINER = [10.0**-k for k in range(1, 13)]

ANALYTIC = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32)


def root(x: np.ndarray) -> np.ndarray:
    """√|x|, less smooth than a kink."""
    return np.sqrt(np.abs(x))


def runge(x: np.ndarray) -> np.ndarray:
    """1/(1 + 25x²), analytic but for poles at ±i/5."""
    return 1 / (1 + 25 * x * x)


def _sine(x: np.ndarray) -> np.ndarray:
    return np.sin(3 * x)


COMPILED = (
    ("abs x", np.abs, FINER),
    ("√ abs x", root, FINER[:6]),
    ("1/(1+25x²)", runge, FINER[:11]),
    ("sin 3x", _sine, FINER),
)
"""Functions whose networks ``compile`` finds, and the errors asked for."""


def table() -> str:
    """Draw the figure and return what it shows as numbers."""
    kinked = {
        "abs x, graded mesh": [_graded(np.abs, p, refine=False) for p in KINKED],
        "√ abs x, graded mesh": [_graded(root, p, refine=False) for p in KINKED],
        "√ abs x, refined": [_graded(root, p, refine=True) for p in KINKED],
        "the paper, abs x": [_staircase(np.abs, p) for p in KINKED],
        "8e^(−π√p)": [8 * float(np.exp(-np.pi * np.sqrt(p))) for p in KINKED],
    }
    analytic = {
        "1/(1+25x²), even mesh": [smooth(runge, -1, 1, p, refine=False).error for p in ANALYTIC],
        "1/(1+25x²), refined": [smooth(runge, -1, 1, p).error for p in ANALYTIC],
        "sin 3x, even mesh": [smooth(_sine, -1, 1, p, refine=False).error for p in ANALYTIC],
        "sin 3x, refined": [smooth(_sine, -1, 1, p).error for p in ANALYTIC],
        "the paper, sin 3x": [_staircase(_sine, p) for p in ANALYTIC],
    }
    found = {f"{name}, compiled": _compiled(f, errors) for name, f, errors in COMPILED}
    _draw(kinked, analytic, found)
    rates = [
        f"- {name}: error ∝ e^(−{_slope(np.sqrt(KINKED), errors):.2f}√p)"
        for name, errors in list(kinked.items())[:3]
    ]
    rates += [
        f"- {name}: error ∝ e^(−{_slope(np.array(ANALYTIC), errors):.2f}p)"
        for name, errors in list(analytic.items())[:4]
    ]
    parts = [
        "![error against anchors](figures/convergence.png)",
        _numbers(KINKED, kinked),
        _numbers(ANALYTIC, analytic),
        "What `compile` finds, as anchors: error measured.\n\n" + _pairs(found),
        "Rates fitted down to 10⁻¹⁰, where rounding begins:\n\n" + "\n".join(rates),
    ]
    return "\n\n".join(parts)


def _compiled(f, errors: Sequence[float]) -> list[tuple[int, float]]:
    """Anchors, without gates, and the error measured, of what ``compile`` finds for each error."""
    y = np.concatenate(
        [np.linspace(-1, 1, 20_001), *(s * np.geomspace(1e-17, 1, 20_000) for s in (-1, 1))]
    )
    made = [chosen(f, (-1, 1), error, "float64", None, "sup", gates=False) for error in errors]
    return [
        (each.network.size.anchors, float(np.abs(each.network(y[:, None])[:, 0] - f(y)).max()))
        for each in made
    ]


def _pairs(found: dict[str, list[tuple[int, float]]]) -> str:
    rows = [(name, ", ".join(f"{p}: {e:.0e}" for p, e in pairs)) for name, pairs in found.items()]
    return markdown(["function", "anchors: error"], rows)


def _graded(f, count: int, refine: bool) -> float:
    found: Found = graded(f, -1, 1, count, np.array([0.0]), refine=refine)
    return found.error


def _staircase(f, count: int) -> float:
    """The error of ``count`` uniform anchors of which the nearest wins."""
    anchors = np.linspace(-1, 1, count)
    y = np.linspace(-1, 1, 20_001)
    nearest = anchors[np.rint((y + 1) / 2 * (count - 1)).astype(int)]
    return float(np.abs(f(nearest) - f(y)).max())


def _slope(x: np.ndarray, errors: list[float]) -> float:
    """C in error ∝ e^(−Cx), fitted while the error is above rounding."""
    e = np.array(errors)
    used = np.cumsum(e < 1e-10) == 0
    return -float(np.polyfit(x[used], np.log(e[used]), 1)[0])


def _numbers(counts: tuple[int, ...], series: dict[str, list[float]]) -> str:
    rows = [
        (str(p), *(f"{errors[i]:.1e}" for errors in series.values())) for i, p in enumerate(counts)
    ]
    return markdown(["anchors", *series], rows)


def _draw(
    kinked: dict[str, list[float]],
    analytic: dict[str, list[float]],
    found: dict[str, list[tuple[int, float]]],
) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    for axes, counts, series in ((left, KINKED, kinked), (right, ANALYTIC, analytic)):
        for name, errors in series.items():
            style = {"the": ("0.55", "--"), "8e^": ("black", ":")}.get(name[:3], (None, "-"))
            marker = "o" if style[1] == "-" else None
            axes.semilogy(counts, errors, style[1], color=style[0], marker=marker, ms=4, label=name)
        for name, pairs in found.items():
            if name.removesuffix(", compiled") in {each.split(",")[0] for each in series}:
                axes.semilogy(*zip(*pairs, strict=True), "*", ms=9, label=name)
        axes.set_xlabel("anchors p")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    left.set_xscale("function", functions=(np.sqrt, np.square))
    left.set_xlim(2.5, 68)
    left.set_xticks([4, 8, 16, 32, 48, 64])
    left.set_title("kinks and branch points: straight lines are e^(−C√p)")
    right.set_title("analytic: straight lines are geometric")
    left.set_ylabel("sup error on [−1, 1]")
    figure.tight_layout()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    plt.close(figure)
