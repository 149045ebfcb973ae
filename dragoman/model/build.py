"""Builds a model from configuration and symbols: names become parts here and in attention/build_attention.py."""

import contextlib
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from dragoman.configuration import components, sections
from dragoman.configuration.components import Path, Problem
from dragoman.configuration.config import Config, ModelConfig
from dragoman.data.language import Language, Source
from dragoman.data.surfaces import UnknownWordNeeds
from dragoman.data.vocabulary import UNK, SymbolTable
from dragoman.errors import UserError
from dragoman.model.alignment_model import ChainedAlignment, IndependentAlignment
from dragoman.model.assembly import Assemble, Part, make_failing, require_causal, skip_initial_values
from dragoman.model.attention.attention import NoAttention
from dragoman.model.attention.build_attention import build_attention, build_combination, hiding_term
from dragoman.model.attention.chain import Chain
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.sources.combination import Combination
from dragoman.model.attention.sources.separate import Concatenation
from dragoman.model.attention.sources.table import COMBINATIONS
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import TermSizes
from dragoman.model.attention.windows import WINDOWS
from dragoman.model.bridge import BRIDGES, Bridge, ZeroBridge
from dragoman.model.decoder.decoder import Decoder
from dragoman.model.decoder.decoder_input import Cursor, DecoderInput, Edited, PreviousSymbol
from dragoman.model.decoder.table import DECODERS
from dragoman.model.embedding import EMBEDDINGS, Embedding
from dragoman.model.encoder.source_encoder import SourceEncoder
from dragoman.model.encoder.table import ENCODERS, FEATURE_ENCODERS
from dragoman.model.inputs import Regions, SourceInput, build_embeddings, build_source_encoders, model_inputs
from dragoman.model.output.output import Output
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Parts, Seq2Seq
from dragoman.text.edits import OPERATIONS


def build_model(config: Config, sources: tuple[Source, ...], target: Language) -> Seq2Seq:
    """A freshly initialized model from these sources to this target; UserError if the parts do not fit."""
    model = config.model
    mark = next((source.mark(model.attention.sentences) for source in sources if isinstance(source, Language)), None)
    for name in model.target_prefix:
        if name not in target.symbols.spellings:
            raise UserError(f"model.target_prefix: '{name}' is not in the target vocabulary")
    edited = _edited_source(config, tuple(target.vocabulary.ids(OPERATIONS)) if config.data.edits else ())
    return build(model, model_inputs(config, sources), target.symbols, mark, edited)


def build_empty_model(config: Config, sources: tuple[Source, ...], target: Language) -> Seq2Seq:
    """Assemble the model of `build_model` without memory, to compare it with saved weights or to fill it with them. A
    wrong size may need more memory than there is.
    """
    with skip_initial_values():
        model = build_model(config, sources, target)
    saved = model.state_dict()
    if any(buffer.is_meta for name, buffer in model.named_buffers() if name not in saved):
        return build_model(config, sources, target)  # a part has a buffer whose values no file of weights has
    return model


def _edited_source(config: Config, operations: tuple[int, ...]) -> Edited | None:
    """The edited source and its operations; None if the model does not read that source on its own."""
    data = config.data
    readable = data.edits in data.inputs and not data.concatenate_sources
    return Edited(data.inputs.index(str(data.edits)), operations) if readable else None


def build(
    model: ModelConfig,
    sources: tuple[SourceInput | int, ...],
    target: SymbolTable | int,
    mark: int | None = None,
    edited: Edited | None = None,
) -> Seq2Seq:
    """As `build_model`, from sources and a target given as symbol tables, or as numbers of symbols. `mark` is the
    symbol that ends a sentence, for `attention.sentences`; `edited` is the edited source, for `cursor`.
    """
    if faults := sections.part_problems(model, TABLES, ("model",)):
        raise UserError("; ".join(map(str, faults)))

    def assemble(path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part:
        try:
            return make()
        except ValueError as error:
            raise UserError(str(Problem(path, str(error)))) from error

    inputs = tuple(SymbolTable.sized(source) if isinstance(source, int) else source for source in sources)
    symbols = SymbolTable.sized(target) if isinstance(target, int) else target
    return _model(model, inputs, symbols, mark, edited, assemble)


def find_problems(config: Config) -> list[Problem]:
    """The parts of the model that do not fit together, as far as that can be found without data; their options are
    valid.

    The model is assembled on torch's `meta` device, which allocates nothing.
    """
    errors: list[Problem] = []

    def assemble(path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part:
        try:
            return make()
        except ValueError as error:
            problem = Problem(path, str(error))
            if problem not in errors:  # every decoder layer builds its attention from the same parts
                errors.append(problem)
            if instead is None:
                raise
            return instead()

    with skip_initial_values(), contextlib.suppress(ValueError):  # already in `errors`
        _model(
            config.model, _placeholder_sources(config), SymbolTable.sized(8), None, _edited_source(config, ()), assemble
        )
    return errors


def parameter_names(config: Config) -> list[str]:
    """The names of the parameters, each name of a tied one; none where the parts do not fit."""

    def assemble(path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part:
        return make()

    with skip_initial_values(), contextlib.suppress(ValueError):
        model = _model(
            config.model, _placeholder_sources(config), SymbolTable.sized(8), None, _edited_source(config, ()), assemble
        )
        return [name for name, _ in model.named_parameters(remove_duplicate=False)]
    return []


def _placeholder_sources(config: Config) -> tuple[SourceInput, ...]:
    """Placeholder sources, as far as they are known without data. Arrays have the size of encoder states, which fits
    wherever any size would.
    """
    model, data, numbers = config.model, config.data, 8
    if data.features:
        with contextlib.suppress(ValueError):  # reported when the encoder is built
            numbers = components.build(ENCODERS, model.encoder, model.embedding.size).size
    names = data.inputs or data.sides
    regions = {name: Regions(numbers, name not in model.initial_state_only) for name in data.features}
    return data.sequences([regions.get(name, SymbolTable.sized(8)) for name in names])


TABLES: dict[Path, Mapping[str, Any]] = {
    ("embedding", "source"): EMBEDDINGS,
    ("embedding", "target"): EMBEDDINGS,
    ("encoder",): ENCODERS,
    ("features",): FEATURE_ENCODERS,
    ("bridge",): BRIDGES,
    ("attention", "score"): ChainMap[str, Any]({"none": NoAttention}, SCORES),  # scores may be added at any time
    ("attention", "terms"): TERMS,
    ("attention", "normalizer"): NORMALIZERS,
    ("attention", "window"): WINDOWS,
    ("combination",): COMBINATIONS,
    ("decoder",): DECODERS,
    ("output",): OUTPUTS,
}


def unknown_word_needs(model: ModelConfig) -> UnknownWordNeeds:
    """What a model needs, from data and translator, of words outside its vocabularies; nothing for an unknown kind."""
    output, embedding = OUTPUTS.get(model.output.kind), EMBEDDINGS.get(model.embedding.source.kind)
    return UnknownWordNeeds(
        extended=output is not None and output.extends,
        sources=embedding is not None and embedding.reads_characters,
        target=output is not None and output.spells,
    )


def complete_config(model: ModelConfig) -> ModelConfig:
    """The configuration with every option of every part filled in."""
    return sections.completed(model, TABLES)


def _model(
    model: ModelConfig,
    sources: tuple[SourceInput, ...],
    symbols: SymbolTable,
    mark: int | None,
    edited: Edited | None,
    assemble: Assemble,
) -> Seq2Seq:
    """Build all parts. They are initialized at random in this order: changing it changes the training."""
    tables, target = build_embeddings(model, sources, symbols, assemble)
    source_encoders = build_source_encoders(model, sources, tables, assemble)
    decoder = _decoder(model, source_encoders, sources, mark, assemble)
    bridge = _bridge(model, source_encoders, decoder, assemble)
    _check_hidden(model, source_encoders, bridge, decoder, assemble)
    output = _output(model, source_encoders, decoder, symbols, target, assemble)
    zero_start = model.start_symbol == "none"
    inputs: DecoderInput = PreviousSymbol(target, zero_start=zero_start)
    if edited and model.cursor:
        inputs = Cursor(target, edited, source_encoders[edited.source].encoder.size, zero_start=zero_start)
    chain = next((part for part in decoder.modules() if isinstance(part, Chain)), None)
    alignment_model = ChainedAlignment(chain) if chain else IndependentAlignment()
    # A placeholder for symbols lacks them; `build_model` has checked those of a vocabulary.
    prefix = [symbols.spellings.index(name) if name in symbols.spellings else UNK for name in model.target_prefix]
    return Seq2Seq(Parts(source_encoders, bridge, inputs, decoder, output, alignment_model), model.start_symbol, prefix)


def _decoder(
    model: ModelConfig,
    source_encoders: list[SourceEncoder],
    sources: tuple[SourceInput, ...],
    mark: int | None,
    assemble: Assemble,
) -> Decoder:
    """The decoder, with attention to those sources that are `attended`."""
    size = model.embedding.size
    attended = [
        (source_encoder.encoder.size, _symbols(source), number)
        for number, (source_encoder, source) in enumerate(zip(source_encoders, sources, strict=True))
        if source_encoder.attended
    ]

    def attend_to(query_size: int, state_sizes: tuple[int, ...]) -> Combination:
        attentions = [
            build_attention(model.attention, TermSizes(query_size, state_size, size, symbols, number), mark, assemble)
            for state_size, (_, symbols, number) in zip(state_sizes, attended, strict=True)
        ]
        return assemble(
            ("model", "combination"),
            lambda: build_combination(model, attentions, query_size),
            lambda: Concatenation(attentions, query_size, size),
        )

    seen = tuple(state_size for state_size, *_ in attended)
    decoder = assemble(("model", "decoder"), lambda: components.build(DECODERS, model.decoder, size, seen, attend_to))
    if second_size := OUTPUTS[model.output.kind].second_readout_size(
        components.complete(OUTPUTS, model.output).options
    ):
        decoder.add_second_readout(second_size)
    return decoder


def _symbols(source: SourceInput) -> int | None:
    return len(source) if isinstance(source, SymbolTable) else None


def _bridge(model: ModelConfig, source_encoders: list[SourceEncoder], decoder: Decoder, assemble: Assemble) -> Bridge:
    """The bridge, which reads all sources; those in `initial_state_only` are read by nothing else."""
    kind, starts = model.bridge.kind, bool(decoder.state_shape.layers)
    reads_source = BRIDGES[kind].reads_source
    shapes = tuple(source_encoder.encoder.state_shape for source_encoder in source_encoders)

    def make() -> Bridge:
        if not (reads_source or decoder.attends):
            raise ValueError(f"is '{kind}' without attention (score: none), so the decoder has no access to the source")
        if starts and not BRIDGES[kind].starts:
            *names, last = (f"'{name}'" for name, bridge in BRIDGES.items() if bridge.starts)
            raise ValueError(f"is '{kind}', but this decoder has an initial state; use {', '.join(names)} or {last}")
        if BRIDGES[kind].starts and not starts:
            raise ValueError(f"is '{kind}', but this decoder has no initial state; use 'none'")
        return components.build(BRIDGES, model.bridge, shapes, decoder.state_shape)

    bridge = assemble(("model", "bridge"), make, lambda: ZeroBridge(shapes, decoder.state_shape))
    if not reads_source and not all(source_encoder.attended for source_encoder in source_encoders):
        problem = f"require a decoder with an initial state (model.bridge: {kind})"
        assemble(("model", "initial_state_only"), make_failing(problem), lambda: None)
    return bridge


def _check_hidden(
    model: ModelConfig, source_encoders: list[SourceEncoder], bridge: Bridge, decoder: Decoder, assemble: Assemble
) -> None:
    """Report each part that depends on source symbols that an attention term hides."""
    hiding = hiding_term(model.attention)
    ahead = any(source_encoder.encoder.reads_ahead for source_encoder in source_encoders)
    require_causal(("model", "encoder"), hiding, ahead, "rnn with direction: forward", assemble)
    require_causal(("model", "bridge"), hiding, bridge.reads_source, "zero", assemble)
    require_causal(("model", "decoder"), hiding, decoder.reads_ahead, "no external_memory", assemble)


def _output(
    model: ModelConfig,
    source_encoders: list[SourceEncoder],
    decoder: Decoder,
    symbols: SymbolTable,
    target: Embedding,
    assemble: Assemble,
) -> Output:
    """The output for the features of this decoder; its matrix may be tied to the table of the target embedding."""
    tied = target.get_parameter("table") if model.embedding.tie in ("output", "all") else None
    kind, features = model.output.kind, decoder.features_size

    def make() -> Output:
        if OUTPUTS[kind].reads_source and not model.attention.attends:
            raise ValueError(f"'{kind}' requires attention (model.attention.score other than none)")
        if OUTPUTS[kind].extends and all(source_encoder.embedding is None for source_encoder in source_encoders):
            raise ValueError(f"'{kind}' copies source words, but data.features are numeric")
        if OUTPUTS[kind].spells and any(isinstance(part, Chain) for part in decoder.modules()):
            raise ValueError(f"'{kind}' cannot be combined with hard attention of order: 1")
        return components.build(OUTPUTS, model.output, features, symbols, tied)

    return assemble(("model", "output"), make, lambda: SoftmaxOutput(features, symbols))
