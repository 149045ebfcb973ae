"""State is a value: nested (named) tuples of tensors, batch first, passed in and returned."""

from collections.abc import Callable
from typing import TypeVar, cast

import torch
from torch import Tensor

from dragoman.model.shapes import Int

Tree = TypeVar("Tree")


def each_tensor(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Apply `function` to every tensor of a nested tuple; everything that is not a tensor stays as it is."""
    if isinstance(tree, Tensor):
        return cast(Tree, function(tree))
    if isinstance(tree, tuple):
        parts = [each_tensor(function, part) for part in tree]
        return cast(Tree, type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts))
    return tree


def select(state: Tree, rows: Int[Tensor, "R"]) -> Tree:
    """The rows of a state, in the order and as often as `rows` names them."""
    return each_tensor(lambda tensor: tensor.index_select(0, rows), state)


def tile(state: Tree, times: int) -> Tree:
    """Every row of a state `times` times in a row: (B, ...) to (B * times, ...)."""
    return each_tensor(lambda tensor: torch.repeat_interleave(tensor, times, dim=0), state)
