"""Models of Nematus' Theano version as runs: log P is that of the equations, and what does not fit is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from tests import covering
from tests.interop import marian_models, nematus_models
from tests.interop.marian_models import SIZE, write_arrays
from tests.interop.test_marian import SYMBOLS, assert_scores, nematus_tensors

pytestmark = pytest.mark.spec("J7")
PLAIN: dict[str, Any] = {
    "layer_normalisation": False,
    "transitions": 1,
    "tie_decoder_embeddings": False,
    "tie_encoder_decoder_embeddings": False,
}


def folder_of(path: Path, row: dict[str, Any], **changed: Any) -> tuple[Path, marian_models.Recurrent]:
    """A folder with a model, its configuration and its dictionaries, and the equations of the model."""
    path.mkdir()
    own: dict[str, Any] = {
        "enc-cell-depth": row["transitions"],
        "dec-cell-base-depth": row["transitions"] + 1,
        "layer-normalization": row["layer_normalisation"],
        "tied-embeddings": row["tie_decoder_embeddings"],
    }
    options, arrays, equations = nematus_tensors(
        {**marian_models.S2S, **own, "type": "nematus", "dim-vocabs": [len(SYMBOLS)] * 2}
    )
    if row["tie_encoder_decoder_embeddings"]:
        del arrays["Wemb_dec"]
        equations.w["decoder_Wemb"] = equations.w["encoder_Wemb"]
    if "decoder_ff_logit_l2_Wt" in arrays:  # as Marian names it, and turns it
        arrays["ff_logit_W"] = arrays.pop("decoder_ff_logit_l2_Wt").T
    config = {
        "dim": options["dim-rnn"],
        "enc_recurrence_transition_depth": row["transitions"],
        "dec_base_recurrence_transition_depth": row["transitions"] + 1,
        **{name: row[name] for name in row if name != "transitions"},
        **changed,
    }
    write_folder(path, arrays, config)
    return path, equations


def write_folder(path: Path, arrays: dict[str, Any], config: dict[str, Any]) -> None:
    """A model with the counters and states of an optimizer that Nematus writes, its configuration and dictionaries."""
    rest = {"decoder_c_tt": np.zeros(1, np.float32), "uidx": np.array(7), "adam_m": np.ones(3)}
    write_arrays(path / "model.npz", {**rest, **arrays})
    values = {
        "encoder": "gru",
        "decoder": "gru_cond",
        "dim_word": SIZE,
        "dim_per_factor": [SIZE],
        "n_words_src": len(SYMBOLS),
        "n_words": len(SYMBOLS),
        "dictionaries": ["/elsewhere/vocab.en.json", "/elsewhere/vocab.de.json"],
        **config,
    }
    (path / "model.npz.json").write_text(json.dumps(values), "utf-8")
    symbols = ["eos", "UNK", *SYMBOLS[2:], "never", "read"]
    for language in ("en", "de"):
        text = json.dumps({symbol: number for number, symbol in enumerate(symbols)})
        (path / f"vocab.{language}.json").write_text(text, "utf-8")


@pytest.mark.parametrize(
    "row",
    covering.cases(
        covering.covering(
            {
                "layer_normalisation": [False, True],
                "transitions": [1, 2],
                "tie_decoder_embeddings": [False, True],
                "tie_encoder_decoder_embeddings": [False, True],
            }
        )
    ),
)
def test_scores_are_those_of_the_equations(row: dict[str, Any], tmp_path: Path) -> None:
    folder, equations = folder_of(tmp_path / "nematus", row)
    foreign = table.read(folder)
    assert foreign.program == "Nematus"
    assert [path.name for path in foreign.files] == ["model.npz", "model.npz.json", "vocab.en.json", "vocab.de.json"]
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    assert_scores(tmp_path / "run", equations)


DEEP = covering.covering(
    {
        "enc_depth": [1, 2, 3],
        "dec_depth": [1, 2, 3],
        "enc_recurrence_transition_depth": [1, 2, 3],
        "dec_base_recurrence_transition_depth": [2, 4],
        "dec_high_recurrence_transition_depth": [1, 3],
        "layer_normalisation": [False, True],
    }
)


@pytest.mark.spec("J10")
@pytest.mark.parametrize("row", covering.cases(DEEP))
def test_scores_of_deep_models_are_those_of_the_equations(row: dict[str, Any], tmp_path: Path) -> None:
    arrays = nematus_models.tensors(row, len(SYMBOLS))
    (tmp_path / "nematus").mkdir()
    write_folder(tmp_path / "nematus", arrays, {"dim": nematus_models.DIM, **row})
    imported_run.write(table.read(tmp_path / "nematus"), tmp_path / "run", ("en", "de"), "")
    assert_scores(tmp_path / "run", nematus_models.Deep(row, arrays))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"enc_depth": 2}, "tensor 'encoder_bi_l2_cell1_U': expected shape (5, 10), found no such tensor"),
        ({"enc_depth_bidirectional": 2}, "enc_depth_bidirectional: expected 1, found 2"),
        ({"dec_deep_context": True}, "dec_deep_context: expected false, found True"),
        ({"decoder_deep": "gru_cond"}, "decoder_deep: expected gru, found gru_cond"),
        ({"decoder": "gru"}, "decoder: expected gru_cond, found gru"),
        ({"factors": 2}, "factors: expected 1, found 2"),
        ({"dim_per_factor": [4, 4]}, "dim_per_factor: expected [8], found [4, 4]"),
        ({"dim": 6}, "tensor 'encoder_bi_U': expected shape (6, 12), found (5, 10)"),
        ({"dim_word": "x"}, "dim_word: expected a number of at least 1, found x"),
        ({"n_words": 9}, "tensor 'decoder_Wemb': expected shape (9, 8), found (10, 8)"),
        ({"dictionaries": ["a.json"]}, "dictionaries: expected two files, or --vocabulary twice, found ['a.json']"),
        ({"dictionaries": ["a.json", "b.json"]}, "a.json, found no such file; give --vocabulary"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path / "nematus", PLAIN, **changed)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path / "nematus", PLAIN)
    with np.load(folder / "model.npz") as file:
        arrays = dict(file)
    write_arrays(folder / "model.npz", {**arrays, "ff_state_W": np.full((10, 5), np.nan)})
    with pytest.raises(UserError, match="tensor 'ff_state_W': expected finite floating-point numbers"):
        table.read(folder)


@pytest.mark.parametrize("named", [False, True])
def test_a_checkpoint_of_tensorflow_is_refused(named: bool, tmp_path: Path) -> None:
    for name in ("model.npz-7.index", "model.npz-7.data-00000-of-00001", "model.npz-7.meta", "model.npz-7.json"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.npz-7\.index: a checkpoint of TensorFlow: expected \.npz") as raised:
        table.read(tmp_path / "model.npz-7.index" if named else tmp_path)
    assert "\n" not in str(raised.value)


def test_several_models_are_not_chosen_among(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path / "nematus", PLAIN)
    for name in ("model.npz", "model.npz.json"):
        (folder / name.replace("model", "best")).write_bytes((folder / name).read_bytes())
    with pytest.raises(UserError, match=r"expected one model, found best\.npz, model\.npz; name the file"):
        table.read(folder)
    assert table.read(folder / "best.npz").program == "Nematus"
