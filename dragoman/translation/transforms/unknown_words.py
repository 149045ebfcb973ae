"""Words in the place of `<unk>`: the source word attended to most, as a dictionary translates it or as it is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from dragoman.corpus.dictionary import Dictionary
from dragoman.data.language import Language
from dragoman.text.normalise import Normalizer
from dragoman.text.protection import Protection
from dragoman.text.tokenise import Span
from dragoman.text.unit import MARK, UNKNOWN
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.translation import Replacement

_APART: Final = re.compile(f"({MARK.pattern})")
_normalise = Normalizer(lowercase=False)


@dataclass(frozen=True)
class UnknownWords:
    """Each word with an `<unk>` becomes `argmax_e P_dict(e | f)`, where f is the source word that it attended to most,
    or f itself if no dictionary has it (Luong et al. 2015). `dictionaries` are by source.

    f is the word of highest weight in all texts, as it is written there; a sentinel, an end symbol, a mark, regions and
    words with a protected span of their own are no such words. If no word has any weight, it is the word that the whole
    translation attended to least. Of equal words it is the first. Marks of protected spans are no words, and left out
    where a word has them.
    """

    target: Language
    dictionaries: Mapping[str, Dictionary] = field(default_factory=dict)

    def replaced(
        self,
        words: Sequence[int],
        sources: Sequence[SourceAttention],
        protection: Protection | None = None,
        texts: Mapping[str, str] = MappingProxyType({}),
        *,
        letters: bool = False,
    ) -> dict[int, tuple[str, Replacement]]:
        """What the words of these numbers become, and from what; there is a word in some source. A translation that has
        a protected span, which the text does not have there, is not taken from a dictionary. `texts` are those of the
        sources, with marks; of one that is not there, words are in the letter case in which they are read. `letters`:
        words of letters alone are taken, if there are any.
        """
        places = [(source, place) for source in sources if not source.regions for place in range(len(source.words))]
        worded = [replaces(source.words[place], protection) for source, place in places]
        plain = [fits and source.words[place].isalpha() for fits, (source, place) in zip(worded, places, strict=True)]
        fitting = plain if letters and any(plain) else worded
        return {word: self._replaced(word, sources, places, fitting, protection, texts) for word in words}

    def _replaced(
        self,
        word: int,
        sources: Sequence[SourceAttention],
        places: Sequence[tuple[SourceAttention, int]],
        fitting: Sequence[bool],
        protection: Protection | None,
        given: Mapping[str, str],
    ) -> tuple[str, Replacement]:
        texts = [source for source in sources if not source.regions]
        weights = np.nan_to_num(np.concatenate([source.attention for source in texts], 1))
        row = weights[word] if weights[word].any() else -weights.sum(0)
        source, place = places[int(np.where(fitting, row, -np.inf).argmax())]
        known = self.dictionaries.get(source.name)
        copied = MARK.sub("", as_written(given.get(source.name, ""), source.words, place))
        found = known.translation(copied) if known else None
        if found and protection and protection.find(found):
            found = None
        text = self.target.text.normalise(copied if found is None else found)
        return text, Replacement(word, source.name, place, dictionary=found is not None)


def replaces(word: str, protection: Protection | None) -> bool:
    """Whether a source word can take the place of `<unk>`: there is something beside marks of protected spans in it,
    and no protected span, as another source has them.
    """
    copied = MARK.sub("", word)
    return bool(copied) and not (protection and protection.find(copied))


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
    text: str, spans: Sequence[Span], found: Mapping[int, str], kept: int = 0, *, apart: bool = False
) -> tuple[str, dict[int, str]]:
    """The text with the words at the `spans` of these numbers replaced, and those words. The first `kept` characters
    stay as they are: they are a prefix that was asked for. So do marks of protected spans. `apart`: with spaces around
    what is put in.
    """
    parts, words, done = list[str](), dict[int, str](), 0
    for word in sorted(found):
        begin, end = spans[word]
        first = max(begin, kept)
        replacement = _beside_marks(text[first:end], found[word], apart=apart)
        left = " " if apart and _touches(text, first, first - 1) else ""
        right = " " if apart and _touches(text, end - 1, end) else ""
        parts += [text[done:first], left + replacement + right]
        words[word], done = text[begin:first] + replacement, end
    return "".join([*parts, text[done:]]), words


def _touches(text: str, inside: int, beside: int) -> bool:
    """Whether a replaced character has another one beside it. Marks inside the word, which stay, keep theirs."""
    return 0 <= beside < len(text) and not text[beside].isspace() and not MARK.match(text, inside)


def _beside_marks(word: str, replacement: str, *, apart: bool) -> str:
    """What a word becomes. If marks of protected spans touch it, they stay, and so does all but what is unknown."""
    parts = _APART.split(word)
    unknown = [number for number, part in enumerate(parts) if UNKNOWN in part]
    if len(parts) == 1 or not unknown:
        return replacement
    for number in unknown:
        parts[number] = ""
    parts[unknown[0]] = replacement
    return (" " if apart else "").join(part for part in parts if part)
