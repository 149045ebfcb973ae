"""The softmax over the whole vocabulary."""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.components import Rate
from dragoman.model.output.output import ROWS, Loss, Output
from dragoman.model.shapes import Float, Int


@final
class Full(Output):
    """`p(y) = softmax(W f + b)`; the loss is the cross-entropy.

    `table` (V, F) is used as W when given: the target embedding, tied (Press and Wolf 2017). With `label_smoothing` e
    the training target is `(1 - e)` on the reference and `e / V` on every symbol (Szegedy et al. 2016);
    log-probabilities and the loss in evaluation are never smoothed.
    """

    def __init__(
        self, features_size: int, symbols: int, table: nn.Parameter | None = None, *, label_smoothing: Rate = 0.0
    ) -> None:
        super().__init__()
        if table is not None and table.size(1) != features_size:
            raise ValueError(
                f"is tied to embeddings of size {table.size(1)}, but the features have size {features_size}; "
                "set features: tanh or deep without features_size, or do not tie"
            )
        weight = torch.empty(symbols, features_size)
        self.weight = nn.Parameter(nn.init.xavier_uniform_(weight)) if table is None else table
        self.bias = nn.Parameter(torch.zeros(symbols))
        self.label_smoothing = label_smoothing

    def logits(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        return functional.linear(features, self.weight, self.bias)

    def loss(self, features: Float[Tensor, "N F"], targets: Int[Tensor, "N"]) -> Loss:
        smoothing = self.label_smoothing if self.training else 0.0
        apply: Callable[..., Tensor] = _CrossEntropy.apply
        total = apply(features, self.weight, self.bias, targets, smoothing, torch.is_grad_enabled())
        return Loss(total, targets.numel())

    def log_probs(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        logits = self.logits(features)
        return torch.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))


class _CrossEntropy(torch.autograd.Function):
    """Projection, softmax and smoothed cross-entropy in one, a few hundred symbols at a time.

    The gradient of a logit is `p - q` with q the smoothed target, so it is at hand as soon as the softmax is; it goes
    straight into the gradients of features and weights, and the logits of a batch never exist all at once.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, wanted: bool
    ) -> Tensor:
        device = features.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        exact = torch.promote_types(kind, torch.float32)
        cast, low = weight.to(kind), features.to(kind)
        total = torch.zeros((), dtype=exact, device=features.device)
        d_features, d_weight = torch.empty_like(low), torch.zeros_like(weight, dtype=exact)
        d_bias = torch.zeros_like(bias, dtype=exact)
        everywhere, extra = smoothing / weight.size(0), 1.0 - smoothing
        with torch.autocast(device, enabled=False):
            for begin in range(0, len(targets), ROWS):
                rows = slice(begin, begin + ROWS)
                here, gold = low[rows], targets[rows].unsqueeze(1)
                log_probs = torch.log_softmax(functional.linear(here, cast, bias.to(kind)), -1, dtype=exact)
                total -= extra * log_probs.gather(1, gold).sum() + everywhere * log_probs.sum()
                if wanted:
                    gradient = log_probs.exp_().sub_(everywhere)  # (rows, V)
                    gradient.scatter_add_(1, gold, gradient.new_full(gold.shape, -extra))
                    d_bias += gradient.sum(0)
                    gradient = gradient.to(kind)
                    d_features[rows] = gradient @ cast
                    d_weight += gradient.t() @ here
        ctx.save_for_backward(d_features, d_weight, d_bias)
        ctx.kinds = features.dtype, weight.dtype, bias.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scaled = ((saved * gradients[0]).to(kind) for saved, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True))
        return *scaled, None, None, None


OUTPUTS = {"full": Full}
