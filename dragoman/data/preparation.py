"""Prepare a corpus: learn units and vocabularies from the user's files, and write a store of ids."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman.configuration.config import DataConfig, LanguagePair, TextConfig
from dragoman.corpus.examples import alignment_files, corpus_files, feature_files, read_aligned, sides
from dragoman.corpus.features import FeatureFiles, FeatureSource
from dragoman.corpus.filters import Filters, Numbers, Report
from dragoman.corpus.pharaoh import Gold
from dragoman.data.language import Language
from dragoman.data.learning import learn, names, open_sources, same, taken, texts_in, texts_of
from dragoman.data.marks import foreign, marks, target_marks, write_spoken
from dragoman.data.recall import Recall, keep, recall
from dragoman.data.source import Source
from dragoman.data.store import Rows, discard, new_store, read_header
from dragoman.data.surfaces import BETWEEN, joined
from dragoman.data.vocabulary import EOS, UNK
from dragoman.errors import UserError
from dragoman.files import LONGEST_TEXT
from dragoman.text.edits import operations
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import Side
from dragoman.text.protection import Protection
from dragoman.text.unit import flat

STORE = "data"
BLOCK = 10_000  # pairs in memory at a time
SMALL = np.iinfo(np.uint16).max + 1  # the number of ids that fit into two bytes


def prepare(
    data: DataConfig, text: TextConfig, seed: int, folder: Path, *, keep_units: bool = False, surfaces: bool = False
) -> None:
    """Write units, vocabularies and the store to `folder`, unless the same are there already.

    `keep_units`: a model depends on the ids of the units in the folder, so only the store may be rewritten.
    `surfaces`: the model asks for the spellings of out-of-vocabulary words.
    """
    fingerprint = _fingerprint(data, text, seed, surfaces)
    if _fingerprint_of(folder / STORE) == fingerprint and (keep_units or _readable(data, text, folder)):
        return
    if keep_units:
        _write(data, text, load(data, folder), fingerprint, folder / STORE, surfaces=surfaces)
        return
    # Without a store, units and vocabularies of a killed preparation cannot be mistaken for those of an older one.
    discard(folder / STORE)
    _write(data, text, learn(data, text, seed), fingerprint, folder / STORE, learnt=True, surfaces=surfaces)


def load(data: DataConfig, folder: Path) -> dict[Side, Source]:
    """The sources of a run by side, target last. UserError if a file is missing or damaged."""
    return {
        side: FeatureSource.load(folder, side, name)
        if name in data.features
        else Language.load(folder, side, name, marks(data))
        for side, name in names(data).items()
    }


def _readable(data: DataConfig, text: TextConfig, folder: Path) -> bool:
    """Whether units and vocabularies exist, and are those of `text.symbols_of`, which may have changed; a process
    killed while removing them may have left some out.
    """
    try:
        found = load(data, folder)
        foreign(data, folder)
    except UserError:
        return False
    wanted = taken(data, text, text.symbols_of) if text.symbols_of else {}
    return all(same(found[side], source) for side, source in wanted.items())


def _fingerprint(data: DataConfig, text: TextConfig, seed: int, surfaces: bool) -> str:
    """A hash of everything that the store depends on."""
    files = []
    for path in _files(data):
        found = path.stat()
        files.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
    pairs = [pair._replace(dev="") for pair in data.trained]
    drawn = {"temperature": 1, "weights": (), "own_symbols": True}
    used = data.model_copy(update={"dev": "", "pairs": pairs, **drawn})
    options = [repr(used), repr(text), seed, files, *(["surfaces"] if surfaces else [])]
    return hashlib.sha256(json.dumps(options).encode()).hexdigest()


def _files(data: DataConfig) -> list[Path]:
    """The files that the store is made from."""
    files = [path for pair in data.trained for path in corpus_files(pair.train, *texts_in(data, pair))]
    files += [path for name in data.features for path in feature_files(data.train, name)]
    return files + (alignment_files(data.train, data.source[0], data.target) if data.alignments else [])


def _fingerprint_of(store: Path) -> str | None:
    try:
        notes = read_header(store)["notes"]
        return str(notes["fingerprint"])
    except (UserError, LookupError, TypeError):
        return None


def _write(
    data: DataConfig,
    text: TextConfig,
    sources: dict[Side, Source],
    fingerprint: str,
    folder: Path,
    *,
    learnt: bool = False,
    surfaces: bool = False,
) -> None:
    """Write the store, and beside it the sources if they were `learnt` for it."""
    languages = {side: source for side, source in sources.items() if isinstance(source, Language)}
    arrays = open_sources(data, data.train)
    for side, files in arrays.items():
        source = sources[side]
        assert isinstance(source, FeatureSource)
        source.check(files.size, files.files[0].path)
    # For an array, the store has the number of its line; the array stays in its file.
    columns: dict[str, npt.DTypeLike] = dict.fromkeys(arrays, np.uint32)
    columns |= {side: _dtype(language) for side, language in languages.items()}
    # Subword dropout segments a sentence anew in every epoch, so its text is kept.
    sampled = [side for side, language in languages.items() if language.text.unit.samples]
    columns |= {f"{side}.text": np.uint8 for side in sampled}
    if surfaces:
        columns |= {f"{side}.surfaces": np.uint8 for side in languages}
    if data.alignments:
        columns["links"] = np.uint32
    memory = None
    if data.recalled:
        keep(data, folder.parent)
        memory = recall(data, sources.values(), folder.parent)
    protection = Protection.of(text.protect)
    reports, parts = [], list[int]()
    vocabulary = languages["target"].vocabulary
    spoken = {name: np.zeros(len(vocabulary), np.bool_) for name in target_marks(data)}
    tally = _Tally(languages)
    with new_store(folder, columns) as store:
        for pair in data.trained:
            filters = Filters(max_length=data.max_length, max_ratio=data.max_ratio)
            kept = [0] * len(pair.train)
            reading = data, pair, languages, arrays, filters, surfaces
            for corpus, block in _blocks(*reading, memory, protection):
                store.append(block)
                kept[corpus] += len(block["target"].lengths)
                tally.add(block)
                if spoken:
                    spoken[pair.target][block["target"].values] = True
            if not filters.report.kept:
                named = f" ({pair.name})" if data.pairs else ""
                raise UserError(f"{', '.join(pair.train)}{named}: no pair to train on: {filters.report}")
            reports.append(filters.report)
            parts += [sum(kept)] if data.pairs else kept
        if spoken:
            write_spoken(spoken, vocabulary.first, folder.parent)
        for side, source in sources.items() if learnt else ():
            known = tally.counted(side, source) if isinstance(source, Language) else source
            known.save(folder.parent, side)
        report = Report(*map(sum, zip(*reports, strict=True)))
        store.notes = {"fingerprint": fingerprint, "report": report._asdict(), "parts": parts}


class _Tally:
    """How often the store has each symbol of a language, and the characters of the words outside its vocabulary, if it
    has surfaces.
    """

    def __init__(self, languages: dict[Side, Language]) -> None:
        self._languages = languages
        self._counts = {side: np.zeros(len(language.vocabulary), np.int64) for side, language in languages.items()}
        self._characters = dict[Side, set[str]]()

    def add(self, block: dict[str, Rows]) -> None:
        """Count rows of the store, given by column."""
        for side, counts in self._counts.items():
            counts += np.bincount(block[side].values, minlength=len(counts))
            if words := block.get(f"{side}.surfaces"):
                self._characters.setdefault(side, set()).update(words.values.tobytes().decode())

    def counted(self, side: Side, language: Language) -> Language:
        """The language with these counts and characters. Languages with one vocabulary have all their characters."""
        found = set[str]()
        if self._characters:
            same_words = [name for name, each in self._languages.items() if each.vocabulary == language.vocabulary]
            found = set().union(*map(self._characters.__getitem__, same_words), *language.text.unit.inventory)
        characters = tuple(sorted(found - {BETWEEN}))
        return replace(language, counts=tuple(self._counts[side].tolist()), characters=characters)


def _blocks(
    data: DataConfig,
    pair: LanguagePair,
    languages: dict[Side, Language],
    arrays: dict[Side, FeatureFiles],
    filters: Filters,
    surfaces: bool,
    memory: Recall | None,
    protection: Protection | None,
) -> Iterator[tuple[int, dict[str, Rows]]]:
    """The columns of the store for the examples of a pair that pass the filters, in blocks, each with the number of its
    corpus among those of the pair.
    """
    sampled = [side for side, language in languages.items() if language.text.unit.samples]
    gold: list[Gold] = []
    remembered = [side for side, name in names(data).items() if name in data.recalled]
    mark = languages["source"].vocabulary.ids([target_marks(data)[pair.target]]) if data.pairs else []
    for corpus, block in _read(data, pair, gold):
        every = _recalled(data, block, memory) if memory else block
        given = dict(zip(languages, _masked(every, protection) if protection else every, strict=True))
        texts = {side: list(map(languages[side].text.normalise, given[side])) for side in languages}
        # Text that is too long for any model is not segmented; it is filtered as too long for this one.
        cut = {side: ["" if len(text) > LONGEST_TEXT else text for text in texts[side]] for side in languages}
        rows = {side: language.rows(cut[side]) for side, language in languages.items()}
        for side in remembered:  # one that is too long is missing; its pair is not to blame
            long = rows[side].lengths - 1 > data.max_length
            texts[side] = cut[side] = ["" if far else text for text, far in zip(cut[side], long, strict=True)]
            rows[side] = languages[side].rows(cut[side])
        unknown = {side: _unknown(languages[side], cut[side], rows[side]) for side in languages} if surfaces else {}
        if data.edited is not None:
            target, before = languages["target"].vocabulary, texts[data.sides[data.edited]]
            said = _edits(languages["target"], before, texts["target"], data.max_length)
            rows["target"] = Rows(*flat([[*target.ids(each), EOS] for each in said]))
            unknown |= {"target": map(target.unknown, said)} if surfaces else {}
        written = {side: np.array([bool(text.strip()) for text in texts[side]]) for side in languages}
        lengths = {side: np.where(written[side], rows[side].lengths - 1, 0) for side in languages}
        for side in languages:
            lengths[side][[len(text) > LONGEST_TEXT for text in given[side]]] = data.max_length + 1
        count = len(lengths["target"])
        numbers = np.arange(filters.report.pairs, filters.report.pairs + count)
        for side, files in arrays.items():
            there = np.array([len(files[int(number)]) > 0 for number in numbers])
            lengths[side] = there * lengths["target"]  # regions are not symbols: they count as long as their target
            rows[side] = Rows(numbers, np.ones(count, np.int64))
        read = [lengths[side] for side in data.sides if side not in remembered]
        kept = filters.keep(*_with_neighbours(read), lengths["target"])
        rows |= {f"{side}.text": _bytes(texts[side]) for side in sampled}
        rows |= {f"{side}.surfaces": _bytes(list(map(joined, words))) for side, words in unknown.items()}
        if mark:
            rows["source"] = rows["source"].behind(mark)
        if data.alignments:
            rows["links"] = _links(gold, *(_words(languages[side], texts[side]) for side in languages))
            gold.clear()
        yield corpus, {name: each.chosen(kept) for name, each in rows.items()}


def _read(data: DataConfig, pair: LanguagePair, gold: list[Gold]) -> Iterator[tuple[int, tuple[list[str], ...]]]:
    """Blocks of the training texts of a pair, each from one corpus, whose number comes with it."""
    for number, place in enumerate(pair.train):
        for block in sides(_examples(data, pair._replace(train=(place,)), gold), BLOCK):
            yield number, block


def _recalled(data: DataConfig, block: tuple[list[str], ...], memory: Recall) -> tuple[list[str], ...]:
    """The sides of a block with those that the memory fills before the target. A pair is no answer to itself."""
    asked = block[texts_in(data, data.trained[0]).index(memory.asked)]
    found = (memory.texts(source, target) for source, target in zip(asked, block[-1], strict=True))
    return (*block[:-1], *map(list, zip(*found, strict=True)), block[-1])


def _masked(block: tuple[list[str], ...], protection: Protection) -> tuple[list[str], ...]:
    """The sides of a block, the target last, with marks for the spans that come through."""
    found = [protection.masked_pair(sources, target).texts for *sources, target in zip(*block, strict=True)]
    return tuple(map(list, zip(*found, strict=True)))


def _unknown(language: Language, texts: list[str], rows: Rows) -> Iterator[list[Symbol]]:
    """The out-of-vocabulary symbols of each normalised text, whose ids are `rows`."""
    for text, here in zip(texts, rows.holding(UNK), strict=True):
        yield language.vocabulary.unknown(language.text.unit.encode(text)) if here else []


def _edits(target: Language, before: list[str], after: list[str], longest: int) -> list[Sequence[Symbol]]:
    """The operations that turn each text `before` into `after`. If a side is too long, so are they; the longer side
    then stands in for them until the filters remove the pair.
    """
    found = list[Sequence[Symbol]]()
    for texts in zip(before, after, strict=True):
        old, new = map(target.text.encode, texts)
        longer = max(old, new, key=len)
        found.append(operations(old, new) if len(longer) <= longest else longer)
    return found


def _with_neighbours(sources: list[Numbers]) -> list[Numbers]:
    """Lengths of several sources; a missing source counts as long as the sentence's longest."""
    longest = np.maximum.reduce(sources)
    return [np.where(lengths > 0, lengths, longest) for lengths in sources]


def _examples(data: DataConfig, pair: LanguagePair, gold: list[Gold]) -> Iterator[tuple[str, ...]]:
    """The training texts of a pair; its links, if wanted, are appended to `gold`."""
    if not data.alignments:
        yield from texts_of(data, pair)
        return
    for texts, links in read_aligned(pair.train, pair.sources[0], pair.target):
        gold.append(links)
        yield texts


def _words(language: Language, texts: list[str]) -> list[int]:
    """The number of words of each normalised text, as `TextPipeline.words` counts them."""
    return [len(language.text.tokenise(text)) or bool(text) for text in texts]


def _links(gold: list[Gold], sources: list[int], targets: list[int]) -> Rows:
    """Source word and target word of every link, sure or possible. UserError if one is beyond its pair's words."""
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
