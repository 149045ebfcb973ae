"""A service of the toy language."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sentencex")
from starlette.testclient import TestClient

from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl, Keys, RequestLimits
from dragoman.serving.corrections import Corrections
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.service import Service
from dragoman.training import session
from tests import toy
from tests.serving.server import serving

LIMITS = RequestLimits(body=10_000, characters=500, texts=5, alternatives=3)
Open = Callable[..., TestClient]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.trained(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that reads a sentence in English and in digits."""
    folder = toy.corpus(tmp_path_factory.mktemp("two"))
    numbers = {word: str(number) for number, word in enumerate(toy.WORDS, start=1)}
    for part in ("train", "dev"):
        lines = (folder / f"{part}.en").read_text("utf-8").splitlines()
        digits = [" ".join(map(numbers.__getitem__, line.split())) for line in lines]
        (folder / f"{part}.digits").write_text("".join(f"{line}\n" for line in digits), "utf-8")
    return session.train(toy.config(folder, folder / "run", {"data.source": ["en", "digits"]}), quiet=True).path


@pytest.fixture(scope="session")
def back(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from French to English."""
    folder = toy.corpus(tmp_path_factory.mktemp("back"))
    options = {"data.source": "fr", "data.target": "en"}
    return session.train(toy.config(folder, folder / "run", options), quiet=True).path


@pytest.fixture(scope="session")
def opened(run: Path) -> Open:
    """A client of a service with these limits, keys and corrections; `with` starts and stops it."""

    def client(
        limits: RequestLimits = LIMITS,
        keys: Keys | None = None,
        kept: Corrections | None = None,
        trusted: Sequence[str] = (),
        **options: Any,
    ) -> TestClient:
        service = Service([ServedModel.load(run)], corrections=kept, **options)
        backend = Backend(service, limits, AccessControl(limits, keys, trusted), Metrics())
        return TestClient(create(backend), raise_server_exceptions=False)

    return client


@pytest.fixture(scope="session")
def client(opened: Open) -> Iterator[TestClient]:
    with opened() as test_client:
        yield test_client


@pytest.fixture(scope="session")
def served(run: Path, two: Path) -> Iterator[str]:
    """The address of a server of both runs."""
    with serving(run, two) as address:
        yield address
