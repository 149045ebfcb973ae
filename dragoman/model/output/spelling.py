"""Spelling: the softmax over the vocabulary, and characters for the words that it does not have."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Positive, Rate, Size, Width
from dragoman.data.alphabet import Alphabet
from dragoman.data.vocabulary import UNK, SymbolTable
from dragoman.model.output.output import Distribution, Loss, Output, Readout, TargetScores
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.predictor import Candidate, Continuations
from dragoman.model.recurrent import CellKind
from dragoman.model.shapes import Float, Int
from dragoman.model.speller import Speller, WordScores


@final
class HybridOutput(Output):
    """Words of the vocabulary and, where it says `<unk>`, a word that is spelled (Luong and Manning 2016):

        log p(w) = log p_words(<unk>) + sum_i log p_characters(c_i | c_<i, h)

    for a word w outside the vocabulary, its end included among the characters c_i. h begins the characters' cells: the
    second readout, `tanh(W' [h_t; c_t] + b')`, with weights of its own. `<unk>` is what the decoder reads then.

    Training minimizes `J_words + alpha J_characters`. There are `layers` of the kind `cell`; `size` is that of h,
    `characters` that of the vector of a character. `beam` is how many spellings of a word a search looks at.
    `label_smoothing` smooths p_words alone.
    """

    spells = True
    by_symbol = ("words.weight", "words.bias")
    by_character = ("speller.table", "speller.weight", "speller.bias")

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        size: Size = 512,
        characters: Size = 50,
        layers: Layers = 1,
        cell: CellKind = "lstm",
        alpha: Positive = 1.0,
        beam: Width = 5,
        label_smoothing: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.words_size = features_size - size
        self.symbols = len(symbols)
        self.words = SoftmaxOutput(self.words_size, symbols, table, label_smoothing=label_smoothing)
        self.speller = Speller(Alphabet.of(symbols), size, characters, layers, cell)
        self.alpha = alpha
        self.beam = beam

    @staticmethod
    def second_readout_size(options: Mapping[str, Any]) -> int:
        return int(options["size"])

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        return self.words.log_probs(self._of_words(readout))

    def predict(self, readout: Readout) -> Distribution:
        return Distribution(self.log_probs(readout), kept=self._starts(readout))

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        # Ids from the size of the vocabulary on are words of this batch.
        own = targets >= self.symbols
        loss = self.words.loss(self._of_words(readout), targets.masked_fill(own, UNK))
        spelled = self._spelled(readout, targets, own)
        # Characters add to the loss, and not to the number of symbols that it is divided by.
        return loss if spelled is None else loss._replace(total=loss.total - self.alpha * spelled.log_probs.sum())

    def score_targets(self, readout: Readout, targets: Int[Tensor, "N"]) -> TargetScores:
        own = targets >= self.symbols
        scores = self.words.score_targets(self._of_words(readout), targets.masked_fill(own, UNK))
        spelled = self._spelled(readout, targets, own)
        if spelled is None:
            return scores
        log_probs = torch.zeros_like(scores.log_probs).masked_scatter(own, spelled.log_probs)
        correct = torch.ones_like(own).masked_scatter(own, spelled.correct)
        return TargetScores(scores.log_probs + log_probs, scores.correct & correct)

    def spell_unknown(self, candidates: Continuations, kept: Float[Tensor, "R D"]) -> Continuations:
        beams = [list(beam) for beam in candidates]
        rows = [candidate.row for candidate in chain.from_iterable(beams) if _is_unknown(candidate)]
        if not rows:
            return beams
        # All words of a batch are spelled in one search; a row says `<unk>` once at most.
        spellings = dict(zip(rows, self.speller.spell(kept[rows], self.beam), strict=True))

        def spell_candidate(candidate: Candidate) -> list[Candidate]:
            if not _is_unknown(candidate):
                return [candidate]
            log_prob, total = candidate.log_prob, candidate.total
            return [
                candidate._replace(log_prob=log_prob + score, total=total + score, surface=word)
                for word, score in spellings[candidate.row]
            ]

        return [
            sorted(chain.from_iterable(map(spell_candidate, beam)), key=lambda candidate: -candidate.total)
            for beam in beams
        ]

    def _of_words(self, readout: Readout) -> Readout:
        return Readout(readout.features[:, : self.words_size])

    def _starts(self, readout: Readout) -> Float[Tensor, "N D"]:
        return readout.features[:, self.words_size :]  # of the second readout

    def _spelled(self, readout: Readout, targets: Int[Tensor, "N"], own: Tensor) -> WordScores | None:
        """Return the scores of the words among the targets that the vocabulary does not have; None if it has
        them all.
        """
        if readout.words is None or not own.any():
            return None
        scores: WordScores = self.speller(self._starts(readout)[own], readout.words[targets[own] - self.symbols])
        return scores


def _is_unknown(candidate: Candidate) -> bool:
    """Return whether this is a word to spell."""
    return candidate.symbol == UNK and candidate.surface is None and candidate.total > float("-inf")
