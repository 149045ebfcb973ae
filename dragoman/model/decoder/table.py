"""The table of decoders."""

from dragoman.model.decoder.decoder import Decoder
from dragoman.model.decoder.rnn import RnnDecoder
from dragoman.model.decoder.self_attention import SelfAttentionDecoder

DECODERS: dict[str, type[Decoder]] = {"rnn": RnnDecoder, "self_attention": SelfAttentionDecoder}
