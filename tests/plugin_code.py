"""Plug-ins for tests: code of a file, and tables that are afterwards as they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent

from dragoman.configuration import plugins

SCORE = dedent('''
    """A score."""

    import torch
    from torch import Tensor

    from dragoman.model.attention.scores import AlignmentScore


    class ProximityScore(AlignmentScore):
        """`e_tj = -|s_t - h_j|^2 / 2`."""

        equal_sizes = True
        is_matmul = True

        def energies(self, query: Tensor, keys: Tensor) -> Tensor:
            squares = query.square().sum(2).unsqueeze(2) + keys.square().sum(2).unsqueeze(1)
            return torch.bmm(query, keys.transpose(1, 2)) - squares / 2


    PARTS = {"score": {"proximity": ProximityScore}}
''')


@contextmanager
def without_plugins() -> Iterator[None]:
    """Begin and end without plug-ins."""
    unload()
    try:
        yield
    finally:
        unload()


def unload() -> None:
    for plugin in plugins.loaded():
        for part in plugin.parts:
            table, _, kind = part.partition(":")
            plugins.table_of(table).pop(kind, None)
    vars(plugins)["_loaded"].clear()
