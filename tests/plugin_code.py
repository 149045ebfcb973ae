"""Plug-ins for tests: code of a file, and tables that are afterwards as they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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

CONFIG = """
run: run
code: mine.py
device: {threads: 1}
data: {source: en, target: fr, train: train, dev: train}
text: {source: {tokenizer: word}, target: {tokenizer: word}}
model: {embedding: {size: 4}, attention: {score: proximity}, encoder: {size: 2}, decoder: {size: 4}}
training: {epochs: 1}
search: greedy
"""


def write_files(folder: Path) -> None:
    """Write the code, a configuration that uses it, and its corpus."""
    (folder / "mine.py").write_text(SCORE, "utf-8")
    (folder / "config.yaml").write_text(CONFIG, "utf-8")
    for language in ("en", "fr"):
        (folder / f"train.{language}").write_text("a b\nb\na\n", "utf-8")


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
