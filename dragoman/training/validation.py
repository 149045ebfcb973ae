"""Validation: the loss of the references and the scores of what search finds, on the development set."""

import json
import math
from collections.abc import Iterable
from typing import NamedTuple

import torch

from dragoman import components
from dragoman.config import Config
from dragoman.data.batch import Batch
from dragoman.data.dataset import Dataset
from dragoman.devices import Device
from dragoman.evaluation.metrics import HIGHER_IS_BETTER, METRICS, Score
from dragoman.files import write_atomically
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run import RunFolder
from dragoman.translation import Translation
from dragoman.translator import Translator, as_trained


class Likelihood(NamedTuple):
    """How well references are predicted: nats a symbol, and the percentage of symbols that were predicted first."""

    loss: float
    accuracy: float

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))


class Validation(NamedTuple):
    """What one validation measured; `values` by the names of metrics."""

    values: dict[str, float]
    scores: list[Score]
    translations: list[Translation]

    def __str__(self) -> str:
        return "  ".join(f"{name} {value:.2f}" for name, value in self.values.items())


@torch.inference_mode()
def likelihood(model: Seq2Seq, batches: Iterable[Batch]) -> Likelihood:
    """Mean negative log-likelihood of the references (never smoothed), and accuracy under teacher forcing."""
    total, right, count = 0.0, 0, 0
    for batch in batches:
        scored = model.score(batch)
        total -= float(scored.log_probs.double().sum())
        right += int(scored.first.sum())
        count += int(batch.target.mask.sum())
    return Likelihood(total / count, 100.0 * right / count)


class Validator:
    """Measures a model on the development set of its run."""

    def __init__(self, config: Config, data: Dataset, device: Device, folder: RunFolder) -> None:
        self.config = config
        self.device = device
        self.folder = folder
        self.languages = data.sources, data.target
        self.sources = [example.sources for example in data.dev]
        self.references = [example.target for example in data.dev]

    def __call__(self, model: Seq2Seq) -> Validation:
        """Score the references by teacher forcing, translate the sources, score the translations."""
        translator = Translator(model.eval(), *self.languages, self.config.training.search, self.device)
        as_trained(translator, self.config)
        found = likelihood(model, translator.pairs(self.sources, self.references))
        values = {"loss": found.loss, "perplexity": found.perplexity, "accuracy": found.accuracy}
        translations = translator.translate(self.sources)
        texts = [translation.text for translation in translations]
        scores = [components.build(METRICS, spec).corpus(texts, [self.references]) for spec in self.config.metrics]
        values.update({spec.kind: score.value for spec, score in zip(self.config.metrics, scores, strict=True)})
        return Validation(values, scores, translations)

    def as_good(self, value: float, best: float) -> bool:
        """Whether a value of the deciding metric is no worse than another."""
        return value >= best if HIGHER_IS_BETTER[self.config.training.metric] else value <= best

    def write(self, validation: Validation) -> None:
        """The development sentences with their translations and attention, for reports."""
        with write_atomically(self.folder.validation) as file:
            for found, reference in zip(validation.translations, self.references, strict=True):
                seen = found.overview
                row = {
                    "source": seen.columns,
                    "target": found.tokens,
                    "text": found.text,
                    "reference": reference,
                    "score": round(found.score, 4),
                    "attention": seen.attention.round(3).tolist(),
                    **({"shares": seen.shares} if seen.shares else {}),
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
