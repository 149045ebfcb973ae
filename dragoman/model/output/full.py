"""The softmax over the whole vocabulary."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.components import Rate
from dragoman.model.output.output import Loss, Output
from dragoman.model.shapes import Float, Int


@final
class Full(Output):
    """`p(y) = softmax(W f + b)`; the loss is the cross-entropy.

    `table` (V, F) is used as W when given: the target embedding, tied (Press and Wolf 2017). With `label_smoothing` e
    the training target is `(1 - e)` on the reference and `e / V` on every symbol (Szegedy et al. 2016); log-probabilities and
    the loss in evaluation are never smoothed.
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
        logits = self.logits(features)
        total = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        return Loss(total, targets.numel())

    def log_probs(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        logits = self.logits(features)
        return torch.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))


OUTPUTS = {"full": Full}
