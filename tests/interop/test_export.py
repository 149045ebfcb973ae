"""Runs as models of other programs: what is imported again is the same run, bit by bit."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from dragoman.errors import UserError
from dragoman.interop import argos_export, huggingface_export, imported_run, marian_export, table
from dragoman.interop.foreign_model import Positions
from dragoman.interop.inverse_map import TensorRecorder, invert
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.run.run import Run
from dragoman.translation.loading import load
from tests import covering, toy
from tests.golden import Golden
from tests.interop import marian_models, test_huggingface, test_marian
from tests.interop.marian_models import write_npz
from tests.interop.test_huggingface import SOURCES, segmenter

__all__ = ["segmenter"]  # the fixture
pytestmark = pytest.mark.spec("J5")
LANGUAGES = ("en", "fr")
LINES = ["the cat sat", "on the mat", "the mat number 3"]


def imported(source: Path, run: Path, positions: Positions = "marian") -> Run:
    imported_run.write(table.read(source, positions=positions), run, LANGUAGES, "")
    return Run.load(run)


def assert_same(one: Run, other: Run, *apart: str) -> None:
    """All files of two runs but the card, and the keys of the configuration that are `apart`."""
    first, second = (read_tensors(run.weights())[0] for run in (one, other))
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []
    for name in sorted(path.name for path in one.folder.path.glob("[st]*")):
        assert (one.folder.path / name).read_bytes() == (other.folder.path / name).read_bytes(), name
    lines = (run.folder.config.read_text("utf-8").splitlines()[1:] for run in (one, other))
    differing = [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]]
    assert [left for left, _ in differing if not left.strip().startswith(apart or ("-",))] == []


@pytest.mark.parametrize("row", covering.cases(test_marian.VARIANTS))
def test_a_transformer_comes_back_from_marian(row: dict[str, Any], tmp_path: Path) -> None:
    run = imported(test_marian.folder_of(tmp_path / "model", test_marian.options_of(row)), tmp_path / "run")
    assert marian_export.write(run, tmp_path / "marian") == tmp_path / "marian"
    assert_same(run, imported(tmp_path / "marian", tmp_path / "again"))


@pytest.mark.parametrize("row", covering.cases(test_marian.RECURRENT))
def test_a_recurrent_model_comes_back_from_marian(row: dict[str, Any], tmp_path: Path) -> None:
    options = test_marian.recurrent_options(row)
    folder = test_marian.recurrent_folder(tmp_path / "model", options, marian_models.recurrent_tensors(options))
    run = imported(folder, tmp_path / "run")
    marian_export.write(run, tmp_path / "marian")
    assert_same(run, imported(tmp_path / "marian", tmp_path / "again"))


def of_pieces(folder: Path, segmenter: bytes, **changed: Any) -> Path:
    """A Transformer of Marian with a sentencepiece model; its table has two rows more."""
    count = sentencepiece.SentencePieceProcessor(model_proto=segmenter).vocab_size() + 2
    options = {**test_marian.PLAIN, "dim-vocabs": [count, count], **changed}
    folder.mkdir()
    write_npz(folder / "model.npz", options, marian_models.tensors(options))
    (folder / "vocab.spm").write_bytes(segmenter)
    return folder


def test_marian_gets_the_sentencepiece_model_and_the_beam(segmenter: bytes, tmp_path: Path) -> None:
    folder = of_pieces(tmp_path / "model", segmenter)
    (folder / "decoder.yml").write_text("beam-size: 3\nnormalize: 0.6\n", "utf-8")
    run = imported(folder, tmp_path / "run")
    marian_export.write(run, tmp_path / "marian")
    assert {path.name for path in (tmp_path / "marian").iterdir()} == {"model.npz", "vocab.spm", "decoder.yml"}
    assert (tmp_path / "marian" / "vocab.spm").read_bytes() == segmenter
    assert 'vocabs: ["vocab.spm", "vocab.spm"]\nbeam-size: 3\nnormalize: 0.6\n' in (
        tmp_path / "marian" / "decoder.yml"
    ).read_text("utf-8")
    assert_same(run, imported(tmp_path / "marian", tmp_path / "again"))


@pytest.mark.spec("J8")
@pytest.mark.parametrize("positions", ["marian", "huggingface"])
def test_a_run_comes_back_from_hugging_face_and_from_marian(
    positions: Positions, segmenter: bytes, tmp_path: Path
) -> None:
    folder, *_ = test_huggingface.folder_of(tmp_path / "model", segmenter)
    run = imported(folder, tmp_path / "run", positions)
    huggingface_export.write(run, tmp_path / "folder")
    again = imported(tmp_path / "folder", tmp_path / "again", positions)
    assert_same(run, again)
    config = json.loads((tmp_path / "folder" / "config.json").read_text("utf-8"))
    assert config["pad_token_id"] == config["decoder_start_token_id"] == config["vocab_size"] - 1
    if positions == "marian":
        marian_export.write(run, tmp_path / "marian")
        back = imported(tmp_path / "marian", tmp_path / "back")
        assert_same(
            run, back, "final_norm", "alignment_", "kind", "normalization", "alpha", "length_", "shrink", "size"
        )


@pytest.mark.spec("J8")
def test_hugging_face_gets_positions_that_it_does_not_compute(segmenter: bytes, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    run = imported(of_pieces(tmp_path / "model", segmenter), tmp_path / "run")
    huggingface_export.write(run, tmp_path / "folder")
    tensors = load_file(tmp_path / "folder" / "model.safetensors")
    size = tensors["model.shared.weight"].shape[1]
    rates = 10000.0 ** (-np.arange(size // 2) / (size / 2 - 1))
    for side in ("encoder", "decoder"):
        table = tensors[f"model.{side}.embed_positions.weight"]
        np.testing.assert_allclose(table[7], [*np.sin(7 * rates), *np.cos(7 * rates)], atol=1e-5)
    assert tensors["final_logits_bias"][0, -1] == -1e4
    assert not tensors["model.shared.weight"][-1].any()


@pytest.mark.spec("J8")
def test_transformers_has_the_same_log_probabilities(segmenter: bytes, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs Hugging Face Transformers")
    run = imported(of_pieces(tmp_path / "model", segmenter), tmp_path / "run")
    huggingface_export.write(run, tmp_path / "folder")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "folder").eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "folder")
    for text, scored in zip(SOURCES[:1], load(run.folder.path).score(SOURCES[:1], ["the mat"]), strict=True):
        pair = tokenizer([text], text_target=["the mat"], return_tensors="pt")
        with torch.no_grad():
            log_probs = model(**pair).logits.log_softmax(-1)
        wanted = float(log_probs[0].gather(1, pair["labels"][0].unsqueeze(1)).sum())
        assert scored.log_prob == pytest.approx(wanted, abs=1e-3)  # another epsilon


def test_argos_translate_gets_what_it_needs(segmenter: bytes, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the extra ctranslate2")
    run = imported(of_pieces(tmp_path / "model", segmenter), tmp_path / "run")
    assert argos_export.write(run, tmp_path / "en_fr.argosmodel") == tmp_path / "en_fr.argosmodel"
    with zipfile.ZipFile(tmp_path / "en_fr.argosmodel") as package:
        package.extractall(tmp_path / "packages")
    (top,) = (tmp_path / "packages").iterdir()
    assert top.name == "translate-en_fr-1_0"
    metadata = json.loads((top / "metadata.json").read_text("utf-8"))
    assert (metadata["from_code"], metadata["to_code"], metadata["package_version"]) == ("en", "fr", "1.0")
    assert (top / "README.md").read_text("utf-8") == run.folder.card.read_text("utf-8")
    # As Argos Translate uses them
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(top / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(top / "model"), intra_threads=1)
    tokens = [pieces.encode(text, out_type=str) for text in ("the cat sat", "on the mat")]
    results = translator.translate_batch(tokens, beam_size=1, max_decoding_length=12)
    translator = load(run.folder.path)
    translator.generator.constraints = ()
    ours = translator.translate(
        ["the cat sat", "on the mat"], search={"kind": "greedy", "length_ratio": 0, "length_margin": 12}
    )
    assert [result.hypotheses[0] for result in results] == [list(map(str, one.output_symbols)) for one in ours]


ARGOS = """
import sys
import ctranslate2
from argostranslate import package, translate

class Whole:  # its own splitters of sentences are downloaded
    def split_sentences(self, text):
        return [text]

package.install_from_path(sys.argv[1])
(installed,) = package.get_installed_packages()
translator = ctranslate2.Translator(str(installed.package_path / "model"), intra_threads=1)
for line in sys.stdin:
    best, *_ = translate.apply_packaged_translation(installed, line.strip(), translator, Whole(), 4)
    print(best.value)
"""


@pytest.mark.slow
def test_argos_translate_installs_the_package_and_translates(segmenter: bytes, tmp_path: Path) -> None:
    """In a home of its own, with its beam of 4 and its `length_penalty` of 0.2."""
    pytest.importorskip("argostranslate", reason="needs Argos Translate")
    run = imported(of_pieces(tmp_path / "model", segmenter), tmp_path / "run")
    argos_export.write(run, tmp_path / "en_fr.argosmodel")
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ARGOS_PACKAGES_DIR"):
        environment.pop(name, None)
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ARGOS, str(tmp_path / "en_fr.argosmodel")],
        input="\n".join(LINES),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    translator = load(run.folder.path)
    translator.generator.constraints = ()
    search = {"kind": "beam", "size": 4, "alpha": 0.2, "length_ratio": 0, "length_margin": 255}
    ours = translator.translate(LINES, search=search)
    # Random weights write up to the limit of length, which is another one there.
    assert [line[:100] for line in done.stdout.splitlines()] == [str(one)[:100] for one in ours]


WRITERS: dict[str, Callable[[Run, Path], Path]] = {
    "marian": marian_export.write,
    "huggingface": huggingface_export.write,
    "argos": argos_export.write,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_recurrent_run_of_words_is_refused(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, golden: Golden
) -> None:
    run = Run.load(toy.trained(tmp_path_factory.getbasetemp()))
    with pytest.raises(UserError) as raised:
        WRITERS[name](run, tmp_path / "out")
    golden(str(raised.value).replace(str(run.folder.path), "RUN"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("changed", [{"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}, {"type": "s2s"}])
@pytest.mark.parametrize("name", ["huggingface", "argos"])
def test_what_others_do_not_have_is_refused(
    name: str, changed: dict[str, Any], segmenter: bytes, tmp_path: Path, golden: Golden
) -> None:
    if name == "argos":
        pytest.importorskip("ctranslate2", reason="needs the extra ctranslate2")
    if "type" in changed:
        options = {**marian_models.S2S, "dim-vocabs": [10, 10], "tied-embeddings-all": True}
        arrays = marian_models.recurrent_tensors(options)
        run = imported(test_marian.recurrent_folder(tmp_path / "model", options, arrays), tmp_path / "run")
    else:
        run = imported(of_pieces(tmp_path / "model", segmenter, **changed), tmp_path / "run")
    with pytest.raises(UserError) as raised:
        WRITERS[name](run, tmp_path / "out")
    golden(str(raised.value).replace(str(tmp_path), "FOLDER"))
    assert not (tmp_path / "out").exists()


def test_an_option_that_marian_does_not_have_is_named(segmenter: bytes, tmp_path: Path) -> None:
    run = imported(of_pieces(tmp_path / "model", segmenter), tmp_path / "run")
    text = run.folder.config.read_text("utf-8")
    run.folder.config.write_text(re.sub("positions: marian", "positions: sinusoidal", text), "utf-8")
    with pytest.raises(UserError, match=r'model\.decoder\.positions: Marian has "marian", this run has "sinusoidal"'):
        marian_export.write(Run.load(tmp_path / "run"), tmp_path / "marian")


def test_numbers_without_a_place_there_are_refused(tmp_path: Path) -> None:
    """Both biases of a cell's candidate, which training changes here."""
    options = {**marian_models.S2S, "dim-vocabs": [10, 10]}
    folder = test_marian.recurrent_folder(tmp_path / "model", options, marian_models.recurrent_tensors(options))
    run = imported(folder, tmp_path / "run")
    tensors, note = read_tensors(run.weights())
    name = next(name for name in tensors if name.endswith("bias_hidden"))
    tensors[name][-1] = 1
    write_tensors(run.weights(), tensors, note)
    with pytest.raises(UserError, match=re.escape(f"{name}: expected 0 where the other program has no parameter")):
        marian_export.write(run, tmp_path / "marian")
    assert not (tmp_path / "marian").exists()


def test_parameters_that_share_a_tensor_are_equal() -> None:
    recorder = TensorRecorder()
    matrix = recorder.take("W", (2, 3))
    recorder.put("one", matrix)
    recorder.put("other", matrix.T)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(invert(recorder, {"one": values, "other": values.T}, Path("run"))["W"], values)
    with pytest.raises(UserError, match="of another parameter"):
        invert(recorder, {"one": values, "other": values.T + 1}, Path("run"))


def test_a_folder_with_files_is_kept(tmp_path: Path) -> None:
    run = imported(test_marian.folder_of(tmp_path / "model", test_marian.PLAIN), tmp_path / "run")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine", "utf-8")
    with pytest.raises(UserError, match="exists already"):
        marian_export.write(run, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
