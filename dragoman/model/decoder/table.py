"""The table of decoders."""

from dragoman.model.decoder.decoder import Decoder
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.decoder.transformer_decoder import SelfAttentionDecoder

DECODERS: dict[str, type[Decoder]] = {"rnn": RnnDecoder, "self_attention": SelfAttentionDecoder}
