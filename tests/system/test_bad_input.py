"""Whatever is wrong with the input is reported in one line, with exit status 1, and nothing is left half-written."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.model.weights import write_tensors
from tests.golden import Golden
from tests.system.conftest import Shell

LONG = "three " * 60  # more bytes than a name may have
LATIN = "un caf\u00e9\n".encode("latin-1")


def nothing_new(shell: Shell, before: set[Path]) -> bool:
    """No file that was not there, least of all a part of one."""
    return set(shell.folder.rglob("*")) <= before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("translate nowhere test.en", "nowhere"),
        ("translate . test.en", "."),
        ("translate runs/toy nothing.en", "nothing.en"),
        ("translate runs/toy missing runs/toy", "missing"),
        ("translate runs/toy runs/toy --wait 2", "--wait"),
        ("translate runs/toy latin.en", "latin.en:2"),
        ("translate runs/toy cut.en.gz", "cut.en.gz"),
        (f"translate runs/toy '{LONG}'", LONG),
        (f"translate '{LONG}' test.en", LONG),
        (
            "postedit runs/toy --translation test.en --html -",
            "--html -",
        ),
        (
            "postedit runs/toy --translation test.en -o same --html same",
            "--html same",
        ),
        (
            "translate runs/toy test.en --pivot fr",
            "--pivot",
        ),
        ("score runs/toy - -", "-"),
        ("align runs/toy - -", "-"),
        ("align runs/toy test.en - --gold -", "-"),
        ("align - -", "-"),
        ("align test.en short.fr", "test.en"),
        ("align test.en nothing.fr", "nothing.fr"),
        ("align test.en", "test.en"),
        ("align runs/toy test.fr", "runs/toy"),
        ("align test.en test.fr --more-pairs nothing", "nothing.en"),
        ("align test.en test.fr -o no/such/x", "no/such/x"),
        ("align test.en latin.en", "latin.en:2"),
        ("dictionary test.en short.fr", "test.en"),
        ("dictionary runs/toy test.en nothing.fr", "nothing.fr"),
        ("dictionary test.en", "test.en"),
        ("dictionary - -", "-"),
        ("dictionary runs/toy test.en test.fr --min-count=99", "no translation passes --min-count"),
        ("translate runs/toy test.en --dictionary nothing.tsv", "nothing.tsv"),
        ("translate runs/toy test.en --dictionary test.en", "test.en:1"),
        ("translate runs/toy test.en --dictionary latin.en --no-replace-unk", "--dictionary"),
        ("translate runs/toy test.en --mbr chrf --samples 5 --n-best 9", "n-best 9"),
        ("translate runs/toy test.en --do-not-translate test.fr --glossary-weight 0", "--glossary-weight"),
        ("evaluate -", "-"),
        ("evaluate - - -i test.fr", "-"),
        ("evaluate - --run runs/toy --source -", "-"),
        (
            "report runs/toy --sentences - --gold -",
            "-",
        ),
        ("report runs/toy --corpus - --sentences -", "-"),
        ("report runs/toy --corpus nothing.fr", "nothing.fr"),
        ("init train.en - -o new.yaml", "-"),
        ("translate runs/toy test.en --weights best", "runs/toy/best.safetensors"),
        (
            "translate runs/toy test.en --n-best 9",
            "n-best 9",
        ),
        (
            "translate runs/toy test.en --search greedy --beam 4",
            "--beam",
        ),
        ("score runs/toy test.en short.fr", "test.en"),
        ("score runs/toy test.en nothing.fr", "nothing.fr"),
        ("score runs/toy long.en long.en", "long.en:1"),
        ("align runs/toy test.en test.fr --gold short.fr", "short.fr:1"),
        ("align runs/toy test.en test.fr --gold gold", "gold"),
        ("align runs/toy test.en test.fr --gold beyond", "beyond:2"),
        ("report runs/toy --sentences pairs --gold beyond2", "beyond2:1"),
        ("evaluate test.fr -i short.fr", "test.fr"),
        ("evaluate test.fr", "<stdin>"),
        ("evaluate empty -i empty", ""),
        ("align runs/toy empty empty --gold empty", "empty"),
        ("translate runs/toy test.en -o no/such/x", "no/such/x"),
        ("translate runs/toy test.en --json --alignments", "--alignments"),
        ("translate runs/toy test.en -o apart", "apart"),
        ("translate runs/toy test.en -o test.fr/x", "test.fr/x"),
        ("postedit runs/toy --translation test.en -o no/such/x", "no/such/x"),
        ("postedit runs/toy --translation test.en --html no/such/x", "no/such/x"),
        ("report runs/toy -o no/such/x", "no/such/x"),
        ("average runs/toy -o no/such/x", "no/such/x"),
        ("init train.en train.fr -o no/such/x", "no/such/x"),
        ("features apart -o no/such/x.npy --model timm:vgg16", "no/such/x.npy"),
        (
            "postedit runs/toy --translation test.en",
            "runs/toy",
        ),
        (
            "postedit runs/toy --translation test.en --source test.fr",
            "runs/toy",
        ),
        ("export test.en --onnx", "test.en"),
        ("export . --onnx", "."),
        ("evaluate test.fr -i test.fr --metrics bleau", "--metrics"),
        ("evaluate test.fr -i test.fr --metrics '{kind: rouge1, measure: all}'", "--metrics"),
        ("evaluate test.fr -i test.fr --metrics '{kin: bleu}'", "--metrics"),
        ("evaluate test.fr -i test.fr --metrics bleu]", "--metrics"),
        ("evaluate test.fr -i test.fr --metrics []", "--metrics"),
        ("evaluate short.fr --run runs/toy --source test.en", "short.fr"),
        ("report runs/toy --sentences test.en --gold gold", "gold"),
        ("report runs/toy --sentences short.fr --gold gold", "gold"),
        (
            "report apart/toy --gold gold",
            "apart/toy",
        ),
        ("average runs/toy --best 3 -o mean.safetensors", "runs/toy"),
        ("average nowhere runs/toy/model.safetensors -o mean.safetensors", "nowhere"),
        (
            "average runs/toy other.safetensors -o mean.safetensors",
            "other.safetensors",
        ),
        ("average runs/bare -o mean.safetensors", "runs/bare"),
        ("average runs/toy test.en -o mean.safetensors", "test.en"),
        ("info test.en", "test.en"),
        ("debug data nothing.yaml", "nothing.yaml"),
        ("debug data toy.yaml --data.dev empty", "empty.en"),
        ("debug config toy.yaml --trainig.steps 3", "--trainig.steps"),
        ("init train.en", "train.en"),
        (
            "init train.en short.fr -o new.yaml",
            "train.en",
        ),
        (
            "init apart/none.en apart/none.fr -o new.yaml",
            "apart/none.en",
        ),
        ("init train.en train.fr -o toy.yaml", "toy.yaml"),
    ],
)
def test_one_line_tells_what_is_wrong(words: str, place: str, copied: Shell, golden: Golden) -> None:
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
    message = copied.refuses(*shlex.split(words))
    assert message.removeprefix("usage: ").startswith(place)
    golden(message, words)
    assert nothing_new(copied, before)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("--data.train=nothing", "--data.train: nothing.en"),
        ("--data.train=uneven", "uneven.en"),
        ("--data.train=latin", "latin.en:1"),
        ("--data.train=empty", "empty"),
        ("--data.dev=empty", "empty"),
        ("--data.train=columns.tsv", "columns.tsv:2"),
        ("--data.max_length=1", "train"),
        (
            "--text.shared_vocabulary=false --text.source.tokenizer='{kind: bpe, vocab_size: 9000}'",
            "text.source.tokenizer",
        ),
        (
            "--text.shared_vocabulary=false --text.source.tokenizer='{kind: unigram, vocab_size: 9000}'",
            "text.source.tokenizer",
        ),
        (
            "--text.shared_vocabulary=false --text.source.tokenizer='{kind: bpe, vocab_size: 9}'",
            "text.source.tokenizer",
        ),
        ("--run=train.en", "train.en"),
        ("--run=.", "."),
        ("--device.name=gpu", "--device.name"),
        ("--training.epochs=0", "--training.epochs"),
        (
            "--model.decoder.attend=befor",
            "--model.decoder.attend",
        ),
        ("--model.attention.score=none --model.decoder.attend=before", "toy.yaml:13: model.decoder"),
    ],
)
def test_training_that_cannot_start_leaves_nothing(words: str, place: str, shell: Shell, golden: Golden) -> None:
    shell.write("uneven.en", "one\ntwo\n")
    shell.write("uneven.fr", "un\n")
    shell.write("latin.en", LATIN)
    shell.write("latin.fr", "un\n")
    shell.write("columns.tsv", "one\tun\none\tun\tdeux\n")
    for name in ("empty.en", "empty.fr"):
        shell.write(name, "")
    before = {*shell.folder.rglob("*"), shell.folder / "runs"}
    message = shell.fails("train", "toy.yaml", *shlex.split(words))
    assert message.startswith(place)
    golden(message, words)
    assert nothing_new(shell, before)


def test_all_faults_of_a_configuration_are_told_at_once(shell: Shell, golden: Golden) -> None:
    shell.write(
        "bad.yaml", "data: {source: en, traget: fr, train: train, dev: dev}\nmodel:\n  embeding: {size: 3}\nseed: x\n"
    )
    outcome = shell("train", "bad.yaml", "--training.clip_norm=-1")
    assert outcome.code == 1
    assert outcome.out == ""
    places = ["bad.yaml:1: data.traget", "bad.yaml:1: data.target", "bad.yaml:3: model.embeding", "bad.yaml:4: seed"]
    message = outcome.err.splitlines()
    for line, place in zip(message, [*places, "--training.clip_norm"], strict=True):
        assert line.startswith(f"{place}: ")
    golden(outcome.err)


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


@pytest.mark.parametrize(
    ("damage", "words", "place"),
    [
        (
            shortened("model.safetensors", 900),
            "translate RUN test.en",
            "model.safetensors",
        ),
        (
            foreign("model.safetensors", "hello"),
            "translate RUN test.en",
            "model.safetensors",
        ),
        (shortened("source.tokenizer", 20), "translate RUN test.en", "source.tokenizer"),
        (shortened("source.json", 20), "translate RUN test.en", "source.json"),
        (foreign("target.vocabulary", "x\n"), "score RUN test.en test.fr", "target.vocabulary:1"),
        (lambda run: (run / "source.vocabulary").unlink(), "info RUN", "source.vocabulary"),
        (foreign("config.yaml", "run: [\n"), "translate RUN test.en", "config.yaml"),
        (foreign("validation.jsonl", "[1]\n"), "report RUN", "validation.jsonl:1"),
        (foreign("validation.jsonl", '{"text": "x"}\n'), "report RUN", "validation.jsonl:1"),
        (foreign("validation.jsonl", '{"version": 3}\n'), "info RUN", "validation.jsonl:1"),
        (shortened("validation.jsonl", 5), "report RUN", "validation.jsonl:1"),
        (foreign("metrics.jsonl", "[1]\n"), "info RUN", "metrics.jsonl:1"),
        (
            shortened("checkpoints/last.safetensors", 500),
            "train toy.yaml --training.epochs=3",
            "checkpoints/last.safetensors",
        ),
        (
            lambda run: (run / "model.safetensors").replace(run / "checkpoints" / "last.safetensors"),
            "train toy.yaml --training.epochs=3",
            "checkpoints/last.safetensors",
        ),
    ],
)
def test_a_damaged_run_folder_is_told(damage: Damage, words: str, place: str, copied: Shell, golden: Golden) -> None:
    run = copied.folder / "runs" / "toy"
    damage(run)
    before = set(copied.folder.rglob("*"))
    message = copied.fails(*words.replace("RUN", "runs/toy").split())
    assert message.startswith(f"runs/toy/{place}")
    golden(message)
    assert nothing_new(copied, before)


def test_a_vocabulary_cut_between_two_lines_is_named(copied: Shell, golden: Golden) -> None:
    path = copied.folder / "runs" / "toy" / "target.vocabulary"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    message = copied.fails("translate", "runs/toy", "test.en")
    assert message.startswith("runs/toy/target.vocabulary ")
    golden(message)


def test_a_run_of_another_kind_is_refused(copied: Shell, golden: Golden) -> None:
    message = copied.fails("train", "toy.yaml", "--model.embedding.size=9")
    assert message.startswith("runs/toy: ")
    golden(message)


@pytest.mark.parametrize("beam", ["0", "1001"])
def test_a_beam_of_no_possible_width_is_refused_by_its_name(beam: str, copied: Shell) -> None:
    outcome = copied("translate", "runs/toy", "test.en", "--beam", beam)
    assert (outcome.code, "--beam" in outcome.err) == (2, True)
