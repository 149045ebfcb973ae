"""Hiding some of several sources."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.configuration.config import LanguageConfig, TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.data.dataset import Dataset

ROWS = np.arange(400)


def dataset(folder: Path, rate: float) -> Dataset:
    """Of two sources; every fourth example has the first alone."""
    if not (folder / "train.a").is_file():
        for part in ("train", "dev"):
            for name in "abc":
                lines = ("x y" if name != "b" or number % 4 else "" for number in range(len(ROWS)))
                (folder / f"{part}.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    place = str(folder / "train")
    data = DataConfig.model_validate({"source": ["a", "b"], "target": "c", "train": place, "dev": str(folder / "dev")})
    side = LanguageConfig.model_validate({"tokenizer": "word"})
    text = TextConfig.model_validate({"source": side, "target": side})
    return Dataset.prepare(data, text, 1, folder / "run", source_dropout=rate)


def there(data: Dataset, epoch: int) -> list[list[bool]]:
    """Which examples have the first source, and which the second."""
    return [source.mask.any(1).tolist() for source in data.batch(ROWS, epoch).sources]


@pytest.mark.spec("C14")
def test_hides_as_many_as_asked_for_and_never_all(tmp_path: Path) -> None:
    first, second = np.array(there(dataset(tmp_path, 0.4), 0))
    has = ROWS % 4 != 0
    assert (first | second).all()
    assert first[~has].all()
    assert not second[~has].any()
    assert np.mean(first[has]) == pytest.approx(0.6 + 0.08, abs=0.08)  # half of those that would lose both
    assert np.mean(second[has]) == pytest.approx(0.6 + 0.08, abs=0.08)


def test_depends_on_the_epoch_and_the_row_alone(tmp_path: Path) -> None:
    data = dataset(tmp_path, 0.4)
    assert there(data, 0) == there(data, 0)
    assert there(data, 0) != there(data, 1)
    batch = data.batch(ROWS[7:9], 0)
    assert [source.mask.any(1).tolist() for source in batch.sources] == [column[7:9] for column in there(data, 0)]


def test_nothing_is_hidden_without_it(tmp_path: Path) -> None:
    assert there(dataset(tmp_path, 0.0), 0) == [[True] * len(ROWS), (ROWS % 4 != 0).tolist()]
