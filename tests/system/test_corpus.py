"""`dragoman corpus`: from the files that people have to what `init` and `train` read."""

import json
from pathlib import Path

import pytest

from tests import toy, written
from tests.golden import Golden
from tests.system.conftest import Shell

SMALL = [("_File", "_Datei"), ("File", "Datei"), ("a cat", "eine Katze"), ("left", ""), ("same", "same")]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def lines(shell: Shell, name: str) -> list[str]:
    return (shell.folder / name).read_text("utf-8").split("\n")[:-1]


def test_files_of_any_format_become_one_corpus(shell: Shell, golden: Golden) -> None:
    written.write(shell.folder, "x.tmx", SMALL)
    written.write(shell.folder, "x.jsonl.gz", [("a dog", "ein Hund"), ("a cat", "eine Katze")])
    shell.write("text.en", "a cow\n")
    shell.write("text.de", "eine Kuh\n")
    outcome = shell("corpus", "x.tmx", "x.jsonl.gz", "text", "--columns", "en,de", "-o", "new/all", "--drop-copies")
    assert (outcome.code, outcome.err) == (0, "")
    golden(outcome.out)
    assert lines(shell, "new/all.tsv") == [
        "en\tde\tfile\tcontext",
        "File\tDatei\tx.tmx\t",
        "a cat\teine Katze\tx.tmx\t",
        "a dog\tein Hund\tx.jsonl.gz\t",
        "a cow\teine Kuh\ttext\t",
    ]


def test_two_files_of_text_are_a_corpus(shell: Shell) -> None:
    for name, text in (("en", "a cow\n"), ("de", "eine Kuh\n")):
        shell.write(f"text.{name}", text)
    assert shell("corpus", "text.en", "text.de", "-o", "c").code == 0
    assert lines(shell, "c.tsv") == ["en\tde\tfile\tcontext", "a cow\teine Kuh\ttext\t"]


@pytest.mark.slow
def test_what_is_written_is_read_by_init(shell: Shell) -> None:
    written.write(shell.folder, "x.tmx", [(f"text {number}", f"Text {number}") for number in range(200)])
    outcome = shell("corpus", "x.tmx", "-o", "c", "--dev", "20", "--test", "30")
    assert outcome.code == 0
    assert [len(lines(shell, f"c.{part}.tsv")) - 1 for part in ("train", "dev", "test")] == [150, 20, 30]
    message = shell("init", "c.train.tsv").err
    assert "columns en, de" in message
    assert "development pairs: c.dev.tsv" in message
    assert shell("debug", "data", "config.yaml").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.mo", "x.tmx", "x.xlf", "x.json"])
def test_training_reads_every_format(name: str, shell: Shell) -> None:
    """From where `init` says the files are."""
    written.write(shell.folder, name, toy.pairs(60, 1))
    assert shell("init", name, "--columns", "en,de", "--dev", name, "-o", "c.yaml").code == 0
    assert "60" in shell("debug", "data", "c.yaml").out
    small = ["--model.embedding.size=8", "--model.encoder.size=8", "--model.decoder.size=8", "--training.epochs=1"]
    units = [f"--text.{side}.tokenizer.vocab_size=280" for side in ("source", "target")]
    trained = shell("train", "c.yaml", *small, *units, "--training.metric=loss", "--run=run")
    assert trained.code == 0, trained.err


def test_a_corpus_is_looked_at_without_a_configuration(shell: Shell, golden: Golden) -> None:
    written.write(shell.folder, "x.tsv", SMALL)
    looked = shell("debug", "data", "x.tsv")
    assert looked.code == 0, looked.err
    golden(looked.out)
    assert shell("debug", "data", "x.tsv", "--seed", "3").code == 2


def test_two_texts_are_looked_at_without_a_configuration(shell: Shell, golden: Golden) -> None:
    shell.write("text.en", "".join(f"{source}\n" for source, _ in SMALL))
    shell.write("text.de", "".join(f"{target}\n" for _, target in SMALL))
    looked = shell("debug", "data", "text.en", "text.de")
    assert (looked.code, looked.lines[0]) == (0, "pairs: 5")
    for words in ("text", "text.en", "text.en other.de", "same.en same.en"):
        golden(shell.fails("debug", "data", *words.split()), words)
    assert shell("debug", "data", "text.en", "text.de", "--seed", "3").code == 2


@pytest.mark.slow
def test_two_files_of_keys_are_a_corpus(shell: Shell) -> None:
    for language, text in (("en", "Open"), ("de", "Öffnen")):
        shell.write(f"{language}.json", json.dumps({"menu": {"open": text}}))
    assert shell("corpus", "en.json", "de.json", "-o", "c").code == 0
    assert lines(shell, "c.tsv")[1:] == ["Open\tÖffnen\t{}.json\t"]
    assert "{}.json: en, de" in shell("init", "en.json", "de.json", "--dev", "{}.json").err
    assert "{}.json" in (shell.folder / "config.yaml").read_text("utf-8")
    assert shell("debug", "data", "config.yaml").code == 0


def test_every_seed_is_a_choice_of_its_own(shell: Shell) -> None:
    """0 too; 1 if none is given."""
    shell.write("mine.tsv", "en\tfr\n" + "".join(f"{source}\t{target}\n" for source, target in toy.pairs(60, 1)))
    chosen: list[str] = []
    for number, seed in enumerate(["--seed=0", "--seed=0", "--seed=2", "--seed=1", ""]):
        assert shell("corpus", "mine.tsv", "-o", f"c{number}", "--dev=9", *filter(None, [seed])).code == 0
        chosen.append((shell.folder / f"c{number}.dev.tsv").read_text("utf-8"))
    assert chosen[0] == chosen[1]
    assert chosen[3] == chosen[4]
    assert len(set(chosen)) == 3


def test_near_duplicates_are_counted_and_can_be_kept_in_one_part(shell: Shell) -> None:
    pairs = [
        (f"{word} {number} files", f"{number}") for word in ("open", "close", "save", "sort") for number in range(5)
    ]
    written.write(shell.folder, "x.tsv", pairs)
    split = ("corpus", "x.tsv", "-o")
    outcome = shell(*split, "c", "--dev", "5", "--test", "5")
    for part in ("dev", "test"):
        assert f"c.{part}.tsv: near-duplicates in the training data: 5 of 5 sources, 100.0 %; 5" in outcome.out
    outcome = shell(*split, "d", "--dev", "5", "--group-near-duplicates")
    assert (outcome.code, outcome.lines[2]) == (
        0,
        "d.dev.tsv: near-duplicates in the training data: 0 of 5 sources, 0.0 %",
    )
    assert len({line.split()[0] for line in lines(shell, "d.dev.tsv")[1:]}) == 1
    assert shell(*split, "e", "--group-near-duplicates").code == 2


def test_what_is_installed_becomes_a_corpus(shell: Shell, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    folder = shell.folder / "share/locale/de/LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "cat.mo").write_bytes(written.mo([("menu\x04_File", "_Datei"), ("one\0many", "eins\0viele")]))
    monkeypatch.setenv("XDG_DATA_DIRS", "share")
    listed = shell("corpus", "--installed", "de")
    assert listed.code == 0
    assert not list(shell.folder.glob("*.tsv"))
    outcome = shell("corpus", "--installed", "de", "-o", "c")
    golden(outcome.out)
    assert outcome.out.endswith(listed.out)
    assert lines(shell, "c.tsv") == [
        "en\tde\tdomain\tcontext",
        "File\tDatei\tcat\tmenu",
        "one\teins\tcat\t",
        "many\tviele\tcat\t",
    ]
    golden(shell.fails("corpus", "--installed", "xx"))
    (folder / "zero.mo").write_bytes(b"")
    again = shell("corpus", "--installed", "de")
    assert (again.code, again.out) == (0, listed.out)
    golden(again.err)
    (folder / "cat.mo").unlink()
    golden(shell("corpus", "--installed", "de", "-o", "d").err)
    assert not (shell.folder / "d.tsv").exists()


def test_contexts_have_a_column_of_their_own_also_as_a_source(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for language, text in (("de", "Datei"), ("fr", "fichier")):
        folder = shell.folder / "share/locale" / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        header = written.HEADER.replace("Language: de", f"Language: {language}")
        (folder / "cow.mo").write_bytes(written.mo([("menu\x04file", text)], header))
    monkeypatch.setenv("XDG_DATA_DIRS", "share")
    place = "share/locale/de/LC_MESSAGES/cow.mo"
    table = ["of_file.tsv", "--columns", "en,de"]
    for words, name in ((["--installed", "de"], "installed"), ([place], "of_file"), (table, "of_table")):
        outcome = shell("corpus", *words, "--also", "fr,context", "-o", name)
        assert outcome.code == 0, outcome.err
        titles, row = (line.split("\t") for line in lines(shell, f"{name}.tsv"))
        assert [*titles[:3], titles[4]] == ["en", "fr", "de", "context"]
        assert [*row[:3], row[4]] == ["file", "fichier", "Datei", "menu"]


def test_comments_of_the_source_are_contexts_where_there_is_none(shell: Shell) -> None:
    messages = [
        '#. TRANSLATORS: a file,\n#. not a tool\nmsgid "File"\nmsgstr "Datei"\n',
        '#. unread\nmsgctxt "tool"\nmsgid "File"\nmsgstr "Feile"\n',
        '# of a translator\n# dragoman: confidence 50%\nmsgid "cow"\nmsgstr "Kuh"\n',
    ]
    shell.write("de.po", "\n".join([written.po([]).decode(), *messages]))
    assert shell("corpus", "de.po", "--columns", "en,de", "--also", "context", "-o", "c").code == 0
    assert lines(shell, "c.tsv") == [
        "en\tde\tfile\tcontext",
        "File\tDatei\tde.po\tTRANSLATORS: a file, not a tool",
        "File\tFeile\tde.po\ttool",
        "cow\tKuh\tde.po\t",
    ]


@pytest.mark.parametrize(
    "words",
    [
        "x.tsv -o x",
        "x.tsv -o y",
        "none.po -o z",
        "train -o z",
        "x.tsv -o z --columns en,fr,de",
        "x.tsv",
        "-o z",
        "x.tsv -o z --installed de",
        "x.tsv -o z --dev 9",
        "c.tsv -o z",
        "e.tsv -o z",
        "x.tsv -o -",
        "--installed ../de",
        "x.tsv -o z --rows 3",
        "x.tsv -o z --seed 2",
        "m.pot -o z",
        "m.pot -o z --columns en,de",
    ],
)
def test_mistakes_are_told_and_nothing_is_written(words: str, shell: Shell, golden: Golden) -> None:
    pytest.importorskip("polib")
    written.write(shell.folder, "x.tsv", SMALL)
    shell.write("y.tsv", "mine")
    shell.write("m.pot", 'msgid "a"\nmsgstr ""\n')
    shell.write("c.tsv", "file\tde\na\tb\n")
    shell.write("e.tsv", "en\tde\na\t\n\tb\nc\t \n")
    before = {path: path.read_bytes() for path in shell.folder.iterdir()}
    outcome = shell("corpus", *words.split(), *(["--columns", "file,de"] if words.startswith("c.") else []))
    if outcome.code != 2:  # usage, which typer tells
        assert outcome.code == 1
        golden(outcome.err)
    assert {path: path.read_bytes() for path in shell.folder.iterdir()} == before
