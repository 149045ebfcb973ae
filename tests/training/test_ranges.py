"""Every number of the training's options: what is out of its range is a problem, and what is in it works."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.configuration.config_file import ConfigError
from dragoman.errors import UserError
from dragoman.training import session
from tests import toy
from tests.golden import Golden

COUNTS = (
    "epochs",
    "steps",
    "batch.size",
    "save_every",
    "validate_every",
    "patience",
    "average_checkpoints.count",
    "max_nonfinite_steps",
)
OUTSIDE: list[tuple[str, Any, str]] = [
    ("training.optimizer.learning_rate", 0, "must be more than 0"),
    ("training.optimizer.betas", [1.5, 0.9], "must be less than 1"),
    ("training.optimizer.betas", [0.9, 1], "must be less than 1"),
    ("training.optimizer.betas", [-0.1, 0.9], "must be at least 0"),
    ("training.optimizer.epsilon", 0, "must be at least 1e-30"),
    ("training.optimizer.epsilon", 1e-300, "must be at least 1e-30"),
    ("training.optimizer", {"kind": "adamw", "weight_decay": -0.1}, "weight_decay: must be at least 0"),
    ("training.schedule.warmup", -1, "must be at least 0"),
    ("training.schedule.warmup", 10**12, "must be at most 1000000000"),
    ("training.schedule", {"kind": "inverse_square_root", "warmup": 0}, "warmup: must be more than 0"),
    ("training.schedule", {"kind": "cosine", "steps": 0}, "steps: must be at least 1"),
    ("training.schedule", {"kind": "cosine", "steps": 9, "warmup": 9}, "rises for 9 steps (warmup)"),
    ("training.schedule", {"kind": "cosine", "steps": 9, "floor": 1.5}, "floor: must be at most 1"),
    ("training.schedule", {"kind": "cosine", "steps": 9, "floor": -0.5}, "floor: must be at least 0"),
    ("training.schedule", {"kind": "plateau", "factor": 0}, "factor: must be more than 0"),
    ("training.schedule", {"kind": "plateau", "factor": 1}, "factor: must be less than 1"),
    ("training.schedule", {"kind": "plateau", "floor": 2}, "floor: must be at most 1"),
    ("training.schedule", {"kind": "plateau", "patience": 0}, "patience: must be at least 1"),
    ("training.clip_norm", 0, "must be more than 0"),
    *((f"training.{name}", 0, "must be at least 1") for name in COUNTS),
    *((f"training.{name}", 10**30, "must be at most 1000000000") for name in COUNTS),
    ("device.threads", -1, "must be at least 0"),
    ("device.threads", 10**12, "must be at most 1024"),
    ("seed", 2**32, "must be less than 4294967296"),
    ("model.embedding.size", 10**11, "must be at most 1048576"),
]


@pytest.mark.parametrize(("key", "value", "words"), OUTSIDE)
def test_a_number_out_of_its_range_is_told(key: str, value: Any, words: str, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        toy.config(corpus, tmp_path / "run", {key: value})
    (line,) = str(error.value).split("\n")
    assert line.startswith(f"--{key}")
    assert words in line


EXTREMES: list[dict[str, Any]] = [
    {"training.optimizer": {"kind": "adam", "betas": [0, 0], "epsilon": 1e-30}},
    {"training.optimizer": {"kind": "adam", "epsilon": 1e300}},
    {"training.optimizer": {"kind": "adamw", "weight_decay": 0, "learning_rate": 1e-300}},
    {"training.schedule": {"kind": "cosine", "steps": 10**9, "warmup": 10**9 - 1, "floor": 1}},
    {"training.schedule": {"kind": "plateau", "patience": 1, "factor": 1e-300, "floor": 0}},
    {"training.schedule": {"kind": "inverse_square_root", "warmup": 10**9}},
    {f"training.{name}": 10**9 for name in COUNTS if name != "steps"},
    {"training.batch": {"size": 1, "type": "tokens"}, "training.clip_norm": 1e-300},
    {"training.batch": {"size": 10**9, "type": "tokens"}, "training.clip_norm": 1e300},
]


@pytest.mark.parametrize("options", EXTREMES)
def test_the_ends_of_a_range_work(options: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    config = toy.config(corpus, tmp_path / "run", {"training.steps": 2, **options})
    assert session.train(config, quiet=True).card.is_file()


@pytest.mark.parametrize(
    "options", [{"kind": "adam", "learning_rate": 1e300}, {"kind": "adamw", "weight_decay": 1e300}]
)
def test_what_makes_training_diverge_is_told_in_a_line(
    options: Any, corpus: Path, tmp_path: Path, golden: Golden
) -> None:
    config = toy.config(corpus, tmp_path / "run", {"training.steps": 2, "training.optimizer": options})
    with pytest.raises(UserError) as error:
        session.train(config, quiet=True)
    golden(str(error.value))
    assert "\n" not in str(error.value)
