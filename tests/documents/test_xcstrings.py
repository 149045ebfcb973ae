"""String catalogues of Xcode: what they lack in the target language is added, in the style of the file."""

import json
from typing import Any

import pytest

from dragoman.documents import table
from dragoman.documents.document import File
from dragoman.errors import UserError
from tests.documents.speaking import Say, backwards, nothing, spoken

TEXT = """{
  "sourceLanguage" : "en",
  "strings" : {
    "" : {

    },
    "one %@" : {
      "comment" : "one two"
    },
    "done" : {
      "localizations" : {
        "de" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "fertig"
          }
        },
        "fr" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "fini"
          }
        }
      }
    },
    "id" : {
      "localizations" : {
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "two six"
          }
        },
        "fr" : {
          "stringUnit" : {
            "state" : "new",
            "value" : ""
          }
        }
      }
    },
    "name" : {
      "shouldTranslate" : false
    },
    "old" : {
      "extractionState" : "stale"
    }
  },
  "version" : "1.0"
}"""


NESTED = (
    '{"strings": {"a": {"localizations": {"en": '
    + '{"variations": {"plural": {"other": ' * 20
    + '{"stringUnit": {"value": "one"}}'
    + "}}}" * 20
    + "}}}}"
)


def unit(text: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": text}}


def plural(**forms: str) -> dict[str, Any]:
    return {"variations": {"plural": {category: unit(text) for category, text in forms.items()}}}


def opened(content: Any, languages: tuple[str, str] = ("en", "fr")) -> Any:
    text = content if isinstance(content, str) else json.dumps({"sourceLanguage": "en", "strings": content})
    return table.document(File("a.xcstrings", text.encode(), languages))


def translated(source: Any, target: Any = None, languages: tuple[str, str] = ("en", "fr"), say: Say = backwards) -> Any:
    """What the target language has of a string afterwards."""
    there = {} if target is None else {languages[1]: target}
    document = opened({"key": {"localizations": {"en": source, **there}}}, languages)
    return json.loads(spoken(document, say))["strings"]["key"]["localizations"].get(languages[1])


def test_strings_without_a_translation_have_one_and_all_else_stays() -> None:
    document = opened(TEXT)
    assert [line.text for line in document.lines] == ["one %@", "two six"]
    added = """      "comment" : "one two",
      "localizations" : {
        "fr" : {
          "stringUnit" : {
            "state" : "needs_review",
            "value" : "%@ ONE"
          }
        }
      }
"""
    expected = TEXT.replace('      "comment" : "one two"\n', added).replace(
        '"state" : "new",\n            "value" : ""', '"state" : "needs_review",\n            "value" : "SIX TWO"'
    )
    assert spoken(document).decode() == expected
    assert spoken(opened(TEXT), nothing).decode() == TEXT


def test_every_category_of_the_target_language_is_filled() -> None:
    source = plural(one="one %lld", other="two %lld")
    forms = translated(source, languages=("en", "uk"))["variations"]["plural"]
    texts = {category: form["stringUnit"]["value"] for category, form in forms.items()}
    many = "%LLD TWO"
    assert texts == {"one": "%LLD ONE", "few": many, "many": many, "other": many}
    there = plural(one="x", other="")
    filled = translated(source, there, ("en", "de"))["variations"]["plural"]
    assert (filled["one"], filled["other"]) == (unit("x"), unit(many, "needs_review"))


@pytest.mark.parametrize(("language", "expected"), [("de", "ONE"), ("fr", "%LLD TWO"), ("tlh", "ONE")])
def test_a_singular_without_its_number_is_for_one_alone(language: str, expected: str) -> None:
    forms = translated(plural(one="one", other="two %lld"), languages=("en", language))["variations"]["plural"]
    assert forms["one"]["stringUnit"]["value"] == expected


def test_another_placeholder_is_none_of_the_number() -> None:
    forms = translated(plural(one="one of %@", other="two %lld"))["variations"]["plural"]
    assert forms["one"]["stringUnit"]["value"] == "%LLD TWO"


def test_devices_and_substitutions_are_as_in_the_source() -> None:
    arguments = {"argNum": 1, "formatSpecifier": "lld"}
    source = {
        **unit("two %#@n@"),
        "substitutions": {"n": {**arguments, **plural(other="six %arg")}},
        "variations": {"device": {"mac": unit("one"), "other": plural(other="two")}},
    }
    result = translated(source, languages=("en", "ja"))
    assert result["stringUnit"]["value"] == "%#@N@ TWO"
    assert result["substitutions"]["n"] | arguments == result["substitutions"]["n"]
    assert list(result["substitutions"]["n"]["variations"]["plural"]) == ["other"]
    assert result["variations"]["device"]["mac"] == unit("ONE", "needs_review")
    assert result["variations"]["device"]["other"]["variations"]["plural"]["other"] == unit("TWO", "needs_review")


def test_a_translation_without_variations_is_complete() -> None:
    assert translated(plural(one="one", other="two"), unit("un")) == unit("un")


def test_half_a_character_is_no_trouble() -> None:
    assert b"\xef\xbf\xbd" in spoken(opened('{"strings": {"one": {}, "two": {"comment": "\\ud800"}}}'))


def test_the_language_may_have_a_region() -> None:
    text = TEXT.replace('"en"', '"en-US"').replace('"fr"', '"fr-CA"')
    strings = json.loads(spoken(opened(text, ("en", "fr"))))["strings"]
    assert strings["one %@"]["localizations"] == {"fr-CA": unit("%@ ONE", "needs_review")}
    assert list(json.loads(spoken(opened(TEXT, ("en", "pt_BR"))))["strings"]["id"]["localizations"]) == [
        "en",
        "fr",
        "pt-BR",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":\n', r"a\.xcstrings:2: not JSON"),
        ("[]", r"a\.xcstrings:1: invalid Xcode string catalog"),
        ('{"strings": {"a": []}}', r"a\.xcstrings: invalid Xcode string catalog \(a string has an unknown form\)"),
        ('{"strings": {"a": {"localizations": {"fr": "x"}}}}', "unknown form"),
        ('{"strings": {"a": {"localizations": {"en": {"variations": {"plural": []}}}}}}', "unknown form"),
        (NESTED, "unknown form"),
        ('{"strings": {}, "sourceLanguage": "de"}', r"a\.xcstrings: is in de, and the run translates en"),
    ],
)
def test_what_is_no_catalogue_is_told(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        opened(text)
