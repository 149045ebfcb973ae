"""The translation of a text of any length: a sentence at a time."""

from dataclasses import replace
from itertools import compress
from typing import NamedTuple

from dragoman.corpus.translation_memory import Match
from dragoman.documents.passages import Passage
from dragoman.text.glossary import FoundTerm
from dragoman.text.protection import only_branches
from dragoman.translation.translation import Translation


class RejectedCorrection(NamedTuple):
    """A correction that contradicts the glossary of a request: it lacks the translation of these terms."""

    match: Match
    missing: tuple[FoundTerm, ...]


class TranslatedSentence(NamedTuple):
    """The translation of a sentence: what a model made of it (`whole`), or a correction of the same or a similar one
    (`match`), of which `whole` then has the attention, if anything; further translations. If the model read no sentence
    of the text, but a translation of it, that is `read`. `rejected` is a correction that was not used.
    """

    text: str
    whole: Translation | None = None
    match: Match | None = None
    alternatives: tuple[str, ...] = ()
    read: "TranslatedSentence | None" = None
    rejected: RejectedCorrection | None = None

    @property
    def quality(self) -> float | None:
        """How similar the sentence is to the one that was corrected, or else the confidence of the model, if it is
        calibrated; 1 = the same, or sure.
        """
        if self.match is not None:
            return self.match.score
        confidence = self.whole.confidence if self.whole else None
        return confidence.sentence if confidence else None

    @property
    def withheld(self) -> bool:
        """Whether it is empty because a model was not sure, of it or of what it was made from."""
        of_itself = self.whole is not None and self.whole.withheld is not None
        return of_itself or (self.read is not None and self.read.withheld)

    def trusted(self, least: float) -> "TranslatedSentence":
        """This sentence if it is a correction, or if all models that made it are as sure or not calibrated; else an
        empty one. So are its further translations.
        """
        if self.match is not None:
            return self
        read, whole = self.read and self.read.trusted(least), self.whole and self.whole.trusted(least)
        if whole and read and read.withheld and whole.withheld is None:
            whole = replace(whole, text="", withheld=whole.text)
        sentence = self._replace(whole=whole, read=read)
        if sentence.withheld:
            return sentence._replace(text="", alternatives=(), whole=whole and replace(whole, alternatives=()))
        if whole is None or not whole.alternatives:
            return sentence
        sure = [translation.trusted(least).withheld is None for translation in whole.alternatives]
        alternatives = tuple(compress(whole.alternatives, sure))
        return sentence._replace(
            alternatives=tuple(compress(self.alternatives, sure)), whole=replace(whole, alternatives=alternatives)
        )


class TranslatedText(NamedTuple):
    """The translation of a text: its sentences, and what stands between them."""

    passage: Passage
    sentences: tuple[TranslatedSentence, ...]
    alternatives: int = 0

    @property
    def text(self) -> str:
        return self.passage.joined([sentence.text for sentence in self.sentences])

    @property
    def alternative_texts(self) -> list[str]:
        """Further translations, each of the next best of every sentence, or of its best where there is no other."""
        ranked = [[sentence.text, *sentence.alternatives] for sentence in self.sentences]
        joined = [
            self.passage.joined([texts[min(rank, len(texts) - 1)] for texts in ranked])
            for rank in range(1, self.alternatives + 1)
        ]
        return [text for text in dict.fromkeys(joined) if text != self.text]

    @property
    def withheld(self) -> bool:
        """Whether a sentence is empty because a model was not sure."""
        return any(sentence.withheld for sentence in self.sentences)

    @property
    def complete(self) -> bool:
        """Whether every sentence has a translation. A copy of a message of ICU, which no model reads, is none."""
        pairs = zip(self.sentences, self.passage.sentences, strict=True)
        return bool(self.sentences) and all(
            sentence.text.strip() and not (sentence.text == text and only_branches(text)) for sentence, text in pairs
        )

    @property
    def quality(self) -> float | None:
        """That of its least good sentence; None if one has none."""
        qualities = [sentence.quality for sentence in self.sentences]
        return min((value for value in qualities if value is not None), default=None) if None not in qualities else None
