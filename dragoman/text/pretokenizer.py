"""Pretokenizers, which map a text to the spans of its words."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final

Span = tuple[int, int]  # begin and end, in characters
Pretokenizer = Callable[[str], list[Span]]

# `\w` does not match combining marks and (non-)joiners, but they belong to the letter before them.
_MARKS = "".join(
    chr(code)
    for code in [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)]
    if unicodedata.category(chr(code)).startswith("M")
)
COMBINING = rf"[{_MARKS}\u200c\u200d]"
PIECE = rf"\w+(?:{COMBINING}\w*)*"  # letters and digits of any script
_ELISION = "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|un|dell|nell|dall|all|sull|quell|quest|bell"
_WORD = re.compile(
    rf"""
    \w+(?=[ ])                                         # most words, found at once
  | (?i:{_ELISION})['\u2019](?=[^\W\d_])(?!s\b|mon\b)  # l'|homme, d'|eau, qu'|il; but t's, c'mon
  | {PIECE}(?:                                        # don't, we're, aujourd'hui, o'clock, well-known
      (?:[-'\u2019]|(?<=\d)[.,:/](?=\d)){PIECE}       # 1,000  3.5  10:30
    )*
  | \.\.+                                              # an ellipsis of dots
  | [^\w\s]{COMBINING}*                                # one mark of punctuation
    """,
    re.VERBOSE,
)
# Chinese and Japanese, with their punctuation and full-width forms: no spaces between sentences either.
CJK: Final = "\u3000-\u312f\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff"
# Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
SPACELESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_HAN = re.compile("[\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_CHINESE_OR_JAPANESE = re.compile(f"[{CJK}]")
# Where no syllable begins: after vowels of Thai and Lao that are written before their consonant; before combining
# marks, further vowels and repetition marks of these, small kana, and the marks of long vowels and repetition.
_WITHIN_SYLLABLE = re.compile(
    rf"(?<=[\u0e40-\u0e44\u0ec0-\u0ec4])|{COMBINING}|[\u0e30\u0e32\u0e33\u0e45\u0e46\u0eb0\u0eb2\u0eb3\u0ec6"
    r"\u3005\u30fc\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087\u30a1\u30a3\u30a5\u30a7\u30a9\u30c3\u30e3\u30e5\u30e7]"
)
_RUN = re.compile("[^ ]+")
_OF_WORD = re.compile(rf"(?![\ufe00-\ufe0f\u20d0-\u20ff\U000e0100-\U000e01ef]){COMBINING}")  # but those of symbols


def of_word(character: str) -> bool:
    """Whether a character is a part of words: a letter, a digit, a combining mark, or a (non-)joiner."""
    return character.isalnum() or _OF_WORD.match(character) is not None


def spaceless(character: str) -> bool:
    """Whether a character is of a script without spaces between words."""
    return _SPACELESS.match(character) is not None


def chinese_or_japanese(character: str) -> bool:
    """Whether a character is of Chinese or Japanese, their punctuation included."""
    return _CHINESE_OR_JAPANESE.match(character) is not None


def bleu_tokenization(letters: Mapping[str, int] | Mapping[str, float]) -> str | None:
    """How BLEU should separate the words of a text with these numbers of each character, where most are of scripts
    without spaces: `zh` for Chinese, `char` for others; None where spaces part them.
    """
    unspaced = {character: count for character, count in letters.items() if spaceless(character)}
    total = sum(unspaced.values())
    if 2 * total <= sum(count for character, count in letters.items() if of_word(character)):
        return None
    chinese = sum(count for character, count in unspaced.items() if _HAN.match(character))
    return "zh" if chinese > 0.95 * total else "char"  # Japanese has kana between


def divide_spaceless(text: str, spans: list[Span], boundaries: Iterable[int]) -> list[Span]:
    """Divide the words of scripts without spaces, which pretokenizers take for one as far as there is no punctuation,
    at the boundaries of the symbols of a model, but not within syllables.
    """
    if _SPACELESS.search(text) is None:
        return spans
    cuts = [
        place
        for place in sorted(set(boundaries))
        if 0 < place < len(text)
        and _SPACELESS.search(text, place - 1, place + 1)
        and not _WITHIN_SYLLABLE.match(text, place)
    ]
    divided: list[Span] = []
    first = 0
    for begin, end in spans:
        while first < len(cuts) and cuts[first] < end:
            if cuts[first] > begin:
                divided.append((begin, cuts[first]))
                begin = cuts[first]
            first += 1
        divided.append((begin, end))
    return divided


def punctuation(text: str) -> list[Span]:
    """Split punctuation from words, and elided words after their apostrophe: `l'|homme`, `d'|eau`, `qu'|il`.

    English contractions (`don't`, `we're`), other words that contain an apostrophe (`aujourd'hui`, `o'clock`),
    hyphenated words and numbers (`1,000`, `3.5`, `10:30`, `12th`) stay whole. ' and U+2019 are treated the same.
    """
    return [match.span() for match in _WORD.finditer(text)]


def whitespace(text: str) -> list[Span]:
    """Split at spaces (U+0020) alone."""
    return [match.span() for match in _RUN.finditer(text)]


PRETOKENIZERS: dict[str, Pretokenizer] = {"punctuation": punctuation, "whitespace": whitespace}
