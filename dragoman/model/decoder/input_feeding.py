"""Input feeding: what a decoder step receives from the previous step, beside its symbol."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeAlias, final

from torch import Tensor

from dragoman.configuration.components import OneOf
from dragoman.model.readout import ReadoutLayer
from dragoman.model.shapes import Float


class ReadoutInputs(NamedTuple):
    """The inputs of the features, at one step or several."""

    output: Float[Tensor, "*rows D"]  # of the top layer
    context: Float[Tensor, "*rows C"]
    embedded: Float[Tensor, "*rows E"]


class InputFeeding(ABC):
    """A vector that each step passes to the next; the first step is fed zeros.

    Features that are fed are computed within the step; others are computed for all steps at once.
    """

    size: int  # X, of the vector that is fed
    feeds_back = True  # whether a step depends on the attention of the previous step
    needs_context = False
    needs_mixture = False  # whether features must be a computed vector (`ReadoutLayer.mixes`)

    def __init__(self, features: ReadoutLayer, context_size: int) -> None:
        self._features = features

    @abstractmethod
    def following(self, fed: Float[Tensor, "R X"], inputs: ReadoutInputs) -> Float[Tensor, "R X"]:
        """Return the vector that a step passes to the next, having been fed `fed`."""

    def features(
        self, inputs: ReadoutInputs, following: Callable[[], Float[Tensor, "*rows X"]]
    ) -> Float[Tensor, "*rows F"]:
        """Return the features of one or several steps; `following()` is what these steps pass to the next ones."""
        features: Tensor = self._features(*inputs)
        return features


@final
class NoInputFeeding(InputFeeding):
    """Nothing is fed beside the symbol."""

    size = 0
    feeds_back = False

    def following(self, fed: Float[Tensor, "R X"], inputs: ReadoutInputs) -> Float[Tensor, "R X"]:
        return fed


@final
class ContextFeeding(InputFeeding):
    """`c_(t-1)` (NT (72))."""

    needs_context = True

    def __init__(self, features: ReadoutLayer, context_size: int) -> None:
        super().__init__(features, context_size)
        self.size = context_size

    def following(self, fed: Float[Tensor, "R X"], inputs: ReadoutInputs) -> Float[Tensor, "R X"]:
        return inputs.context


@final
class AttentionalFeeding(InputFeeding):
    """The attentional vector, which is the features (Luong et al. 2015, 3.3)."""

    needs_mixture = True

    def __init__(self, features: ReadoutLayer, context_size: int) -> None:
        super().__init__(features, context_size)
        self.size = features.size

    def following(self, fed: Float[Tensor, "R X"], inputs: ReadoutInputs) -> Float[Tensor, "R X"]:
        following: Tensor = self._features(*inputs)
        return following

    def features(
        self, inputs: ReadoutInputs, following: Callable[[], Float[Tensor, "*rows X"]]
    ) -> Float[Tensor, "*rows F"]:
        return following()


INPUT_FEEDINGS: dict[str, type[InputFeeding]] = {
    "none": NoInputFeeding,
    "context": ContextFeeding,
    "attentional": AttentionalFeeding,
}
InputFeedingKind: TypeAlias = Annotated[str, OneOf(INPUT_FEEDINGS)]
