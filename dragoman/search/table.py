"""The table of searches."""

from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search

SEARCHES: dict[str, type[Search]] = {"greedy": Greedy, "beam": Beam}
