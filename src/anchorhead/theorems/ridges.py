"""Sums of ridge functions: f(t) = c + Σ_a g_a(a·t), each g_a piecewise linear, one for a direction a.

They are what a ReLU network with one hidden layer can say most directly: a piece of g_a is a neuron.
Here t lies in the unit cube and directions are integer vectors, so a·t runs through an interval of
length |a|₁, cut into equal cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anchorhead.domain import Box
from anchorhead.theorems.relu import ReLUNetwork

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Ridges", "primitive_directions"]


@dataclass(frozen=True, eq=False)
class Ridges:
    """Directions a (R×D), the number of cells of each g_a, and its values at the cells' ends.

    ``values`` stacks the knots of all directions: Σ_a (cells_a + 1) rows, one column an output.
    """

    directions: np.ndarray
    cells: np.ndarray
    values: np.ndarray

    @property
    def hidden(self) -> int:
        """How many neurons the sum takes: one a cell."""
        return int(self.cells.sum())

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """The sum at points t (G×D) of the unit cube."""
        return hat_matrix(self.directions, self.cells, t) @ self.values

    def reach(self, t: np.ndarray, radius: float) -> np.ndarray:
        """How far, at most, the sum moves when every entry of t moves by at most ``radius``.

        Within the radius each slope of g_a lies between the least and the largest of the cells that
        a·t can reach, so the i-th derivative lies in Σ_a a_i [least, largest].
        """
        moved = np.zeros((len(t), self.values.shape[1]))
        low, high = self._slopes_near(t, radius)
        for i in range(t.shape[1]):
            up = np.maximum(self.directions[:, i], 0), np.minimum(self.directions[:, i], 0)
            top = np.einsum("r,rgo->go", up[0], high) + np.einsum("r,rgo->go", up[1], low)
            bottom = np.einsum("r,rgo->go", up[0], low) + np.einsum("r,rgo->go", up[1], high)
            moved += radius * np.maximum(np.abs(top), np.abs(bottom))
        return moved

    def _slopes_near(self, t: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest slope of each g_a within the radius: two arrays R × G × outputs."""
        start, lengths = starts(self.directions), np.abs(self.directions).sum(axis=1)
        shape = len(self.directions), len(t), self.values.shape[1]
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        for r, slopes in enumerate(self.slopes()):
            place = (t @ self.directions[r] - start[r]) / lengths[r] * self.cells[r]
            reach = radius * self.cells[r] * (1 + 1e-12) + 1e-9
            first = np.clip(np.floor(place - reach), 0, self.cells[r] - 1).astype(int)
            last = np.clip(np.floor(place + reach), 0, self.cells[r] - 1).astype(int)
            for step in range(int((last - first).max()) + 1):
                here = slopes[np.minimum(first + step, last)]
                low[r], high[r] = np.minimum(low[r], here), np.maximum(high[r], here)
        return low, high

    def slopes(self) -> list[np.ndarray]:
        """For each direction the slopes of g_a in its cells: cells × outputs."""
        lengths = np.abs(self.directions).sum(axis=1) / self.cells
        parts = np.split(self.values, np.cumsum(self.cells + 1)[:-1])
        return [np.diff(part, axis=0) / step for part, step in zip(parts, lengths, strict=True)]

    def to_relu(self, box: Box, shape_out: tuple[int, int]) -> ReLUNetwork:
        """The sum as a ReLU network on the box: g_a = g_a(start) + Σ_j (slope_j − slope_{j−1}) ReLU.

        The variables of the cube are the entries of X that the box does not fix, in row-major order.
        """
        low, length = box.low.ravel(), (box.high - box.low).ravel()
        free = length > 0
        hidden_weights = np.zeros((self.hidden, len(low)))
        hidden_weights[:, free] = np.repeat(self.directions / length[free], self.cells, axis=0)
        sizes = np.abs(self.directions).sum(axis=1)
        knots = [
            start + size * np.arange(cells) / cells
            for start, size, cells in zip(starts(self.directions), sizes, self.cells, strict=True)
        ]
        changes = [np.diff(part, axis=0, prepend=0.0) for part in self.slopes()]
        first = np.concatenate([[0], np.cumsum(self.cells + 1)[:-1]])
        return ReLUNetwork(
            hidden_weights,
            -hidden_weights @ low - np.concatenate(knots),
            np.concatenate(changes).T,
            self.values[first].sum(axis=0),
            (box.shape[0], box.shape[1]),
            shape_out,
        )


def hat_matrix(directions: np.ndarray, cells: np.ndarray, t: np.ndarray) -> sparse.csr_array:
    """The matrix that takes knot values to the sum's values at the points t: G × knots."""
    from scipy import sparse

    count, start = len(t), starts(directions)
    offsets = np.concatenate([[0], np.cumsum(cells + 1)])
    place = (t @ directions.T - start) / np.abs(directions).sum(axis=1) * cells
    left = np.clip(np.floor(place), 0, cells - 1).astype(int)
    right_share = place - left
    columns = np.concatenate([left + offsets[:-1], left + offsets[:-1] + 1], axis=1)
    shares = np.concatenate([1 - right_share, right_share], axis=1)
    pointer = np.arange(count + 1) * columns.shape[1]
    return sparse.csr_array(
        (shares.ravel(), columns.ravel(), pointer), shape=(count, int(offsets[-1]))
    )


def starts(directions: np.ndarray) -> np.ndarray:
    """The least value of a·t over the unit cube, for each direction."""
    return np.minimum(directions, 0).sum(axis=1)


def primitive_directions(dimension: int, largest: int) -> np.ndarray:
    """Integer vectors with entries up to ``largest``, one for each line through the origin."""
    grid = np.indices((2 * largest + 1,) * dimension).reshape(dimension, -1).T - largest
    leading = grid[np.arange(len(grid)), (grid != 0).argmax(axis=1)]
    return grid[(leading > 0) & (np.gcd.reduce(np.abs(grid), axis=1) == 1)]
