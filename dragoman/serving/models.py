"""Runs that serve: each with a queue, a cache, and the directions that it translates in."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.data.language import Language
from dragoman.documents.document_segment import PROTECTED
from dragoman.errors import UserError
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.search.decoding import Deadline
from dragoman.search.table import in_place_of, with_width
from dragoman.serving.cache import TranslationCache
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.serving.request_queue import Batcher
from dragoman.translation import comparison
from dragoman.translation.loading import Engine, digest_of, load
from dragoman.translation.source_inputs import LONGEST
from dragoman.translation.transforms import stripped_text
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

DIFFERENT = 5.0  # nats by which a word is less probable where another translation has it
EXPLAINED = 100  # source words, and symbols of a translation, in a sentence that is explained
CACHED = 256 * 2**20  # bytes of translations that a model keeps


Read: TypeAlias = str | tuple[str, ...]  # the language of a text, or the names of all sources that a model reads


class TranslationDirection(NamedTuple):
    """From one language, or from several sources, to another. `to` is the target language if the model has several."""

    source: Read
    target: str
    to: str | None = None


class ServedModel:
    """A translator that serves: texts wait in its queue, and what was translated before is known.

    UserError for a run that reads numbers.
    """

    def __init__(
        self, name: str, translator: Translator, pairs: Sequence[tuple[str, str]], *, cached: int = CACHED
    ) -> None:
        if not all(isinstance(language, Language) for language in translator.user_sources):
            named = " and ".join(language.name for language in translator.user_sources)
            raise UserError(f"{name}: reads {named}, and `serve` supports text sources only")
        self.name = name
        self.translator = translator
        several = bool(translator.marks)
        read = tuple(language.name for language in translator.user_sources)
        self.directions = [
            TranslationDirection(source if len(read) == 1 else read, target, target if several else None)
            for source, target in pairs
        ]
        self.batcher = Batcher(self._search, measure=self._symbols)
        self.cache = TranslationCache(cached)
        self._again: Callable[[], ServedModel] | None = None
        self._files: Files = ()
        self._folder: RunFolder | None = None
        self._users = 0
        self._unused = asyncio.Event()

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        name: str = "",
        device: DeviceConfig | None = None,
        engine: Engine = "torch",
        cached: int = CACHED,
    ) -> "ServedModel":
        """The model of a run folder, with the name of the folder if it gets no other, and so many bytes for what it has
        translated. UserError names what is missing or damaged, or why it may not serve.
        """
        files = _files(RunFolder(folder))
        run = Run.load(folder)
        comparison.check(run, partial(digest_of, run, engine=engine))
        pairs = [(pair.sources[0], pair.target) for pair in run.config.data.language_pairs]
        model = cls(name or folder.name, load(folder, device=device, engine=engine), pairs, cached=cached)
        model._folder, model._files = RunFolder(folder), files
        model._again = partial(cls.load, folder, name=name, device=device, engine=engine, cached=cached)
        return model

    def check_calibrated(self) -> None:
        """Raise UserError unless the model knows how sure it is."""
        if not self.translator.is_calibrated:
            raise UserError(f"{self.name}: --min-confidence needs a calibrated run; run `dragoman calibrate` first")

    def renewed(self) -> "ServedModel | None":
        """The model that is in the folder now, if that is another. Raises what `load` does."""
        if self._again is None or self._folder is None or _files(self._folder) == self._files:
            return None
        return self._again()

    @contextmanager
    def used(self) -> Iterator[None]:
        """While a request uses the model, it is not closed by `retire`."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._unused.set()

    async def retire(self) -> None:
        """Close the model, which no new request is given, as soon as none uses it any more."""
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        await self.close()

    @property
    def modified(self) -> float:
        """When the run was written, in seconds since 1970; 0 if it is not read from a folder."""
        return max((nanoseconds for _, nanoseconds, *_ in self._files), default=0) / 1e9

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(size for _, _, size, _ in self._files)

    async def translate(self, items: Sequence[TranslationItem], options: RequestOptions) -> list[Translation]:
        """Translate texts, each different one once; other tasks are not remembered. Raises what `Batcher.translate`
        does.
        """
        seconds = options.until - time.monotonic()
        if options.work != "translate":
            return await self.batcher.translate(items, options, seconds)
        detailed = replace(options, details=True)
        options = options if self.translator.generator.engine else detailed  # one entry of the cache serves both
        translations = {item: self.cache.get((options, item), (detailed, item)) for item in dict.fromkeys(items)}
        new = [item for item, translation in translations.items() if translation is None]
        translations |= zip(new, await self.batcher.translate(new, options, seconds), strict=True)
        for item, translation in translations.items():
            if translation is not None and options.remembered:
                self.cache.put((options, item), translation)
        return [translation for item in items if (translation := translations[item]) is not None]

    def stop(self) -> None:
        """Answer the requests that wait, and all that come, with BusyError."""
        self.batcher.stop()

    async def close(self) -> None:
        await self.batcher.close()

    def _symbols(self, item: TranslationItem) -> int:
        """The symbols of a text as the model reads it: a character that it does not know may be several."""
        texts = [*zip(self.translator.user_sources, item.sources, strict=True)]
        texts += [(self.translator.target, target) for target in item.targets]
        languages = ((language, text) for language, text in texts if isinstance(language, Language))
        return sum(min(len(language.text.encode(text)), LONGEST) for language, text in languages)

    def _search(
        self, items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline
    ) -> list[Translation]:
        if options.work != "translate":
            return self._score(items, options, deadline)
        own, n_best = self.translator.search, 1 + options.alternatives
        diverse = Spec("diverse", {"size": 1, "groups": n_best, "strength": DIFFERENT})
        return self.translator.translate(
            [item.text for item in items],
            to=options.to,
            n_best=n_best,
            search=in_place_of(own, diverse) if options.diverse else with_width(own, n_best),
            constraints=options.constraints,
            prefix=[item.prefix for item in items],
            timeout=deadline,
            details=options.details,
        )

    def _score(
        self, items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline
    ) -> list[Translation]:
        """The given translations with the attention to their texts, and with their explanations if these are asked for.
        UserError for a sentence that is too long to be explained.
        """
        texts, translations = [item.text for item in items], [item.translation or "" for item in items]
        scored = self.translator.score(texts, translations, to=options.to, confidence=options.work == "explain")
        if options.work == "score":
            return [pair.translation for pair in scored]
        explained: list[Translation] = []
        for item, pair in zip(items, scored, strict=True):
            deadline.check()
            contrasts = [] if item.contrast is None else [item.contrast]
            contrasted = self.translator.score([item.text] * len(contrasts), contrasts, to=options.to)
            words = sum(len(source.words) for source in pair.translation.sources)
            if max(words, pair.symbols, *(other.symbols for other in contrasted)) > EXPLAINED:
                raise UserError(f"only sentences of up to {EXPLAINED} words and symbols are explained")
            (explanation,) = self.translator.explain([pair.translation], contrasts)
            explained.append(replace(pair.translation, explanation=explanation))
        return explained


def names_of(folders: Sequence[Path]) -> list[str]:
    """Names of run folders: the last parts of their paths, as few as tell each from all others."""
    paths = [Path(os.path.abspath(folder)).parts for folder in folders]
    return [
        next(
            Path(*path[-count:]).as_posix()
            for count in range(1, len(path) + 1)
            if all(path == other or path[-count:] != other[-count:] for other in paths)
        )
        for path in paths
    ]


Files: TypeAlias = tuple[tuple[str, int, int, int], ...]  # name, time, size and inode of each


def _files(folder: RunFolder) -> Files:
    """What tells whether a run has changed: the files in its folder that a model is read from."""
    read = ("*.yaml", "*.json", "*.safetensors", "*.tsv", "*.gz", "onnx/*")
    paths = sorted(path for pattern in read for path in folder.path.glob(pattern))
    stats = ((str(path), path.stat()) for path in paths)
    return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


class Hop(NamedTuple):
    """A part of the way from one language to another: a model, in one of its directions."""

    model: ServedModel
    direction: TranslationDirection

    def without(self, text: str) -> str:
        """A text without its protected spans, but for those that the model has learned marks for."""
        return stripped_text.without(text, PROTECTED, self.model.translator.processor.model_inputs.protection)

    def item(self, item: TranslationItem) -> TranslationItem:
        """What the model reads of an item."""
        text = self.without(item.text) if isinstance(item.text, str) else tuple(map(self.without, item.text))
        translation, contrast = (part and self.without(part) for part in (item.translation, item.contrast))
        return TranslationItem(text, translation=translation, contrast=contrast)

    def worded(self, item: TranslationItem) -> bool:
        """Whether the first text that is not blank has a letter or a digit beside its protected spans."""
        return any(map(str.isalnum, self.without(next(filter(str.strip, item.sources), ""))))


def _names(pair: tuple[Read, str]) -> tuple[str, ...]:
    """The sources and the target of a route."""
    source, target = pair
    return (source, target) if isinstance(source, str) else (*source, target)


class Routes:
    """The routes between languages: by one model, or by two with a language between. Of several models for the same
    direction, the first serves.
    """

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self.models = tuple(models)
        self._routes: dict[tuple[Read, str], tuple[Hop, ...]] = {}
        for model in self.models:
            for direction in model.directions:
                self._routes.setdefault((direction.source, direction.target), (Hop(model, direction),))
        single = dict(self._routes)
        for (source, middle), first in single.items():
            for (start, target), second in single.items():
                if middle == start and source != target and isinstance(source, str):
                    self._routes.setdefault((source, target), (*first, *second))

    @property
    def targets(self) -> dict[str, list[str]]:
        """The target languages by source language, in the order of their codes."""
        targets: dict[str, list[str]] = {}
        for source, target in sorted((source, target) for source, target in self._routes if isinstance(source, str)):
            targets.setdefault(source, []).append(target)
        return targets

    @property
    def languages(self) -> list[str]:
        """All languages that a text alone is translated from or into, in the order of their codes."""
        return sorted(
            {
                language
                for pair in self._routes
                if isinstance(pair[0], str)
                for language in pair
                if isinstance(language, str)
            }
        )

    def code(self, name: str) -> str:
        """The code of a language, which may be written with other capitals (`EN`, `zh-cn`); others as they are."""
        codes = {language.lower(): language for pair in self._routes for language in _names(pair)}
        return codes.get(name.lower(), name)

    @property
    def several(self) -> list[tuple[tuple[str, ...], str]]:
        """The sources that models read together, and the target language of each such model."""
        return [(source, target) for source, target in self._routes if isinstance(source, tuple)]

    def reading(self, names: Collection[str], target: str) -> tuple[str, ...]:
        """The sources of the first model that reads these together, and perhaps others; none if there is none."""
        return next((sources for sources, to in self.several if to == target and set(names) <= set(sources)), ())

    def only(self, run: str) -> "Routes":
        """The routes of the run with this name alone; all if there is no name."""
        return Routes(model for model in self.models if model.name == run) if run else self

    def find(self, source: Read, target: str) -> tuple[Hop, ...]:
        """The models from one language, or from several sources, to a language; none if there are none."""
        return self._routes.get((source, target), ())
