"""Changes in a text, word by word: in color in a terminal, or as an HTML page."""

from collections.abc import Iterable, Iterator
from enum import Enum
from html import escape
from typing import NamedTuple

from rich.text import Text

from dragoman.text.edits import DELETE, KEEP, operations
from dragoman.text.normalizer import composed, printable

STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--rule:#d9dce1;--new:#0b7a3e;--old:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e7ea;--paper:#16181c;--rule:#3a3f47;--new:#5fd38d;--old:#ff8a80}}
body{font:16px/1.5 system-ui,"Segoe UI","Noto Sans",sans-serif;color:var(--ink);background:var(--paper);
max-width:60rem;margin:2rem auto;padding:0 1rem}
li{padding:.6rem 0;border-top:1px solid var(--rule)}
.source{opacity:.7}
ins{color:var(--new);text-decoration:underline;text-underline-offset:.2em}
del{color:var(--old);text-decoration:line-through}
"""


class Change(Enum):
    """What happened to a word."""

    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"


class Word(NamedTuple):
    """A word of either text."""

    text: str
    change: Change


class Revision(NamedTuple):
    """A text before and after post-editing, and the source that it translates. Both texts are compared in NFC, which is
    what a model reads and writes.
    """

    source: str
    before: str
    after: str

    @property
    def words(self) -> list[Word]:
        """The words of both texts; deleted words come before those inserted in their place."""
        return list(_together(*self._texts))

    @property
    def changed(self) -> bool:
        before, after = self._texts
        return before != after

    @property
    def _texts(self) -> tuple[list[str], list[str]]:
        """The words before and after."""
        return composed(self.before).split(), composed(self.after).split()


def _together(before: list[str], after: list[str]) -> Iterator[Word]:
    rest = iter(before)
    inserted: list[Word] = []
    for operation in operations(before, after):
        if operation == DELETE:
            yield Word(next(rest), Change.DELETED)
        elif operation == KEEP:
            yield from inserted
            inserted = []
            yield Word(next(rest), Change.KEPT)
        else:
            inserted.append(Word(str(operation), Change.INSERTED))
    yield from inserted


STYLES = {Change.KEPT: "", Change.DELETED: "red strike", Change.INSERTED: "green bold"}
TAGS = {Change.KEPT: "{}", Change.DELETED: "<del>{}</del>", Change.INSERTED: "<ins>{}</ins>"}


def terminal(revision: Revision) -> Text:
    """Return the words for `rich.print`: deleted ones red and struck through, inserted ones green and bold. Without
    colors, they are written as `[-old-]` and `{+new+}`.
    """
    rendered = Text()
    for number, (text, change) in enumerate(revision.words):
        marked = {Change.KEPT: "{}", Change.DELETED: "[-{}-]", Change.INSERTED: "{{+{}+}}"}[change].format(
            printable(text)
        )
        rendered.append(" " * bool(number)).append(marked, STYLES[change])
    return rendered


def page(title: str, revisions: Iterable[Revision]) -> str:
    """Return a complete HTML page with all revisions. Texts are shown as they are, never taken for markup."""
    items = "\n".join(
        f'<li><div class="source" dir="auto">{escape(entry.source)}</div>\n<div dir="auto">{_marked(entry)}</div></li>'
        for entry in revisions
    )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = f"<h1>{escape(title)}</h1>\n<ol>\n{items}\n</ol>"
    return f"<!doctype html>\n<html>\n<head>{head}<style>{STYLE}</style></head>\n<body>{body}</body>\n</html>\n"


def _marked(revision: Revision) -> str:
    return " ".join(TAGS[change].format(escape(text)) for text, change in revision.words)
