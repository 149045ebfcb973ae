"""How one source is read: its symbols as vectors, and an encoder."""

from typing import final

import torch
from torch import Tensor, nn

from dragoman.data.batch import Sequence
from dragoman.model.embedding import Embedding
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.memory import Memory
from dragoman.model.state import each_tensor


@final
class Reader(nn.Module):
    """`reader(source)`: the sentences of one source to a Memory.

    Where it is `optional`, a sentence may have no such source: then all that it leaves is 0.
    """

    def __init__(self, embedding: Embedding, encoder: Encoder, *, optional: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.optional = optional

    def forward(self, source: Sequence) -> Memory:
        there, mask = source.mask.any(1), source.mask
        if self.optional:
            mask = torch.cat([mask[:, :1] | ~there.unsqueeze(1), mask[:, 1:]], 1)  # an encoder has something to read
        memory: Memory = self.encoder(self.embedding(source.ids), mask)
        if not self.optional:
            return memory._replace(ids=source.ids)

        def kept(each: Tensor) -> Tensor:
            return each * there.view(-1, *(1 for _ in each.shape[1:]))

        return Memory(*each_tensor(kept, memory[:1]), source.mask, each_tensor(kept, memory.final), source.ids)
