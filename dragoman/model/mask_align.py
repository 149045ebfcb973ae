"""A model that predicts each target word from one source word, which the words around it choose: it aligns them."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.batch import TokenBatch
from dragoman.model.linear import Linear, linear
from dragoman.model.recurrent import Gru
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.unrolled import run_cell

GRAM: Final = 4  # characters of the pieces that a word's vector is made of
UNLINKED: Final = 0.08  # p_0, how probable it is that a word has no counterpart; learned, it would become 1 at first
DIAGONAL: Final = 4.0  # how much attention prefers words at the same share of their sentences, at first


class Choices(NamedTuple):
    """For each target word and each source word, no word first: the logarithms of the probabilities that it is chosen
    (`prior`), and that it is and says the target word (`joint`).
    """

    prior: Float[Tensor, "B T _"]
    joint: Float[Tensor, "B T _"]


@final
class NgramEmbedding(nn.Module):
    """The vector of a word: the mean of one for the word and one for each of its pieces of four characters, `<` and `>`
    standing at its ends (Bojanowski et al. 2017). So rare forms share what is known of others.
    """

    def __init__(self, words: Sequence[str], size: int) -> None:
        super().__init__()
        pieces: dict[str, int] = {}
        parts = [
            [number, *(len(words) + pieces.setdefault(piece, len(pieces)) for piece in _pieces(word))]
            for number, word in enumerate(words)
        ]
        counts = torch.tensor([len(numbers) for numbers in parts], dtype=torch.long)
        self.parts: Tensor
        self.register_buffer("parts", torch.tensor([part for numbers in parts for part in numbers], dtype=torch.long))
        self.counts: Tensor
        self.register_buffer("counts", counts)
        self.table = nn.Parameter(torch.randn(len(words) + len(pieces), size) / math.sqrt(size))

    def forward(self, words: Int[Tensor, "X"]) -> Float[Tensor, "X E"]:
        counts, firsts = self.counts[words], (self.counts.cumsum(0) - self.counts)[words]
        offsets = counts.cumsum(0) - counts
        places = torch.arange(int(counts.sum()), device=words.device)
        chosen = self.parts[places + torch.repeat_interleave(firsts - offsets, counts)]
        return functional.embedding_bag(chosen, self.table, offsets, mode="mean")


def _pieces(word: str) -> list[str]:
    whole = f"<{word}>"
    return [whole[first : first + GRAM] for first in range(len(whole) - GRAM + 1)] if len(whole) > GRAM else []


@final
class MaskAlign(nn.Module):
    """Each target word is predicted as if it were masked, from what stands around it and from one source word (after
    Chen, Sun and Liu 2021, "Mask-align", with recurrent networks in the place of self-attention):

        p(y_t | y_<t, y_>t, x) = sum_(j=0..S) alpha_tj p(y_t | x_j)
        alpha_t0 = p_0,  (alpha_t1, ..., alpha_tS) = (1 - p_0) softmax(e_t1, ..., e_tS)
        e_tj = scale (W [f_t; b_t]) . (U h_j) / sqrt(E) - softplus(l) |t / T - j / S|
        p(y | x_j) = softmax(O tanh(M v_j + m) + o),  O_y the vector of y for this, made of its pieces, too

    f_t is the state of a GRU that has read y_1 ... y_(t-1), b_t that of one that has read y_T ... y_(t+1), h_j the
    states of GRUs in both directions at x_j. v_j is the vector of x_j alone, v_0 a learned one for words without a
    counterpart; so all information on y_t comes through the choice of j. Since it is a sum of probabilities, and not
    `p(y_t | sum_j alpha_tj v_j)`, that choice has a posterior, which knows y_t, too. The preference for the diagonal,
    whose strength is learned, and the constant p_0 are those of Dyer et al. (2013).
    """

    def __init__(self, source: Sequence[str], target: Sequence[str], *, size: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.source, self.target = NgramEmbedding(source, size), NgramEmbedding(target, size)
        self.ends = nn.Parameter(torch.randn(2, size) / math.sqrt(size))  # before and after a target
        self.forwards, self.backwards, self.before, self.after = (Gru(size, size) for _ in range(4))
        self.query, self.key = (Linear(2 * size, size, bias=False) for _ in range(2))
        self.diagonal = nn.Parameter(torch.tensor(DIAGONAL))  # l
        self.unsaid = nn.Parameter(torch.randn(1, size) / math.sqrt(size))  # v_0
        self.hidden = Linear(size, size)
        self.output = NgramEmbedding(target, size)
        self.bias = nn.Parameter(torch.zeros(len(target)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: TokenBatch, target: TokenBatch, scale: float = 1.0) -> Choices:
        """Words are numbers of those that the constructor was given. Padding of the source is never chosen."""
        words, places = torch.unique(source.ids.masked_fill(~source.mask, 0), return_inverse=True)
        vectors = self.source(words)  # (X, E)
        energies = -functional.softplus(self.diagonal) * _relative_distance(target.mask, source.mask, vectors.dtype)
        if scale:
            keys = self._keys(self.dropout(vectors[places]), source.mask)
            energies = energies + scale / math.sqrt(keys.size(2)) * self._queries(target) @ keys.transpose(1, 2)
        chosen = torch.log_softmax(energies.masked_fill(~source.mask.unsqueeze(1), float("-inf")), 2)
        prior = functional.pad(chosen + math.log(1 - UNLINKED), (1, 0), value=math.log(UNLINKED))
        features = torch.tanh(self.hidden(self.dropout(torch.cat([self.unsaid, vectors]))))
        rows = self.output(torch.arange(len(self.bias), device=features.device))  # (V, E)
        says = torch.log_softmax(linear(self.dropout(features), rows, self.bias), 1)  # (1 + X, V), by distinct words
        row = functional.pad(places + 1, (1, 0)).unsqueeze(1)  # (B, 1, 1 + S)
        return Choices(prior, prior + says[row, target.ids.masked_fill(~target.mask, 0).unsqueeze(2)])

    def _keys(self, embedded: Float[Tensor, "B S E"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        """`U h_j`."""
        ahead, _ = run_cell(self.forwards, embedded, real)
        back, _ = run_cell(self.backwards, embedded, real, backward=True)
        keys: Tensor = self.key(self.dropout(torch.cat([ahead, back], 2)))
        return keys

    def _queries(self, target: TokenBatch) -> Float[Tensor, "B T A"]:
        """`W [f_t; b_t]`. At t one GRU reads y_(t-1), the other y_(t+1), and ends where there is none."""
        real = target.mask
        distinct, places = torch.unique(target.ids.masked_fill(~real, 0), return_inverse=True)
        embedded = self.dropout(self.target(distinct)[places])
        begin, end = (vector.expand(len(embedded), 1, -1) for vector in self.ends)
        last = real & ~functional.pad(real[:, 1:], (0, 1))
        following = torch.where(last.unsqueeze(2), end, torch.cat([embedded[:, 1:], end], 1))
        ahead, _ = run_cell(self.before, torch.cat([begin, embedded[:, :-1]], 1), real)
        back, _ = run_cell(self.after, following, real, backward=True)
        queries: Tensor = self.query(self.dropout(torch.cat([ahead, back], 2)))
        return queries


def _relative_distance(
    target: Bool[Tensor, "B T"], source: Bool[Tensor, "B S"], kind: torch.dtype
) -> Float[Tensor, "B T S"]:
    """`|t / T - j / S|`, both counted from 1."""
    shares = [mask.to(kind).cumsum(1) / mask.sum(1, keepdim=True).clamp(min=1) for mask in (target, source)]
    return (shares[0].unsqueeze(2) - shares[1].unsqueeze(1)).abs()
