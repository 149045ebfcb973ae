"""Corpora that a configuration names and that are not there: one line each, with file, line and key."""

from pathlib import Path

import pytest

from dragoman.configuration.config_file import ConfigError
from dragoman.training.checks import load_config


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("a\n", encoding="utf-8")


def problems(folder: Path, text: str) -> list[str]:
    file = folder / "config.yaml"
    file.write_text(text.replace("FOLDER", str(folder)), encoding="utf-8")
    load_config(file)  # without the check, files may be missing
    try:
        load_config(file, files=True)
    except ConfigError as error:
        return str(error).replace(str(folder), "FOLDER").splitlines()
    return []


TEXT = """run: FOLDER/run
data:
  source: en
  target: fr
  train: [FOLDER/a, FOLDER/b]
  dev: FOLDER/dev
"""


def test_missing_files_are_named_with_their_keys(tmp_path: Path) -> None:
    write(tmp_path, "a.en", "a.fr", "b.en")
    assert problems(tmp_path, TEXT) == [
        "FOLDER/config.yaml:5: data.train.1: FOLDER/b.fr: no such file (nor b.fr.gz)",
        "FOLDER/config.yaml:6: data.dev: FOLDER/dev.en: no such file (nor dev.en.gz)",
    ]
    write(tmp_path, "b.fr.gz", "dev.en", "dev.fr")
    assert problems(tmp_path, TEXT) == []


def test_a_single_file_and_pairs_have_the_keys_that_are_written(tmp_path: Path) -> None:
    pairs = "run: FOLDER/run\ndata:\n  pairs:\n  - {source: en, target: fr, train: FOLDER/a, dev: FOLDER/dev}\n"
    for text, line, key in ((TEXT.replace("[FOLDER/a, FOLDER/b]", "FOLDER/a"), 5, "data"), (pairs, 4, "data.pairs.0")):
        assert problems(tmp_path, text)[0] == (
            f"FOLDER/config.yaml:{line}: {key}.train: FOLDER/a.en: no such file (nor a.en.gz)"
        )


def test_alignments_and_features_are_files_too(tmp_path: Path) -> None:
    write(tmp_path, "a.en", "a.fr", "b.en", "b.fr", "dev.en", "dev.fr")
    first, second = problems(tmp_path, TEXT + "  alignments: true\ntraining: {penalties: supervised}\n")
    assert "FOLDER/a.en-fr.align" in first
    assert "FOLDER/b.en-fr.align" in second
    image = (
        TEXT.replace("source: en", "source: [en, image]").replace("[FOLDER/a, FOLDER/b]", "FOLDER/b")
        + "  features: [image]\n"
    )
    assert ["b.image.npy" in line for line in problems(tmp_path, image)] == [True, False]


def test_a_run_that_exists_has_read_its_files(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert problems(tmp_path, TEXT) == []


def test_required_keys_say_what_they_are_for(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"data.dev: required: prefix of the development files"):
        load_config(tmp_path / "config.yaml")
