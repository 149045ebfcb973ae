"""The endpoints of our own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import dragoman
from dragoman.configuration.components import Spec
from dragoman.files.reading import compute_sha256
from dragoman.run.folder import RunFolder
from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl
from dragoman.serving.corrections import Corrections
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.service import Service
from dragoman.translation.calibration import Calibration, Fit
from tests.serving.conftest import LIMITS, Open

PAIR = {"source": "en", "target": "fr"}
TEXT = " one two. six one.\n\nthree "


def post(client: TestClient, **parameters: Any) -> Any:
    return client.post("/v1/translate", json={**PAIR, **parameters}).json()


def test_every_sentence_has_its_attention(client: TestClient) -> None:
    answer = post(client, q=TEXT)
    assert (
        "".join(sentence["before"] + sentence["source"] + sentence["after"] for sentence in answer["sentences"]) == TEXT
    )
    assert (
        "".join(sentence["before"] + sentence["text"] + sentence["after"] for sentence in answer["sentences"])
        == answer["text"]
    )
    for sentence in answer["sentences"]:
        translation = dragoman.Result.from_json(sentence["translation"]).translation
        assert translation.text == sentence["text"]
        assert translation.sources[0].text == sentence["source"]
        assert translation.attention.shape == (len(translation.words), len(translation.source_words))


def test_sentences_of_a_script_without_spaces_are_parted(client: TestClient) -> None:
    """Everywhere, as the language of the translation has it."""
    body = {"q": "one two。Six one。", **PAIR}
    answer = client.post("/v1/translate", json=body).json()
    first, second = answer["sentences"]
    assert (first["source"], first["after"], second["after"]) == ("one two。", " ", "")
    assert answer["text"] == f"{first['text']} {second['text']}"
    assert client.post("/translate", json=body).json()["translatedText"] == answer["text"]
    events = client.post("/v1/stream", json=body).text.split("\n\n")
    sent = [json.loads(event.partition("data: ")[2]) for event in events if event.startswith("event: sentence")]
    assert "".join(sentence["before"] + sentence["text"] + sentence["after"] for sentence in sent) == answer["text"]


def test_a_list_of_one_source_is_that_source(client: TestClient) -> None:
    answer = post(client, q=TEXT)
    assert answer["text"]
    for more in ({"q": TEXT, "source": ["en"]}, {"q": [TEXT], "source": ["en"]}, {"q": [TEXT]}):
        assert post(client, **more) == answer
    assert client.post("/v1/explain", json={**PAIR, "q": ["one two"], "source": ["en"]}).status_code == 200


def test_a_translation_begins_as_it_is_told(client: TestClient) -> None:
    assert post(client, q="one two", prefix="six")["text"].startswith("six")


def test_from_a_language_to_itself_a_model_translates_if_it_can(run: Path) -> None:
    service = Service([ServedModel("same", dragoman.load(run), [("en", "en")])])
    with TestClient(create(Backend(service, LIMITS, AccessControl(LIMITS, None), Metrics()))) as client:
        body = {"q": "one two", "source": "en", "target": "en"}
        assert client.post("/v1/translate", json=body).json()["text"] == "deux un"
        assert '"text": "deux un"' in client.post("/v1/stream", json=body).text
        assert client.post("/translate", json=body).json() == {"translatedText": "one two"}


def test_other_words_behind_a_prefix(client: TestClient) -> None:
    answer = post(client, q="one two three", prefix="trois", alternatives=2, diverse=True)
    texts = [answer["text"], *answer["alternatives"]]
    assert answer["text"] == "trois deux un"
    assert len({text.split()[1] for text in texts if len(text.split()) > 1}) > 1
    assert all(text.startswith("trois") for text in texts)


@pytest.mark.slow
def test_other_words_keep_the_lengths_of_the_runs_own_search(
    opened: Callable[..., TestClient], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ServedModel.load(run)
    monkeypatch.setattr(model.translator, "search", Spec("beam", {"length_ratio": 0, "length_margin": 2}))
    monkeypatch.setattr(ServedModel, "load", lambda _: model)
    with opened() as client:
        answer = post(client, q="one two three four five", alternatives=2, diverse=True)
    assert [len(text.split()) <= 2 for text in (answer["text"], *answer["alternatives"])] == [True] * 3


@pytest.mark.slow
def test_terms_of_a_request_override_corrections(opened: Open, tmp_path: Path) -> None:
    """Of a text, and of one of its sentences; another request has the corrections."""
    with opened(kept=Corrections(tmp_path / "kept")) as client:
        for text, better in (("one two", "uno"), ("one two. six one.", "uno seis")):
            assert client.post("/suggest", json={"q": text, "s": better, **PAIR}).json() == {"success": True}
            assert post(client, q=text)["text"] == better
            assert "zwei" in post(client, q=text, glossary=[["two", "zwei"]])["text"].replace(".", "").split()
            assert post(client, q=text)["text"] == better


@pytest.mark.slow
def test_corrections_that_use_the_terms_of_a_request_are_returned(opened: Open, tmp_path: Path) -> None:
    """Those of a text as a whole too, and a term of other texts changes nothing."""
    with opened(kept=Corrections(tmp_path / "kept")) as client:
        for text, better in (("one two", "uno zwei"), ("six one. two six.", "seis uno zwei seis")):
            client.post("/suggest", json={"q": text, "s": better, **PAIR})
            for glossary in ([["two", "zwei"]], [["five", "fünf"]], [["two", "deux", "zwei"]]):
                answer = post(client, q=text, glossary=glossary)
                assert answer["text"] == better
                assert [sentence["correction"]["score"] for sentence in answer["sentences"]] == [1]
        client.post("/suggest", json={"q": "six", "s": "cafe\u0301", **PAIR})
        assert post(client, q="six", glossary=[["six", "caf\u00e9"]])["text"] == "cafe\u0301"


@pytest.mark.slow
def test_a_correction_that_lacks_a_term_of_the_request_is_reported(opened: Open, tmp_path: Path) -> None:
    with opened(kept=Corrections(tmp_path / "kept")) as client:
        client.post("/suggest", json={"q": "one two", "s": "uno dos", **PAIR})
        (sentence,) = post(client, q="one two", glossary=[["two", "zwei"]])["sentences"]
        assert "zwei" in sentence["text"]
        assert "correction" not in sentence
        assert sentence["rejected_correction"] == {
            "source": "one two",
            "score": 1,
            "text": "uno dos",
            "missing": [{"term": "two", "forms": ["zwei"]}],
        }
        assert "rejected_correction" not in post(client, q="one two", prefix="un")["sentences"][0]


@pytest.mark.slow
def test_the_language_is_detected(run: Path) -> None:
    models = [
        ServedModel("to", dragoman.load(run), [("en", "fr")]),
        ServedModel("back", dragoman.load(run), [("fr", "en")]),
    ]
    backend = Backend(Service(models), LIMITS, AccessControl(LIMITS, None), Metrics())
    with TestClient(create(backend)) as client:
        text = "one two three with the house"
        answer = post(client, q=text, source="auto")
        assert answer["detectedLanguage"]["language"] == "en"
        assert answer["sentences"] == post(client, q=text)["sentences"]
        assert "detectedLanguage" not in post(client, q=text)
        events = client.post("/v1/stream", json={"q": text, "source": "auto", "target": "fr"}).text.split("\n\n")
        assert events[0].startswith('event: language\ndata: {"confidence": ')
        assert events[1].startswith("event: sentence\n")
        unchanged = post(client, q=text, source="auto", target="en")
        assert (unchanged["text"], unchanged["detectedLanguage"]["language"]) == (text, "en")
        events = client.post("/v1/stream", json={"q": text, "source": "auto", "target": "en"}).text.split("\n\n")
        assert [event.split("\n")[0] for event in events[:-1]] == ["event: language", "event: sentence", "event: end"]
        assert f'"text": "{text}"' in events[1]


def test_terms(client: TestClient) -> None:
    assert "zwei" in post(client, q="one two", glossary=[["two", "zwei"]])["text"].split()
    assert "two" in post(client, q="one two", glossary=[["two"]])["text"].split()


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"glossary": "x"}, "Invalid request: glossary: expected a list of at most 1000 lists of strings"),
        ({"glossary": [[]]}, "Invalid request: glossary: expected a list of at most 1000 lists of strings"),
        ({"glossary": [["a", 1]]}, "Invalid request: glossary: expected a list of at most 1000 lists of strings"),
        ({"diverse": "yes"}, "Invalid request: diverse: expected true or false"),
        ({"target": "zz"}, "en to zz is not supported"),
        ({"min_confidence": 2}, "Invalid request: min_confidence: expected a number from 0 to 1"),
        ({"min_confidence": True}, "Invalid request: min_confidence: expected a number from 0 to 1"),
        ({"min_confidence": "0.5"}, "Invalid request: min_confidence: expected a number from 0 to 1"),
        ({"min_confidence": 0.5}, "Invalid request: min_confidence needs a calibrated run from en to fr"),
        ({"q": ["one", "two"]}, "Invalid request: expected one text per source, found 2 for 1"),
        ({"q": "one", "source": ["xx"]}, "xx to fr is not supported"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/translate", "/v1/stream"])
def test_what_cannot_be_is_told(client: TestClient, path: str, parameters: dict[str, Any], line: str) -> None:
    answer = client.post(path, json={"q": "one", **PAIR, **parameters})
    assert (answer.status_code, answer.json()) == (400, {"error": line})


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/stream", "/v1/explain"])
@pytest.mark.parametrize(
    "parameters",
    [{"glossary": [["a", "x" * 496, "yz"]]}, {"glossary": [["t", *["form"] * 124], ["us"]]}, {"prefix": "x" * 499}],
)
def test_the_characters_beside_a_text_count(client: TestClient, path: str, parameters: dict[str, Any]) -> None:
    answer = client.post(path, json={"q": "ox", **PAIR, **parameters})
    line = "Invalid request: request (501) exceeds text limit (500)"
    assert (answer.status_code, answer.json()) == (400, {"error": line})


def test_sentences_are_sent_as_they_are_done(client: TestClient) -> None:
    answer = client.post("/v1/stream", json={"q": TEXT, **PAIR})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [dict(line.split(": ", 1) for line in event.split("\n")) for event in answer.text.strip().split("\n\n")]
    assert [event["event"] for event in events] == ["sentence"] * 3 + ["end"]
    sentences = [json.loads(event["data"]) for event in events[:-1]]
    assert sentences == post(client, q=TEXT)["sentences"]


def test_a_translation_is_explained(client: TestClient, run: Path) -> None:
    """As `dragoman explain --target --contrast --json` does; without a translation, the one that the model finds."""
    answer = client.post("/v1/explain", json={"q": "one two", **PAIR, "translation": "deux un", "contrast": "six un"})
    translator = dragoman.load(run)
    translation = translator.score(["one two"], ["deux un"])[0].translation
    (expected,) = translator.explain([translation], ["six un"])
    explained = dragoman.Result.from_json(answer.json()).translation
    assert explained.text == "deux un"
    assert explained.explanation is not None
    assert explained.explanation.contrast is not None
    assert expected.contrast is not None
    np.testing.assert_allclose(explained.explanation.sources[0].erasure, expected.sources[0].erasure, atol=1e-4)
    np.testing.assert_allclose(explained.explanation.contrast.difference, expected.contrast.difference, atol=1e-4)
    own = client.post("/v1/explain", json={"q": "one two", **PAIR}).json()
    assert own["text"] == post(client, q="one two")["text"]
    assert "contrast" not in own["explanation"]


def test_spans_that_a_model_does_not_read_are_not_explained(client: TestClient) -> None:
    answer = client.post("/v1/explain", json={"q": "one {name} two", **PAIR, "translation": "deux {name} un"}).json()
    assert answer["words"] == ["deux", "un"]
    assert answer["sources"][0]["words"] == ["one", "two"]


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"q": "one. two."}, "Invalid request: expected one sentence, found 2"),
        ({"q": "{name}"}, "Cannot translate text: there are no words to explain"),
        ({"contrast": 1}, "Invalid request: contrast is no string"),
        ({"q": "x" * 501}, "Invalid request: request (501) exceeds text limit (500)"),
        ({"translation": "x" * 501}, "Invalid request: texts of more than 500 characters cannot be explained"),
        (
            {"translation": "un " * 120},
            "Cannot translate text: only sentences of up to 100 words and symbols are explained",
        ),
        (
            {"contrast": "un " * 120},
            "Cannot translate text: only sentences of up to 100 words and symbols are explained",
        ),
        ({"q": "one " * 120}, "Cannot translate text: only sentences of up to 100 words and symbols are explained"),
    ],
)
def test_what_cannot_be_explained_is_told(client: TestClient, parameters: dict[str, Any], line: str) -> None:
    answer = client.post("/v1/explain", json={"q": "one", **PAIR, **parameters})
    assert (answer.status_code, answer.json()) == (400, {"error": line})


@pytest.mark.slow
def test_a_calibrated_run_is_sure_or_says_nothing(
    opened: Callable[..., TestClient], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, tmp_path / "run")
    folder, loaded = RunFolder(tmp_path / "run"), ServedModel.load
    weights, fit = folder.weights(), Fit(loss=1, error=0, bins=[])
    Calibration(
        temperature=0.9,
        weights=weights.name,
        sha256=compute_sha256(weights),
        sentences=1,
        symbols=1,
        before=fit,
        after=fit,
    ).write(folder.calibration)
    monkeypatch.setattr(ServedModel, "load", lambda _: loaded(folder.path))
    with opened() as client:
        plain = post(client, q=TEXT)
        sure = [sentence["translation"]["confidence"]["sentence"] for sentence in plain["sentences"]]
        assert len(sure) == 3
        assert all(0 < sentence <= 1 for sentence in sure)
        least = sorted(sure)[1] - 1e-5
        trusted = post(client, q=TEXT, min_confidence=least)
        for before, sentence, confidence in zip(plain["sentences"], trusted["sentences"], sure, strict=True):
            kept = confidence >= least
            assert sentence["text"] == (before["text"] if kept else "")
            assert sentence["translation"].get("withheld") == (None if kept else before["text"])
        answer = client.post("/v1/stream", json={"q": TEXT, **PAIR, "min_confidence": 1})
        assert '"text": ""' in answer.text
    with opened(least=least) as client:
        answer = client.post("/translate", json={"q": [TEXT, "six"], **PAIR})
        surest = sure[2] >= least
        assert answer.json()["translatedText"][0] == ""
        again = post(client, q=TEXT)["sentences"]
        assert [sentence["text"] for sentence in again] == [sentence["text"] for sentence in trusted["sentences"]]
        assert post(client, q=" three ")["text"] == (" trois " if surest else "  ")
        answer = client.post("/translate", json={"q": TEXT, **PAIR, "alternatives": 2})
        assert (answer.json()["translatedText"], answer.json()["alternatives"]) == ("", [])
        several = post(client, q=TEXT, alternatives=2)["sentences"]
        for sentence in (alternative for one in several for alternative in one["translation"].get("alternatives", ())):
            assert sentence["confidence"]["sentence"] >= least
        stricter = post(client, q=TEXT, min_confidence=1)["sentences"]
        assert [sentence["translation"]["withheld"] for sentence in stricter] == [
            sentence["text"] for sentence in plain["sentences"]
        ]
        page = f"<p>{TEXT.strip()}</p>"
        assert client.post("/translate", json={"q": page, "format": "html", **PAIR}).json()["translatedText"] == page
    with opened(least=1.0) as client:
        answer = client.post("/v1/explain", json={"q": "six one", **PAIR})
        assert answer.json() == {"error": "Cannot translate text: the confidence of the translation is too low"}
        explained = client.post("/v1/explain", json={"q": "six one", **PAIR, "translation": "un six"})
        assert explained.status_code == 200
        prompt = {"prompt": "Translate into French:\nsix <b>one</b>\nsix", "stream": False}
        assert client.post("/api/generate", json=prompt).json()["response"] == ""
        assert len(explained.json()["confidence"]["words"]) == len(explained.json()["words"])
