"""The table of terms, by their names in the configuration."""

from dragoman.model.attention.terms.history import Coverage, Fertility, Markov
from dragoman.model.attention.terms.position import Position
from dragoman.model.attention.terms.recurrent import CoverageEmbedding, NeuralCoverage, Recurrent
from dragoman.model.attention.terms.streaming import Shift, Wait
from dragoman.model.attention.terms.term import Term

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
