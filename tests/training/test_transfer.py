"""Starting from another run: which weights are kept, what new symbols start as, and what is not trained."""

import hashlib
import json
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.corpus.examples import read_pairs
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.data.vocabulary import SPECIALS, UNK, Vocabulary
from dragoman.errors import UserError
from dragoman.model.embedding import EMBEDDINGS
from dragoman.model.output.output import Loss
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import read_note, read_tensors, weights, write_tensors
from dragoman.run.folder import RunFolder, describe_weights
from dragoman.run.run import Run, facts
from dragoman.text.mark import Mark
from dragoman.text.pipeline import TextPipeline
from dragoman.training import finishing, session, trainer, transfer
from dragoman.training.checkpoint import Selection
from dragoman.training.progress import ValidationRecord
from dragoman.training.training import Training
from dragoman.training.transfer import origins
from dragoman.version import __version__
from tests import toy
from tests.golden import Golden
from tests.training.test_resuming import result

Assembled = Callable[[Config], Training]
Made = Callable[..., Config]
Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]

BPE = {
    "text.source.tokenizer": {"kind": "bpe", "vocab_size": 290},
    "text.target.tokenizer": {"kind": "bpe", "vocab_size": 290},
}
DEEP = {"model.decoder": {"kind": "rnn", "size": 24, "readout": "deep"}}


def tied(tie: str, dropout: float = 0.0) -> dict[str, Any]:
    """Options with such a tie, and one inventory where that needs one."""
    embedding = {"size": 12, "dropout": dropout, "tie": tie}
    return {**DEEP, "model.embedding": embedding, "text.shared_vocabulary": tie in ("languages", "all")}


CASES: dict[str, dict[str, Any]] = {
    **{f"tie {tie}": tied(tie) for tie in ("none", "output", "languages", "all")},
    **{f"bpe, tie {tie}": {**BPE, **tied(tie)} for tie in ("none", "all")},
    **{f"source {kind}": {"model.embedding.source": kind} for kind in EMBEDDINGS},
    **{
        f"target {kind}": {"model.embedding.target": kind}
        for kind, part in EMBEDDINGS.items()
        if not part.of_sources_only
    },
    **{f"output {kind}": {"model.output": kind} for kind in OUTPUTS},
    "term": {"model.attention.terms": "coverage_embedding"},
}


@pytest.fixture(scope="session")
def other_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of which only some words are those of the toy language."""
    folder = tmp_path_factory.mktemp("others")
    spelled = str.maketrans({"x": "xx", "e": "é"})
    lines = [(f"seven {source}".translate(spelled), f"{target} sept") for source, target in toy.pairs(40, 5, 3)]
    for name in ("train", "dev"):
        toy.write(folder, name, lines)
    return folder


@pytest.fixture
def parent(make_config: Made, tmp_path: Path) -> Callable[..., Path]:
    """A run of one step in the folder `parent`, its weights in float64 and of many sizes."""

    def trained(options: Mapping[str, Any] = {}) -> Path:
        return widened(session.train(make_config({"run": str(tmp_path / "parent"), **options}), quiet=True))

    return trained


def widened(folder: RunFolder) -> Path:
    """Give a run weights in float64 and of many sizes."""
    tensors, note = read_tensors(folder.weights())
    noise = torch.Generator().manual_seed(1)
    wide = {
        name: torch.randn(tensor.shape, generator=noise, dtype=torch.float64) if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    write_tensors(folder.weights(), wide, note)
    return folder.path


@pytest.fixture(scope="module")
def parents(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Runs such as `parent` makes, one for each case, to be left as they are."""
    folder = tmp_path_factory.mktemp("parents")

    @cache
    def trained(case: str) -> Path:
        config = toy.config(corpus, folder / case.replace(" ", "-"), {"training.steps": 1, **CASES[case]})
        return widened(session.train(config, quiet=True))

    return trained


def on(corpus: Path, start: Path, options: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Options of a run that starts from another on this corpus."""
    places = {"data.train": str(corpus / "train"), "data.dev": str(corpus / "dev")}
    return {**places, "training.init_from": str(start), **options}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_same_symbols_take_every_parameter(
    case: str, parents: Callable[[str], Path], make_config: Made, assembled: Assembled
) -> None:
    start = parents(case)
    run = assembled(make_config({**CASES[case], "training.init_from": str(start)}))
    expected, _ = read_tensors(RunFolder(start).weights())
    tensors = weights(run.model)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], tensor.to(tensors[name].dtype)) for name, tensor in expected.items())


@pytest.mark.slow
def test_a_memory_read_as_one_sequence_takes_every_parameter_of_a_run_without(
    parent: Callable[..., Path], make_config: Made, assembled: Assembled
) -> None:
    start = parent(CASES["tie all"])
    memory = {"data.translation_memory": {"kind": "nearest", "threshold": 0.3}, "data.concatenate_sources": True}
    options = {**CASES["tie all"], **memory, "text.vocabulary_from": str(start), "training.init_from": str(start)}
    run = assembled(make_config(options))
    expected, _ = read_tensors(RunFolder(start).weights())
    assert [source.name for source in run.data.sources] == ["en", "memory"]
    tensors = weights(run.model)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], tensor.float()) for name, tensor in expected.items())


def segments(symbol: str, new: Language, old: Language) -> list[str]:
    """How an older language spells a symbol of another in the middle of a text, found without looking at spaces."""
    text = new.text.tokenizer.surfaces(["<unk>", symbol])[1]
    if "\ufffd" in text:
        return []
    before = old.text.encode("\uffff")
    return old.text.encode("\uffff" + text)[len(before) :]


def expected_rows(table: Tensor, new: Language, old: Language) -> Tensor:
    rows = []
    for number, symbol in enumerate(new.vocabulary.symbols(range(len(new.vocabulary)))):
        if number < len(SPECIALS):
            rows.append(table[number])
        elif symbol in old.text.tokenizer.inventory:
            rows.append(table[old.text.tokenizer.inventory.index(symbol) + len(SPECIALS)])
        else:
            ids = [id_ for id_ in old.vocabulary.ids(segments(symbol, new, old)) if id_ != UNK]
            ids = ids or list(range(len(SPECIALS), len(old.vocabulary)))
            rows.append(sum((table[id_] for id_ in ids), torch.zeros_like(table[0])) / len(ids))
    return torch.stack(rows)


ARRANGED = {f"output {kind}" for kind, output in OUTPUTS.items() if output.arranges}


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(CASES.keys() - ARRANGED))
def test_other_symbols_take_their_rows_or_the_mean_of_what_spells_them(
    case: str, parents: Callable[[str], Path], make_config: Made, assembled: Assembled, other_corpus: Path
) -> None:
    start = parents(case)
    run = assembled(make_config(on(other_corpus, start, CASES[case])))
    old, (tensors, _) = Run.load(start), read_tensors(RunFolder(start).weights())
    here, there = (*run.data.sources, run.data.target), (*old.sources, old.target)
    loaded_tensors, letters = weights(run.model), run.model.by_character()
    sides = {**run.model.by_symbol(), **letters}
    for name, value in tensors.items():
        if name in sides:
            new, other = here[sides[name]], there[sides[name]]
            assert isinstance(new, Language)
            assert isinstance(other, Language)
            assert new.vocabulary != other.vocabulary
            value = (expected_letters if name in letters else expected_rows)(value, new, other)
        torch.testing.assert_close(loaded_tensors[name], value.float(), rtol=0, atol=2e-7, msg=name)


def expected_letters(table: Tensor, new: Language, old: Language) -> Tensor:
    """The rows that characters start as: their own, or the mean of all characters."""
    first = len(SPECIALS)
    rows = dict(zip(old.alphabet.characters, table[first:], strict=True))
    assert 0 < len(rows.keys() & set(new.alphabet.characters)) < len(new.alphabet.characters)
    mean = table[first:].mean(0)
    return torch.stack([*table[:first], *(rows.get(letter, mean) for letter in new.alphabet.characters)])


@pytest.mark.parametrize("case", sorted(ARRANGED))
def test_an_arrangement_of_other_symbols_is_told(
    case: str,
    parents: Callable[[str], Path],
    make_config: Made,
    assembled: Assembled,
    other_corpus: Path,
    golden: Golden,
) -> None:
    start = parents(case)
    with pytest.raises(UserError, match=r"^training\.init_from: model\.output") as raised:
        assembled(make_config(on(other_corpus, start, CASES[case])))
    golden(str(raised.value).replace(str(start), "PARENT"))


@pytest.mark.slow
def test_a_run_with_the_full_softmax_goes_on_from_one_with_noise(
    parent: Callable[..., Path], make_config: Made, assembled: Assembled
) -> None:
    start = parent({"model.output": "nce"})
    tensors = weights(assembled(make_config({"training.init_from": str(start)})).model)
    expected, _ = read_tensors(RunFolder(start).weights())
    assert all(torch.equal(tensors[name], tensor.float()) for name, tensor in expected.items())


@pytest.mark.slow
def test_the_mean_is_exact(parent: Callable[..., Path], make_config: Made, other_corpus: Path, tmp_path: Path) -> None:
    """In float64, to the last places."""
    start = parent(CASES["bpe, tie all"])
    config = make_config(on(other_corpus, start, {**CASES["bpe, tie all"], "run": str(tmp_path / "new")}))
    folder = session.train(config, quiet=True)
    new, old = Run.load(folder.path), Run.load(start)
    table = read_tensors(old.weights())[0]["source_encoders.0.embedding.table"]
    model = new.model().double()
    transfer.transfer(model, new.config, (*new.sources, new.target), transfer.InitialWeights.at(str(start)))
    torch.testing.assert_close(
        model.get_parameter("output.weight").detach(), expected_rows(table, new.target, old.target), rtol=0, atol=1e-15
    )


def language(kind: str, lines: list[str], **options: Any) -> Language:
    text = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec(kind, options))
    text.tokenizer.fit(lines, 1)
    return Language("xx", text, Vocabulary(text.tokenizer.inventory))


def spelled(new: Language, old: Language) -> dict[str, list[str]]:
    """For each symbol but the specials, the symbols that it starts as the mean of."""
    names = new.vocabulary.symbols(range(len(new.vocabulary)))
    pairs = zip(names, origins(new, old), strict=True)
    return {name: old.vocabulary.symbols(numbers) for name, numbers in list(pairs)[len(SPECIALS) :]}


def test_a_new_word_starts_as_the_mean_of_its_characters_with_the_space_before_it() -> None:
    old = language("character", ["no on"])
    spelling = spelled(language("word", ["on no, noon x"]), old)
    assert spelling == {
        "on": ["▁", "o", "n"],
        "no": ["▁", "n", "o"],
        "noon": ["▁", "n", "o", "o", "n"],
        "x": ["▁"],
        "\uffed,": [],
    }


def test_a_piece_within_a_word_is_spelled_without_the_mark_of_a_word_that_begins() -> None:
    lines = ["lower slower lowest"] * 3
    old = language("bpe", lines, vocab_size=275)
    new = language("character", ["lower zz"])
    spelling = spelled(new, old)
    assert spelling["l"] == ["l"]
    assert spelling["▁"] == ["▁"]
    assert spelling["z"] == ["<0x7A>"]
    words = spelled(language("word", ["low lower"]), old)
    assert "".join(words["low"]) == "▁low"
    assert len(words["low"]) < len("▁low"), "of pieces"
    whole = language("bpe", lines, vocab_size=285)
    inner = [symbol for symbol in whole.vocabulary.symbols(range(len(whole.vocabulary))) if symbol == "low"]
    for symbol in inner:
        assert "".join(spelled(whole, old)[symbol]) == symbol


def test_a_word_is_spelled_in_words_as_it_stands_there() -> None:
    old = language("word", ["no, on"])
    spelling = spelled(language("character", ["no, x"]), old)
    assert spelling[","] == ["\uffed,"]
    assert spelling["n"] == [], "is no word"


def test_marks_and_bytes_within_a_character_are_known_by_themselves_alone() -> None:
    mark, other = Mark("<2de>"), Mark("<2fr>")
    text = language("bpe", ["aé"] * 3, vocab_size=262).text
    plain = Language("xx", text, Vocabulary(text.tokenizer.inventory, [mark]))
    new = Language("xx", text, Vocabulary(text.tokenizer.inventory, [mark, other]))
    rows = origins(new, plain)
    assert rows[len(SPECIALS)] == [len(SPECIALS)]
    assert rows[len(SPECIALS) + 1] == []
    assert rows[len(SPECIALS) + 2] == [len(SPECIALS) + 1]
    characters = language("character", ["é"])
    assert all(not spelled(plain, characters)[f"<0x{byte:02X}>"] for byte in "é".encode())


def test_letters_are_spelled_in_the_case_of_the_older_run() -> None:
    old = language("character", ["abc"])
    text = TextPipeline(lowercase=True, pretokenizer="punctuation", tokenizer=Spec("character"))
    text.tokenizer.restore(old.text.tokenizer.learned())
    small = Language("xx", text, old.vocabulary)
    assert spelled(language("character", ["A"]), old) == {"A": []}
    assert spelled(language("character", ["A"]), small) == {"A": ["a"]}


@pytest.fixture
def straight(parent: Callable[..., Path], make_config: Made, other_corpus: Path, tmp_path: Path) -> dict[str, Any]:
    """Options of a run that starts from another and trains only a part."""
    options = {"training.freeze": ["source_encoders.*", "output.bias"], "training.epochs": 3, "training.steps": None}
    return on(other_corpus, parent(), options)


@pytest.mark.slow
def test_a_started_run_that_was_stopped_goes_on_without_the_other_run(
    straight: dict[str, Any], make_config: Made, meddle: Meddle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bits, of weights, moments and metrics."""
    monkeypatch.setattr(trainer, "LOG_EVERY", 3)
    whole = result(session.train(make_config({**straight, "run": str(tmp_path / "whole")}), quiet=True))

    def interrupt(loss: Loss, model: Seq2Seq) -> Loss:
        signal.raise_signal(signal.SIGINT)
        return loss

    meddle({4: interrupt})
    with pytest.raises(KeyboardInterrupt, match="step 4"):
        session.train(make_config(straight), quiet=True)
    meddle({})
    shutil.rmtree(straight["training.init_from"])
    assert result(session.train(make_config(straight), quiet=True)) == whole


@pytest.mark.slow
def test_what_is_frozen_stays_and_the_rest_takes_the_step_that_it_would_have_taken(
    make_config: Made, assembled: Assembled, tmp_path: Path
) -> None:
    def after(name: str, frozen: list[str]) -> dict[str, Tensor]:
        options = {"run": str(tmp_path / name), "training.freeze": frozen, "training.clip_norm": None}
        return read_tensors(session.train(make_config(options), quiet=True).weights("model-last"))[0]

    before = weights(assembled(make_config()).model)
    free, frozen = after("free", []), after("frozen", ["source_encoders.0.encoder.*", "output.weight"])
    held = {name for name in before if torch.equal(before[name], frozen[name])}
    assert held == {name for name in before if name.startswith("source_encoders.0.encoder.") or name == "output.weight"}
    assert all(torch.equal(free[name], frozen[name]) for name in before.keys() - held)
    assert not any(torch.equal(before[name], tensor) for name, tensor in free.items())


def test_the_optimizer_gets_what_is_trained_alone(make_config: Made, assembled: Assembled) -> None:
    run = assembled(make_config({"training.freeze": "source_encoders.*", "training.penalties": "fertility"}))
    trained = {id(parameter) for group in run.optimizer.param_groups for parameter in group["params"]}
    names = {name for name, parameter in run.trained_modules.named_parameters() if id(parameter) in trained}
    assert names == {
        name for name, _ in run.trained_modules.named_parameters() if not name.startswith("model.source_encoders.")
    }
    assert any(name.startswith("objective.") for name in names)


def test_a_tied_table_is_frozen_by_any_of_its_names(make_config: Made, assembled: Assembled) -> None:
    run = assembled(make_config({**CASES["tie all"], "training.freeze": "output.weight"}))
    assert [name for name, parameter in run.model.named_parameters() if not parameter.requires_grad] == [
        "source_encoders.0.embedding.table"
    ]


@pytest.mark.slow
def test_both_directions_start_from_both(
    parent: Callable[..., Path], make_config: Made, assembled: Assembled, golden: Golden
) -> None:
    both = {"training.objective": "agreement", "training.freeze": "output.bias"}
    start = parent(both)
    config = make_config({**both, "training.init_from": str(start)})
    run = assembled(config)
    for direction, folder in zip(run.directions, (start, start / "reverse"), strict=True):
        expected, _ = read_tensors(folder / "model.safetensors")
        assert all(torch.equal(value, expected[name].float()) for name, value in weights(direction.model).items())
        assert not direction.model.get_parameter("output.bias").requires_grad
    shutil.rmtree(run.folder.path)
    trained = session.train(config, quiet=True)
    assert trained.ancestor.startswith(f"{start}, model.safetensors (SHA-256 ")
    assert trained.reverse.ancestor.startswith(f"{start / 'reverse'}, model.safetensors (SHA-256 ")
    shutil.rmtree(start / "reverse")
    with pytest.raises(UserError) as error:
        session.train(
            make_config({**both, "training.init_from": str(start), "run": f"{run.folder.path}-2"}), quiet=True
        )
    golden(str(error.value))


@pytest.mark.slow
def test_other_weights_of_a_run_are_named_by_their_file(
    parent: Callable[..., Path], make_config: Made, assembled: Assembled
) -> None:
    best = parent() / "model-best.safetensors"
    run = assembled(make_config({"training.init_from": str(best)}))
    assert all(torch.equal(value, read_tensors(best)[0][name]) for name, value in weights(run.model).items())


@pytest.mark.slow
def test_what_a_run_descends_from_is_told(
    parent: Callable[..., Path],
    make_config: Made,
    other_corpus: Path,
    capsys: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    start = parent()
    before = {path: path.read_bytes() for path in start.rglob("*") if path.is_file()}
    folder = session.train(
        make_config(on(other_corpus, start, {"model.decoder": {"kind": "rnn", "size": 24, "readout": "deep"}}))
    )
    golden(next(line for line in capsys.readouterr().err.splitlines() if line.startswith("begins with")))
    assert {path: path.read_bytes() for path in start.rglob("*") if path.is_file()} == before
    digest = hashlib.sha256((start / "model.safetensors").read_bytes()).hexdigest()
    note = json.loads(folder.mark.read_text("utf-8"))["start"]
    assert note == {"run": str(start), "weights": "model.safetensors", "version": __version__, "sha256": digest}
    assert folder.ancestor == f"{start}, model.safetensors (SHA-256 {digest}), written by dragoman {__version__}"
    assert f"| begun with the weights of | {folder.ancestor} |" in folder.card.read_text("utf-8")
    assert ("begun with", folder.ancestor) in facts(Run.load(folder.path))
    assert not RunFolder(start).ancestor
    assert "begun with" not in RunFolder(start).card.read_text("utf-8")


WRONG: dict[str, dict[str, Any]] = {
    "sizes": {"model.embedding.size": 6},
    "parts": {"model.bridge": "zero"},
    "ties": tied("output"),
    "terms": {"model.attention.terms": "coverage_embedding"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_weights_of_another_model_are_told_with_what_to_do(
    case: str, parent: Callable[..., Path], make_config: Made, golden: Golden
) -> None:
    start = parent()
    with pytest.raises(UserError, match=r"^training\.init_from: ") as error:
        session.train(make_config({**WRONG[case], "training.init_from": str(start)}), quiet=True)
    golden(str(error.value))
    assert not (start.parent / "run").exists()


def test_a_run_of_fewer_sources_is_told(
    parent: Callable[..., Path], make_config: Made, corpus: Path, tmp_path: Path, golden: Golden
) -> None:
    start = parent()
    for part in ("train", "dev"):
        for name, of in (("en", "en"), ("de", "en"), ("fr", "fr")):
            shutil.copy(corpus / f"{part}.{of}", tmp_path / f"{part}.{name}")
    with pytest.raises(UserError) as error:
        session.train(make_config(on(tmp_path, start, {"data.source": ["en", "de"]})), quiet=True)
    golden(str(error.value))


@pytest.mark.slow
def test_a_run_to_start_from_that_is_none_is_told(
    parent: Callable[..., Path], make_config: Made, tmp_path: Path, golden: Golden
) -> None:
    start = parent()
    config = make_config({"training.init_from": str(tmp_path / "run" / "model-best.safetensors")})
    for place in (tmp_path / "nowhere", tmp_path, start / "config.yaml", start / "model-worst.safetensors"):
        with pytest.raises(UserError) as error:
            session.train(make_config({"training.init_from": str(place)}), quiet=True)
        golden(str(error.value))
    shutil.copytree(start, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    (tmp_path / "run" / "model.safetensors").unlink()
    with pytest.raises(UserError) as error:
        session.train(config, quiet=True)
    golden(str(error.value))
    for path in start.glob("model*"):
        path.unlink()
    with pytest.raises(UserError) as error:
        session.train(make_config({"training.init_from": str(start), "run": str(tmp_path / "new")}), quiet=True)
    golden(str(error.value))


@pytest.mark.parametrize("patterns", [["source_encoders.*", "encoder.*"], ["*"], ["otput.bias"], ["*", "nothing"]])
def test_patterns_that_fit_nothing_or_everything_are_told(
    patterns: list[str], make_config: Made, golden: Golden
) -> None:
    with pytest.raises(UserError, match=r"training\.freeze") as error:
        make_config({"training.freeze": patterns})
    golden(str(error.value))


def shared(start: Path, options: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Options of a short run whose final weights have a share of those that it starts from."""
    return {"training.init_from": str(start), "training.init_interpolation": 0.25, "training.epochs": 3, **options}


@pytest.mark.slow
@pytest.mark.parametrize("average", [1, 3])
def test_a_share_of_the_start_is_in_the_final_weights(
    average: int, parent: Callable[..., Path], make_config: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**CASES["tie all"], "training.steps": None, "training.average_checkpoints.count": average}
    start = parent(CASES["tie all"])
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    own = session.train(make_config({**options, **shared(start), "training.init_interpolation": 0}), quiet=True)
    mixed = session.train(make_config({**options, **shared(start), "run": f"{own.path} mixed"}), quiet=True)
    begun, _ = read_tensors(RunFolder(start).weights())
    trained, note = read_tensors(own.weights())
    tensors, told_of = read_tensors(mixed.weights())
    for name, tensor in trained.items():
        wanted = 0.75 * tensor.double() + 0.25 * begun[name].float().double()
        torch.testing.assert_close(tensors[name], wanted.float(), rtol=0, atol=0)
    assert told_of == {"init_interpolation": 0.25, **note}
    assert describe_weights(told_of) == f"0.25 of those that training began with, and 0.75 of {describe_weights(note)}"
    assert not own.weights("model-start").exists()


@pytest.mark.slow
def test_a_share_of_the_start_that_makes_it_worse_is_left_out(
    parent: Callable[..., Path], make_config: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = parent()
    own = session.train(make_config({"training.init_from": str(start), "training.epochs": 3}), quiet=True)
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda one, other, higher: False)
    mixed = session.train(make_config({**shared(start), "run": str(tmp_path / "mixed")}), quiet=True)
    trained, tensors = read_tensors(own.weights())[0], read_tensors(mixed.weights())[0]
    assert all(torch.equal(tensors[name], tensor) for name, tensor in trained.items())
    words = describe_weights(read_note(mixed.weights()))
    assert words.startswith(
        f"{describe_weights(read_note(own.weights()))}; with 0.25 of those that training began with it was "
    )
    assert re.search(r"worse \(bleu \d+\.\d\d, loss \d+\.\d{4}\)$", words)
    assert words in mixed.card.read_text("utf-8")
    for name in ("model", "model-start"):
        assert Run.load(mixed.path).model(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "loss", "kept"),
    [
        (29.5, 2.1, False),
        (29.5, 2.0, True),
        (29.3, 1.9, False),  # by more than 2 %
        (30.0, 2.1, False),
        (30.1, 2.1, True),
        (31.0, 1.9, True),
    ],
)
def test_a_share_of_the_start_is_left_out_if_the_score_is_much_worse_or_the_loss_is_worse_too(
    value: float,
    loss: float,
    kept: bool,
    parent: Callable[..., Path],
    make_config: Made,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = parent()
    measured = iter([ValidationRecord(30.0, 2.0, 3), ValidationRecord(value, loss, 3)])
    monkeypatch.setattr(finishing, "deciding_values", lambda *arguments: next(measured))
    note = read_note(
        session.train(make_config({**shared(start), "training.average_checkpoints.count": 1}), quiet=True).weights()
    )
    assert ("init_interpolation" in note) == kept
    assert ("worse_with_start" in note) != kept


@pytest.mark.slow
def test_the_best_share_of_the_start_is_taken(
    parent: Callable[..., Path], make_config: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = parent()
    scores = iter([(30.0, 2.0), (31.0, 2.0), (32.0, 2.2), (32.0, 2.1), (29.0, 1.9)])  # without a share, then with each
    monkeypatch.setattr(finishing, "deciding_values", lambda *arguments: ValidationRecord(*next(scores), 3))
    options = {"training.init_interpolation": [0.2, 0.4, 0.6, 0.8], "training.average_checkpoints.count": 1}
    folder = session.train(make_config({**shared(start), **options}), quiet=True)
    begun, trained = read_tensors(RunFolder(start).weights())[0], read_tensors(folder.weights("model-best"))[0]
    tensors, note = read_tensors(folder.weights())
    assert note["init_interpolation"] == 0.6
    for name, tensor in tensors.items():
        wanted = 0.4 * trained[name].double() + 0.6 * begun[name].float().double()
        torch.testing.assert_close(tensor, wanted.float())
    assert Run.load(folder.path).model("model")


@pytest.mark.slow
def test_both_directions_take_their_share(
    parent: Callable[..., Path], make_config: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"training.objective": "agreement"}
    start = parent(both)
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    folder = session.train(
        make_config({**both, **shared(start, {"training.average_checkpoints.count": 1})}), quiet=True
    )
    for mine, its in ((folder, RunFolder(start)), (folder.reverse, RunFolder(start).reverse)):
        begun, trained = read_tensors(its.weights())[0], read_tensors(mine.weights("model-best"))[0]
        for name, tensor in read_tensors(mine.weights())[0].items():
            wanted = 0.75 * trained[name].double() + 0.25 * begun[name].float().double()
            torch.testing.assert_close(tensor, wanted.float(), rtol=0, atol=0)


@pytest.mark.slow
def test_a_killed_run_takes_the_same_share(
    parent: Callable[..., Path], make_config: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = parent()
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    whole = session.train(make_config({**shared(start), "run": str(tmp_path / "whole")}), quiet=True)
    config = make_config({**shared(start), "run": str(tmp_path / "cut")})
    with monkeypatch.context() as patch:
        patch.setattr(Selection, "mix_with_start", _killed)
        with pytest.raises(KeyboardInterrupt):
            session.train(config, quiet=True)
    shutil.rmtree(start)
    cut = session.train(config, quiet=True)
    assert cut.weights().read_bytes() == whole.weights().read_bytes()


def _killed(*arguments: Any) -> None:
    raise KeyboardInterrupt


def test_a_share_of_no_start_is_told(make_config: Made, golden: Golden) -> None:
    with pytest.raises(UserError) as error:
        make_config({"training.init_interpolation": 0.5})
    golden(str(error.value))


@pytest.mark.slow
def test_a_run_may_take_the_symbols_of_another(
    parent: Callable[..., Path], make_config: Made, other_corpus: Path, tmp_path: Path
) -> None:
    for case in ("tie none", "bpe, tie all"):
        start, options = parent({**CASES[case], "run": str(tmp_path / case)}), CASES[case]
        run = str(tmp_path / f"{case} on")
        taken = {**on(other_corpus, start, options), "run": run, "text.vocabulary_from": str(start)}
        new, old = Run.load(session.train(make_config(taken), quiet=True).path), Run.load(start)
        assert new.target.vocabulary == old.target.vocabulary
        assert new.target.text.tokenizer.learned() == old.target.text.tokenizer.learned()
        assert new.source.vocabulary == old.source.vocabulary
        assert new.target.counts != old.target.counts


@pytest.mark.slow
def test_symbols_that_the_other_run_has_not_are_counted(
    parent: Callable[..., Path],
    make_config: Made,
    other_corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start, options = parent({**CASES["tie none"], "run": str(tmp_path / "start")}), CASES["tie none"]
    config = make_config(
        {**on(other_corpus, start, options), "run": str(tmp_path / "on"), "text.vocabulary_from": str(start)}
    )
    session.train(config)
    line = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("begins with"))
    dataset = Dataset.prepare(config.data, config.text, 1, tmp_path / "on")
    languages = zip(("en", "fr"), (Run.load(start).source, Run.load(start).target), strict=True)
    expected = []
    for number, (name, side) in enumerate(languages):
        words = [word for pair in read_pairs(config.data.train, "en", "fr") for word in pair[number].split()]
        lacking = len([number for number in side.vocabulary.ids(words) if number == UNK])
        expected += [f"{lacking:,} of {len(words):,} symbols of {name} are unknown"] if lacking else []
    assert list(dataset.unknown) == expected != []
    assert line.endswith("; ".join(expected))


@pytest.mark.slow
def test_symbols_that_changed_before_the_first_step_are_taken_anew(
    parent: Callable[..., Path], make_config: Made, other_corpus: Path, assembled: Assembled
) -> None:
    start = parent()
    config = make_config({"text.vocabulary_from": str(start)})
    first = assembled(config).data.target.vocabulary
    shutil.rmtree(start)
    session.train(make_config({"run": str(start), "data.train": str(other_corpus / "train")}), quiet=True)
    assert assembled(config).data.target.vocabulary == Run.load(start).target.vocabulary != first


@pytest.mark.parametrize(
    "options",
    [
        {"text.target.lowercase": True},
        {"text.source.tokenizer": "character"},
        {"text.shared_vocabulary": True},
        {"text.vocabulary_from": "nowhere"},
    ],
)
def test_symbols_of_another_kind_are_told(
    options: dict[str, Any], parent: Callable[..., Path], make_config: Made, golden: Golden
) -> None:
    start = parent()
    with pytest.raises(UserError) as error:
        session.train(make_config({"text.vocabulary_from": str(start), **options}), quiet=True)
    golden(str(error.value))
