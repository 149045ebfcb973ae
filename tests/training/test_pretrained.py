"""Pretrained vectors: which symbols begin with them, and what the others begin with."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import dragoman
from dragoman.configuration.config import Config
from dragoman.data.language import Language
from dragoman.data.vocabulary import SPECIALS
from dragoman.errors import UserError
from dragoman.training import checks, session
from dragoman.training.training import Training
from tests import toy
from tests.golden import Golden

Assembled = Callable[[Config], Training]
Made = Callable[..., Config]

SIZE = 12
VECTORS = {"one": 1.0, "zebra": 5.0, "three": 3.0, "One": 9.0, "un": 7.0, "</s>": 8.0}


def write(path: Path, vectors: Mapping[str, float] = VECTORS) -> Path:
    """Each vector is one number again and again."""
    lines = (" ".join([word, *[str(number)] * SIZE]) + "\n" for word, number in vectors.items())
    path.write_text("".join(lines), "utf-8")
    return path


def of(path: Path, side: str = "source", **options: Any) -> dict[str, Any]:
    return {f"model.embedding.{side}": {"kind": "lookup", "pretrained": str(path), **options}}


def tables(run: Training) -> tuple[Tensor, Tensor]:
    embeddings = (run.model.source_encoders[0].embedding, run.model.target_embedding)
    source, target = (embedding.get_parameter("table").detach() for embedding in embeddings if embedding)
    return source, target


def rows(table: Tensor, language: Language, *symbols: str) -> list[float]:
    """The first number in the row of each symbol, which has to be all of them."""
    vectors = table[language.vocabulary.ids(list(symbols))]
    assert torch.equal(vectors, vectors[:, :1].expand_as(vectors))
    return vectors[:, 0].tolist()


def test_words_begin_with_their_vectors_and_the_rest_at_random_in_their_scale(
    make_config: Made, assembled: Assembled, tmp_path: Path
) -> None:
    plain = assembled(make_config({"run": str(tmp_path / "plain")}))
    run = assembled(make_config(of(write(tmp_path / "words.vec"))))
    (source, target), (random, other) = tables(run), tables(plain)
    language = run.data.sources[0]
    assert isinstance(language, Language)
    assert rows(source, language, "one", "three") == [1, 3]
    rest = [*range(len(SPECIALS)), *language.vocabulary.ids(["two", "four", "five", "six"])]
    scale = (SIZE * (1 + 9) / 2) ** 0.5
    torch.testing.assert_close(source[rest], random[rest] * scale)
    assert torch.equal(target, other), "which has no file"
    for name, parameter in plain.model.named_parameters():
        same = torch.equal(parameter, run.model.get_parameter(name))
        assert same is (name != "source_encoders.0.embedding.table")


def test_what_is_found_is_told(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write(tmp_path / "words.vec")
    options = {**of(tmp_path / "words.vec"), "training.epochs": 1}
    session.train(toy.config(corpus, tmp_path / "run", options))
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "words.vec" in line)
    golden(line.removeprefix(f"{tmp_path}/"))


def test_the_first_of_several_spellings_counts_and_words_beyond_the_limit_do_not(
    make_config: Made, assembled: Assembled, tmp_path: Path
) -> None:
    path = write(tmp_path / "words.vec")
    lower = {"text.source": {"tokenizer": "word", "lowercase": True}}
    for name, vectors, words, expected in (
        ("later", {"one": 1.0, "One": 9.0}, 9, 1),
        ("before", {"One": 9.0, "one": 1.0}, 9, 9),
        ("beyond", {"zebra": 5.0, "One": 9.0, "one": 1.0}, 2, 9),
    ):
        write(path, vectors)
        run = assembled(make_config({**of(path, pretrained_words=words), **lower, "run": str(tmp_path / name)}))
        assert isinstance(language := run.data.sources[0], Language)
        assert rows(tables(run)[0], language, "one") == [expected]


def test_a_subword_begins_with_the_mean_of_the_words_that_it_is_part_of(
    make_config: Made, assembled: Assembled, tmp_path: Path
) -> None:
    unit = {"kind": "bpe", "vocab_size": 325}
    text = {
        "text.source.tokenizer": unit,
        "text.target.tokenizer": unit,
        "text.shared_vocabulary": True,
        "model.embedding.tie": "all",
    }
    deep = {"model.decoder": {"kind": "rnn", "size": 24, "readout": "deep"}, "model.embedding.size": SIZE}
    words = {"one": 1.0, "ones": 2.0, "sosses": 5.0, "trois": 4.0}
    path, other = write(tmp_path / "words.vec", words), write(tmp_path / "mots.vec", {"one": 100.0, "un": 3.0})
    run = assembled(make_config({**text, **deep, **of(path), **of(other, "target")}))
    language, (table, shared) = run.data.target, tables(run)
    assert table.data_ptr() == shared.data_ptr()
    cut = {word: language.text.encode(word) for word in (*words, "un")}
    assert cut["one"] == ["▁one"]
    assert rows(table, language, "▁one", "▁trois", "▁un") == [1, 4, 3], "the files in their order"
    assert cut["sosses"].count("s") > 1
    seen = [words[word] for word in words for symbol in cut[word] if symbol == "s"]
    assert rows(table, language, "s")[0] == pytest.approx(sum(seen) / len(seen))
    assert run.model.output.get_parameter("weight").data_ptr() == table.data_ptr()


@pytest.mark.parametrize("size", [11, 300])
def test_another_size_is_told_with_both_numbers(
    make_config: Made, assembled: Assembled, tmp_path: Path, size: int
) -> None:
    with pytest.raises(UserError, match=rf":1: vectors of size 12, but model\.embedding\.size is {size}$"):
        assembled(make_config({**of(write(tmp_path / "words.vec")), "model.embedding.size": size}))


@pytest.mark.slow
def test_the_file_is_read_before_the_first_step_alone(make_config: Made, corpus: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "words.vec")
    whole = session.train(make_config({**of(path), "training.steps": 6, "run": str(tmp_path / "whole")}), quiet=True)
    session.train(make_config({**of(path), "training.steps": 3}), quiet=True)
    path.unlink()
    parts = session.train(make_config({**of(path), "training.steps": 6}), quiet=True)
    last = "model-last.safetensors"
    assert (whole.path / last).read_bytes() == (parts.path / last).read_bytes()
    assert dragoman.load(parts.path).translate(["one two"])
    with pytest.raises(UserError, match=r"words\.vec: no such file"):
        session.train(make_config({**of(path), "run": str(tmp_path / "new")}), quiet=True)


@pytest.mark.parametrize("option", [{"training.init_from": "run"}, {"training.objective": "agreement"}])
def test_what_fills_a_table_otherwise_is_refused(
    corpus: Path, tmp_path: Path, option: dict[str, str], golden: Golden
) -> None:
    with pytest.raises(UserError) as raised:
        toy.config(corpus, tmp_path / "run", {**option, **of(Path("words.vec"), "target")})
    golden(str(raised.value))


@pytest.mark.slow
def test_what_starts_from_a_run_with_vectors_has_no_file(corpus: Path, tmp_path: Path) -> None:
    from dragoman.training import starting

    options = {**of(write(tmp_path / "words.vec"), pretrained_words=5), "training.epochs": 1}
    run = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    (tmp_path / "words.vec").unlink()
    config, _ = starting.configure(str(run.path), [str(corpus / "train")], {"run": str(tmp_path / "other")})
    assert config.model.embedding.source.options == {"pretrained": None, "pretrained_words": 5}
    session.train(checks.complete(config), quiet=True)
