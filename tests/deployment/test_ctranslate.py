"""A Transformer in CTranslate2 gives the same as in torch; what CTranslate2 does not have is refused in one line."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("ctranslate2", reason="needs the extra ctranslate2")

import dragoman
from dragoman.configuration.components import Spec
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.vocabulary import BOS, EOS, PAD, Vocabulary
from dragoman.deployment import ctranslate
from dragoman.deployment.ctranslate_search import CTranslate2Engine
from dragoman.deployment.ctranslate_spec import NEVER, names_of, specification, unknown_part
from dragoman.errors import UserError, missing_library
from dragoman.interop import imported_run, table
from dragoman.model.positions import POSITIONS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.transformer_layer import ACTIVATIONS
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.run.run import Run
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search_engine import SearchRequest
from dragoman.serving.models import ServedModel
from dragoman.translation.loading import digest_of
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.translation import Translation
from tests.builders import build_model
from tests.golden import Golden
from tests.interop import test_marian

HALF = {"kind": "self_attention", "size": 16, "layers": 2, "heads": 2, "hidden": 24, "positions": "marian"}
WORDS = Vocabulary("abcdefgh")
SOURCES = [[4, 5, 6, 7, EOS], [8, EOS], [9, 10, 11, 4, 5, 6, EOS]]
TARGETS = [[5, 6, EOS], [7, 7, 7, 7, EOS], [EOS]]
TEXTS = ["the cat", "is 's no", "~ ~ ~ ~ ~ cat", "no", 'cat the 1e3 is ~ "']


def transformer(options: dict[str, Any] | None = None, **settings: Any) -> Seq2Seq:
    """A model that never writes `<pad>` and `<s>`, as CTranslate2 does not."""
    both = {**HALF, **(options or {})}
    size = {"embedding": {"size": both["size"], **settings.pop("embedding", {})}}
    decoder = {**both, **settings.pop("decoder", {})}
    parts = {"bridge": "none", "score": "scaled_dot", **settings, **size}
    model = build_model(symbols=12, encoder=both, decoder=decoder, **parts).float()
    with torch.no_grad():
        model.output.get_parameter("bias")[[PAD, BOS]] = NEVER
    return model


def converted(model: Seq2Seq, folder: Path, quantization: str | None = None) -> Any:
    """The model in CTranslate2."""
    import ctranslate2

    assert unknown_part(model) == ""
    spec = specification(model, WORDS, WORDS)
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder), intra_threads=1)


def difference(model: Seq2Seq, folder: Path, quantization: str | None = None) -> float:
    """The largest difference of log P of a symbol, among sentences of different lengths."""
    names = names_of(WORDS)
    sources, targets = ([[names[number] for number in row] for row in rows] for rows in (SOURCES, TARGETS))
    results = converted(model, folder, quantization).score_batch(sources, [row[:-1] for row in targets])
    with torch.inference_mode():
        wanted = model.score(Batch((pad_tokens(SOURCES),), pad_tokens(TARGETS), np.arange(3))).log_probs
    return max(
        float(np.abs(np.array(result.log_probs) - row[: len(result.log_probs)].numpy()).max())
        for result, row in zip(results, wanted, strict=True)
    )


@pytest.mark.parametrize("positions", [name for name in POSITIONS if name != "relative"])
def test_positions_are_ours(positions: str, tmp_path: Path) -> None:
    assert difference(transformer({"positions": positions}), tmp_path) < 1e-5


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_ours(activation: str, tmp_path: Path) -> None:
    assert difference(transformer({"activation": activation}), tmp_path) < 1e-5


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"norm": "after", "bias": True, "norm_epsilon": 1e-3}, {"start_symbol": "none", "embedding": {"tie": "all"}}),
        ({"final_norm": False, "scale": False}, {"start_symbol": "eos", "decoder": {"layers": 1, "heads": 4}}),
        ({"embedding_norm": True, "hidden": None}, {"embedding": {"tie": "output"}}),
    ],
)
def test_options_are_ours(options: dict[str, Any], settings: dict[str, Any], tmp_path: Path) -> None:
    assert difference(transformer(options, spread=0.2, **settings), tmp_path) < 1e-5  # larger states are less exact


@pytest.mark.parametrize(("quantization", "bound"), [("int8", 0.3), ("int16", 0.3), ("float16", 0.02)])
def test_quantized_models_are_smaller_and_close(quantization: str, bound: float, tmp_path: Path) -> None:
    model = transformer({"size": 64, "hidden": 256}, spread=0.1)
    for name in ("whole", "less"):
        (tmp_path / name).mkdir()
    assert difference(model, tmp_path / "whole") < 1e-5
    assert 0 < difference(model, tmp_path / "less", quantization) < bound
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("less", "whole")]
    assert sizes[0] < 0.8 * sizes[1]


@pytest.mark.parametrize(
    ("options", "settings", "part"),
    [
        ({"norm": "after", "final_norm": True}, {}, "a final norm"),
        ({}, {"decoder": {"norm": "after"}}, "different norms"),
        ({}, {"decoder": {"norm_epsilon": 1e-4}}, "different norm_epsilon"),
        ({}, {"decoder": {"positions": "rotary"}}, "rotary positions on one side"),
        ({}, {"decoder": {"readout_size": 8}}, "a readout"),
        ({"positions": "relative"}, {}, "the part RelativeBias"),
        ({"norm_kind": "rms"}, {}, "the part RmsNorm"),
        ({"gated": True}, {}, "the part GatedUnit"),
        ({"head_size": 4}, {}, "a head_size"),
        ({}, {"start_symbol": "prefix", "target_prefix": ["5"]}, "a target_prefix"),
        ({}, {"embedding": {"size": 8}}, "embeddings of another size"),
        ({}, {"decoder": {"autoregression": "ssru"}}, "a decoder of Ssru"),
        ({}, {"score": "dot"}, "the attention DotScore"),
        ({}, {"decoder": {"alignment_head": 2}}, "alignment_head: 2"),
        ({}, {"normalizer": "sparsemax"}, "the attention Sparsemax"),
        ({}, {"decoder": {"kind": "rnn"}, "bridge": "mean"}, "the decoder RnnDecoder"),
        ({}, {"output": {"kind": "nce"}}, "the output"),
    ],
)
def test_what_ctranslate2_does_not_have_is_named(options: dict[str, Any], settings: dict[str, Any], part: str) -> None:
    settings = {name: dict(value) if isinstance(value, dict) else value for name, value in settings.items()}
    if settings.get("decoder", {}).get("kind") == "rnn":
        model = build_model(encoder=HALF, decoder={"kind": "rnn"}, bridge="mean", embedding={"size": 16})
    else:
        model = transformer(options, **settings)
    assert unknown_part(model).startswith(part)


def test_symbols_that_are_read_first_are_refused() -> None:
    model = transformer()
    model.read_first = [BOS]
    assert unknown_part(model) == "a target_prefix"


def request(search: Any, model: Seq2Seq, **fields: Any) -> SearchRequest:
    return SearchRequest(search, (pad_tokens(SOURCES),), fields.pop("prefixes", [[], [], []]), **fields)


@pytest.mark.parametrize(
    "search",
    [
        Greedy(length_ratio=0, length_margin=6),
        Beam(size=3, normalization="none", length_ratio=0, length_margin=6),
        Beam(size=4, alpha=0.6, length_ratio=1, length_margin=1),
        Beam(size=2, length_ratio=2, min_length_ratio=0.5),
    ],
    ids=["greedy", "none", "alpha", "least"],
)
def test_hypotheses_are_ours(search: Any, tmp_path: Path) -> None:
    """Each sentence has limits of its own, and log P of what was cut counts the end."""
    model = transformer(seed=4, spread=0.3)
    engine = CTranslate2Engine(converted(model, tmp_path), "", WORDS, WORDS)
    wanted = search(model, (pad_tokens(SOURCES),), search.width)
    for ours, theirs in zip(wanted, engine.find(request(search, model, n_best=search.width)), strict=True):
        assert [one.score for one in theirs] == sorted((one.score for one in theirs), reverse=True)
        best = {one.symbols: one for one in ours}
        assert theirs[0].symbols in best
        for one in theirs:
            if one.symbols in best:
                same = best[one.symbols]
                assert (one.score, one.log_prob) == pytest.approx((same.score, same.log_prob), abs=1e-4)
                np.testing.assert_allclose(one.attention[0], same.attention[0], atol=1e-5)


@pytest.mark.parametrize("options", [{"alignment_head": 1}, {"alignment_layer": 1}])
def test_the_attention_of_one_head_or_layer_is_ours(options: dict[str, Any], tmp_path: Path) -> None:
    model = transformer(decoder=options)
    engine = CTranslate2Engine(converted(model, tmp_path), "", WORDS, WORDS)
    search = Greedy(length_ratio=1)
    for ours, theirs in zip(search(model, (pad_tokens(SOURCES),)), engine.find(request(search, model)), strict=True):
        np.testing.assert_allclose(theirs[0].attention[0], ours[0].attention[0], atol=1e-5)


def test_prefixes_begin_the_hypotheses_and_count(tmp_path: Path) -> None:
    model = transformer(seed=4, spread=0.3)
    engine = CTranslate2Engine(converted(model, tmp_path), "", WORDS, WORDS)
    search = Beam(size=3, length_ratio=0, length_margin=5)
    for prefix, (best, *_) in zip(
        [[5, 5], [], [9]], engine.find(request(search, model, prefixes=[[5, 5], [], [9]])), strict=True
    ):
        assert list(best.symbols[: len(prefix)]) == prefix
        assert len(best.symbols) <= 5
    ((first, *_), *_) = engine.find(request(search, model, prefixes=[[5, 5], [], [9]]))
    with torch.inference_mode():
        target = [*first.symbols, EOS]
        scored = model.score(Batch((pad_tokens(SOURCES[:1]),), pad_tokens([target]), np.arange(1))).log_probs[0]
    assert first.log_probs == pytest.approx(scored.tolist(), abs=1e-4)
    assert first.score == pytest.approx(float(scored.sum()) / len(target), abs=1e-4)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported run with its export, to be left as it is."""
    folder = tmp_path_factory.mktemp("exported")
    bias = np.array([[1.0, *[0.0] * 9]], np.float32)  # so that translations end
    marian = test_marian.folder_of(folder / "marian", test_marian.PLAIN, decoder_ff_logit_out_b=bias)
    imported_run.write(table.read(marian), folder / "run", ("en", "de"), "")
    assert ctranslate.write(Run.load(folder / "run")) == folder / "run" / "ctranslate2"
    return folder / "run"


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "copied")


def texts(translations: list[Translation]) -> list[list[str]]:
    return [[one.text for one in translation.n_best] for translation in translations]


@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 4, "normalization": "none"})])
def test_translations_are_those_of_torch(run: Path, search: Spec) -> None:
    plain, exported = (dragoman.load(run, engine=engine) for engine in ("torch", "ctranslate2"))
    for translator in (plain, exported):
        translator.generator.constraints = ()  # of which CTranslate2 counts probabilities apart
    count = 1 if search.kind == "greedy" else 2
    ours, theirs = (translator.translate(TEXTS, n_best=count, search=search) for translator in (plain, exported))
    assert texts(ours) == texts(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert (other.score, other.log_prob) == pytest.approx((one.score, one.log_prob), abs=1e-4)
        assert other.alignment == one.alignment
        np.testing.assert_allclose(other.attention, one.attention, atol=1e-4)
        np.testing.assert_allclose(other.log_probs, one.log_probs, atol=1e-4)
    (prefixed,) = exported.translate(TEXTS[:1], prefix=["no no"])
    assert prefixed.text.startswith("no no")


def test_without_details_only_texts_and_scores_are_returned(tmp_path: Path) -> None:
    model = transformer(seed=4, spread=0.3)
    engine = CTranslate2Engine(converted(model, tmp_path), "", WORDS, WORDS)
    search = Beam(size=3, alpha=0.6, length_ratio=0, length_margin=9)
    whole, fast = (engine.find(request(search, model, n_best=3, details=details)) for details in (True, False))
    pairs = [pair for rows in zip(whole, fast, strict=True) for pair in zip(*rows, strict=True)]
    for one, other in pairs:
        assert one.symbols == other.symbols
        assert (one.score, one.log_prob) == pytest.approx((other.score, other.log_prob), abs=1e-4)
        assert np.isfinite(one.log_probs).all()
        assert one.attention[0].sum(1) == pytest.approx(1)
        assert other.attention == ()
    lengths = {len(other.symbols) for _, other in pairs if np.isnan(other.log_probs).all()}
    assert len(lengths) > 1
    assert 9 not in lengths  # of what was cut, the end is scored


def test_a_calibrated_run_is_translated_without_confidences(run: Path) -> None:
    translator, calibration = dragoman.load(run, engine="ctranslate2"), ConfidenceCalibration(2.0)
    plain = translator.translate(TEXTS, details=False)
    calibrated = translator.translate(TEXTS, transforms=[calibration], details=False)
    assert texts(calibrated) == texts(plain)
    assert all(one.confidence is None for one in calibrated)
    with pytest.raises(UserError, match="engine ctranslate2 does not support ConfidenceCalibration"):
        translator.translate(TEXTS, transforms=[calibration])


def test_what_replaces_unknown_words_sees_attention(run: Path) -> None:
    translator = dragoman.load(run, engine="ctranslate2")
    translator.generator.constraints = ()
    translations = translator.translate(TEXTS, search="greedy", details=False)
    assert any(one.has_unknown for one in translations)
    assert all(one.attention.any() for one in translations if one.has_unknown)


def test_unknown_words_are_not_written(run: Path) -> None:
    """Of a run that forbids them, as imported ones do."""
    translator = dragoman.load(run, engine="ctranslate2")
    bias = translator.model.output.get_parameter("bias")
    assert bias[0] > NEVER
    ids = {symbol for one in translator.translate(TEXTS, n_best=3, beam_size=6) for symbol in one.output_symbols}
    assert "<unk>" not in map(str, ids)


def test_the_engine_serves_and_scores_with_torch(run: Path) -> None:
    pytest.importorskip("sentencex")
    served = ServedModel.load(run, engine="ctranslate2").translator
    assert texts(served.translate(TEXTS, search="greedy")) == texts(
        dragoman.load(run).translate(TEXTS, search="greedy")
    )
    assert served.score(["the cat"], ["no"])[0].log_prob == dragoman.load(run).score(["the cat"], ["no"])[0].log_prob
    assert digest_of(Run.load(run), engine="ctranslate2") == digest_of(Run.load(run))


@pytest.mark.parametrize(
    ("load", "translate"),
    [
        ({}, {"search": Spec("sample")}),
        ({}, {"search": Spec("diverse", {"size": 4, "groups": 2})}),
        ({}, {"search": Spec("beam", {"normalization": "gnmt"})}),
        ({}, {"search": Spec("beam", {"coverage_penalty": 0.1})}),
        ({}, {"n_best": 9, "beam_size": 4}),
        ({"shortlist": (3, 2)}, {}),
    ],
)
def test_what_the_engine_cannot_do_is_refused(
    load: dict[str, Any], translate: dict[str, Any], run: Path, golden: Golden
) -> None:
    with pytest.raises(UserError) as raised:
        dragoman.load(run, engine="ctranslate2", **load).translate(["the cat"], **translate)
    golden(str(raised.value))
    assert "\n" not in str(raised.value)


def test_other_constraints_and_ensembles_are_refused(run: Path, golden: Golden) -> None:
    translator = dragoman.load(run, engine="ctranslate2")
    translator.generator.constraints = (Spec("no_repeat_ngram"),)
    with pytest.raises(UserError) as raised:
        translator.translate(["the cat"])
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        dragoman.load([run, run], engine="ctranslate2")
    golden(str(raised.value))


def test_an_export_goes_with_its_weights(copied: Path) -> None:
    tensors, note = read_tensors(copied / "model.safetensors")
    write_tensors(copied / "model.safetensors", {name: tensor / 2 for name, tensor in tensors.items()}, note)
    with pytest.raises(UserError, match="has changed since the export; run `dragoman export --ctranslate2` again"):
        dragoman.load(copied, engine="ctranslate2")
    ctranslate.write(Run.load(copied), None, "int8")
    dragoman.load(copied, engine="ctranslate2")
    (copied / "ctranslate2" / "model.bin").write_bytes(b"")
    with pytest.raises(UserError, match="missing or damaged"):
        dragoman.load(copied, engine="ctranslate2")
    (copied / "ctranslate2" / "export.json").write_text('{"version": 1}', "utf-8")
    with pytest.raises(UserError, match="damaged"):
        dragoman.load(copied, engine="ctranslate2")
    shutil.rmtree(copied / "ctranslate2")
    with pytest.raises(UserError, match="no such export; `dragoman export --ctranslate2` makes it"):
        dragoman.load(copied, engine="ctranslate2")
    (copied / "ctranslate2").mkdir()
    (copied / "ctranslate2" / "mine").write_text("mine", "utf-8")
    with pytest.raises(UserError, match="is no export"):
        ctranslate.write(Run.load(copied))


def test_a_missing_extra_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    for act in (lambda: dragoman.load(run, engine="ctranslate2"), lambda: ctranslate.write(Run.load(run))):
        with pytest.raises(UserError) as raised:
            act()
        assert str(raised.value) == str(missing_library("ctranslate2", "ctranslate2"))


def test_a_symbol_with_the_name_of_another_has_its_number() -> None:
    assert names_of(Vocabulary(["a", "<s>"])) == ["<unk>", "<pad>", "<s>", "</s>", "a", "<s> 5"]


def test_a_model_that_is_no_transformer_is_refused_in_one_line(tmp_path: Path, golden: Golden) -> None:
    options = test_marian.options_of({"cell": "ssru", "tie": "tied-embeddings-all", "dim-vocabs": 10})
    folder = test_marian.folder_of(tmp_path / "marian", options)
    imported_run.write(table.read(folder), tmp_path / "run", ("en", "de"), "")
    with pytest.raises(UserError) as raised:
        ctranslate.write(Run.load(tmp_path / "run"))
    golden(str(raised.value).replace(str(tmp_path), "FOLDER"))
    assert not (tmp_path / "run" / "ctranslate2").exists()
