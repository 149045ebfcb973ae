"""Every kind of model gives the same in ONNX Runtime as in torch; what cannot be exported is refused in one line."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

from dragoman.data.batch import TokenBatch
from dragoman.deployment import tracing
from dragoman.deployment.engine import CONSTANTS, VERSION, Note, OnnxModel, Precision
from dragoman.errors import UserError
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.bridge import BRIDGES
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.predictor import Predictor, RestrictedPredictor
from dragoman.model.readout import READOUTS
from dragoman.model.recurrent import CELLS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.shortlist import ShortlistPredictor
from tests.builders import build_model, sentences

SELF = {"kind": "self_attention", "size": 8, "layers": 1, "heads": 2}
WIDE = {**SELF, "size": 32}  # heads as wide as operators of ONNX Runtime need
POST_NORM = {"norm": "after", "bias": True, "activation": "swish"}
MODELS: dict[str, dict[str, Any]] = {  # an export takes ten seconds, so that each has as many features as go together
    "lstm": {
        "normalizer": "sparsemax",
        "encoder": {"cell": "lstm", "layers": 2, "residual": True, "layer_norm": "standard", "direction": "forward"},
        "attention": {"window": {"kind": "predictive", "width": 2}},
        "score": "dot",
        "bridge": "mean",
        "decoder": {
            "cell": "lstm",
            "layers": 2,
            "attend": "before",
            "input_feeding": "attentional",
            "readout": "deep",
            "layer_norm": "standard",
            "residual": True,
        },
    },
    "gru_an": {
        "normalizer": {"kind": "entmax", "alpha": 1.3},  # by bisection
        "encoder": {"cell": "gru_an", "direction": "forward", "layer_norm": "standard"},
        "attention": {"terms": ["wait"], "window": {"kind": "monotonic", "width": 1}},
        "score": "bilinear",
        "bridge": "zero",
        "decoder": {
            "cell": "gru_an",
            "attend": "between",
            "input_feeding": "context",
            "readout": "concat",
            "layer_norm": "standard",
        },
    },
    "rnn": {
        "normalizer": {"kind": "linear_chain", "divide": True},
        "encoder": {"cell": "rnn", "dropout": 0.5, "direction": "reversed"},
        "score": "scaled_dot",
        "bridge": "copy",
        "decoder": {
            "cell": "rnn",
            "input_feeding": "context",
            "dropout": 0.5,
            "recurrent_dropout": 0.5,
            "variational": False,
        },
        "embedding": {"tie": "all", "dropout": 0.5},
        "start_symbol": "eos",
    },
    "no attention": {
        "encoder": {"layers": 2},
        "score": "none",
        "bridge": {"kind": "copy", "layers": "first"},
        "decoder": {"layers": 2, "input_feeding": "attentional"},
    },
    "shift": {
        "score": "uniform",
        "attention": {"terms": ["shift"]},
        "encoder": {"direction": "forward"},
        "bridge": "zero",
        "decoder": {"attend": "before", "readout_size": 3},
    },
    "self-attention encoder": {
        "encoder": {**SELF, "positions": "learned", "longest": 10},
        "bridge": "mean",
        "score": "linear",
        "normalizer": "hard",
        "decoder": {"attend": "between", "input_feeding": "attentional", "external_memory": 3, "readout": "linear"},
    },
    "transformer": {
        "encoder": {**SELF, "positions": "none"},
        "bridge": "none",
        "score": "scaled_dot",
        "decoder": {**SELF, "layers": 2, "dropout": 0.5},
    },
    "transformer in operators": {
        "encoder": WIDE,
        "bridge": "none",
        "score": "scaled_dot",
        "decoder": {**WIDE, "layers": 2, "alignment_layer": 1, "alignment_head": 2},
    },
    "post-norm transformer in operators": {
        "encoder": {**WIDE, **POST_NORM, "positions": "sinusoidal"},
        "bridge": "none",
        "score": "scaled_dot",
        "decoder": {**WIDE, **POST_NORM, "positions": "learned", "longest": 10},
    },
    "relative positions": {
        "encoder": {**WIDE, "positions": "relative"},
        "bridge": "none",
        "score": "scaled_dot",
        "decoder": {**WIDE, "positions": "relative"},
    },
    "light recurrence": {
        "encoder": WIDE,
        "bridge": "none",
        "score": "scaled_dot",
        "decoder": {**WIDE, "positions": "none", "autoregression": "ssru"},
    },
    "convolutional": {
        "encoder": {"kind": "convolutional", "layers": 2, "longest": 10, "dropout": 0.5},
        "score": {"kind": "convolutional", "widths": [2, 3, 4]},
        "normalizer": "entmax",
        "bridge": "none",
        "decoder": {**SELF, "positions": "none", "readout_size": 3},
    },
    "terms": {
        "bridge": {"kind": "layerwise", "activation": "relu"},
        "attention": {
            "terms": [
                {"kind": "coverage", "fertility": 2.0},
                "position",
                "markov",
                "fertility",
                "neural_coverage",
                "coverage_embedding",
                "recurrent",
            ]
        },
    },
    "hierarchical": {"encoder": {"size": 5}, "attention": {"sentences": "|"}},
}


def kind_of(part: Any) -> str:
    """What a part is called, with options or without."""
    return part["kind"] if isinstance(part, dict) else part


HAVE = {kind_of(options["score"]) for options in MODELS.values() if "score" in options} | {"additive"}
MODELS |= {kind: {"score": kind} for kind in SCORES if kind not in HAVE}


def of(tmp_path: Path, model: Seq2Seq, *, int8: bool = False) -> OnnxModel:
    """The model as it is exported into a folder."""
    graphs = tracing.trace(model)
    (tmp_path / CONSTANTS).touch()
    files = {CONSTANTS: ""}
    for name, graph in graphs.models(int8=int8).items():
        (tmp_path / f"{name}.onnx").write_bytes(graph.SerializeToString())
        files[f"{name}.onnx"] = ""
    precision: Precision = "int8" if int8 else "float32"
    note = Note(
        VERSION, "", "", precision, model.start_id, graphs.step_state, graphs.source_state, graphs.state_grows, files
    )
    return OnnxModel(tmp_path, note, 1, lambda: model.output)


def differences(model: Seq2Seq, exported: OnnxModel, source: TokenBatch) -> list[float]:
    """The largest differences over some steps of a search, relative to values above 1: one row a sentence first, then
    two, which change places and leave with their sentence. A search that looks at a few symbols gets the same of them.
    """
    differing = []
    with torch.inference_mode():
        one, other = model.begin((source,)), exported.begin((source,))
        sentences = len(source.ids)
        moves = [torch.arange(sentences).repeat_interleave(2)] + [
            torch.arange(2 * sentences).view(-1, 2).flip(1).flatten()
        ] * 2
        left: list[Tensor | None] = [None] * 3
        if sentences > 1:
            moves += [torch.tensor([2, 3]), torch.tensor([1, 0])]
            left += [torch.tensor([1]), None]
        rows = sentences
        for step, (move, sentences_left) in enumerate(zip(moves, left, strict=True)):
            symbols = torch.arange(rows) % 5 + 3 + step % 2
            wanted, got = model.predict(symbols, one), exported.predict(symbols, other)
            differing += [
                ((left - right).abs() / left.abs().clamp(min=1)).max().item()
                for left, right in zip(
                    (wanted.log_probs, *wanted.attention), (got.log_probs, *got.attention), strict=True
                )
            ]
            for count in (1, 3, 1000):
                few = exported.most_probable(count).predict(symbols, other)
                assert set(few.symbols.tolist()) >= {*range(4), *got.log_probs.topk(min(count, 5)).indices[0].tolist()}
                torch.testing.assert_close(few.log_probs, got.over(few.symbols))
                torch.testing.assert_close((few.attention, few.state), (got.attention, got.state))
            one = model.reorder(wanted.state, move, sentences_left)
            other = exported.reorder(got.state, move, sentences_left)
            rows = len(move)
            sentences = sentences if sentences_left is None else len(sentences_left)
            assert all(len(part) == sentences for part in other.source_state)
    return differing


def assert_the_same_searches(exported: OnnxModel, source: TokenBatch) -> None:
    """Searches whose steps are made in a graph find the same as those that make single steps."""
    single_steps: Predictor[Any] = RestrictedPredictor(exported, exported.predict)
    state = exported.begin((source,))
    allowed = torch.ones_like(exported.predict(source.ids[:, 0], state).log_probs, dtype=torch.bool)
    allowed[:, 5] = allowed[0, 6] = False
    pairs: list[tuple[Predictor[Any], Predictor[Any]]] = [
        (single_steps, exported),
        (ShortlistPredictor(single_steps, allowed), ShortlistPredictor(exported, allowed)),
    ]
    assert all(predictor.greedy_runner() and predictor.beam_runner() for _, predictor in pairs)
    searches = (
        Greedy(),
        Greedy(length_ratio=0.0, length_margin=3, min_length_margin=2),
        Beam(size=3),
        Beam(size=3, normalization="none", length_margin=30),
        Beam(size=2, min_length_margin=3, length_margin=4),
        Beam(size=1),
    )
    for search, predictors in product(searches, pairs):
        n_best = min(2, search.width)
        wanted, got = (search(predictor, (source,), n_best, 1) for predictor in predictors)
        for expected, hypotheses in zip(wanted, got, strict=True):
            for one, other in zip(expected, hypotheses, strict=True):
                assert one.symbols == other.symbols
                np.testing.assert_allclose(other.log_probs, one.log_probs, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(other.score, one.score, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(other.attention, one.attention, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model_gives_the_same_in_onnx_runtime(kind: str, tmp_path: Path) -> None:
    model = build_model(mark=4, **MODELS[kind]).float()
    exported = of(tmp_path, model)
    assert exported.start_id == model.start_id
    decoder = MODELS[kind].get("decoder", {})
    assert exported.state_grows == (decoder.get("kind") == "self_attention" and "autoregression" not in decoder)
    for source in (sentences([4, 5, 6], [7], [8, 4]), sentences([]), sentences([4] * 20, width=30)):
        assert max(differences(model, exported, source)) < 1e-5
        assert_the_same_searches(exported, source)


@pytest.mark.slow
def test_all_heads_are_computed_by_one_operator(tmp_path: Path) -> None:
    """A loop of steps has what is the same in all of them before it."""
    from onnx import load

    of(tmp_path, build_model(**MODELS["transformer in operators"]).float())
    step, greedy = (load(tmp_path / f"{name}.onnx").graph for name in ("step", "greedy"))
    operations = Counter(node.op_type for node in step.node)
    assert (operations["GroupQueryAttention"], operations["MultiHeadAttention"]) == (2, 2)
    [loop] = [node for node in greedy.node if node.op_type == "Loop"]
    [body] = [attribute.g for attribute in loop.attribute if attribute.name == "body"]
    repeated = {node.op_type for node in body.node}
    assert {"GroupQueryAttention", "MultiHeadAttention"} <= repeated
    assert repeated.isdisjoint({"Cos", "Sin", "Div"})  # angles, rows of a sentence
    assert {"Cos", "Sin", "Div"} <= {node.op_type for node in greedy.node}


@pytest.mark.slow
def test_a_beam_of_one_sentence_is_one_call_until_a_hypothesis_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = of(tmp_path, build_model(mark=4).float())
    graph, steps = exported.search_graph("beam"), list[int]()
    predict_best, single_steps = exported._predict_best, list[int]()

    def counted(*tensors: Tensor) -> list[Tensor]:
        results = graph(*tensors)
        steps.append(len(results[-1]))
        return results

    def counted_alone(*inputs: Any) -> Any:
        single_steps.append(sum(steps))
        return predict_best(*inputs)

    monkeypatch.setattr(exported, "search_graph", lambda name: counted)
    monkeypatch.setattr(exported, "_predict_best", counted_alone)
    limit = 20
    search = Beam(size=2, normalization="none", length_ratio=0.0, length_margin=limit)
    [[best]] = search(exported, (sentences([4, 5]),), 1, 0)
    assert sum(steps) + len(single_steps) >= len(best.symbols) + 1
    assert single_steps in ([], [limit])  # the first step is one of several; the end that is forced is not
    assert max(steps[1:], default=0) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("symbol", range(4, 9))
def test_damaged_weights_are_noticed_in_a_graph_as_well(symbol: int, tmp_path: Path) -> None:
    """NaN in one row of a beam, which ONNX Runtime ranks below all numbers."""
    model = build_model(mark=4).float()
    with torch.no_grad():
        model.target_embedding.get_parameter("table")[symbol] = float("nan")
    exported, source = of(tmp_path, model), sentences([4, 5, 6], [7], [8, 4])
    with pytest.raises(UserError, match="NaN"):
        Beam(size=3)(exported, (source,))


@pytest.mark.slow
def test_trees_are_refused_as_onnx_has_no_inverse_of_a_matrix() -> None:
    with pytest.raises(torch.onnx.OnnxExporterError):
        tracing.trace(build_model(encoder={"trees": True}).float())


def test_the_sample_has_every_entry_of_the_tables() -> None:
    decoders = [options.get("decoder", {}) for options in MODELS.values()]
    assert {decoder.get("cell", "gru") for decoder in decoders} == set(CELLS)
    assert {decoder.get("attend", "after") for decoder in decoders} == set(TIMINGS)
    assert {decoder.get("input_feeding", "none") for decoder in decoders} == {"none", "context", "attentional"}
    assert {decoder.get("readout", "tanh") for decoder in decoders} == set(READOUTS)
    assert {kind_of(options.get("bridge", "final")) for options in MODELS.values()} == set(BRIDGES)
    assert {kind_of(options.get("normalizer", "softmax")) for options in MODELS.values()} == set(NORMALIZERS)
    terms = [term for options in MODELS.values() for term in options.get("attention", {}).get("terms", ())]
    assert set(map(kind_of, terms)) == set(TERMS)


@pytest.mark.slow
def test_a_state_holds_only_what_a_step_reads_and_integers_come_close(tmp_path: Path) -> None:
    model = build_model(encoder={"size": 16}, decoder={"size": 32}, embedding={"size": 16}, spread=0.1).float()
    exported = of(tmp_path, model, int8=True)
    source = sentences([4, 5, 6], [7], [8, 4])
    state = exported.begin((source,))
    assert [tuple(tensor.shape) for tensor in state.step_state] == [(3, 32)]  # no weights, nothing fed
    assert not exported.state_grows
    assert [tensor.dtype for tensor in state.source_state] == [torch.float32, torch.float32, torch.bool]
    assert 0 < max(differences(model, exported, source)) < 0.05
    from onnx import TensorProto, load

    for name in ("start", "step", "output"):
        graph = load(tmp_path / f"{name}.onnx").graph
        large = [tensor for tensor in graph.initializer if len(tensor.dims) == 2 and min(tensor.dims) > 1]
        names = [tensor.name for tensor in large if tensor.data_type == TensorProto.FLOAT]
        assert all("embedding" in tensor for tensor in names), names


@pytest.mark.slow
def test_keys_that_no_step_compares_with_are_not_in_the_state(tmp_path: Path) -> None:
    exported = of(tmp_path, build_model(score="uniform").float())
    state = exported.begin((sentences([4, 5, 6], [7]),))
    assert [tensor.dtype for tensor in state.source_state] == [torch.float32, torch.bool]  # the values and the mask
