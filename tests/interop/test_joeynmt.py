"""JoeyNMT's models as runs: log P is that of torch's layers, and what does not fit is refused in one line."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.translation.loading import load
from tests import covering
from tests.interop import joeynmt_models
from tests.interop.joeynmt_models import EMBEDDING, EOS, SYMBOLS, build, write

pytestmark = pytest.mark.spec("J12")
SENTENCES = [("the cat", "no 1e3 ~"), ("is 's unheard \"", "the"), ("~ ~ ~ ~", "cat the cat"), ("no", "")]
EMBEDDINGS: dict[str, Any] = {"embedding_dim": EMBEDDING}


def ids(text: str) -> list[int]:
    return [*(SYMBOLS.index(word) if word in SYMBOLS else 0 for word in text.split()), EOS]


def assert_scores(folder: Path, run: Path, model: joeynmt_models.Joey) -> None:
    imported_run.write(table.read(folder), run, ("en", "de"), "")
    scored = load(run).score([one for one, _ in SENTENCES], [other for _, other in SENTENCES])
    for (source, target), score in zip(SENTENCES, scored, strict=True):
        wanted = model.log_probs(ids(source), ids(target))
        assert [step.log_prob for step in score.steps] == pytest.approx(wanted, abs=2e-5)


RECURRENT = covering.covering(
    {
        "rnn_type": ["gru", "lstm"],
        "layers": [1, 2],
        "attention": ["bahdanau", "luong"],
        "input_feeding": [True, False],
        "init_hidden": ["bridge", "zero", "last"],
        "tied_softmax": [True, False],
        "tied_embeddings": [True, False],
    }
)


def recurrent(row: dict[str, Any]) -> dict[str, Any]:
    common = {"type": "recurrent", "rnn_type": row["rnn_type"], "embeddings": EMBEDDINGS, "num_layers": row["layers"]}
    size = EMBEDDING if row.get("tied_softmax") else 5
    rest = {name: row[name] for name in ("attention", "input_feeding", "init_hidden")}
    return {
        **{name: row.get(name, False) for name in ("tied_softmax", "tied_embeddings")},
        "encoder": {**common, "hidden_size": size if row["init_hidden"] == "last" else 6, "bidirectional": True},
        "decoder": {**common, "hidden_size": size, **rest},
    }


@pytest.mark.parametrize("row", covering.cases(RECURRENT))
def test_scores_of_recurrent_models(row: dict[str, Any], tmp_path: Path) -> None:
    model = build(recurrent(row))
    assert_scores(write(tmp_path / "joey", model), tmp_path / "run", model)


TRANSFORMER = covering.covering(
    {
        "source_norm": ["pre", "post"],
        "target_norm": ["pre", "post"],
        "activation": ["relu", "gelu", "swish"],
        "scale": [True, False],
        "heads": [1, 2],
        "tied_softmax": [True, False],
    }
)


def transformer(row: dict[str, Any]) -> dict[str, Any]:
    common = {
        "type": "transformer",
        "embeddings": {**EMBEDDINGS, "scale": row["scale"]},
        "hidden_size": EMBEDDING,
        "num_heads": row["heads"],
        "activation": row["activation"],
        "ff_size": 6,
    }
    return {
        "tied_softmax": row["tied_softmax"],
        "encoder": {**common, "num_layers": 2, "layer_norm": row["source_norm"]},
        "decoder": {**common, "num_layers": 2, "layer_norm": row["target_norm"]},
    }


@pytest.mark.parametrize("row", covering.cases(TRANSFORMER))
def test_scores_of_transformers(row: dict[str, Any], tmp_path: Path) -> None:
    model = build(transformer(row))
    folder = write(tmp_path / "joey", model, state={"encoder.pe.pe": torch.zeros(1, 9, EMBEDDING)})
    assert_scores(folder, tmp_path / "run", model)


@pytest.mark.parametrize("space", [" ", "\u2581"])
def test_symbols_may_be_characters(space: str, tmp_path: Path) -> None:
    """Version 1 has spaces in its vocabulary, and version 2 the sign that sentencepiece has for them."""
    folder = write(tmp_path / "joey", build(PLAIN), {"data": {"src": {"level": "char"}, "trg": {"level": "char"}}})
    symbols = [*SYMBOLS[:4], *"catsho", space, "e"]
    for side in ("src", "trg"):
        (folder / f"{side}_vocab.txt").write_text("".join(f"{symbol}\n" for symbol in symbols), "utf-8")
    imported_run.write(table.read(folder), tmp_path / "run", ("en", "de"), "")
    translator = load(tmp_path / "run")
    (score,) = translator.score(["the cat"], ["so"])
    numbers = [[symbols.index(letter) for letter in text] for text in (f"the{space}cat", "so")]
    wanted = build(PLAIN).log_probs(*([*ids, EOS] for ids in numbers))
    assert [step.log_prob for step in score.steps] == pytest.approx(wanted, abs=2e-5)
    assert "\u2581" not in translator.translate(["the cat"])[0].text


PLAIN = recurrent(
    {"rnn_type": "gru", "layers": 1, "attention": "luong", "input_feeding": True, "init_hidden": "bridge"}
)
PLAIN_TRANSFORMER = transformer(
    {
        "source_norm": "pre",
        "target_norm": "pre",
        "activation": "relu",
        "scale": True,
        "heads": 2,
        "tied_softmax": True,
    }
)


def test_a_model_of_the_first_version_has_norms_before_its_layers(tmp_path: Path) -> None:
    """Its configuration does not say where they are."""
    model = build(PLAIN_TRANSFORMER)
    folder = write(tmp_path / "joey", model)
    text = (folder / "config.yaml").read_text("utf-8").replace('"layer_norm": "pre"', '"freeze": false')
    (folder / "config.yaml").write_text(text, "utf-8")
    assert_scores(folder, tmp_path / "run", model)


def test_search_and_case_are_those_of_the_configuration(tmp_path: Path) -> None:
    data = {"src": {"lowercase": True}, "trg": {"level": "word"}}
    foreign = table.read(write(tmp_path, build(PLAIN), {"data": data}))
    assert foreign.program == "JoeyNMT"
    assert [path.name for path in foreign.files] == ["best.ckpt", "config.yaml", "src_vocab.txt", "trg_vocab.txt"]
    assert foreign.search == {"kind": "beam", "size": 3, "normalization": "gnmt", "alpha": 0.7}
    assert foreign.source.text.encode("The CAT") == ["the", "cat"]
    assert foreign.target.text.encode("The CAT") == ["The", "CAT"]


@pytest.mark.parametrize(
    ("side", "changed", "message"),
    [
        ("encoder", {"type": "conv"}, "model.encoder.type: expected recurrent or transformer, found conv"),
        ("decoder", {"type": "transformer"}, "model.decoder.type: expected recurrent, found transformer"),
        ("encoder", {"rnn_type": "sru"}, "model.encoder.rnn_type: expected gru or lstm, found sru"),
        ("decoder", {"rnn_type": "lstm"}, "model.decoder.rnn_type: expected gru, found lstm"),
        ("encoder", {"bidirectional": False}, "model.encoder.bidirectional: expected true, found False"),
        ("decoder", {"init_hidden": "last"}, "hidden_size: expected 6 or 12 with init_hidden: last, found 5"),
        ("decoder", {"init_hidden": "first"}, "init_hidden: expected bridge or last or zero, found first"),
        ("decoder", {"attention": "dot"}, "model.decoder.attention: expected bahdanau or luong, found dot"),
        ("decoder", {"hidden_size": 0}, "model.decoder.hidden_size: expected a number of at least 1, found 0"),
        ("encoder", {"hidden_size": 7}, "tensor 'encoder.rnn.weight_ih_l0': expected shape (21, 8), found (18, 8)"),
        ("encoder", {"num_layers": 2}, "tensor 'encoder.rnn.weight_ih_l1': expected shape (18, 12), found no such"),
        (
            "decoder",
            {"embeddings": {"embedding_dim": 9}},
            "model.decoder.embeddings.embedding_dim: expected the size of encoder.embeddings, 8, found 9",
        ),
        ("encoder", {"embeddings": []}, "model.encoder.embeddings: expected keys and values, found []"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(side: str, changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    options = {**PLAIN, side: {**PLAIN[side], **changed}}
    folder = write(tmp_path, build(PLAIN), {"model": options})
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    folder = write(tmp_path, build(PLAIN), state={"decoder.extra": torch.zeros(2)})
    with pytest.raises(
        UserError, match=r"tensor 'decoder\.extra': expected no such tensor in a model of these options"
    ):
        table.read(folder)
    torch.save({"state": {}}, folder / "best.ckpt")
    with pytest.raises(UserError, match=r"best\.ckpt: expected tensors by name"):
        table.read(folder)
    (folder / "config.yaml").write_text("model: [", "utf-8")
    with pytest.raises(UserError, match=r"config\.yaml"):
        table.read(folder)
    (folder / "best.ckpt").rename(folder / "100.ckpt")
    (folder / "200.ckpt").write_bytes(b"")
    with pytest.raises(UserError, match=r"expected best\.ckpt, found 100\.ckpt, 200\.ckpt; name the file"):
        table.read(folder)


def test_a_vocabulary_without_its_symbols_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, build(PLAIN))
    (folder / "trg_vocab.txt").write_text("<unk>\n<pad>\n<s>\n", "utf-8")
    with pytest.raises(UserError, match=r"trg_vocab\.txt: expected the symbol '</s>', found 3 others"):
        table.read(folder)
