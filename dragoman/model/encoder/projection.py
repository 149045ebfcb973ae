"""The encoder of sources that are already encoded: regions of an image, from a frozen network."""

from typing import final

from torch import Tensor
from torch.nn import functional

from dragoman.configuration.values import Rate, Size
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory, StateShape
from dragoman.model.shapes import Bool, Float


@final
class ProjectionEncoder(Encoder):
    """`h_j = W v_j + b` for each region v_j separately, or v_j unchanged without a `size` (LH 4.1).

    The final state is the mean of all h_j; for a single vector of the whole image, this is its projection
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
