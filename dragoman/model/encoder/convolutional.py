"""The convolutional encoder."""

from collections.abc import Sequence
from typing import Literal, cast, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.values import Layers, Rate, Size, Width
from dragoman.model.convolution import Convolution
from dragoman.model.dropout import Dropout
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory, StateShape
from dragoman.model.positions import LONGEST, HeadSizes, Learned
from dragoman.model.shapes import Bool, Float


@final
class ConvolutionalEncoder(Encoder):
    """`h^0 = W [E x_j + p_j] + b`, `h^l = (h^(l-1) + GLU(conv(h^(l-1)))) sqrt(1/2)` (Gehring et al. 2017).

    `GLU([a; b]) = a * sigm(b)`. The vectors p_j are learned for the first `longest` positions; later ones share the
    last. With `positions: none` there are none. `width` is that of the kernels, in positions. A state sees
    `layers (width - 1) / 2` symbols to each side, so there is no final state: bridges are `mean` and `zero`.

    There are `layers` layers, with states of `size`. `dropout` acts on the input of each convolution; with
    `variational`, its mask is the same at all positions.
    """

    def __init__(
        self,
        input_size: int,
        *,
        size: Size = 256,
        layers: Layers = 4,
        width: Width = 3,
        positions: Literal["learned", "none"] = "learned",
        longest: Size = LONGEST,
        dropout: Rate = 0.0,
        variational: bool = True,
    ) -> None:
        super().__init__()
        self.size = size
        self.positions = Learned(input_size, HeadSizes(input_size), longest) if positions == "learned" else None
        self.first = Linear(input_size, size)
        self.layers = cast(
            Sequence[Convolution], nn.ModuleList(Convolution(size, 2 * size, width) for _ in range(layers))
        )
        self.dropout = Dropout(dropout, variational)
        self.state_shape = StateShape(0, size, 0)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        if self.positions is not None:
            embedded = self.positions.place(embedded, torch.arange(embedded.size(1), device=embedded.device))
        states: Tensor = self.first(embedded)
        for layer in self.layers:
            states = (states + functional.glu(layer(self.dropout(states), mask), -1)) * 0.5**0.5
        return Memory(states, mask)
