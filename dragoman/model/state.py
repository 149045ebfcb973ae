"""Operations on states: nested (named) tuples of tensors, batch first, passed in and returned."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from dragoman.model.shapes import Int

Tree = TypeVar("Tree")


def map_tensors(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Apply `function` to every tensor of a nested tuple; None stays None.

    Raises TypeError for any other container: tensors in a list, left out here, would keep rows of other hypotheses.
    """
    if isinstance(tree, Tensor):
        return cast(Tree, function(tree))
    if isinstance(tree, tuple):
        parts = [map_tensors(function, part) for part in tree]
        return cast(Tree, type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts))
    if tree is None:
        return tree
    raise TypeError(f"a state holds tensors in tuples, found {type(tree).__name__}")


def list_tensors(tree: Any) -> list[Tensor]:
    """The tensors of a nested tuple, in order."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    map_tensors(note, tree)
    return tensors


def replace_tensors(tree: Tree, tensors: Iterable[Tensor]) -> Tree:
    """The nested tuple with these tensors in the place of its own."""
    rest = iter(tensors)
    return map_tensors(lambda _: next(rest), tree)


def first_tensor(tree: Any) -> Tensor:
    """The first tensor of a nested tuple, which must have one."""
    return list_tensors(tree)[0]


def extend_state(old: Tree, start: Tree) -> Tree:
    """A state whose source has become longer: `old`, extended at the new positions (axis 1) with values of `start`.

    `start` has the same structure and, in tensors with a position axis, at least as many positions.
    """
    if isinstance(old, Tensor):
        longer = cast(Tensor, start)
        same = old.dim() < 2 or old.size(1) == longer.size(1)
        return cast(Tree, old if same else torch.cat([old, longer[:, old.size(1) :]], 1))
    if isinstance(old, tuple):
        parts = map(extend_state, old, cast(tuple[Any, ...], start))
        return cast(Tree, type(old)(*parts) if hasattr(old, "_fields") else tuple(parts))
    return old


def select_rows(state: Tree, rows: Int[Tensor, "R"]) -> Tree:
    """The rows of a state given by `rows`, in this order and with repetitions."""
    return map_tensors(lambda tensor: tensor.index_select(0, rows), state)
