"""What a service does with texts: sentences, the way between two languages, and texts again."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.corpus.memory import Match
from dragoman.errors import UserError
from dragoman.evaluation.languages import Identifier
from dragoman.serving.batching import Options, Piece
from dragoman.serving.corrections import Correction, Corrections
from dragoman.serving.models import Leg, Model, Routes
from dragoman.serving.passages import Passage, split
from dragoman.text.protection import Protection
from dragoman.translation.demands import Asked
from dragoman.translation.translation import Translation

PROTECTED = Asked(protection=Protection.named(["placeholders", "urls", "emails"]))


class Wish(NamedTuple):
    """What is asked of a translation: further ones (`diverse`: which begin with other words), terms and protected
    spans, seconds for each model, and how it begins.
    """

    alternatives: int = 0
    diverse: bool = False
    asked: Asked = PROTECTED
    seconds: float = 60.0
    prefix: str = ""


NOTHING_MORE = Wish()


class Sentence(NamedTuple):
    """The translation of a sentence: what a model made of it, or a correction of the same or a similar one (`match`).
    What the model made may lack protected spans: then `text` has been put together of what stands between these.
    """

    text: str
    whole: Translation | None = None
    match: Match | None = None

    @property
    def others(self) -> list[str]:
        """Further translations."""
        return [each.text for each in self.whole.alternatives] if self.whole else []


class Translated(NamedTuple):
    """The translation of a text: its sentences, and what stands between them."""

    passage: Passage
    sentences: tuple[Sentence, ...]
    alternatives: int = 0

    @property
    def text(self) -> str:
        return self.passage.joined([each.text for each in self.sentences])

    @property
    def others(self) -> list[str]:
        """Further translations, each of the next best of every sentence, or of its best where there is no other."""
        every = [[each.text, *each.others] for each in self.sentences]
        found = [
            self.passage.joined([texts[min(rank, len(texts) - 1)] for texts in every])
            for rank in range(1, self.alternatives + 1)
        ]
        return [text for text in dict.fromkeys(found) if text != self.text]


class Guess(NamedTuple):
    """A language that a text may be in, and how probable that is."""

    language: str
    probability: float


class Service:
    """Models, and texts of any length that they translate. With `sentences`, texts are translated a sentence at a time,
    otherwise a line. UserError if the languages of the models are not known to the identifier.
    """

    def __init__(
        self, models: Sequence[Model], *, sentences: bool = True, corrections: Corrections | None = None
    ) -> None:
        self.routes = Routes(models)
        self.sentences = sentences
        self.corrections = corrections
        self.identifier = Identifier(list(self.routes.targets))

    async def close(self) -> None:
        """Stop; requests that wait are answered with BusyError."""
        await asyncio.gather(*(model.close() for model in self.routes.models))
        if self.corrections:
            self.corrections.close()

    def detect(self, text: str) -> list[Guess]:
        """The languages of the models that a text may be in, the most probable first."""
        return [Guess(*each) for each in self.identifier.ranked(text)]

    async def translate(
        self, texts: Sequence[str], source: str, target: str, wish: Wish = NOTHING_MORE
    ) -> list[Translated]:
        """Translate texts. UserError if there is no way from one language to the other, BusyError if it takes too
        long.
        """
        return await self.translate_passages([self.passage(text, source) for text in texts], source, target, wish)

    async def translate_passages(
        self, passages: Sequence[Passage], source: str, target: str, wish: Wish = NOTHING_MORE
    ) -> list[Translated]:
        """The same of texts in sentences."""
        way = self.routes.way(source, target)
        if not way:
            raise UserError(f"no model translates from {source} to {target}")
        pieces = [Piece(each) for passage in passages for each in passage.sentences]
        if wish.prefix and pieces:
            pieces[0] = pieces[0]._replace(prefix=wish.prefix)
        known = {} if wish.prefix or wish.diverse else await self._corrected((source, target), pieces)
        new = [piece for piece in pieces if piece not in known]
        found = iter(await self._along(way, new, wish))
        every = iter([known[piece] if piece in known else next(found) for piece in pieces])
        return [
            Translated(passage, tuple(next(every) for _ in passage.sentences), wish.alternatives)
            for passage in passages
        ]

    async def correct(self, source: str, target: str, correction: Correction) -> None:
        """Keep a correction, and those of its sentences if it has as many. UserError if none are kept here."""
        if self.corrections is None:
            raise UserError("corrections are not kept here")
        kept = [correction]
        before, after = (self.passage(text, source).sentences for text in correction[:2])
        if len(before) == len(after) > 1:
            kept += [
                correction._replace(source=a, correction=b, machine="") for a, b in zip(before, after, strict=True)
            ]
        for each in kept:
            await asyncio.to_thread(self.corrections.add, (source, target), each)

    def passage(self, text: str, language: str) -> Passage:
        """A text in its sentences."""
        return split(text, language, sentences=self.sentences)

    async def _corrected(self, pair: tuple[str, str], pieces: Sequence[Piece]) -> dict[Piece, Sentence]:
        """What users have corrected, of these sentences or of similar ones."""
        if self.corrections is None:
            return {}
        every = {piece: str(piece.text) for piece in pieces}
        found = await asyncio.to_thread(lambda: {piece: self._match(pair, text) for piece, text in every.items()})
        return {piece: Sentence(match.translation, match=match) for piece, match in found.items() if match}

    def _match(self, pair: tuple[str, str], text: str) -> Match | None:
        return self.corrections.found(pair, text) if self.corrections else None

    async def _along(self, way: Sequence[Leg], pieces: Sequence[Piece], wish: Wish) -> list[Sentence]:
        """Translate sentences by each model of a way in turn. Further translations, terms and prefixes are of the last
        one.
        """
        read = [piece._replace(prefix="") for piece in pieces]
        for leg in way[:-1]:
            between = await self._by(leg, read, Options(leg.direction.to, asked=PROTECTED), wish.seconds)
            read = [Piece(each.text) for each in between]
        last = way[-1]
        options = Options(last.direction.to, 1 + wish.alternatives, wish.asked, wish.diverse)
        ready = [each._replace(prefix=piece.prefix) for each, piece in zip(read, pieces, strict=True)]
        return await self._by(last, ready, options, wish.seconds)

    async def _by(self, leg: Leg, pieces: Sequence[Piece], options: Options, seconds: float) -> list[Sentence]:
        """Translate by one model. Around a protected span that a translation lacks, the rest is translated in parts."""
        found = await leg.model.translate(pieces, options, seconds)
        lacking = [n for n, each in enumerate(found) if any(span.target is None for span in each.spans)]
        parts = {n: _parts(str(pieces[n].text), found[n]) for n in lacking}
        between = [part for n in lacking for part in parts[n][::2] if part.strip()]
        whole = Options(options.to)
        done = iter(await leg.model.translate([Piece(part.strip()) for part in between], whole, seconds))
        texts = {
            n: "".join(
                part.replace(part.strip(), next(done).text) if place % 2 == 0 and part.strip() else part
                for place, part in enumerate(parts[n])
            )
            for n in lacking
        }
        return [Sentence(texts.get(n, each.text), each) for n, each in enumerate(found)]


def _parts(text: str, translation: Translation) -> list[str]:
    """A text at its protected spans: what stands before the first, the first, what stands between, and so on."""
    parts, end = list[str](), 0
    for span in sorted(translation.spans, key=lambda span: span.place):
        begin, after = span.place
        parts += [text[end:begin], text[begin:after]]
        end = after
    return [*parts, text[end:]]
