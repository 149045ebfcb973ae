"""The softmax over the vocabulary."""

from collections.abc import Callable, Sequence, Sized
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.configuration.values import Rate
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.linear import linear, matmul_dtype
from dragoman.model.output.output import Distribution, Loss, Output, Readout
from dragoman.model.shapes import Float, Int

ENTRIES = 1 << 22  # of the (rows, symbols) matrix held in memory at a time, or as many as W has
MULTIPLE = 64  # the rows of products in bfloat16 on a processor are multiples of it
GPU_FACTOR = 16  # times as many on a GPU, which small products leave idle


class LogLinearOutput(Output):
    """`p(y) = softmax(W f + b)`. A variant is its training loss; in evaluation all of them have the cross-entropy.

    `ids` are the symbols of the rows of W, if they are not the whole vocabulary.
    """

    by_symbol = ("weight", "bias")
    portable = True

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, ids: Int[Tensor, "V"] | None = None) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias
        self.ids = ids

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        return cross_entropy(readout.features, self.weight, self.bias, targets)

    def logits(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        return linear(features, self.weight, self.bias)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        logits = self.logits(readout.features)  # (N, V)
        return torch.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))

    def predict(self, readout: Readout) -> Distribution:
        return Distribution(self.log_probs(readout), self.ids)

    def restrict_to(self, symbols: Int[Tensor, "_"]) -> "LogLinearOutput":
        # Selected once: to do it at every step would read and write these rows each time.
        rows = (part.detach().index_select(0, symbols) for part in (self.weight, self.bias))
        weight, bias = (nn.Parameter(part, requires_grad=False) for part in rows)
        return LogLinearOutput(weight, bias, symbols).train(self.training)


@final
class SoftmaxOutput(LogLinearOutput):
    """The softmax over the whole vocabulary; the loss is the cross-entropy.

    `symbols` are those of the vocabulary, whose counts give the first bias, or only their number.
    `table` (V, F), if given, is used as W: the target embedding, tied (Press and Wolf 2017).

    With `label_smoothing` e the training target is `(1 - e)` on the reference and `e / V` on every symbol (Szegedy et
    al. 2016); log-probabilities and the loss in evaluation are never smoothed.
    """

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable | int,
        table: nn.Parameter | None = None,
        *,
        label_smoothing: Rate = 0.0,
    ) -> None:
        if isinstance(symbols, int):
            symbols = SymbolTable.sized(symbols)
        super().__init__(output_weight(features_size, symbols, table), nn.Parameter(unigram_log_probs(symbols.counts)))
        self.label_smoothing = label_smoothing

    @property
    def smoothing(self) -> float:
        """e of the loss."""
        return self.label_smoothing if self.training else 0.0

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        return cross_entropy(readout.features, self.weight, self.bias, targets, self.smoothing)

    def mixed_loss(
        self,
        features: Float[Tensor, "N F"],
        targets: Int[Tensor, "N"],
        generate: Float[Tensor, "N"],
        copy: Float[Tensor, "N"],
    ) -> Loss:
        """Return the loss where this is a part of a mixture: `- sum_n log(exp(generate_n) p_n(y_n) + exp(copy_n))`.

        `p_n` is 0 for a symbol outside the vocabulary. `label_smoothing` e smooths what is generated here: the loss is
        `(1 - e)` of that sum and `- e / V sum_n sum_v log p_n(v)`.
        """
        return cross_entropy(features, self.weight, self.bias, targets, self.smoothing, generate, copy)


def unigram_log_probs(counts: Sequence[int]) -> Float[Tensor, "V"]:
    """Return `log ((count + 1) / sum (count + 1))`, the logarithm of the unigram distribution. As the first bias it
    spares a model the steps in which it would learn how frequent its symbols are, or, where they are very many, little
    else.
    """
    # On the CPU even where parameters have no memory: what is computed from it may not be saved, and arithmetic on the
    # device `meta` imports the compiler of torch, which takes seconds.
    smoothed = torch.tensor(counts, dtype=torch.get_default_dtype(), device="cpu") + 1
    return (smoothed / smoothed.sum()).log()


def output_weight(features_size: int, symbols: Sized, table: nn.Parameter | None) -> nn.Parameter:
    """Return W (V, F), which is the target embedding where the two are tied. ValueError where that has another size."""
    if table is None:
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(len(symbols), features_size)))
    if table.size(1) != features_size:
        raise ValueError(
            f"is tied to embeddings of size {table.size(1)}, but the features have size {features_size}; "
            "set readout: tanh or deep without readout_size, or do not tie"
        )
    return table


def cross_entropy(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, "V"],
    targets: Int[Tensor, "N"],
    smoothing: float = 0.0,
    *mixture: Float[Tensor, "N"],
) -> Loss:
    """Return the cross-entropy of `softmax(W f + b)`, smoothed or not; with a `mixture`, `SoftmaxOutput.mixed_loss`."""
    apply: Callable[..., Tensor] = _CrossEntropy.apply
    total = apply(features, weight, bias, targets, smoothing, torch.is_grad_enabled(), *mixture)
    return Loss(total, targets.numel())


class _CrossEntropy(torch.autograd.Function):
    """Fused projection, softmax and smoothed cross-entropy, computed in portions so that memory stays bounded.

        loss = sum_n (log sum_v exp z_n(v) - (1 - e) z_n(y_n)) - e / V sum_n sum_v z_n(v),   z_n = W f_n + b

    The gradient of the first sum by a logit, `p_n(v) - (1 - e) [v = y_n]`, is known with the softmax, and is added
    directly to the gradients of features and weights. The last sum needs no (N, V) matrix: it is a product of
    `sum_n f_n` with `sum_v W_v`. With a `mixture` of (generate, copy) the loss is that of `SoftmaxOutput.mixed_loss`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        wanted: bool,
        *mixture: Tensor,
    ) -> Tensor:
        kind = matmul_dtype(weight)
        exact = torch.promote_types(kind, torch.float32)
        f, w, b = (tensor.to(kind) for tensor in (features, weight, bias))
        of_each, of_gold = smoothing / len(weight), 1.0 - smoothing  # e / V and 1 - e
        f_sum, w_sum = features.sum(0, dtype=exact), weight.sum(0, dtype=exact)  # (F,), (F,)
        # All types are chosen here: autocast would cast W again for each portion.
        with torch.autocast(features.device.type, enabled=False):
            total = -of_each * (f_sum @ w_sum + len(targets) * bias.sum(dtype=exact))
            d_features = torch.empty_like(f, dtype=exact)
            d_weight: Tensor | None = None
            d_bias = torch.full_like(bias, -of_each * len(targets), dtype=exact)
            entries = ENTRIES * GPU_FACTOR if f.is_cuda else ENTRIES
            # At least as many rows as features: the logits then take the memory of W.
            portion = max(entries // len(weight), f.size(1))
            # oneDNN compiles a kernel for each number of rows, and keeps few of them. Rows of zeros are added instead.
            if kind is torch.bfloat16 and not f.is_cuda and not mixture:
                portion = max(portion - portion % MULTIPLE, MULTIPLE)
                f = functional.pad(f, (0, 0, 0, -len(f) % MULTIPLE))
            shares = [torch.empty_like(part) for part in mixture]
            for first in range(0, len(targets), portion):
                rows = slice(first, first + portion)
                logits = functional.linear(f[rows], w, b)  # (n, V), in the type of the products
                if mixture:
                    loss, d_logits, share = _mixture_loss(
                        logits, targets[rows], of_gold, exact, *(part[rows] for part in mixture)
                    )
                    shares[0][rows], shares[1][rows] = share, 1 - share
                else:
                    loss, d_logits = unsmoothed_loss(logits, targets[rows], of_gold, exact)
                total += loss
                # The softmax is at hand: with gradients made now, no (N, V) matrix waits for the backward pass.
                if wanted:
                    d_features[rows] = (d_logits @ w)[: len(targets[rows])]
                    product = d_logits.t() @ f[rows]
                    d_weight = product.to(exact) if d_weight is None else d_weight.add_(product)
                    d_bias += d_logits.sum(0)
        d_weight = torch.zeros_like(weight, dtype=exact) if d_weight is None else d_weight
        if of_each:
            d_weight -= of_each * f_sum
        # -(1 - e) times the shares of both parts, by which the logarithm of their sum changes
        d_mixture = (share.mul_(-of_gold) for share in shares)
        ctx.save_for_backward(d_features.sub_(of_each * w_sum), d_weight, d_bias, *d_mixture)
        ctx.kinds = [tensor.dtype for tensor in (features, weight, bias, *mixture)]
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        # All gradients are those of a total of 1; here comes the factor that it has in the loss.
        scaled = [(saved * gradients[0]).to(kind) for saved, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True)]
        return *scaled[:3], None, None, None, *scaled[3:]


def row_maxima(x: Float[Tensor, "N V"]) -> Float[Tensor, "N"]:
    """Return `max_v x_nv`. In bfloat16 on a processor, torch's own takes four times as long."""
    if not x.is_cuda and x.dtype is torch.bfloat16:
        largest = x.view(torch.int16).amax(-1)  # numbers from 0 on are in the order of their bits, above all others
        if not (largest < 0).any():
            return largest.view(torch.bfloat16)
    return x.amax(-1)


def unsmoothed_loss(logits: Tensor, targets: Tensor, of_gold: float, exact: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return `sum_n (log sum_v exp z_n(v) - of_gold z_n(y_n))`, and its gradient with respect to the logits: 0 in rows
    beyond the targets.
    """
    count = len(targets)
    p = torch.softmax(logits, -1)  # becomes the gradient, in place
    p[count:] = 0
    # log sum exp from the largest logit, whose p cannot underflow
    norms = row_maxima(logits[:count]).to(exact) - row_maxima(p[:count]).to(exact).log()
    gold = torch.arange(count, device=targets.device), targets
    loss = norms.sum() - of_gold * logits[gold].sum(dtype=exact)
    p[gold] -= of_gold
    return loss, p


def _mixture_loss(
    logits: Tensor, targets: Tensor, of_gold: float, exact: torch.dtype, generate: Tensor, copy: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `sum_n (1 - of_gold) log sum_v exp z_n(v) - of_gold log(exp(generate_n) p_n(y_n) + exp(copy_n))`, its
    gradient with respect to the logits, and the share of the generated part in each of these probabilities.
    """
    p = torch.softmax(logits, -1)
    norms = row_maxima(logits).to(exact) - row_maxima(p).to(exact).log()
    in_vocabulary = targets < logits.size(1)
    gold = torch.arange(len(targets), device=targets.device), targets.where(in_vocabulary, 0)
    # log of the generated part; a symbol outside the vocabulary can only be copied
    generated = (generate + logits[gold].to(exact) - norms).masked_fill(~in_vocabulary, float("-inf"))
    share = torch.sigmoid(generated - copy)
    loss = (1 - of_gold) * norms.sum() - of_gold * torch.logaddexp(generated, copy).sum()
    # Only what is generated depends on the logits: its share scales the gradient of the reference.
    p *= (1 - of_gold + of_gold * share).unsqueeze(1)
    p[gold] -= (of_gold * share).to(p.dtype)
    return loss, p, share
