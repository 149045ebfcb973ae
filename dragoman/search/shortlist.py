"""Candidate lists: the search is restricted to the few target symbols that the source makes likely."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from dragoman.data.batch import Batch, SourceBatch, TokenBatch
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import EOS, PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.model.predictor import Continuations, Prediction, Predictor, RestrictableRunner, SearchSteps, StepRunner
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import select_rows
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.search.ensemble import Ensemble

FILE = "shortlist.safetensors"  # in the run folder


class BatchShortlist(NamedTuple):
    """The candidates (C,) of all sentences of a batch, special symbols first. `disallowed_mask` (B, C) marks those that
    belong to other sentences alone; None for a batch of one sentence.
    """

    symbols: Int[Tensor, "_"]
    disallowed_mask: Bool[Tensor, "B _"] | None


@final
class Shortlist:
    """The `frequent` most frequent target symbols, and the `translations` most probable translations of each symbol of
    a sentence (CN 6.2; Jean et al. 2015).

    There is a lexicon for each source; a sentence has the candidates of all of them. UserError if both numbers are 0 or
    a lexicon keeps fewer translations of a symbol.
    """

    def __init__(self, lexicons: Sequence[Lexicon], frequent: int, translations: int, device: torch.device) -> None:
        kept = min(lexicon.translations.shape[1] for lexicon in lexicons)
        if not (frequent >= 0 and 0 <= translations <= kept and frequent + translations > 0):
            raise UserError(
                f"shortlist {frequent},{translations}: expected the number of frequent tokens and the number of "
                f"translations (0 to {kept}), such as 300,20"
            )
        self.name = f"{frequent},{translations}"
        self.symbols = len(lexicons[0].frequent) + len(SPECIALS)  # of the vocabulary
        self._everywhere = torch.zeros(self.symbols, dtype=torch.bool, device=device)
        self._everywhere[: len(SPECIALS)] = True  # a search itself masks those that may not come
        self._translations: list[Tensor] = []
        for lexicon in lexicons:
            self._everywhere[lexicon.frequent[:frequent].tolist()] = True
            table = torch.from_numpy(lexicon.translations[:, :translations]).long().to(device)
            table[PAD] = PAD  # padding adds no candidates: PAD is a special, and these are always allowed
            self._translations.append(table)

    def allowed(
        self, sources: tuple[SourceBatch, ...], always: Int[Tensor, "B K"] | None = None
    ) -> Bool[Tensor, "B V"]:
        """Return which symbols of the vocabulary each sentence may contain; those in `always` it may, whatever its
        sources.
        """
        allowed = self._everywhere.repeat(len(sources[0].mask), 1)
        for source, translations in zip(sources, self._translations, strict=True):
            assert isinstance(source, TokenBatch)
            allowed.scatter_(1, translations[source.ids].flatten(1), True)
        if always is not None:
            in_vocabulary = always < self.symbols  # words of the source sentence itself are allowed anyway
            allowed.scatter_(1, always.where(in_vocabulary, PAD), True)
        return allowed

    def coverage(self, batches: Iterable[Batch]) -> "ShortlistCoverage":
        """Return how much of these references the candidates cover."""
        sentences = symbols = covered = candidates = 0
        for batch in batches:
            allowed, target = self.allowed(batch.sources), batch.target
            real = target.mask & (target.ids != EOS)
            sentences, candidates = sentences + len(allowed), candidates + int(allowed.sum())
            symbols, covered = symbols + int(real.sum()), covered + int(allowed.gather(1, target.ids)[real].sum())
        return ShortlistCoverage(sentences, symbols, covered, candidates)


def collect_candidates(allowed: Bool[Tensor, "B V"]) -> BatchShortlist:
    """Return the candidates of a batch, given the symbols that each sentence allows."""
    symbols = allowed.any(0).nonzero().flatten()  # ascending, as `Prediction.ids`
    return BatchShortlist(symbols, ~allowed[:, symbols] if len(allowed) > 1 else None)


class ShortlistCoverage(NamedTuple):
    """Numbers of sentences and of symbols in the references, of those symbols that are candidates of their sentence,
    and of candidates, summed over sentences.
    """

    sentences: int
    symbols: int
    covered: int
    candidates: int


def write(lexicon: Lexicon, path: Path) -> None:
    """Write the lexicon as a file of tensors."""
    write_tensors(path, {name: torch.from_numpy(part) for name, part in lexicon._asdict().items()}, {})


def read(path: Path, symbols: tuple[int, int]) -> Lexicon:
    """Read what `write` wrote, for vocabularies of these sizes. UserError if missing, damaged or another run's."""
    if not path.is_file():
        raise UserError(f"{path.parent}: no shortlist yet; run `dragoman shortlist {path.parent}` first")
    tensors, _ = read_tensors(path)
    sizes = {name: len(tensor) for name, tensor in tensors.items()}
    source, target = symbols
    if sizes != {"frequent": target - len(SPECIALS), "translations": source, "probabilities": source}:
        raise UserError(f"{path}: not the shortlist of this run; run `dragoman shortlist {path.parent}` again")
    return Lexicon(**{name: tensor.numpy() for name, tensor in tensors.items()})


@dataclass(frozen=True, eq=False)
class ShortlistState:
    """The model narrowed to the candidates of a batch, its state, and the symbols that each sentence allows."""

    model: Predictor[Any]
    state: Any
    candidates: BatchShortlist
    allowed: Bool[Tensor, "B V"]


@final
class ShortlistPredictor(Predictor[ShortlistState]):
    """Predicts only the symbols that each sentence of a batch allows, renormalized to probability 1. Words that are not
    in the vocabulary are always allowed.

    Each row's probabilities are over the candidates of its own sentence, so they do not depend on the rest of the
    batch.
    """

    def __init__(self, model: Predictor[Any], allowed: Bool[Tensor, "B V"]) -> None:
        self.start_id = model.start_id
        self._model = model
        self._allowed = allowed

    def begin(self, sources: tuple[SourceBatch, ...]) -> ShortlistState:
        candidates = collect_candidates(self._allowed)
        model = self._model.restrict_to(candidates.symbols)
        return ShortlistState(model, model.begin(sources), candidates, self._allowed)

    def predict(self, symbols: Int[Tensor, "R"], state: ShortlistState) -> Prediction[ShortlistState]:
        step = state.model.predict(symbols, state.state)
        ids, disallowed_mask, log_probs = step.ids, state.candidates.disallowed_mask, step.log_probs
        # A model may have kept more symbols than these, or added words of the source sentence.
        if ids is not state.candidates.symbols:
            beyond = step.symbols >= state.allowed.size(1)
            is_allowed = state.allowed[:, step.symbols.masked_fill(beyond, PAD)] | beyond  # (B, C)
            columns = is_allowed.any(0).nonzero().flatten()
            ids, disallowed_mask, log_probs = step.symbols[columns], ~is_allowed[:, columns], log_probs[:, columns]
        if disallowed_mask is not None:
            by_sentence = log_probs.view(len(disallowed_mask), -1, log_probs.size(1))  # (B, W, C)
            log_probs = by_sentence.masked_fill(disallowed_mask.unsqueeze(1), float("-inf")).view_as(log_probs)
        alone = disallowed_mask is None and ids is step.ids and state.model is not self._model  # already normalized
        shared = log_probs if alone else torch.log_softmax(log_probs, 1)
        return Prediction(shared, step.attention, replace(state, state=step.state), ids, step.statistics)

    def reorder(
        self, state: ShortlistState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> ShortlistState:
        model = state.model.reorder(state.state, rows, sentences)
        if sentences is None:
            return replace(state, state=model)
        candidates = state.candidates._replace(disallowed_mask=select_rows(state.candidates.disallowed_mask, sentences))
        return ShortlistState(state.model, model, candidates, state.allowed[sentences])

    def greedy_runner(self) -> StepRunner | None:
        return _restrict_runner(self._model.greedy_runner())

    def beam_runner(self) -> StepRunner | None:
        return _restrict_runner(self._model.beam_runner())

    def replace_candidates(self, candidates: Continuations, step: Prediction[ShortlistState]) -> Continuations:
        return step.state.model.replace_candidates(candidates, step.followed_by(step.state.state))


@final
class ShortlistRunner(StepRunner):
    """Makes several steps among the candidates of a state."""

    def __init__(self, runner: RestrictableRunner) -> None:
        self.most_steps = runner.most_steps
        self.most_open_steps = runner.most_open_steps
        self.most_rows = runner.most_rows
        self.most_first_rows = runner.most_first_rows
        self._runner = runner

    def __call__(
        self, symbols: Int[Tensor, "R"], totals: Float[Tensor, "B W"], state: ShortlistState, steps: int
    ) -> SearchSteps:
        model_steps = self._runner.restrict_to(*state.candidates)(symbols, totals, state.state, steps)
        return model_steps._replace(state=replace(state, state=model_steps.state))


def _restrict_runner(runner: StepRunner | None) -> StepRunner | None:
    return ShortlistRunner(runner) if isinstance(runner, RestrictableRunner) else None


def restrict_model(model: Predictor[Any], allowed: Bool[Tensor, "B V"]) -> Predictor[Any]:
    """Return the model restricted to the symbols that each sentence allows; for an ensemble, each of its models."""
    if isinstance(model, Ensemble):
        return model.mapped(lambda member: restrict_model(member, allowed))
    return ShortlistPredictor(model, allowed)
