"""The kinds of term, by the names that a configuration gives them."""

from dragoman.model.attention.terms.past import Coverage, Fertility, Markov
from dragoman.model.attention.terms.position import Position
from dragoman.model.attention.terms.reading import Shift, Wait
from dragoman.model.attention.terms.term import Term
from dragoman.model.attention.terms.tracks import CoverageEmbedding, NeuralCoverage, Recurrent

TERMS: dict[str, type[Term]] = {
    "coverage": Coverage,
    "neural_coverage": NeuralCoverage,
    "coverage_embedding": CoverageEmbedding,
    "position": Position,
    "markov": Markov,
    "fertility": Fertility,
    "recurrent": Recurrent,
    "wait": Wait,
    "shift": Shift,
}
