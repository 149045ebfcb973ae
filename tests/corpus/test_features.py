"""Sources that are numbers: files of arrays, and how they come into batches."""

import gc
import zipfile
from inspect import unwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from dragoman.configuration.config import LanguageConfig, TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import read_examples
from dragoman.corpus.features import FeatureFile, FeatureSource
from dragoman.data.batch import FeatureBatch, TokenBatch, pad_regions
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError
from tests.golden import Golden

WHOLE = np.arange(24, dtype=np.float32).reshape(4, 3, 2) + 1
WHOLE[2] = 0  # the third line has no image
PARTS = [WHOLE[0], WHOLE[1, :1], np.zeros((0, 2), np.float32), WHOLE[3, :2]]


def many(arrays: list[Any]) -> dict[str, Any]:
    return {str(number): array for number, array in enumerate(arrays)}


def write(folder: Path, form: str, arrays: list[Any] | None = None) -> Path:
    """A file of the arrays of WHOLE, or of such as these."""
    path = folder / f"made.{form}"
    if form == "npy":
        np.save(path, WHOLE)
    elif form == "npz":
        np.savez_compressed(path, **many(arrays or list(WHOLE)))
    else:
        named = many(arrays) if arrays else {"images": WHOLE}
        save_file({name: torch.from_numpy(array.copy()) for name, array in named.items()}, path)
    return path


@pytest.mark.spec("C10")
@pytest.mark.parametrize("form", ["npy", "safetensors"])
def test_one_array_for_all_lines(tmp_path: Path, form: str) -> None:
    file = FeatureFile(write(tmp_path, form))
    assert (len(file), file.size) == (4, 2)
    for line in (3, 0, 1):
        np.testing.assert_array_equal(file[line], WHOLE[line])
    assert file[2].shape == (0, 2)


@pytest.mark.spec("C10")
@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_an_array_for_each_line_with_as_many_regions_as_it_has(tmp_path: Path, form: str) -> None:
    file = FeatureFile(write(tmp_path, form, PARTS))
    assert [regions.shape for regions in file] == [(3, 2), (1, 2), (0, 2), (2, 2)]
    for array, expected in zip(file, PARTS, strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.spec("C12")
def test_a_vector_is_one_region(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", WHOLE[:, 0])
    file = FeatureFile(tmp_path / "vectors.npy")
    np.testing.assert_array_equal(file[1], WHOLE[1, :1])
    np.savez(tmp_path / "vectors.npz", **many(list(WHOLE[:, 0])))
    np.testing.assert_array_equal(FeatureFile(tmp_path / "vectors.npz")[1], WHOLE[1, :1])


def test_half_precision_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "half.npy", WHOLE.astype(np.float16))
    assert pad_regions([FeatureFile(tmp_path / "half.npy")[0]], 2).values.dtype == torch.float32
    save_file({"x": torch.from_numpy(WHOLE).bfloat16()}, tmp_path / "half.safetensors")
    np.testing.assert_array_equal(FeatureFile(tmp_path / "half.safetensors")[0], WHOLE[0])


def test_an_array_is_mapped_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.ones((50, 4, 8), np.float32))
    view = FeatureFile(tmp_path / "large.npy")[7]
    base: Any = view
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


WRONG: list[tuple[str, Any, str]] = [
    ("one axis", np.ones(3), "invalid array file (expected an array (lines, regions, size) or (lines, size), "),
    ("none", np.ones((0, 3)), "invalid array file (there is no array)"),
    ("text", np.array([["a"]]), ":1: expected numbers of shape (regions, 1) or (1,), found <U1 of shape (1,)"),
    ("objects", np.array([[{}]]), "invalid array file (Array can't be memory-mapped"),
]


@pytest.mark.parametrize(("array", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_no_such_file_is_told(tmp_path: Path, array: Any, message: str) -> None:
    path = tmp_path / "wrong.npy"
    np.save(path, array)
    with pytest.raises(UserError) as raised:
        list(FeatureFile(path))
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value)


def test_a_suffix_that_is_not_so_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", WHOLE)
    np.savez(tmp_path / "many.npz", **many([WHOLE[0]]))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    (tmp_path / "many.npz").rename(tmp_path / "many.npy")
    with zipfile.ZipFile(tmp_path / "raw.npz", "w") as archive:
        archive.writestr("0", b"text")
    for name, message in (
        ("one.npz", "it contains a single array: name it .npy"),
        ("many.npy", "expected an array, found NpzFile"),
        ("raw.npz", "expected an array, found bytes"),
    ):
        with pytest.raises(UserError) as raised:
            FeatureFile(tmp_path / name)
        assert str(raised.value) == f"{tmp_path / name}: invalid array file ({message})"


def test_faults_are_told_by_line(tmp_path: Path, golden: Golden) -> None:
    whole = WHOLE.copy()
    whole[3, 1, 1] = np.nan
    np.save(tmp_path / "a.npy", whole)
    with pytest.raises(UserError, match=r"a\.npy:4:") as raised:
        list(FeatureFile(tmp_path / "a.npy"))
    golden(str(raised.value))
    exact = WHOLE.astype(np.float64)
    exact[3, 1, 1] = 1e39  # finite in float64 alone
    np.save(tmp_path / "a.npy", exact)
    with pytest.raises(UserError, match=r"a\.npy:4:") as raised:
        list(FeatureFile(tmp_path / "a.npy"))
    golden(str(raised.value))
    np.savez(tmp_path / "b.npz", **many([WHOLE[0], WHOLE[0, :, :1]]))
    with pytest.raises(UserError, match=r"b\.npz:2:") as raised:
        list(FeatureFile(tmp_path / "b.npz"))
    golden(str(raised.value))
    np.savez(tmp_path / "c.npz", **{"0": WHOLE[0], "2": WHOLE[0]})
    with pytest.raises(UserError, match=r"c\.npz:") as raised:
        FeatureFile(tmp_path / "c.npz")
    golden(str(raised.value))
    np.savez(tmp_path / "whole.npz", WHOLE)
    with pytest.raises(UserError, match=r"whole\.npz:") as raised:
        FeatureFile(tmp_path / "whole.npz")
    golden(str(raised.value))
    arrays: dict[str, Any] = {"0": np.float32(1)}
    np.savez(tmp_path / "number.npz", **arrays)
    with pytest.raises(UserError, match=r"number\.npz:1:") as raised:
        list(FeatureFile(tmp_path / "number.npz"))
    golden(str(raised.value))
    np.savez_compressed(tmp_path / "packed.npz", **many(list(WHOLE)))
    damaged = bytearray((tmp_path / "packed.npz").read_bytes())
    damaged[60:90] = bytes(30)
    (tmp_path / "packed.npz").write_bytes(damaged)
    with pytest.raises(UserError, match=r"packed\.npz:") as raised:
        list(FeatureFile(tmp_path / "packed.npz"))
    golden(str(raised.value))
    for name in ("d.npy", "d.npz", "d.safetensors"):
        (tmp_path / name).write_bytes(b"no arrays")
        with pytest.raises(UserError, match=f"{name}:") as error:
            FeatureFile(tmp_path / name)
        golden(str(error.value))
        assert "pickle" not in str(error.value)
        with pytest.raises(UserError, match=f"no{name}:") as raised:
            FeatureFile(tmp_path / f"no{name}")
        golden(str(raised.value))
    with pytest.raises(UserError, match=r"e\.txt:") as raised:
        FeatureFile(tmp_path / "e.txt")
    golden(str(raised.value))


@pytest.mark.parametrize("text", ["", "[]", '{"size": "two"}', pytest.param("[" * 100_000, id="deep")])
def test_a_damaged_description_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "source.json").write_text(text, "utf-8")
    gc.collect()  # no finalizer may run while the stack is nearly full
    with pytest.raises(UserError, match=r"source\.json: invalid description of features"):
        FeatureSource.load(tmp_path, "source", "image")


def test_what_a_user_gives_is_an_array_or_the_name_of_one(tmp_path: Path, golden: Golden) -> None:
    source = FeatureSource("image", 2)
    np.save(tmp_path / "one.npy", WHOLE[0])
    for value in (WHOLE[0], str(tmp_path / "one.npy"), tmp_path / "one.npy"):
        np.testing.assert_array_equal(source.read(value), WHOLE[0])
    np.testing.assert_array_equal(source.read(WHOLE[0, 0]), WHOLE[0, :1])
    for nothing in ("", " ", WHOLE[2]):
        assert source.read(nothing).shape == (0, 2)
    with pytest.raises(UserError, match=r"^image:") as raised:
        source.read(np.ones((3, 3)))
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"^image:") as raised:
        source.read(np.full((1, 2), np.inf))
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"none\.npy:") as raised:
        source.read(str(tmp_path / "none.npy"))
    golden(str(raised.value))
    np.savez(tmp_path / "several.npz", WHOLE)
    with pytest.raises(UserError, match=r"several\.npz:") as raised:
        source.read(tmp_path / "several.npz")
    golden(str(raised.value))
    with pytest.raises(TypeError, match=r"image: expected an array or the name of a \.npy file, found list"):
        unwrap(FeatureSource.read)(source, WHOLE[0].tolist())


def corpus(folder: Path, form: str = "npy", lines: int = 4) -> DataConfig:
    """Four lines in two places, with an image each but for the third, and the same for development."""
    for part in ("train", "dev"):
        for name, word in (("a", "x"), ("b", "y")):
            texts = [" ".join([word] * (1 + number)) for number in range(lines)]
            (folder / f"{part}.{name}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
        write(folder, form, None if form == "npy" else PARTS).rename(folder / f"{part}.image.{form}")
    place = str(folder / "train")
    return DataConfig.model_validate(
        {
            "source": ["a", "image"],
            "target": "b",
            "features": "image",
            "train": [place, place],
            "dev": str(folder / "dev"),
        }
    )


SIDE = LanguageConfig.model_validate({"tokenizer": "word"})
TEXT = TextConfig.model_validate({"source": SIDE, "target": SIDE})


@pytest.mark.spec("C10")
@pytest.mark.parametrize("form", ["npy", "npz", "safetensors"])
def test_batches_have_the_arrays_of_their_lines(tmp_path: Path, form: str) -> None:
    data = Dataset.prepare(corpus(tmp_path, form), TEXT, 1, tmp_path / "run")
    assert [(source.name, type(source).__name__) for source in data.sources] == [
        ("a", "Language"),
        ("image", "FeatureSource"),
    ]
    arrays = WHOLE if form == "npy" else PARTS
    rows = np.array([6, 0, 1, 3, 5])  # of two places of four lines each
    text, image = data.batch(rows, 0).sources
    assert isinstance(text, TokenBatch)
    assert isinstance(image, FeatureBatch)
    for row, values, mask in zip(rows, image.values, image.mask, strict=True):
        expected = np.zeros((0, 2)) if row % 4 == 2 else arrays[row % 4]
        np.testing.assert_array_equal(values[: len(expected)], expected)
        assert not values[len(expected) :].any()
        assert mask.tolist() == [place < len(expected) for place in range(3)]
    assert text.mask.sum(1).tolist() == [4, 2, 3, 5, 3]


def test_regions_are_no_symbols(tmp_path: Path) -> None:
    """Neither for the filters nor for the batches."""
    config = corpus(tmp_path)
    np.save(tmp_path / "train.image.npy", np.ones((4, 300, 2), np.float32))
    strict = config.model_copy(update={"max_length": 4, "max_ratio": 1.0})
    data = Dataset.prepare(strict, TEXT, 1, tmp_path / "run")
    assert data.report.kept == data.report.pairs == 8
    assert set(data.train.columns["source.image"].lengths) == {1}


def test_the_line_of_an_array_is_kept_where_others_are_left_out(tmp_path: Path) -> None:
    short = corpus(tmp_path).model_copy(update={"max_length": 2})
    data = Dataset.prepare(short, TEXT, 1, tmp_path / "run")
    assert data.report.kept == 4
    _, image = data.batch(np.arange(4), 0).sources
    assert isinstance(image, FeatureBatch)
    np.testing.assert_array_equal(image.values, WHOLE[[0, 1, 0, 1]])


def test_source_dropout_hides_arrays_too(tmp_path: Path) -> None:
    data = Dataset.prepare(corpus(tmp_path), TEXT, 1, tmp_path / "run", source_dropout=0.9)
    there = np.array(
        [[source.mask.any(1).tolist() for source in data.batch(np.arange(8), e).sources] for e in range(9)]
    )
    assert there.any(1).all()
    assert not there.all(1).all()
    assert there[:, 1, [0, 1, 3]].any()
    assert not there[:, 1, [2, 6]].any()  # which have none


def test_the_development_examples_have_theirs(tmp_path: Path) -> None:
    config = corpus(tmp_path)
    examples = list(read_examples(config.dev, config.source, config.target, config.features))
    assert [example.sources[0] for example in examples] == ["x", "x x", "x x x", "x x x x"]
    np.testing.assert_array_equal(np.asarray(examples[3].sources[1]), WHOLE[3])


def test_the_store_is_made_anew_from_changed_arrays_alone(tmp_path: Path, golden: Golden) -> None:
    config = corpus(tmp_path)
    Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    header = tmp_path / "run" / "data" / "header.json"
    first = header.stat().st_mtime_ns
    Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    assert header.stat().st_mtime_ns == first
    np.save(tmp_path / "train.image.npy", np.ones((4, 1, 2)))
    Dataset.prepare(config, TEXT, 1, tmp_path / "run", keep_tokenizers=True)
    assert header.stat().st_mtime_ns != first
    for part in ("train", "dev"):
        np.save(tmp_path / f"{part}.image.npy", np.ones((4, 1, 5)))
    with pytest.raises(UserError, match=r"train\.image\.npy:") as raised:
        Dataset.prepare(config, TEXT, 1, tmp_path / "run", keep_tokenizers=True)
    golden(str(raised.value))


@pytest.mark.parametrize("count", [3, 5])
def test_there_is_an_array_for_each_line(tmp_path: Path, count: int) -> None:
    config = corpus(tmp_path)
    np.save(tmp_path / "train.image.npy", np.ones((count, 1, 2)))
    with pytest.raises(UserError, match=rf"train\.image\.npy has {count} arrays, .*train\.b has 4 lines; expected one"):
        Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    np.save(tmp_path / "dev.image.npy", np.ones((count, 1, 2)))
    with pytest.raises(UserError, match=rf"dev\.image\.npy has {count} arrays, .*dev\.b has 4 lines; expected one"):
        Dataset.prepare(config, TEXT, 1, tmp_path / "run")


def test_places_must_agree_on_the_size(tmp_path: Path, golden: Golden) -> None:
    config = corpus(tmp_path)
    for name in "ab":
        (tmp_path / f"more.{name}").write_text("x\n", "utf-8")
    np.save(tmp_path / "more.image.npy", np.ones((1, 1, 7)))
    both = config.model_copy(update={"train": (config.train[0], str(tmp_path / "more"))})
    with pytest.raises(UserError, match=r"more\.image\.npy:") as raised:
        Dataset.prepare(both, TEXT, 1, tmp_path / "run")
    golden(str(raised.value))
    np.save(tmp_path / "dev.image.npy", np.ones((4, 1, 5)))
    with pytest.raises(UserError, match=r"dev\.image\.npy:") as raised:
        Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    golden(str(raised.value))
    assert not (tmp_path / "run").exists()
    (tmp_path / "more.image.npy").unlink()
    with pytest.raises(UserError, match=r"more\.image\.npy:") as raised:
        Dataset.prepare(both, TEXT, 1, tmp_path / "run")
    golden(str(raised.value))


def test_a_line_without_text_and_image_is_left_out(tmp_path: Path) -> None:
    config = corpus(tmp_path)
    (tmp_path / "train.a").write_text("x\nx x\n\n\n", "utf-8")
    data = Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    assert (data.report.kept, data.report.empty) == (6, 2)  # the third line has nothing, the fourth an image


@pytest.mark.parametrize("options", [{"source": "image"}, {"source": ["image", "a"]}])
def test_an_image_may_come_first_or_alone(tmp_path: Path, options: dict[str, Any]) -> None:
    config = DataConfig.model_validate(corpus(tmp_path).model_dump() | options)
    data = Dataset.prepare(config, TEXT, 1, tmp_path / "run")
    image = data.batch(np.array([1]), 0).sources[0]
    assert isinstance(image, FeatureBatch)
    np.testing.assert_array_equal(image.values[0], WHOLE[1])
    assert data.report.kept == (6 if options["source"] == "image" else 8)
