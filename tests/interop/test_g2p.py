"""The model of g2p-en as a run: log P is that of its equations."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.interop.g2p import LETTERS, TARGET
from dragoman.translation.loading import load
from tests.interop.marian_models import log_softmax, sigmoid, write_arrays

pytestmark = pytest.mark.spec("J15")
EMBEDDING, SIZE = 6, 5
Arrays = dict[str, npt.NDArray[Any]]


def arrays() -> Arrays:
    draw, shapes = np.random.default_rng(0), {"fc_w": (len(TARGET), SIZE), "fc_b": (len(TARGET),)}
    for side, count in (("enc", len(LETTERS)), ("dec", len(TARGET))):
        shapes |= {f"{side}_emb": (count, EMBEDDING), f"{side}_w_ih": (3 * SIZE, EMBEDDING)}
        shapes |= {f"{side}_w_hh": (3 * SIZE, SIZE), f"{side}_b_ih": (3 * SIZE,), f"{side}_b_hh": (3 * SIZE,)}
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def step(w: Arrays, side: str, symbol: int, hidden: npt.NDArray[Any]) -> npt.NDArray[Any]:
    read = w[f"{side}_w_ih"] @ w[f"{side}_emb"][symbol] + w[f"{side}_b_ih"]
    recurred = w[f"{side}_w_hh"] @ hidden + w[f"{side}_b_hh"]
    reset, keep = np.split(sigmoid(read[: 2 * SIZE] + recurred[: 2 * SIZE]), 2)
    new = np.tanh(read[2 * SIZE :] + reset * recurred[2 * SIZE :])
    after: npt.NDArray[Any] = (1 - keep) * new + keep * hidden
    return after


def log_probs(w: Arrays, word: str, phones: list[str]) -> list[float]:
    hidden, logs = np.zeros(SIZE), []
    for letter in [*word, "</s>"]:
        hidden = step(w, "enc", LETTERS.index(letter) if letter in LETTERS else 1, hidden)
    previous = TARGET.index("<s>")
    for phone in [*phones, "</s>"]:
        hidden = step(w, "dec", previous, hidden)
        previous = TARGET.index(phone)
        logs.append(log_softmax(w["fc_w"] @ hidden + w["fc_b"])[previous].item())
    return logs


def test_log_probabilities_are_those_of_the_equations(tmp_path: Path) -> None:
    w = arrays()
    foreign = table.read(write_arrays(tmp_path / "checkpoint20.npz", w))
    assert foreign.program == "g2p-en"
    imported_run.write(foreign, tmp_path / "run", ("letters", "phones"), "Apache-2.0")
    words, pronunciations = ["word", "Don't"], ["W ER1 D", "D OW1 N T"]
    exact = {name: array.astype(np.float64) for name, array in w.items()}
    scored = load(tmp_path / "run").score(words, pronunciations)
    for word, phones, score in zip(words, pronunciations, scored, strict=True):
        wanted = log_probs(exact, word.lower(), phones.split())
        assert [one.log_prob for one in score.steps] == pytest.approx(wanted, abs=1e-5)


def test_the_symbols_are_those_of_the_program() -> None:
    assert (len(LETTERS), len(TARGET)) == (29, 74)
    assert TARGET[4:8] == ("AA0", "AA1", "AA2", "AE0")
    assert TARGET[-9:] == ("UW", "UW0", "UW1", "UW2", "V", "W", "Y", "Z", "ZH")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fc_b": np.zeros(3)}, "tensor 'fc_b': expected shape (74,), found (3,)"),
        ({"enc_emb": np.zeros((28, 6))}, "tensor 'enc_emb': expected shape (29, 6), found (28, 6)"),
        ({"dec_b_ih": np.full(15, np.nan)}, "tensor 'dec_b_ih': expected finite floating-point numbers"),
        ({"more": np.zeros(2)}, "tensor 'more': expected no such tensor in a model of these options"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changed: Arrays, message: str, tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "checkpoint20.npz", {**arrays(), **changed})
    with pytest.raises(UserError) as raised:
        table.read(path)
    assert str(raised.value) == f"{path}: {message}"
