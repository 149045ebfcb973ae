"""Which runs `--seeds` makes."""

import pytest

from dragoman.cli import train
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from tests.golden import Golden

DATA = {"source": "en", "target": "de", "train": "a", "dev": "b"}


@pytest.mark.parametrize(("run", "first"), [("runs/en-de", 1), ("runs/en-de/", 7)])
def test_each_run_has_the_name_of_its_seed(run: str, first: int) -> None:
    config = Config.model_validate({"data": DATA, "run": run, "seed": first})
    configs = train.seed_configurations(config, 3)
    assert [(seeded.run, seeded.seed) for seeded in configs] == [
        (f"runs/en-de-{n}", n) for n in range(first, first + 3)
    ]
    assert {seeded.model_copy(update={"run": run, "seed": first}) for seeded in configs} == {config}


def test_a_seed_that_cannot_be_is_refused(golden: Golden) -> None:
    config = Config.model_validate({"data": DATA, "seed": 2**32 - 2})
    assert len(train.seed_configurations(config, 2)) == 2
    with pytest.raises(UserError, match="--seeds:") as raised:
        train.seed_configurations(config, 3)
    golden(str(raised.value))


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match="--seeds:") as raised:
        train.seed_configurations(Config.model_validate({"data": DATA}), 2)
    golden(str(raised.value))
