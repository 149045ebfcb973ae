"""Validation: the loss of the references against a plain loop, translations and their scores, what is_hard."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch

from dragoman.configuration.config import UNTRANSLATED, Config
from dragoman.data.batch import TokenBatch
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.table import METRICS, higher_is_better
from dragoman.evaluation.significance import compare
from dragoman.model.output.output import Readout
from dragoman.model.weights import read_note, read_tensors
from dragoman.run.folder import RunFolder
from dragoman.training import session, trainer
from dragoman.training.trainer import train
from dragoman.training.training import Training
from dragoman.training.validation import (
    Likelihood,
    PredictionMeasure,
    Validation,
    count_likelihoods,
    measure_likelihood,
)
from dragoman.translation.processor import Processor
from dragoman.translation.result import Result
from dragoman.translation.source_inputs import ModelInputs
from dragoman.translation.translator import Translator
from tests import toy
from tests.builders import BATCH, build_model
from tests.forms import results
from tests.golden import Golden

Assembled = Callable[[Config], Training]


@pytest.fixture
def run(corpus: Path, tmp_path: Path, assembled: Assembled) -> Training:
    """A run of a few steps, with what validation must leave out: smoothed losses and dropout."""
    options = {
        "training.steps": 6,
        "model.output": {"kind": "softmax", "label_smoothing": 0.3},
        "model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.3},
    }
    training = assembled(toy.config(corpus, tmp_path / "run", options))
    train(training)
    return training


def plainly(run: Training) -> tuple[float, float]:
    """Loss and accuracy of the development data, a sentence and a symbol at a time."""
    total, right, count = 0.0, 0, 0
    model, data = run.model.eval(), run.data
    with torch.no_grad():
        (language,) = data.sources
        for (source,), target in data.dev:
            ids = torch.tensor([[*language.vocabulary.ids(language.text.encode(str(source))), EOS]])
            state = model.start(model.encode((TokenBatch(ids, torch.ones_like(ids, dtype=torch.bool)),)))
            previous = torch.tensor([model.start_id])
            for symbol in [*data.target.vocabulary.ids(data.target.text.encode(target)), EOS]:
                step = model.step(previous, state)
                log_probs = model.output.log_probs(Readout(step.features))[0]
                total -= float(log_probs[symbol])
                right += int(log_probs.argmax()) == symbol
                count += 1
                state, previous = step.state, torch.tensor([symbol])
    return total / count, 100 * right / count


@pytest.mark.spec("G3")
def test_loss_perplexity_and_accuracy_are_those_of_a_plain_loop(run: Training) -> None:
    loss, accuracy = plainly(run)
    values = run.validator(run.model).values
    assert values["loss"] == pytest.approx(loss, rel=1e-5)
    assert values["perplexity"] == pytest.approx(math.exp(loss), rel=1e-5)
    assert values["accuracy"] == pytest.approx(accuracy)


@pytest.mark.spec("G3")
def test_perplexity_is_the_exponential_of_any_loss_and_always_a_number() -> None:
    for loss in (0.0, 2.5, 8.0, 50.0, 600.0):
        assert Likelihood(loss, 0.0).perplexity == pytest.approx(math.exp(loss))
    assert math.isfinite(Likelihood(1e6, 0.0).perplexity)


@pytest.mark.spec("G3")
def test_scores_are_sacrebleus_of_the_translations_of_the_development_data(run: Training) -> None:
    validation = run.validator(run.model)
    processor = Processor(ModelInputs(run.data.sources), run.data.target)
    translator = Translator(run.model, processor, run.config.training.search, run.device)
    texts = [translation.text for translation in translator.translate([example.sources[0] for example in run.data.dev])]
    references = [[example.target for example in run.data.dev]]
    assert [translation.text for translation in validation.translations] == texts
    bleu = sacrebleu.BLEU(max_ngram_order=2, force=True).corpus_score(texts, references).score
    assert validation.values["bleu"] == pytest.approx(bleu)
    assert validation.values["chrf"] == pytest.approx(sacrebleu.CHRF().corpus_score(texts, references).score)
    assert [score.name for score in validation.scores] == ["BLEU-2", "chrF2"]


@pytest.mark.slow
@pytest.mark.spec("G3")
def test_training_measures_loss_translations_and_scores_as_it_goes(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    options = {"training.epochs": None, "training.steps": 6, "training.validate_every": 3}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    rows = [json.loads(line) for line in folder.metrics.read_text("utf-8").splitlines()]
    kinds = [(row["step"], *sorted({key.partition("/")[0] for key in row if "/" in key})) for row in rows]
    assert kinds == [(2, "train"), (3, "valid"), (4, "train"), (6, "train"), (6, "valid"), (6, "final")]
    names = {"loss", "perplexity", "accuracy", "bleu", "chrf"}
    assert {key.removeprefix("valid/") for key in rows[1] if "/" in key} == names
    losses = [row["train/loss"] for row in rows if "train/loss" in row]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.slow
def test_a_model_that_is_being_trained_is_measured_as_it_will_be_used(run: Training) -> None:
    assert run.validator(run.model.train()).values == run.validator(run.model.eval()).values


def test_likelihood_does_not_depend_on_batches() -> None:
    model = build_model()
    one = measure_likelihood(model, [BATCH])
    rows = [torch.tensor([row]) for row in range(3)]
    parts = measure_likelihood(
        model,
        [
            BATCH._replace(
                sources=(TokenBatch(BATCH.sources[0].ids[row], BATCH.sources[0].mask[row]),),
                target=TokenBatch(BATCH.target.ids[row], BATCH.target.mask[row]),
                rows=BATCH.rows[row],
            )
            for row in rows
        ],
    )
    assert parts == pytest.approx(one)


@pytest.mark.spec("H13")
def test_the_prediction_has_an_interval_as_a_loop_over_resampled_references_has_it() -> None:
    counts = count_likelihoods(build_model(), [BATCH] * 10)
    assert Likelihood.of(counts.sum(axis=0).tolist()) == pytest.approx(measure_likelihood(build_model(), [BATCH]))
    assert counts[:, 2].tolist() == BATCH.target.mask.sum(1).tolist() * 10
    values, generator = list[list[float]](), np.random.default_rng(4)
    for _ in range(150):
        loss, right, symbols = counts[generator.integers(30, size=30)].sum(axis=0).tolist()
        values.append([math.exp(loss / symbols), 100 * right / symbols])
    for column, name in enumerate(("Perplexity", "Accuracy")):
        (comparison,) = compare(PredictionMeasure(Score(name, 0.0, "symbols:9")), [counts], 1, samples=150, seed=4)
        wanted = np.quantile([row[column] for row in values], [0.025, 0.975])
        assert (comparison.low, comparison.high) == pytest.approx(wanted.tolist())
        assert comparison.score.signature == "symbols:9|bs:150|seed:4"


def test_perplexity_of_a_hopeless_model_is_a_number() -> None:
    assert math.isfinite(Likelihood(loss=1e9, accuracy=0.0).perplexity)


class Scripted:
    """Returns the given values, in place of a Validator."""

    def __init__(self, metric: str, values: list[float], losses: list[float] | None = None) -> None:
        self.metric = metric
        self.values = iter(values)
        self.losses = iter(losses or [0.0] * len(values))

    def __call__(self, model: Any) -> Validation:
        values = {"loss": next(self.losses), "perplexity": 0.0, "accuracy": 0.0}
        return Validation({**values, self.metric: next(self.values)}, [], [])


@pytest.mark.slow
@pytest.mark.spec("G3")
@pytest.mark.parametrize("metric", ["bleu", "ter", "loss", "accuracy"])
def test_any_metric_decides_which_weights_are_best(
    metric: str, corpus: Path, tmp_path: Path, assembled: Assembled, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "training.epochs": None,
        "training.steps": 5,
        "training.validate_every": 1,
        "training.metric": metric,
        "metrics": [metric if metric in METRICS else "bleu"],
    }
    run = assembled(toy.config(corpus, tmp_path / "run", options))
    monkeypatch.setattr(run, "validator", Scripted(metric, [3.0, 5.0, 1.0, 4.0, 2.0]))
    train(run)
    wanted = [(5.0, 2), (4.0, 4)] if higher_is_better(metric) else [(1.0, 3), (2.0, 5)]
    assert [(validation.value, validation.step) for validation in run.progress.best] == wanted
    folder = RunFolder(run.folder.path)
    assert read_tensors(folder.weights("model-best"))[1] == {"step": wanted[0][1]}
    assert read_tensors(folder.weights("model-last"))[1] == {"step": 5}


@pytest.mark.parametrize("metric", [*METRICS, *UNTRANSLATED])
def test_any_metric_may_decide(metric: str, corpus: Path, tmp_path: Path) -> None:
    options = {"training.metric": metric, "metrics": [metric if metric in METRICS else "bleu"]}
    assert toy.config(corpus, tmp_path / "run", options).training.metric == metric


SCRIPTED = {
    "training.epochs": None,
    "training.steps": 6,
    "training.validate_every": 1,
    "training.patience": 2,
    "training.schedule": {"kind": "plateau", "patience": 2},
}


@pytest.mark.parametrize(
    ("losses", "last", "best", "cuts"),
    [([4.0, 3.5, 3.0, 2.5, 2.0, 1.5], 6, [6, 5], 0), ([4.0, 3.0, 3.5, 3.5, 2.0, 1.5], 4, [2, 3], 1)],
)
def test_a_training_whose_bleu_stays_0_goes_on_while_the_loss_falls(
    losses: list[float],
    last: int,
    best: list[int],
    cuts: int,
    corpus: Path,
    tmp_path: Path,
    assembled: Assembled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody runs out of patience, no plateau lowers the rate, and the latest weights are the best."""
    run = assembled(toy.config(corpus, tmp_path / "run", SCRIPTED))
    monkeypatch.setattr(run, "validator", Scripted("bleu", [0.0] * 6, losses))
    train(run)
    assert run.progress.step == last
    assert [validation.step for validation in run.progress.best] == best
    assert read_note(run.folder.weights("model-best")) == {"step": best[0]}
    assert run.schedule(9, run.progress.improvements(True)) == 0.5**cuts


STUCK = "has not improved in 4 validations"


@pytest.mark.slow
@pytest.mark.parametrize(("losses", "stuck"), [([2.0, 2.5, 2.0, 2.1, 2.2], 1), ([2.0, 2.5, 2.0, 1.9, 2.2], 0)])
def test_says_when_the_loss_has_never_fallen(
    losses: list[float],
    stuck: int,
    corpus: Path,
    tmp_path: Path,
    assembled: Assembled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, messages = assembled(toy.config(corpus, tmp_path / "run", {**SCRIPTED, "training.steps": 5})), list[str]()
    monkeypatch.setattr(run, "validator", Scripted("bleu", [1.0, 2.0, 3.0, 4.0, 5.0], losses))
    monkeypatch.setattr(run.journal, "say", messages.append)
    train(run)
    assert sum(STUCK in line for line in messages) == stuck


def test_a_training_with_a_poor_start_is_not_refused(
    corpus: Path, tmp_path: Path, assembled: Assembled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 12 symbols of the toy language, a guess has a loss of 2.5."""
    run = assembled(toy.config(corpus, tmp_path / "run", {**SCRIPTED, "training.steps": 3}))
    guess = math.log(len(run.data.target.vocabulary))
    monkeypatch.setattr(run, "validator", Scripted("bleu", [0.0] * 3, [999 * guess, 24 * guess, 0.9 * guess]))
    train(run)
    assert run.progress.step == 3


def test_a_training_without_hope_ends(
    corpus: Path, tmp_path: Path, assembled: Assembled, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    run = assembled(toy.config(corpus, tmp_path / "run", SCRIPTED))
    guess = math.log(len(run.data.target.vocabulary))
    monkeypatch.setattr(run, "validator", Scripted("bleu", [1.0, 9.0], [0.9 * guess, 1001 * guess]))
    with pytest.raises(UserError) as raised:
        train(run)
    golden(str(raised.value))
    assert read_note(run.folder.weights("model-best")) == read_note(run.folder.weights("model-last")) == {"step": 1}


def test_a_training_that_diverges_is_told_as_such(corpus: Path, tmp_path: Path, golden: Golden) -> None:
    options = {"training.optimizer": {"kind": "adam", "learning_rate": 1e10}, "training.clip_norm": None}
    with pytest.raises(UserError) as error:
        session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    golden(str(error.value))
    assert len(str(error.value)) < 400


def test_figures_are_never_long() -> None:
    hopeless = Likelihood(loss=1e9, accuracy=0.0)
    values = {"loss": hopeless.loss, "perplexity": hopeless.perplexity, "bleu": 12.345}
    assert str(Validation(values, [], [])) == "loss 1.0e+09  perplexity 1.0e+304  bleu 12.35"


@pytest.mark.slow
def test_writes_development_sentences_down_for_reports(run: Training) -> None:
    validation = run.validator(run.model)
    run.validator.write(validation)
    rows = results(run.folder.validation.read_text("utf-8").splitlines())
    assert [(row.reference, row.pair) for row in rows] == [(example.target, None) for example in run.data.dev]
    for row, translation in zip(rows, validation.translations, strict=True):
        assert row.line() == Result(translation, row.reference).line()


def test_says_its_values_in_a_line() -> None:
    assert str(Validation({"loss": 1.234, "bleu": 30.0}, [], [])) == "loss 1.23  bleu 30.00"
