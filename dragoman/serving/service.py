"""What a service does with texts: sentences, the way between two languages, and texts again."""

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import NamedTuple

from dragoman.corpus.translation_memory import Match
from dragoman.documents.document_segment import WITHIN
from dragoman.documents.passages import Passage, beside, split_lines, split_text
from dragoman.documents.translated import RejectedCorrection, TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.serving.corrections import Correction, Corrections, NotKeptError, TranslationRecord
from dragoman.serving.document_process import DocumentProcess
from dragoman.serving.models import Hop, Read, Routes, ServedModel
from dragoman.serving.registry import Glossaries, ModelRegistry, missing_terms
from dragoman.serving.request_options import DEFAULTS, RequestOptions, TranslationItem
from dragoman.serving.request_queue import BusyError
from dragoman.serving.routing import constrained, translate_along
from dragoman.text.glossary import Glossary
from dragoman.text.protection import Protection
from dragoman.translation.translation import Translation

log = logging.getLogger("dragoman.serving")

# What a sentence has to have in common with a similar one, whose correction is given for it.
FIXED = Protection.named((*WITHIN, "tags", "numbers"))
ATTENDED = 1_000  # characters at most of a sentence and its correction, whose attention is computed
SUGGESTED = 10.0  # seconds at most to find out what a model makes of a text that a user has corrected


class DetectedLanguage(NamedTuple):
    """A language that a text may be in, and how probable that is."""

    language: str
    probability: float


class Service:
    """Models, and texts of any length that they translate. With `sentences`, texts are translated a sentence at a time,
    otherwise a line. With `history`, all translations are kept beside the corrections, except with a beginning or terms
    of the request. With `least`, sentences of which a model is less sure are empty; UserError if one is not calibrated.
    `glossaries` hold for all translations; UserError for one of languages between which no model translates directly.
    Languages that the identifier does not know are never detected.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        sentences: bool = True,
        corrections: Corrections | None = None,
        history: bool = False,
        least: float | None = None,
        glossaries: Glossaries | None = None,
    ) -> None:
        self.registry = ModelRegistry(models, glossaries or Glossaries(), calibrated=least is not None)
        self.least = least
        self.sentences = sentences
        self.corrections = corrections
        self.history = history
        self.files, self.pages = DocumentProcess(), DocumentProcess()  # HTML texts do not wait for files

    @property
    def routes(self) -> Routes:
        """The routes between languages that there are now."""
        return self.registry.routes

    def stop(self) -> None:
        """Answer the requests that wait, and all that come, with BusyError."""
        self.registry.stop()
        self.files.stop()
        self.pages.stop()

    async def close(self) -> None:
        """Stop; requests that wait are answered with BusyError."""
        self.stop()
        await self.registry.close()
        if self.corrections:
            self.corrections.close()

    def detect(self, text: str) -> list[DetectedLanguage]:
        """The languages of the models that a text may be in, the most probable first."""
        identifier = self.registry.identifier
        return [DetectedLanguage(*guess) for guess in identifier.ranked(text)] if identifier.languages else []

    async def translate(
        self, texts: Sequence[str], source: str, target: str, options: RequestOptions = DEFAULTS
    ) -> list[TranslatedText]:
        """Translate texts. UserError if there is no way from one language to the other, BusyError if it takes too
        long.
        """
        return await self.translate_passages(await self.passages(texts, source), source, target, options)

    async def translate_passages(
        self,
        passages: Sequence[Passage],
        source: Read,
        target: str,
        options: RequestOptions = DEFAULTS,
        run: str = "",
    ) -> list[TranslatedText]:
        """Translate texts that are split into sentences, as `translate` does, by the run of this name or by any."""
        passages = [await self.recalled(passage, source, target, options) for passage in passages]
        with self.route(source, target, run) as route:
            return await self.translate_by(route, passages, (source, target), options)

    async def recalled(self, passage: Passage, source: Read, target: str, options: RequestOptions) -> Passage:
        """The text as one sentence if its correction as a whole counts: where the corrections of its sentences do not
        add up to that one, none of them is newer, and it does not contradict the glossary of the request.
        """
        chosen = options.prefix or options.diverse
        if self.corrections is None or not isinstance(source, str) or chosen or len(passage.sentences) < 2:
            return passage
        glossary = options.constraints.glossary
        return await asyncio.to_thread(self._recalled, self.corrections, passage, (source, target), glossary)

    def _recalled(
        self, corrections: Corrections, passage: Passage, pair: tuple[str, str], glossary: Glossary
    ) -> Passage:
        (text,) = passage.whole.sentences
        whole = corrections.same(pair, text)
        if whole is None:
            return passage
        number, better = whole
        if missing_terms(glossary, text, better):
            return passage
        parts = [corrections.same(pair, sentence) for sentence in passage.sentences]
        if passage.body([part[1] if part else "" for part in parts]) == better:
            return passage
        count = len(split_text(better, pair[1], sentences=self.sentences).sentences)
        last = number + count if count == len(passage.sentences) else number  # those of its sentences follow it
        return passage if any(part and part[0] > last for part in parts) else passage.whole

    @contextmanager
    def route(self, source: Read, target: str, run: str = "") -> Iterator[tuple[Hop, ...]]:
        """The models from one language to the other, of all runs or of one. They stay open until the context ends, even
        if new ones are taken in. UserError if there are none.
        """
        route = self.routes.only(run).find(source, target)
        if not route:
            raise UserError(f"no model translates from {named(source)} to {target}")
        with ExitStack() as stack:
            for hop in route:
                stack.enter_context(hop.model.used())
            yield route

    async def translate_by(
        self,
        route: Sequence[Hop],
        passages: Sequence[Passage],
        pair: tuple[Read, str],
        options: RequestOptions = DEFAULTS,
    ) -> list[TranslatedText]:
        """Translate texts that are split into sentences by the models of a route. BusyError if it takes too long."""
        if self.least is not None:
            options = replace(options, details=True)
        items = [TranslationItem(text) for passage in passages for text in passage.read]
        if options.prefix and items:
            items[0] = items[0]._replace(prefix=options.prefix)
        source, target = pair
        corrected, rejected = dict[TranslationItem, TranslatedSentence](), dict[TranslationItem, RejectedCorrection]()
        # A prefix or diverse alternatives override corrections, which are kept for single sources alone.
        if isinstance(source, str) and not (options.prefix or options.diverse):
            matches = await self._matches((source, target), items, options.until)
            corrected, rejected = _split_by_terms(matches, options.constraints.glossary)
        new = [item for item in items if item not in corrected]
        sentences = await translate_along(route, new, options, self.registry.glossaries)
        if self.least is not None:
            sentences = [sentence.trusted(self.least) for sentence in sentences]
        translated = dict(zip(new, sentences, strict=True))
        # With a prefix or terms of a user, a translation is no model's own.
        if isinstance(source, str) and not (options.prefix or options.constraints):
            own = ((item, sentence) for item, sentence in translated.items() if not sentence.withheld)
            await self._note((source, target), route, own)
        if options.attention:
            corrected = await self._attended(route, corrected, options.until)
        translated = {item: sentence._replace(rejected=rejected.get(item)) for item, sentence in translated.items()}
        by_item = corrected | translated
        remaining = iter([by_item[item] for item in items])
        return [
            TranslatedText(passage, tuple(next(remaining) for _ in passage.sentences), options.alternatives)
            for passage in passages
        ]

    async def explain(self, item: TranslationItem, source: Read, target: str, until: float = math.inf) -> Translation:
        """Explain a translation of a sentence, or of one for each source; the model's own if none is given. UserError
        if no model translates directly, or if there is no word to translate; BusyError if it takes too long.
        """
        with self.route(source, target) as route:
            if len(route) > 1:
                between = route[0].direction.target
                raise UserError(
                    f"{named(source)} to {target} uses the pivot {between}; only direct translations can be explained"
                )
            (hop,) = route
            options = RequestOptions(to=hop.direction.to, until=until)
            if not hop.worded(item):
                raise UserError("there are no words to explain")
            if item.translation is None:
                made_with = constrained(hop, options, self.registry.glossaries)
                (translation,) = await hop.model.translate([TranslationItem(item.text)], made_with)
                if self.least is not None and translation.trusted(self.least).withheld is not None:
                    raise UserError("the confidence of the translation is too low")
                item = item._replace(translation=translation.text)
            (explained,) = await hop.model.translate([hop.item(item)], replace(options, work="explain"))
            return explained

    async def correct(self, source: str, target: str, correction: Correction) -> None:
        """Keep a correction of a text, and those of its sentences if it has as many, with what the models make of each.
        UserError if none are kept here or there is no sentence, NotKeptError if they cannot be written.
        """
        if self.corrections is None:
            raise UserError("corrections are disabled on this server")
        (before,) = await self.passages([correction.source], source)
        (after,) = await self.passages([correction.correction], target)
        if not (before.sentences and after.sentences):
            raise UserError("there is no sentence to correct")
        outputs = await self._translate_alone(source, target, before)
        machine = before.body(outputs) if all(outputs) else ""
        same = before.between[0].strip() == after.between[0].strip()  # the number of an item, which stays
        better = after.whole.sentences[0] if same else correction.correction.strip()
        kept = [(before.whole.sentences[0], better, machine)]
        if len(before.sentences) == len(after.sentences) > 1:
            kept += zip(before.sentences, after.sentences, outputs, strict=True)
        records = [Correction(*fields, correction.author) for fields in kept]
        await asyncio.to_thread(self.corrections.add, (source, target), *records)

    async def _translate_alone(self, source: str, target: str, passage: Passage) -> list[str]:
        """What models alone make of sentences; nothing where they are too busy, or cannot."""
        items, options = (
            [TranslationItem(text) for text in passage.sentences],
            RequestOptions(details=False, until=time.monotonic() + SUGGESTED),
        )
        with suppress(BusyError, UserError), self.route(source, target) as route:
            sentences = await translate_along(route, items, options, self.registry.glossaries)
            return [sentence.text for sentence in sentences]
        return [""] * len(items)

    async def _note(
        self,
        pair: tuple[str, str],
        route: Sequence[Hop],
        translations: Iterable[tuple[TranslationItem, TranslatedSentence]],
    ) -> None:
        """Keep translations if requested. Users get them whether or not they can be kept."""
        if self.corrections is None or not self.history:
            return
        model = "+".join(hop.model.name for hop in route)
        records = [TranslationRecord(str(item.text), sentence.text, model) for item, sentence in translations]
        try:
            await asyncio.to_thread(self.corrections.note, pair, records)
        except NotKeptError as error:
            log.error("translations not stored: %s", error)

    async def passages(self, texts: Sequence[str], language: str) -> list[Passage]:
        """Texts in their sentences. They are split in a thread, as long ones take a while."""
        return await asyncio.to_thread(
            lambda: [split_lines(text, language, sentences=self.sentences) for text in texts]
        )

    async def beside(self, texts: Sequence[str], languages: Sequence[str]) -> Passage:
        """Several texts that a model reads together, in their sentences. UserError if they cannot be split alike."""
        return await asyncio.to_thread(beside, texts, languages, sentences=self.sentences)

    async def _matches(
        self, pair: tuple[str, str], items: Sequence[TranslationItem], until: float
    ) -> dict[TranslationItem, Match]:
        """What users have corrected, of these sentences or of similar ones. BusyError if there are too many to look all
        of them up in time.
        """
        if self.corrections is None:
            return {}

        def look(item: TranslationItem) -> Match | None:
            if time.monotonic() > until:
                raise BusyError("not translated in time")
            return self._match(pair, str(item.text))

        matches = await asyncio.to_thread(lambda: {item: look(item) for item in dict.fromkeys(items)})
        return {item: match for item, match in matches.items() if match}

    async def _attended(
        self, route: Sequence[Hop], corrected: dict[TranslationItem, TranslatedSentence], until: float
    ) -> dict[TranslationItem, TranslatedSentence]:
        """The same corrections with the attention of the model that translates directly, if it can be known in time."""
        if len(route) > 1 or not corrected:
            return corrected
        (hop,) = route
        short = [item for item, sentence in corrected.items() if item.characters + len(sentence.text) <= ATTENDED]
        read = {item: hop.item(item._replace(translation=corrected[item].text)) for item in short if hop.worded(item)}
        try:
            options = RequestOptions(work="score", to=hop.direction.to, until=until)
            translations = await hop.model.translate(list(read.values()), options)
        except (BusyError, UserError):
            return corrected
        return corrected | {
            item: corrected[item]._replace(whole=whole) for item, whole in zip(read, translations, strict=True)
        }

    def _match(self, pair: tuple[str, str], text: str) -> Match | None:
        """The correction of a sentence, or of a similar one that has the same protected spans."""
        match = self.corrections.find(pair, text) if self.corrections else None
        return match if match and (match.score == 1 or spans(match.source) == spans(text)) else None


def _split_by_terms(
    matches: dict[TranslationItem, Match], glossary: Glossary
) -> tuple[dict[TranslationItem, TranslatedSentence], dict[TranslationItem, RejectedCorrection]]:
    """The corrections that use the terms of a glossary as sentences, and those that contradict it."""
    missing = {item: missing_terms(glossary, str(item.text), match.translation) for item, match in matches.items()}
    used = {
        item: TranslatedSentence(match.translation, match=match) for item, match in matches.items() if not missing[item]
    }
    rejected = {item: RejectedCorrection(matches[item], terms) for item, terms in missing.items() if terms}
    return used, rejected


def named(source: Read) -> str:
    """A language or several sources in a message."""
    return source if isinstance(source, str) else " and ".join(source)


def spans(text: str) -> list[str]:
    """What stays as it is in a translation of this text, sorted."""
    return sorted(text[begin:end] for begin, end in (FIXED.find(text) if FIXED else ()))
