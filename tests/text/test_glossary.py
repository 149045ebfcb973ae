"""Terms in texts."""

import unicodedata

import pytest

from dragoman.text.glossary import Glossary, Term, Wholes, together


def forms(text: str, *terms: Term) -> list[tuple[str, tuple[str, ...]]]:
    return [(term.text, term.forms) for term in Glossary(terms).find(text)]


def test_whole_words_are_found_the_longest_first() -> None:
    terms = Term("print", ("drucken",)), Term("print queue", ("Warteschlange",)), Term("C++"), Term("印刷", ("a",))
    text = "print queue of the printer: print, C++; 今印刷中"
    assert [written for written, _ in forms(text, *terms)] == ["print queue", "print", "C++", "印刷"]
    (first, *_) = Glossary(terms).find(text)
    assert text[first.begin : first.end] == "print queue"
    assert (2, 7) in Wholes("a print")
    assert (0, 5) not in Wholes("printer")
    assert (3, 7) not in Wholes("a print")
    assert [*Wholes("on a pin on").occurrences(["on"])] == [(0, 2), (9, 11)]


@pytest.mark.parametrize(
    ("text", "term", "spans"),
    [
        ("रामायण राम!", "राम", [(7, 10)]),
        ("می\u200cخواهم می", "می", [(9, 11)]),
        ("می\u200c.", "می", [(0, 2)]),  # a non-joiner that joins nothing
        ("ภาษาไทย", "ไทย", [(4, 7)]),
        ("C++++", "C+++", [(0, 4)]),
    ],
)
def test_a_word_goes_on_with_its_combining_marks_and_non_joiners(
    text: str, term: str, spans: list[tuple[int, int]]
) -> None:
    assert [(occurrence.begin, occurrence.end) for occurrence in Glossary([Term(term)]).find(text)] == spans
    assert [*Wholes(text).occurrences([term])] == spans


@pytest.mark.parametrize(
    ("text", "term", "words"),
    [
        ("add an add-on", "add", ["add"]),
        ("the e-mail, a mail", "mail", ["mail"]),
        ("self\u2011made self", "self", ["self"]),
        ("state-of-the-art", "of", []),
        ("an add-on to add", "add-on", ["add-on"]),
        ("a big-add-on", "add-on", []),
        ("add -on, add- on, add--on, -add", "add", ["add"] * 4),
        ("in 印-刷 x", "印", ["印"]),
    ],
)
def test_a_hyphenated_word_is_one_word(text: str, term: str, words: list[str]) -> None:
    assert [written for written, _ in forms(text, Term(term, ("x",)))] == words


def test_the_terms_of_a_glossary_are_hashed_once() -> None:
    hashed: list[str] = []

    class Counted(str):
        __slots__ = ()

        def __hash__(self) -> int:
            hashed.append(self)
            return super().__hash__()

    first, again = Glossary([Term(Counted("a"))]), Glossary([Term("a")])
    assert {first: 1}[again] == 1
    assert hashed == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a printer", ("der Drucker", "Drucker")),
        ("a PRINTER", ("DER DRUCKER", "DRUCKER")),
        ("a Printer", ("Der Drucker", "Drucker")),
        ("Printer!", ("Der Drucker", "Drucker", "der Drucker")),
        ("a pRinter", ("der Drucker", "Drucker")),
    ],
)
def test_letter_case_is_that_of_the_source(text: str, expected: tuple[str, ...]) -> None:
    assert forms(text, Term("printer", ("der Drucker", "Drucker")))[0][1] == expected


def test_an_accelerator_before_a_word_is_no_part_of_it() -> None:
    assert forms("_File, the _file: my_file __file _1 _", Term("file", ("Datei",))) == [
        ("File", ("Datei",)),
        ("file", ("Datei",)),
    ]
    assert (1, 6) in Wholes("_Datei")


def test_a_term_with_a_capital_behind_a_letter_is_found_as_it_is_written() -> None:
    terms = Term("iPhone", ("iPhone X",)), Term("US", ("USA",)), Term("us", ("uns",)), Term("Polish", ("polnisch",))
    assert forms("an iPhone of US, for us, Us; polish IPHONE", *terms) == [
        *[("iPhone", ("iPhone X",)), ("US", ("USA",)), ("us", ("uns",)), ("Us", ("Uns",)), ("polish", ("polnisch",))]
    ]
    assert forms("it, IT, USES us", *terms[:2], Term("IT")) == [("IT", ("IT",))]
    assert forms("Linux LINUX", Term("linux")) == [("Linux", ("Linux",)), ("LINUX", ("LINUX",))]
    assert forms("US", *reversed(terms)) == [("US", ("USA",))]
    assert forms("US", terms[2]) == [("US", ("UNS",))]


def test_terms_are_found_however_their_characters_are_composed() -> None:
    (occurrence,) = Glossary([Term("café", ("Kaffeehaus",))]).find("un cafe\u0301 noir")
    assert (occurrence.text, occurrence.begin, occurrence.end, occurrence.forms) == (
        "cafe\u0301",
        3,
        8,
        ("Kaffeehaus",),
    )
    for source in ("cafe\u0301", " café ", "cafe\u0301\t"):  # and the terms are
        assert Glossary([Term(source, ("Kaffeehaus",))]).find("un cafe\u0301 noir") == [occurrence]


@pytest.mark.parametrize("before", ["한국 ", "ো ", "கொ ", "Å a\u0323\u0307 ", "\u2126 "])
def test_what_composes_before_a_term_does_not_move_it(before: str) -> None:
    text = unicodedata.normalize("NFD", before) + "cat sat"
    (occurrence,) = Glossary([Term("cat", ("chat",))]).find(text)
    assert (occurrence.text, text[occurrence.begin : occurrence.end]) == ("cat", "cat")


def test_terms_of_some_texts() -> None:
    glossary = Glossary([Term("café", ("Kaffee",)), Term("US", ("USA",)), Term("deux trois", ("drei",))])
    assert glossary.within(["un CAFE\u0301", "us"]).terms == (Term("café", ("Kaffee",)),)
    assert glossary.within(["US", "Deux trois"]).terms == glossary.terms[1:]
    assert glossary.untranslated.terms == (Term("café"), Term("US"), Term("deux trois"))


def test_blank_forms_are_none() -> None:
    assert Glossary([Term("two", ("", " ")), Term("one", ("", "un"))]).terms == (Term("two"), Term("one", ("un",)))


def test_of_several_files_the_last_decides() -> None:
    """As of several dictionaries."""
    both = together([Glossary([Term("a", ("b",))]), Glossary([Term("A", ("c",)), Term("d")])])
    assert both.terms == (Term("A", ("c",)), Term("d"))
    assert len(both) == 2
    assert len(together([Glossary([Term("US")]), Glossary([Term("us")])])) == 2
    assert Glossary().find("a") == []
