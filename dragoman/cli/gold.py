"""Gold links, and what their numbers seem to count from."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.streams import tell
from dragoman.corpus.pharaoh import Gold, read_gold, without_word_0
from dragoman.files.reading import shown


def read(path: Path | None, *, one_based: bool) -> list[Gold]:
    """Return the links of `--gold`, none if it is not given. Tell if they seem to count words from 1."""
    links = read_gold(path, one_based=one_based) if path else []
    if path:
        tell_if_from_1(path, links, "--one-based")
    return links


def tell_if_from_1(path: Path, gold: Sequence[Gold], option: str) -> None:
    """Tell if links that are taken to count words from 0 have no word 0, and the option for those that count from 1."""
    if without_word_0(gold):
        tell(f"{shown(path)}: no link has a word 0; if its links count words from 1, say so with {option}")
