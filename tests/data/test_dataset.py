"""From files to batches: prepared once, whole or not at all, the same whatever the order of use."""

import gzip
import itertools
import multiprocessing
import os
import re
import signal
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.components import Spec
from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import Example
from dragoman.corpus.filters import FilterReport
from dragoman.data import learning, preparation, preprocessor, store
from dragoman.data.batching import BatchPlan, prefetch
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.data.vocabulary import EOS, UNK, Vocabulary
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from tests.golden import Golden

SOURCE = ["the cat sleeps .", "a dog isn't here", "", "Cats and dogs", "<unk> <s> </s>", "one two three"] * 5
TARGET = ["die Katze schläft .", "kein Hund hier", "leer", "", "<unk> <s> <pad>", "eins zwei drei"] * 5
HERE = {"source": "en", "target": "de", "train": "train", "dev": "dev"}
KEPT = [row for row in range(30) if row % 6 not in (2, 3)]


def corpus(folder: Path, source: list[str] = SOURCE, target: list[str] = TARGET) -> DataConfig:
    folder.mkdir(exist_ok=True)
    for name in ("train", "dev"):
        (folder / f"{name}.en").write_text("".join(line + "\n" for line in source), encoding="utf-8")
        (folder / f"{name}.de").write_text("".join(line + "\n" for line in target), encoding="utf-8")
    return DataConfig.model_validate(
        {"source": "en", "target": "de", "train": str(folder / "train"), "dev": str(folder / "dev")}
    )


def text(unit: object = "word", *, joint: bool = True, target: Mapping[str, object] | None = None) -> TextConfig:
    """The target is like the source but for the given options."""
    language = {"tokenizer": unit}
    return TextConfig.model_validate(
        {"shared_vocabulary": joint, "source": language, "target": {**language, **(target or {})}}
    )


def spelled(data: Dataset, rows: list[int], epoch: int = 0) -> list[tuple[str, str]]:
    """The texts in a batch, whose sentences must end with EOS."""
    batch = data.batch(np.array(rows), epoch)
    sides = []
    for sequence, pipeline, vocabulary in (
        (batch.sources[0], data.sources[0].text, data.sources[0].vocabulary),
        (batch.target, data.target.text, data.target.vocabulary),
    ):
        sentences = [ids[mask].tolist() for ids, mask in zip(sequence.ids, sequence.mask, strict=True)]
        assert all(sentence[-1] == EOS and EOS not in sentence[:-1] for sentence in sentences)
        sides.append([pipeline.decode(vocabulary.symbols(sentence[:-1])) for sentence in sentences])
    return list(zip(*sides, strict=True))


TOKENIZERS: list[Mapping[str, Any]] = [
    {"kind": "word"},
    {"kind": "character"},
    {"kind": "bpe", "vocab_size": 310},
    {"kind": "bpe", "vocab_size": 310, "dropout": 0.5},
    {"kind": "unigram", "vocab_size": 295},
    {"kind": "unigram", "vocab_size": 295, "alpha": 0.5},
]
NAMES = ["word", "character", "bpe", "bpe-dropout", "unigram", "unigram-sampled"]


@pytest.mark.parametrize("unit", TOKENIZERS, ids=NAMES)
@pytest.mark.parametrize("joint", [True, False])
def test_batches_spell_the_corpus(tmp_path: Path, unit: Mapping[str, Any], joint: bool) -> None:
    unit = unit if joint or "vocab_size" not in unit else {**unit, "vocab_size": 280}
    data = Dataset.prepare(corpus(tmp_path), text(unit, joint=joint), 1, tmp_path / "run")
    assert spelled(data, list(range(len(KEPT)))) == [(SOURCE[row], TARGET[row]) for row in KEPT]
    assert data.batch(np.array([2, 3]), 0).rows.tolist() == [2, 3]
    assert data.report == FilterReport(30, 20, 10, 0, 0)
    assert data.dev == [Example((SOURCE[row],), TARGET[row]) for row in KEPT]
    assert (data.sources[0].vocabulary == data.target.vocabulary) is joint


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("unit", TOKENIZERS, ids=NAMES)
def test_the_symbols_of_a_side_are_counted_in_what_is_trained_on(
    tmp_path: Path, unit: Mapping[str, Any], joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what filters leave out, in as many blocks as there are; ends and unknown symbols too."""
    monkeypatch.setattr(preprocessor, "BLOCK", 7)
    unit = unit if joint or "vocab_size" not in unit else {**unit, "vocab_size": 280}
    data = Dataset.prepare(corpus(tmp_path), text(unit, joint=joint), 1, tmp_path / "run")
    for language, lines in ((data.sources[0], SOURCE), (data.target, TARGET)):
        counts = Counter(number for row in KEPT for number in language.ids(lines[row]))
        assert language.symbols.counts == tuple(counts[number] for number in range(len(language.vocabulary)))
        assert language.symbols.counts[EOS] == len(KEPT)
        assert language.symbols.spellings == tuple(language.vocabulary.symbols(range(len(language.symbols))))


def test_what_is_kept_of_each_corpus_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read one after another, in as many blocks as there are, and no block is of two."""
    settings = corpus(tmp_path)
    (whole,) = settings.train
    for name in ("en", "de"):
        lines = Path(f"{whole}.{name}").read_text("utf-8").splitlines(keepends=True)
        (tmp_path / f"some.{name}").write_text("".join(lines[:10]), "utf-8")
        (tmp_path / f"none.{name}").write_text("\n\n", "utf-8")
    several = settings.model_copy(
        update={"train": (whole, *(str(tmp_path / name) for name in ("some", "none")), whole)}
    )
    one = Dataset.prepare(several, text("word"), 1, tmp_path / "one")
    monkeypatch.setattr(preprocessor, "BLOCK", 7)
    other = Dataset.prepare(several, text("word"), 1, tmp_path / "other")
    parts = [len(KEPT), sum(row < 10 for row in KEPT), 0, len(KEPT)]
    assert one.train.notes["parts"] == other.train.notes["parts"] == parts
    rows = np.arange(sum(parts))
    assert one.batch(rows, 0).target.ids.equal(other.batch(rows, 0).target.ids)


@pytest.mark.spec("D10")
def test_one_joint_inventory_or_one_for_each_language(tmp_path: Path) -> None:
    settings = corpus(tmp_path)
    unit = {"kind": "bpe", "vocab_size": 290}
    joint = Dataset.prepare(settings, text(unit), 1, tmp_path / "joint")
    apart = Dataset.prepare(settings, text(unit, joint=False), 1, tmp_path / "apart")
    assert joint.sources[0].text.tokenizer.inventory == joint.target.text.tokenizer.inventory
    assert "ä" in joint.sources[0].text.tokenizer.inventory
    assert "ä" not in apart.sources[0].text.tokenizer.inventory
    assert "ä" in apart.target.text.tokenizer.inventory
    assert len(joint.sources[0].vocabulary) == len(apart.sources[0].vocabulary) == 290 + 4


def test_sides_of_a_joint_inventory_may_differ_in_case_and_dropout(tmp_path: Path) -> None:
    options = {"lowercase": True, "tokenizer": {"kind": "bpe", "vocab_size": 290, "dropout": 0.5}}
    data = Dataset.prepare(
        corpus(tmp_path), text({"kind": "bpe", "vocab_size": 290}, target=options), 1, tmp_path / "run"
    )
    assert data.sources[0].vocabulary == data.target.vocabulary
    assert spelled(data, [0]) == [(SOURCE[0], TARGET[0].lower())]
    assert data.sources[0].text.encode("the cat", 1) == data.sources[0].text.encode("the cat")
    assert len({tuple(data.target.text.encode("die katze", seed)) for seed in range(9)}) > 1


def test_a_default_and_the_same_spelled_out_are_the_same_units(tmp_path: Path) -> None:
    spelled_out = text("word", target={"tokenizer": {"kind": "word", "vocab_size": 50_000}})
    data = Dataset.prepare(corpus(tmp_path), spelled_out, 1, tmp_path)
    assert data.sources[0].vocabulary == data.target.vocabulary


def test_a_corpus_that_cannot_be_prepared_leaves_the_old_store(tmp_path: Path, golden: Golden) -> None:
    settings = corpus(tmp_path)
    Dataset.prepare(settings, text(), 1, tmp_path / "run")
    with pytest.raises(UserError) as raised:
        Dataset.prepare(settings, text({"kind": "bpe", "vocab_size": 9000}), 1, tmp_path / "run")
    golden(str(raised.value))
    assert len(Dataset.prepare(settings, text(), 1, tmp_path / "run").train) == 20


@pytest.mark.spec("D1")
def test_words_beyond_the_limit_become_unknown(tmp_path: Path) -> None:
    data = Dataset.prepare(corpus(tmp_path), text({"kind": "word", "vocab_size": 3}), 1, tmp_path / "run")
    assert len(data.sources[0].vocabulary) == 3 + 4
    assert UNK in data.batch(np.arange(3), 0).sources[0].ids


def test_a_vocabulary_without_symbols_is_told(tmp_path: Path) -> None:
    unit = {"kind": "word", "minimum_frequency": 1000}
    with pytest.raises(UserError, match=r"text: no symbol of .* is frequent enough to have a place in the vocabulary"):
        Dataset.prepare(corpus(tmp_path), text(unit), 1, tmp_path / "run")
    assert not (tmp_path / "run" / "data").exists()


def test_pairs_are_filtered_by_symbols(tmp_path: Path) -> None:
    settings = corpus(tmp_path, ["a b c d", "a b c", "a b c", "   "], ["A B C", "A", "A B", "A"])
    settings = settings.model_copy(update={"max_length": 3, "max_ratio": 2.0})
    data = Dataset.prepare(settings, text(), 1, tmp_path / "run")
    assert data.report == FilterReport(4, 1, empty=1, too_long=1, ratio=1)
    assert data.judged == {"en-de": FilterReport(4, 3, empty=1, too_long=0, ratio=0)}
    assert [example.target for example in data.dev] == ["A B C", "A", "A B"]
    assert spelled(data, [0]) == [("a b c", "A B")]


def test_a_context_of_any_length_leaves_its_pair_in(tmp_path: Path) -> None:
    """One that is too long is missing."""
    settings = corpus(tmp_path, ["a", "b", "c"], ["A", "B", "C"])
    for part in ("train", "dev"):
        (tmp_path / f"{part}.context").write_text("x y z\nx y z x\n\n", "utf-8")
    settings = settings.model_copy(update={"source": ("en", "context"), "max_length": 3, "max_ratio": 2.0})
    data = Dataset.prepare(settings, text(), 1, tmp_path / "run")
    assert data.report == FilterReport(3, 3, empty=0, too_long=0, ratio=0)
    assert data.batch(np.arange(3), 0).sources[1].mask.sum(1).tolist() == [4, 0, 0]


def test_lines_are_counted_as_many_as_are_read(tmp_path: Path) -> None:
    data, pipeline = corpus(tmp_path), TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("word"))
    for sides in ((pipeline, pipeline), (pipeline, None), (None, pipeline)):
        lines = learning.InventoryTexts(data, sides)
        assert len(lines) == len(list(lines)) == 30 * (2 - sides.count(None))


def test_dropout_depends_on_seed_epoch_and_row_alone(tmp_path: Path) -> None:
    unit = {"kind": "bpe", "vocab_size": 310, "dropout": 0.5}
    settings = corpus(tmp_path)
    data = Dataset.prepare(settings, text(unit), 1, tmp_path / "run")

    def ids(data: Dataset, rows: list[int], epoch: int) -> dict[int, list[int]]:
        batch = data.batch(np.array(rows), epoch).sources[0]
        return {row: own[mask].tolist() for row, own, mask in zip(rows, batch.ids, batch.mask, strict=True)}

    rows = list(range(20))
    forwards = ids(data, rows, 1)
    singly = {row: ids(data, [row], 1)[row] for row in reversed(rows)}
    ahead = dict(item for part in prefetch((ids(data, [row], 1) for row in rows), 2) for item in part.items())
    assert forwards == singly == ahead
    assert ids(data, rows, 2) != forwards
    again = Dataset.prepare(settings, text(unit), 2, tmp_path / "other")
    assert ids(again, rows, 1) != forwards
    seed = zlib.crc32(b"1:1:source:0")
    assert forwards[0][:-1] == data.sources[0].vocabulary.ids(data.sources[0].text.encode(SOURCE[0], seed))


def aligned(folder: Path, links: list[str]) -> DataConfig:
    """The corpus, shortened to so many pairs, with these links."""
    settings = corpus(folder, SOURCE[: len(links)], TARGET[: len(links)])
    (folder / "train.en-de.align").write_text("".join(line + "\n" for line in links), encoding="utf-8")
    return settings.model_copy(update={"alignments": True})


# "the cat sleeps ." - "die Katze schläft .", "a dog isn't here" - "kein Hund hier"; two pairs are left out.
LINKS = ["0-0 1-1 2?2 3-3", "0-0 1-1 2-0 3-2", "", "", "", "2-2 0-0 1-1 0-1"]


@pytest.mark.parametrize("unit", TOKENIZERS, ids=NAMES)
def test_links_between_words_become_links_between_their_symbols(tmp_path: Path, unit: Mapping[str, Any]) -> None:
    data = Dataset.prepare(aligned(tmp_path, LINKS), text(unit), 1, tmp_path / "run")
    kept = [row for row in range(6) if row in KEPT]
    for epoch in (0, 1):
        batch = data.batch(np.arange(4), epoch)
        assert batch.links is not None
        assert batch.links.shape == (4, batch.target.ids.size(1), batch.sources[0].ids.size(1))
        for row, links in enumerate(batch.links):
            words = [
                language.text.words(language.vocabulary.symbols(side.ids[row][side.mask[row]].tolist()[:-1])).word_of
                for language, side in ((data.sources[0], batch.sources[0]), (data.target, batch.target))
            ]
            expected = {
                (t, s)
                for s, source in enumerate(words[0])
                for t, target in enumerate(words[1])
                if re.search(rf"\b{source}[-?]{target}\b", LINKS[kept[row]])
            }
            assert {(t, s) for t, s in links.nonzero().tolist()} == expected
            assert expected or not LINKS[kept[row]]


def test_links_count_words_as_a_pretokenizer_does(tmp_path: Path) -> None:
    """In Chinese, it takes a clause for one, whatever the symbols of the model are."""
    settings = corpus(tmp_path, ["狗吃，书"] * 3, ["a b c"] * 3)
    (tmp_path / "train.en-de.align").write_text("0-0 2-2\n" * 3, encoding="utf-8")
    settings = settings.model_copy(update={"alignments": True})
    batch = Dataset.prepare(settings, text("character"), 1, tmp_path / "run").batch(np.arange(1), 0)
    assert batch.links is not None
    ends = {source for target, source in batch.links[0].nonzero().tolist() if target == 0}
    assert ends == {0, 1}


def test_a_corpus_without_links_has_none_in_its_batches(tmp_path: Path) -> None:
    assert Dataset.prepare(corpus(tmp_path), text(), 1, tmp_path / "run").batch(np.arange(2), 0).links is None


def test_other_links_are_prepared_anew(tmp_path: Path) -> None:
    data = Dataset.prepare(aligned(tmp_path, LINKS), text(), 1, tmp_path / "run")
    assert data.train.columns["links"][3].tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    again = Dataset.prepare(aligned(tmp_path, [*LINKS[:5], "0-0"]), text(), 1, tmp_path / "run")
    assert again.train.columns["links"][3].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (
            ["0-0", "0-3"],
            r"train\.en-de\.align:2: the link 0-3 is out of range for the sentence pair, which has 4 and 3 words",
        ),
        (["0-0", "0-0", "1-0"], r"train\.en-de\.align:3: the link 1-0 is out of range for the sentence pair"),
        (["0-0", "", "", "0:0"], r"train\.en-de\.align:4: '0:0' is not a link"),
    ],
)
def test_links_past_the_words_and_other_faults_are_told(tmp_path: Path, links: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Dataset.prepare(aligned(tmp_path, links), text({"kind": "bpe", "vocab_size": 280}), 1, tmp_path / "run")


def test_plans_and_batches_fit_together(tmp_path: Path) -> None:
    data = Dataset.prepare(corpus(tmp_path), text(), 1, tmp_path / "run")
    source, target = data.train.columns["source"], data.train.columns["target"]
    for rows in BatchPlan((source.offsets,), target.offsets, 30, "tokens", 1, 0).batches():
        batch = data.batch(rows, 0)
        assert max(batch.sources[0].ids.numel(), batch.target.ids.numel()) <= 30
        assert batch.target.mask.sum(1).tolist() == target.lengths[rows].tolist()


def test_what_is_prepared_is_used_again(tmp_path: Path) -> None:
    settings = corpus(tmp_path)
    first = Dataset.prepare(settings, text(), 1, tmp_path / "run")
    header = tmp_path / "run" / "data" / "header.json"
    modified = header.stat().st_mtime_ns
    moved = settings.model_copy(update={"dev": str(tmp_path / "train")})
    again = Dataset.prepare(moved, text(), 1, tmp_path / "run")
    assert header.stat().st_mtime_ns == modified
    assert again.report == first.report
    assert again.sources[0].vocabulary == first.sources[0].vocabulary
    assert spelled(again, [0, 1]) == spelled(first, [0, 1])


@pytest.mark.parametrize("name", ["target.json", "target.tokenizer", "source.vocabulary", "source.counts"])
def test_what_a_killed_removal_took_is_learned_anew(tmp_path: Path, name: str) -> None:
    settings = corpus(tmp_path)
    first = Dataset.prepare(settings, text("character"), 1, tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    again = Dataset.prepare(settings, text("character"), 1, tmp_path / "run")
    assert (tmp_path / "run" / name).is_file()
    assert spelled(again, [0, 1]) == spelled(first, [0, 1])


@pytest.mark.parametrize("name", ["train.en", "header.json"])
def test_a_folder_that_is_no_store_stays(tmp_path: Path, name: str) -> None:
    """A user's own `data`, or a user's files in it."""
    settings, folder = corpus(tmp_path), tmp_path / "run" / "data"
    if name != "header.json":
        Dataset.prepare(settings, text(), 1, tmp_path / "run")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text('{"mine": 1}', "utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UserError, match=re.escape(str(folder))):
        Dataset.prepare(settings, text("character"), 1, tmp_path / "run")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("change", ["data", "text", "seed", "files", "time"])
def test_whatever_changes_it_is_prepared_anew(tmp_path: Path, change: str) -> None:
    settings, units, seed = corpus(tmp_path), text(), 1
    Dataset.prepare(settings, units, seed, tmp_path / "run")
    modified = (tmp_path / "run" / "data" / "header.json").stat().st_mtime_ns
    if change == "data":
        settings = settings.model_copy(update={"max_length": 3})
    elif change == "text":
        units = text("character")
    elif change == "seed":
        seed = 2
    elif change == "files":
        corpus(tmp_path, [*SOURCE, "more"], [*TARGET, "mehr"])
    else:
        os.utime(tmp_path / "train.en", ns=(0, time.time_ns() + 10**9))
    data = Dataset.prepare(settings, units, seed, tmp_path / "run")
    assert (tmp_path / "run" / "data" / "header.json").stat().st_mtime_ns != modified
    assert data.report.pairs == 30 + (change == "files")


def test_a_truncated_store_is_told_and_named(tmp_path: Path, golden: Golden) -> None:
    settings = corpus(tmp_path)
    Dataset.prepare(settings, text(), 1, tmp_path / "run")
    values = tmp_path / "run" / "data" / "target.values"
    values.write_bytes(values.read_bytes()[:-2])
    with pytest.raises(UserError, match=r"target\.values:") as raised:
        Dataset.prepare(settings, text(), 1, tmp_path / "run")
    golden(str(raised.value))


def prepare_and_die(where: object, name: str, calls: int) -> None:
    """Prepares the corpus of the working folder until a function is called once too often."""
    whole = getattr(where, name)
    left = itertools.count(calls, -1)

    def deadly(*arguments: object, **options: object) -> object:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*arguments, **options)

    setattr(where, name, deadly)
    preprocessor.BLOCK = 10
    Dataset.prepare(DataConfig.model_validate(HERE), text("character"), 1, Path("run"))


@pytest.mark.parametrize(
    ("where", "name", "calls"),
    [
        (preparation, "learn_inventories", 0),
        (learning, "Vocabulary", 1),
        (TextPipeline, "save", 1),
        (Vocabulary, "save", 1),
        (preparation, "_write", 0),
        (store.StoreWriter, "append", 1),
        (store.ColumnWriter, "append", 3),
        (store, "write_atomically", 0),
        (Path, "rename", 0),
        (preparation, "_write", 1),
    ],
)
def test_a_killed_preparation_never_passes_for_a_whole_one(
    tmp_path: Path, where: object, name: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path)
    settings = DataConfig.model_validate(HERE)
    Dataset.prepare(settings, text("word"), 1, Path("run"))
    process = multiprocessing.get_context("fork").Process(target=prepare_and_die, args=(where, name, calls))
    process.start()
    process.join()
    assert process.exitcode == (0 if calls == 1 and name == "_write" else -signal.SIGKILL)
    # The old configuration again: the old store must not meet the symbols of the killed preparation.
    data = Dataset.prepare(settings, text("word"), 1, Path("run"))
    assert spelled(data, list(range(len(KEPT)))) == [(SOURCE[row], TARGET[row]) for row in KEPT]
    assert {path.name for path in Path("run").iterdir() if not path.is_file() or path.suffix != ".part"} == {
        "data",
        *(f"{side}.{kind}" for side in ("source", "target") for kind in ("counts", "json", "tokenizer", "vocabulary")),
    }


def test_faults_of_the_corpus_are_told(tmp_path: Path, golden: Golden) -> None:
    for name, source, target, message in (
        ("empty", [], [], r"dev: the development corpus is empty$"),
        ("unequal", ["a", "b"], ["A"], r"dev\.en has 2 lines, .*dev\.de has 1"),
        ("useless", ["a", ""], ["", "B"], r"train: no pairs to train on: 0 of 2 pairs \(left out: 2 with"),
    ):
        settings = corpus(tmp_path / name, source, target)
        if name == "useless":
            settings = settings.model_copy(update={"dev": corpus(tmp_path / "useful").dev})
        with pytest.raises(UserError, match=message):
            Dataset.prepare(settings, text(), 1, tmp_path / name / "run")
        assert not (tmp_path / name / "run" / "data").exists()
    settings = corpus(tmp_path / "untrained", ["a"], ["A"])
    for side in ("en", "de"):
        (tmp_path / "untrained" / f"train.{side}").write_text("")
    with pytest.raises(UserError) as raised:
        Dataset.prepare(settings, text(), 1, tmp_path / "untrained" / "run")
    golden(str(raised.value))


def test_damaged_and_foreign_files_are_told(tmp_path: Path, golden: Golden) -> None:
    settings = corpus(tmp_path)
    path = tmp_path / "train.de"
    packed = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_name("train.de.gz").write_bytes(packed[:-10])
    with pytest.raises(UserError, match=r"train\.de\.gz:") as raised:
        Dataset.prepare(settings, text(), 1, tmp_path / "run")
    golden(str(raised.value))
    path.write_bytes("Katze\nHündin\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"train\.de:2:") as raised:
        Dataset.prepare(settings, text(), 1, tmp_path / "run")
    golden(str(raised.value))


@pytest.mark.parametrize("unit", TOKENIZERS, ids=NAMES)
def test_one_very_long_line_is_left_out(tmp_path: Path, unit: Mapping[str, Any]) -> None:
    settings = corpus(tmp_path, [*SOURCE, "cat " * 100_000], [*TARGET, "Katze " * 100_000])
    data = Dataset.prepare(settings, text(unit), 1, tmp_path / "run")
    assert data.report == FilterReport(31, 20, 10, 1, 0)


@pytest.mark.parametrize("side", ["source", "target", "source.text"])
def test_values_of_the_store_that_nobody_wrote_are_told(side: str, tmp_path: Path, golden: Golden) -> None:
    settings, run = corpus(tmp_path), tmp_path / "run"
    options = text({"kind": "bpe", "vocab_size": 290, "dropout": 0.5} if side == "source.text" else "word")
    Dataset.prepare(settings, options, 1, run)
    path = run / "data" / f"{side}.values"
    path.write_bytes(b"\xff" * path.stat().st_size)
    data = Dataset.prepare(settings, options, 1, run)
    with pytest.raises(UserError, match=rf"{side}\.values:") as raised:
        data.batch(np.arange(4), 1)
    golden(str(raised.value))


def test_files_in_columns_and_several_of_them(tmp_path: Path) -> None:
    settings = corpus(tmp_path)
    (tmp_path / "more.tsv").write_text("more\tmehr\n")
    settings = settings.model_copy(update={"train": (str(tmp_path / "train"), str(tmp_path / "more.tsv"))})
    data = Dataset.prepare(settings, text(), 1, tmp_path / "run")
    assert spelled(data, [20]) == [("more", "mehr")]


def test_real_text_is_restored(tmp_path: Path, shared_data: Path) -> None:
    folder = shared_data / "multi30k" / "tok"
    settings = DataConfig.model_validate(
        {
            "source": "en",
            "target": "de",
            "train": str(folder / "val.lc.norm.tok"),
            "dev": str(folder / "val.lc.norm.tok"),
        }
    )
    data = Dataset.prepare(settings, text({"kind": "bpe", "vocab_size": 2000}), 1, tmp_path)
    assert data.report == FilterReport(1014, 1014, 0, 0, 0)
    assert len(data.sources[0].vocabulary) == 2004
    assert [Example((source,), target) for source, target in spelled(data, list(range(1014)))] == data.dev


def test_units_that_a_model_knows_survive_changed_files(tmp_path: Path) -> None:
    settings, run = corpus(tmp_path), tmp_path / "run"
    before = Dataset.prepare(settings, text("word"), 1, run)
    changed = tmp_path / "train.en"
    changed.write_text("".join(f"new{line}\n" for line in changed.read_text("utf-8").splitlines()), encoding="utf-8")
    after = Dataset.prepare(settings, text("word"), 1, run, keep_tokenizers=True)
    assert after.sources[0].symbols == before.sources[0].symbols
    assert after.train.columns["source"][0].tolist() != before.train.columns["source"][0].tolist()
    assert Dataset.prepare(settings, text("word"), 1, run).sources[0].vocabulary == before.sources[0].vocabulary


def test_symbols_of_another_run_are_those_of_the_same_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Either run may have one source or several, and the other run a translation memory."""

    def there(*sides: str) -> list[str]:
        monkeypatch.setattr(Language, "saved", lambda run, side: side in sides)
        of_text = [("source", "en", False), ("source.en", "en", False), ("target", "de", False)]
        queries = [*of_text, ("source.nearest", "m", True)]
        return [learning._side_there(tmp_path, side, name, recalled) for side, name, recalled in queries]

    assert there("source", "target") == ["source", "source", "target", "target"]
    assert there("source.en", "source.de", "target") == ["source.en", "source.en", "target", "target"]
    assert there("source.en", "source.nearest", "target") == ["source.en", "source.en", "target", "source.nearest"]
