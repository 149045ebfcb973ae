"""Sampling of the phrasebook: distinct sentence triples of a split, and the files of a corpus."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from phrasebook.constructions import CONSTRUCTIONS
from phrasebook.draw import Draw, NoChoice
from phrasebook.grammar import Phrase, links
from phrasebook.names import split_of
from phrasebook.realize import Sentence, Triple, sentence, triple

SPLITS = ("train", "dev", "test", "compositional")
LANGUAGES = {"en": "english", "fr": "french", "de": "german"}
TRIES = 20  # attempts to draw a construction that finds no sensible words
PATIENCE = 2000  # draws in a row without a new sentence before sampling gives up
# Sentences that differ only in these words may be the same in French or in German ("her", "them": "sie").
FOLDED = re.compile(r"\b(?:he|she|it|him|her|them|his|their)\b")


def split_of_sentence(english: str) -> str:
    """Return dev, test or train, by the English sentence without distinctions that another language does not make."""
    return split_of(FOLDED.sub("_", english.lower()))


def sample(count: int, seed: int, split: str) -> Iterator[Triple]:
    """Yield `count` distinct triples of the split, always the same for the same seed.

    Pairs of adjective and noun, and of verb and object, are either in "compositional" or in the other splits; sentences
    and invented names are in only one of train, dev and test. Raises UserError if the split is unknown, or has fewer
    than `count` different sentences.
    """
    for lines, english, name in _meanings(count, seed, split):
        yield triple(lines, english, name)


def _meanings(count: int, seed: int, split: str) -> Iterator[tuple[Phrase, Sentence, str]]:
    """Yield the parts of triples: words of the three languages, the English sentence, and its construction."""
    if split not in SPLITS:
        raise UserError(f"phrasebook: no split {split!r}, expected one of {', '.join(SPLITS)}")
    generator = random.Random(zlib.crc32(f"{seed}:{split}".encode()))
    kinds = list(CONSTRUCTIONS)
    seen: set[bytes] = set()
    failures = 0
    while len(seen) < count:
        name = generator.choice(kinds)
        failures += 1
        if failures > PATIENCE:
            raise UserError(f"phrasebook: {split} has no {count} different sentences")
        lines = _drawn(name, generator, split)
        if lines is None:
            continue
        english = sentence(lines.english, "english")
        text = english.text
        mark = blake2b(text.encode(), digest_size=8).digest()
        if mark in seen or (split != "compositional" and split_of_sentence(text) != split):
            continue
        seen.add(mark)
        failures = 0
        yield lines, english, name


def _drawn(name: str, generator: random.Random, split: str) -> Phrase | None:
    """Draw a sentence of the construction, or None if it finds none for the split."""
    for _ in range(TRIES):
        draw = Draw(generator, split)
        try:
            lines = CONSTRUCTIONS[name](draw)
        except NoChoice:
            continue
        if draw.refused:
            return None
        if not draw.held or draw.pairs:
            return lines
    return None


def write(folder: Path, source: str, target: str, sizes: Mapping[str, int], seed: int) -> None:
    """Write SPLIT.SOURCE, SPLIT.TARGET and SPLIT.SOURCE-TARGET.align (Pharaoh) for every split in `sizes`.

    Languages are "en", "fr" and "de". Raises UserError for another language, or if both are the same.
    """
    for language in (source, target):
        if language not in LANGUAGES:
            raise UserError(f"phrasebook: no language {language!r}, expected one of {', '.join(LANGUAGES)}")
    if source == target:
        raise UserError(f"phrasebook: source and target are both {source!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in sizes.items():
        with (
            write_atomically(folder / f"{split}.{source}") as source_file,
            write_atomically(folder / f"{split}.{target}") as target_file,
            write_atomically(folder / f"{split}.{source}-{target}.align") as gold_file,
        ):
            for lines, english, _ in _meanings(size, seed, split):  # a triple would cost the time of a third language
                words = {language: getattr(lines, LANGUAGES[language]) for language in (source, target)}
                for language, file in ((source, source_file), (target, target_file)):
                    line = english if language == "en" else sentence(words[language], LANGUAGES[language])
                    file.write(line.text + "\n")
                gold_links = sorted(links(words[source], words[target]))
                gold_file.write(" ".join(f"{i}-{j}" for i, j in gold_links) + "\n")
