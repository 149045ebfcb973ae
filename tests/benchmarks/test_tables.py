"""The tables whose rows are trainings: sound rows, each trained once, that become lines and pictures."""

import json
import shutil
import time
from argparse import Namespace
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

import dragoman
from benchmarks import (
    multi30k,
    objectives,
    outputs,
    postediting,
    provenance,
    rare,
    searches,
    sizes,
    small,
    sources,
    strings,
    trainings,
)
from benchmarks.prepared import Row
from dragoman.configuration import sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.initialize import initialize
from dragoman.corpus.sizes import SIZES
from dragoman.data.recall import MEMORY
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.run.run import Run
from dragoman.training import checks, session
from dragoman.translation.tuning import Weighted
from tests import toy

TINY = """
text:
  shared_vocabulary: true
  source: {tokenizer: word, pretokenizer: whitespace}
  target: {tokenizer: word, pretokenizer: whitespace}
model: {embedding: {size: 8}, encoder: {kind: rnn, size: 8}, decoder: {kind: rnn, size: 8}}
training: {batch: {size: 16}, average_checkpoints: {count: 1}, metric: METRIC}
metrics: [{kind: bleu, tokenize: none}, ter]
search: {kind: greedy, length_ratio: 1, length_margin: 2}
"""


def lines(folder: Path, name: str, texts: list[str]) -> None:
    (folder / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")


@pytest.fixture
def captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus in four languages with the names of Multi30k's files."""
    for part, count in ((sources.TRAIN, 40), (sources.DEV, 12), (sources.TEST, 12)):
        english, french = zip(*toy.pairs(count, 1), strict=True)
        for name, texts in (("de", english), ("cs", english), ("fr", english), ("en", french)):
            lines(tmp_path, f"{part}.{name}", list(texts))
    data = "data: {source: [de, fr, cs], target: en, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "bleu"), "utf-8")
    monkeypatch.setattr(sources, "CONFIG", tmp_path / "tiny.yaml")
    return tmp_path


@pytest.mark.parametrize("row", sources.rows(), ids=lambda row: row.name)
def test_every_row_of_sources_is_a_sound_configuration(row: Row, tmp_path: Path) -> None:
    for part in (sources.TRAIN, sources.DEV):
        for name in ("de", "fr", "cs", "en"):
            lines(tmp_path, f"{part}.{name}", ["a b", "c"])
    config = sources.config(row, Namespace(folder=tmp_path, data=tmp_path, epochs=3))
    assert config.training.epochs == 3
    assert list(checks.problems(config)) == []


@pytest.mark.slow
@pytest.mark.spec("C9", "C14")
def test_rows_of_sources_are_trained_and_drawn(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(captions / "table"), "--data", str(captions), "--epochs", "30"]
    for row in ("de", "hierarchical, sentinel"):
        assert sources.main([*options, "--row", row]) == 0
    capsys.readouterr()
    assert sources.main([*options, "--only", "de", "hierarchical, sentinel"]) == 0
    output_lines = capsys.readouterr().out.splitlines()
    assert output_lines[:2] == ["| sources | BLEU val | BLEU test_2016_flickr | parameters |", "|---|---|---|---|"]
    assert [line.split(" | ")[0] for line in output_lines[2:]] == ["| de", "| hierarchical, sentinel"]
    learning = (captions / "table" / "learning.svg").read_text("utf-8")
    assert ">de<" in learning
    weights = (captions / "table" / "hierarchical-sentinel.svg").read_text("utf-8")
    assert all(f">{name}</text>" in weights for name in ("de", "fr", "cs", "sentinel"))


def test_the_picture_in_the_docs_shows_the_results(repository: Path) -> None:
    results = repository / "benchmarks" / "results" / "sources"
    files = {row.name: results / f"{row.slug}.json" for row in sources.rows()}
    stored_results = {name: sources.Result(**provenance.read(path)) for name, path in files.items()}
    assert (repository / "docs" / "sources-learning.svg").read_text("utf-8") == sources.drawn(stored_results)


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_failed_row_is_told_and_no_line(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(captions / "table"), "--data", str(captions / "nowhere"), "--epochs", "1"]
    assert sources.main([*options, "--only", "de"]) == 1
    output = capsys.readouterr()
    assert "de: failed: " in output.err
    assert "no such file" in output.err
    assert not output.out
    assert sources.main([*options, "--only", "ed"]) == 1
    assert capsys.readouterr().err.startswith("--only: expected some of de; fr; cs; one sequence")


@pytest.fixture
def triplets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for part, count in (("train", 40), ("dev", 12), ("test20", 12)):
        source, right = (list(texts) for texts in zip(*toy.pairs(count, 1), strict=True))
        lines(tmp_path, f"{part}.src", source)
        lines(tmp_path, f"{part}.pe", right)
        lines(tmp_path, f"{part}.mt", [text if n % 2 else text[:-1] + "x" for n, text in enumerate(right)])
    data = "data: {source: [src, mt], edits: mt, target: pe, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "ter"), "utf-8")
    monkeypatch.setattr(postediting, "CONFIG", tmp_path / "tiny.yaml")
    monkeypatch.setattr(postediting, "SAMPLES", 50)
    return tmp_path


@pytest.mark.parametrize("row", postediting.rows(), ids=lambda row: row.name)
def test_every_row_of_postediting_is_a_sound_configuration(row: Row, triplets: Path) -> None:
    config = postediting.config(row, Namespace(folder=triplets, data=triplets, epochs=3))
    assert "steps" not in config.training.schedule.options
    assert list(checks.problems(config)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hierarchical", "translation alone", "rewriting"])
def test_rows_of_postediting_are_told_beside_doing_nothing(
    triplets: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--folder", str(triplets / "table"), "--data", str(triplets), "--epochs", "1"]
    assert postediting.main([*options, "--row", name]) == 0
    capsys.readouterr()
    assert postediting.main([*options, "--only", name]) == 0
    output_lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in output_lines] == [
        *("| dev", "|---|---|---|---|---|", "| doing nothing", f"| {name}"),
        *("| test20", "|---|---|---|---|---|", "| doing nothing", f"| {name}"),
    ]


def test_post_edits_are_judged_beside_what_they_are_edits_of() -> None:
    right = [f"a b c d {number}" for number in range(20)]
    before = [line if number % 2 else f"x {line}" for number, line in enumerate(right)]
    better = postediting.judged(before, right, right)
    assert (better.bleu, better.ter, better.untouched) == (pytest.approx(100), 0.0, 100.0)
    assert better.p < 0.01
    spoiled = [f"y {line}" for line in before[:4]] + before[4:]
    assert postediting.judged(before, spoiled, right).untouched == 80.0
    same = postediting.judged(before, before, right)
    assert same.p == 1.0
    assert same.ter == pytest.approx(100 * 10 / 100)


def test_no_two_rows_have_one_folder() -> None:
    for rows in (sources.rows(), postediting.rows()):
        assert len({row.slug for row in rows}) == len(rows)
    assert trainings.result(Row("a, b", Path("c")), Namespace(folder=Path("f"))) == Path("f/a-b.json")


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpora of `make small-table`, and small models."""
    parts = {"parent": 60, "parent-dev": 8, "memory": 40, "dev": 8, "test": 8}
    for seed, (part, count) in enumerate(parts.items()):
        lines(tmp_path, f"{part}.tsv", ["en\tfr", *map("\t".join, toy.pairs(count, seed))])
    data = "data: {source: x, target: y, train: t, dev: d}\nrun: runs/x\n"
    for name in ("OWN", "PARENT"):
        (tmp_path / f"{name}.yaml").write_text(data + TINY.replace("METRIC", "bleu").replace("ter]", "chrf]"), "utf-8")
        monkeypatch.setattr(small, name, tmp_path / f"{name}.yaml")
    monkeypatch.setattr(small, "OPTIONS", {"training.epochs": 1})
    monkeypatch.setattr(small, "STRINGS", (20,))
    members = (f"{small.BEST}, seed 1", f"{small.BEST}, 20 strings")
    monkeypatch.setattr(small, "ENSEMBLES", {"both": members, "of rows to come": (*members, small.PLAIN)})
    return tmp_path


@pytest.mark.parametrize("row", small.rows(), ids=lambda row: row.name)
def test_every_row_of_small_is_a_sound_configuration(row: Row, tmp_path: Path) -> None:
    for part in ("parent", "parent-dev", "memory", "dev"):
        lines(tmp_path, f"{part}.tsv", ["en\tde", "a b\tc"])
    config = small.config(row, Namespace(folder=tmp_path, data=tmp_path))
    assert list(checks.problems(config)) == []
    assert (config.data.source, config.data.target) == (("en",), "de")


@pytest.mark.slow
def test_rows_of_small_are_told_beside_copying_and_the_nearest_neighbor(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--folder", str(product / "table"), "--data", str(product)]
    names = ["edits of the memory", small.READER, f"{small.BEST}, seed 1", f"{small.BEST}, 20 strings"]
    for row in (row for row in small.rows() if row.name in names):
        changed = {**row.overrides, "training.epochs": "1"}
        small.work(row._replace(overrides=changed), Namespace(folder=product / "table", data=product))
    assert small.main([*options, "--only", *names]) == 0
    output_lines = capsys.readouterr().out.splitlines()
    assert output_lines[0] == "|  | dev BLEU | dev chrF | dev kept | minutes |"
    assert [line.split(" | ")[0] for line in output_lines[2:]] == [
        f"| {name}" for name in ("copying", "nearest neighbor", *names, "both")
    ]
    assert small.main([*options, "--only", *names, "--test"]) == 0
    assert "| test BLEU | test chrF | test kept | minutes |" in capsys.readouterr().out
    strings = [
        len(list(read_pairs(str(Run.load(product / "table" / slug).folder.path / MEMORY), "en", "fr")))
        for slug in ("started-with-a-memory-20-strings", "started-with-a-memory-seed-1")
    ]
    assert strings[0] <= 20 < strings[1]
    assert ">nearest neighbor<" in (product / "table" / "learning.svg").read_text("utf-8")


@pytest.mark.slow
def test_an_imported_model_is_a_row_of_small(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that was trained here stands for one that was imported: both are runs."""
    folder = product / "table"
    assert small.imported_rows(folder) == []
    options = Namespace(folder=folder, data=product)
    parent = small.config(Row(small.IMPORTED, small.PARENT), options)
    session.train(parent, quiet=True)
    rows = small.imported_rows(folder)
    for row in rows:
        small.work(row, options)
    names = [row.name for row in rows]
    assert small.main(["--folder", str(folder), "--data", str(product), "--only", *names]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in shown[4:]] == [f"| {name}" for name in names]
    assert shown[4].endswith("| 0.0 |")
    started = Run.load(folder / rows[1].slug).config
    assert started.training.init_from == str(folder / small.IMPORTED)
    assert Run.load(folder / rows[2].slug).config.data.recalled


def test_the_nearest_neighbor_is_the_translation_of_the_most_similar_string() -> None:
    memory = [Pair("open the file", "Datei öffnen"), Pair("close %s now", "%s schließen")]
    scores = small.nearest([Pair("open the files", "Datei öffnen"), Pair("close %d now", "%d schließen")], memory)
    assert scores.bleu < 100
    assert scores.kept == 0
    assert small.nearest([Pair("open the files", "Datei öffnen")], memory).chrf == pytest.approx(100)


@pytest.mark.parametrize(
    "text", ["%s", "%1$s", "%(count)d", "{name}", "{}", "${x}", "$HOME", "<b>", "</b>", "&amp;", "%-5.2f", "%1"]
)
def test_placeholders_are_found(text: str) -> None:
    assert small.placeholders(f"a {text} b or {text}") == {text: 2}


def test_other_signs_are_no_placeholders() -> None:
    assert not small.placeholders("50 % of all, {not this}, 3 < 4 & 5")


@pytest.fixture
def kinds(tmp_path: Path) -> Namespace:
    """Two corpora of `make sizes-table`; the options of the command."""
    for seed, corpus in enumerate(("verses", "captions")):
        (tmp_path / corpus).mkdir()
        for part, count in (("train", 40), ("dev", 8)):
            lines(tmp_path / corpus, f"{part}.tsv", ["en\tfr", *map("\t".join, toy.pairs(count, seed))])
    return Namespace(folder=tmp_path / "table", data=tmp_path, only=None)


def changed(config: Config, other: Config) -> dict[str, Any]:
    """The options of a configuration that another has otherwise, by dotted keys."""

    def leaves(value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            return {key: value}
        leaf_values: dict[str, Any] = {}
        for name, value_of_key in value.items():
            leaf_values |= leaves(value_of_key, f"{key}.{name}" if key else name)
        return leaf_values

    plain_leaves = leaves(sections.tree(other), "")
    return {
        key: value for key, value in leaves(sections.tree(config), "").items() if plain_leaves.get(key, ...) != value
    }


def test_the_first_row_of_sizes_is_what_init_writes(kinds: Namespace) -> None:
    corpus = kinds.data / "captions"
    initialize(corpus / "train.tsv", None, corpus / "config.yaml", str(corpus / "dev.tsv"))
    written = checks.load_config(corpus / "config.yaml", {"device.threads": "1"})
    row = sizes.rows(kinds)[0]
    assert (row.name, row.slug) == ("captions, init", "captions-init")
    size_config = sizes.config(row, kinds)
    assert changed(size_config, written) == {"run": str(kinds.folder / "captions-init")}


@pytest.mark.parametrize(
    ("setting", "options"),
    {
        sizes.AGAIN: {"seed": 2},
        "half the rate": {"training.optimizer.learning_rate": 0.001},
        "twice the rate": {"training.optimizer.learning_rate": 0.004},
        "half the dropout": {"model.encoder.dropout": 0.2, "model.decoder.dropout": 0.2},
        "cosine in a third of the epochs": {
            "training.epochs": 30,
            "training.schedule.kind": "cosine",
            "training.patience": None,
        },
        "twice the subwords": {},  # the toy corpus has no more
        "wider": {"model.embedding.size": 192, "model.encoder.size": 192, "model.decoder.size": 384},
        "narrower": {"model.embedding.size": 64, "model.encoder.size": 64, "model.decoder.size": 128},
    }.items(),
)
def test_rows_of_sizes_change_one_thing(setting: str, options: dict[str, Any], kinds: Namespace) -> None:
    rows = {row.name: row for row in sizes.rows(kinds)}
    assert rows.keys() == {f"{corpus}, {name}" for corpus in ("captions", "verses") for name in sizes.SETTINGS}
    row_config, init = (sizes.config(rows[f"verses, {name}"], kinds) for name in (setting, sizes.INIT))
    assert list(checks.problems(row_config)) == []
    assert changed(row_config, init) == {"run": str(kinds.folder / rows[f"verses, {setting}"].slug), **options}


def test_widths_go_along_the_table_and_beyond_it() -> None:
    first, second, last = SIZES[0], SIZES[1], SIZES[-1]
    assert sizes.wider(second) == second._replace(embedding=192, encoder=192, decoder=384)
    assert sizes.narrower(SIZES[2]) == SIZES[2]._replace(embedding=128, encoder=128, decoder=256)
    assert sizes.narrower(first) == first._replace(embedding=64, encoder=64, decoder=128)
    assert sizes.wider(last).decoder == 2 * last.decoder
    assert sizes.SETTINGS["twice the subwords"].size(first).symbols == 2 * first.symbols


@pytest.mark.slow
def test_rows_of_sizes_are_told_and_compared(kinds: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    kinds.only = [f"verses, {name}" for name in (sizes.INIT, sizes.AGAIN)]
    greedy = "{kind: greedy, length_ratio: 1, length_margin: 2}"
    tiny = {"training.epochs": "1", "model.decoder.size": "8", "search": greedy, "training.search": greedy}
    for row in (row for row in sizes.rows(kinds) if row.name in kinds.only):
        sizes.work(row._replace(overrides={**tiny, **row.overrides}), kinds)
        row_result = sizes.Result(**provenance.read(trainings.result(row, kinds)))
        assert row_result.loss > 0
        assert row_result.minutes == float((kinds.folder / f"{row.slug}.minutes").read_text("utf-8"))
    assert sizes.main(["--folder", str(kinds.folder), "--data", str(kinds.data), "--only", *kinds.only]) == 0
    output_lines = capsys.readouterr().out.splitlines()
    heads = [line.split(" | ")[0] for line in output_lines]
    assert heads == [
        *("| ", "|---|---|---|---|---|", "| verses, init", "| verses, init with seed 2"),
        *("| minus init: chrF, loss", "|---|---|---|---|", "| init with seed 2"),
    ]


@pytest.mark.slow
def test_objectives_go_on_from_one_start(kinds: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    kinds.data /= "captions"
    rows = objectives.rows(kinds)
    assert [row.name for row in rows[:2]] == ["start", "teacher forcing, seed 1"]
    assert len(rows) == 1 + 3 * 3
    tiny = {"model.decoder.size": "8", "search": "greedy", "training.search": "greedy"}
    short = {"training.steps": "2", "training.validate_every": "1"}
    start = rows[0]
    objectives.work(start._replace(overrides={"training.epochs": "1", **tiny}), kinds)
    for row in rows[1:]:
        objective_config = objectives.config(row, kinds)
        assert list(checks.problems(objective_config)) == []
        assert objective_config.training.init_from == str(kinds.folder / "start")
        assert objective_config.training.objective.kind == row.name.partition(", ")[0].replace(" ", "_")
    measured = [start, *rows[1:4], rows[4], rows[7]]
    for row in measured[1:]:
        objectives.work(row._replace(overrides={**row.overrides, **tiny, **short}), kinds)
    only = ["--only", *(row.name for row in measured)]
    assert objectives.main(["--folder", str(kinds.folder), "--data", str(kinds.data), *only]) == 0
    output_lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in output_lines[2:]] == [
        f"| {name}" for name in ("start", *objectives.OBJECTIVES)
    ]
    mean, _, spread = output_lines[3].split(" | ")[1].partition(" ± ")
    scores = [provenance.read(trainings.result(row, kinds))["bleu"] for row in rows[1:4]]
    assert (mean, spread) == (f"{sum(scores) / 3:.1f}", f"{stdev(scores):.1f}")


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_ways_to_search_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, part in enumerate(("train", "val", "test_2016_flickr")):
        english, french = zip(*toy.pairs(40, seed), strict=True)
        lines(tmp_path, f"{part}.en", list(english))
        lines(tmp_path, f"{part}.de", list(french))
    data = "data: {source: en, target: de, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "bleu"), "utf-8")
    monkeypatch.setattr(searches, "CONFIG", tmp_path / "tiny.yaml")
    names = ["greedy", "beam 2", "minimum Bayes risk, chrf, 20 samples", "beam 5, three models"]
    names += ["reranked, reverse", "reranked, tuned"]
    monkeypatch.setattr(searches, "WAYS", {name: searches.WAYS[name] for name in names})
    options = Namespace(folder=tmp_path / "table", data=tmp_path, epochs=1)
    for row in searches.rows():
        searches.work(row, Namespace(**vars(options), test=row.name != "beam 2"))
    arguments = ["--folder", str(options.folder), "--data", str(tmp_path), "--test"]
    assert searches.main(arguments) == 0
    output_lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in output_lines[2:8]] == [f"| {name}" for name in names]
    assert all(len(line.split(" | ")) == 7 for line in output_lines[2:8])
    assert [line.endswith(" |  |  |  |") for line in output_lines[2:8]] == [name == "beam 2" for name in names]
    scored = toy.pairs(40, 1)[searches.SCORED]
    assert list(read_lines(options.folder / "tune.en")) == [text for text, _ in toy.pairs(40, 1)[searches.TUNED]]
    short = [text for text, _ in scored if len(text.split()) <= searches.WORDS][: searches.SENTENCES]
    model = dragoman.load(options.folder / "seed-1")
    modes = [
        translation.text for translation in model.translate(short, search=Spec("exhaustive")) if translation.proved
    ]
    assert 0 < len(modes) <= len(short)
    cells = output_lines[-1].strip("| ").split(" | ")
    assert [cells[0], cells[1], cells[3]] == [str(len(short)), str(len(modes)), str(modes.count(""))]


def test_exhaustive_search_goes_on_with_the_next_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = {"a": ("A", True), "b": ("", True), "c": ("C", False), "d": ("D", True)}
    requests: list[str] = []

    def translate(texts: list[str], *, search: Spec) -> list[Namespace]:
        requests.extend(texts)
        if len(requests) == 5:  # before the beam's translation of the third
            raise KeyboardInterrupt
        text, sure = modes[texts[0]] if search.kind == "exhaustive" else (texts[0].upper(), False)
        return [Namespace(text=text, proved=sure)]

    monkeypatch.setattr("dragoman.load", lambda *_, **__: Namespace(translate=translate))
    monkeypatch.setattr(searches, "_read", lambda *_: ["a", "b", "too long " * searches.WORDS, "c", "d"])
    options = Namespace(folder=tmp_path, data=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        searches.proved(options)
    assert searches.proved(options) == {"sentences": 4, "proved": 3, "found": 2, "empty": 1}
    assert requests == [*"aabbc", *"ccdd"]


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_model_learns_from_what_others_make_of_the_same_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, part in enumerate(("train", *multi30k.SETS.values())):
        english, french = zip(*toy.pairs(40, seed), strict=True)
        lines(tmp_path, f"{part}{multi30k.FORM}.en", list(english))
        lines(tmp_path, f"{part}{multi30k.FORM}.de", list(french))
    data = "data: {source: en, target: de, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "bleu"), "utf-8")
    monkeypatch.setattr(multi30k, "MODELS", dict.fromkeys(multi30k.MODELS, tmp_path / "tiny.yaml"))
    options = Namespace(folder=tmp_path / "table", data=tmp_path)
    rows_by_name = {row.name: row for row in multi30k.rows()}
    four, student = "recurrent, diversified by 4", "student, distilled"
    with pytest.raises(UserError, match=f"{four}: needs the row forward, 12 epochs, seed 1; train it first"):
        multi30k.work(rows_by_name[four], options)
    best = options.folder / "texts" / rows_by_name[multi30k.BEST].slug
    best.parent.mkdir(parents=True)
    for side in multi30k.SIDES:  # is not translated again
        shutil.copy(tmp_path / f"train{multi30k.FORM}.{side}", best.with_name(f"{best.name}.{side}"))
    for name in (*multi30k.FORWARD, *multi30k.BACKWARD, four, student):
        row = rows_by_name[name]
        multi30k.work(row._replace(overrides={**row.overrides, "training.epochs": "1"}), options)
    texts = {
        side: (tmp_path / "table" / "texts" / f"{produced}-12-epochs-seed-1.{side}").read_text("utf-8")
        for produced, side in (("forward", "en"), ("backward", "de"))
    }
    assert texts == {side: (tmp_path / f"train{multi30k.FORM}.{side}").read_text("utf-8") for side in multi30k.SIDES}
    learned = {name: Run.load(options.folder / rows_by_name[name].slug).config.data.train for name in (four, student)}
    assert len(learned[four]) == 5
    assert learned[student] == (str(best),)
    run = options.folder / rows_by_name[multi30k.BEST].slug
    shutil.copytree(options.folder / rows_by_name[four].slug, run)
    shutil.copy(options.folder / f"{rows_by_name[four].slug}.json", f"{run}.json")
    (again,) = multi30k.RERANKED
    multi30k.work(rows_by_name[again], options)
    assert Weighted.read(options.folder / f"{rows_by_name[again].slug}.yaml").reverse == str(
        options.folder / rows_by_name[multi30k.BACKWARD[0]].slug
    )
    scores = provenance.read(options.folder / f"{rows_by_name[again].slug}.json")["scores"]
    assert scores.keys() == multi30k.SETS.keys()
    assert multi30k.main(["--folder", str(options.folder), "--data", str(tmp_path), "--only", student]) == 0
    head, _, line = capsys.readouterr().out.splitlines()
    assert head == "|  | dev BLEU | dev chrF | dev TER | minutes |"
    assert line.startswith(f"| {student} | ")


@pytest.mark.parametrize(
    "row", multi30k.rows()[: -len((*multi30k.DIVERSE, *multi30k.RERANKED))], ids=lambda row: row.name
)
def test_every_row_of_multi30k_is_a_sound_configuration(row: Row, tmp_path: Path) -> None:
    config = multi30k.config(row, Namespace(folder=tmp_path, data=tmp_path))
    assert [problem for problem in checks.problems(config) if "data" not in problem.path] == []


def test_minutes_before_an_interruption_count(kinds: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(config: Config, *, quiet: bool) -> None:
        raise KeyboardInterrupt

    row = sizes.rows(kinds)[0]
    spent = kinds.folder / f"{row.slug}.minutes"
    monkeypatch.setattr(session, "train", interrupted)
    spends = iter([10.0, 100.0] * 2)  # 90 seconds each time, after ten for something else
    monkeypatch.setattr(time, "process_time", lambda: next(spends))
    for minutes in (1.5, 3.0):
        with pytest.raises(KeyboardInterrupt):
            sizes.work(row, kinds)
        assert float(spent.read_text("utf-8")) == minutes


def test_differences_are_bold_beyond_what_two_seeds_differ() -> None:
    def result(chrf: float, loss: float, minutes: float = 2.0) -> sizes.Result:
        return sizes.Result(0.0, chrf, loss, minutes)

    seeds = {sizes.INIT: result(20.0, 1.0), sizes.AGAIN: result(21.0, 1.01)}
    results = {
        "verses": {**seeds, "wider": result(21.9, 0.97, 4.0), "narrower": result(19.0, 1.0)},
        "captions": {**seeds, sizes.AGAIN: result(19.0, 0.99), "wider": result(22.1, 0.99, 5.0)},
        "strings": {"wider": result(1.0, 1.0)},
    }
    assert sizes.spread(results, "chrF") == pytest.approx(1.0)
    assert sizes.differences(results, "wider", "chrF") == pytest.approx({"verses": 1.9, "captions": 2.1})
    # verses and captions have both rows; the mean of two is bold beyond 2 / sqrt(2)
    assert sizes.compared(results, "wider") == [
        *("× 2.2", "**+2.0**, **-0.020**", "+1.9, **-0.030**", "**+2.1**, -0.010", "")
    ]
    assert sizes.compared(results, "narrower") == ["× 1.0", "-1.0, +0.000", "-1.0, +0.000", "", ""]
    assert sizes.spread({"verses": {sizes.INIT: result(1.0, 1.0)}}, "chrF") == float("inf")


def test_a_folder_without_corpora_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sizes.main(["--data", str(tmp_path), "--folder", str(tmp_path / "table")]) == 1
    assert "expected a folder for each corpus" in capsys.readouterr().err


@pytest.mark.slow
def test_rows_of_strings_are_a_curve_with_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, (part, count) in enumerate({"train": 60, "dev": 8, "test": 8}.items()):
        texts = [f"{one} {{name}}\t{two} {{name}}" for one, two in toy.pairs(count, seed)]
        lines(tmp_path, f"{part}.tsv", ["en\tde", *texts, *["one\tun"] * (part == "test")])
    monkeypatch.setattr(strings, "COUNTS", (40, 0))
    monkeypatch.setattr(strings, "WITHOUT", 40)
    options = Namespace(folder=tmp_path / "table", data=tmp_path)
    few, all_pairs, free = strings.rows(options)
    assert [row.name for row in (few, all_pairs, free)] == [
        "40 strings",
        "all strings",
        "40 strings, spans not protected",
    ]
    assert strings.config(all_pairs, options).text.protect
    assert not strings.config(free, options).text.protect
    for row in (few, free):
        tiny = {"training.epochs": "1", "training.average_checkpoints.count": "1", "search": "greedy"}
        strings.work(row._replace(overrides={**row.overrides, **tiny}), options)
    assert len(list(read_pairs(str(tmp_path / "table" / "texts" / "train-40.tsv"), "en", "de"))) == 40
    names = [few.name, free.name]
    assert strings.main(["--folder", str(options.folder), "--data", str(tmp_path), "--only", *names]) == 0
    head, _, protected, plain, _, _, *ways = (line.split(" | ") for line in capsys.readouterr().out.splitlines())
    assert ways[0][:3] == ["| 40 strings", "marks", "8"]
    assert [way[:3] for way in ways[2:]] == [[f"| {free.name}", "`--protect`", "8"]]
    assert ways[1][:2] == [f"| {free.name}", "nothing"]
    assert head[1:7] == [
        "dev nearest BLEU",
        "dev nearest chrF",
        "dev model BLEU",
        "dev model chrF",
        "kept",
        "with spans",
    ]
    assert (protected[0], plain[0]) == ("| 40 strings", f"| {free.name}")
    assert plain[5].endswith(" of 77")
    assert protected[5] == "77 of 77"
    assert plain[6] == protected[6] == "76"
    assert plain[1:3] == protected[1:3]


def test_a_string_whose_translation_has_spans_of_its_own_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("train", "dev", "test"):
        lines(tmp_path, f"{part}.tsv", ["en\tde", "one %d\tun %d", "two\tdeux"])
    monkeypatch.setattr(strings, "COUNTS", (0,))
    monkeypatch.setattr(strings, "trained", lambda *_: (tmp_path, 1.0))
    inventing = Namespace(
        translate=lambda texts, **_: [Namespace(text=f"{text} %d".replace("%d %d", "%d")) for text in texts]
    )
    monkeypatch.setattr(strings, "compared", lambda *_: {})
    monkeypatch.setattr("dragoman.load", lambda *_, **__: inventing)
    options = Namespace(folder=tmp_path / "table", data=tmp_path, test=False)
    row = strings.rows(options)[0]
    strings.work(row, options)
    row_result = strings.Result(**provenance.read(trainings.result(row, options)))
    assert (row_result.strings, row_result.kept, row_result.spanned) == (6, 3, 3)
    strings.show([row], options)
    assert capsys.readouterr().out.splitlines()[2].endswith("| 3 of 6 | 3 | 1.0 |")


@pytest.fixture
def tokenized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """Two corpora of `make rare-table`, one of them questions, and tiny models; the options of the command."""
    (tmp_path / "data" / "toy").mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 40, "dev": 8, "test": 8}.items()):
        for name, texts in zip(("ja", "en"), zip(*toy.pairs(count, seed), strict=True), strict=True):
            lines(tmp_path / "data" / "toy", f"{part}.{name}", list(texts))
    sentences = [
        {
            "text": f"which number1 and number10 in {part}",
            "variables": {"number1": "7", "number10": "8"},
            "question-split": part,
        }
        for part in ("train", "train", "dev", "test")
    ]
    query = {"sql": ['SELECT f(number1,"number10");', "SELECT another;"], "sentences": sentences}
    (tmp_path / "data" / "questions.json").write_text(json.dumps([query]), "utf-8")
    (tmp_path / "words.yaml").write_text(
        "data: {source: x, target: y, train: t, dev: d}\nrun: runs/x\n" + TINY.replace("METRIC", "bleu")
    )
    monkeypatch.setattr(rare, "WORDS", tmp_path / "words.yaml")
    corpora = {
        rare.FIRST: rare.Corpus("toy", "ja", "en"),
        "question-sql": rare.Corpus("questions.json", "question", "sql"),
    }
    monkeypatch.setattr(rare, "CORPORA", corpora)
    return Namespace(folder=tmp_path / "table", data=tmp_path / "data")


@pytest.mark.parametrize("row", rare.rows(), ids=lambda row: row.name)
def test_every_row_of_rare_is_a_sound_configuration(row: Row, tmp_path: Path) -> None:
    corpus = rare.CORPORA[row.name.partition(", ")[0]]
    options = Namespace(folder=tmp_path / "table", data=tmp_path)
    place = tmp_path / corpus.place
    if place.suffix:
        place.parent.mkdir()
        place.write_text("[]", "utf-8")
    config = rare.config(row, options)
    assert (config.data.source, config.data.target) == ((corpus.source,), corpus.target)
    assert [problem for problem in checks.problems(config) if "data" not in problem.path] == []


@pytest.mark.slow
@pytest.mark.spec("D2", "D3", "D5")
@pytest.mark.usefixtures("in_process")
def test_rows_of_rare_are_told_by_what_stands_for_unknown_words(
    tokenized: Namespace, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("thot")
    rows_by_name = {row.name: row for row in rare.rows()}
    names = ["ja-en, words, copied", *rare.SEEDS, rare.TOGETHER]
    tiny = {"training.epochs": "1", "search": "{kind: greedy, length_ratio: 1, length_margin: 2}"}
    fewer = {f"text.{side}.tokenizer": "{kind: bpe, vocab_size: 300}" for side in ("source", "target")}
    for name in names:
        more = {**tiny, **(fewer if "subwords" in name else {})}
        rare.work(rows_by_name[name]._replace(overrides={**rows_by_name[name].overrides, **more}), tokenized)
    together = json.loads((tokenized.folder / f"{rows_by_name[rare.TOGETHER].slug}.json").read_text("utf-8"))
    assert not (tokenized.folder / rows_by_name[rare.TOGETHER].slug).exists()
    assert rare.main(["--folder", str(tokenized.folder), "--data", str(tokenized.data), "--only", *names]) == 0
    output_lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert output_lines[0] == ["| ", "for `<unk>`", "dev BLEU", "dev exact", "minutes |"]
    assert [(line[0], line[1]) for line in output_lines[2:]] == [
        *((f"| {names[0]}", way) for way in rare.WAYS),
        *((f"| {name}", "") for name in names[1:]),
    ]
    assert together["result"]["minutes"] == pytest.approx(
        sum(float(line[-1].strip(" |")) for line in output_lines[5:8]), abs=0.2
    )
    options = ["--folder", str(tokenized.folder), "--data", str(tokenized.data), "--only", names[0], "--test"]
    assert rare.main(options) == 0
    assert "| test BLEU | test exact | minutes |" in capsys.readouterr().out


def test_questions_have_the_values_of_their_variables(tokenized: Namespace) -> None:
    questions_read = list(rare.questions(tokenized.data / "questions.json", "dev"))
    assert questions_read == [("which 7 and 8 in dev", 'SELECT f ( 7 , " 8 " ) ;')]
    assert len(list(rare.questions(tokenized.data / "questions.json", "train"))) == 2


@pytest.mark.slow
def test_a_dictionary_that_cannot_be_counted_is_told(tokenized: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rare, "_read", lambda *_: [Pair("", "")])
    with pytest.raises(UserError):
        rare.dictionary(rare.FIRST, tokenized)


@pytest.fixture
def messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """The corpora of `make outputs-table`, and tiny models; the options of the command."""
    for seed, language in enumerate(("de", "fi", "cs", "fr", "es")):
        for part, count in (("train", 40), ("dev", 8)):
            lines(tmp_path, f"{part}.en-{language}.tsv", [f"en\t{language}", *map("\t".join, toy.pairs(count, seed))])
    monkeypatch.setattr(outputs, "DEV", 15)
    return Namespace(folder=tmp_path / "table", data=tmp_path)


@pytest.mark.parametrize("row", outputs.rows(), ids=lambda row: row.name)
def test_every_row_of_outputs_is_a_sound_configuration(row: Row, messages: Namespace) -> None:
    config = outputs.config(row, messages)
    assert list(checks.problems(config)) == []
    assert f"{config.text.target.tokenizer.options['vocab_size']:,} words, {config.model.output.kind}" == row.name
    assert len(config.data.pairs) == (1 if row.name.startswith("50,000") else 5)


@pytest.mark.slow
@pytest.mark.spec("D6", "D7", "D8")
def test_rows_of_outputs_are_told(messages: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    rows_by_name = {row.name: row for row in outputs.rows()}
    names = ["50,000 words, huffman", "200,000 words, nce"]
    tiny = {"training.steps": "2", "model.decoder.size": "8", "search": "{kind: greedy, length_ratio: 1}"}
    for name in names:
        outputs.work(rows_by_name[name]._replace(overrides={**rows_by_name[name].overrides, **tiny}), messages)
    assert outputs.main(["--folder", str(messages.folder), "--data", str(messages.data), "--only", *names]) == 0
    output_lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert output_lines[0] == ["| ", "perplexity", "BLEU", "minutes |"]
    assert [line[0] for line in output_lines[2:]] == [f"| {name}" for name in names]
    assert all(1 < float(line[1]) < 1000 for line in output_lines[2:])
    assert len(list(read_pairs(messages.folder / "texts" / "dev-3.en-fi.tsv", "en", "fi"))) == 3
