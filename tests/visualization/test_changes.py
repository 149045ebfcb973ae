"""Changes shown word by word."""

import pytest
from rich.console import Console

from dragoman.visualization.changes import Change, Revision, page, terminal

REVISION = Revision("a <b> source", "good old day & night", "good new evening & <i>night</i>")


@pytest.mark.spec("C13")
def test_words_are_kept_deleted_or_inserted() -> None:
    kept, deleted, inserted = Change.KEPT, Change.DELETED, Change.INSERTED
    assert REVISION.words == [
        ("good", kept),
        ("old", deleted),
        ("day", deleted),
        ("new", inserted),
        ("evening", inserted),
        ("&", kept),
        ("night", deleted),
        ("<i>night</i>", inserted),
    ]
    assert REVISION.changed
    assert not Revision("", "a  b", "a b").changed
    assert Revision("", "", "").words == []


def test_a_word_in_another_form_of_unicode_is_kept() -> None:
    revision = Revision("", "un e\u0301te\u0301 nu", "un \u00e9t\u00e9 nu")
    assert [change for _, change in revision.words] == [Change.KEPT] * 3
    assert not revision.changed
    assert [change for _, change in Revision("", "\u00e9t\u00e9", "e\u0301te\u0301").words] == [Change.KEPT]
    assert Revision("", "e\u0301te\u0301", "ete").changed


@pytest.mark.spec("C13")
def test_the_page_takes_no_text_for_markup() -> None:
    html = page("run <1>", [REVISION])
    assert "a &lt;b&gt; source" in html
    assert "<title>run &lt;1&gt;</title>" in html
    assert (
        "good <del>old</del> <del>day</del> <ins>new</ins> <ins>evening</ins> &amp; "
        "<del>night</del> <ins>&lt;i&gt;night&lt;/i&gt;</ins>" in html
    )


@pytest.mark.spec("C13")
def test_the_terminal_tells_it_without_colors_too() -> None:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(terminal(REVISION))
    assert capture.get() == "good [-old-] [-day-] {+new+} {+evening+} & [-night-] {+<i>night</i>+}\n"
    colored = Console(width=200, force_terminal=True, color_system="standard")
    with colored.capture() as capture:
        colored.print(terminal(REVISION))
    assert "\x1b[1;32m{+new+}" in capture.get()


def test_a_terminal_is_given_nothing_to_obey() -> None:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(terminal(Revision("", "a\x1b]0;title\x07 \u202edlo", "a\x1b]0;title\x07 new\x9b2J")))
    assert capture.get() == "a\\x1b]0;title\\x07 [-\\u202edlo-] {+new\\x9b2J+}\n"
