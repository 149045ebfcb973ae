"""The table of searches."""

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.search.beam import Beam
from dragoman.search.diverse import Diverse
from dragoman.search.exhaustive import Exhaustive
from dragoman.search.greedy import Greedy
from dragoman.search.sampling import Sample
from dragoman.search.search import Search

SEARCHES: dict[str, type[Search]] = {
    "greedy": Greedy,
    "beam": Beam,
    "diverse": Diverse,
    "sample": Sample,
    "exhaustive": Exhaustive,
}


def has_beam(kind: str) -> bool:
    """Return whether this kind of search has a beam, whose size is its option `size`."""
    return kind in SEARCHES and "size" in components.options(SEARCHES[kind])


def in_place_of(own: Spec, other: Spec) -> Spec:
    """Return the other search with those options of a run's own search that it has too and does not give: lengths of
    translations, and how they are ranked.
    """
    option_names = components.options(SEARCHES[other.kind])
    kept = {name: value for name, value in own.options.items() if name in option_names}
    return Spec(other.kind, {**kept, **other.options})


def with_beam(search: Spec, size: int) -> Spec:
    """Return the same search with a beam of this size; beam search in the place of one that has no beam."""
    if has_beam(search.kind):
        return Spec(search.kind, {**search.options, "size": size})
    return in_place_of(search, Spec("beam", {"size": size}))


def with_width(search: Spec, width: int) -> Spec:
    """Return the same search, with a larger beam if it gives fewer translations than `width`."""
    built = components.build(SEARCHES, search)
    # Rounded up: all groups are of one size.
    return search if built.width >= width else with_beam(search, -(-width // built.groups))
