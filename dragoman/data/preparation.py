"""Prepare a corpus: learn tokenizers and vocabularies from the user's files and write a store, as far as needed."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import alignment_files, corpus_files, feature_files
from dragoman.corpus.features import FeatureSource
from dragoman.corpus.filters import FilterReport, Filters
from dragoman.data.language import Language, Source
from dragoman.data.learning import have_same_symbols, learn_inventories, names, open_sources, take_inventories, texts_in
from dragoman.data.marks import find_foreign_symbols, marks, target_marks, write_spoken
from dragoman.data.preprocessor import Preprocessor
from dragoman.data.recall import load_matcher, write_memory
from dragoman.data.store import Rows, discard_store, new_store, read_header
from dragoman.data.surfaces import BETWEEN
from dragoman.errors import UserError
from dragoman.text.pipeline import Side
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS
from dragoman.text.words import GLUE

STORE = "data"


def prepare(
    data: DataConfig,
    text: TextConfig,
    seed: int,
    folder: Path,
    *,
    keep_tokenizers: bool = False,
    surfaces: bool = False,
) -> None:
    """Write tokenizers, vocabularies and the store to `folder`, unless the same are there already.

    `keep_tokenizers`: a model depends on the ids of the tokenizers in the folder, so only the store may be rewritten.
    `surfaces`: the model asks for the spellings of out-of-vocabulary words.
    """
    fingerprint = _fingerprint(data, text, seed, surfaces)
    if _fingerprint_of(folder / STORE) == fingerprint and (keep_tokenizers or _is_readable(data, text, folder)):
        return
    # A model has been trained with these units: the corpus is segmented by them, whatever has changed in it.
    if keep_tokenizers:
        _write(data, text, load(data, folder), fingerprint, folder / STORE, surfaces=surfaces)
        return
    # Without a store, tokenizers and vocabularies of a killed preparation cannot be mistaken for those of an older one.
    discard_store(folder / STORE)
    sources = learn_inventories(data, text, seed)
    for source in sources.values() if not surfaces else ():
        if isinstance(source, Language) and not {*source.text.tokenizer.inventory} - {*MARKS, GLUE}:
            raise UserError(f"text: no symbol of {source.name} is frequent enough to have a place in the vocabulary")
    _write(data, text, sources, fingerprint, folder / STORE, learned=True, surfaces=surfaces)


def is_current(data: DataConfig, text: TextConfig, seed: int, folder: Path, *, surfaces: bool = False) -> bool:
    """Return whether the store in `folder` was made from the files as they are now. UserError if one of them is
    missing.
    """
    return _fingerprint_of(folder / STORE) == _fingerprint(data, text, seed, surfaces)


def load(data: DataConfig, folder: Path) -> dict[Side, Source]:
    """Return the sources of a run by side, target last. UserError if a file is missing or damaged."""
    return {
        side: FeatureSource.load(folder, side, name)
        if name in data.features
        else Language.load(folder, side, name, marks(data))
        for side, name in names(data).items()
    }


def _is_readable(data: DataConfig, text: TextConfig, folder: Path) -> bool:
    """Return whether tokenizers and vocabularies exist and are those of `text.vocabulary_from`, which may have changed;
    a process killed while removing them may have left some out.
    """
    try:
        sources = load(data, folder)
        find_foreign_symbols(data, folder)
    except UserError:
        return False
    wanted = take_inventories(data, text, text.vocabulary_from) if text.vocabulary_from else {}
    return all(have_same_symbols(sources[side], source) for side, source in wanted.items())


def _fingerprint(data: DataConfig, text: TextConfig, seed: int, surfaces: bool) -> str:
    """Return a hash of everything that the store depends on."""
    files = []
    for path in _files(data):
        status = path.stat()
        # Not a digest: to read a large corpus would take longer than all else before the first step.
        files.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    pairs = [pair._replace(dev="") for pair in data.trained]
    drawn = {"temperature": 1, "weights": (), "filter_target_vocabulary": True}
    # Without what only decides how the store is drawn from, and development data: it need not be made again.
    used = data.model_copy(update={"dev": "", "pairs": pairs, **drawn})
    options = [repr(used), repr(text), seed, files, *(["surfaces"] if surfaces else [])]
    return hashlib.sha256(json.dumps(options).encode()).hexdigest()


def _files(data: DataConfig) -> list[Path]:
    """Return the files that the store is made from."""
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
    learned: bool = False,
    surfaces: bool = False,
) -> None:
    """Write the store, and beside it the sources if they were `learned` for it."""
    languages = {side: source for side, source in sources.items() if isinstance(source, Language)}
    arrays = open_sources(data, data.train)
    for side, files in arrays.items():
        source = sources[side]
        assert isinstance(source, FeatureSource)
        source.check(files.size, files.files[0].path)
    memory = None
    if data.recalled:
        # First into the run folder, and then read from there, so that training and translation look up the same pairs.
        write_memory(data, folder.parent)
        memory = load_matcher(data, sources.values(), folder.parent)
    preprocessor = Preprocessor(data, languages, arrays, memory, Protection.of(text.protect), surfaces=surfaces)
    parts: list[int] = []
    reports = []
    vocabulary = languages["target"].vocabulary
    content = hashlib.sha256()
    spoken = {name: np.zeros(len(vocabulary), np.bool_) for name in target_marks(data)}
    tally = _Tally(languages)
    with new_store(folder, preprocessor.columns) as store:
        for pair in data.trained:
            filters = Filters(max_length=data.max_length, max_ratio=data.max_ratio)
            kept = [0] * len(pair.train)
            for corpus, block in preprocessor.blocks(pair, filters):
                store.append(block)
                for rows in block.values():
                    # Lengths as well: the same values could be other sentences.
                    content.update(np.ascontiguousarray(rows.values).tobytes() + rows.lengths.tobytes())
                kept[corpus] += len(block["target"].lengths)
                tally.add(block)
                if spoken:
                    spoken[pair.target][block["target"].values] = True
            if not filters.report.kept:
                named = f" ({pair.name})" if data.pairs else ""
                raise UserError(f"{', '.join(pair.train)}{named}: no pairs to train on: {filters.report}")
            reports.append(filters.report)
            parts += [sum(kept)] if data.pairs else kept
        if spoken:
            write_spoken(spoken, vocabulary.first, folder.parent)
        for side, source in sources.items() if learned else ():
            counted = tally.counted(side, source) if isinstance(source, Language) else source
            counted.save(folder.parent, side)
        report = FilterReport(*map(sum, zip(*reports, strict=True)))
        store.notes = {
            "fingerprint": fingerprint,
            "report": report._asdict(),
            "parts": parts,
            "content": content.hexdigest(),
        }


class _Tally:
    """How often the store has each symbol of a language, and the characters of the words outside its vocabulary, if it
    has surfaces.
    """

    def __init__(self, languages: dict[Side, Language]) -> None:
        self._languages = languages
        self._counts = {side: np.zeros(len(language.vocabulary), np.int64) for side, language in languages.items()}
        self._characters: dict[Side, set[str]] = {}

    def add(self, block: dict[str, Rows]) -> None:
        """Count rows of the store, given by column."""
        for side, counts in self._counts.items():
            # Counted while the store is written, not by another pass over it.
            counts += np.bincount(block[side].values, minlength=len(counts))
            if words := block.get(f"{side}.surfaces"):
                self._characters.setdefault(side, set()).update(words.values.tobytes().decode())

    def counted(self, side: Side, language: Language) -> Language:
        """Return the language with these counts and characters. Languages with one vocabulary have all their
        characters.
        """
        alphabet: set[str] = set()
        if self._characters:
            same_words = [name for name, other in self._languages.items() if other.vocabulary == language.vocabulary]
            alphabet = set().union(*map(self._characters.__getitem__, same_words), *language.text.tokenizer.inventory)
        characters = tuple(sorted(alphabet - {BETWEEN}))
        return replace(language, counts=tuple(self._counts[side].tolist()), characters=characters)
