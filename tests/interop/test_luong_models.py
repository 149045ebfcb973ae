"""Models of OpenNMT-py and fairseq as runs: log P is that of torch's cells, and what does not fit is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.translation.loading import load
from tests.interop.luong_models import (
    FAIRSEQ,
    OPENNMT,
    SENTENCES,
    Luong,
    Shape,
    source_symbols,
    write_fairseq,
    write_opennmt,
)

pytestmark = pytest.mark.spec("J14")


def ids(symbols: list[str], text: str) -> list[int]:
    return [symbols.index(word) if word in symbols else symbols.index("<unk>") for word in text.split()]


def assert_scores(run: Path, wanted: list[list[float]]) -> None:
    scored = load(run).score([one for one, _ in SENTENCES], [other for _, other in SENTENCES])
    for score, expected in zip(scored, wanted, strict=True):
        assert [step.log_prob for step in score.steps] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    "shape",
    [
        Shape(),
        Shape(encoder=4, layers=2),
        Shape(encoder=5, decoder=4, bidirectional=False, last=7),
        Shape(encoder=8, decoder=8, bidirectional=False, tied=True),
    ],
)
def test_scores_of_fairseq(shape: Shape, old: bool, tmp_path: Path) -> None:
    model = Luong(shape, (len(FAIRSEQ), len(FAIRSEQ)))
    foreign = table.read(write_fairseq(tmp_path / "fairseq", model, old=old))
    assert foreign.program == "fairseq"
    assert [path.name for path in foreign.files] == ["checkpoint_best.pt", "dict.en.txt", "dict.de.txt"]
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    end = FAIRSEQ.index("</s>")
    wanted = [
        model.log_probs([*ids(FAIRSEQ, source), end], [*ids(FAIRSEQ, target), end], end) for source, target in SENTENCES
    ]
    assert_scores(tmp_path / "run", wanted)


@pytest.mark.parametrize(
    ("version", "shape"),
    [
        (0, Shape()),
        (1, Shape(cell="gru", layers=2, score="mlp")),
        (1, Shape(feeds=False, score="dot")),
        (3, Shape(encoder=6, bidirectional=False, feeds=False)),
        (3, Shape(layers=2, score="mlp")),
        (1, Shape(bridge=True)),
        (1, Shape(layers=2, bridge=True)),
        (3, Shape(cell="gru", encoder=6, bidirectional=False, bridge=True)),
    ],
)
def test_scores_of_opennmt(version: int, shape: Shape, tmp_path: Path) -> None:
    """Sources end without a symbol."""
    symbols = source_symbols(version)
    model = Luong(shape, (len(symbols), len(OPENNMT)))
    foreign = table.read(write_opennmt(tmp_path / "model.pt", model, version))
    assert foreign.program == "OpenNMT-py"
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    end, start = OPENNMT.index("</s>"), OPENNMT.index("<s>")
    wanted = [
        model.log_probs(ids(symbols, source), [*ids(OPENNMT, target), end], start) for source, target in SENTENCES
    ]
    assert_scores(tmp_path / "run", wanted)


def fairseq(folder: Path, **options: Any) -> Path:
    return write_fairseq(folder, Luong(Shape(), (len(FAIRSEQ), len(FAIRSEQ))), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "transformer"}, "arch: expected lstm or lstm_wiseman_iwslt_de_en or lstm_luong_wmt_en_de, found tra"),
        ({"target_lang": "fr"}, "expected dictionaries of en and fr, found dict.de.txt, dict.en.txt; --vocabulary"),
        ({"source_lang": "../en"}, "expected dictionaries of ../en and de"),
    ],
)
def test_options_of_fairseq_that_do_not_fit_are_refused(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        table.read(fairseq(tmp_path, **options))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("the\n", r"dict\.de\.txt:1: expected a symbol and its count, found 'the'"),
        ("the 1\nthe 2\n", r"dict\.de\.txt: symbol 'the': expected once"),
        ("the 1\n", r"tensor 'decoder\.embed_tokens\.weight': expected shape \(5, 8\), found \(12, 8\)"),
    ],
)
def test_dictionaries_that_do_not_fit_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    folder = fairseq(tmp_path)
    (folder / "dict.de.txt").write_text(lines, "utf-8")
    with pytest.raises(UserError, match=message):
        table.read(folder)


def opennmt(path: Path, version: int = 3, **options: Any) -> Path:
    symbols = source_symbols(version)
    return write_opennmt(path, Luong(Shape(), (len(symbols), len(OPENNMT))), version, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder_type": "transformer"}, "opt.encoder_type: expected rnn or brnn, found transformer"),
        ({"decoder_type": "cnn"}, "opt.decoder_type: expected rnn, found cnn"),
        ({"global_attention_function": "sparsemax"}, "opt.global_attention_function: expected softmax"),
        ({"copy_attn": True}, "opt.copy_attn: expected none, found true"),
        ({"context_gate": "both"}, "opt.context_gate: expected none, found both"),
    ],
)
def test_options_of_opennmt_that_do_not_fit_are_refused(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        table.read(opennmt(tmp_path / "model.pt", **options))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", {}, "tensor 'encoder.embeddings.make_embedding.emb_luts.0.weight': expected 2 dimensions, found no"),
        ("generator", {}, "tensor 'generator.weight': expected shape (12, 6), found no such tensor"),
        ("vocab", {"src": ["a"], "tgt": ["b"]}, "vocab: expected the symbols <unk> and </s> of src"),
        ("vocab", {"src": 1}, "vocab: expected the symbols of src"),
        ("opt", 3, "opt: expected options"),
    ],
)
def test_files_of_opennmt_that_do_not_fit_are_refused(key: str, value: Any, message: str, tmp_path: Path) -> None:
    path = opennmt(tmp_path / "model.pt")
    checkpoint = torch.load(path, weights_only=False)
    torch.save({**checkpoint, key: value}, path)
    with pytest.raises(UserError) as raised:
        table.read(path)
    assert str(raised.value).startswith(f"{path}: {message}")


def test_a_bridge_over_many_layers_is_refused(tmp_path: Path) -> None:
    """Its matrix mixes the states of one direction of several layers."""
    symbols = source_symbols(3)
    model = Luong(Shape(layers=3, bridge=True), (len(symbols), len(OPENNMT)))
    with pytest.raises(UserError, match=r"opt\.bridge: expected false in a model of 3 layers, found true"):
        table.read(write_opennmt(tmp_path / "model.pt", model, 3))


def test_copying_models_are_refused(tmp_path: Path) -> None:
    path = opennmt(tmp_path / "model.pt")
    checkpoint = torch.load(path, weights_only=False)
    checkpoint["model"]["decoder.copy_attn.linear_in.weight"] = torch.zeros(6, 6)
    torch.save(checkpoint, path)
    with pytest.raises(UserError, match=r"tensor 'decoder\.copy_attn\.linear_in\.weight': expected no such tensor"):
        table.read(path)


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "model.pt")
    with pytest.raises(UserError, match=r"model\.pt: expected a checkpoint of OpenNMT-py"):
        table.read(tmp_path)
    with pytest.raises(UserError, match="a model of OpenNMT-py has its vocabularies in its file"):
        table.read(opennmt(tmp_path / "model.pt"), [tmp_path / "vocab.txt"])
