"""The first configuration: which files, which sizes."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.configuration import config_file, yaml_lines
from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus import cleaning, initialize
from dragoman.corpus.examples import Pair, read_development, read_pairs
from dragoman.corpus.formats import side_by_side
from dragoman.corpus.sample import CorpusSample, Inventory
from dragoman.corpus.sizes import CorpusFiles, InitOptions, choose, mean_length, sizes
from dragoman.errors import UserError
from dragoman.training import checks, session
from dragoman.translation.loading import load
from tests import written
from tests.forms import validator
from tests.golden import Golden

CORPUS = CorpusFiles("train", "dev", "en", "fr")


def write(prefix: Path, sources: list[str], targets: list[str], suffixes: tuple[str, str] = ("en", "fr")) -> None:
    for suffix, lines in zip(suffixes, (sources, targets), strict=True):
        Path(f"{prefix}.{suffix}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def sample(pairs: int = 10_000, shared: float = 0.9, tokenized: bool = False, longest: int = 20) -> CorpusSample:
    one, both = Inventory(5_000, 80, 5_000), Inventory(8_000, 90, 8_000)
    examples = [Pair(f"one two three {number}", f"un deux trois {number}") for number in range(40)]
    return CorpusSample(pairs, 10.0, longest, one, one, both, shared, tokenized, examples)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a/train.en", "a/train.fr", (("a/train",), ("en", "fr"))),
        ("train.en.gz", "train.fr", (("train",), ("en", "fr"))),
        ("x.lc.en", "x.lc.fr", (("x.lc",), ("en", "fr"))),
        ("a/train.en", "b/train.fr", ((), ("en", "fr"))),
        ("english.txt", "french.txt", ((), ("english", "french"))),
        ("english", "french", ((), ("english", "french"))),
    ],
)
def test_languages_are_read_from_names(source: str, target: str, expected: tuple[object, object]) -> None:
    assert side_by_side(Path(source), Path(target)) == (*expected, ())


@pytest.mark.parametrize(
    ("name", "first", "row", "columns", "message"),
    [
        ("x.tsv", "en\tde\n", "{}\t{}\n", (), "line 1 is a header and no pair, columns en, de"),
        ("x.csv", "id,de,en\n", '1,"{1}",{0}\n', ("en", "de"), "line 1 is a header and no pair, columns en, de"),
        ("x.jsonl.gz", "", '{{"n": 1, "en": "{}", "de": "{}"}}\n', (), "columns en, de"),
        ("x.tsv", "", "{}\t{}\n", ("en", "de"), "no header, columns en, de"),
    ],
)
@pytest.mark.parametrize("dev", [True, False])
def test_the_languages_of_a_file_of_columns_are_told(
    name: str, first: str, row: str, columns: tuple[str, ...], message: str, dev: bool, tmp_path: Path
) -> None:
    pairs = [Pair(f"number {number}", f"Zahl {number}") for number in range(60)]
    text = (first + "".join(row.format(*pair) for pair in pairs)).encode()
    for part in ("train", "dev") if dev else ("train",):
        (tmp_path / f"{part}.{name}").write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    path, config = tmp_path / f"train.{name}", tmp_path / "c.yaml"
    about = initialize.initialize(path, None, config, None, columns)
    assert about[-2] == f"{path}: {message}"
    assert " pairs are few" in about[-1]
    assert about[0].startswith("60 pairs" if dev else "57 pairs")
    data = checks.load_config(config).data
    assert (*data.source, data.target) == ("en", "de")
    read = [*read_pairs(data.train, "en", "de"), *(read_pairs(data.dev, "en", "de") if not dev else ())]
    assert sorted(read) == sorted(pairs)
    assert data.dev == str(tmp_path / f"dev.{name}" if dev else tmp_path / "c-data" / "dev")


def test_columns_that_cannot_be_chosen_are_refused(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path / "x", ["one"], ["un"])
    with pytest.raises(UserError, match=r"^--columns:") as raised:
        initialize.initialize(tmp_path / "x.en", tmp_path / "x.fr", tmp_path / "c.yaml", None, ("en", "fr"))
    golden(str(raised.value))
    (tmp_path / "x.tsv").write_text("a/b\tc\none\tun\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.tsv:") as raised:
        initialize.initialize(tmp_path / "x.tsv", None, tmp_path / "c.yaml", None, ("a/b", "c"))
    golden(str(raised.value))
    (tmp_path / "y.tsv").write_text("a\x1b[2J\tc\none\tun\n", encoding="utf-8")
    with pytest.raises(UserError) as raised:
        initialize.initialize(tmp_path / "y.tsv", None, tmp_path / "c.yaml", None, ("a\x1b[2J", "c"))
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"nothing\.tsv:") as raised:
        initialize.initialize(tmp_path / "nothing.tsv", None, tmp_path / "c.yaml", None)
    golden(str(raised.value))


def test_files_of_one_name_do_not_tell_their_languages(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"a/x.txt and b/x.txt:") as raised:
        side_by_side(Path("a/x.txt"), Path("b/x.txt"))
    golden(str(raised.value))


@pytest.mark.parametrize("dev", ["dev", "valid", "corpus.dev"])
def test_development_pairs_beside_the_files_are_found(dev: str, tmp_path: Path) -> None:
    train = "corpus.train" if dev.startswith("corpus") else "corpus"
    for name in (train, dev):
        write(tmp_path / name, ["one two"] * 30, ["un deux"] * 30)
    config = tmp_path / "c.yaml"
    notes = initialize.initialize(tmp_path / f"{train}.en", tmp_path / f"{train}.fr", config, None)
    assert notes[1] == f"training pairs: {tmp_path / train}; development pairs: {tmp_path / dev}"
    data = checks.load_config(config).data
    assert (data.train, data.dev) == ((str(tmp_path / train),), str(tmp_path / dev))
    assert not (tmp_path / "c-data").exists()


def test_without_any_some_pairs_are_set_aside(tmp_path: Path) -> None:
    generator = random.Random(1)
    sources = [f"number {generator.randrange(150)}" for _ in range(400)]
    with gzip.open(tmp_path / "all.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{source} too {number}\n" for number, source in enumerate(sources))
    config = tmp_path / "c.yaml"
    notes = initialize.initialize(tmp_path / "all.tsv.gz", None, config, None)
    data = checks.load_config(config).data
    train, dev = (list(read_pairs(where, data.source[0], data.target)) for where in (data.train[0], data.dev))
    assert data.dev == str(tmp_path / "c-data" / "dev")
    assert notes[1].endswith(f": {len(dev)} pairs set aside in {data.dev}")
    assert len(train) + len(dev) == 400
    assert 5 <= len(dev) <= 40
    assert not {pair.source for pair in train} & {pair.source for pair in dev}
    assert [pair.source for pair in train] == [s for s in sources if s in {pair.source for pair in train}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (["copy %d files", "copy {x} <b>files</b>", "none", "5 files"] * 10, ("placeholders", "tags")),
        (["copy %d files", "copy {x} <b>files</b>"] * 9, ()),  # few
        (["copy %d files"] * 25 + ["none"] * 6_000, ()),  # rare
        (["copy %d files", "copy %s files", "ask"] * 30, ()),  # not the same
        (["none", "no @ and no <"], ()),
    ],
)
def test_spans_that_both_sides_share_are_protected(tmp_path: Path, lines: list[str], kinds: tuple[str, ...]) -> None:
    targets = [line.replace("files", "Dateien").replace("%s", "").replace("ask", "%d") for line in lines]
    write(tmp_path / "train", lines, targets)
    write(tmp_path / "dev", ["one"], ["eins"])
    for options, expected in ((InitOptions(), kinds), (InitOptions(translation_memory=True), ())):
        config = tmp_path / f"{options.translation_memory}.yaml"
        notes = initialize.initialize(tmp_path / "train.en", tmp_path / "train.fr", config, None, options=options)
        assert tuple(protection.kind for protection in checks.load_config(config).text.protect) == expected
        assert ("the same placeholders and tags on both sides" in notes[0]) == bool(kinds)


def test_given_development_pairs_are_taken(tmp_path: Path) -> None:
    for folder, suffix in (("a", "en"), ("b", "fr")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"train.{suffix}").write_text("one\n" * 30, encoding="utf-8")
    write(tmp_path / "mine", ["one"], ["un"])
    config, dev = tmp_path / "c.yaml", str(tmp_path / "mine")
    notes = initialize.initialize(tmp_path / "a" / "train.en", tmp_path / "b" / "train.fr", config, dev)
    assert notes[1] == f"30 pairs copied to {tmp_path / 'c-data' / 'train'}; development pairs: {dev}"
    assert checks.load_config(config).data.dev == dev


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
def test_of_several_development_pairs_the_most_alike_in_name_are_taken(
    seed: str, tmp_path: Path, repository: Path
) -> None:
    """Whatever order the hashes of names have in this process."""
    for name in ("x.train", "x.dev", "dev"):
        write(tmp_path / name, ["one two"], ["un deux"])
    prefix = str(tmp_path / "x.train")
    code = f"from dragoman.corpus import initialize; print(initialize._beside({prefix!r}, ('en', 'fr')))"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(repository)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'x.dev'}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sources", "targets"),
    [
        (["\u043a\u043e\u0442 \u0441\u043f\u0438\u0442", "\u043f\u0451\u0441 \u0435\u0441\u0442"], ["cat", "dog"]),
        (["one"], ["1"]),
        (["what a fine day", "it rained all of it"], ["+ yes", "- no"]),
        (["a-b c-d e-f a-d", "1:2 3:4"], ["\u4e00\u4e8c", "\u4e09\u56db"]),
        (["..., ;", "!"], ["one two", "three"]),
    ],
)
def test_what_is_written_can_be_trained_however_little_text_a_side_has(
    sources: list[str], targets: list[str], tmp_path: Path
) -> None:
    for name in ("train", "dev"):
        write(tmp_path / name, sources * 15, targets * 15)
    config = tmp_path / "c.yaml"
    initialize.initialize(tmp_path / "train.en", tmp_path / "train.fr", config, None)
    small = {"run": str(tmp_path / "run"), "training.steps": "1", "training.validate_every": "1"}
    small |= {"model.encoder.size": "4", "model.decoder.size": "4", "device.threads": "1"}
    folder = session.train(checks.load_config(config, small), quiet=True)
    assert len(load(folder.path, device=DeviceConfig(threads=1)).translate(sources)) == len(sources)


def test_the_options_that_matter_most_are_written_out(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        write(tmp_path / name, ["one two"] * 30, ["un deux"] * 30)
    config = tmp_path / "c.yaml"
    initialize.initialize(tmp_path / "train.en", tmp_path / "train.fr", config, None)
    text = config.read_text(encoding="utf-8")
    for option in ("cell: gru", "layers: 1", "direction: bidirectional", "attend: between", "input_feeding: none"):
        assert f"    {option}\n" in text
    assert f"dragoman debug config {config} prints all of them." in text


def test_editors_find_the_schema_that_the_configuration_fits(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        write(tmp_path / name, ["one two"] * 30, ["un deux"] * 30)
    for name in ("my own.yaml", "other.yaml"):  # which have one schema
        config = tmp_path / name
        initialize.initialize(tmp_path / "train.en", tmp_path / "train.fr", config, None)
        first, *_ = text = config.read_text(encoding="utf-8").splitlines()
        match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
        assert match
        schema = (tmp_path / match[1]).read_text(encoding="utf-8")
        assert schema == config_file.schema()
        validator(schema).validate(yaml_lines.read("\n".join(text), name).value)


@pytest.mark.parametrize("text", ["mine", "{}", '{"title": "mine"}', "[" * 9999, "[]"])
def test_another_file_is_not_taken_for_the_schema(text: str, tmp_path: Path, golden: Golden) -> None:
    for name in ("train", "dev"):
        write(tmp_path / name, ["one two"] * 30, ["un deux"] * 30)
    (tmp_path / "dragoman.schema.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"dragoman\.schema\.json: ") as raised:
        initialize.initialize(tmp_path / "train.en", tmp_path / "train.fr", tmp_path / "c.yaml", None)
    golden(str(raised.value), text[:9])
    assert (tmp_path / "dragoman.schema.json").read_text(encoding="utf-8") == text
    assert not (tmp_path / "c.yaml").exists()


def test_streams_are_refused_since_they_can_be_read_once(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path / "x", ["one"], ["un"])
    os.mkfifo(tmp_path / "pipe.fr")
    for second in (Path("-"), tmp_path / "pipe.fr"):
        with pytest.raises(UserError, match=f"{second}:") as raised:
            initialize.initialize(tmp_path / "x.en", second, tmp_path / "c.yaml", None)
        golden(str(raised.value))


def test_a_failure_leaves_nothing(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path / "x", ["one"], ["un"])
    config = tmp_path / "c.yaml"
    with pytest.raises(UserError) as raised:
        initialize.initialize(tmp_path / "x.en", tmp_path / "x.fr", config, None)
    golden(str(raised.value))
    write(tmp_path / "empty", [], [])
    with pytest.raises(UserError, match=r"empty\.en:") as raised:
        initialize.initialize(tmp_path / "empty.en", tmp_path / "empty.fr", config, None)
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"nothing.en:") as raised:
        initialize.initialize(tmp_path / "x.en", tmp_path / "x.fr", config, str(tmp_path / "nothing"))
    golden(str(raised.value))
    assert {path.name for path in tmp_path.iterdir()} == {"x.en", "x.fr", "empty.en", "empty.fr"}


def test_sizes_grow_with_the_corpus() -> None:
    rich = Inventory(10**6, 90, 10**6)
    chosen = [choose(CORPUS, sample(pairs)._replace(both=rich), "r") for pairs in (10**3, 10**4, 10**5, 10**6, 10**7)]
    for key in ("encoder", "decoder"):
        sizes = [getattr(config.model, key).options["size"] for config in chosen]
        assert sizes == sorted(sizes)
    symbols = [config.text.source.tokenizer.options["vocab_size"] for config in chosen]
    assert symbols == sorted(set(symbols))
    assert chosen[0].training.validate_every is None
    assert chosen[-1].training.validate_every == 2_000


def test_batches_have_the_symbols_of_so_many_sentences() -> None:
    """Whatever the lengths of the sentences: batches of the longest ones would need many times the memory."""
    words = ["open the file", "close the window", "save a file", "print the window"]
    short = [Pair(source, target) for source in words for target in words]
    long = [Pair(" ".join([source] * 4), " ".join([target] * 4)) for source, target in short]
    for size in (sizes(1), sizes(10**5)):
        for examples in (short, long):
            seen = sample()._replace(examples=examples)
            chosen = choose(CORPUS, seen, "r", size=size)
            length = mean_length(examples, [chosen.text.source.tokenizer.options["vocab_size"]], chosen.data.max_length)
            assert chosen.training.batch.type == "tokens"
            assert chosen.training.batch.size == pytest.approx(size.batch * length, abs=5)
    assert mean_length(long, [400], 1000) > 3 * mean_length(short, [400], 1000)


@pytest.mark.parametrize(("pairs", "kinds"), [(9_999, ["chrf", "bleu"]), (10_000, ["bleu", "chrf"])])
def test_chrf_decides_where_pairs_are_few(pairs: int, kinds: list[str]) -> None:
    chosen = choose(CORPUS, sample(pairs), "r")
    assert [spec.kind for spec in chosen.metrics] == kinds
    assert chosen.training.metric == kinds[0]


def test_few_epochs_need_little_dropout_and_a_rate_that_falls_over_all_of_them() -> None:
    usual, many, few = (choose(CORPUS, sample(), "r", InitOptions(epochs=epochs)) for epochs in (None, 50, 3))
    assert [choice.training.epochs for choice in (usual, many, few)] == [60, 50, 3]
    assert [choice.training.schedule.kind for choice in (usual, many, few)] == ["plateau", "cosine", "cosine"]
    assert usual.model == many.model
    for config in (few, many):
        dropouts = [config.model.embedding.dropout]
        dropouts += [part.options["dropout"] for part in (config.model.encoder, config.model.decoder)]
        assert dropouts == ([0.1, 0.15, 0.15] if config is few else [0.2, 0.35, 0.35])


def test_a_memory_is_a_source_that_is_read_apart() -> None:
    config = choose(CORPUS, sample(), "r", InitOptions(translation_memory=True))
    assert config.data.recalled == ("memory",)
    assert config.model.combination == Spec("hierarchical")
    assert choose(CORPUS, sample(), "r").data.recalled == ()


def test_what_was_seen_decides_the_rest() -> None:
    plain, other = choose(CORPUS, sample(), "r"), choose(CORPUS, sample(shared=0.1, tokenized=True, longest=200), "r")
    assert plain.text.shared_vocabulary
    assert plain.model.embedding.tie == "all"
    assert not other.text.shared_vocabulary
    assert other.model.embedding.tie == "output"
    assert other.text.source.pretokenizer == "whitespace"
    assert other.metrics[0].options == {"tokenize": "none"}
    chinese = choose(CORPUS, sample()._replace(tokenize="zh"), "r").metrics
    assert (chinese[0], plain.metrics[0]) == (Spec("bleu", {"tokenize": "zh"}), Spec("bleu"))
    spaced = choose(CORPUS, sample(tokenized=True)._replace(tokenize="zh"), "r")
    assert spaced.metrics[0].options == {"tokenize": "none"}
    assert (plain.data.max_length, other.data.max_length) == (100, 350)
    few = choose(CORPUS, sample()._replace(both=Inventory(120, 90, 100)), "r").text.source.tokenizer.options[
        "vocab_size"
    ]
    assert few == 256 + 1 + 90 + 50
    apart = choose(CORPUS, sample(shared=0.1)._replace(target=Inventory(2, 10, 2)), "r").text
    assert [side.tokenizer.options["vocab_size"] for side in (apart.source, apart.target)] == [1_000, 256 + 1 + 10 + 1]


def half_translated(folder: Path) -> Path:
    """A catalogue with no translation of every third of its 300 messages, and near twins among its sources."""
    pairs = [(f"Message {number}", f"Meldung {number}" if number % 3 else "") for number in range(200)]
    twins = [(f"message  {number}.", f"Die Meldung {number}." if number % 3 else "") for number in range(100)]
    return Path(written.write(folder, "x.po", pairs + twins))


def test_what_is_not_translated_is_neither_set_aside_nor_judged_by(tmp_path: Path, golden: Golden) -> None:
    config = tmp_path / "c.yaml"
    notes = initialize.initialize(half_translated(tmp_path), None, config, None, ("en", "de"))
    golden("\n".join(notes).replace(str(tmp_path), "."))
    data = checks.load_config(config).data
    train, dev = (list(read_pairs(where, "en", "de")) for where in (data.train[0], data.dev))
    assert all(source.strip() and target.strip() for source, target in train + dev)
    assert (len(train) + len(dev), len(dev)) == (199, 9)
    keys = [{cleaning.key(pair.source) for pair in part} for part in (train, dev)]
    assert not keys[0] & keys[1], "near twins are in one part"


def test_development_pairs_of_the_user_with_a_blank_side_are_not_judged_by(tmp_path: Path, golden: Golden) -> None:
    path = half_translated(tmp_path)
    notes = initialize.initialize(path, None, tmp_path / "c.yaml", str(path), ("en", "de"))
    assert notes[0].startswith("199 pairs (and 101 with an empty side) of natural text")
    judged = read_development(str(path), ("en",), "de")
    golden(str(judged.report))
    assert len(judged.examples) == 199
    assert all(example.target.strip() for example in judged.examples)
    write(tmp_path / "x", ["one", " "], ["", "deux"])
    with pytest.raises(UserError, match=r"x: the development corpus is empty") as raised:
        read_development(str(tmp_path / "x"), ("en",), "fr")
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"x\.en: the corpus is empty") as raised:
        initialize.initialize(tmp_path / "x.en", tmp_path / "x.fr", tmp_path / "d.yaml", None)
    golden(str(raised.value))
    assert not (tmp_path / "d-data").exists()


def test_files_of_keys_are_copied_as_texts(tmp_path: Path) -> None:
    """And not line by line, as two files of text are."""
    for name, word in (("en", "Message"), ("de", "Meldung")):
        (tmp_path / f"{name}.json").write_text(json.dumps({f"k{number}": f"{word} {number}" for number in range(40)}))
    initialize.initialize(tmp_path / "en.json", tmp_path / "de.json", tmp_path / "c.yaml", None)
    data = checks.load_config(tmp_path / "c.yaml").data
    pairs = [pair for place in (data.train[0], data.dev) for pair in read_pairs(place, "en", "de")]
    assert sorted(pairs) == sorted(Pair(f"Message {number}", f"Meldung {number}") for number in range(40))
