"""Folders of Hugging Face's MarianMT: their log P with Marian's constants and with Hugging Face's."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from safetensors.torch import save_file

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.interop.foreign_model import Positions
from dragoman.run.run import Run
from dragoman.translation.loading import load
from tests.interop import marian_models
from tests.interop.marian_models import HEADS, HIDDEN, LAYERS, SIZE, Options, Tensors, Transformer, tensors

pytestmark = pytest.mark.spec("J8")
LINES = [f"the cat number {number} sat on the mat" for number in range(40)]
SOURCES, TARGETS = ["the cat sat", ">>fra<< on the mat", "cat \u732b"], ["the mat", "sat on", "cat"]
VALUES: dict[str, Any] = {
    "model_type": "marian",
    "d_model": SIZE,
    "activation_function": "swish",
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    **{
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": HIDDEN}.items()
    },
}
NAMES = {"Wq": "q_proj", "Wk": "k_proj", "Wv": "v_proj", "Wo": "out_proj"}


def trained_segmenter() -> bytes:
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=file,
        vocab_size=30,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    return file.getvalue()


@pytest.fixture(scope="module")
def segmenter() -> bytes:
    return trained_segmenter()


def vocabulary_of(segmenter: bytes) -> dict[str, int]:
    """In another order than the file's, with a symbol for a language, and `<pad>` last."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter)
    pieces = processor.id_to_piece(list(range(2, processor.vocab_size())))
    return {symbol: n for n, symbol in enumerate(["</s>", "<unk>", ">>fra<<", *sorted(pieces), "<pad>"])}


def converted(arrays: Tensors, count: int) -> dict[str, torch.Tensor]:
    """Marian's tensors with the names and shapes of Hugging Face; the row of `<pad>` is appended."""
    weights = {}
    for name, array in arrays.items():
        if name == "Wemb":
            weights["model.shared.weight"] = np.concatenate([array, np.zeros((1, SIZE))])
        elif name == "decoder_ff_logit_out_b":
            weights["final_logits_bias"] = np.concatenate([array, np.zeros((1, 1))], 1)
        else:
            side, layer, block, *rest = name.split("_", 3)
            weights[f"model.{side}.layers.{int(layer[1:]) - 1}.{renamed(block, '_'.join(rest))}"] = (
                array[0] if len(array) == 1 else array.T
            )
    assert len(weights["model.shared.weight"]) == count
    return {name: torch.from_numpy(np.ascontiguousarray(array)).float() for name, array in weights.items()}


def renamed(block: str, part: str) -> str:
    attention = {"self": "self_attn", "context": "encoder_attn"}.get(block)
    if "ln" in part:
        norm = f"{attention}_layer_norm" if attention else "final_layer_norm"
        return f"{norm}.{'weight' if part.endswith('scale') else 'bias'}"
    kind = "weight" if part.startswith("W") else "bias"
    return f"{attention}.{NAMES['W' + part[1]]}.{kind}" if attention else f"fc{part[1]}.{kind}"


class HuggingFace(Transformer):
    """The same equations with other frequencies and another epsilon."""

    epsilon = 1e-5

    def angles(self, steps: int) -> Any:
        return np.arange(steps)[:, None] * 10000.0 ** (-2 * np.arange(SIZE // 2) / SIZE)


def folder_of(path: Path, segmenter: bytes, **changed: Any) -> tuple[Path, Options, Tensors, dict[str, int]]:
    vocabulary = vocabulary_of(segmenter)
    count = len(vocabulary)
    options = {**marian_models.TRANSFORMER, "transformer-ffn-activation": "swish", "dim-vocabs": [count - 1] * 2}
    arrays = tensors(options)
    path.mkdir()
    sizes = {"vocab_size": count, "decoder_vocab_size": count, "pad_token_id": count - 1}
    (path / "config.json").write_text(json.dumps({**VALUES, **sizes, **changed}), "utf-8")
    (path / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    for side in ("source", "target"):
        (path / f"{side}.spm").write_bytes(segmenter)
    save_file(converted(arrays, count), path / "model.safetensors")
    return path, options, arrays, vocabulary


def ids(text: str, segmenter: bytes, vocabulary: dict[str, int]) -> list[int]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter)
    code, text = (">>fra<<", text.removeprefix(">>fra<<")) if text.startswith(">>fra<<") else ("", text)
    pieces = [*([code] if code else []), *processor.encode(text, out_type=str)]
    return [*(vocabulary.get(piece, 1) for piece in pieces), 0]


@pytest.mark.parametrize(("positions", "equations"), [("marian", Transformer), ("huggingface", HuggingFace)])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_scores_are_those_of_the_equations(
    positions: Positions, equations: type[Transformer], start: float, segmenter: bytes, tmp_path: Path
) -> None:
    """Also where the vector of `<pad>`, which the decoder starts with, is not zero."""
    folder, options, arrays, vocabulary = folder_of(tmp_path / "folder", segmenter)
    weights = converted(arrays, len(vocabulary))
    weights["model.shared.weight"][-1] = start
    save_file(weights, folder / "model.safetensors")
    imported_run.write(table.read(folder, positions=positions), tmp_path / "run", ("en", "fr"), "")
    scored = load(tmp_path / "run").score(SOURCES, TARGETS)
    reference = equations(options, arrays)
    reference.start = start
    for source, target, score in zip(SOURCES, TARGETS, scored, strict=True):
        wanted = reference.log_probs(ids(source, segmenter, vocabulary), ids(target, segmenter, vocabulary))
        assert [step.log_prob for step in score.steps] == pytest.approx(wanted.tolist(), abs=2e-5)
    assert Run.load(tmp_path / "run").config.model.start_symbol == ("bos" if start else "none")


def test_both_constants_differ(segmenter: bytes, tmp_path: Path) -> None:
    folder, *_ = folder_of(tmp_path / "folder", segmenter)
    scores = []
    for positions in ("marian", "huggingface"):
        imported_run.write(table.read(folder, positions=positions), tmp_path / positions, ("en", "fr"), "")
        scores.append(load(tmp_path / positions).score(SOURCES, TARGETS)[0].log_prob)
    assert abs(scores[0] - scores[1]) > 1e-3


def test_weights_of_torch_are_read_and_nothing_else_of_them(segmenter: bytes, tmp_path: Path) -> None:
    folder, _, arrays, vocabulary = folder_of(tmp_path / "folder", segmenter)
    wanted = table.read(folder).tensors
    (folder / "model.safetensors").unlink()
    weights = converted(arrays, len(vocabulary))
    torch.save(weights, folder / "pytorch_model.bin")
    for name, array in table.read(folder).tensors.items():
        np.testing.assert_array_equal(array, wanted[name])

    class Called:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "touched",)

    empty = io.BytesIO()
    with zipfile.ZipFile(folder / "pytorch_model.bin") as source, zipfile.ZipFile(empty, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, b"" if name.endswith("data.pkl") else source.read(name))
    for contents in (pickle.dumps(Called(), 2), b"no", pickle.dumps([1], 2), empty.getvalue()):
        (folder / "pytorch_model.bin").write_bytes(contents)
        with pytest.raises(UserError, match=r"pytorch_model\.bin: "):
            table.read(folder)
    torch.save({**weights, "other": Called()}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"pytorch_model\.bin: "):
        table.read(folder)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"model_type": "pegasus"},
            "config.json: model_type: expected marian or m2m_100 or mbart or bart or t5 or mt5, found pegasus",
        ),
        ({"activation_function": "tanh"}, "config.json: activation_function: expected swish or silu or relu"),
        ({"d_model": "8"}, "config.json: d_model: expected a number of at least 1, found 8"),
        ({"pad_token_id": 999}, "config.json: pad_token_id: expected a number below"),
        ({"scale_embedding": 1}, "config.json: scale_embedding: expected true or false, found 1"),
        (
            {"encoder_layers": 3},
            "tensor 'model.encoder.layers.2.self_attn.q_proj.weight': expected shape (8, 8), found no",
        ),
        ({"encoder_layers": 1}, "tensor 'model.encoder.layers.1.fc1.bias': expected no such tensor"),
        ({"encoder_ffn_dim": 7}, "tensor 'model.encoder.layers.0.fc1.weight': expected shape (7, 8), found (6, 8)"),
        ({"share_encoder_decoder_embeddings": False}, "tensor 'model.encoder.embed_tokens.weight': expected shape"),
        ({"tie_word_embeddings": False}, "tensor 'lm_head.weight': expected shape"),
        ({"decoder_vocab_size": 99}, "config.json: decoder_vocab_size: expected vocab_size, "),
        ({"vocab_size": 9, "decoder_vocab_size": 9}, "vocab.json: expected at most 9 symbols, as the model has"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    changed: dict[str, Any], message: str, segmenter: bytes, tmp_path: Path
) -> None:
    folder, *_ = folder_of(tmp_path / "folder", segmenter, **changed)
    with pytest.raises(UserError) as raised:
        imported_run.write(table.read(folder), tmp_path / "run", ("en", "fr"), "")
    assert message in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "vocab.json", "model.safetensors", "source.spm"]
)
@pytest.mark.parametrize("contents", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'"text"'])
def test_damaged_files_are_refused_by_name(name: str, contents: bytes, segmenter: bytes, tmp_path: Path) -> None:
    folder, *_ = folder_of(tmp_path / "folder", segmenter)
    (folder / name).write_bytes(contents)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("card", "head"),
    [
        (b"# opus\n\n* dataset: opus\n*  model: transformer-align\n", 1),
        (b"\xff\n- model: transformer-big-align\r\n", 1),
        (b"* model: transformer\n", None),
        (b"We align a model: transformer-align\n", None),
        (None, None),
    ],
)
def test_the_alignment_is_that_of_the_head_that_guided_alignment_trained(
    card: bytes | None, head: int | None, segmenter: bytes, tmp_path: Path
) -> None:
    folder, *_ = folder_of(tmp_path / "folder", segmenter)
    if card is not None:
        (folder / "README.md").write_bytes(card)
    assert table.read(folder).model["decoder"].get("alignment_head") == head


def test_the_search_is_that_of_the_folder(segmenter: bytes, tmp_path: Path) -> None:
    folder, *_ = folder_of(tmp_path / "folder", segmenter)
    assert table.read(folder).search == {"kind": "beam", "size": 6, "alpha": 1.0}
    (folder / "generation_config.json").write_text('{"num_beams": 4, "length_penalty": 0.8}', "utf-8")
    assert table.read(folder).search == {"kind": "beam", "size": 4, "alpha": 0.8}
