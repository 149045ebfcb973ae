"""A toy output: a mixture of generating a symbol and copying a word of the source (See et al. 2017)."""

from collections.abc import Sized
from typing import Any, final

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.output.output import Distribution, Output, Readout
from dragoman.model.seq2seq import Parts, Seq2Seq
from dragoman.model.shapes import Float
from tests.builders import build_model, shaken


@final
class Mixture(Output):
    """`g softmax(W f) + (1 - g) sum_j alpha_j [x_j = y]`, `g = sigmoid(v f)`, over the vocabulary and the words of the
    sentence that it does not have.
    """

    reads_source = True
    extends = True

    def __init__(self, features_size: int, symbols: Sized, table: nn.Parameter | None = None) -> None:
        super().__init__()
        self.symbols = len(symbols)
        self.generate = Linear(features_size, self.symbols)
        self.gate = Linear(features_size, 1)

    def prepare(self, memories: tuple[Memory, ...]) -> Any:
        """The words of the first source as symbols of the target."""
        assert memories[0].extended is not None
        return memories[0].extended

    def chances(self, readout: Readout) -> tuple[Float[Tensor, "N 1"], Float[Tensor, "N V"]]:
        """How much is generated, and the probability of each symbol."""
        words, weights = readout.prepared[readout.sentences], readout.attention[0]
        width = max(self.symbols, int(readout.prepared.max()) + 1)
        generated = torch.sigmoid(self.gate(readout.features))
        symbols = torch.softmax(self.generate(readout.features), -1)
        chances = nn.functional.pad(generated * symbols, (0, width - self.symbols))
        return generated, chances.scatter_add(1, words, (1 - generated) * weights)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        _, chances = self.chances(readout)
        return chances.clamp(min=torch.finfo(chances.dtype).tiny).log()

    def predict(self, readout: Readout) -> Distribution:
        generated, chances = self.chances(readout)
        log_probs = chances.clamp(min=torch.finfo(chances.dtype).tiny).log()
        return Distribution(log_probs, None, {"copied": 1 - generated.squeeze(1)})


def mixing(seed: int = 0, spread: float = 0.5, generate: float = 0.0, **options: Any) -> Seq2Seq:
    """A model with such an output, which generates so much more readily."""
    model = build_model(seed=seed, spread=spread, **options)
    torch.manual_seed(seed)
    output = Mixture(model.decoder.features_size, range(model.target_embedding.symbols))
    parts = Parts(
        model.readers, model.bridge, model.inputs, model.decoder, shaken(output, seed, spread), model.emission
    )
    assert output.gate.bias is not None
    nn.init.constant_(output.gate.bias, generate)
    return Seq2Seq(parts).eval()
