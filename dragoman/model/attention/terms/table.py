"""The table of terms, by their names in the configuration."""

from dragoman.model.attention.terms.history import CoverageTerm, FertilityTerm, MarkovTerm
from dragoman.model.attention.terms.position import PositionTerm
from dragoman.model.attention.terms.recurrent_terms import CoverageEmbedding, NeuralCoverage, Recurrent
from dragoman.model.attention.terms.term import AttentionTerm
from dragoman.model.attention.terms.wait_terms import ShiftTerm, WaitTerm

TERMS: dict[str, type[AttentionTerm]] = {
    "coverage": CoverageTerm,
    "neural_coverage": NeuralCoverage,
    "coverage_embedding": CoverageEmbedding,
    "position": PositionTerm,
    "markov": MarkovTerm,
    "fertility": FertilityTerm,
    "recurrent": Recurrent,
    "wait": WaitTerm,
    "shift": ShiftTerm,
}
