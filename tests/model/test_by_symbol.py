"""Parts name their parameters with a row for each symbol: those that grow with a vocabulary, and no others."""

from typing import Any

import pytest
import torch

from dragoman.model import build
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.embedding import EMBEDDINGS
from dragoman.model.inputs import Regions
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from tests import builders

TIES = ("none", "output", "languages", "all")
CASES: dict[str, dict[str, Any]] = {
    **{f"source {kind}": {"embedding": {"source": kind}} for kind in EMBEDDINGS},
    **{
        f"target {kind}": {"embedding": {"target": kind}}
        for kind, part in EMBEDDINGS.items()
        if not part.of_sources_only
    },
    **{f"output {kind}": {"output": {"kind": kind}} for kind in OUTPUTS},
    **{f"term {kind}": {"terms": kind} for kind in TERMS if TERMS[kind].reads_symbols},
    **{f"tie {tie}": {"embedding": {"tie": tie}, "decoder": {"readout": "deep"}} for tie in TIES},
}


def make_model(options: dict[str, Any], sources: tuple[Regions | int, ...], target: int) -> Seq2Seq:
    with torch.device("meta"):
        return build.build(builders.settings(**options), sources, target)


def grown(small: Seq2Seq, large: Seq2Seq) -> set[str]:
    """The parameters with more rows in the second model."""
    return {name for name, parameter in small.named_parameters() if parameter.shape != large.get_parameter(name).shape}


@pytest.mark.parametrize("case", CASES)
def test_parameters_that_grow_with_a_vocabulary_are_named_with_its_side(case: str) -> None:
    options = CASES[case]
    model = make_model(options, (9, 9), 9)
    sides = model.by_symbol()
    everything = grown(model, make_model(options, (11, 11), 11))
    expected = {
        name for name in everything if name in sides or not (model.output.arranges and name.startswith("output."))
    }
    assert set(sides) == expected
    assert expected
    if options.get("embedding", {}).get("tie") in ("languages", "all"):
        return  # all sides have the same symbols
    of_source = [{name for name, side in sides.items() if side == number} for number in (0, 1, -1)]
    assert of_source[0] == grown(model, make_model(options, (11, 9), 9))
    assert of_source[1] == grown(model, make_model(options, (9, 11), 9))
    assert of_source[2] == grown(model, make_model(options, (9, 9), 11)) & expected


def test_a_term_knows_its_source_behind_one_that_is_not_attended_to() -> None:
    model = make_model(CASES["term coverage_embedding"], (Regions(4, attended=False), 9), 9)
    assert {side for name, side in model.by_symbol().items() if name.startswith("decoder")} == {1}


def test_positions_are_no_symbols() -> None:
    layers = {"kind": "self_attention", "size": 4, "heads": 2, "positions": "learned"}
    options: dict[str, Any] = {"encoder": layers, "decoder": layers, "bridge": "none"}
    model = make_model(options, (9,), 9)
    assert any(".positions." in name for name, _ in model.named_parameters())
    assert set(model.by_symbol()) == grown(model, make_model(options, (11,), 11))
