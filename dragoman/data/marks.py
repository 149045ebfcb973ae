"""The marks of a run, symbols that no text spells; and the symbols of each target language."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman.configuration.data import DataConfig
from dragoman.data.denoising import MASK
from dragoman.data.vocabulary import SPECIALS
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.text.edits import OPERATIONS
from dragoman.text.mark import Mark

SPOKEN = "target.languages"  # in a run folder


def marks(data: DataConfig) -> tuple[Mark, ...]:
    """Return the marks that every vocabulary of a run has."""
    hidden = (MASK,) if data.denoises else ()
    return OPERATIONS if data.edits else (*target_marks(data).values(), *hidden)


def target_marks(data: DataConfig) -> dict[str, Mark]:
    """Return the first symbol of a source for each target language, if there are several pairs (Johnson et al.
    2016).
    """
    return {pair.target: Mark(f"<2{pair.target}>") for pair in data.trained} if data.pairs else {}


def write_spoken(seen: Mapping[str, npt.NDArray[np.bool_]], first: int, folder: Path) -> None:
    """Write the languages in which each symbol was seen, (V,) for each: one line per symbol, from number `first` on."""
    with write_atomically(folder / SPOKEN) as file:
        for columns in zip(*(column[first:] for column in seen.values()), strict=True):
            file.write("\t".join(name for name, here in zip(seen, columns, strict=True) if here) + "\n")


def find_foreign_symbols(data: DataConfig, folder: Path) -> dict[Mark, list[int]]:
    """Return symbol ids forbidden for each target language, by its mark: all marks, and with
    data.filter_target_vocabulary those seen in targets of other languages alone (target dictionary filtering: Ha et al.
    2017, "Effective strategies in zero-resource neural machine translation"). UserError if the run's file of languages
    is missing or damaged.
    """
    marks_by_language = target_marks(data)
    first = len(SPECIALS) + len(marks(data))
    lines = list(read_lines(folder / SPOKEN)) if marks_by_language and data.filter_target_vocabulary else []
    languages = [set(line.split("\t")) if line else set() for line in lines]
    if not all(names <= marks_by_language.keys() for names in languages):
        raise UserError(f"{folder / SPOKEN}: expected languages of the run separated by tabs for each token")
    forbidden = {
        name: [n for n, names in enumerate(languages, first) if names and name not in names]
        for name in marks_by_language
    }
    # Marks are never said: they only stand in sources.
    return {mark: [*range(len(SPECIALS), first), *forbidden[name]] for name, mark in marks_by_language.items()}
