"""Terms of a catalogue: short texts, where longer ones contain them, and the forms of their translation there."""

import pytest

from dragoman.corpus.catalogue_terms import TermUse, learn
from dragoman.corpus.examples import Pair
from dragoman.text.glossary import Term


def uses(*pairs: tuple[str, str], min_count: int = 1) -> dict[str, TermUse]:
    """The uses of the terms of pairs, by term."""
    return {use.term.source: use for use in learn([Pair(*pair) for pair in pairs], min_count=min_count)}


def test_forms_are_those_of_longer_texts_the_most_frequent_first() -> None:
    use = uses(
        ("Account", "Konto"),
        ("Delete the account", "Das Konto löschen"),
        ("Name of an account", "Name eines Kontos"),
        ("Import into account", "In das Konto importieren"),
        ("Account %s is empty", "%s ist leer"),
    )
    assert use == {"account": TermUse(Term("account", ("Konto", "Kontos")), 3, 4)}
    assert use["account"].share == 0.75


@pytest.mark.parametrize(
    ("target", "form"),
    [
        ("Neue Ebene", "Ebene"),
        ("Neue Ebenen", "Ebenen"),
        ("eine neue ebene", "ebene"),
        ("Neue Ebenenmaske", "Ebene"),  # in a compound
        ("Neue Schicht", ""),
        ("Neue Ebbe", ""),  # three letters in common
        ("Neue Eben", "Eben"),
    ],
)
def test_a_form_has_the_letters_of_the_translation_but_for_its_end(target: str, form: str) -> None:
    use = uses(("layer", "Ebene"), ("new layer", target))["layer"]
    assert use == TermUse(Term("layer", (form or "Ebene",)), bool(form), 1)


def test_terms_of_several_words_hide_those_within_them() -> None:
    use = uses(
        ("layer", "Ebene"), ("layer mask", "Ebenenmaske"), ("Add layer mask", "Ebenenmaske hinzufügen"), ("Go", "Los")
    )
    assert use["layer mask"] == TermUse(Term("layer mask", ("Ebenenmaske",)), 1, 1)
    assert use["layer"].texts == 1  # in the short text alone
    assert "Go" not in use


def test_elided_words_are_compared_by_themselves() -> None:
    use = uses(("l'image", "the picture"), ("ouvrir l'image", "open the picture"))
    assert use == {"l'image": TermUse(Term("l'image", ("the picture",)), 1, 1)}


def test_words_without_spaces_are_kept_within_others() -> None:
    assert uses(("layer", "レイヤー"), ("new layer", "新しいレイヤー"))["layer"].kept == 1


def test_marks_at_the_end_and_letter_case_make_no_difference_but_in_names() -> None:
    use = uses(("Layers:", "Ebenen:"), ("all layers", "alle Ebenen"), ("US", "USA"), ("show us", "zeige uns"))
    assert use == {"layers": TermUse(Term("layers", ("Ebenen",)), 1, 1)}


@pytest.mark.parametrize(
    "short", [("%s", "%s"), ("GNU", "GNU"), ("Add %d", "%d dazu"), ("a b c d", "e"), ("a", "b c d e")]
)
def test_placeholders_copies_and_longer_texts_are_no_terms(short: tuple[str, str]) -> None:
    source, target = short
    assert uses(short, (f"{source} now", f"{target} jetzt")) == {}


def test_of_several_translations_the_most_frequent_counts() -> None:
    pairs = [("view", "Ansicht"), ("View", "Zeigen"), ("view.", "Ansicht"), ("view all", "alle zeigen")]
    assert uses(*pairs)["view"] == TermUse(Term("view", ("Ansicht",)), 0, 1)


def test_terms_that_few_longer_texts_contain_are_left_out() -> None:
    pairs = ("layer", "Ebene"), ("new layer", "neue Ebene"), ("old layer", "alte Ebene"), ("layer layer", "Ebene")
    assert list(uses(*pairs, min_count=3)) == ["layer"]
    assert uses(*pairs, min_count=4) == {}


def test_rare_forms_are_left_out() -> None:
    longer = [(f"account {number}", "Konto") for number in range(21)]
    assert uses(("account", "Konto"), *longer, ("accounting", "x"), ("my account", "Kontos"))["account"].term.forms == (
        "Konto",
    )
