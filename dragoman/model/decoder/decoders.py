"""The table of decoders."""

from dragoman.model.decoder.decoder import Decoder
from dragoman.model.decoder.rnn import RnnDecoder

DECODERS: dict[str, type[Decoder]] = {"rnn": RnnDecoder}
