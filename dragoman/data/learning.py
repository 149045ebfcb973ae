"""Learn tokenizers and vocabularies from the training texts, jointly or one per language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.configuration.config import LanguageConfig, TextConfig
from dragoman.configuration.data import DataConfig, LanguagePair
from dragoman.corpus.examples import open_features, read_texts
from dragoman.corpus.features import FeatureFiles, FeatureSource
from dragoman.data.language import Language, Source
from dragoman.data.marks import marks
from dragoman.data.vocabulary import Vocabulary
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.pipeline import Side, TextPipeline
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS, InsufficientCorpusError


def open_sources(data: DataConfig, where: str | Sequence[str]) -> dict[Side, FeatureFiles]:
    """Return the arrays of a corpus for each numeric source. UserError if they are not sound."""
    return {side: open_features(where, name) for side, name in names(data).items() if name in data.features}


def names(data: DataConfig) -> dict[Side, str]:
    """Return the name of each side."""
    return dict(zip((*data.sides, "target"), data.names, strict=True))


@dataclass(frozen=True)
class InventoryTexts:
    """The normalized training sentences from which one inventory is learned, without sentences too long for any model,
    and with marks in the place of protected spans. They can be iterated repeatedly.
    """

    data: DataConfig
    pipelines: tuple[TextPipeline | None, ...]  # one per language; None leaves it out
    protection: Protection | None = None

    def __len__(self) -> int:
        return sum(
            pipeline is not None and fresh
            for _, new in _texts(self.data)
            for pipeline, fresh in zip(self.pipelines, new, strict=True)
        )

    def __iter__(self) -> Iterator[str]:
        for raw, new in _texts(self.data):
            texts = self.protection.masked_pair(raw[:-1], raw[-1]).texts if self.protection else raw
            for pipeline, text, fresh in zip(self.pipelines, texts, new, strict=True):
                # A corpus of several pairs that share a file would count its texts twice.
                if pipeline and fresh and len(text) <= LONGEST_TEXT:
                    yield pipeline.normalize(text)


def _texts(data: DataConfig) -> Iterator[tuple[tuple[str, ...], tuple[bool, ...]]]:
    """Yield the training texts, and which of them are new: files that several language pairs share count once."""
    seen: set[tuple[str, str]] = set()
    for pair in data.trained:
        names = texts_in(data, pair)
        for place in pair.train:
            again = [data.pairs and name in names[:number] for number, name in enumerate(names)]  # of a copy
            new = tuple((place, name) not in seen and not twice for name, twice in zip(names, again, strict=True))
            if any(new):
                yield from ((texts, new) for texts in texts_of(data, pair._replace(train=(place,))))
        seen.update((place, name) for place in pair.train for name in names)


def texts_of(data: DataConfig, pair: LanguagePair) -> Iterator[tuple[str, ...]]:
    return read_texts(pair.train, texts_in(data, pair), list(open_sources(data, pair.train).values()))


def texts_in(data: DataConfig, pair: LanguagePair) -> tuple[str, ...]:
    """Return the sources of a pair that are texts, and its target."""
    return (*(name for name in pair.sources if name not in data.features), pair.target)


def learn_inventories(data: DataConfig, text: TextConfig, seed: int) -> dict[Side, Source]:
    """Return the sources by side, target last; their symbols are learned, or those of `text.vocabulary_from`."""
    if text.vocabulary_from:
        return take_inventories(data, text, text.vocabulary_from)
    if not any(line.strip() for texts, _ in _texts(data) for line in texts):
        raise UserError(f"{_places(data)}: the corpus is empty (no line has text)")
    read = [name for side, name in names(data).items() if side != "target" and name not in data.features]
    sources = [new_pipeline(text.source) for name in read if name not in data.recalled]
    pipelines = (*sources, new_pipeline(text.target))
    protection = Protection.of(text.protect)
    if text.shared_vocabulary:
        _fit(
            pipelines[0], InventoryTexts(data, pipelines, protection), "text.source" if sources else "text.target", seed
        )
        for pipeline in pipelines[1:]:
            # Learned once from all languages: each has a unit of its own, with the same inventory.
            pipeline.tokenizer.restore(pipelines[0].tokenizer.learned())
    else:
        for number, pipeline in enumerate(pipelines):
            alone = tuple(other if other is pipeline else None for other in pipelines)
            _fit(
                pipeline,
                InventoryTexts(data, alone, protection),
                "text.source" if number < len(sources) else "text.target",
                seed,
            )
    rest, arrays = iter(pipelines), open_sources(data, data.train)

    def language(name: str) -> Language:
        pipeline = pipelines[-1] if name in data.recalled else next(rest)
        try:
            return Language(name, pipeline, Vocabulary(pipeline.tokenizer.inventory, marks(data), pipeline.frame))
        except ValueError as error:
            raise UserError(f"text.source: the vocabulary {error}") from error

    return {
        side: FeatureSource(name, arrays[side].size) if side in arrays else language(name)
        for side, name in names(data).items()
    }


def take_inventories(data: DataConfig, text: TextConfig, run: str) -> dict[Side, Source]:
    """Return the sources with the symbols of another run. UserError unless that run has them under the same options."""
    inventories: set[tuple[str, ...]] = set()
    arrays = open_sources(data, data.train)
    languages: dict[Side, Source] = {}
    for side, name in names(data).items():
        if side in arrays:
            languages[side] = FeatureSource(name, arrays[side].size)
            continue
        try:
            there = _side_there(Path(run), side, name, name in data.recalled)
            language = Language.load(Path(run), there, name, marks(data), counted=False)
        except UserError as error:
            raise UserError(f"text.vocabulary_from: {error}") from None
        key = "target" if side == "target" or name in data.recalled else "source"
        if language.text.spec != new_pipeline(getattr(text, key)).spec:
            raise UserError(
                f"text.{key}: differs from that of {run} (text.vocabulary_from); take `text` from its config.yaml"
            )
        if (MARKS[0] in language.text.tokenizer.inventory) != bool(text.protect):
            differs = "is not empty" if not text.protect else "is empty"
            raise UserError(
                f"text.protect: {differs} in {run} (text.vocabulary_from); take `text` from its config.yaml"
            )
        inventories.add(tuple(language.text.tokenizer.inventory))
        languages[side] = language
    if text.shared_vocabulary and len(inventories) > 1:
        raise UserError(
            f"text.shared_vocabulary: is false in {run} (text.vocabulary_from); take `text` from its config.yaml"
        )
    return languages


def _side_there(run: Path, side: Side, name: str, recalled: bool) -> Side:
    """Return the side of another run that has the symbols of a side of this one, whose language is called `name`:
    either may have several sources. If that run has a single source and no translation memory, the memory's symbols are
    those of the target.
    """
    # A run with one source calls it `source`, one with several by their languages.
    for there in (side, f"source.{name}"):
        if Language.saved(run, there):
            return there
    return "target" if recalled else "source"


def have_same_symbols(one: Source, other: Source) -> bool:
    """Return whether two sources have the same symbols."""
    if isinstance(one, Language) and isinstance(other, Language):
        return one.vocabulary == other.vocabulary and one.text.tokenizer.learned() == other.text.tokenizer.learned()
    return one == other


def _places(data: DataConfig) -> str:
    return ", ".join(dict.fromkeys(place for pair in data.trained for place in pair.train))


def _fit(text: TextPipeline, lines: InventoryTexts, key: str, seed: int) -> None:
    try:
        text.tokenizer.fit(lines, seed, MARKS if lines.protection else ())
    except InsufficientCorpusError as error:
        raise UserError(f"{key}.tokenizer: {error}") from error


def new_pipeline(text: LanguageConfig) -> TextPipeline:
    """Return the pipeline with these options, before its tokenizer has learned anything."""
    return TextPipeline(
        lowercase=text.lowercase,
        pretokenizer=text.pretokenizer,
        tokenizer=text.tokenizer,
        prefix=text.prefix,
        suffix=text.suffix,
        padded_length=text.padded_length,
    )
