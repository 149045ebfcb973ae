"""Minimum risk training: what a metric finds better becomes more probable."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypeAlias, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.vocabulary import EOS, UNK
from dragoman.model import build
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.model.shapes import Float
from dragoman.model.state import first_tensor, select_rows
from dragoman.training.objectives.objective import Objective, ObjectiveContext, drawn

Said: TypeAlias = tuple[int, ...]  # the symbols of a translation without its end
LONGER: Final = (1.5, 5)  # most symbols that are drawn: so many times those of the longest reference, and so many more
UNSAID: Final = "\u16a0"  # a word that no vocabulary has, in the place of each unknown one


@final
class MinimumRisk(Objective):
    """The expected error of what a model says, summed over sentences (Shen et al. 2016):

        sum_(y in S) Q(y | x) D(y, y*),   Q(y | x) = P(y | x)^alpha / sum_(y' in S) P(y' | x)^alpha

    S are the different ones of `samples` translations that the model draws and, with `reference`, y* itself; a draw
    that does not end is cut. D is the error of a sentence by a `metric` of the configuration: a hundredth of it, or 1
    less that if higher is better; an unknown word of y* is never right. This is for a model that is trained already:
    drawing takes time, and what other models draw is of no use.
    """

    any_attention = True
    draws = True

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        metric: str = "bleu",
        samples: Annotated[int, Field(ge=2, le=1000)] = 20,
        alpha: Annotated[float, Field(gt=0)] = 0.005,
        reference: bool = True,
    ) -> None:
        super().__init__(context)
        self.metric = context.metrics[metric]
        self.target = context.target
        self.samples = samples
        self.alpha = alpha
        self.reference = reference

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        yield from super().problems(config)
        metric = config.training.objective.options.get("metric", "bleu")
        if metric not in [spec.kind for spec in config.metrics]:
            yield f"minimum_risk uses the metric '{metric}', which is not listed in metrics"
        surfaces = build.unknown_word_needs(config.model)
        if surfaces.extended or surfaces.target:
            yield f"minimum_risk samples from the vocabulary only, unlike '{config.model.output.kind}'"
        if config.model.output.options.get("normalized") is False:
            yield "minimum_risk requires probabilities, which model.output with normalized: false does not give"
        if config.data.edits is not None:
            yield "minimum_risk cannot be combined with data.edits: sampled edit operations may be invalid"

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        state, real = model.begin(batch.sources), batch.target.mask
        right = [tuple(ids[mask].tolist())[:-1] for ids, mask in zip(batch.target.ids, real, strict=True)]
        candidates = self._candidates(model, state, right)
        log_probs = _log_probs(model, state, batch, candidates)
        risks = [
            (
                (self.alpha * own).softmax(0)
                * own.new_tensor([self._error(translation, reference) for translation in translations])
            ).sum()
            for own, translations, reference in zip(
                torch.split(log_probs, list(map(len, candidates))), candidates, right, strict=True
            )
        ]
        return Loss(torch.stack(risks).sum(), len(risks))

    @torch.no_grad()
    def _candidates(self, model: Seq2Seq, state: ModelState, right: Sequence[Said]) -> list[list[Said]]:
        """Return S of each sentence."""
        times, more = LONGER
        samples = _draw(model, state, len(right), self.samples, int(times * max(map(len, right))) + more)
        own = [[reference] if self.reference else [] for reference in right]
        # Different ones, in the order in which they were drawn: a set would not repeat.
        return [list(dict.fromkeys([*references, *draws])) for references, draws in zip(own, samples, strict=True)]

    def _error(self, translation: Said, right: Said) -> float:
        """Return D of a translation."""
        symbols = self.target.vocabulary.symbols
        # `<unk>` in both would count as a match.
        wanted = [UNSAID if number == UNK else symbol for number, symbol in zip(right, symbols(right), strict=True)]
        text, reference = (self.target.text.decode(symbol_ids) for symbol_ids in (symbols(translation), wanted))
        score = self.metric.sentence(text, [reference]).value / 100
        return 1 - score if self.metric.higher_is_better else score


def _draw(model: Seq2Seq, state: ModelState, sentences: int, samples: int, longest: int) -> list[list[Said]]:
    """Return what the model draws for each sentence, ended after `longest` symbols at the latest."""
    start = first_tensor(state.source_state)
    rows = torch.arange(sentences, device=start.device).repeat_interleave(samples)
    symbols, ended = torch.full_like(rows, model.start_id), torch.zeros_like(rows, dtype=torch.bool)
    steps: list[Tensor] = []
    state = model.reorder(state, rows)
    while len(steps) < longest and not ended.all():
        prediction = model.predict(symbols, state)
        symbols, state = drawn(prediction), prediction.state
        # Rows that have ended go on, for a tensor of one shape; what they say is cut off.
        ended |= symbols == EOS
        steps.append(symbols)
    translations = [_until_end(row) for row in torch.stack(steps, 1).tolist()]
    return [translations[first : first + samples] for first in range(0, len(translations), samples)]


def _until_end(symbols: list[int]) -> Said:
    return tuple(symbols[: symbols.index(EOS)] if EOS in symbols else symbols)


def _log_probs(
    model: Seq2Seq, state: ModelState, batch: Batch, candidates: Sequence[Sequence[Said]]
) -> Float[Tensor, "N"]:
    """Return `log P(y | x)` of these translations, those of one sentence after those of the other."""
    target = pad_tokens([[*translation, EOS] for translations in candidates for translation in translations]).to(
        batch.target.ids.device
    )
    numbers = [number for number, translations in enumerate(candidates) for _ in translations]
    rows = torch.tensor(numbers, device=target.ids.device)
    # Candidates are rows of their own, one sentence each: the batch is encoded once, and its gradient added up.
    own = select_rows(state, rows)
    readout = model.readouts(model.unroll(own, target.ids), batch._replace(target=target), own)
    scores = model.output.score_targets(readout, target.ids[target.mask]).log_probs
    return scores.new_zeros(target.mask.shape).masked_scatter(target.mask, scores).sum(1)
