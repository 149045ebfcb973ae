"""Words in the place of `<unk>`: the source word attended to most, as a dictionary translates it or as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from dragoman.corpus.dictionary import Dictionary
from dragoman.data.language import Language
from dragoman.text.normalise import Normaliser
from dragoman.text.protection import Protection
from dragoman.text.tokenise import Span
from dragoman.text.unit import MARK
from dragoman.translation.attended import SourceAttention
from dragoman.translation.translation import Replacement

_normalise = Normaliser(lowercase=False)


@dataclass(frozen=True)
class UnknownWords:
    """Each word with an `<unk>` becomes `argmax_e P_dict(e | f)`, where f is the source word that it attended to most,
    or f itself if no dictionary has it (Luong et al. 2015). `dictionaries` are by source.

    f is the word of highest weight in all texts, as it is written there; a sentinel, an end symbol, a mark and regions
    are no words. If no word has any weight, it is the word that the whole translation attended to least. Of equal words
    it is the first. Marks of protected spans are no words, and left out where a word has them.
    """

    target: Language
    dictionaries: Mapping[str, Dictionary] = field(default_factory=dict)

    def replaced(
        self,
        words: Sequence[int],
        sources: Sequence[SourceAttention],
        protection: Protection | None = None,
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[int, tuple[str, Replacement]]:
        """What the words of these numbers become, and from what; there is a word in some source. A translation that has
        a protected span, which the text does not have there, is not taken from a dictionary. `texts` are those of the
        sources, with marks; of one that is not there, words are in the letter case in which they are read.
        """
        return {word: self._replaced(word, sources, protection, texts) for word in words}

    def _replaced(
        self, word: int, sources: Sequence[SourceAttention], protection: Protection | None, given: Mapping[str, str]
    ) -> tuple[str, Replacement]:
        texts = [source for source in sources if not source.regions]
        weights = np.nan_to_num(np.concatenate([source.attention for source in texts], 1))
        row = weights[word] if weights[word].any() else -weights.sum(0)
        places = [(source, place) for source in texts for place in range(len(source.words))]
        worded = [bool(MARK.sub("", source.words[place])) for source, place in places]
        source, place = places[int(np.where(worded, row, -np.inf).argmax())]
        known = self.dictionaries.get(source.name)
        copied = MARK.sub("", as_written(given.get(source.name, ""), source.words, place))
        found = known.translation(copied) if known else None
        if found and protection and protection.find(found):
            found = None
        text = self.target.text.normalise(copied if found is None else found)
        return text, Replacement(word, source.name, place, dictionary=found is not None)


def as_written(text: str, words: Sequence[str], place: int) -> str:
    """A word of a text as it stands there, if it was read in lower case."""
    written, begin, end = _normalise(text), 0, 0
    read = written.lower()
    for word in words[: place + 1]:
        begin = read.find(word, end)
        if begin < 0 or len(read) != len(written):
            return words[place]
        end = begin + len(word)
    return written[begin:end]


def substituted(
    text: str, spans: Sequence[Span], found: Mapping[int, str], kept: int = 0
) -> tuple[str, dict[int, str]]:
    """The text with the words at the `spans` of these numbers replaced, and those words. The first `kept` characters
    stay as they are: they are a prefix that was asked for.
    """
    parts, words, done = list[str](), dict[int, str](), 0
    for word in sorted(found):
        begin, end = spans[word]
        first = max(begin, kept)
        parts += [text[done:first], found[word]]
        words[word], done = text[begin:first] + found[word], end
    return "".join([*parts, text[done:]]), words
