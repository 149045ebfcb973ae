"""A model of Keras as a run: log P is that of its equations, with the padding that it attends to."""

import io
import os
import pickle
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.translation.loading import load
from tests.interop import keras_models
from tests.interop.keras_models import LETTERS, SOURCE, TARGET, WRITTEN, Arrays, Tokenizer, layers, tensors

h5py = pytest.importorskip("h5py", reason="needs the extra keras")

pytestmark = pytest.mark.spec("J16")
PACKAGE = "khmer_transliterator"  # of netra-transliterate
CONFIG = "config.json: config.layers"


def test_log_probabilities_are_those_of_the_equations(tmp_path: Path) -> None:
    """Of a text that is as long as padded ones, one with capitals and unknown letters, and one with a space."""
    arrays = tensors()
    foreign = table.read(keras_models.write(tmp_path / "model", arrays))
    assert foreign.program == "Keras"
    assert [path.name for path in foreign.files] == ["model.keras", "assets.pkl"]
    imported_run.write(foreign, tmp_path / "run", ("letters", "script"), "MIT")
    texts, written = ["abcdeabcd", "Ab?e", "c"], ["xyzzy", "x y", "z"]
    scored = load(tmp_path / "run").score(texts, written)
    for text, target, score in zip(texts, written, scored, strict=True):
        wanted = keras_models.log_probs(arrays, text, target)
        assert [one.log_prob for one in score.steps] == pytest.approx(wanted, abs=1e-5)


def test_padding_cannot_be_read_before_a_text_has_arrived(tmp_path: Path) -> None:
    foreign = table.read(keras_models.write(tmp_path / "model", tensors()))
    imported_run.write(foreign, tmp_path / "run", ("letters", "script"), "MIT")
    with pytest.raises(UserError, match=r"simultaneous translation does not support text\.source\.suffix and"):
        list(load(tmp_path / "run").simultaneous(["a", "b"], wait=1))


def package_file() -> Path | None:
    """The model of netra-transliterate, if it is installed or DRAGOMAN_KERAS_MODEL names its folder."""
    named, spec = os.environ.get("DRAGOMAN_KERAS_MODEL"), find_spec(PACKAGE)
    folder = named or (f"{Path(spec.origin).parent}/weights" if spec and spec.origin else None)
    return Path(folder) if folder else None


@pytest.mark.skipif(package_file() is None, reason="needs netra-transliterate, or DRAGOMAN_KERAS_MODEL=FOLDER")
def test_the_model_of_the_package_spells_its_example(tmp_path: Path) -> None:
    folder = package_file()
    assert folder
    imported_run.write(table.read(folder), tmp_path / "run", ("en", "km"), "MIT")
    translations = load(tmp_path / "run").translate(["brodae", "phnompenh", "angkor"])
    assert [one.text for one in translations] == ["ប្រដែ", "ភ្នំពេញ", "អង្ករ"]


def changed(name: str, *path: str, **config: Any) -> dict[str, Any]:
    """A layer with other options, of itself or of a layer inside it."""
    layer = layers()[name]
    section = layer["config"]
    for part in path:
        section = section[part]["config"]
    section.update(config)
    return {name: layer}


SWAPPED = {**layers()["attention"]}
SWAPPED["inbound_nodes"] = [{"args": SWAPPED["inbound_nodes"][0]["args"][::-1]}]
READS = layers()["gru_7"] | {"inbound_nodes": layers()["both"]["inbound_nodes"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (changed("embedding_8", mask_zero=True), f"{CONFIG}.2.config.mask_zero: expected false, found True"),
        (changed("gru_7", reset_after=False), f"{CONFIG}.5.config.reset_after: expected true, found False"),
        (
            changed("both", "backward_layer", go_backwards=False),
            f"{CONFIG}.4.config.backward_layer.config.go_backwards: expected true, found False",
        ),
        (
            changed("both", "backward_layer", units=3),
            "units of the backward layer: expected 4, found 3",
        ),
        (changed("timed", "layer", activation="relu"), f"{CONFIG}.6.config.layer.config.activation: expected linear"),
        (changed("timed", "layer", units=3), "units of the keys: expected 5, found 3"),
        (changed("attention", use_scale=False), f"{CONFIG}.7.config.use_scale: expected true, found False"),
        (changed("embedding_9", output_dim=2), "output_dim of the target: expected 3, found 2"),
        (changed("embedding_8", input_dim=3), "assets.pkl: expected at most 3 symbols, as the model has, found 7"),
        (changed("gru_7", units="5"), f"{CONFIG}.5.config.units: expected a number of at least 1, found 5"),
        ({"gru_7": {"class_name": "LSTM"}}, "layer 'gru_7': expected GRU that reads 1 layers, as the decoder"),
        ({"attention": SWAPPED}, "layer 'attention': expected it to read 'gru_7'"),
        ({"gru_7": READS}, "expected 10 layers, found 10, of which 8 are used"),
        ({"more": layers()["both"]}, "expected 10 layers, found 11, of which 10 are used"),
    ],
)
def test_a_model_of_other_layers_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors(), changes)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(folder))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"layers/dense/vars/1": np.zeros(3, np.float32)}, "tensor 'layers/dense/vars/1': expected shape (8,), found"),
        ({"layers/gru/cell/vars/2": np.full((2, 15), np.nan)}, "expected finite numbers, found infinity or NaN"),
        ({"layers/more": np.zeros(2, np.float32)}, "tensor 'layers/more': expected no such tensor"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(arrays: Arrays, message: str, tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors() | arrays)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert message in str(raised.value)


def linked(kind: str) -> bytes:
    """Weights of which one is outside the file, or is computed from others."""
    arrays = tensors()
    name, array = "layers/dense/vars/1", arrays.pop("layers/dense/vars/1")
    file = io.BytesIO(keras_models.hdf5(arrays))
    with h5py.File(file, "r+") as weights:
        if kind == "link":
            weights[name] = h5py.ExternalLink("/etc/passwd", "/")
        elif kind == "external":
            weights.create_dataset(name, array.shape, array.dtype, external=[("/etc/passwd", 0, array.nbytes)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(array.shape, array.dtype)
            weights.create_virtual_dataset(name, layout)
        else:
            weights.create_dataset(name, (10**9,), array.dtype, chunks=(10**5,))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["link", "external", "virtual", "chunks"])
def test_weights_outside_the_file_are_not_read(kind: str, tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors(), weights=linked(kind))
    with pytest.raises(UserError, match=r"tensor 'layers/dense/vars/1': expected (numbers in the file itself|shape)"):
        table.read(folder)


@pytest.mark.parametrize("damage", [b"", b"HDF5", b"\x89HDF\r\n\x1a\n" + b"\0" * 90])
def test_damaged_weights_are_refused(damage: bytes, tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors(), weights=damage)
    with pytest.raises(UserError, match=r"model\.keras: truncated, or not a model of Keras 3"):
        table.read(folder)


def test_an_archive_that_expands_is_refused(tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors())
    with zipfile.ZipFile(folder / "model.keras", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more", b"\0" * 10**6)
    with pytest.raises(UserError, match=r"model\.keras: expected files that are not compressed"):
        table.read(folder)


class Evil:
    """Calls a function when it is read by pickle."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch called",)


@pytest.mark.parametrize(
    ("assets", "message"),
    [
        ([1], "expected two tokenizers of Keras and the length of sources"),
        ({"one": SOURCE, "length": 3}, "expected two tokenizers of Keras and the length of sources"),
        ({"one": SOURCE, "other": TARGET, "length": 0}, "expected a length of sources from 1 to 1000, found 0"),
        ({"one": Tokenizer(LETTERS, char_level=False), "other": TARGET, "length": 3}, "char_level: expected true"),
        ({"one": Tokenizer(LETTERS, num_words=5), "other": TARGET, "length": 3}, "num_words: expected none, found 5"),
        ({"one": Tokenizer(LETTERS, oov_token=None), "other": TARGET, "length": 3}, "oov_token: expected the symbol"),
        ({"one": Tokenizer(LETTERS, word_index={"a": 2}), "other": TARGET, "length": 3}, "id 1: expected a symbol"),
        ({"one": Tokenizer(LETTERS, word_index=[1]), "other": TARGET, "length": 3}, "expected symbols and their"),
        ({"one": SOURCE, "other": Tokenizer(WRITTEN[:-1]), "length": 3}, r"expected the symbols '\t' and '\n'"),
        (Evil(), "expected two tokenizers"),
    ],
)
def test_other_tokenizers_are_refused(
    assets: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = keras_models.write(tmp_path / "model", tensors(), assets=assets)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(folder / "assets.pkl"))
    assert not (tmp_path / "called").exists()


def test_a_damaged_pickle_is_refused(tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors())
    (folder / "assets.pkl").write_bytes(pickle.dumps(SOURCE)[:-9])
    with pytest.raises(UserError, match=r"assets\.pkl: truncated, or not a pickle"):
        table.read(folder)


def test_the_tokenizers_must_be_there(tmp_path: Path) -> None:
    folder = keras_models.write(tmp_path / "model", tensors())
    (folder / "assets.pkl").rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"model: expected one file with tokenizers \(\.pkl\), found 0; --vocabulary"):
        table.read(folder)
    assert table.read(folder, [tmp_path / "elsewhere"]).program == "Keras"


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = keras_models.write(tmp_path / "model", tensors())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match=r"h5py is not installed; run .*\.\[keras\]"):
        table.read(folder)
