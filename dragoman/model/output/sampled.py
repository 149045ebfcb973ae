"""Softmax outputs over large vocabularies that are trained on a few of the symbols at a time."""

import math
from typing import Annotated, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.values import Count, Rate
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.linear import linear
from dragoman.model.output.output import Loss, Readout
from dragoman.model.output.softmax import LogLinearOutput, cross_entropy, output_weight, unigram_log_probs
from dragoman.model.shapes import Float, Int


@final
class NoiseContrastive(LogLinearOutput):
    """`log p(y) = w_y f + b_y`, trained to tell the reference from noise (Gutmann and Hyvärinen 2010; Mnih and Teh
    2012), in time that does not grow with the vocabulary:

        - sum_n (log P(true | y_n) + sum_j log (1 - P(true | x_j))),   P(true | y) = u / (u + k q(y)),   u = exp(logit)

    The k = `samples` noise symbols x_j are drawn from q for all rows of the batch together (Zoph et al. 2016). q is
    proportional to `(count + 1)^power`, so that every symbol can be drawn. The normalizer of u is taken to be 1, and
    training makes it so: the gradient approaches that of `- log p(y)` as k grows. The model begins as the unigram
    distribution, b = log q(1), for which that is true.

    In evaluation and search probabilities are `normalized`, exactly, by a softmax over the vocabulary; otherwise they
    are u as it is, at most 1, and no sum is computed: faster, but they sum to 1 only roughly.
    """

    approximates = True

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        samples: Count = 500,
        power: Annotated[float, Field(ge=0, le=1)] = 0.75,
        normalized: bool = True,
    ) -> None:
        frequent = unigram_log_probs(symbols.counts)
        super().__init__(output_weight(features_size, symbols, table), nn.Parameter(frequent))
        self.samples = samples
        self.normalized = normalized
        q = (power * frequent).exp()
        self.q: Tensor
        self.register_buffer("q", q / q.sum(), persistent=False)

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        if not self.training:
            return super().loss(readout, targets)
        k, n = self.samples, len(targets)
        # One draw for all rows: n + k rows of W are read, instead of n (k + 1).
        symbols = torch.cat([targets, torch.multinomial(self.q, k, replacement=True)])
        rows = functional.embedding(symbols, self.weight)
        # log u - log (k q) is the log-odds of being true; its part that is the same for every row
        shifts = self.bias[symbols] - self.q[symbols].log() - math.log(k)
        log_odds = (readout.features * rows[:n]).sum(1) + shifts[:n]  # (n,), of the references
        of_noise = linear(readout.features, rows[n:]) + shifts[n:]  # (N, k)
        return Loss(functional.softplus(-log_odds).sum() + functional.softplus(of_noise).sum(), n)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        if self.normalized:
            return super().log_probs(readout)
        logits = self.logits(readout.features)
        # A search bounds what follows by probabilities of at most 1, which u may exceed.
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).clamp(max=0)


@final
class Partitioned(LogLinearOutput):
    """`p(y) = softmax(W f + b)`, in training over the symbols of a portion of the corpus (Jean et al. 2015):

        - log p(y) = - w_y f - b_y + log sum_{v in V'} exp(w_v f + b_v)

    The corpus is read in the order of training until `portion` distinct target symbols are met, which are V'; then the
    next portion begins. This is importance sampling with Q uniform on V', which cancels. With `label_smoothing` e the
    training target is `(1 - e)` on the reference and `e / V'` on every symbol of the portion. In evaluation and search
    probabilities are those of the whole vocabulary.
    """

    approximates = True
    partitions = True

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        portion: Count = 15_000,
        label_smoothing: Rate = 0.0,
    ) -> None:
        super().__init__(output_weight(features_size, symbols, table), nn.Parameter(unigram_log_probs(symbols.counts)))
        self.portion = portion
        self.label_smoothing = label_smoothing

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        smoothing = self.label_smoothing if self.training else 0.0
        if not self.training or readout.portion is None:
            return cross_entropy(readout.features, self.weight, self.bias, targets, smoothing)
        weight, bias = (part.index_select(0, readout.portion) for part in (self.weight, self.bias))
        # The portion is sorted, and has all targets of its own batches.
        places = torch.searchsorted(readout.portion, targets)
        return cross_entropy(readout.features, weight, bias, places, smoothing)
