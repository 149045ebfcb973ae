"""Linear maps with 8-bit integers, for translating on processors."""

from typing import NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman import devices
from dragoman.model.linear import WeightSlice
from dragoman.model.shapes import Float, Int
from dragoman.torch_internals import int8_product

LARGEST = 127
LEAST = 1e-30  # smallest scale, for a row of zeros


class _Rounded(NamedTuple):
    """`W[o, i] = integers[i, o] * scales[o]`."""

    integers: Int[Tensor, "I O"]
    scales: Float[Tensor, "O"]
    bias: Float[Tensor, "O"] | None


@final
class Int8:
    """Products of 8-bit integers: half the time of bfloat16 on processors with instructions for them (VNNI, AMX).

    Each row of W and each row of x is scaled by its largest entry. Integer sums are exact, so a row's result does not
    depend on the other rows. The model's parameters are rounded on first use and cached; later changes to the model are
    not seen. Other weights, which are temporary, are not rounded.

    Processors without such instructions add pairs of products in 16 bits. There, weights are rounded to 7 bits, so that
    the sums do not overflow (`devices.PROCESSORS`).
    """

    def __init__(self, model: nn.Module) -> None:
        self.parameters = set(model.parameters())
        self.rounded: dict[WeightSlice, _Rounded] = {}
        # oneDNN may use other instructions than the processor has (ONEDNN_MAX_CPU_ISA), so its sums are tried, too.
        self.largest = LARGEST if devices.switches().int8_bits == 8 and _is_exact() else LARGEST // 2

    def __call__(self, x: Float[Tensor, "*rows _"], part: WeightSlice) -> Float[Tensor, "*rows _"]:
        if part.weight not in self.parameters:
            return functional.linear(x, *part.cut())
        used, rows = self.rounded.get(part), x.flatten(0, -2)
        if used is None:
            used = self.rounded[part] = _round(part, self.largest)
        scales = rows.abs().amax(1, keepdim=True).clamp_(min=LEAST) / LARGEST
        products = int8_product((rows / scales).round_().to(torch.int8), used.integers) * scales
        y = products * used.scales if used.bias is None else torch.addcmul(used.bias, products, used.scales)
        return y.view(*x.shape[:-1], y.size(-1))


def _is_exact() -> bool:
    """Whether products of the largest integers are added without overflow."""
    integers = torch.full((8, 64), LARGEST, dtype=torch.int8)
    return bool((int8_product(integers, integers.t()) == 64 * LARGEST**2).all())


def _round(part: WeightSlice, largest: int) -> _Rounded:
    weight, bias = part.cut()
    scales = weight.detach().abs().amax(1).clamp_(min=LEAST) / largest
    integers = (weight.detach() / scales.unsqueeze(1)).round_().to(torch.int8)
    return _Rounded(integers.t(), scales, None if bias is None else bias.detach())
