"""A configuration in a file, with tables of components small enough to know by heart."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from dragoman.configuration import components, config_file
from dragoman.configuration.components import Problem
from dragoman.configuration.config import Config
from dragoman.configuration.config_file import ConfigError
from dragoman.configuration.values import Count


class Additive:
    def __init__(self, *, size: Count = 256) -> None: ...


class Dot:
    pass


class Rnn:
    def __init__(self, *, cell: Literal["gru", "lstm"] = "gru", size: Count = 512) -> None: ...


SCORES: dict[str, Callable[..., Any]] = {"additive": Additive, "dot": Dot}
DECODERS: dict[str, Callable[..., Any]] = {"rnn": Rnn}


def parts(config: Config) -> list[Problem]:
    """A check as the model makes it."""
    model = config.model
    return [
        *components.find_problems(SCORES, model.attention.score, ("model", "attention", "score")),
        *components.find_problems(DECODERS, model.decoder, ("model", "decoder")),
    ]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Config]:
    """Loads a text as the file run.yaml, checked by `parts`."""
    monkeypatch.chdir(tmp_path)

    def loaded(text: str, overrides: Mapping[str, str] = {}, checks: Sequence[config_file.Check] = (parts,)) -> Config:
        Path("run.yaml").write_text(text, encoding="utf-8")
        return config_file.load("run.yaml", overrides, checks)

    return loaded


@pytest.fixture
def faults(load: Callable[..., Config]) -> Callable[..., list[str]]:
    """The lines of the error that loading a text with the arguments of `load` ends with."""

    def error_lines(text: str, **options: Any) -> list[str]:
        with pytest.raises(ConfigError) as error:
            load(text, **options)
        return str(error.value).split("\n")

    return error_lines
