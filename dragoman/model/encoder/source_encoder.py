"""The encoder of one source: an embedding, if it has symbols, and an encoder."""

from typing import final

import torch
from torch import Tensor, nn

from dragoman.data.batch import FeatureBatch, SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.embedding import Embedding
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool
from dragoman.model.state import map_tensors


@final
class SourceEncoder(nn.Module):
    """`source_encoder(source)`: one source of a batch as a Memory; without `embedding`, the source is feature vectors.

    If it is `optional`, a sentence may lack this source, and its memory is then 0. A source that is not `attended` to
    only starts the decoder. Without `reads_end` the end symbol is like padding, except in an empty text.
    """

    def __init__(
        self,
        embedding: Embedding | None,
        encoder: Encoder,
        *,
        optional: bool = False,
        attended: bool = True,
        reads_end: bool = True,
    ) -> None:
        super().__init__()
        self.reads_end = reads_end
        self.embedding = embedding
        self.encoder = encoder
        self.optional = optional
        self.attended = attended

    def vectors(self, source: SourceBatch) -> Tensor:
        """The input of the encoder (B, S, E)."""
        if isinstance(source, FeatureBatch):
            return source.values
        assert self.embedding is not None
        embedded: Tensor = self.embedding(*(source.spelled or (source.ids,)))
        return embedded

    def forward(self, source: SourceBatch) -> Memory:
        there, own_mask = source.mask.any(1), self._mask(source)
        mask = own_mask
        if self.optional:
            mask = torch.cat([mask[:, :1] | ~there.unsqueeze(1), mask[:, 1:]], 1)  # encoders need one real position
        ids, extended = (None, None) if isinstance(source, FeatureBatch) else (source.ids, source.extended)
        memory: Memory = self.encoder(self.vectors(source), mask)
        if not self.optional:
            return memory._replace(ids=ids, extended=extended)

        def mask_missing(tensor: Tensor) -> Tensor:
            return tensor * there.view(-1, *(1 for _ in tensor.shape[1:]))

        return Memory(
            *map_tensors(mask_missing, memory[:1]), own_mask, map_tensors(mask_missing, memory.final), ids, extended
        )

    def _mask(self, source: SourceBatch) -> Bool[Tensor, "B S"]:
        """The positions that are read."""
        if self.reads_end or isinstance(source, FeatureBatch):
            return source.mask
        words = source.ids != EOS
        return source.mask & torch.cat([torch.ones_like(words[:, :1]), words[:, 1:]], 1)
