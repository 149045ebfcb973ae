"""The encoder of what needs no reading: regions of an image, which a frozen network has read already."""

from typing import final

from torch import Tensor
from torch.nn import functional

from dragoman.configuration.components import Rate, Size
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory, StateShape
from dragoman.model.shapes import Bool, Float


@final
class Projection(Encoder):
    """`h_j = W v_j + b` of every region v_j by itself, or v_j as it is where there is no `size` (LH 4.1).

    What a decoder starts from is the mean of all h_j; of a single vector of the whole image that is its projection
    (Calixto and Liu 2017). `dropout` acts on single numbers of v_j.
    """

    reads_ahead = False

    def __init__(self, input_size: int, *, size: Size | None = None, dropout: Rate = 0.0) -> None:
        super().__init__()
        self.map = Linear(input_size, size) if size else None
        self.rate = dropout
        self.size = size or input_size
        self.state_shape = StateShape(1, self.size, 1)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        states = functional.dropout(embedded, self.rate, self.training)
        memory = Memory(self.map(states) if self.map else states, mask)
        return memory._replace(final=((memory.mean(),),))
