"""Numbers in plurals of which the source does not tell the form."""

from pathlib import Path

import pytest

from dragoman.corpus import formats
from dragoman.corpus.plural_forms import plural_rule, read_forms
from dragoman.corpus.plural_numbers import example_numbers, put_number


@pytest.mark.parametrize(
    ("language", "numbers"),
    [
        ("de", {}),
        ("ja", {}),
        ("cs", {1: 2, 2: 5}),
        ("ru", {1: 2, 2: 5}),
        ("ar", {0: 0, 2: 2, 3: 3, 4: 11, 5: 100}),
        ("sl", {1: 2, 2: 3, 3: 5}),
    ],
)
def test_several_forms_of_more_than_one_have_a_number_each(language: str, numbers: dict[int, int]) -> None:
    rule = plural_rule(language)
    assert rule is not None
    forms = read_forms(rule.header)
    assert forms is not None
    assert example_numbers(forms) == numbers


@pytest.mark.parametrize(
    ("text", "numbered"),
    [
        ("%d files in %s", "5 files in %s"),
        ("%1$d of %(name)s", "5 of %(name)s"),
        ("%(count)d files", "5 files"),
        ("{count} files", "5 files"),
        ("%n file(s)", "5 file(s)"),
        ("%1 files", "5 files"),
        ("%lu files", "5 files"),
        ("%{count} files", "5 files"),
    ],
)
def test_the_placeholder_of_a_number_is_replaced_and_put_back(text: str, numbered: str) -> None:
    result = put_number(text, 5)
    assert result is not None
    assert result.text == numbered
    assert result.restore(numbered) == text
    assert result.restore(f"({numbered})") == f"({text})"


@pytest.mark.parametrize(
    "text",
    ["files", "%s files", "%d of %d", "%d of 5", "100 %done", "%1$s", "%10", "%1.1f", "%1s", "%%d", "{{n}}", "${n}"],
)
def test_texts_without_one_such_placeholder_stay(text: str) -> None:
    assert put_number(text, 5) is None


@pytest.mark.parametrize("translation", ["souborů", "5 z 5", "15 souborů", "5.5 souborů", "1,5 souborů", "5,5"])
def test_a_number_that_is_lost_or_doubled_is_not_put_back(translation: str) -> None:
    result = put_number("%d files", 5)
    assert result is not None
    assert result.restore(translation) is None


def test_training_pairs_have_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "cs.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n"Language: cs\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;\\n"\n\n'
        'msgid "%d cow"\nmsgid_plural "%d cows"\n'
        'msgstr[0] "%d kráva"\nmsgstr[1] "%d krávy"\nmsgstr[2] "%d krav"\n\n'
        'msgid "cow"\nmsgid_plural "cows"\nmsgstr[0] "kráva"\nmsgstr[1] "krávy"\nmsgstr[2] "krav"\n',
        "utf-8",
    )
    assert [unit.texts for unit in formats.read(str(path), ("en", "cs"))] == [
        ("%d cow", "%d kráva"),
        ("2 cows", "2 krávy"),
        ("5 cows", "5 krav"),
        ("cow", "kráva"),
        ("cows", "krávy"),
        ("cows", "krav"),
    ]


def test_a_form_for_one_number_has_it_in_the_source_if_not_in_the_target(tmp_path: Path) -> None:
    path = tmp_path / "he.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n"Language: he\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);\\n"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\n'
        'msgstr[0] "קובץ אחד"\nmsgstr[1] "שני קבצים"\nmsgstr[2] "%d קבצים"\n\n'
        'msgid "%d cow"\nmsgid_plural "%d cows"\n'
        'msgstr[0] "פרה אחת"\nmsgstr[1] "%u פרות"\nmsgstr[2] "פרות"\n',
        "utf-8",
    )
    assert [unit.texts for unit in formats.read(str(path), ("en", "he"))] == [
        ("%d file", "קובץ אחד"),
        ("2 files", "שני קבצים"),
        ("3 files", "3 קבצים"),
        ("%d cow", "פרה אחת"),
        ("%d cows", "%u פרות"),  # of another type
        ("%d cows", "פרות"),
    ]
