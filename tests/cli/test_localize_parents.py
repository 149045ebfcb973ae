"""The run that `dragoman localize` trains on a corpus of other programs, to start from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.cli import localize_parents
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from tests.golden import Golden

CORPUS, DEV = Path("corpus/others.train.tsv"), Path("corpus/others.dev.tsv")


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Config]:
    """Configurations that are trained with, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    configs: list[Config] = []
    monkeypatch.setattr(localize_parents, "trained", configs.append)
    monkeypatch.setattr(localize_parents, "load_parent", lambda folder: folder)
    return configs


def write(path: Path, header: str) -> None:
    """A corpus with the columns of a header, and one for contexts."""
    path.parent.mkdir(exist_ok=True)
    columns = header.split()
    rows = ([f"{name} {number}" for name in columns] for number in range(60))
    path.write_text("".join("\t".join([*row, "context"]) + "\n" for row in [columns, *rows]), "utf-8")


def train(target: str, also: Sequence[str] = ()) -> Path:
    parent = localize_parents.train_on_corpus(CORPUS, ("en", target), also)
    assert isinstance(parent, Path)
    return parent


@pytest.mark.parametrize("has_dev", [True, False])
def test_started_again_the_same_run_is_trained(has_dev: bool, configs: list[Config]) -> None:
    write(CORPUS, "en de")
    if has_dev:
        write(DEV, "en de")
    assert train("de") == train("de") == Path("runs/others")
    first, second = configs
    assert first == second
    assert first.run == "runs/others"
    data = first.data
    files = (str(CORPUS), str(DEV)) if has_dev else ("runs/others-data/train", "runs/others-data/dev")
    assert ((data.train[0], data.dev), data.source, data.target) == (files, ("en",), "de")


def test_a_run_of_further_languages(configs: list[Config], golden: Golden) -> None:
    for path in (CORPUS, DEV):
        write(path, "en fr pt_BR de")
    train("de", ("fr", "pt"))
    train("de")
    assert [config.data.source for config in configs] == [("en", "fr", "pt_BR")] * 2
    with pytest.raises(UserError) as error:
        train("de", ("fr", "es"))
    golden(str(error.value))


@pytest.mark.parametrize(
    ("header", "target", "column"),
    [
        ("en de", "de_AT", "de"),
        ("en-US de_AT", "de", "de_AT"),
        ("en de de_CH", "de_AT", "de"),
        ("en de_CH de_DE", "de", "de_DE"),
        ("en zh_CN zh_HK", "zh_TW", "zh_HK"),
    ],
)
def test_a_column_may_be_of_another_region(header: str, target: str, column: str, configs: list[Config]) -> None:
    for path in (CORPUS, DEV):
        write(path, header)
    train(target)
    assert configs[0].data.target == column
    train(target)
    assert configs[1] == configs[0]


@pytest.mark.parametrize(
    ("header", "dev", "target", "also"),
    [
        ("en fr", "en fr", "de", ()),
        ("en zh_CN", "en zh_CN", "zh_TW", ()),
        ("en de_CH de_LI", "en de_CH de_LI", "de_AT", ()),
        ("en de", "en fr", "de", ()),
        ("en de", "en de", "de", ("fr",)),
        ("en fr de", "en de", "de", ("fr",)),
    ],
    ids=["language", "script", "several regions", "language of dev", "further", "further of dev"],
)
def test_columns_that_are_missing_are_named(
    header: str, dev: str, target: str, also: Sequence[str], configs: list[Config], golden: Golden
) -> None:
    write(CORPUS, header)
    write(DEV, dev)
    with pytest.raises(UserError) as error:
        train(target, also)
    golden(str(error.value))
    assert not configs
    assert not Path("runs/others.yaml").exists()


def test_a_run_of_another_language_or_corpus_is_left_alone(configs: list[Config], golden: Golden) -> None:
    for path in (CORPUS, DEV):
        write(path, "en de fr")
    train("de")
    with pytest.raises(UserError) as error:
        train("fr")
    golden(str(error.value), "language")
    with pytest.raises(UserError) as error:
        localize_parents.train_on_corpus(Path("others.tsv"), ("en", "de"), ())
    golden(str(error.value), "corpus")
    assert len(configs) == 1
