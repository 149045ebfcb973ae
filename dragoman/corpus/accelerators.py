"""Keyboard accelerators, the marks in a label that say which key chooses it: _File, &File, ~File, and 文件(_F)."""

import re
from typing import NamedTuple

MARKS = "_&~"
_MARKED = re.compile(rf"(?<!\S)[^\w\s{MARKS}]*?(\w*?)([{MARKS}])([^\W\d_][^\s{MARKS}]*)(?!\S)")
_BEHIND = re.compile(rf"\s*\([{MARKS}]\w\)")  # in scripts without letters on the keyboard
_CODE = re.compile(r"[<>{}$%=/\\@#\d]|&\w+;|\w\(|\.\w")  # placeholders, markup, paths, calls: no words of a label
_LETTERS = re.compile(r"[\w-]+")
_NAME = re.compile(rf"[A-Za-z0-9]*[{MARKS}][A-Za-z0-9]+")


class _Mark(NamedTuple):
    """The only mark of a text, which might be an accelerator."""

    mark: str
    word: str  # with the mark, without punctuation
    name: str  # that it would be a part of if it were none: the ASCII letters and digits around it
    begins: bool  # a word, or stands inside of one


def without(source: str, target: str) -> tuple[str, str]:
    """Both texts without their accelerators, where they have any.

    A mark may be one where it is the only one of its text, stands before a letter, and its word is not in the other
    text as it is (pg_upgrade, AT&T). One that begins a word with a capital may do so in both (_Name). Inside a word
    (Sa_ve), it stands before a small letter of a text that begins with no small one, and the other text has one, too:
    identifiers such as old_role are translated as well.
    """
    plain = tuple(_BEHIND.sub("", text) for text in (source, target))
    found = [_mark(text) for text in plain]
    behind = plain != (source, target)
    kept = []
    for text, here, other, against in zip(plain, found, reversed(found), reversed(plain), strict=True):
        answered = behind or (here is not None and other is not None and here.mark == other.mark)
        kept.append(text.replace(here.mark, "", 1) if here and _is_one(here, against, answered) else text)
    return kept[0], kept[1]


def _mark(text: str) -> _Mark | None:
    if sum(map(text.count, MARKS)) != 1:
        return None
    found = _MARKED.search(text)
    if not found or _CODE.search(found[0]):
        return None
    before, mark, rest = found.groups()
    letters = _LETTERS.match(rest)
    first = next(filter(str.isalpha, text), "")
    if before and (rest[0].isupper() or first.islower()):
        return None
    word = before + mark + (letters[0] if letters else "")
    name = _NAME.search(word)
    return _Mark(mark, word, name[0] if name else word, not before)


def _is_one(here: _Mark, against: str, answered: bool) -> bool:
    """Whether the mark is an accelerator; `answered`: the other text has one of the kind."""
    if here.name in against:
        return answered and here.begins and here.word[1].isupper()
    return answered or here.begins
