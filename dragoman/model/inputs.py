"""Model inputs: descriptions of the sources, and the embeddings and encoders built for them."""

from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from torch import nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, ModelConfig
from dragoman.data.language import Language, Source
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.assembly import Assemble
from dragoman.model.embedding import EMBEDDINGS, Embedding
from dragoman.model.encoder.source_encoder import SourceEncoder
from dragoman.model.encoder.table import ENCODERS, FEATURE_ENCODERS


class Regions(NamedTuple):
    """A source of feature vectors: their size, and whether they are attended to."""

    size: int
    attended: bool = True


SourceInput = SymbolTable | Regions  # a source of symbols, or of feature vectors

Side = Literal["source", "target"]
TIED: dict[Side, tuple[str, ...]] = {  # the values of `tie` that share the tables of a side
    "source": ("languages", "all"),
    "target": ("output", "languages", "all"),
}


def model_inputs(config: Config, sources: tuple[Source, ...]) -> tuple[SourceInput, ...]:
    """A description of each source. Joined sources count as one, whose symbol counts are the sums over all of them."""
    inputs = tuple(
        source.symbols
        if isinstance(source, Language)
        else Regions(source.size, source.name not in config.model.initial_state_only)
        for source in sources
    )
    if config.data.concatenate_sources:
        tables = [table for table in inputs if isinstance(table, SymbolTable)]
        counts = zip(*(table.counts for table in tables), strict=True)
        return (replace(tables[0], counts=tuple(map(sum, counts))),)
    return config.data.sequences(inputs)


def build_embeddings(
    model: ModelConfig, sources: tuple[SourceInput, ...], target: SymbolTable, assemble: Assemble
) -> tuple[list[Embedding | None], Embedding]:
    """The embeddings of the sources (None for feature vectors) and of the target, tied as configured."""
    shared: list[nn.Parameter] = []
    settings = model.embedding

    def embedding(side: Side, symbols: SymbolTable) -> Embedding:
        def make() -> Embedding:
            if settings.tie in TIED[side] and not EMBEDDINGS[spec.kind].has_table:
                raise ValueError(
                    f"'{settings.tie}' requires an embedding table, which model.embedding.{side}: {spec.kind} has none"
                )
            if side == "target" and EMBEDDINGS[spec.kind].of_sources_only:
                raise ValueError(f"{spec.kind} is only available for sources; the decoder reads unknown words as <unk>")
            return components.build(EMBEDDINGS, spec, symbols, settings.size, settings.dropout, *shared)

        spec: Spec = getattr(settings, side)
        built = assemble(("model", "embedding", "tie" if settings.tie in TIED[side] else side), make)
        if settings.tie in TIED["source"]:
            shared[:] = [built.get_parameter("table")]
        return built

    tables = [embedding("source", source) if isinstance(source, SymbolTable) else None for source in sources]
    return tables, embedding("target", target)


def build_source_encoders(
    model: ModelConfig, sources: tuple[SourceInput, ...], tables: list[Embedding | None], assemble: Assemble
) -> list[SourceEncoder]:
    """An encoder for each source. If there are several, each of them is optional in a sentence."""
    source_encoders: list[SourceEncoder] = []
    several = len(sources) > 1
    for source, table in zip(sources, tables, strict=True):
        if isinstance(source, Regions):
            make = partial(components.build, FEATURE_ENCODERS, model.features, source.size)
            encoder = assemble(("model", "features"), make)
            source_encoders.append(SourceEncoder(None, encoder, optional=several, attended=source.attended))
        else:
            make = partial(components.build, ENCODERS, model.encoder, model.embedding.size)
            encoder = assemble(("model", "encoder"), make)
            source_encoders.append(SourceEncoder(table, encoder, optional=several, reads_end=model.source_end))
    return source_encoders
