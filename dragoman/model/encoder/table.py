"""The tables of encoders: of texts, and of sources that are numbers."""

from dragoman.model.encoder.convolutional import ConvolutionalEncoder
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.encoder.projection import Projection
from dragoman.model.encoder.rnn import RnnEncoder
from dragoman.model.encoder.self_attention import SelfAttentionEncoder

ENCODERS: dict[str, type[Encoder]] = {
    "rnn": RnnEncoder,
    "self_attention": SelfAttentionEncoder,
    "convolutional": ConvolutionalEncoder,
}
FEATURE_ENCODERS: dict[str, type[Encoder]] = {"projection": Projection, **ENCODERS}
