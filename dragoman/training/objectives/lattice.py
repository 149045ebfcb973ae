"""The lattice shared by sums over hidden alignments: log p of each reference symbol given each source position."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch.utils.checkpoint import checkpoint

from dragoman.configuration import components
from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.model.attention.chain import NEVER
from dragoman.model.decoder.decoder import DecoderState
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.decoder.table import DECODERS
from dragoman.model.output.output import ROWS, Output, Readout
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.shapes import Float, Int


class Lattice(NamedTuple):
    """Decoder states that do not depend on attention, and log p of each reference symbol given each position."""

    decoder: RnnDecoder
    state: DecoderState  # the decoder's, before the first symbol
    queries: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B T S"]
    log_probs: Float[Tensor, "B T S"]  # of the reference; NEVER at padding


def problems(kind: str, config: Config) -> Iterator[str]:
    """Yield what prevents a model from having a lattice."""
    decoder = components.complete(DECODERS, config.model.decoder)
    if not DECODERS[decoder.kind].ignores_attention(decoder.options):
        yield (
            f"{kind} requires a decoder state independent of attention: "
            "model.decoder: rnn with attend: after and input_feeding: none"
        )
    if config.model.output.options.get("label_smoothing"):
        yield f"{kind} does not support label smoothing; set model.output.label_smoothing to 0"
    if OUTPUTS[config.model.output.kind].approximates:
        yield f"{kind} requires exact probabilities, unlike model.output: {config.model.output.kind}"
    if OUTPUTS[config.model.output.kind].spells:
        yield f"{kind} is limited to the vocabulary, but model.output: {config.model.output.kind} spells other words"
    if config.model.output.options.get("supervised"):
        yield f"{kind} does not support a supervised switch; set model.output.supervised to false"


def build_lattice(model: Seq2Seq, batch: Batch) -> Lattice:
    assert isinstance(model.decoder, RnnDecoder)
    (source,), target = batch.sources, batch.target
    state = model.begin(batch.sources)
    decoder = model.decoder_state(state)
    queries, weights, features = model.decoder.unroll_by_position(model.embed_targets(target.ids, state), decoder)
    # Only real pairs: distributions over the vocabulary are needed at each of them, the largest cost by far.
    pairs = target.mask.unsqueeze(2) & source.mask.unsqueeze(1)  # (B, T, S)
    readout = model.readout(
        features[pairs],
        lambda: one_hot(pairs.nonzero()[:, 2], pairs.size(2)).to(features.dtype),
        lambda: pairs.nonzero()[:, 0],
        state,
    )
    log_p = _log_probs(model.output, readout, target.labels.unsqueeze(2).expand_as(pairs)[pairs])
    log_probs = torch.full_like(pairs, NEVER, dtype=log_p.dtype).masked_scatter(pairs, log_p)
    return Lattice(model.decoder, decoder, queries, weights, log_probs)


def _log_probs(output: Output, readout: Readout, symbols: Int[Tensor, "N"]) -> Float[Tensor, "N"]:
    """Return `log p` of each symbol; distributions are recomputed for the gradient, so that few are in memory at a
    time.
    """

    def score_rows(first: int) -> Tensor:
        rows = slice(first, first + ROWS)
        return output.score_targets(readout.rows(rows), symbols[rows]).log_probs

    firsts = range(0, len(symbols), ROWS)
    return torch.cat([checkpoint(score_rows, first, use_reentrant=False) for first in firsts])
