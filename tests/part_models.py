"""Options of small models that have each part of the tables between them."""

from typing import Any

from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.bridge import BRIDGES
from dragoman.model.decoder.input_feeding import INPUT_FEEDINGS
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.output.table import OUTPUTS
from dragoman.model.readout import READOUTS
from dragoman.model.recurrent import CELLS

STREAMED = {"encoder": {"direction": "forward"}, "bridge": "zero"}
SELF = {"kind": "self_attention", "size": 4, "layers": 2, "heads": 2}
MODELS: dict[str, dict[str, Any]] = {
    **{f"score {kind}": {"score": kind} for kind in SCORES},
    **{f"normalizer {kind}": {"normalizer": kind} for kind in NORMALIZERS if kind != "hard"},
    **{f"term {kind}": {"terms": [kind], **(STREAMED if term.hides else {})} for kind, term in TERMS.items()},
    **{
        f"bridge {kind}": {"bridge": kind, "encoder": {"size": 4, "direction": "forward"}}
        for kind in BRIDGES
        if kind != "none"
    },
    **{f"feed {kind}": {"decoder": {"input_feeding": kind, "readout": "tanh"}} for kind in INPUT_FEEDINGS},
    **{f"attend {kind}": {"decoder": {"attend": kind, "layers": 2}} for kind in TIMINGS},
    **{f"readout {kind}": {"decoder": {"readout": kind}} for kind in READOUTS},
    **{
        f"cell {kind}": {"encoder": {"cell": kind, "layers": 2}, "decoder": {"cell": kind, "layer_norm": "standard"}}
        for kind in CELLS
    },
    **{
        f"output {kind}": {"output": {"kind": kind}} for kind in OUTPUTS if kind not in ("hybrid", "nce", "partitioned")
    },
    "encoder self_attention": {"encoder": SELF, "bridge": "mean"},
    "encoder convolutional": {"encoder": {"kind": "convolutional", "size": 4, "layers": 2}, "bridge": "mean"},
    "transformer": {"encoder": SELF, "decoder": SELF, "bridge": "none", "score": "scaled_dot"},
    "windows": {"attention": {"window": {"kind": "predictive", "width": 2}}},
    "external memory": {"decoder": {"external_memory": 3}},
}
