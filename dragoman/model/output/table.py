"""The table of outputs."""

from collections.abc import Mapping

from dragoman.model.output.copying import Pointer, PointerGenerator
from dragoman.model.output.hierarchical import AdaptiveSoftmax, ClassOutput, HuffmanOutput
from dragoman.model.output.output import Output
from dragoman.model.output.sampled import NoiseContrastive, Partitioned
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.output.spelling import HybridOutput

OUTPUTS: Mapping[str, type[Output]] = {
    "softmax": SoftmaxOutput,
    "pointer": Pointer,
    "pointer_generator": PointerGenerator,
    "nce": NoiseContrastive,
    "partitioned": Partitioned,
    "classes": ClassOutput,
    "huffman": HuffmanOutput,
    "adaptive": AdaptiveSoftmax,
    "hybrid": HybridOutput,
}
