"""The key-value cache of a batch whose rows come and go (continuous batching).

Rows are right-aligned: the newest token of every row stands in the last column, what a row
does not fill on its left is masked. transformers' caches grow by concatenation, which copies
everything at every token; here a layer grows into spare room.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicLayer

SPARE = 64  # columns; the copy is paid once for so many tokens


class RoomyLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped
    """A layer that grows into spare columns; ``keys`` and ``values`` are views of its room."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append along the columns: (rows, heads, new columns, head size) -> all columns."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states, value_states
            self._rooms: tuple[Tensor, Tensor] | None = None
            return self.keys, self.values
        start, new = self.keys.shape[-2], key_states.shape[-2]
        if self._rooms is None or self._rooms[0].shape[-2] < start + new:
            self._rooms = (
                pad(self.keys, (0, 0, 0, new + SPARE)),
                pad(self.values, (0, 0, 0, new + SPARE)),
            )
        for room, states in zip(self._rooms, (key_states, value_states), strict=True):
            room[..., start : start + new, :] = states
        self.keys, self.values = (room[..., : start + new, :] for room in self._rooms)
        return self.keys, self.values

    def replace(self, keys: Tensor, values: Tensor) -> None:
        """Put other states in place of all."""
        self.keys, self.values, self._rooms = keys, values, None


def new_cache() -> Cache:
    """An empty cache whose layers keep every column (sliding windows act by the mask alone)."""
    return Cache(layer_class_to_replicate=RoomyLayer)


def keep_rows(cache: Cache, rows: list[int], first_column: int) -> None:
    """Drop all rows but ``rows`` and the columns left of ``first_column``, in place."""
    for layer in cache.layers:
        layer.replace(layer.keys[rows, :, first_column:], layer.values[rows, :, first_column:])


def join(cache: Cache, other: Cache) -> None:
    """Put the rows of ``other`` below those of ``cache``, in place, right-aligned."""
    for layer, more in zip(cache.layers, other.layers, strict=True):
        width = max(layer.keys.shape[-2], more.keys.shape[-2])
        layer.replace(
            torch.cat([_widen(layer.keys, width), _widen(more.keys, width)]),
            torch.cat([_widen(layer.values, width), _widen(more.values, width)]),
        )


def _widen(states: Tensor, width: int) -> Tensor:
    return pad(states, (0, 0, width - states.shape[-2], 0))
