"""Translating a message catalogue (`.po`), in place of lines."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.cli.progress import messages
from dragoman.cli.streams import Portion, output, tell
from dragoman.corpus.features import Given
from dragoman.corpus.formats import ENDINGS
from dragoman.corpus.untranslated import Untranslated
from dragoman.errors import UserError
from dragoman.files import shown
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

CATALOGUE = ".po"
LINES = (CATALOGUE, ".tsv", ".tsv.gz")  # endings of corpora that can be translated: columns are several sources
MOST = 64  # texts that are translated at a time


def is_catalogue(source: Path) -> bool:
    """Whether the file is a catalogue. UserError for other files with the texts of several languages."""
    if str(source).endswith(ENDINGS) and not str(source).endswith(LINES):
        raise UserError(f"{source}: is no text of one sentence per line, and no {CATALOGUE} file")
    return source.suffix == CATALOGUE


def fill(
    path: Path,
    target: Path | None,
    translator: Translator,
    to: str | None,
    translated: Callable[[Portion[tuple[Given, ...]]], Sequence[Translation]],
) -> None:
    """Write a catalogue with a translation of each message that has none; `translated` translates some of its texts."""
    if len(translator.asked) > 1:
        raise UserError(f"{shown(path)}: has one source, and the run reads {len(translator.asked)}")
    names = ("source", to or translator.targets[0]) if translator.marks else _names(translator)
    catalogue = Untranslated(str(path), names)
    texts, found = catalogue.texts, list[str]()
    with messages(len(texts)) as advance:
        for first in range(0, len(texts), MOST):
            some: list[tuple[Given, ...]] = [(text,) for text in texts[first : first + MOST]]
            found += [translation.text for translation in translated(Portion(first + 1, some))]
            advance(len(found) - first)
    filled, count = catalogue.filled(found)
    with output(target) as file:
        file.write(filled.removesuffix("\n").split("\n"))
    tell(f"{shown(path)}: {count:,} of {len(catalogue):,} messages without a translation have one now, marked as fuzzy")


def _names(translator: Translator) -> tuple[str, str]:
    return translator.asked[0].name, translator.target.name
