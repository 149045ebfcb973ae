"""Words in the place of `<unk>`: the source word attended to most, as a dictionary translates it or as it is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import torch

from dragoman.corpus.dictionary import Dictionary
from dragoman.data.language import Language
from dragoman.model.predictor import Predictor
from dragoman.search.constraints import Constraint, NoUnknownInSentences
from dragoman.search.spans import FilteredSpellings
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import Span
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARK, UNKNOWN
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.sentence import Sentence, TextTransform
from dragoman.translation.source_inputs import has_text, spelled
from dragoman.translation.transforms.tag_placement import places
from dragoman.translation.translation import Replacement, Translation

_APART: Final = re.compile(f"({MARK.pattern})")
_normalize = Normalizer(lowercase=False)


@dataclass(frozen=True, eq=False)
class UnknownWords(TextTransform):
    """Each word with an `<unk>` becomes `argmax_e P_dict(e | f)`, where f is the source word that it attended to most,
    or f itself if no dictionary has it (Luong et al. 2015). `dictionaries` are by source.

    f is the word of highest weight in all texts, as it is written there; a sentinel, an end symbol, a mark, regions and
    words with a protected span of their own are no such words. If no word has any weight, it is the word that the whole
    translation attended to least. Of equal words it is the first. Marks of protected spans are no words, and left out
    where a word has them.
    """

    applies_to = attrgetter("may_lack_words")
    applies_to_translation = attrgetter("has_unknown")

    target: Language
    dictionaries: Mapping[str, Dictionary] = field(default_factory=dict)
    spells: bool = False  # the model spells all of its words, and may say `<unk>` before it does

    def prepare(self, sentence: Sentence) -> Sentence:
        """Sentences that are noted have no word that can take the place of `<unk>`."""
        return sentence if sentence.attends and has_word(sentence) else sentence.noted(self)

    def constraints(self, batch: Sequence[Sentence], device: torch.device, *, strict: bool) -> list[Constraint]:
        if self.spells:
            return []
        return [NoUnknownInSentences(torch.tensor([self in sentence.notes for sentence in batch], device=device))]

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        """The translation with words in the place of `<unk>`, beside which its placeholders stay what they are."""
        steps = [step.word for step in translation.steps if step.symbol == UNKNOWN and step.word is not None]
        unknown = sorted({word for word in steps if UNKNOWN in translation.words[word]})
        if not unknown:
            return translation
        protection, kept = sentence.protection, len(sentence.written_prefix)
        spans = list(places(translation.words, translation.text))
        pairs = zip(sentence.sources, sentence.prepared_inputs, strict=True)
        texts = {source.name: str(text) for source, text in pairs}
        for letters, apart in product((False, True), repeat=2):
            replaced = self.replaced(unknown, translation.sources, protection, texts, letters=letters)
            words = {word: copied for word, (copied, _) in replaced.items()}
            text, changed = substituted(translation.text, spans, words, kept, apart=apart)
            # What is copied may be read as a part of the span beside it, or make one with what is around it.
            restored, protected = sentence.restore(text)
            if not protection or protection.find(restored) == protected:
                break
        return replace(
            translation,
            text=text,
            words=[changed.get(number, word) for number, word in enumerate(translation.words)],
            replaced=tuple(replacement for _, replacement in replaced.values()),
        )

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
        source_texts: Mapping[str, str],
    ) -> tuple[str, Replacement]:
        texts = [source for source in sources if not source.regions]
        weights = np.nan_to_num(np.concatenate([source.attention for source in texts], 1))
        row = weights[word] if weights[word].any() else -weights.sum(0)
        source, place = places[int(np.where(fitting, row, -np.inf).argmax())]
        dictionary = self.dictionaries.get(source.name)
        copied = MARK.sub("", as_written(source_texts.get(source.name, ""), source.words, place))
        entry = dictionary.translation(copied) if dictionary else None
        if entry and protection and protection.find(entry):
            entry = None
        text = self.target.text.normalize(copied if entry is None else entry)
        return text, Replacement(word, source.name, place, dictionary=entry is not None)


@dataclass(frozen=True, eq=False)
class ProtectedSpellings(TextTransform):
    """Words that a model spells itself are no protected spans: these come from the source. Where it spells nothing
    else, the word is unknown if `unknown_words` can replace it.
    """

    applies_to = attrgetter("is_protected")

    unknown_words: UnknownWords | None

    def prepare(self, sentence: Sentence) -> Sentence:
        return sentence.noted(self)

    def wrap(self, predictor: Predictor[Any], batch: Sequence[Sentence], device: torch.device) -> Predictor[Any]:
        protection, unknown_words = batch[0].protection, self.unknown_words
        assert protection is not None
        replaced = unknown_words is not None and not any(unknown_words in sentence.notes for sentence in batch)
        return FilteredSpellings(predictor, lambda word: not protection.find(word), replaced=replaced)


def has_word(sentence: Sentence) -> bool:
    """Whether a source has a word that can take the place of `<unk>`."""
    if not has_text(sentence.truncated):
        return False
    protection = sentence.protection
    if not protection:
        return True
    read = zip(sentence.model_inputs.encoded_sources, sentence.truncated, strict=True)
    texts = ((source, spelled(symbols)) for source, symbols in read if isinstance(source, Language))
    return any(replaces(word, protection) for source, text in texts for word in source.text.words(text).words)


def replaces(word: str, protection: Protection | None) -> bool:
    """Whether a source word can take the place of `<unk>`: there is something beside marks of protected spans in it,
    and no protected span, as another source has them.
    """
    copied = MARK.sub("", word)
    return bool(copied) and not (protection and protection.find(copied))


def as_written(text: str, words: Sequence[str], place: int) -> str:
    """A word of a text as it stands there, if it was read in lower case."""
    written, begin, end = _normalize(text), 0, 0
    read = written.lower()
    for word in words[: place + 1]:
        begin = read.find(word, end)
        if begin < 0 or len(read) != len(written):
            return words[place]
        end = begin + len(word)
    return written[begin:end]


def substituted(
    text: str, spans: Sequence[Span], replacements: Mapping[int, str], kept: int = 0, *, apart: bool = False
) -> tuple[str, dict[int, str]]:
    """The text with the words at the `spans` of these numbers replaced, and those words. The first `kept` characters
    stay as they are: they are a prefix that was asked for. So do marks of protected spans. `apart`: with spaces around
    what is put in.
    """
    parts, words, done = list[str](), dict[int, str](), 0
    for word in sorted(replacements):
        begin, end = spans[word]
        first = max(begin, kept)
        replacement = _beside_marks(text[first:end], replacements[word], apart=apart)
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
