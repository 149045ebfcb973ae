"""What the endpoints of ollama and OpenAI share: models, languages, terms and limits of conversations."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

import dragoman
from dragoman.documents.subtitles import cue
from dragoman.documents.translated import TranslatedText
from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.chat import GUIDE, _written
from dragoman.serving.client_limits import AccessControl
from dragoman.serving.corrections import Corrections
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.prompts import PROMPTS
from dragoman.serving.request_languages import find_code
from dragoman.serving.request_options import RequestOptions
from dragoman.serving.service import Service
from tests import toy
from tests.serving.conftest import LIMITS, Open

ASK = "Translate into French:\n"


def ask(client: TestClient, prompt: str, model: str = "run") -> Any:
    """The answer to a prompt, or the line of an error."""
    answer = client.post("/api/generate", json={"model": model, "prompt": prompt, "stream": False}).json()
    return answer["response"] if "response" in answer else answer["error"]


def served(*models: ServedModel) -> TestClient:
    return TestClient(create(Backend(Service(models), LIMITS, AccessControl(LIMITS, None), Metrics())))


@pytest.fixture(scope="module")
def several(run: Path, back: Path) -> Iterator[TestClient]:
    """Two runs, of which the first goes from English and from German to French."""
    pairs = [("en", "fr"), ("de", "fr")]
    with served(
        ServedModel("first", dragoman.load(run), pairs), ServedModel("back", dragoman.load(back), [("fr", "en")])
    ) as client:
        yield client


def test_what_is_no_prompt_of_a_known_client_is_refused_with_a_line(client: TestClient) -> None:
    line = ask(client, "Tell me a joke about numbers.")
    assert line == f"Prompt not recognized: expected one of {', '.join(PROMPTS)}; see {GUIDE}"
    page, _, title = GUIDE.partition("#")
    assert f"\n## {title.replace('-', ' ')}\n" in Path(page).read_text("utf-8").lower()


@pytest.mark.parametrize("model", ["run", "run:latest", "dragoman", "dragoman:latest", ""])
def test_a_model_is_a_run_or_all_of_them(client: TestClient, model: str) -> None:
    assert ask(client, f"{ASK}one two", model) == "deux un"


def test_an_unknown_model_is_reported_before_the_prompt(client: TestClient) -> None:
    answer = client.post("/api/generate", json={"model": "llama3.2", "prompt": "Hello"})
    line = "model 'llama3.2' not found; the models are dragoman, run"
    assert (answer.status_code, answer.json()) == (404, {"error": line})


def test_a_run_translates_in_its_own_directions(several: TestClient) -> None:
    """Under the name for all runs, others translate too, and through a third language."""
    english = "Translate from French into English:\nun deux"
    line = "Cannot translate French to English: the model translates de to fr; en to fr"
    assert ask(several, english, "first") == line
    assert set(ask(several, english, "back").split()) <= {*toy.WORDS}
    assert ask(several, english, "dragoman") == ask(several, english, "back")
    through = "Translate from German into English:\none two"
    assert ask(several, through, "dragoman") not in ("", through)
    assert ask(several, through, "first").startswith("Cannot translate German to English: ")


def test_of_several_runs_with_a_direction_the_named_one_translates(run: Path, back: Path) -> None:
    with served(
        ServedModel("dragoman", dragoman.load(run), [("en", "fr")]),
        ServedModel("same", dragoman.load(run), [("en", "en")]),
        ServedModel("other", dragoman.load(back), [("en", "fr")]),
    ) as client:
        names = [model["name"] for model in client.get("/api/tags").json()["models"]]
        assert names == ["dragoman", "same", "other"]
        assert ask(client, f"{ASK}one two", "dragoman") == "deux un"
        assert set(ask(client, f"{ASK}un deux", "other").split()) <= {*toy.WORDS}
        english = "Translate from English into English:\none two"
        assert [ask(client, english, name) for name in ("same", "other")] == ["deux un", "one two"]


@pytest.mark.parametrize("source", ["English", "en", "en_US", "en-GB", "EN", "anglais", "English (British)"])
@pytest.mark.parametrize("target", ["French", "français", "fr", "fr_CA", "Canadian French", "French (fr)"])
def test_languages_are_named_or_coded(client: TestClient, source: str, target: str) -> None:
    assert ask(client, f"Translate from {source} into {target}:\none two") == "deux un"


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("Translate into German:\none", "to German"),
        ("Translate from Spanish into French:\none", "Spanish to French"),
        ("Translate from no language into none:\none", "no language to none"),
    ],
)
def test_other_languages_are_refused_with_those_that_there_are(client: TestClient, prompt: str, wanted: str) -> None:
    assert ask(client, prompt) == f"Cannot translate {wanted}: the model translates en to fr"


def test_a_text_in_the_target_language_stays(client: TestClient) -> None:
    for text in ("one two", "one <b>two</b>\n", "<i>", "_one"):
        assert ask(client, f"Translate from English into English:\n{text}") == text


def test_a_language_that_no_prompt_names_is_the_usual_one_or_detected(
    several: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strings of programs are in English; subtitles may be in any language."""
    sources: list[str] = []
    translate = Backend.passages

    async def passages(self: Backend, request: Any, texts: Any, source: str, *rest: Any) -> Any:
        sources.append(source)
        return await translate(self, request, texts, source, *rest)

    monkeypatch.setattr(Backend, "passages", passages)
    german = "Guten Morgen, wie geht es dir heute?"
    ask(several, f"{ASK}{german}", "first")
    ask(several, f"Translate these subtitles to French\n\n#1\nOriginal>\n{german}\nTranslation>", "first")
    cue = f"Keep.\n\nCURRENT CUE:\n{german}"
    ask(several, f"Translate the following subtitle cue from auto-detected language to French. {cue}", "first")
    assert sources == ["en", "de", "de"]


def test_names_of_languages_by_gettext() -> None:
    """Those that differ from what CLDR calls them."""
    codes = ["de", "es", "pt", "zh", "nb", "sr", "en"]
    names = {
        "Austrian": "de",
        "Argentinian": "es",
        "Brazilian Portuguese": "pt",
        "Portuguese (as spoken in Angola)": "pt",
        "Chinese (simplified)": "zh",
        "Norwegian Bokmal": "nb",
        "Norwegian": "nb",
        "sr_RS@latin": "sr",
        "Chinese (traditional)": None,
        "Ukrainian": None,
        "Klingonese": None,
        "": None,
        "?" * 80: None,
    }
    assert {name: find_code(name, codes) for name in names} == names
    assert find_code("French", []) is None
    assert find_code("Digits", ["digits", "1"]) == "digits"
    for codes in (["pt", "pt_BR", "pt_PT"], ["pt_PT", "pt-BR"]):
        assert [find_code(name, codes) for name in ("Brazilian Portuguese", "pt-br", "pt_BR")] == codes[1:2] * 3


def test_tags_placeholders_and_accelerators_come_through(client: TestClient) -> None:
    assert ask(client, f"{ASK}one <b>two</b>") == "<b>deux</b> un"
    assert ask(client, f"{ASK} one %(count)s\n\n  two\n") == " un %(count)s\n\n  deux\n"
    assert ask(client, f"{ASK}_six") == "_six"
    assert ask(client, f"{ASK}%s &amp; <br/>") == "%s &amp; <br/>"


def test_tags_are_placed_in_corrections_too(opened: Open, tmp_path: Path) -> None:
    with opened(kept=Corrections(tmp_path / "db")) as client:
        client.post("/suggest", json={"q": "one two", "s": "deux un", "source": "en", "target": "fr"})
        assert ask(client, f"{ASK}one <b>two</b>") == "<b>deux</b> un"


def test_a_request_has_its_time_and_details_if_they_are_needed(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[RequestOptions] = []
    translate = Service.translate_passages

    async def passages(self: Service, texts: Any, source: Any, target: str, own: RequestOptions, *rest: Any) -> Any:
        options.append(own)
        return await translate(self, texts, source, target, own, *rest)

    monkeypatch.setattr(Service, "translate_passages", passages)
    now = time.monotonic()
    for text in ("one", "<i>one</i>"):
        ask(client, f"{ASK}{text}")
    assert [(own.details, own.attention) for own in options] == [(False, False), (True, True)]
    assert all(now < own.until < time.monotonic() + LIMITS.seconds for own in options)


def test_a_subtitle_of_which_a_part_is_not_trusted_is_empty() -> None:
    trusted, withheld = (SimpleNamespace(withheld=value, complete=False) for value in (False, True))
    parts: Any = cue("one\n- two")
    for translations in ([trusted, withheld], [withheld, trusted]):
        assert _written(parts, iter(cast(list[TranslatedText], translations))) == ""
    assert _written(parts, iter(cast(list[TranslatedText], [trusted, trusted]))) == "one\n- two"


def test_lines_of_a_subtitle_are_translated_together(client: TestClient) -> None:
    prompt = "Translate these subtitles to French\n\n#7\nOriginal>\none two\nthree six\nTranslation>"
    assert ask(client, prompt) == "#7\nTranslation>\nsix trois\ndeux un"


def test_terms_of_a_prompt_are_used(client: TestClient) -> None:
    strings = [{"source": "one two"}, {"source": "six @@PH4@@ one"}]
    prompt = {"source_language": "en", "target_language": "fr", "strings": strings}
    prompt["glossary"] = [{"source": "two", "target": "zwei"}]
    first, second = json.loads(ask(client, json.dumps(prompt)))
    assert "zwei" in first.split()
    assert "@@PH4@@" in second


def test_texts_of_a_prompt_are_translated_as_alone(client: TestClient) -> None:
    """In one batch, with the order and duplicates of the prompt."""
    texts = ["one two", "six", "one two", "three %s"]
    prompt = f"Translate the following list of texts from en to fr. \n\nTexts to translate:\n{json.dumps(texts)}"
    assert json.loads(ask(client, prompt)) == [ask(client, ASK + text) for text in texts]


def test_limits_are_those_of_other_requests(client: TestClient) -> None:
    def listed(*texts: str) -> str:
        return f"Translate the following list of texts from en to fr. \n\nTexts to translate:\n{json.dumps(texts)}"

    assert ask(client, listed(*["one"] * 6)) == "Invalid request: request (6) exceeds text limit (5)"
    assert ask(client, ASK + "one " * 200) == "Invalid request: request (800) exceeds text limit (500)"
    terms = [{"source": f"one{number}", "target": "x" * 100} for number in range(5)]
    prompt: dict[str, Any] = {"source_language": "en", "target_language": "fr", "strings": [], "glossary": terms}
    assert ask(client, json.dumps(prompt)) == "[]"
    prompt["strings"] = [{"source": "one"}]
    assert ask(client, json.dumps(prompt)) == "Invalid request: request (523) exceeds text limit (500)"


def test_more_terms_than_a_glossary_may_have_are_refused(opened: Open) -> None:
    terms = [{"source": f"one{number}", "target": "x"} for number in range(1001)]
    prompt = {"source_language": "en", "target_language": "fr", "strings": [{"source": "one"}], "glossary": terms}
    with opened(LIMITS._replace(body=10**6)) as client:
        assert ask(client, json.dumps(prompt)) == "Invalid request: expected at most 1000 terms in the prompt"
