"""The models of a service and its glossaries, renewed from their files while it runs."""

import asyncio
import logging
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from dragoman.corpus import glossary_file
from dragoman.errors import UserError
from dragoman.evaluation.languages import Identifier
from dragoman.serving.models import Routes, ServedModel
from dragoman.text.glossary import FoundTerm, Glossary, together
from dragoman.translation.transforms.term_placement import locate_terms

Languages: TypeAlias = tuple[str, str]

MERGED: Final = 100  # glossaries of requests that are remembered together with those of the service


class Glossaries:
    """Files of terms, those of a pair of languages as one glossary. UserError for one that cannot be read."""

    def __init__(self, files: Sequence[tuple[Languages, Path]] = ()) -> None:
        self._files = files
        self.renew()

    @classmethod
    def named(cls, assignments: Sequence[str]) -> "Glossaries":
        """Those of a command: each is `SOURCE,TARGET=FILE`."""
        files: list[tuple[Languages, Path]] = []
        for assignment in assignments:
            pair, _, path = assignment.partition("=")
            source, _, target = pair.partition(",")
            if not (source and target and path):
                raise UserError(f"--glossary: expected SOURCE,TARGET=FILE, such as en,fr=terms.tsv, found {assignment}")
            files.append(((source, target), Path(path)))
        return cls(files)

    @property
    def pairs(self) -> list[Languages]:
        return list(self._common)

    def renew(self) -> None:
        """Read the files again. UserError if one cannot be read; then what was known before stays."""
        self._common = self._read()
        self._of = lru_cache(MERGED)(self._merged)

    def _read(self) -> Mapping[Languages, Glossary]:
        by_pair: dict[Languages, list[Glossary]] = {}
        for pair, path in self._files:
            by_pair.setdefault(pair, []).append(glossary_file.read(path, pair))
        return {pair: together(glossaries) for pair, glossaries in by_pair.items()}

    def of(self, pair: Languages, own: Glossary) -> Glossary:
        """The terms of a pair, and those of a request, which override them."""
        return self._of(pair, own)

    def _merged(self, pair: Languages, own: Glossary) -> Glossary:
        common = self._common.get(pair)
        if common is None:
            return own
        return together([common, own]) if own.terms else common


def missing_terms(glossary: Glossary, text: str, translation: str) -> tuple[FoundTerm, ...]:
    """The terms of a text that a translation of it does not use."""
    terms = glossary.find(text)
    places = locate_terms(unicodedata.normalize("NFC", translation), terms)
    return tuple(term for term, place in zip(terms, places, strict=True) if place is None)


log = logging.getLogger("dragoman.serving")


class ModelRegistry:
    """The models that serve now, by the routes between their languages, and the glossaries that hold for all of them.

    `calibrated`: UserError for a model that does not know how sure it is. UserError for a glossary of languages between
    which no model translates directly.
    """

    def __init__(self, models: Sequence[ServedModel], glossaries: Glossaries, *, calibrated: bool = False) -> None:
        for model in models if calibrated else ():
            model.check_calibrated()
        self.routes = Routes(models)
        for source, target in glossaries.pairs:
            if len(self.routes.find(source, target)) != 1:
                raise UserError(f"--glossary: no model translates directly from {source} to {target}")
        self.glossaries = glossaries
        self.identifier = _identifier(self.routes)
        self._calibrated = calibrated
        self._renewing = asyncio.Lock()
        self._retired: dict[ServedModel, asyncio.Task[None]] = {}

    def stop(self) -> None:
        """Answer the requests that wait, and all that come, with BusyError."""
        for model in (*self.routes.models, *self._retired):
            model.stop()

    async def close(self) -> None:
        """Close all models, those that are to retire among them."""
        for task in self._retired.values():
            task.cancel()
        await asyncio.gather(*(model.close() for model in (*self.routes.models, *self._retired)))

    async def renew(self) -> None:
        """Take in the runs whose folders have changed, and read the glossaries again. Requests that have begun end with
        the models that they began with. A file that cannot be read, or a run that may not serve, is reported in the
        log, and the former one stays in use.
        """
        async with self._renewing:
            try:
                await asyncio.to_thread(self.glossaries.renew)
            except UserError as error:
                log.error("glossaries not reloaded: %s", error)
            models = [await self._renewed(model) for model in self.routes.models]
            if models == list(self.routes.models):
                return
            try:
                routes = Routes(models)
                identifier = _identifier(routes)
            except UserError as error:
                log.error("nothing reloaded: %s", error)
                return
            old, self.routes, self.identifier = self.routes, routes, identifier
            for model in old.models:
                if model not in models:
                    self._retired[model] = asyncio.create_task(self._retire(model))

    async def _renewed(self, model: ServedModel) -> ServedModel:
        try:
            new = await asyncio.to_thread(model.renewed)
            if new is not None and self._calibrated:
                new.check_calibrated()
        except UserError as error:
            log.error("not reloaded: %s", error)
            return model
        except Exception:  # whatever is wrong with a run, those that serve go on
            log.exception("%s: not reloaded", model.name)
            return model
        if new is not None:
            log.info("%s: reloaded", new.name)
        return new or model

    async def _retire(self, model: ServedModel) -> None:
        await model.retire()
        del self._retired[model]


def _identifier(routes: Routes) -> Identifier:
    """What tells the languages of texts apart, without those that it does not know."""
    return Identifier(list(routes.targets), skip_unknown=True)
