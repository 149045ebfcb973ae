"""The order of the transforms of a sentence."""

from dragoman.translation.sentence import TextTransform
from dragoman.translation.transforms.casing import Casing
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.transforms.exact_match import ExactMatch
from dragoman.translation.transforms.placeholders import Placeholders
from dragoman.translation.transforms.tag_projection import TagProjection
from dragoman.translation.transforms.terms import Terms
from dragoman.translation.transforms.unknown_words import ProtectedSpellings, UnknownWords

# Sentences are prepared in this order, and translations finished in the reverse order. Transforms of other classes are
# the outermost: they read texts as users wrote them, and finish what users read.
ORDER: tuple[type[TextTransform], ...] = (
    ExactMatch,
    Casing,
    TagProjection,
    Placeholders,
    UnknownWords,
    ConfidenceCalibration,  # of the model's own probabilities, without the bonus of terms
    Terms,
    ProtectedSpellings,
)

# Text transforms that a configuration names: those of plug-ins, whose constructors take options alone.
TRANSFORMS: dict[str, type[TextTransform]] = {}
