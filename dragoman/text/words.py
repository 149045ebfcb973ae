"""Words and characters as symbols, and the table of all tokenizers."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dragoman.configuration.values import Count
from dragoman.text.byte_level import ByteLevelBpe
from dragoman.text.pretokenizer import Pretokenizer, Span, of_word, punctuation
from dragoman.text.sentencepiece_model import SentencePiece
from dragoman.text.subword import Bpe, Unigram
from dragoman.text.subword_codes import SubwordCodes
from dragoman.text.tokenizer import JOINER, MARK, SPACE, ListTokenizer, Tokenizer, escape, spell, unescape

GLUE = JOINER + JOINER  # between what has no space between it, where neither side has a joiner


class Words(ListTokenizer):
    """Words as the pretokenizer splits them: the `vocab_size` most frequent ones that occur `minimum_frequency` times
    or more. All others are unknown.

    A joiner (U+FFED) marks a side of a symbol without a space: `l'` + joiner, joiner + `.`. White space other than a
    single space is a symbol too, so that decoding restores every text exactly. The mark of a protected span is the same
    symbol everywhere: if it touches a word or another mark, a symbol of two joiners stands between them.
    """

    whole_words = True

    def __init__(
        self, pretokenizer: Pretokenizer = punctuation, *, vocab_size: Count = 50_000, minimum_frequency: Count = 1
    ) -> None:
        super().__init__(pretokenizer)
        self.vocab_size = vocab_size
        self.minimum_frequency = minimum_frequency

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        """Learn the `vocab_size` most frequent words, or all of them if there are fewer."""
        self.learn(lines, self.vocab_size, self.minimum_frequency, [*reserved, GLUE] if reserved else [])

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        symbols: list[str] = []
        position = 0
        marked = escape(text) != text
        for begin, end in self._spans(text):
            word = escape(text[begin:end]) if marked else text[begin:end]
            gap = text[position:begin]
            if symbols and not gap:
                # The joiner is attached to the punctuation, so that a word is the same symbol everywhere.
                if glued(text, begin):
                    symbols.append(GLUE)
                elif text[begin].isalnum() or MARK.match(text, begin):
                    symbols[-1] += JOINER
                else:
                    word = JOINER + word
            elif gap != (" " if symbols else ""):
                symbols.append(_white(gap))
            symbols.append(word)
            position = end
        if position < len(text):
            symbols.append(_white(text[position:]))
        return symbols

    def _spans(self, text: str) -> list[Span]:
        """The spans of words, with each mark apart."""
        spans = self.pretokenizer(text)
        if not MARK.search(text):
            return spans
        cut = {place for match in MARK.finditer(text) for place in match.span()}
        return [
            (max(begin, left), min(end, right))
            for begin, end in spans
            for left, right in pairwise(sorted({begin, end, *(place for place in cut if begin < place < end)}))
        ]

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        surfaces = []
        joined = True
        for symbol in symbols:
            word = symbol.removeprefix(JOINER)
            core = word.removesuffix(JOINER)
            space = "" if joined or len(word) < len(symbol) else " "
            surfaces.append(space + unescape(core.replace(SPACE, " ")))
            joined = len(core) < len(word)
        return surfaces


def glued(text: str, place: int) -> bool:
    """Whether a mark touches a word or another mark at this place."""
    marks = [MARK.match(text, place - 1), MARK.match(text, place)]
    return all(mark or of_word(letter) for mark, letter in zip(marks, text[place - 1 :], strict=False)) and any(marks)


def _white(gap: str) -> str:
    return JOINER + escape(gap).replace(" ", SPACE) + JOINER


class Characters(ListTokenizer):
    """Characters (code points), with the space as U+2581; those that occur less than `minimum_frequency` times are
    unknown.
    """

    def __init__(self, pretokenizer: Pretokenizer = punctuation, *, minimum_frequency: Count = 1) -> None:
        super().__init__(pretokenizer)
        self.minimum_frequency = minimum_frequency

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        self.learn(lines, None, self.minimum_frequency, reserved)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        return list(escape(text).replace(" ", SPACE))

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        return spell(symbols)


TOKENIZERS: dict[str, type[Tokenizer]] = {
    "word": Words,
    "character": Characters,
    "bpe": Bpe,
    "unigram": Unigram,
    "sentencepiece": SentencePiece,
    "subword_codes": SubwordCodes,
    "byte_level_bpe": ByteLevelBpe,
}
