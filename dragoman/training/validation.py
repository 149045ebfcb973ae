"""Validation: the loss of the references and the scores of the translations, on the development set."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.configuration import components
from dragoman.configuration.config import Config
from dragoman.configuration.data import LanguagePair
from dragoman.configuration.messages import figure
from dragoman.data.batch import Batch
from dragoman.data.dataset import Dataset
from dragoman.data.denoising import mask_text, noise
from dragoman.devices import Device
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files.writing import write_atomically
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.search.ensemble import Ensemble
from dragoman.text.mark import Symbol
from dragoman.translation.loading import processor_of, text_transforms
from dragoman.translation.result import Result
from dragoman.translation.source_inputs import ModelInputs
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator


class Likelihood(NamedTuple):
    """How well references are predicted: nats per symbol, and the percentage of symbols that were ranked first."""

    loss: float
    accuracy: float

    @classmethod
    def of(cls, sums: Sequence[float]) -> "Likelihood":
        """Return the likelihood for sums of what `count_likelihoods` counts."""
        loss, right, symbols = sums
        return cls(loss / symbols, 100.0 * right / symbols)

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))


class Validation(NamedTuple):
    """The result of a validation; `values` by metric name (`bleu`; for one of several pairs `en-de/bleu`)."""

    values: dict[str, float]
    scores: list[Score]
    translations: list[Translation]

    def __str__(self) -> str:
        lines: dict[str, list[str]] = {}
        for key, value in self.values.items():
            pair, _, name = key.rpartition("/")
            lines.setdefault(pair, [f"    {pair}"] if pair else []).append(f"{name} {figure(value)}")
        return "\n".join("  ".join(line) for line in lines.values())


@torch.inference_mode()
def count_likelihoods(model: Seq2Seq | Ensemble, batches: Iterable[Batch]) -> Float[np.ndarray, "N 3"]:
    """Count for each reference, under teacher forcing: its negative log-likelihood (never smoothed), the symbols that
    were ranked first, and all symbols.
    """
    rows: list[Tensor] = []
    for batch in batches:
        scored = model.score(batch)
        # float64: thousands of symbols are summed, and decimals decide between validations.
        tensors = (-scored.log_probs.double(), scored.correct, batch.target.mask)
        rows.append(torch.stack([counted.sum(1).double() for counted in tensors], 1).cpu())
    return torch.cat(rows).numpy()


def measure_likelihood(model: Seq2Seq | Ensemble, batches: Iterable[Batch]) -> Likelihood:
    """Return mean negative log-likelihood of the references, and accuracy under teacher forcing."""
    return Likelihood.of(count_likelihoods(model, batches).sum(axis=0).tolist())


class PredictionMeasure(NamedTuple):
    """A score of `inspection.prediction` as a measure of what `count_likelihoods` counts, with an interval."""

    score: Score

    @property
    def name(self) -> str:
        return self.score.name

    def value(self, sums: Sequence[float]) -> float:
        likely = Likelihood.of(sums)
        return {"Perplexity": likely.perplexity, "Accuracy": likely.accuracy}[self.name]

    def signature(self, references: int) -> str:
        return self.score.signature


class Validator:
    """Measures a model on the development set of its run."""

    def __init__(self, config: Config, data: Dataset, device: Device, folder: RunFolder) -> None:
        self.config = config
        self.device = device
        self.folder = folder
        self.sources, self.target = data.sources, data.target
        self.development = dict(zip(config.data.language_pairs, data.development, strict=True))

    def __call__(self, model: Seq2Seq) -> Validation:
        """Score the references by teacher forcing, translate the sources, score the translations.

        With several language pairs, each pair separately, and the mean of those that are trained on and not copies.
        """
        model.eval()
        validations = {pair: self._measured(self._translator(model, pair), pair) for pair in self.development}
        if not self.config.data.pairs:
            return validations[self.config.data.language_pairs[0]]
        deciding = [validations[pair].values for pair in self.config.data.deciding]
        values = {name: fmean(pair_values[name] for pair_values in deciding) for name in deciding[0]}
        for pair, validation in validations.items():
            values |= {f"{pair.name}/{name}": value for name, value in validation.values.items()}
        scores = [score.of(pair.name) for pair, validation in validations.items() for score in validation.scores]
        return Validation(
            values, scores, [one for validation in validations.values() for one in validation.translations]
        )

    def _translator(self, model: Seq2Seq, pair: LanguagePair) -> Translator:
        """Return the translator of a pair. Texts that are to be copied have noise, the same at each validation."""
        config, processor = self.config, processor_of(self.config, self.sources, self.target, self.folder.path)
        processor.transforms = text_transforms(processor, dictionaries={} if config.replace_unk else None)
        if (hides := noise(config.data)) and pair.target in pair.sources:

            def masks(symbols: list[Symbol]) -> list[Symbol]:
                return mask_text(hides, symbols, f"{config.seed}:dev:{' '.join(map(str, symbols))}")

            assert isinstance(processor.model_inputs, ModelInputs)
            # A function of the text, so that validations are comparable with each other.
            processor = replace(processor, model_inputs=replace(processor.model_inputs, noise=masks))
        return Translator(model, processor, config.training.search, self.device)

    def _measured(self, translator: Translator, pair: LanguagePair) -> Validation:
        """Return the result on the development set of one pair."""
        sources, references = zip(*self.development[pair], strict=True)
        scored = measure_likelihood(translator.scorer, translator.pairs(sources, references, to=pair.target))
        values = {"loss": scored.loss, "perplexity": scored.perplexity, "accuracy": scored.accuracy}
        translations = translator.translate(sources, to=pair.target)
        texts = [translation.text for translation in translations]
        scores = [components.build(METRICS, spec).corpus(texts, [references]) for spec in self.config.metrics]
        values.update({spec.kind: score.value for spec, score in zip(self.config.metrics, scores, strict=True)})
        return Validation(values, scores, translations)

    def write(self, validation: Validation) -> None:
        """Write the translations of the development sentences with their references, for reports."""
        examples = [(pair.name, example.target) for pair, examples in self.development.items() for example in examples]
        with write_atomically(self.folder.validation) as file:
            for translation, (pair, reference) in zip(validation.translations, examples, strict=True):
                result = Result(translation, reference, pair if self.config.data.pairs else None)
                file.write(result.line() + "\n")
