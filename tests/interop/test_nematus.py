"""Models of Nematus' Theano version as runs: log P is that of the equations, and what does not fit is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from tests import covering
from tests.interop import marian_models
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
    rest = {"decoder_c_tt": np.zeros(1, np.float32), "uidx": np.array(7), "adam_m": np.ones(3)}
    write_arrays(path / "model.npz", {**arrays, **rest})
    config = {
        "encoder": "gru",
        "decoder": "gru_cond",
        "dim_word": SIZE,
        "dim": options["dim-rnn"],
        "dim_per_factor": [SIZE],
        "n_words_src": len(SYMBOLS),
        "n_words": len(SYMBOLS),
        "enc_recurrence_transition_depth": row["transitions"],
        "dec_base_recurrence_transition_depth": row["transitions"] + 1,
        "dictionaries": ["/elsewhere/vocab.en.json", "/elsewhere/vocab.de.json"],
        **{name: row[name] for name in row if name != "transitions"},
        **changed,
    }
    (path / "model.npz.json").write_text(json.dumps(config), "utf-8")
    symbols = ["eos", "UNK", *SYMBOLS[2:], "never", "read"]
    for language in ("en", "de"):
        text = json.dumps({symbol: number for number, symbol in enumerate(symbols)})
        (path / f"vocab.{language}.json").write_text(text, "utf-8")
    return path, equations


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"enc_depth": 4}, "enc_depth: expected 1, found 4"),
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


def test_several_models_are_not_chosen_among(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path / "nematus", PLAIN)
    for name in ("model.npz", "model.npz.json"):
        (folder / name.replace("model", "best")).write_bytes((folder / name).read_bytes())
    with pytest.raises(UserError, match=r"expected one model, found best\.npz, model\.npz; name the file"):
        table.read(folder)
    assert table.read(folder / "best.npz").program == "Nematus"
