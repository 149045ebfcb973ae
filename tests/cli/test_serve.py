"""What the options of `serve` become, without a run."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from dragoman.cli.serve import ServeOptions, _backend
from dragoman.serving import models, service
from dragoman.serving.client_limits import RequestLimits

RUNS = [Path("runs/toy")]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options of the service that is made."""
    options: dict[str, Any] = {}
    monkeypatch.setattr(models.ServedModel, "load", lambda *arguments, **keywords: options.update(keywords))
    monkeypatch.setattr(service, "Service", lambda models, **keywords: options.update(keywords))
    return options


def test_each_limit_is_that_of_its_option(served: dict[str, Any]) -> None:
    """A request has room for as many characters as it may have, however they are written."""
    options = ServeOptions(characters=1_000_000, texts=7, seconds=2.5, rate=9, file_bytes=11)
    backend = _backend(options, RUNS)
    assert backend.limits == RequestLimits(
        body=20_100_000,
        characters=1_000_000,
        texts=7,
        seconds=2.5,
        rate=9,
        file=11,
        alternatives=RequestLimits().alternatives,
    )
    assert backend.access.keys is None
    assert _backend(ServeOptions(), RUNS).limits == RequestLimits(body=2_100_000)


def test_what_is_kept_and_given_is_that_of_its_option(served: dict[str, Any], tmp_path: Path) -> None:
    _backend(ServeOptions(), RUNS)
    assert (served["corrections"], served["history"], served["least"]) == (None, False, None)
    assert (served["sentences"], served["engine"], served["cached"]) == (True, "torch", 256 * 2**20)
    _backend(ServeOptions(cache=10), [*RUNS, Path("runs/other")])
    assert served["cached"] == 5 * 2**20  # of each run
    _backend(ServeOptions(corrections=tmp_path / "db", similar=0.7, history=True, min_confidence=0.5, lines=True), RUNS)
    assert served["corrections"].threshold == 0.7
    served["corrections"].close()
    assert (served["history"], served["least"], served["sentences"]) == (True, 0.5, False)
