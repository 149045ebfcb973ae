"""Rules of plurals: each numbers exactly the forms that it names, and is the one of its language."""

from gettext import c2py

import pytest

from dragoman.corpus import plural_forms
from dragoman.corpus.naming import is_language
from dragoman.corpus.plural_forms import Forms, plural_rule, read_forms


def test_every_rule_selects_each_of_its_forms() -> None:
    for code, rule in plural_forms._RULES.items():
        form_of = c2py(rule.expression)
        forms = [form_of(number) for number in range(plural_forms.COUNTED)]
        assert set(forms) == set(range(len(rule.categories))), code
        assert rule.categories[forms[1]] == ("one" if len(rule.categories) > 1 else "other"), code
        assert read_forms(rule.header) == Forms(
            len(rule.categories), forms[1], forms.count(forms[1]) == 1, tuple(forms)
        )


def test_most_languages_have_a_rule_and_regions_have_that_of_their_language() -> None:
    assert sum(map(is_language, plural_forms._RULES)) > 90
    assert plural_rule("de_AT") == plural_rule("de") == plural_rule("DE-x-y") == plural_rule("de@informal")
    assert plural_rule("pt") != plural_rule("pt_BR") == plural_rule("pt-br") == plural_rule("fr")
    assert plural_rule("tlh") is plural_rule("") is None


@pytest.mark.parametrize(
    ("language", "numbers", "categories"),
    [
        ("uk", [0, 1, 2, 5, 11, 12, 21, 22, 111], "many one few many many many one few many"),
        ("ar", [0, 1, 2, 3, 11, 100, 102], "zero one two few many other other"),
        ("pl", [1, 21, 22, 12], "one many few many"),
        ("ga", [1, 2, 3, 7, 11], "one two few many other"),
    ],
)
def test_numbers_have_their_categories(language: str, numbers: list[int], categories: str) -> None:
    rule = plural_rule(language)
    assert rule
    form_of = c2py(rule.expression)
    assert [rule.categories[form_of(number)] for number in numbers] == categories.split()


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nplurals=2",
        "nplurals=x; plural=n;",
        "nplurals=1; plural=n;",
        "nplurals=2; plural=(",
        f"nplurals={'1' * 5000}; plural=0;",
    ],
)
def test_what_declares_no_forms_is_none(header: str) -> None:
    assert read_forms(header) is None
