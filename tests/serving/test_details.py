"""An engine with a search of its own computes attention and log P of words only for requests that need them."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sentencex")
from starlette.testclient import TestClient

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.search_engine import SearchEngine, SearchRequest
from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.service import Service
from dragoman.translation.translator import Translator
from tests.serving.conftest import LIMITS

TEXT = {"q": "one two", "source": "en", "target": "fr"}
HTML = {"q": "<b>one</b> two", "source": "en", "target": "fr", "format": "html"}


class Recorder(SearchEngine):
    """Our search, and whether each request asked for details."""

    name = "recorder"

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.details: list[bool] = []

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        self.details.append(request.details)
        return request.search(self.translator.model, request.sources, request.n_best, request.spare)


def serve(run: Path, recorded: bool) -> tuple[TestClient, ServedModel, Recorder]:
    model = ServedModel.load(run)
    recorder = Recorder(model.translator)
    if recorded:
        model.translator.generator.engine = recorder
    backend = Backend(Service([model]), LIMITS, AccessControl(LIMITS, None, ()), Metrics())
    return TestClient(create(backend), raise_server_exceptions=False), model, recorder


@pytest.mark.parametrize(
    ("path", "body", "details"),
    [
        ("/translate", TEXT, False),
        ("/translate", {**TEXT, "alternatives": 2}, False),
        ("/translate", HTML, True),
        ("/translate", {**TEXT, "format": "html"}, False),
        ("/v1/translate", TEXT, True),
    ],
)
def test_details_are_computed_for_requests_that_need_them(
    path: str, body: dict[str, Any], details: bool, run: Path
) -> None:
    client, _, recorder = serve(run, recorded=True)
    with client:
        answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert set(recorder.details) == {details}


@pytest.mark.parametrize("recorded", [True, False])
def test_a_translation_with_details_is_known_to_requests_without(recorded: bool, run: Path) -> None:
    """With our own searches, also the other way round."""
    client, model, recorder = serve(run, recorded=recorded)
    with client:
        answers = [client.post(path, json=TEXT).json() for path in ("/translate", "/v1/translate")]
        client.post("/translate", json=TEXT)
    assert answers[0]["translatedText"] == answers[1]["text"]
    assert recorder.details == ([False, True] if recorded else [])
    assert (model.cache.misses, model.cache.hits) == ((2, 1) if recorded else (1, 2))
    (sentence,) = answers[1]["sentences"]
    assert all(log_prob < 0 for log_prob in sentence["translation"]["log_probs"])
