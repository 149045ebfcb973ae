"""The table of combinations, by their names in the configuration."""

from dragoman.model.attention.sources.combination import Combination
from dragoman.model.attention.sources.flat import Flat
from dragoman.model.attention.sources.separate import Concatenation, Hierarchical, Sum

COMBINATIONS: dict[str, type[Combination]] = {
    "concatenation": Concatenation,
    "sum": Sum,
    "flat": Flat,
    "hierarchical": Hierarchical,
}
