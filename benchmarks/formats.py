"""Conversion of other sequence tasks to pairs that dragoman reads: `python -m benchmarks.formats TASK IN OUT.tsv`.

An input line is an example in the format of the task's data sets; an output line has the source, a tab, and the target.
Lines that are no examples (empty, or punctuation alone in `histnorm`) are left out. See docs/tasks.md.
"""

import argparse
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from benchmarks.prepared import write
from dragoman.errors import UserError
from dragoman.files.reading import read_lines

Format: TypeAlias = Callable[[str, str], tuple[str, ...] | None]  # of a line, and its place

SPACE = "\u2423"  # stands for a space when characters are words
_SYLLABLE = re.compile("[\u1100-\u1112\u1161-\u1175\u11a8-\u11c2\uac00-\ud7a3]")  # of the modern letters
_COMMAND = re.compile(r"IN: (.+) OUT: (.+)")


def g2p(line: str, where: str) -> tuple[str, ...]:
    """`word TAB phones` (SIGMORPHON 2021, task 1). Hangul syllables are split into letters."""
    word, phones = columns(line, where, "word", "phones")
    return _SYLLABLE.sub(lambda match: letters(match[0]), word), phones


def letters(syllable: str) -> str:
    """Return the letters of a Hangul syllable, as characters that NFC does not compose again."""
    names = (unicodedata.name(jamo) for jamo in unicodedata.normalize("NFD", syllable))
    return "".join(unicodedata.lookup(re.sub("CHOSEONG|JUNGSEONG|JONGSEONG", "LETTER", name)) for name in names)


def inflection(line: str, where: str) -> tuple[str, ...]:
    """`lemma TAB key=value,... TAB form` (SIGMORPHON 2016, task 1). Features and the lemma's characters are words of
    one source (Kann and Schuetze 2016).
    """
    lemma, features, form = inflection_apart(line, where)
    return f"{features} {lemma}", form


def inflection_apart(line: str, where: str) -> tuple[str, ...]:
    """Like `inflection`, with the lemma and the features as two sources."""
    lemma, features, form = columns(line, where, "lemma", "features", "form")
    return " ".join(lemma.replace(" ", SPACE)), features.replace(",", " "), form


def histnorm(line: str, where: str) -> tuple[str, ...] | None:
    """`old spelling TAB modern spelling`, prepared as in Bollmann (2019): in lower case, without words that are only
    punctuation on either side, and with zeros for digits that both sides share.
    """
    sides = [text.strip(" ") for text in line.split("\t")]
    if len(sides) == 1 or "" in sides or any(map(_is_punctuation, sides)):  # a boundary, or without a counterpart
        return None
    old, new = (text.lower() for text in columns(line, where, "old", "modern"))
    return tuple(re.sub("[0-9]", "0", text) for text in (old, new)) if old == new else (old, new)


def _is_punctuation(text: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in text)


def scan(line: str, where: str) -> tuple[str, ...]:
    """`IN: command OUT: ACTIONS` (Lake and Baroni 2018)."""
    match = _COMMAND.fullmatch(line.rstrip())
    if not match:
        raise UserError(f"{where}: expected 'IN: command OUT: ACTIONS'")
    return match.groups()


def columns(line: str, where: str, *names: str) -> list[str]:
    """Return the columns of a line, in NFC. Raises UserError if their number is wrong, or if one of them is empty."""
    fields = [unicodedata.normalize("NFC", text.strip(" ")) for text in line.split("\t")]
    if len(fields) != len(names):
        raise UserError(
            f"{where}: expected {len(names)} columns separated by tabs ({', '.join(names)}), found {len(fields)}"
        )
    for name, text in zip(names, fields, strict=True):
        if not text:
            raise UserError(f"{where}: no {name}")
    return fields


FORMATS: Mapping[str, Format] = {
    "g2p": g2p,
    "inflection": inflection,
    "inflection-apart": inflection_apart,
    "histnorm": histnorm,
    "scan": scan,
}


def converted(path: str | Path, task: str) -> Iterator[str]:
    """Yield the examples of a file, in columns. Raises UserError with file and line for a line that is no example."""
    for number, line in enumerate(read_lines(path), start=1):
        fields = FORMATS[task](line, f"{path}:{number}") if line.strip() else None
        if fields:
            yield "\t".join(fields)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("task", choices=FORMATS)
    parser.add_argument("file", metavar="IN", help="examples of the task, compressed (.gz) or not; - is standard input")
    parser.add_argument("table", metavar="OUT.tsv", help="pairs to write")
    options = parser.parse_args(arguments)
    try:
        write(options.table, converted(options.file, options.task))
    except UserError as error:
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
