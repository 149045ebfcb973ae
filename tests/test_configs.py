"""Every configuration that we ship is complete, and trains."""

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.configuration.data import DataConfig
from dragoman.training import checks, session

ROOT = Path(__file__).parents[1]
CONFIGS = sorted(ROOT.glob("configs/**/*.yaml"))
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def corpus(folder: Path, sources: tuple[str, ...], features: tuple[str, ...], target: str, between: str) -> None:
    """Numbers in words, the same in each source, and the same backwards, with their links; and arrays."""
    folder.mkdir(parents=True)
    sentences = [[WORDS[(number * step) % 10] for step in range(1, 3 + number % 5)] for number in range(60)]
    for name, lines in (("train", sentences), ("dev", sentences[:4])):
        backwards = "".join(" ".join(reversed(line)) + "\n" for line in lines)
        (folder / f"{name}.{target}").write_text(backwards, encoding="utf-8")
        links = [" ".join(f"{place}-{len(line) - 1 - place}" for place in range(len(line))) for line in lines]
        for source in features:
            np.save(folder / f"{name}.{source}.npy", np.ones((len(lines), 2, 6)))
        for source in sources:
            text = "".join(between.join(line) + "\n" for line in lines)
            (folder / f"{name}.{source}").write_text(text, encoding="utf-8")
            (folder / f"{name}.{source}-{target}.align").write_text("\n".join(links) + "\n", encoding="utf-8")


def places(data: DataConfig, folder: Path) -> dict[str, str]:
    """Where the corpora of a configuration are."""
    if not data.pairs:
        (pair,) = data.language_pairs
        return {f"data.{part}": str(folder / pair.name / part) for part in ("train", "dev")}
    pairs = []
    for pair in data.language_pairs:
        parts = ["dev", *(["train"] if pair.train else [])]
        there = {part: str(folder / pair.name / part) for part in parts}
        pairs.append({"source": pair.sources[0], "target": pair.target, **there})
    return {"data.pairs": json.dumps(pairs)}


def test_there_are_configurations() -> None:
    assert CONFIGS


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_trains_a_few_steps(path: Path, tmp_path: Path) -> None:
    config = checks.load_config(path)
    mark = config.model.attention.sentences
    data = config.data
    for pair in data.language_pairs:
        texts = tuple(name for name in pair.sources if name not in data.features)
        corpus(tmp_path / pair.name, texts, data.features, pair.target, f" {mark} " if mark else " ")
    overrides = {
        **places(config.data, tmp_path),
        "run": str(tmp_path / "run"),
        "training.steps": "3",
        "model.embedding.size": "8",
        "model.encoder.size": "8",
        "model.decoder.size": "16" if config.model.encoder.options.get("direction") is None else "8",
        "device.threads": "1",
    }
    if config.data.features:
        overrides["model.features.size"] = "16"  # as that of two directions
    for side, language in (("source", config.text.source), ("target", config.text.target)):
        if language.tokenizer.kind in ("bpe", "unigram"):
            overrides[f"text.{side}.tokenizer.vocab_size"] = "300"
    folder = session.train(checks.load_config(path, overrides), quiet=True)
    assert folder.weights("model").is_file()
    assert f"valid/{config.training.metric}" in folder.metrics.read_text(encoding="utf-8")
