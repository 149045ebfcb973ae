"""The parts of dragoman's models as modules of PyTorch, for models of your own.

    from dragoman import nn

    attention = nn.GlobalAttention(nn.AdditiveScore(query_size=64, state_size=128), nn.Softmax())
    source = attention.prepare(nn.Memory(states, mask))          # once per sentence
    weights, read = attention.attend(queries, source)            # (B, T, S), and read.context (B, T, C)

All of them are batch-first and need no configuration. Masks are True at real positions; padding comes last, and no
result at a real position depends on it. Losses and log-probabilities are in nats. A constructor
raises ValueError if sizes do not fit together. Letters in the shapes of signatures:

| letter | meaning |
|---|---|
| B | sentences of a batch |
| R | rows: one or more for each sentence (its hypotheses), next to each other |
| S, T | source and target positions |
| E, H, D | sizes of an embedding, of an encoder state, of a decoder or cell state |
| Q, A, C | sizes of a query, of a key, of a context |
| F, V | sizes of features, and of the target vocabulary |
| G | gates of a cell times its size |
| K, P | heads, and the size of a head |
| N | target symbols of a batch, without padding |
"""

from dragoman.model.attention.attention import (
    AttentionHistory,
    AttentionOutput,
    GlobalAttention,
    NoAttention,
    PreparedSource,
)
from dragoman.model.attention.normalizers import (
    AttentionNormalizer,
    Entmax,
    Hard,
    LinearChain,
    Softmax,
    Sparsemax,
    WeightedValues,
)
from dragoman.model.attention.scores import (
    AdditiveScore,
    AlignmentScore,
    BilinearScore,
    ConvolutionalScore,
    DotScore,
    LinearScore,
    ScaledDotScore,
    UniformScore,
)
from dragoman.model.attention.sources.combination import OneSource
from dragoman.model.attention.terms.history import CoverageTerm, FertilityTerm, MarkovTerm
from dragoman.model.attention.terms.position import PositionTerm
from dragoman.model.attention.terms.recurrent_terms import CoverageEmbedding, NeuralCoverage, Recurrent
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.attention.terms.wait_terms import ShiftTerm, WaitTerm
from dragoman.model.attention.windows import LocalAttention, Monotonic, Predictive, Window
from dragoman.model.bridge import FinalStateBridge, MeanBridge, ZeroBridge
from dragoman.model.decoder.decoder import DecoderState, DecoderStep, Unrolled
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.decoder.transformer_decoder import CrossAttention, SelfAttentionDecoder
from dragoman.model.encoder.convolutional import ConvolutionalEncoder
from dragoman.model.encoder.projection import ProjectionEncoder
from dragoman.model.encoder.rnn_encoder import RnnEncoder
from dragoman.model.encoder.transformer_encoder import SelfAttentionEncoder
from dragoman.model.memory import Memory, StateShape
from dragoman.model.output.output import Loss, Readout
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.readout import ConcatReadout, DeepReadout, LinearReadout, ReadoutSizes, TanhReadout
from dragoman.model.recurrent import Cell, DeepCell, Gru, GruAn, Lstm, TanhRnn
from dragoman.model.self_attention import SelfAttention
from dragoman.model.transformer_layer import FeedForward, LayerOptions, RmsNorm
from dragoman.model.unrolled import run_cell

__all__ = [
    "AdditiveScore",
    "AlignmentScore",
    "AttentionHistory",
    "AttentionNormalizer",
    "AttentionOutput",
    "AttentionTerm",
    "BilinearScore",
    "Cell",
    "ConcatReadout",
    "ConvolutionalEncoder",
    "ConvolutionalScore",
    "CoverageEmbedding",
    "CoverageTerm",
    "CrossAttention",
    "DecoderState",
    "DecoderStep",
    "DeepCell",
    "DeepReadout",
    "DotScore",
    "Entmax",
    "FeedForward",
    "FertilityTerm",
    "FinalStateBridge",
    "GlobalAttention",
    "Gru",
    "GruAn",
    "Hard",
    "LayerOptions",
    "LinearChain",
    "LinearReadout",
    "LinearScore",
    "LocalAttention",
    "Loss",
    "Lstm",
    "MarkovTerm",
    "MeanBridge",
    "Memory",
    "Monotonic",
    "NeuralCoverage",
    "NoAttention",
    "OneSource",
    "PositionTerm",
    "Predictive",
    "PreparedSource",
    "ProjectionEncoder",
    "Readout",
    "ReadoutSizes",
    "Recurrent",
    "RmsNorm",
    "RnnDecoder",
    "RnnEncoder",
    "ScaledDotScore",
    "SelfAttention",
    "SelfAttentionDecoder",
    "SelfAttentionEncoder",
    "ShiftTerm",
    "Softmax",
    "SoftmaxOutput",
    "Sparsemax",
    "StateShape",
    "TanhReadout",
    "TanhRnn",
    "TermInput",
    "TermOutput",
    "TermSizes",
    "UniformScore",
    "Unrolled",
    "WaitTerm",
    "WeightedValues",
    "Window",
    "ZeroBridge",
    "run_cell",
]
