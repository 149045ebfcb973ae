"""How many parameters the parts of a model have."""

from collections import Counter

from dragoman.configuration.config import ModelConfig
from dragoman.data.vocabulary import SymbolTable
from dragoman.model import build
from dragoman.model.assembly import skip_initial_values
from dragoman.model.inputs import SourceInput


def count_parameters(
    model: ModelConfig, sources: tuple[SourceInput | int, ...], target: SymbolTable | int
) -> dict[str, int]:
    """Return the number of parameters of each part of a model; a shared table counts for the part that comes first."""
    with skip_initial_values():
        built = build.build(model, sources, target)
    counts: Counter[str] = Counter()
    for name, parameter in built.named_parameters():
        part, *below = name.split(".")
        if part == "source_encoders":  # then its number, and one of its parts
            part = {"embedding": "source embedding"}.get(below[1], below[1])
        elif part == "inputs":
            part = {"embedding": "target embedding", "map": "cursor"}[below[0]]
        counts[part.replace("_", " ")] += parameter.numel()
    return dict(counts)
