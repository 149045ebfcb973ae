"""Convolutions over the positions of a source."""

from typing import final

from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.shapes import Bool, Float


def reach(width: int) -> tuple[int, int]:
    """How many positions a kernel covers to the left and to the right."""
    return (width - 1) // 2, width // 2


@final
class Convolution(nn.Module):
    """`y_j = sum_k W_k x_(j+k) + b`, k over the positions around j; x = 0 at padding."""

    def __init__(self, input_size: int, size: int, width: int) -> None:
        super().__init__()
        self.kernel = nn.Conv1d(input_size, size, width)
        self.reach = reach(width)

    def forward(self, x: Float[Tensor, "B S I"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S O"]:
        real = x.masked_fill(~mask.unsqueeze(2), 0).transpose(1, 2)
        convolved: Tensor = self.kernel(functional.pad(real, self.reach))
        return convolved.transpose(1, 2)
