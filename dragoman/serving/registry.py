"""The models of a service, renewed from their folders while it runs."""

import asyncio
import logging
from collections.abc import Sequence

from dragoman.errors import UserError
from dragoman.evaluation.languages import Identifier
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.models import Model, Routes

log = logging.getLogger("dragoman.serving")


class ModelRegistry:
    """The models that serve now, by the routes between their languages, and the glossaries that hold for all of them.

    `calibrated`: UserError for a model that does not know how sure it is. UserError for a glossary of languages between
    which no model translates directly.
    """

    def __init__(self, models: Sequence[Model], glossaries: Glossaries, *, calibrated: bool = False) -> None:
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
        self._retired: dict[Model, asyncio.Task[None]] = {}

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
                log.error("glossaries are not taken in: %s", error)
            models = [await self._renewed(model) for model in self.routes.models]
            if models == list(self.routes.models):
                return
            try:
                routes = Routes(models)
                identifier = _identifier(routes)
            except UserError as error:
                log.error("nothing is taken in: %s", error)
                return
            old, self.routes, self.identifier = self.routes, routes, identifier
            for model in old.models:
                if model not in models:
                    self._retired[model] = asyncio.create_task(self._retire(model))

    async def _renewed(self, model: Model) -> Model:
        try:
            new = await asyncio.to_thread(model.renewed)
            if new is not None and self._calibrated:
                new.check_calibrated()
        except UserError as error:
            log.error("not taken in: %s", error)
            return model
        except Exception:  # whatever is wrong with a run, those that serve go on
            log.exception("%s: not taken in", model.name)
            return model
        if new is not None:
            log.info("%s: taken in", new.name)
        return new or model

    async def _retire(self, model: Model) -> None:
        await model.retire()
        del self._retired[model]


def _identifier(routes: Routes) -> Identifier:
    """What tells the languages of texts apart, without those that it does not know."""
    return Identifier(list(routes.targets), skip_unknown=True)
