"""Whatever is wrong with the input is told in one line, with exit status 1, and nothing is left half-written."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.model.weights import write_tensors
from tests.system.conftest import Shell

LONG = "three " * 60  # more bytes than a name may have
LATIN = "un caf\u00e9\n".encode("latin-1")


def nothing_new(shell: Shell, before: set[Path]) -> bool:
    """No file that was not there, least of all a part of one."""
    return set(shell.folder.rglob("*")) <= before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("translate nowhere test.en", "nowhere: no such run folder"),
        ("translate . test.en", ".: not a run folder (it has no config.yaml)"),
        ("translate runs/toy nothing.en", "nothing.en: no such file"),
        ("translate runs/toy missing runs/toy", "missing: no such run folder"),
        ("translate runs/toy runs/toy --engine int8", "several runs translate together by engine torch"),
        ("translate runs/toy runs/toy --wait 2", "several RUNs: --wait writes word by word, by greedy search"),
        ("translate runs/toy latin.en", "latin.en:2: not UTF-8 (byte 0xE9 at column 7)"),
        ("translate runs/toy cut.en.gz", "cut.en.gz: the .gz file is truncated"),
        (f"translate runs/toy '{LONG}'", f"{LONG}: File name too long"),
        (f"translate '{LONG}' test.en", f"{LONG}: File name too long"),
        (
            "postedit runs/toy --translation test.en --html -",
            "--html -: the lines go to standard output; write them to a file with -o",
        ),
        (
            "postedit runs/toy --translation test.en -o same --html same",
            "--html same: the lines go there; name another file",
        ),
        (
            "translate runs/toy test.en --via fr",
            "--via: goes by way of another language, and this run has no others (data.pairs)",
        ),
        ("score runs/toy - -", "-: standard input can be one of the files only; name the others"),
        ("align runs/toy - -", "-: standard input can be one of the files only; name the others"),
        ("align runs/toy test.en - --gold -", "-: standard input can be one of the files only; name the others"),
        ("evaluate -", "-: standard input can be one of the files only; name the others"),
        ("evaluate - - -i test.fr", "-: standard input can be one of the files only; name the others"),
        ("evaluate - --run runs/toy --source -", "-: standard input can be one of the files only; name the others"),
        (
            "report runs/toy --sentences - --gold -",
            "-: standard input can be one of the files only; name the others",
        ),
        ("init train.en - -o new.yaml", "-: init reads its files more than once, so it takes no stream"),
        ("translate runs/toy test.en --weights best", "runs/toy/best.safetensors: no such file"),
        (
            "translate runs/toy test.en --n-best 9",
            "n-best 9: this search gives from 1 to 3 translations, a wider beam more",
        ),
        ("translate runs/toy test.en --beam 9000", "size: must be at most 1000, found 9000"),
        (
            "translate runs/toy test.en --search greedy --beam 4",
            "--beam: greedy search has no beam; leave out --beam or --search greedy",
        ),
        ("score runs/toy test.en short.fr", "test.en has 6 lines, short.fr has 1; every line needs its translation"),
        ("score runs/toy test.en nothing.fr", "nothing.fr: no such file"),
        ("score runs/toy long.en long.en", "long.en:1: has more than 5,000 characters, the most to be scored"),
        ("align runs/toy test.en test.fr --gold short.fr", "short.fr:1: 'un' is not a link, expected"),
        ("align runs/toy test.en test.fr --gold gold", "gold has 1 lines, but there are 6 pairs in test.en"),
        ("align runs/toy test.en test.fr --gold beyond", "beyond:2: the link 90-0 lies beyond the sentence pair"),
        ("report runs/toy --sentences pairs --gold beyond2", "beyond2:1: the link 0-90 lies beyond the sentence pair"),
        ("evaluate test.fr -i short.fr", "test.fr has 6 lines, but short.fr has 1"),
        ("evaluate test.fr", "test.fr has 6 lines, but <stdin> has 0"),
        ("evaluate empty -i empty", "no translations to score"),
        ("align runs/toy empty empty --gold empty", "empty: has no links"),
        ("translate runs/toy test.en -o no/such/x", "no/such/x: cannot write ("),
        ("translate runs/toy test.en --json --alignments", "--alignments: the objects of --json have them; leave"),
        ("translate runs/toy test.en -o apart", "apart: is a folder, expected the name of a file to write"),
        ("translate runs/toy test.en -o test.fr/x", "test.fr/x: cannot write ("),
        ("postedit runs/toy --translation test.en -o no/such/x", "no/such/x: cannot write ("),
        ("postedit runs/toy --translation test.en --html no/such/x", "no/such/x: cannot write ("),
        ("report runs/toy -o no/such/x", "no/such/x: cannot write ("),
        ("average runs/toy -o no/such/x", "no/such/x: cannot write ("),
        ("init train.en train.fr -o no/such/x", "no/such/x: cannot write ("),
        ("features apart -o no/such/x.npy --model timm:vgg16", "no/such/x.npy: cannot write ("),
        (
            "postedit runs/toy --translation test.en",
            "runs/toy: translates en to fr and edits nothing; use translate",
        ),
        (
            "postedit runs/toy --translation test.en --source test.fr",
            "runs/toy: translates en to fr and edits nothing; use translate",
        ),
        ("export test.en --onnx", "test.en: no such run folder"),
        ("export . --onnx", ".: not a run folder (it has no config.yaml)"),
        ("evaluate test.fr -i test.fr --metrics bleau", "--metrics: unknown metric 'bleau', did you mean 'bleu'?"),
        ("evaluate short.fr --run runs/toy --source test.en", "short.fr has 1 lines, but test.en has 6"),
        ("report runs/toy --sentences test.en --gold gold", "gold has 1 lines, but there are 6 sentences"),
        ("report runs/toy --sentences short.fr --gold gold", "gold: gold links need the reference of every sentence"),
        (
            "report apart/toy --gold gold",
            "apart/toy: its development sentences are gone (gone.en: no such file (nor gone.en.gz)); name --sentences",
        ),
        ("average runs/toy --best 3 -o mean.safetensors", "runs/toy: 3 weights asked for, 2 kept"),
        ("average nowhere runs/toy/model.safetensors -o mean.safetensors", "nowhere: no such run folder"),
        (
            "average runs/toy other.safetensors -o mean.safetensors",
            "other.safetensors: weights of another model",
        ),
        ("average runs/bare -o mean.safetensors", "runs/bare: has not kept the weights of any validation"),
        ("average runs/toy test.en -o mean.safetensors", "test.en: truncated or not a dragoman weights file"),
        ("info test.en", "test.en: no such run folder"),
        ("debug data nothing.yaml", "nothing.yaml: no such file"),
        ("debug data toy.yaml --data.dev empty", "empty.en: no such file (nor empty.en.gz)"),
        ("debug config toy.yaml --trainig.steps 3", "--trainig.steps: trainig: unknown key, did you mean 'training'?"),
        ("init train.en", "train.en: expected a second file, its translation, or a .tsv, .csv or .jsonl with both"),
        (
            "init train.en short.fr -o new.yaml",
            "train.en has 80 lines, short.fr has 1; every line needs its translation",
        ),
        (
            "init apart/none.en apart/none.fr -o new.yaml",
            "apart/none.en: the corpus is empty",
        ),
        ("init train.en train.fr -o toy.yaml", "toy.yaml: exists already; choose another name with -o, or remove it"),
    ],
)
def test_one_line_tells_what_is_wrong(words: str, message: str, copied: Shell) -> None:
    copied.write("latin.en", b"one two\n" + LATIN)
    copied.write("cut.en.gz", bytes.fromhex("1f8b08000000000000034bcc"))
    copied.write("short.fr", "un\n")
    copied.write("gold", "0-0\n")
    copied.write("beyond", "0-0\n0-0 90?0\n\n\n\n\n")
    copied.write("beyond2", "0-90\n")
    copied.write("pairs", "one\tun\n")
    write_tensors(copied.folder / "other.safetensors", {"one": torch.ones(2)}, {})
    shutil.copytree(copied.folder / "runs" / "toy", copied.folder / "runs" / "bare")
    (copied.folder / "runs" / "bare" / "checkpoints" / "last.safetensors").unlink()
    copied.write("long.en", " ".join(["three"] * 100_000) + "\n")
    shutil.copytree(copied.folder / "runs" / "toy", copied.folder / "apart" / "toy")
    moved = copied.folder / "apart" / "toy" / "config.yaml"
    moved.write_text(moved.read_text().replace("dev: dev", "dev: gone"))
    for name in ("empty", "apart/none.en", "apart/none.fr"):
        copied.write(name, "")
    before = set(copied.folder.rglob("*"))
    found = copied.fails(*shlex.split(words))
    assert found.startswith(message)
    assert nothing_new(copied, before)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data.train=nothing", "nothing.en: no such file (nor nothing.en.gz)"),
        ("--data.train=uneven", "uneven.en has 2 lines, uneven.fr has 1; every line needs its translation"),
        ("--data.train=latin", "latin.en:1: not UTF-8 (byte 0xE9 at column 7)"),
        ("--data.train=empty", "empty: the corpus is empty"),
        ("--data.dev=empty", "empty: the development corpus is empty"),
        ("--data.train=columns.tsv", "columns.tsv:2: expected 2 columns separated by one tab, found 3"),
        ("--data.max_length=1", "train: no pair to train on: 0 of 80 pairs (left out: 80 too long)"),
        (
            "--text.joint=false --text.source.unit='{kind: bpe, size: 9000}'",
            "text.source.unit: size 9000 is larger than the corpus allows, at most",
        ),
        (
            "--text.joint=false --text.source.unit='{kind: unigram, size: 9000}'",
            "text.source.unit: size 9000 is larger than the corpus allows, at",
        ),
        ("--text.joint=false --text.source.unit='{kind: bpe, size: 9}'", "text.source.unit: size 9 is too small"),
        ("--run=train.en", "train.en: is a file; choose another folder with --run"),
        ("--run=.", ".: exists and is not a run folder (it has"),
        ("--device.name=gpu", '--device.name: expected one of auto, cpu, cuda, found "gpu"'),
        ("--training.epochs=0", "--training.epochs: must be at least 1, found 0"),
        (
            "--model.decoder.attend=befor",
            '--model.decoder.attend: expected one of before, after, between, found "befor"',
        ),
        ("--model.attention.score=none --model.decoder.attend=before", "toy.yaml:13: model.decoder: has no attention"),
    ],
)
def test_training_that_cannot_start_leaves_nothing(words: str, message: str, shell: Shell) -> None:
    shell.write("uneven.en", "one\ntwo\n")
    shell.write("uneven.fr", "un\n")
    shell.write("latin.en", LATIN)
    shell.write("latin.fr", "un\n")
    shell.write("columns.tsv", "one\tun\none\tun\tdeux\n")
    for name in ("empty.en", "empty.fr"):
        shell.write(name, "")
    before = {*shell.folder.rglob("*"), shell.folder / "runs"}
    found = shell.fails("train", "toy.yaml", *shlex.split(words))
    assert found.startswith(message)
    assert nothing_new(shell, before)


def test_all_faults_of_a_configuration_are_told_at_once(shell: Shell) -> None:
    shell.write(
        "bad.yaml", "data: {source: en, traget: fr, train: train, dev: dev}\nmodel:\n  embeding: {size: 3}\nseed: x\n"
    )
    outcome = shell("train", "bad.yaml", "--training.clip=-1")
    assert outcome.code == 1
    assert outcome.out == ""
    assert [line.split(": ")[:2] for line in outcome.err.splitlines()] == [
        ["bad.yaml:1", "data.traget"],
        ["bad.yaml:1", "data.target"],
        ["bad.yaml:3", "model.embeding"],
        ["bad.yaml:4", "seed"],
        ["--training.clip", "must be more than 0, found -1"],
    ]


def test_a_mended_configuration_trains_in_the_same_folder(shell: Shell) -> None:
    shell.fails("train", "toy.yaml", "--data.train=nothing")
    assert shell("train", "toy.yaml", "--training.steps=1").code == 0


Damage = Callable[[Path], object]


def shortened(name: str, size: int) -> Damage:
    """A file that was not copied to its end."""
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[:size])


def foreign(name: str, text: str) -> Damage:
    """Another file under the name."""
    return lambda run: (run / name).write_text(text, encoding="utf-8")


FORM = "a translation"


@pytest.mark.parametrize(
    ("damage", "words", "message"),
    [
        (
            shortened("model.safetensors", 900),
            "translate RUN test.en",
            "model.safetensors: truncated or not a dragoman",
        ),
        (
            foreign("model.safetensors", "hello"),
            "translate RUN test.en",
            "model.safetensors: truncated or not a dragoman",
        ),
        (shortened("source.units", 20), "translate RUN test.en", "source.units: "),
        (shortened("source.json", 20), "translate RUN test.en", "source.json: not the description of a text pipeline"),
        (foreign("target.vocabulary", "x\n"), "score RUN test.en test.fr", "target.vocabulary:1: expected"),
        (lambda run: (run / "source.vocabulary").unlink(), "info RUN", "source.vocabulary: no such file"),
        (foreign("config.yaml", "run: [\n"), "translate RUN test.en", "config.yaml:"),
        (foreign("validation.jsonl", "[1]\n"), "report RUN", f"validation.jsonl:1: expected {FORM} as a JSON object"),
        (
            foreign("validation.jsonl", '{"text": "x"}\n'),
            "report RUN",
            f"validation.jsonl:1: expected {FORM} of version 1, found no version; a report needs a validation by this",
        ),
        (
            foreign("validation.jsonl", '{"version": 2}\n'),
            "info RUN",
            f"validation.jsonl:1: expected {FORM} of version 1, found 2, of a later dragoman; ",
        ),
        (shortened("validation.jsonl", 100), "report RUN", f"validation.jsonl:1: expected {FORM} as JSON ("),
        (foreign("metrics.jsonl", "[1]\n"), "info RUN", "metrics.jsonl:1: expected a JSON object with step and time"),
        (
            shortened("checkpoints/last.safetensors", 500),
            "train toy.yaml --training.epochs=3",
            "checkpoints/last.safetensors: truncated or not a dragoman weights file",
        ),
        (
            lambda run: (run / "model.safetensors").replace(run / "checkpoints" / "last.safetensors"),
            "train toy.yaml --training.epochs=3",
            "checkpoints/last.safetensors: not a training state",
        ),
    ],
)
def test_a_damaged_run_folder_is_told(damage: Damage, words: str, message: str, copied: Shell) -> None:
    run = copied.folder / "runs" / "toy"
    damage(run)
    before = set(copied.folder.rglob("*"))
    assert copied.fails(*words.replace("RUN", "runs/toy").split()).startswith(f"runs/toy/{message}")
    assert nothing_new(copied, before)


def test_a_vocabulary_cut_between_two_lines_is_named(copied: Shell) -> None:
    path = copied.folder / "runs" / "toy" / "target.vocabulary"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    told = copied.fails("translate", "runs/toy", "test.en")
    assert told.startswith("runs/toy/target.vocabulary has 9 symbols; ")


def test_a_run_of_another_kind_is_refused(copied: Shell) -> None:
    found = copied.fails("train", "toy.yaml", "--model.embedding.size=9")
    assert found.startswith("runs/toy: was begun with another model.embedding.size; choose another folder with --run")
