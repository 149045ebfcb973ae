"""A translation memory from the configuration to translations: as another source, exact, in other places."""

import gzip
import json
import random
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.configuration.config import Config
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.translation_memory import Match
from dragoman.data.dataset import Dataset
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.model.weights import read_tensors
from dragoman.run.folder import RunFolder
from dragoman.training import session
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

TARGETS = list(toy.WORDS.values())


def keyed(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs that nothing but a memory helps with: two sources of each key have the same random words as translation."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        key, target = "".join(draw.choices(string.ascii_lowercase, k=12)), " ".join(draw.choices(TARGETS, k=3))
        pairs += [(f"{key} {side}", target) for side in ("left", "right")]
    return pairs


KEY = keyed(100, 1)[6][0].removesuffix(" left")
ANSWER = keyed(100, 1)[6][1]


@cache
def folder(base: Path) -> Path:
    """A corpus in which every source has its like, and an untrained run (a step) on it."""
    place = toy.corpus(base / "memory")
    toy.write(place, "train", keyed(100, 1))
    toy.write(place, "dev", keyed(4, 1))
    return place


@pytest.fixture
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.getbasetemp())


def config(corpus: Path, run: Path, **options: object) -> Config:
    settings = {key.replace("__", "."): value for key, value in options.items()}
    memory = {"data.translation_memory": {"kind": "nearest", "threshold": 0.6}}
    return toy.config(corpus, run, {**memory, "training.epochs": None, "training.steps": 1, **settings})


@cache
def begun(corpus: Path) -> Path:
    return session.train(config(corpus, corpus / "begun"), quiet=True).path


@pytest.mark.slow
def test_what_is_remembered_is_copied(corpus: Path, tmp_path: Path) -> None:
    """Of new keys the model knows nothing; a memory that was not there in training has the answers."""
    options = {
        "training.steps": 160,
        "training.validate_every": 160,
        "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
        "model.combination": "hierarchical",
    }
    toy.write(corpus, "new", keyed(20, 2))
    run = session.train(config(corpus, tmp_path / "run", **options), quiet=True).path
    lefts = [(source, target) for source, target in keyed(20, 2) if source.endswith("left")]
    translations = dragoman.load(run, translation_memory=corpus / "new").translate(
        [source[:-4] + "back" for source, _ in lefts]
    )
    right = sum(translation.text == target for translation, (_, target) in zip(translations, lefts, strict=True))
    assert right >= 16
    source, memory = translations[0].sources
    assert (source.name, memory.name, memory.text) == ("en", "memory", lefts[0][1])
    assert memory.share.sum() > source.share.sum()


def test_the_store_has_what_is_nearest_to_each_pair_but_itself(corpus: Path, tmp_path: Path) -> None:
    configured = config(corpus, tmp_path)
    data = Dataset.prepare(configured.data, configured.text, 1, tmp_path)
    assert [source.name for source in data.sources] == ["en", "memory"]
    batch = data.batch(np.arange(len(data.train)), 0)
    language = data.sources[1]
    words = [language.vocabulary.symbols(row[row != 0].tolist()) for row in batch.sources[1].ids]
    targets = [data.target.vocabulary.symbols(row[row != 0].tolist()) for row in batch.target.ids]
    assert words == targets  # the other source of each key
    assert [example.sources[1] for example in data.dev] == [example.target for example in data.dev]


@pytest.mark.parametrize("count", [1, 3])
def test_below_the_threshold_and_beyond_the_longest_nothing_is_remembered(
    corpus: Path, tmp_path: Path, count: int
) -> None:
    toy.write(
        tmp_path, "odd", [("one two", "un"), ("six", "six"), ("three four five", "deux deux"), ("three four", "un")]
    )
    memory = {"kind": "nearest", "threshold": 0.5, "count": count}
    configured = config(
        corpus, tmp_path / "run", data__train=str(tmp_path / "odd"), data__translation_memory=memory, data__max_ratio=20
    )
    data = Dataset.prepare(configured.data.model_copy(update={"max_length": 3}), configured.text, 1, tmp_path / "run")
    sides = configured.data.sides[1:]
    assert sides == ("source.memory", "source.memory.2", "source.memory.3")[:count]
    lengths = [data.train.columns[side].lengths.tolist() for side in sides]
    assert lengths[0] == [1, 1, 2, 3]  # with the end; nothing is like the first two
    assert data.train.columns[sides[0]][0].tolist() == [EOS]
    assert data.batch(np.arange(4), 0).sources[1].mask.any(1).tolist() == [False, False, True, True]


@pytest.mark.slow
def test_a_run_keeps_its_pairs_as_a_corpus(corpus: Path) -> None:
    run = RunFolder(begun(corpus))
    assert list(read_pairs(run.path / "memory.jsonl.gz", "en", "fr")) == keyed(100, 1)
    assert run.has_part(run.path / "memory.jsonl.gz")


def test_a_source_may_be_given_in_the_place_of_what_is_remembered(corpus: Path) -> None:
    translator = dragoman.load(begun(corpus))
    assert [source.name for source in translator.user_sources] == ["en"]
    texts: list[str | tuple[str, ...]] = [f"{KEY} left", (f"{KEY} left", "un"), (f"{KEY} left", ""), "nothing alike"]
    recalled = [translation.sources[1] for translation in translator.translate(texts)]
    assert [translation.text for translation in recalled] == [ANSWER, "un", "", ""]
    assert recalled[2].words == []
    assert recalled[0].match == Match(ANSWER, 1.0, f"{KEY} left")
    assert [translation.match for translation in recalled[1:]] == [None] * 3
    with pytest.raises(TypeError, match="3 texts for a model of 1 sources"):
        translator.translate([("a", "b", "c")])


def test_exact_matches_are_returned_as_they_are(corpus: Path, tmp_path: Path) -> None:
    run, place = begun(corpus), tmp_path / "more.tsv"
    place.write_text("en\tfr\nodd\t An  unheard-of text!\nodd\tother\n", "utf-8")
    translator = dragoman.load(run, translation_memory=place)
    exact, searched = translator.translate(["odd", "odds"], exact=True)
    assert exact.text == " An  unheard-of text!"
    assert exact.attention.shape == (len(exact.words), 1)
    assert len(exact.words) >= 3  # those of the text
    assert searched.text == translator.translate(["odds"])[0].text
    assert translator.translate(["odd"], exact=True, prefix=["un"])[0].text.startswith("un")
    assert translator.translate(["odd"])[0].text != exact.text


def test_a_message_of_several_lines_is_found_as_a_whole(corpus: Path, tmp_path: Path, shell: Shell) -> None:
    pytest.importorskip("polib")
    head = 'msgid ""\nmsgstr "Language: fr\\n"\n\n'
    message = 'msgid ""\n"  One\\n"\n"two\\n"\nmsgstr "{}"\n\nmsgid "six:\\n"\nmsgstr "{}"\n'
    (tmp_path / "known.po").write_text(head + message.format("Un\\ndeux", "neuf:\\n"), "utf-8")
    (tmp_path / "new.po").write_text(head + message.format("", ""), "utf-8")
    files = ("new.po", "-o", "out.po", "--translation-memory", "known.po", "--exact")
    place = Shell(tmp_path)
    assert place("translate", begun(corpus), *files).code == 0
    text = (tmp_path / "out.po").read_text("utf-8")
    assert 'msgstr "  Un deux\\n"' in text
    assert 'msgstr "neuf:\\n"' in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"text.shared_vocabulary": True, "data.concatenate_sources": True},
        {
            "text.shared_vocabulary": True,
            "model.combination": {"kind": "flat", "sentinel": True},
            "data.translation_memory": "nearest",
        },
        {"data.translation_memory": {"kind": "nearest", "count": 2}, "model.combination": "sum"},
        {"data.translation_memory": {"kind": "covering", "count": 2}, "model.combination": "sum"},
        {"data.edits": "memory"},
        {**toy.SUBWORDS, "data.max_length": 60},
    ],
    ids=["joined", "flat", "two", "covering", "edits", "subwords"],
)
def test_every_way_to_read_several_sources_reads_a_memory(
    corpus: Path, tmp_path: Path, options: dict[str, object]
) -> None:
    run = session.train(config(corpus, tmp_path / "run", **options), quiet=True).path
    translator = dragoman.load(run)
    near, far = translator.translate([f"{KEY} up", "xyz"])
    assert near.sources[1].text == ANSWER
    match = near.sources[1].match
    assert match
    assert match.source == f"{KEY} left"
    assert match.score == pytest.approx((26 / 32 + 2 / 4) / 2)
    assert near.attention_matrix.columns[near.attention_matrix.shares[1]] == "[memory 0.66]"
    assert (far.sources[1].text, far.sources[1].match) == ("", None)
    (scored,) = translator.score([f"{KEY} up"], ["un deux"])
    assert scored.sources[1].share.sum() > 0
    assert [source.text for source in scored.sources] == [source.text for source in near.sources]


@pytest.mark.slow
def test_neighbors_that_cover_a_source_are_read_one_by_one_or_in_a_batch(corpus: Path, tmp_path: Path) -> None:
    memory = {"kind": "covering", "count": 2, "threshold": 0.3}
    run = session.train(config(corpus, tmp_path / "run", data__translation_memory=memory), quiet=True).path
    place = tmp_path / "more.tsv"
    place.write_text("en\tfr\nodd one\tun\neven two\tdeux\neven two!\tsix\n", "utf-8")
    translator = dragoman.load(run, translation_memory=place)
    texts = ["odd one even two", "odd one", "xyz"]
    batch = translator.translate(texts)
    assert [[source.text for source in translation.sources[1:]] for translation in batch] == [
        ["deux", "un"],
        ["un", ""],
        ["", ""],
    ]
    for text, translation in zip(texts, batch, strict=True):
        (alone,) = translator.translate([text])
        assert (alone.text, alone.sources[2].match) == (translation.text, translation.sources[2].match)


@pytest.mark.slow
def test_an_unlearned_post_editor_writes_what_is_remembered_with_edits(corpus: Path, tmp_path: Path) -> None:
    run = session.train(config(corpus, tmp_path / "run", data__edits="memory", training__steps=40), quiet=True).path
    translation = dragoman.load(run).translate([f"{KEY} up"])[0]
    assert translation.text == translation.sources[1].text == ANSWER


@pytest.mark.slow
def test_a_resumed_run_is_the_same(corpus: Path, tmp_path: Path) -> None:
    both = []
    for name, steps in (("once", [4]), ("twice", [2, 4])):
        for count in steps:
            run = session.train(config(corpus, tmp_path / name, training__steps=count), quiet=True)
        both.append(read_tensors(run.weights("model-last"))[0])
    assert all(both[0][name].equal(both[1][name]) for name in both[0])


@pytest.mark.slow
def test_another_memory_prepares_the_store_anew(corpus: Path, tmp_path: Path) -> None:
    stores = []
    for threshold in (0.6, 0.99, 0.99):
        configured = config(corpus, tmp_path, data__translation_memory={"kind": "nearest", "threshold": threshold})
        data = Dataset.prepare(configured.data, configured.text, 1, tmp_path)
        stores.append((data.train.notes["fingerprint"], int(data.train.columns["source.memory"].lengths.sum())))
    assert stores[0][1] > stores[1][1] == len(data.train)
    assert stores[1] == stores[2]


@pytest.mark.slow
def test_the_commands(corpus: Path, tmp_path: Path, shell: Shell, golden: Golden) -> None:
    run, place = begun(corpus), tmp_path / "more.tsv"
    place.write_text("en\tfr\nodd one\tun deux\n", "utf-8")
    (tmp_path / "in").write_text(f"odd one\n{KEY} left\n", "utf-8")
    (tmp_path / "ref").write_text("un deux\nun\n", "utf-8")
    message = shell("translate", run, tmp_path / "in", "--translation-memory", place, "--exact", "--json")
    assert message.code == 0, message.err
    first, second = map(json.loads, message.out.splitlines())
    assert (first["text"], first["sources"][1]["name"], second["sources"][1]["text"]) == ("un deux", "memory", "")
    assert first["sources"][1]["match"] == {"source": "odd one", "score": 1.0}
    assert "match" not in second["sources"][1]
    (tmp_path / "prefix").write_text("un\n" * 2, "utf-8")
    message = shell(
        "translate", run, tmp_path / "in", "--translation-memory", place, "--show", "--prefix", tmp_path / "prefix"
    )
    assert "[memory 1.00]" in message.err, message
    (validated, *_) = RunFolder(run).validation.read_text("utf-8").splitlines()
    assert json.loads(validated)["sources"][1]["match"] == {"source": keyed(4, 1)[0][0], "score": 1.0}
    message = shell(
        "evaluate",
        tmp_path / "ref",
        "--run",
        run,
        "--source",
        tmp_path / "in",
        "--exact",
        "--translation-memory",
        place,
    )
    assert "exact:True" in message.out
    assert shell("score", run, tmp_path / "in", tmp_path / "ref").out.count("\n") == 2
    assert shell("score", run, tmp_path / "in", tmp_path / "ref", "--translation-memory", place).out.count("\n") == 2


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"data.translation_memory": "nearst"}, "data.translation_memory"),
        ({"data.translation_memory": {"kind": "nearest", "threshold": 0}}, "data.translation_memory.threshold"),
        ({"data.translation_memory": {"kind": "nearest", "count": 11}}, "data.translation_memory.count"),
        ({"data.translation_memory": {"kind": "nearest", "count": "two"}}, "data.translation_memory.count"),
        ({"data.translation_memory": "covering"}, "data.translation_memory.count"),
        ({"data.translation_memory": {"kind": "covering", "count": 1}}, "data.translation_memory.count"),
        ({"data.source": ["en", "memory"]}, "data.source.1"),
        ({"data.source": ["en"], "data.features": ["en"]}, "data.translation_memory"),
        ({"data.source": "fr", "data.train": "a.tsv", "data.dev": "b.tsv"}, "data.translation_memory"),
        ({"data.alignments": True}, "data.alignments"),
        ({"data.edits": "fr"}, "data.edits"),
        ({"data.edits": "memory", "text.target.tokenizer": {"kind": "bpe", "dropout": 0.1}}, "data.edits"),
        ({"data.edits": "memory", "text.target.tokenizer": {"kind": "unigram", "alpha": 0.1}}, "data.edits"),
        ({"training.objective": "agreement"}, "training.objective"),
    ],
)
def test_a_configuration_that_does_not_fit_is_told(
    corpus: Path, tmp_path: Path, options: dict[str, object], key: str, golden: Golden
) -> None:
    with pytest.raises(UserError) as raised:
        config(corpus, tmp_path, **options)
    assert str(raised.value).startswith(f"--{'.'.join(key.split('.')[:2])}: ")
    assert key in str(raised.value)
    golden(str(raised.value), str(options))


@pytest.mark.slow
def test_faults_are_told_in_one_line(
    corpus: Path, tmp_path: Path, golden: Golden, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def load_messages(run: Path, **options: object) -> Iterator[str]:
        with pytest.raises(UserError) as raised:
            dragoman.load(run, **options)  # type: ignore[arg-type]
        yield str(raised.value).replace(str(tmp_path), "FOLDER")

    run = begun(corpus)
    plain = session.train(config(corpus, tmp_path / "plain", data__translation_memory="none"), quiet=True).path
    golden(*load_messages(plain, translation_memory=corpus / "train"))
    golden(*load_messages(run, translation_memory=tmp_path / "missing"))
    with pytest.raises(UserError) as raised:
        dragoman.load(plain).translate(["a"], exact=True)
    golden(str(raised.value))
    damaged = session.train(config(corpus, tmp_path / "damaged"), quiet=True).path
    (damaged / "memory.jsonl.gz").write_bytes(gzip.compress(b'{"en": 1}\n'))
    golden(*load_messages(damaged))
    (damaged / "memory.jsonl.gz").unlink()
    golden(*load_messages(damaged))


def test_a_memory_is_not_replaced(corpus: Path, tmp_path: Path, shell: Shell) -> None:
    for name, text in (("m.en", "odd one\n"), ("m.fr", "un deux\n"), ("in", "odd one\n")):
        (tmp_path / name).write_text(text, "utf-8")
    words = ("translate", begun(corpus), tmp_path / "in", "--translation-memory", tmp_path / "m")
    message = shell.fails(*words, "-o", tmp_path / "m.fr")
    assert message == f"--output {tmp_path / 'm.fr'}: is an input file and would be overwritten; name another file"
    assert (tmp_path / "m.fr").read_text("utf-8") == "un deux\n"


@pytest.mark.slow
def test_a_memory_that_grew_is_another(corpus: Path, tmp_path: Path, shell: Shell) -> None:
    place, output = tmp_path / "m.tsv", tmp_path / "out"
    place.write_text("en\tfr\nodd one\tun deux\n", "utf-8")
    (tmp_path / "in").write_bytes(b"odd one\nnew\n\xff\n")
    words = (
        "translate",
        begun(corpus),
        tmp_path / "in",
        "--translation-memory",
        place,
        "--exact",
        "--batch-lines",
        "1",
        "-o",
        output,
    )
    assert "from which --resume continues" in shell.fails(*words)
    place.write_text("en\tfr\nodd one\tun deux\nnew\ttrois\n", "utf-8")
    message = shell.fails(*words, "--resume")
    assert f"--resume: {output}.partial was written with another --translation-memory" in message
    place.write_text("en\tfr\nodd one\tun deux\n", "utf-8")
    (tmp_path / "in").write_bytes(b"odd one\nnew\nodd one\n")
    message = shell(*words, "--resume").err.splitlines()[-1]
    assert message == f"{place}: has a similar sentence to 1 of 1 lines"


def test_a_memory_without_pairs_is_told(corpus: Path, tmp_path: Path, shell: Shell) -> None:
    place = tmp_path / "m.tsv"
    place.write_text("en\tfr\nodd one\t\n", "utf-8")
    message = shell.fails("translate", begun(corpus), "--translation-memory", place, stdin="odd one\n")
    assert message == f"{place}: contains no pairs of en and fr"
