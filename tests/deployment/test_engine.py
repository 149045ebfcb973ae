"""Translating with the export of a run: the same translations, and one line where the export does not fit the run."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

import dragoman
from dragoman import devices
from dragoman.cli import shortlist
from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.deployment import engine, export, search_graphs, tracing
from dragoman.errors import UserError, missing_library
from dragoman.files.reading import compute_sha256
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.serving.models import ServedModel
from dragoman.translation.calibration import Calibration, Fit
from dragoman.translation.comparison import Comparison, Figures
from dragoman.translation.loading import digest_of
from tests import toy
from tests.golden import Golden

pytestmark = pytest.mark.slow  # for the export that they share

TEXTS = [source for source, _ in toy.pairs(12, 5)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its export, to be left as it is."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    shutil.copytree(toy.trained(tmp_path_factory.getbasetemp()), folder)
    assert export.write(Run.load(folder)) == folder / "onnx"
    return folder


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return shutil.copytree(run, tmp_path / "copied")


@pytest.fixture
def quick(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporting takes the graphs that are there, with other words in them, since making them takes seconds."""
    import onnx

    note = engine.read_note(Run.load(run))
    graphs: list[Any] = [onnx.load(run / "onnx" / f"{name}.onnx") for name in ("start", "step", "output")]
    for graph in graphs:
        graph.doc_string = "again"
    start, step, output = graphs
    candidates = search_graphs.CandidateOutput(np.zeros((4, 1), np.float32), np.zeros(4, np.float32))
    monkeypatch.setattr(
        tracing,
        "trace",
        lambda model: tracing.Graphs(start, step, output, note.step_state, note.source_state, candidates, False),
    )


def refusal(folder: Path, **options: Any) -> str:
    """The one line that a run's export is refused with."""
    with pytest.raises(UserError) as raised:
        dragoman.load(folder, engine="onnx", **options)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 3}), Spec("beam", {"normalization": "none"})])
def test_translations_are_those_of_torch(run: Path, search: Spec) -> None:
    n_best = 1 if search.kind == "greedy" else 2
    plain = dragoman.load(run).translate(TEXTS, n_best=n_best, search=search)
    translations = dragoman.load(run, engine="onnx").translate(TEXTS, n_best=n_best, search=search)
    for one, other in zip(plain, translations, strict=True):
        assert [alternative.text for alternative in one.n_best] == [alternative.text for alternative in other.n_best]
        assert [alternative.score for alternative in one.n_best] == pytest.approx(
            [alternative.score for alternative in other.n_best], abs=1e-4
        )
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)


@pytest.mark.spec("D9")
@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 3})])
def test_candidates_are_those_of_torch(copied: Path, search: Spec) -> None:
    """One translation of each source symbol, and no more."""
    shortlist.shortlist(shortlist.ShortlistOptions(copied))
    plain, exported = (
        dragoman.load(copied, engine=engine, shortlist=(0, 1)).translate(TEXTS, search=search)
        for engine in ("torch", "onnx")
    )
    whole = dragoman.load(copied, engine="onnx").translate(TEXTS, search=search)
    assert [alternative.text for alternative in exported] == [alternative.text for alternative in plain]
    for one, other, free in zip(plain, exported, whole, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert other.score != free.score


@pytest.mark.spec("C8", "D9")
def test_graphs_of_several_runs_are_an_ensemble(run: Path, copied: Path, tmp_path: Path, golden: Golden) -> None:
    """With candidates too; and given pairs are scored by torch's ensemble."""
    tensors, note = read_tensors(copied / "model.safetensors")
    write_tensors(copied / "model.safetensors", {name: 0.8 * tensor for name, tensor in tensors.items()}, note)
    with pytest.raises(UserError, match="has changed since the export"):
        dragoman.load([run, copied], engine="onnx")
    export.write(Run.load(copied))
    plain, exported = dragoman.load([run, copied]), dragoman.load([run, copied], engine="onnx")
    alone = dragoman.load(run, engine="onnx").translate(TEXTS, n_best=2)
    for one, other, single in zip(
        plain.translate(TEXTS, n_best=2), exported.translate(TEXTS, n_best=2), alone, strict=True
    ):
        assert [alternative.text for alternative in one.n_best] == [alternative.text for alternative in other.n_best]
        assert [alternative.score for alternative in one.n_best] == pytest.approx(
            [alternative.score for alternative in other.n_best], abs=1e-4
        )
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)
        assert other.score != single.score
    pairs = list(map(list, zip(*toy.pairs(4, 5), strict=True)))
    assert [scored.log_prob for scored in exported.score(*pairs)] == [scored.log_prob for scored in plain.score(*pairs)]
    with pytest.raises(UserError) as raised:
        exported.translate(TEXTS, search=Spec("beam", {"coverage_penalty": 0.2}))
    golden(str(raised.value))
    folders = [shutil.copytree(run, tmp_path / "first"), copied]
    for folder in folders:
        shortlist.shortlist(shortlist.ShortlistOptions(folder))
    few = [dragoman.load(folders, engine=engine, shortlist=(0, 1)).translate(TEXTS) for engine in ("torch", "onnx")]
    for one, other in zip(*few, strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_scores_are_those_of_torch_and_read_its_weights_only_then(copied: Path, golden: Golden) -> None:
    pairs = list(zip(*toy.pairs(4, 5), strict=True))
    wanted = dragoman.load(copied).score(*map(list, pairs))
    translator = dragoman.load(copied, engine="onnx")
    assert [scored.log_prob for scored in translator.score(*map(list, pairs))] == [scored.log_prob for scored in wanted]
    for path in copied.glob("model*.safetensors"):
        path.unlink()
    alone = dragoman.load(copied, engine="onnx")
    assert alone.translate(["one two"])[0].text == "deux un"
    with pytest.raises(UserError, match=r"model\.safetensors:") as raised:
        alone.score(["one two"], ["deux un"])
    golden(str(raised.value))


@pytest.mark.usefixtures("quick")
def test_an_export_of_other_weights_is_calibrated_and_gated_as_these_are(copied: Path) -> None:
    weights, folder = copied / "model.safetensors", RunFolder(copied)
    tensors, note = read_tensors(weights)
    write_tensors(weights, {name: tensor / 2 for name, tensor in tensors.items()}, note)
    of: dict[str, Any] = {"weights": "model.safetensors", "sha256": compute_sha256(weights)}
    fit = Fit(loss=1.0, error=0.1, bins=[])
    Calibration(**of, temperature=2.0, sentences=8, symbols=30, before=fit, after=fit).write(folder.calibration)
    Comparison(**of, against="old", against_sha256="", sentences=99, figures=[]).write(folder.gate)
    export.write(Run.load(copied), "model-best")
    assert dragoman.load(copied).translate(["one two"])[0].confidence
    assert dragoman.load(copied, engine="onnx").translate(["one two"])[0].confidence is None
    assert digest_of(Run.load(copied), engine="onnx") != digest_of(Run.load(copied))


def test_what_was_scored_is_explained(copied: Path) -> None:
    translator = dragoman.load(copied, engine="onnx")
    (scored,) = translator.score(["one two"], ["deux un"])
    (wanted,) = dragoman.load(copied).translate(["one two"])
    assert wanted.text == "deux un"
    for one, other in zip(scored.translation.explain().sources, wanted.explain().sources, strict=True):
        np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-4)


def test_an_export_without_its_weights_is_as_sure_and_serves_or_not(copied: Path) -> None:
    sha256 = compute_sha256(copied / "model.safetensors")
    of: dict[str, Any] = {"weights": "model.safetensors", "sha256": sha256}
    fit = Fit(loss=1.0, error=0.1, bins=[])
    folder = RunFolder(copied)
    Calibration(**of, temperature=2.0, sentences=8, symbols=30, before=fit, after=fit).write(folder.calibration)
    wanted = dragoman.load(copied).translate(["one two"])[0].confidence
    for path in copied.glob("model*.safetensors"):
        path.unlink()
    confidence = dragoman.load(copied, engine="onnx").translate(["one two"])[0].confidence
    assert wanted
    assert confidence
    assert confidence.sentence == pytest.approx(wanted.sentence, abs=1e-4)
    pytest.importorskip("sentencex")
    for worse in (False, True):
        figures = Figures(metric="bleu", signature="", before=2, after=1, low=-2, high=0, p=0.01, worse=worse)
        Comparison(**of, against="old", against_sha256="", sentences=99, figures=[figures]).write(folder.gate)
        if worse:
            with pytest.raises(UserError, match="is worse than old"):
                ServedModel.load(copied, engine="onnx")
        else:
            assert ServedModel.load(copied, engine="onnx").translator.translate(["one two"])[0].text == "deux un"


@pytest.mark.usefixtures("quick")
def test_an_export_goes_with_the_weights_that_it_was_made_from(copied: Path) -> None:
    assert "was made from model.safetensors, not from model-last" in refusal(copied, weights="model-last")
    tensors, note = read_tensors(copied / "model.safetensors")
    write_tensors(copied / "model.safetensors", tensors, {**note, "written": "again"})
    assert "model.safetensors has changed since the export; run `dragoman export --onnx` again" in refusal(copied)
    export.write(Run.load(copied), "model-best")
    assert dragoman.load(copied, weights="model-best", engine="onnx").translate(["one two"])[0].text == "deux un"
    tensors, note = read_tensors(copied / "model.safetensors")
    write_tensors(copied / "model.safetensors", {name: tensor / 2 for name, tensor in tensors.items()}, note)
    exported = dragoman.load(copied, engine="onnx")
    assert exported.translate(["one two"])[0].text == "deux un"
    scores = [
        translator.score(["one two"], ["deux un"])[0].log_prob
        for translator in (exported, dragoman.load(copied, weights="model-best"), dragoman.load(copied))
    ]
    assert scores[0] == scores[1] != scores[2], "given pairs are scored with the weights that translate"


def test_what_is_missing_or_damaged_is_named(copied: Path) -> None:
    step, note = copied / "onnx" / "step.onnx", copied / "onnx" / "export.json"
    step.write_bytes(step.read_bytes()[:-100])
    assert "step.onnx: missing or damaged" in refusal(copied)
    step.unlink()
    assert "step.onnx: missing or damaged" in refusal(copied)
    now = json.loads(note.read_text())
    note.write_text(json.dumps({**now, "version": engine.VERSION + 1}))
    assert "export.json: written by a later version of dragoman" in refusal(copied)
    then = {"version": 2, "moving": now.pop("step_state"), "fixed": now.pop("source_state")}
    note.write_text(json.dumps({**now, **then}))
    assert "export.json: written by an earlier version of dragoman" in refusal(copied)
    for text in ("{", "[]", "{}", '{"graphs": 3}', "[" * 100_000):
        note.write_text(text)
        assert "export.json: damaged (" in refusal(copied)
    note.unlink()
    assert "onnx: no such export; `dragoman export --onnx` makes it" in refusal(copied)


@pytest.mark.usefixtures("quick")
def test_an_export_cut_short_is_told(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note is written last, so that graphs of two exports never work together."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.deployment.export_folder.json.dump", stop)
    with pytest.raises(KeyboardInterrupt):
        export.write(Run.load(copied), "model-last")
    assert "start.onnx: missing or damaged" in refusal(copied)


def test_a_missing_extra_is_named(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    message = str(missing_library("onnxruntime", "onnx"))
    assert "-e '.[onnx]'" in message
    assert refusal(copied) == message
    with pytest.raises(UserError) as raised:
        export.write(Run.load(copied))
    assert str(raised.value) == message


def test_a_model_that_onnx_has_no_words_for_is_refused(
    copied: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    import torch

    plain = AdditiveScore.forward
    monkeypatch.setattr(AdditiveScore, "forward", lambda *inputs: torch.special.bessel_j0(plain(*inputs)))
    with pytest.raises(UserError) as raised:
        export.write(Run.load(copied))
    golden(str(raised.value))
    assert "\n" not in str(raised.value)
    assert "has changed" not in str(raised.value)
    assert dragoman.load(copied, engine="onnx").translate(["one two"])[0].text == "deux un"  # the old one is whole


@pytest.mark.parametrize("kind", devices.PROCESSORS)
def test_weights_are_unsigned_only_where_the_processor_needs_it(
    kind: str, monkeypatch: pytest.MonkeyPatch, run: Path
) -> None:
    runtime, entries = engine.needed("onnxruntime"), []

    def session(path: Path, options: Any, **rest: Any) -> Any:
        entries.append(options.get_session_config_entry("session.x64quantprecision"))
        return create(path, options, **rest)

    create = runtime.InferenceSession
    monkeypatch.setattr(runtime, "InferenceSession", session)
    monkeypatch.setenv(devices.KIND_VARIABLE, kind)
    dragoman.load(run, engine="onnx").translate(["one two"])
    assert set(entries) == {"1" if kind == "avx2" else "0"}


def test_graphs_have_the_threads_of_the_run_and_these_wait_asleep(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    """Only those that a search needs are loaded: the ones that leave nothing out when a constraint holds."""
    runtime, seen = engine.needed("onnxruntime"), []

    def session(path: Path, options: Any, **rest: Any) -> Any:
        spinning = options.get_session_config_entry("session.intra_op.allow_spinning")
        assert (options.intra_op_num_threads, options.inter_op_num_threads, spinning) == (3, 1, "0")
        seen.append(path.stem)
        return make_session(path, options, **rest)

    make_session = runtime.InferenceSession
    monkeypatch.setattr(runtime, "InferenceSession", session)
    translator = dragoman.load(run, engine="onnx", device=DeviceConfig(threads=3))
    assert translator.translate(["one two"])[0].text == "deux un"
    assert seen == ["start", "beam"]
    assert translator.translate(["one two"], search="greedy")[0].text == "deux un"
    assert seen == ["start", "beam", "greedy"]
    assert translator.translate(["one two"], search=Spec("greedy", {"length_ratio": 0.0, "length_margin": 1}))[0].text
    assert seen == ["start", "beam", "greedy", "best"]  # for the end that is forced
    assert translator.translate(["one two"], prefix=["trois"])[0].text.startswith("trois")
    assert seen == ["start", "beam", "greedy", "best", "step", "output"]


def test_sums_are_not_normalized_by_a_slower_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime
    from onnx import TensorProto, helper, load

    vectors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["R", 1, 8]) for name in ("a", "b", "y")]
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [8], [1.0] * 8)
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "scale", "scale"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "norm", vectors[:2], vectors[2:], [scale])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (tmp_path / "norm.onnx").write_bytes(model.SerializeToString())
    optimized, session = tmp_path / "optimized.onnx", onnxruntime.InferenceSession

    def saved(path: Path, options: Any, **arguments: Any) -> Any:
        options.optimized_model_filepath = str(optimized)
        return session(path, options, **arguments)

    monkeypatch.setattr(onnxruntime, "InferenceSession", saved)
    engine._Graph(tmp_path, 1, "norm", ["a", "b"])
    assert [node.op_type for node in load(optimized).graph.node] == ["Add", "LayerNormalization"]


@pytest.mark.parametrize("removed", [True, False])
def test_a_graph_of_another_export_is_not_loaded_later(removed: bool, copied: Path) -> None:
    translator = dragoman.load(copied, engine="onnx")
    constants = copied / "onnx" / engine.CONSTANTS
    if removed:
        constants.unlink()
    else:
        constants.write_bytes(constants.read_bytes() + b"x")
    with pytest.raises(UserError, match=r"constants\.bin: has changed since the run was loaded; load it again$"):
        translator.translate(["one two"])
