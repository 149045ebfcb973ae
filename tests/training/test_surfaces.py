"""A model that copies, reads or spells words outside its vocabulary goes on where it was killed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import read_tensors
from dragoman.run.folder import RunFolder
from dragoman.training import session
from tests import toy

FEW = {"kind": "word", "vocab_size": 3}
OPTIONS: dict[str, Any] = {
    "text.source.tokenizer": FEW,
    "text.target.tokenizer": FEW,
    "training.save_every": 1,
}


MODELS: dict[str, dict[str, Any]] = {
    "copies": {"model.output": "pointer_generator"},
    "reads": {"model.embedding.source": "character_rnn", "model.embedding.target": "character_cnn"},
    "spells": {"model.embedding.source": "hybrid", "model.output": {"kind": "hybrid", "size": 8}},
}


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_killed_and_gone_on_with(model: str, corpus: Path, tmp_path: Path, meddle: Callable[..., None]) -> None:
    """With its store, or after that was removed, so that it is written anew."""
    options = {**OPTIONS, **MODELS[model]}

    def train(name: str) -> dict[str, bytes]:
        folder: RunFolder = session.train(toy.config(corpus, tmp_path / name, options), quiet=True)
        return {key: tensor.numpy().tobytes() for key, tensor in read_tensors(folder.last_state)[0].items()}

    def kill(loss: Loss, model: Seq2Seq) -> Loss:
        raise Killed

    straight = train("straight")
    meddle({4: kill})
    with pytest.raises(Killed):
        train("killed")
    meddle({})
    shutil.copytree(tmp_path / "killed", tmp_path / "removed")
    for name in ("killed", "removed"):
        data = tmp_path / name / "data"
        assert (data / "source.surfaces.values").stat().st_size
        if name == "removed":
            shutil.rmtree(data)
        assert train(name) == straight
        assert (data / "source.surfaces.values").stat().st_size
