"""The softmax over the whole vocabulary."""

from collections.abc import Callable, Mapping, Sized
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.configuration.components import Rate
from dragoman.model.linear import linear, matmul_dtype
from dragoman.model.output.output import Distribution, Loss, Output, Readout
from dragoman.model.shapes import Float, Int

ENTRIES = 1 << 22  # of the (rows, symbols) matrix held in memory at a time


@final
class Full(Output):
    """`p(y) = softmax(W f + b)`; the loss is the cross-entropy.

    `table` (V, F), if given, is used as W: the target embedding, tied (Press and Wolf 2017). With `label_smoothing` e
    the training target is `(1 - e)` on the reference and `e / V` on every symbol (Szegedy et al. 2016);
    log-probabilities and the loss in evaluation are never smoothed.
    """

    by_symbol = ("weight", "bias")
    portable = True

    def __init__(
        self, features_size: int, symbols: Sized, table: nn.Parameter | None = None, *, label_smoothing: Rate = 0.0
    ) -> None:
        super().__init__()
        self.weight = output_weight(features_size, symbols, table)
        self.bias = nn.Parameter(torch.zeros(len(symbols)))
        self.label_smoothing = label_smoothing
        self.ids: Tensor | None = None  # of its symbols, if they are not the whole vocabulary

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        smoothing = self.label_smoothing if self.training else 0.0
        apply: Callable[..., Tensor] = _CrossEntropy.apply
        total = apply(readout.features, self.weight, self.bias, targets, smoothing, torch.is_grad_enabled())
        return Loss(total, targets.numel())

    def logits(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        return linear(features, self.weight, self.bias)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        logits = self.logits(readout.features)
        return torch.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))

    def predict(self, readout: Readout) -> Distribution:
        return Distribution(self.log_probs(readout), self.ids)

    def narrowed(self, symbols: Int[Tensor, "_"]) -> "Full":
        weight, bias = (part.detach().index_select(0, symbols) for part in (self.weight, self.bias))
        table = nn.Parameter(weight, requires_grad=False)
        output = Full(table.size(1), symbols, table, label_smoothing=self.label_smoothing)
        output.bias = nn.Parameter(bias, requires_grad=False)
        output.ids = symbols
        return output.train(self.training)


def output_weight(features_size: int, symbols: Sized, table: nn.Parameter | None) -> nn.Parameter:
    """W (V, F), which is the target embedding where the two are tied. ValueError where that has another size."""
    if table is None:
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(len(symbols), features_size)))
    if table.size(1) != features_size:
        raise ValueError(
            f"is tied to embeddings of size {table.size(1)}, but the features have size {features_size}; "
            "set features: tanh or deep without features_size, or do not tie"
        )
    return table


class _CrossEntropy(torch.autograd.Function):
    """Fused projection, softmax and smoothed cross-entropy, computed in portions so that memory stays bounded.

        loss = sum_n (log sum_v exp z_n(v) - (1 - e) z_n(y_n)) - e / V sum_n sum_v z_n(v),   z_n = W f_n + b

    The gradient of the first sum by a logit, `p_n(v) - (1 - e) [v = y_n]`, is known with the softmax, and is added
    directly to the gradients of features and weights. The last sum needs no (N, V) matrix: it is a product of
    `sum_n f_n` with `sum_v W_v`.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, wanted: bool
    ) -> Tensor:
        kind = matmul_dtype(weight)
        exact = torch.promote_types(kind, torch.float32)
        f, w, b = (each.to(kind) for each in (features, weight, bias))
        of_each, of_gold = smoothing / len(weight), 1.0 - smoothing  # e / V and 1 - e
        f_sum, w_sum = features.sum(0, dtype=exact), weight.sum(0, dtype=exact)
        with torch.autocast(features.device.type, enabled=False):
            total = -of_each * (f_sum @ w_sum + len(targets) * bias.sum(dtype=exact))
            d_features = torch.empty_like(f, dtype=exact)
            d_weight = (-of_each * f_sum).expand(weight.shape).clone()
            d_bias = torch.full_like(bias, -of_each * len(targets), dtype=exact)
            portion = max(1, ENTRIES // len(weight))
            for first in range(0, len(targets), portion):
                rows = slice(first, first + portion)
                loss, d_logits = _unsmoothed(functional.linear(f[rows], w, b), targets[rows], of_gold, exact)
                total += loss
                if wanted:
                    d_features[rows] = d_logits @ w
                    d_weight += d_logits.t() @ f[rows]
                    d_bias += d_logits.sum(0)
        ctx.save_for_backward(d_features.sub_(of_each * w_sum), d_weight, d_bias)
        ctx.kinds = features.dtype, weight.dtype, bias.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scaled = ((saved * gradients[0]).to(kind) for saved, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True))
        return *scaled, None, None, None


def _unsmoothed(logits: Tensor, targets: Tensor, of_gold: float, exact: torch.dtype) -> tuple[Tensor, Tensor]:
    """`sum_n (log sum_v exp z_n(v) - of_gold z_n(y_n))`, and its gradient with respect to the logits."""
    p = torch.softmax(logits, -1)
    # log sum exp from the largest logit, whose p cannot underflow
    norms = logits.amax(-1).to(exact) - p.amax(-1).to(exact).log()
    gold = torch.arange(len(targets), device=targets.device), targets
    loss = norms.sum() - of_gold * logits[gold].sum(dtype=exact)
    p[gold] -= of_gold
    return loss, p


OUTPUTS: Mapping[str, type[Output]] = {"full": Full}
