"""The tables of encoders: for texts, and for feature vectors."""

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
FEATURE_ENCODERS: dict[str, type[Encoder]] = {"projection": ProjectionEncoder, **ENCODERS}
