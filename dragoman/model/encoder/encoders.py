"""The table of encoders."""

from dragoman.model.encoder.convolutional import ConvolutionalEncoder
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.encoder.rnn import RnnEncoder

ENCODERS: dict[str, type[Encoder]] = {"rnn": RnnEncoder, "convolutional": ConvolutionalEncoder}
