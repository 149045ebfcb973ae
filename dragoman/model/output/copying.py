"""Copying: the softmax over the vocabulary, mixed with the attention to the words of the sentence."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.values import Rate
from dragoman.data.vocabulary import PAD, SymbolTable
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.output.output import Distribution, Loss, Output, Readout
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.shapes import Float, Int

IMPOSSIBLE = float("-inf")  # log P


class SourceWords(NamedTuple):
    """What can be copied: the symbols of each source as those of the target, PAD where there is nothing to copy, None
    for a source of numbers. Positions are counted over all sources that have symbols.
    """

    symbols: tuple[Int[Tensor, "B _"] | None, ...]
    first: Int[Tensor, "B S"]  # the position where the symbol of a position occurs for the first time
    beyond: Int[Tensor, "B"]  # how many symbols the extended vocabulary has beyond the vocabulary


class CopyMixture(NamedTuple):
    """The two parts of the distributions of N steps: the log-probability that a symbol is generated, and the
    probability that it is copied from a position. `symbols` are those at the positions.
    """

    generated: Float[Tensor, "N"]
    copied: Float[Tensor, "N S"]
    symbols: Int[Tensor, "N S"]

    @property
    def statistics(self) -> Mapping[str, Float[Tensor, "N"]]:
        """The probability that a symbol is copied."""
        return {"copied": self.copied.sum(1)}


class Copying(Output):
    """`p(y) = g_t p_shortlist(y) + (1 - g_t) sum_(j: x_j = y) alpha_tj`, over the vocabulary (the shortlist) and the
    words of the sentence that it does not have.

    The switch g_t is that of a subclass. alpha_t are the attention weights of the words of all sources, divided by
    their sum: numbers, a sentinel, end symbols and marks are nothing to copy, and what attention gives to them is left
    out. (If it counted as generating, attention would learn to go there for every word that is generated.) Where no
    word has any, g_t is 1.
    `label_smoothing` smooths p_shortlist alone.
    """

    reads_source = True
    extends = True
    by_symbol = ("shortlist.weight", "shortlist.bias")
    supervised = False

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        label_smoothing: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.shortlist = SoftmaxOutput(features_size, symbols, table, label_smoothing=label_smoothing)
        self.symbols = len(symbols)
        self.first_word = symbols.first

    @abstractmethod
    def switch(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N 1"]:
        """Return the log-odds of g_t."""

    def prepare(self, memories: tuple[Memory, ...]) -> SourceWords:
        extended_ids = (memory.extended for memory in memories)
        symbols = tuple(None if ids is None else ids.masked_fill(ids < self.first_word, PAD) for ids in extended_ids)
        joined = _concatenate_parts(symbols)
        places = torch.arange(joined.size(1), device=joined.device)
        same = joined.unsqueeze(2) == joined.unsqueeze(1)  # (B, S, S)
        first = places.masked_fill(~same, joined.size(1)).amin(2)  # (B, S)
        return SourceWords(symbols, first, (joined.amax(1) + 1 - self.symbols).clamp(min=0))

    def mixture(self, readout: Readout) -> CopyMixture:
        """Return the two parts of p, in float32 or better."""
        texts = readout.prepared.symbols
        symbols = _concatenate_parts(texts)[readout.sentences]
        weights = _concatenate_parts(
            None if text is None else part for part, text in zip(readout.attention, texts, strict=False)
        )  # a sentinel comes last
        exact = torch.promote_types(weights.dtype, torch.float32)
        # Positions with nothing to copy lose their weight, and the others are divided by what is left.
        alpha = weights.to(exact).masked_fill(symbols == PAD, 0.0)
        total, least = alpha.sum(1, keepdim=True), torch.finfo(exact).tiny
        # No weight on any word: the switch is taken to be 1, or mass would be lost in 0 / 0.
        nothing = total <= least
        odds = self.switch(readout.features).to(exact)
        generated = functional.logsigmoid(odds).masked_fill(nothing, 0.0)
        copied = (torch.sigmoid(-odds) * alpha / total.clamp(min=least)).masked_fill(nothing, 0.0)
        return CopyMixture(generated.squeeze(1), copied, symbols)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        return self._log_probs(readout, self.mixture(readout))

    def _log_probs(self, readout: Readout, mixture: CopyMixture) -> Float[Tensor, "N V"]:
        """Return log p. Only at the symbols of the sentence are probabilities added, so that others keep their
        precision.
        """
        words, symbols = readout.prepared, mixture.symbols
        generated = self.shortlist.log_probs(readout) + mixture.generated.unsqueeze(1)
        generated = functional.pad(generated, (0, int(words.beyond.max())), value=IMPOSSIBLE)
        first = words.first[readout.sentences]
        # A word that occurs several times is copied with the sum, which is put at each of its positions.
        copied = torch.zeros_like(mixture.copied).scatter_add(1, first, mixture.copied).gather(1, first)
        here = generated.gather(1, symbols)
        both = torch.logaddexp(here, _finite_log(copied))
        # log (g p + 0) is left as it is: adding the least number would change words that cannot be copied.
        mixed = torch.where((copied == 0) & (symbols < self.symbols), here, both)
        once = first == torch.arange(first.size(1), device=first.device)  # a repeated word has one gradient
        return generated.scatter(1, symbols, torch.where(once, mixed, mixed.detach()))

    def predict(self, readout: Readout) -> Distribution:
        mixture = self.mixture(readout)
        return Distribution(self._log_probs(readout, mixture), None, mixture.statistics)

    def statistics(self, readout: Readout) -> Mapping[str, Float[Tensor, "N"]]:
        return self.mixture(readout).statistics

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        generated, copied, symbols = self.mixture(readout)
        copy = copied.masked_fill(symbols != targets.unsqueeze(1), 0.0).sum(1)
        only_generated = targets < self.symbols
        # Without supervision, copying is impossible only where the source does not have the word.
        if not (self.supervised and self.training):
            only_generated = only_generated & (copy == 0)
        copy = _finite_log(copy).masked_fill(only_generated, IMPOSSIBLE)
        return self.shortlist.mixed_loss(readout.features, targets, generated, copy)


@final
class Pointer(Copying):
    """Gulcehre et al. 2016: `g_t = z_t = sigm(v tanh(U f_t + b) + c)`, an MLP of the features f_t of s_t, c_t and, with
    `readout: deep`, y_(t-1); the weights l_t of the location softmax are those of attention.

    `supervised`, as in the paper, gives the switch of the reference in training: words of the vocabulary are generated
    (z_t = 1), those that only the source has are copied (z_t = 0), and the loss is that of both,
    `- log z_t p_shortlist(y_t)` or `- log (1 - z_t) l_t(y_t)`. Otherwise both ways to a word are added.
    """

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        label_smoothing: Rate = 0.0,
        supervised: bool = False,
    ) -> None:
        super().__init__(features_size, symbols, table, label_smoothing=label_smoothing)
        self.supervised = supervised
        self.hidden = Linear(features_size, features_size)
        self.vector = Linear(features_size, 1)

    def switch(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N 1"]:
        odds: Tensor = self.vector(torch.tanh(self.hidden(features)))
        return odds


@final
class PointerGenerator(Copying):
    """See et al. 2017 (8)-(9): `g_t = p_gen = sigm(w f_t + b)` of the features f_t of context, state and, with
    `readout: deep`, the symbol read.
    """

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        label_smoothing: Rate = 0.0,
    ) -> None:
        super().__init__(features_size, symbols, table, label_smoothing=label_smoothing)
        self.gate = Linear(features_size, 1)

    def switch(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N 1"]:
        odds: Tensor = self.gate(features)
        return odds


def _concatenate_parts(parts: Iterable[Tensor | None]) -> Tensor:
    """Return the tensors of all sources that have symbols, position by position."""
    return torch.cat([part for part in parts if part is not None], 1)


def _finite_log(probabilities: Tensor) -> Tensor:
    """Return their logarithms, finite where they are 0."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
