"""What a decoder's step is fed by the step before, beside its symbol."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple, final

from torch import Tensor

from dragoman.model.features import Features
from dragoman.model.shapes import Float

FeedKind = Literal["nothing", "context", "attentional"]


class FeatureInputs(NamedTuple):
    """What features are made of, at one step or at several."""

    output: Float[Tensor, "*rows D"]  # of the top layer
    context: Float[Tensor, "*rows C"]
    embedded: Float[Tensor, "*rows E"]


class Feed(ABC):
    """A vector that each step leaves to the next one; the first step is fed zeros.

    Features that are fed are computed within the step; others are computed for all steps at once.
    """

    size: int  # X, of what is fed
    feeds_back = True  # whether a step depends on what the one before has seen
    needs_context = False
    needs_mixture = False  # whether features have to be a vector of their own

    def __init__(self, features: Features, context_size: int) -> None:
        self._features = features

    @abstractmethod
    def following(self, fed: Float[Tensor, "R X"], inputs: FeatureInputs) -> Float[Tensor, "R X"]:
        """What a step that was fed this leaves to the next."""

    def features(
        self, inputs: FeatureInputs, following: Callable[[], Float[Tensor, "*rows X"]]
    ) -> Float[Tensor, "*rows F"]:
        """What the output layer reads of one step, or of several, which have left `following()` to the next."""
        features: Tensor = self._features(*inputs)
        return features


@final
class FeedNothing(Feed):
    """The symbol is all that a step reads."""

    size = 0
    feeds_back = False

    def following(self, fed: Float[Tensor, "R X"], inputs: FeatureInputs) -> Float[Tensor, "R X"]:
        return fed


@final
class FeedContext(Feed):
    """`c_(t-1)` (NT (72))."""

    needs_context = True

    def __init__(self, features: Features, context_size: int) -> None:
        super().__init__(features, context_size)
        self.size = context_size

    def following(self, fed: Float[Tensor, "R X"], inputs: FeatureInputs) -> Float[Tensor, "R X"]:
        return inputs.context


@final
class FeedFeatures(Feed):
    """The attentional vector, which is the features (Luong et al. 2015, 3.3)."""

    needs_mixture = True

    def __init__(self, features: Features, context_size: int) -> None:
        super().__init__(features, context_size)
        self.size = features.size

    def following(self, fed: Float[Tensor, "R X"], inputs: FeatureInputs) -> Float[Tensor, "R X"]:
        following: Tensor = self._features(*inputs)
        return following

    def features(
        self, inputs: FeatureInputs, following: Callable[[], Float[Tensor, "*rows X"]]
    ) -> Float[Tensor, "*rows F"]:
        return following()


FEEDS: dict[str, type[Feed]] = {"nothing": FeedNothing, "context": FeedContext, "attentional": FeedFeatures}
