"""The text of a catalogue after a translation, as other programs read it, and line by line."""

from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest

from dragoman.documents.document import File
from dragoman.documents.passages import split_text
from dragoman.documents.po import PoDocument
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from tests.catalogues import FILLED, PLURALS, READERS, catalogue, check_by_msgfmt, check_lines, check_messages


def filled(text: str, quality: float | None = None, language: str = "de") -> str:
    """The catalogue, with every line in brackets."""
    document = PoDocument(File(f"{language}.po", text.encode(), ("en", language)))
    translations: list[TranslatedText] = []
    for line in document.lines:
        passage = split_text(line.text, "en", sentences=False)
        sentences = (TranslatedSentence(f"<{sentence}>") for sentence in passage.sentences)
        translations.append(TranslatedText(passage, tuple(sentences)))
    with patch.object(TranslatedText, "quality", quality):
        return document.written(translations).decode()


@pytest.mark.parametrize("language", PLURALS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("quality", [None, 0.5])
def test_other_programs_read_the_same_but_for_the_drafts(reader: str, language: str, quality: float | None) -> None:
    text = catalogue(language)
    result = filled(text, quality, language)
    assert len(check_messages(reader, text, result, calibrated=quality is not None)) == FILLED
    check_lines(text, result)
    assert filled(result, quality, language) == result


@pytest.mark.parametrize("language", PLURALS)
def test_msgfmt_accepts_what_is_written(language: str, tmp_path: Path) -> None:
    for name, text in (("old.po", catalogue(language)), ("new.po", filled(catalogue(language), 0.5, language))):
        (tmp_path / name).write_text(text, "utf-8")
        check_by_msgfmt(tmp_path / name)


HEADER = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"X-One: 1\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
MESSAGE = '# long {}\n#| msgid "five"\nmsgid "six"\nmsgstr ""\n'.format("comment " * 20)


DRAFT = ["# dragoman: confidence 50%", 'msgstr "<six>"']
UTF_8 = r'"Content-Type: text/plain; charset=UTF-8\n"'
ASCII = UTF_8.replace("UTF-8", "ASCII")
NO_HEADER = ['msgid ""', UTF_8, r'"Language: de\n"', ""]


@pytest.mark.parametrize(
    ("before", "dropped", "added"),
    [
        (f"{HEADER}\n{MESSAGE}\n# end\n", ['msgstr ""'], ["#, fuzzy", *DRAFT]),
        (f'msgid "one"\nmsgstr "eins"\n\n{HEADER}\n{MESSAGE}', ['msgstr ""'], ["#, fuzzy", *DRAFT]),
        (MESSAGE, [], ["#, fuzzy", *NO_HEADER, *DRAFT]),
        (
            f"{HEADER.replace(UTF_8, ASCII)}\n#,c-format\n#, no-wrap\n{MESSAGE}",
            ["#,c-format", 'msgstr ""', ASCII],
            ["#,c-format, fuzzy", *DRAFT, UTF_8],
        ),
        (f'{HEADER}\nmsgid "one"\nmsgstr "eins"\n#~ msgid "six"\n#~ msgstr ""\n', [], []),
    ],
    ids=["a message", "a header that is not the first", "no header", "another encoding", "nothing to translate"],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_only_lines_of_drafts_change(before: str, dropped: list[str], added: list[str], line_end: str) -> None:
    result = filled(before.replace("\n", line_end), 0.5)
    assert result.count("\n") == result.count(line_end)
    old, new = Counter(before.split("\n")), Counter(result.split(line_end))
    assert sorted((old - new).elements()) == sorted(dropped)
    assert sorted((new - old).elements()) == sorted(added)
