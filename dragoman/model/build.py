"""Configuration and vocabulary sizes to a model: the only place where names become parts."""

import contextlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from dragoman import components, sections
from dragoman.components import Path, Problem, Spec
from dragoman.config import Config, ModelConfig
from dragoman.errors import UserError
from dragoman.model.attention.attention import Attention, NoAttention
from dragoman.model.attention.scores import SCORES, Uniform
from dragoman.model.bridge import BRIDGES, Bridge, Zero
from dragoman.model.decoder import DECODERS, RnnDecoder
from dragoman.model.embedding import Embedding
from dragoman.model.encoder import ENCODERS, RnnEncoder
from dragoman.model.output.full import OUTPUTS, Full
from dragoman.model.seq2seq import Parts, Seq2Seq

Part = TypeVar("Part")


@runtime_checkable
class _Assemble(Protocol):
    """How a part is put in its place: make it, or say at which key it fails and go on with another."""

    def __call__(self, path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part: ...


def build(model: ModelConfig, source_symbols: int, target_symbols: int) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes; UserError where the parts do not fit."""
    found = _option_problems(model)
    if found:
        raise UserError("; ".join(map(str, found)))

    def assemble(path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part:
        try:
            return make()
        except ValueError as error:
            raise UserError(str(Problem(path, str(error)))) from error

    return _model(model, source_symbols, target_symbols, assemble)


def problems(config: Config) -> list[Problem]:
    """Everything about the model that cannot work, found without data: options first, then how the parts fit.

    The model is assembled on torch's `meta` device, which allocates nothing.
    """
    model = config.model
    found = _option_problems(model)
    if found:
        return found

    def assemble(path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part:
        try:
            return make()
        except ValueError as error:
            found.append(Problem(path, str(error)))
            if instead is None:
                raise
            return instead()

    with torch.device("meta"), contextlib.suppress(ValueError):  # which stands in `found`
        _model(model, 8, 8, assemble)
    return found


TABLES: dict[Path, dict[str, Any]] = {
    ("encoder",): ENCODERS,
    ("bridge",): BRIDGES,
    ("attention", "score"): {**SCORES, "none": NoAttention},
    ("decoder",): DECODERS,
    ("output",): OUTPUTS,
}


def _option_problems(model: ModelConfig) -> list[Problem]:
    """Unknown kinds, unknown options and values of the wrong type."""
    return [
        each
        for path, table in TABLES.items()
        for each in components.problems(table, sections.at(model, path), ("model", *path))
    ]


def complete(model: ModelConfig) -> ModelConfig:
    """The same configuration with every option of every part spelled out."""
    for path, table in TABLES.items():
        model = sections.replaced(model, path, components.complete(table, sections.at(model, path)))
    return model


def _model(model: ModelConfig, source_symbols: int, target_symbols: int, assemble: _Assemble) -> Seq2Seq:
    tie = model.embedding.tie
    size, dropout = model.embedding.size, model.embedding.dropout
    source = Embedding(source_symbols, size, dropout=dropout)
    shared = source.table if tie in ("languages", "all") else None
    target = assemble(
        ("model", "embedding", "tie"), lambda: Embedding(target_symbols, size, dropout=dropout, table=shared)
    )
    encoder = assemble(("model", "encoder"), lambda: components.build(ENCODERS, model.encoder, size))

    def attention() -> Attention | NoAttention:
        if model.attention.score.kind == "none":
            return NoAttention()
        query_size = components.complete(DECODERS, model.decoder).options["size"]
        score = assemble(
            ("model", "attention", "score"),
            lambda: components.build(SCORES, model.attention.score, query_size, encoder.size),
            lambda: Uniform(query_size, encoder.size),
        )
        return Attention(score)

    attended = attention()
    decoder = assemble(("model", "decoder"), lambda: components.build(DECODERS, model.decoder, size, attended))
    bridge = assemble(
        ("model", "bridge"),
        lambda: _bridge(model.bridge, encoder, decoder),
        lambda: Zero(encoder.state_shape, decoder.state_shape),
    )
    table = target.table if tie in ("output", "all") else None
    features = decoder.features.size
    output = assemble(
        ("model", "output"),
        lambda: components.build(OUTPUTS, model.output, features, target_symbols, table),
        lambda: Full(features, target_symbols),
    )
    return Seq2Seq(Parts(source, encoder, bridge, target, decoder, output), model.start_symbol)


def _bridge(spec: Spec, encoder: RnnEncoder, decoder: RnnDecoder) -> Bridge:
    if spec.kind == "zero" and decoder.attention.size == 0:
        raise ValueError(
            "is 'zero' where there is no attention (score: none), so the decoder knows nothing of the source"
        )
    return components.build(BRIDGES, spec, encoder.state_shape, decoder.state_shape)
