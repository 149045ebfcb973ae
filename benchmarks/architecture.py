"""Architecture A: the attentional GRU on which all toolkits are measured."""

from typing import NamedTuple

from dragoman.configuration.components import Spec
from dragoman.configuration.config import (
    AttentionConfig,
    BatchConfig,
    Config,
    EmbeddingConfig,
    LanguageConfig,
    ModelConfig,
    TextConfig,
    TrainingConfig,
)
from dragoman.configuration.data import DataConfig

ENDLESS = 1_000_000_000  # updates


class Sizes(NamedTuple):
    """Sizes of an embedding, of the encoder state in each direction and of the decoder state; number of symbols of the
    joint inventory; sentences in a training batch.
    """

    embedding: int = 256
    encoder: int = 256
    decoder: int = 512
    symbols: int = 10_000
    batch: int = 80


def model(sizes: Sizes) -> ModelConfig:
    """Return a bidirectional GRU encoder and a GRU decoder with additive attention and input feeding, all embeddings
    tied.
    """
    return ModelConfig(
        embedding=EmbeddingConfig(size=sizes.embedding, tie="all"),
        encoder=Spec("rnn", {"cell": "gru", "size": sizes.encoder, "dropout": 0.2}),
        attention=AttentionConfig(score=Spec("additive")),
        decoder=Spec(
            "rnn",
            {"cell": "gru", "size": sizes.decoder, "input_feeding": "attentional", "readout": "tanh", "dropout": 0.2},
        ),
    )


def config(sizes: Sizes, data: DataConfig, unit: str) -> Config:
    """Return the configuration of an endless training on this corpus, without validations."""
    language = LanguageConfig(pretokenizer="whitespace", tokenizer=Spec(unit, {"vocab_size": sizes.symbols}))
    return Config(
        data=data,
        text=TextConfig(shared_vocabulary=True, source=language, target=language),
        model=model(sizes),
        training=TrainingConfig(
            epochs=None,
            steps=ENDLESS,
            batch=BatchConfig(size=sizes.batch),
            save_every=ENDLESS,
            validate_every=ENDLESS,
        ),
    )


def products(sizes: Sizes, sources: float, targets: float, energies: float) -> float:
    """Return the floating-point operations (2 per multiply-add) of the matrix products of a forward pass.

    `sources` and `targets` count symbols, `energies` pairs of a source and a target position. The bridge, one product
    per sentence, is left out.
    """
    e, h, d = sizes.embedding, sizes.encoder, sizes.decoder
    encoder = 2 * 3 * h * (e + h) + 2 * h * d  # both directions; the keys
    decoder = 3 * d * (e + e + d) + d * d + (d + 2 * h) * e  # cell, query, features
    attention = d + 2 * h  # scores, context
    return 2 * (sources * encoder + targets * (decoder + e * sizes.symbols) + energies * attention)
