"""What search returns, and what it needs of a model."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model.shapes import Float, Int

Margin = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Hypothesis:
    """One translation in symbols.

    `symbols` are without the end symbol; `log_probs` (one for each symbol and one for the end, in nats) add up to
    `log P(y | x)`; `score` is that sum under the search's normalisation, by which hypotheses are ranked; `attention`
    holds for every source the weights (len(symbols) + 1, source length), the row of the end symbol last.
    """

    symbols: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    attention: tuple[NDArray[np.float32], ...]

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


@runtime_checkable
class Steps(Protocol):
    """Whatever can be searched: a model, or several behaving as one."""

    start_id: int

    def encode(self, sources: tuple[Sequence, ...]) -> Any: ...
    def start(self, memories: Any) -> Any: ...
    def step(self, symbols: Tensor, state: Any) -> Any: ...
    def log_probs(self, features: Tensor) -> Tensor: ...


class Prefixes(NamedTuple):
    """Open hypotheses: what each row has said so far, and how."""

    symbols: Int[Tensor, "R t"]
    log_probs: Float[Tensor, "R t"]
    attention: Float[Tensor, "R t S"]

    @classmethod
    def empty(cls, rows: int, source: Sequence) -> "Prefixes":
        device = source.ids.device
        return cls(
            torch.empty(rows, 0, dtype=torch.long, device=device),
            torch.empty(rows, 0, device=device),
            torch.empty(rows, 0, source.ids.size(1), device=device),
        )

    def extend(self, symbols: Tensor, log_probs: Tensor, weights: Tensor) -> "Prefixes":
        """One symbol further: all (R,), weights (R, S)."""
        return Prefixes(
            torch.cat([self.symbols, symbols.unsqueeze(1)], 1),
            torch.cat([self.log_probs, log_probs.unsqueeze(1)], 1),
            torch.cat([self.attention, weights.float().unsqueeze(1)], 1),
        )

    def hypothesis(self, row: int, score: float, source_length: int) -> Hypothesis:
        """The row as a finished hypothesis; its last symbol is the end symbol."""
        attention = self.attention[row, :, :source_length].cpu().numpy().copy()
        symbols = tuple(self.symbols[row, :-1].tolist())
        return Hypothesis(symbols, score, tuple(self.log_probs[row].tolist()), (attention,))


class Limit(NamedTuple):
    """How long a translation may become: `ratio` symbols for each source symbol, and `margin` more."""

    ratio: float
    margin: int

    def steps(self, sources: tuple[Sequence, ...]) -> Int[Tensor, "B"]:
        """The step (counted from 0) at which the end symbol is forced, for each sentence."""
        lengths = torch.stack([source.mask.sum(1) for source in sources]).amax(0)
        return (lengths * self.ratio).long() + self.margin


def allowed(log_probs: Float[Tensor, "R V"], ending: Tensor) -> Float[Tensor, "R V"]:
    """Padding and start symbol are never said; rows that must end can only say the end symbol."""
    end = log_probs[:, EOS].clone()
    if end.isnan().any():  # one NaN makes a whole softmax NaN
        raise UserError("the model gives no probabilities (NaN): its weights have diverged or are damaged")
    log_probs = log_probs.masked_fill(ending.unsqueeze(1), float("-inf"))
    log_probs[:, [PAD, BOS]] = float("-inf")
    log_probs[:, EOS] = end
    return log_probs
