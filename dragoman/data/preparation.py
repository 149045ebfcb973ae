"""Makes a store of ids from the user's files, with the units and vocabularies that it is written in."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman.config import DataConfig, LanguageConfig, TextConfig
from dragoman.data.corpus import Pair, alignment_files, corpus_files, read_aligned, read_pairs, sides
from dragoman.data.filters import Filters
from dragoman.data.language import Language
from dragoman.data.pharaoh import Gold
from dragoman.data.store import Rows, new_store, read_header
from dragoman.data.vocabulary import Vocabulary
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from dragoman.text.unit import UnfitUnitError, flat

STORE = "data"
BLOCK = 10_000  # pairs that are in memory at a time
SMALL = np.iinfo(np.uint16).max + 1  # ids that fit into two bytes


def prepare(data: DataConfig, text: TextConfig, seed: int, folder: Path, *, keep_units: bool = False) -> None:
    """Writes units, vocabularies and the store to `folder`, unless the same are there already.

    `keep_units`: a model knows the units in the folder by their numbers, so only the store may be written anew.
    """
    fingerprint = _fingerprint(data, text, seed)
    if _fingerprint_of(folder / STORE) == fingerprint:
        return
    if keep_units:
        source, target = Language.load(folder, "source", data.source), Language.load(folder, "target", data.target)
        _write(data, source, target, fingerprint, folder / STORE)
        return
    source, target = _learn(data, text, seed)
    # Without a store, units and vocabularies of a killed preparation cannot pass for those of an older one.
    shutil.rmtree(folder / STORE, ignore_errors=True)
    source.save(folder, "source")
    target.save(folder, "target")
    _write(data, source, target, fingerprint, folder / STORE)


def _fingerprint(data: DataConfig, text: TextConfig, seed: int) -> str:
    """One number for everything that the store depends on."""
    files = []
    for path in _files(data):
        found = path.stat()
        files.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
    options = [repr(data.model_copy(update={"dev": None})), repr(text), seed, files]
    return hashlib.sha256(json.dumps(options).encode()).hexdigest()


def _files(data: DataConfig) -> list[Path]:
    """What the store is made from."""
    names = data.train, data.source, data.target
    return [*corpus_files(*names), *(alignment_files(*names) if data.alignments else ())]


def _fingerprint_of(store: Path) -> str | None:
    try:
        notes = read_header(store)["notes"]
        return str(notes["fingerprint"])
    except (UserError, LookupError, TypeError):
        return None


@dataclass(frozen=True)
class Lines:
    """The normalised training sentences that one inventory is learnt from; can be read again and again."""

    data: DataConfig
    source: TextPipeline | None
    target: TextPipeline | None

    def __len__(self) -> int:
        pairs = sum(1 for _ in read_pairs(self.data.train, self.data.source, self.data.target))
        return pairs * sum(side is not None for side in (self.source, self.target))

    def __iter__(self) -> Iterator[str]:
        for pair in read_pairs(self.data.train, self.data.source, self.data.target):
            if self.source:
                yield self.source.normalise(pair.source)
            if self.target:
                yield self.target.normalise(pair.target)


def _learn(data: DataConfig, text: TextConfig, seed: int) -> tuple[Language, Language]:
    if not any(x.strip() or y.strip() for x, y in read_pairs(data.train, data.source, data.target)):
        raise UserError(f"{', '.join(data.train)}: the corpus is empty (no line has text)")
    source, target = _pipeline(text.source), _pipeline(text.target)
    if text.joint:
        _fit(source, Lines(data, source, target), "text.source", seed)
        target.unit.restore(source.unit.learnt())
    else:
        _fit(source, Lines(data, source, None), "text.source", seed)
        _fit(target, Lines(data, None, target), "text.target", seed)
    return (
        Language(data.source, source, Vocabulary(source.unit.inventory)),
        Language(data.target, target, Vocabulary(target.unit.inventory)),
    )


def _fit(text: TextPipeline, lines: Lines, key: str, seed: int) -> None:
    try:
        text.unit.fit(lines, seed)
    except UnfitUnitError as error:
        raise UserError(f"{key}.unit: {error}") from error


def _pipeline(text: LanguageConfig) -> TextPipeline:
    return TextPipeline(lowercase=text.lowercase, tokeniser=text.tokeniser, unit=text.unit)


def _write(data: DataConfig, source: Language, target: Language, fingerprint: str, folder: Path) -> None:
    languages = {"source": source, "target": target}
    columns: dict[str, npt.DTypeLike] = {side: _dtype(language) for side, language in languages.items()}
    # Dropout cuts a sentence anew in every epoch, for which its text is kept.
    sampled = [side for side, language in languages.items() if language.text.unit.samples]
    columns |= {f"{side}.text": np.uint8 for side in sampled}
    if data.alignments:
        columns["links"] = np.uint32
    filters = Filters(max_length=data.max_length, max_ratio=data.max_ratio)
    with new_store(folder, columns) as store:
        gold: list[Gold] = []
        for block in sides(_pairs(data, gold), BLOCK):
            texts = {
                side: list(map(languages[side].text.normalise, side_texts))
                for side, side_texts in zip(languages, block, strict=True)
            }
            rows = {side: language.rows(texts[side]) for side, language in languages.items()}
            written = {side: np.array([bool(text.strip()) for text in texts[side]]) for side in languages}
            kept = filters.keep(*(np.where(written[side], rows[side].lengths - 1, 0) for side in languages))
            rows |= {f"{side}.text": _bytes(texts[side]) for side in sampled}
            if data.alignments:
                rows["links"] = _links(gold, *(_words(languages[side], texts[side]) for side in languages))
                gold.clear()
            store.append({name: each.chosen(kept) for name, each in rows.items()})
        store.notes = {"fingerprint": fingerprint, "report": filters.report._asdict()}
        if not filters.report.kept:
            raise UserError(f"{', '.join(data.train)}: no pair to train on: {filters.report}")


def _pairs(data: DataConfig, gold: list[Gold]) -> Iterator[Pair]:
    """The training pairs; the links of each, where they are wanted, go to the end of `gold`."""
    names = data.train, data.source, data.target
    if not data.alignments:
        yield from read_pairs(*names)
        return
    for pair, links in read_aligned(*names):
        gold.append(links)
        yield pair


def _words(language: Language, texts: list[str]) -> list[int]:
    """How many words each normalised text has, as `TextPipeline.words` counts them."""
    return [len(language.text.tokenise(text)) or bool(text) for text in texts]


def _links(gold: list[Gold], sources: list[int], targets: list[int]) -> Rows:
    """Source word and target word of every link, sure or possible. UserError where one is beyond its pair's words."""
    for each, source, target in zip(gold, sources, targets, strict=True):
        each.check(source, target)
    values, lengths = flat([[word for link in sorted(each.possible) for word in link] for each in gold])
    return Rows(values, lengths)


def _bytes(texts: list[str]) -> Rows:
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return Rows(np.frombuffer(b"".join(encoded), np.uint8), lengths)


def _dtype(language: Language) -> npt.DTypeLike:
    return np.uint16 if len(language.vocabulary) <= SMALL else np.uint32
