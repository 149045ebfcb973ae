"""Keyboard accelerators, the marks in a label that say which key chooses it: _File, &File, ~File, and 文件(_F)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.text.pretokenizer import COMBINING

MARKS = "_&~"
LABEL = 10  # words of a text with a mark inside of one, at most: longer ones are sentences about identifiers
LONGEST_LABEL = 200  # characters
PART = (
    3  # letters before such a mark, or after it, at most (Se_lection, Copie_s, not user_name), if both texts have one
)
_MARKED = re.compile(rf"(?<!\S)[^\w\s{MARKS}]*?((?:\w{COMBINING}*)*?)([{MARKS}])([^\W\d_][^\s{MARKS}]*)(?!\S)")
_BEHIND = re.compile(rf"\s*\([{MARKS}]\w\)")  # in scripts without letters on the keyboard
_BEHIND_LABEL = re.compile(rf"\s*\([{MARKS}][^\W\d_]\)(?=\s*(?:\.{{3}}|…)?\s*[:：]?\s*$)")
_CODE = re.compile(r"[<>{}$%=/\\@#\d]|&[\w-]+;|\w\(|\.\w")  # placeholders, markup, paths, calls: no words of a label
_LETTERS = re.compile(r"[\w-]+")
_ENDED = re.compile(r"[.!?]\s*$")  # as sentences are, and labels are not, but for an ellipsis
_ELLIPSIS = re.compile(r"(?:\.{3}|…)\s*$")
_TRAILING = re.compile(r"[\s.…:：。]*$")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # kana, ideographs, Hangul
_ENTITY = re.compile(r"&(?:[a-zA-Z]\w{1,30}|#\w{1,7});")
# A capital and a consonant with which hardly any word begins, unlike Cl, Kn, Ps, St or Wh.
_VARIABLE = re.compile("[BCDFHJLMNQRTVWX][^aeiouyhlrw\\W\\d_]", re.ASCII)
_NAME = re.compile(rf"[A-Za-z0-9]*[{MARKS}][A-Za-z0-9]+")


class _Mark(NamedTuple):
    """The only mark of a text, which might be an accelerator."""

    mark: str
    before: str  # the letters of its word on either side
    after: str
    name: str  # that it would be a part of if it were none: the ASCII letters and digits around it


class Accelerator(NamedTuple):
    """The accelerator of a label: its mark, its letter, and the span of the label that it takes."""

    mark: str
    letter: str
    begin: int
    end: int

    def insertion(self, text: str, taken: Sequence[tuple[int, int]] = ()) -> tuple[int, str]:
        """Return where to put what into a translation without the mark, outside spans that are taken: the mark before
        the same letter, of a word's beginning if possible, or else before the first letter; in Chinese, Japanese and
        Korean the letter in brackets after the text, `(_F)`. Nothing is put where no place is, or a mark already.
        """
        free = "".join(
            " " if any(begin <= place < end for begin, end in taken) else sign for place, sign in enumerate(text)
        )
        if re.search(rf"{re.escape(self.mark)}[^\W\d_]", free):
            return 0, ""
        if _EAST_ASIAN.search(text):
            trailing = _TRAILING.search(text)
            return trailing.start() if trailing else len(text), f"({self.mark}{self.letter.upper()})"
        letters = [place for place, sign in enumerate(free) if sign.isalpha()]
        same = [place for place in letters if text[place].casefold() == self.letter.casefold()]
        initial = [place for place in same if not text[:place][-1:].isalnum()]
        place = next(iter(initial or same or letters), None)
        return (0, "") if place is None else (place, self.mark)


def find_accelerator(text: str) -> Accelerator | None:
    """Return the accelerator of a label in one language, if it has one. Where `remove_accelerators` compares two texts,
    this one looks at the text alone: a mark begins a word of a text that begins with a capital, or is inside a word
    that is no identifier (E_xit, Cl_ose, but not old_role). A text that ends as a sentence does is no label.
    """
    if len(text) > LONGEST_LABEL or "\n" in text:
        return None
    if _BEHIND.search(text):  # elsewhere than at the end, it is a figure or name: (~8), (_i)
        bracketed = _BEHIND_LABEL.search(text)
        return Accelerator(bracketed[0][-3], bracketed[0][-2], *bracketed.span()) if bracketed else None
    # An ampersand between spaces is a word, and an entity no mark.
    text = _ENTITY.sub(lambda entity: "+" * len(entity[0]), text.replace(" & ", " + "))
    here = _mark(text)
    if here is None or len(text.split()) > LABEL or (_ENDED.search(text) and not _ELLIPSIS.search(text)):
        return None
    first = next(filter(str.isalpha, text), "")
    if first.islower() or (here.mark == "_" and here.before and not _divides_label(here)):
        return None
    place = text.index(here.mark)
    return Accelerator(here.mark, here.after[0], place, place + 1)


def _divides_label(mark: _Mark) -> bool:
    """Return whether an underline inside a word is an accelerator's (E_xit, C_lose) and no part of an identifier: that
    may be a variable with an index (T_max, X_train), whose letters no word begins with.
    """
    before = mark.before
    if _VARIABLE.fullmatch(before + mark.after[:1]):
        return False
    return before[:1].isupper() or len(before) == 1


def remove_accelerators(source: str, target: str) -> tuple[str, str]:
    """Both texts without their accelerators, where they have any.

    A mark may be one where it is the only one of its text, stands before a letter, and its word is no word of the other
    text (pg_upgrade, AT&T). One that begins a word with a capital may do so in both (_Name). Inside a word (Sa_ve), it
    stands before a small letter of a label, which begins with no small one, and the other text has one, too:
    identifiers such as old_role are translated as well. Where that stands inside a word, too, they look like no
    identifier (`_divide_no_words`).
    """
    plain = tuple(_BEHIND.sub("", text) for text in (source, target))
    marks = [_mark(text) for text in plain]
    one, two = marks
    if one and two and one.before and two.before and not _divide_no_words(one, two):
        return source, target
    after = plain != (source, target)
    kept = []
    for text, here, other, against in zip(plain, marks, reversed(marks), reversed(plain), strict=True):
        answered = after or (here is not None and other is not None and here.mark == other.mark)
        kept.append(text.replace(here.mark, "", 1) if here and _is_one(here, against, answered) else text)
    return kept[0], kept[1]


def remove_from_all(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a unit, the source first and the target last, without their accelerators. A text alone, with
    which none can be compared, stays as it is.
    """
    if len(texts) < 2:
        return tuple(texts)
    source, *further, target = texts
    plain_source, plain_target = remove_accelerators(source, target)
    return plain_source, *(remove_accelerators(source, text)[1] for text in further), plain_target


def _mark(text: str) -> _Mark | None:
    if sum(map(text.count, MARKS)) != 1:
        return None
    match = _MARKED.search(text)
    if not match or _CODE.search(match[0]):
        return None
    before, mark, rest = match.groups()
    letters = _LETTERS.match(rest)
    first = next(filter(str.isalpha, text), "")
    if before and (rest[0].isupper() or first.islower() or len(text.split()) > LABEL):
        return None
    if mark == "~" and first.islower():  # about, as in ~half of them
        return None
    word = before + mark + (letters[0] if letters else "")
    name = _NAME.search(word)
    return _Mark(mark, before, letters[0] if letters else "", name[0] if name else word)


def _is_one(here: _Mark, against: str, answered: bool) -> bool:
    """Whether the mark is an accelerator; `answered`: the other text has one of the kind."""
    if re.search(rf"(?<![A-Za-z0-9]){re.escape(here.name)}(?![A-Za-z0-9])", against):
        return answered and not here.before and here.after[:1].isupper()
    return answered or not here.before


def _divide_no_words(source: _Mark, target: _Mark) -> bool:
    """Whether marks inside words of both texts stand anywhere, and not between two words, which are translated each
    (user_name and Benutzer_name, R&d and F&e).
    """
    if source.name.islower() and target.name.startswith(source.name):  # one that is declined: pg_controlu
        return False
    one, other = ((mark.before.casefold(), mark.after.casefold()) for mark in (source, target))
    for same, differ in ((0, 1), (1, 0)):
        if len(one[same]) >= PART and one[same] == other[same] and one[differ][:1] != other[differ][:1]:
            return False
    return min(map(len, one)) <= PART and (source.mark != "&" or len("".join(one)) >= PART)
