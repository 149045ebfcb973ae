"""The table of outputs."""

from collections.abc import Mapping

from dragoman.model.output.copying import Pointer, PointerGenerator
from dragoman.model.output.full import Full
from dragoman.model.output.hierarchical import Adaptive, Classes, Huffman
from dragoman.model.output.output import Output
from dragoman.model.output.sampled import NoiseContrastive, Partitioned
from dragoman.model.output.spelling import Hybrid

OUTPUTS: Mapping[str, type[Output]] = {
    "softmax": Full,
    "pointer": Pointer,
    "pointer_generator": PointerGenerator,
    "nce": NoiseContrastive,
    "partitioned": Partitioned,
    "classes": Classes,
    "huffman": Huffman,
    "adaptive": Adaptive,
    "hybrid": Hybrid,
}
