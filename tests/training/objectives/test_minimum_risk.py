"""Minimum risk training: the expected error over candidates, and its gradient."""

from collections import Counter
from collections.abc import Iterator
from math import exp, inf, sqrt
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.configuration.config_file import ConfigError
from dragoman.data.batch import Batch, TokenBatch
from dragoman.data.vocabulary import BOS, EOS, PAD, UNK
from dragoman.evaluation.metrics.sacre import Chrf, Ter
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.training.objectives import minimum_risk
from dragoman.training.objectives.minimum_risk import MinimumRisk, _draw
from tests import toy
from tests.builders import BATCH, build_model, context, pairs, sentences

MODEL = build_model()
METRICS = {"chrf": Chrf(), "ter": Ter()}
RIGHT = [tuple(row[mask].tolist())[:-1] for row, mask in zip(BATCH.target.ids, BATCH.target.mask, strict=True)]


def objective(**options: Any) -> MinimumRisk:
    return MinimumRisk(context(metrics=METRICS), **{"metric": "chrf", "samples": 8, **options})


def log_prob(model: Seq2Seq, batch: Batch, row: int, translation: tuple[int, ...]) -> float:
    source = batch.sources[0]
    assert isinstance(source, TokenBatch)
    words = source.ids[row][source.mask[row]].tolist()[:-1]
    scored = model.score(Batch((sentences(words),), sentences(list(translation)), batch.rows[:1]))
    return float(scored.log_probs.detach().sum())


@pytest.mark.spec("G2")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("reference", [True, False])
def test_the_loss_is_the_expected_error_of_different_candidates(metric: str, reference: bool) -> None:
    risk = objective(metric=metric, alpha=0.3, reference=reference)
    torch.manual_seed(3)
    with torch.no_grad():
        candidates = risk._candidates(MODEL, MODEL.begin(BATCH.sources), RIGHT)
        torch.manual_seed(3)
        loss = risk(MODEL, BATCH)
    total, words = 0.0, risk.target.vocabulary
    for row, (translations, right) in enumerate(zip(candidates, RIGHT, strict=True)):
        assert len(set(translations)) == len(translations) > 1
        assert (right == translations[0]) or not reference
        weights = [exp(0.3 * log_prob(MODEL, BATCH, row, translation)) for translation in translations]
        texts, gold = (
            [" ".join(words.symbols(translation)) for translation in translations],
            " ".join(words.symbols(right)),
        )
        scores = [METRICS[metric].sentence(text, [gold]).value / 100 for text in texts]
        errors = [1 - score if metric == "chrf" else score for score in scores]
        total += sum(weight * error for weight, error in zip(weights, errors, strict=True)) / sum(weights)
    assert float(loss.total) == pytest.approx(total, abs=1e-9)
    assert loss.symbols == len(RIGHT)


@pytest.mark.spec("G2")
@pytest.mark.parametrize("reference", [True, False])
def test_what_is_drawn_several_times_counts_once(monkeypatch: pytest.MonkeyPatch, reference: bool) -> None:
    risk, other = objective(reference=reference), (7, 7, 8)
    monkeypatch.setattr(minimum_risk, "_draw", lambda *_: [[other, right, other] for right in RIGHT])
    candidates = risk._candidates(MODEL, MODEL.begin(BATCH.sources), RIGHT)
    assert candidates == [[right, other] if reference else [other, right] for right in RIGHT]


@pytest.mark.parametrize("metric", METRICS)
def test_an_unknown_word_is_never_right(metric: str) -> None:
    """Though there is one in the same place of both: they are different words."""
    risk = objective(metric=metric)
    assert risk._error((4, 5), (4, 5)) == 0
    assert risk._error((4, UNK), (4, UNK)) > 0.2


@pytest.mark.slow
@pytest.mark.spec("G2")
def test_the_gradient_is_the_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    risk, model = objective(alpha=0.5), build_model(seed=2)
    candidates = [[(4, 5), (6,), (7, 7, 8)] for _ in RIGHT]
    monkeypatch.setattr(risk, "_candidates", lambda *_: candidates)
    risk(model, BATCH).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        place = int(parameter.grad.abs().argmax())
        derivative, values = float(parameter.grad.flatten()[place]), parameter.data.flatten()
        kept, losses = float(values[place]), []
        for step in (1e-5, -1e-5):
            values[place] = kept + step
            with torch.no_grad():
                losses.append(float(risk(model, BATCH).total))
            values[place] = kept
        assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(derivative, abs=1e-7), name


def chances(
    model: Seq2Seq, state: ModelState, least: float, longest: int, prefix: tuple[int, ...] = (), chance: float = 1.0
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the translations that are drawn with a probability of at least `least`, those that are cut among them, if
    neither padding nor the start is ever drawn.
    """
    if len(prefix) == longest:
        yield prefix, chance
        return
    step = model.predict(torch.tensor([prefix[-1] if prefix else model.start_id]), state)
    step.log_probs[0, [PAD, BOS]] = -inf
    for symbol, prob in enumerate((chance * step.log_probs[0].softmax(0)).tolist()):
        if prob >= least and symbol == EOS:
            yield prefix, prob
        elif prob >= least:
            yield from chances(model, step.state, least, longest, (*prefix, symbol), prob)


@pytest.mark.slow
@pytest.mark.spec("G2")
def test_translations_are_drawn_as_probably_as_the_model_finds_them() -> None:
    """Each that should come up 50 times or more, within 4 standard errors; so do all others together."""
    model, batch, samples, longest = build_model(spread=1.5), pairs([[4, 5]], [[6, 7]]), 20_000, 6
    torch.manual_seed(1)
    with torch.no_grad():
        state = model.begin(batch.sources)
        ((*drawn,),) = _draw(model, state, 1, samples, longest)
        expected = dict(chances(model, state, 50 / samples, longest))
    shares = {translation: times / samples for translation, times in Counter(drawn).items()}
    frequencies = [(shares.get(translation, 0.0), chance) for translation, chance in expected.items()]
    frequencies.append((1 - sum(share for share, _ in frequencies), 1 - sum(chance for _, chance in frequencies)))
    assert len(frequencies) >= 10
    for share, chance in frequencies:
        assert share == pytest.approx(chance, rel=0, abs=4 * sqrt(chance * (1 - chance) / samples))
    assert all(len(translation) <= longest and not {EOS, PAD, BOS} & {*translation} for translation in drawn)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"model.output": "pointer_generator"},
            "samples from the vocabulary only, unlike 'pointer_generator'",
        ),
        ({"model.output": {"kind": "nce", "normalized": False}}, "requires probabilities"),
        ({"metrics": ["chrf"], "training.metric": "chrf"}, "uses the metric 'bleu', which is not listed in metrics"),
    ],
)
def test_what_it_cannot_train_is_told(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    corpus, kind = toy.corpus(tmp_path / "corpus"), {"training.objective": "minimum_risk"}
    assert toy.config(corpus, tmp_path / "run", kind).training.objective.kind == "minimum_risk"
    with pytest.raises(ConfigError, match=f"minimum_risk {expected}"):
        toy.config(corpus, tmp_path / "run", {**kind, **options})


@pytest.mark.slow
@pytest.mark.spec("G2")
def test_what_the_metric_finds_better_becomes_more_probable() -> None:
    """Without the reference among the candidates, and without ever reading it."""
    model, risk = build_model(seed=4), objective(samples=20, alpha=1.0, reference=False)
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    torch.manual_seed(5)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = risk(model, BATCH)
        loss.total.backward()
        optimizer.step()
        losses.append(loss.total.item() / loss.symbols)
    assert sum(losses[-5:]) / 5 < 0.85 * sum(losses[:5]) / 5
