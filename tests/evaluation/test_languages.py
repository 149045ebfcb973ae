"""In which language translations are."""

import sys

import pytest

from dragoman.errors import UserError
from dragoman.evaluation import languages
from dragoman.evaluation.languages import DOUBT, Identifier, code, wrong_language
from tests.golden import Golden

AMONG = ("en", "de", "fr")
GERMAN = ["Der alte Lehrer liest den Brief nicht.", "Wir suchen den Bahnhof."]
FRENCH = ["Le vieux professeur ne lit pas la lettre.", "Nous cherchons la gare."]


@pytest.mark.slow
@pytest.mark.spec("E2")
def test_the_share_of_translations_in_another_language() -> None:
    pytest.importorskip("py3langid")
    score = wrong_language([*FRENCH, GERMAN[0], "The old teacher is not here."], [FRENCH * 2], "fr", AMONG)
    assert (score.name, score.value) == ("Wrong language", 50.0)
    assert score.signature.startswith("unit:percent|language:fr|among:de,en,fr|py3langid:")
    assert score.signature.endswith(f"|doubt:{DOUBT}|references:0.00")
    assert wrong_language(GERMAN, [GERMAN, FRENCH], "de", AMONG).signature.endswith("references:50.00")


@pytest.mark.slow
@pytest.mark.spec("E2")
@pytest.mark.parametrize("text", ["", "...", "1234", "Paul.", "Ja.", "No.", "Merci", "This camera costs 519 euros."])
def test_short_texts_are_given_the_benefit_of_the_doubt(text: str) -> None:
    pytest.importorskip("py3langid")
    identifier = Identifier(AMONG)
    assert not any(identifier.wrong(text, language) for language in ("en", "fr"))


def test_names_of_languages_may_have_a_region() -> None:
    assert [code(name) for name in ("de", "de-AT", "pt_BR", "FR")] == ["de", "de", "pt", "fr"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("他喜欢书和车。", "zh-CN"),
        ("他喜歡書和車。", "zh-TW"),
        ("The old teacher is here.", "en-GB"),
    ],
)
def test_a_language_in_several_varieties_is_detected_once(text: str, first: str) -> None:
    pytest.importorskip("py3langid")
    ranked = Identifier(("zh-CN", "zh-TW", "en-GB", "en-US")).ranked(text)
    assert ranked[0][0] == first
    assert sum(probability for _, probability in ranked) == pytest.approx(1)


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    pytest.importorskip("py3langid")
    with pytest.raises(UserError) as raised:
        Identifier(["en", "toki"])
    golden(str(raised.value))
    assert Identifier(["en", "toki"], skip_unknown=True).languages == ("en",)
    monkeypatch.setattr(languages, "_load_model", languages._load_model.__wrapped__)
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(UserError) as raised:
        Identifier(AMONG)
    golden(str(raised.value))
