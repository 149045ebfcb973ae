"""A corpus of the toy language, and a run in all its parts before its first step."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.training import checks, session
from dragoman.training.journal import TrainingLog
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.training import Training
from dragoman.training.workers import SignalHandler, Workers
from tests import toy

Act = Callable[[Loss, Seq2Seq], Loss]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def assembled() -> Callable[[Config], Training]:
    """All parts of a new run, or of one that is to go on."""

    def assemble(config: Config) -> Training:
        folder = RunFolder(Path(config.run))
        journal = TrainingLog(folder, quiet=True)
        return session.assemble(checks.complete(config), folder, Workers(), journal, SignalHandler())

    return assemble


@pytest.fixture
def meddle(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, Act]], None]:
    """Lets functions act on the losses of some steps, counted from 1 and from this call on."""

    whole = {kind: kind.forward for kind in OBJECTIVES.values()}

    def arranged(acts: dict[int, Act]) -> None:
        steps = 0

        def meddled(objective: Objective, model: Seq2Seq, batch: Batch) -> Loss:
            nonlocal steps
            steps += 1
            loss = whole[type(objective)](objective, model, batch)
            return acts[steps](loss, model) if steps in acts else loss

        for kind in whole:
            monkeypatch.setattr(kind, "forward", meddled)

    return arranged


@pytest.fixture
def make_config(corpus: Path, tmp_path: Path) -> Callable[..., Config]:
    def configured(options: Mapping[str, Any] = {}) -> Config:
        return toy.config(corpus, tmp_path / "run", {"training.steps": 1, **options})

    return configured
