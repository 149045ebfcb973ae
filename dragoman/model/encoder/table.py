"""The tables of encoders: for texts, and for feature vectors."""

from collections import ChainMap
from collections.abc import Mapping

from dragoman.model.encoder.convolutional import ConvolutionalEncoder
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.encoder.projection import ProjectionEncoder
from dragoman.model.encoder.rnn_encoder import RnnEncoder
from dragoman.model.encoder.transformer_encoder import SelfAttentionEncoder

ENCODERS: dict[str, type[Encoder]] = {
    "rnn": RnnEncoder,
    "self_attention": SelfAttentionEncoder,
    "convolutional": ConvolutionalEncoder,
}
# Encoders may be added at any time.
FEATURE_ENCODERS: Mapping[str, type[Encoder]] = ChainMap[str, type[Encoder]](
    ENCODERS, {"projection": ProjectionEncoder}
)
