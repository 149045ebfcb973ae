"""The sentinel: a vector that a decoder can attend to instead of a source."""

from typing import final

import torch
from torch import nn

from dragoman.model.attention.sources.combination import DecoderQuery
from dragoman.model.linear import Linear
from dragoman.model.shapes import Float


@final
class Sentinel(nn.Module):
    """`psi_t * s_t` with `psi_t = sigmoid(W_y y_(t-1) + W_s s_(t-1) + b)` (LH (4), Lu et al. 2017): the decoder's
    own knowledge. s_t is the query.
    """

    def __init__(self, query_size: int, embedding_size: int) -> None:
        super().__init__()
        self.size = query_size
        self.symbol = Linear(embedding_size, query_size)
        self.state = Linear(query_size, query_size, bias=False)

    def forward(self, decoder_query: DecoderQuery) -> Float[torch.Tensor, "R Q"]:
        return (
            torch.sigmoid(self.symbol(decoder_query.embedded) + self.state(decoder_query.previous_state))
            * decoder_query.query
        )
