"""What came of the worked examples: run by test_contributing.py, in a copy of the project that follows them."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dragoman
from dragoman.cli import app
from dragoman.configuration import components, yaml_lines
from dragoman.model.weights import read_note
from dragoman.run.folder import RunFolder
from dragoman.training import checks, session
from dragoman.training.checks import PARTS
from tests import toy
from tests.worked_examples import Example, examples

EXAMPLES = {example.name: example for example in examples()}
parametrize_examples = pytest.mark.parametrize("name", EXAMPLES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.corpus(tmp_path_factory.mktemp("corpus"))


def values(text: str) -> Any:
    return yaml_lines.read(text, "a block").value


def merged(old: Any, new: Any) -> Any:
    """A configuration with another one's values; of a part that is named, nothing stays."""
    if not isinstance(old, dict) or not isinstance(new, dict) or "kind" in new:
        return new
    return {**old, **{name: merged(old.get(name), value) for name, value in new.items()}}


def written(corpus: Path, *added: Example) -> Path:
    """The configuration of the toy language with those of some examples, in a file."""
    settings = merged(values(toy.CONFIG), {"data": {"train": str(corpus / "train"), "dev": str(corpus / "dev")}})
    for example in added:
        settings = merged(settings, values(example.configuration))
    path = corpus / f"{'-'.join(example.name for example in added)}.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


@parametrize_examples
def test_a_configuration_names_the_part_and_is_told_of_it_and_its_options(name: str, corpus: Path) -> None:
    example = EXAMPLES[name]
    module = example.file.removesuffix(".py").replace("/", ".")
    of_this = [table for table in PARTS.values() if table.get(example.kind, type).__module__ == module]
    result = CliRunner().invoke(app, ["debug", "config", str(written(corpus, example))], env={"COLUMNS": "1000"})
    assert result.exit_code == 0, result.output
    if not of_this:  # the value of an option, not a part with options of its own
        assert re.search(rf": {example.kind}\b", result.stdout)
        return
    for explained in (json.dumps(dragoman.schema()), result.stdout):
        assert len(re.findall(rf"[:,#] {example.kind}\b", explained)) >= len(of_this)
    for option in components.options(of_this[0][example.kind]):
        assert re.search(rf"[ {{]{option}: ", result.stdout)


@pytest.fixture(scope="module")
def run(corpus: Path) -> RunFolder:
    """A model of all these parts, trained for a while."""
    config = checks.load_config(
        written(corpus, *EXAMPLES.values()), {"run": str(corpus / "run"), "training.epochs": "8"}
    )
    return session.train(config, quiet=True)


def test_a_model_of_these_parts_learns_and_the_metric_decides_which_is_best(run: RunFolder) -> None:
    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    losses = [row["valid/loss"] for row in rows if "valid/loss" in row]
    errors = {row["step"]: row["valid/length_error"] for row in rows if "valid/length_error" in row}
    assert losses[-1] < 0.8 * losses[0]
    assert errors[read_note(run.weights("model-best"))["step"]] == min(errors.values())
    part_names = {type(part).__name__ for part in dragoman.load(run.path).model.modules()}
    assert {"DistanceScore", "Cosine", "LowRank", "ResidualRnn"} <= part_names


def test_translations_slip_and_repeat_nothing(run: RunFolder) -> None:
    translator, texts = dragoman.load(run.path), [source for source, _ in toy.pairs(40, 5)]
    outputs = [translation.text for translation in translator.translate(texts)]
    for text in outputs:
        assert max(Counter(text.split()).values(), default=1) == 1
    best = translator.translate(texts, search=components.Spec("epsilon_greedy", {"epsilon": 0.0}))
    assert 0 < sum(one != other.text for one, other in zip(outputs, best, strict=True)) < 40
    translator.generator.constraints = ()
    assert any(max(Counter(sentence.text.split()).values(), default=1) > 1 for sentence in translator.translate(texts))


def test_commands_take_search_and_metric(run: RunFolder, corpus: Path) -> None:
    def run_command(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.stdout

    references = str(corpus / "dev.fr")
    assert (
        run_command("translate", str(run.path), str(corpus / "dev.en"), "--search", "epsilon_greedy").count("\n") == 8
    )
    scores = run_command("evaluate", references, "-i", references, "--metrics", "length_error,chrf")
    assert scores.startswith("Length error = 0.00 (nrefs:1)\nchrF2 = 100.00 (")
    assert "length_error" in run_command("evaluate", "--help")
    words = ["evaluate", references, "-i", references, "--metrics=length_error", "--lowercase"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1
    assert "--lowercase: 'length_error'" in f"{refused.stderr}{refused.exception}"
