"""What a model reads: what is known of its sources before there are sentences, and the parts that read them."""

from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from torch import nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, ModelConfig
from dragoman.data.language import Language
from dragoman.data.source import Source
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.assembly import Assemble
from dragoman.model.embedding import EMBEDDINGS, Embedding
from dragoman.model.encoder.reader import Reader
from dragoman.model.encoder.table import ENCODERS, FEATURE_ENCODERS


class Regions(NamedTuple):
    """A source that is numbers: how many a region has, and whether they are attended to."""

    size: int
    attended: bool = True


SourceInput = SymbolTable | Regions  # what is read: symbols, or numbers

Side = Literal["source", "target"]
TIED: dict[Side, tuple[str, ...]] = {  # the values of `tie` that share the tables of a side
    "source": ("languages", "all"),
    "target": ("output", "languages", "all"),
}


def model_inputs(config: Config, sources: tuple[Source, ...]) -> tuple[SourceInput, ...]:
    """What a model needs to know of its sources. The symbols of those that are joined occur in all of them."""
    found = tuple(
        source.symbols
        if isinstance(source, Language)
        else Regions(source.size, source.name not in config.model.start_only)
        for source in sources
    )
    if config.data.join:
        tables = [each for each in found if isinstance(each, SymbolTable)]
        counts = zip(*(each.counts for each in tables), strict=True)
        return (replace(tables[0], counts=tuple(map(sum, counts))),)
    return config.data.sequences(found)


def build_embeddings(
    model: ModelConfig, sources: tuple[SourceInput, ...], target: SymbolTable, assemble: Assemble
) -> tuple[list[Embedding | None], Embedding]:
    """The embeddings of sources, None for numbers, and of the target; tied if they are to be."""
    settings, shared = model.embedding, list[nn.Parameter]()

    def embedding(side: Side, symbols: SymbolTable) -> Embedding:
        def make() -> Embedding:
            if settings.tie in TIED[side] and not EMBEDDINGS[spec.kind].has_table:
                raise ValueError(f"'{settings.tie}' needs a table, and model.embedding.{side}: {spec.kind} has none")
            return components.build(EMBEDDINGS, spec, symbols, settings.size, settings.dropout, *shared)

        spec: Spec = getattr(settings, side)
        found = assemble(("model", "embedding", "tie" if settings.tie in TIED[side] else side), make)
        if settings.tie in TIED["source"]:
            shared[:] = [found.get_parameter("table")]
        return found

    tables = [embedding("source", source) if isinstance(source, SymbolTable) else None for source in sources]
    return tables, embedding("target", target)


def build_readers(
    model: ModelConfig, sources: tuple[SourceInput, ...], tables: list[Embedding | None], assemble: Assemble
) -> list[Reader]:
    """What reads each source. Of several, a sentence may be without some."""
    several, found = len(sources) > 1, list[Reader]()
    for source, table in zip(sources, tables, strict=True):
        if isinstance(source, Regions):
            make = partial(components.build, FEATURE_ENCODERS, model.features, source.size)
            encoder = assemble(("model", "features"), make)
            found.append(Reader(None, encoder, optional=several, attended=source.attended))
        else:
            make = partial(components.build, ENCODERS, model.encoder, model.embedding.size)
            found.append(Reader(table, assemble(("model", "encoder"), make), optional=several))
    return found
