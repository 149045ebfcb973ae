"""`dragoman train --finetune RUN PAIRS`: another run's text and model, on other pairs, without a configuration."""

from pathlib import Path

import pytest

from dragoman.configuration import config_file
from dragoman.corpus.examples import read_pairs
from dragoman.data.recall import MEMORY
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.training import starting
from dragoman.training.starting import OPTIONS
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

WORDS = ("train", "--finetune", "runs/toy", "new.tsv", "--training.epochs=1")
DATA = ("dev.en", "dev.fr", "train.en", "train.fr")


@pytest.fixture
def other(copied: Shell) -> Shell:
    """Beside a trained run a file of other pairs, its columns in another order."""
    lines = [f"{target}\t{number}\t{source}\n" for number, (source, target) in enumerate(toy.pairs(60, 8))]
    copied.write("new.tsv", "fr\tnumber\ten\n" + "".join(lines))
    return copied


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_run_starts_from_another_without_a_configuration(other: Shell, golden: Golden) -> None:
    before = contents(other.folder / "runs" / "toy")
    outcome = other(*WORDS)
    assert outcome.code == 0, outcome.err
    golden(outcome.err.splitlines()[0])
    assert "runs/toy-new: trained. What next:\n" in outcome.err
    assert contents(other.folder / "runs" / "toy") == before
    data = other.folder / "runs" / "toy-new-data"
    assert sorted(path.name for path in data.iterdir()) == sorted(DATA)
    pairs = {
        part: list(
            zip(*((data / f"{part}.{name}").read_text("utf-8").splitlines() for name in ("en", "fr")), strict=True)
        )
        for part in ("train", "dev")
    }
    assert sorted(pairs["train"] + pairs["dev"]) == sorted(toy.pairs(60, 8))
    assert not {source for source, _ in pairs["train"]} & {source for source, _ in pairs["dev"]}
    new, old = (Run.load(other.folder / "runs" / name) for name in ("toy-new", "toy"))
    assert new.folder.ancestor.startswith("runs/toy, model.safetensors (")
    assert (new.source.vocabulary, new.target.vocabulary) == (old.source.vocabulary, old.target.vocabulary)
    assert new.config.model == old.config.model
    settings = new.config.training
    assert settings.patience == OPTIONS["training.patience"]
    assert settings.schedule.kind == "plateau"
    assert settings.optimizer == old.config.training.optimizer
    assert (old.config.training.metric, settings.metric) == ("bleu", "chrf"), "there are few pairs"
    assert settings.epochs == 1, "which was asked for"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("few", "options", "metric"),
    [
        (60, {}, "bleu"),  # fewer than these are few
        (61, {}, "chrf"),
        (61, {"metrics": "[bleu]"}, "bleu"),
        (61, {"training.metric": "loss"}, "loss"),
    ],
)
def test_few_pairs_are_judged_by_chrf(
    few: int, options: dict[str, str], metric: str, other: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "FEW", few)
    words = [f"--{key}={value}" for key, value in options.items()]
    assert other("train", "toy.yaml", "--run=runs/old", "--training.steps=1", *words).code == 0
    started = starting.configure(str(other.folder / "runs/old"), [str(other.folder / "new.tsv")], {})
    assert started.config.training.metric == metric
    assert started.description.endswith(f", judged by {metric}")


@pytest.mark.slow
def test_the_same_command_goes_on(other: Shell) -> None:
    assert other(*WORDS, "--run=runs/whole").code == 0
    assert other.kill("step", 2, *WORDS, "--run=runs/killed").code != 0
    data = other.folder / "runs" / "killed-data"
    before = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    assert other(*WORDS, "--run=runs/killed").code == 0
    assert {path: path.stat().st_mtime_ns for path in data.iterdir()} == before
    weights = [(other.folder / "runs" / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    assert "training has finished" in other(*WORDS, "--run=runs/killed").err
    assert sorted(path.name for path in (other.folder / "runs").iterdir()) == [
        "killed",
        "killed-data",
        "toy",
        "whole",
        "whole-data",
    ]


@pytest.mark.slow
def test_what_a_run_that_starts_from_one_with_a_memory_looks_up_are_its_own_pairs(other: Shell) -> None:
    memory = "--data.translation_memory={kind: nearest, threshold: 0.3}"
    outcome = other("train", "toy.yaml", memory, "--model.combination=flat", "--training.epochs=1", "--run=runs/old")
    assert outcome.code == 0, outcome.err
    outcome = other("train", "--finetune", "runs/old", "new.tsv", "--training.epochs=1")
    assert outcome.code == 0, outcome.err
    new = Run.load(other.folder / "runs" / "old-new")
    assert new.config.data.translation_memory == Run.load(other.folder / "runs" / "old").config.data.translation_memory
    data = other.folder / "runs" / "old-new-data"
    files = [(data / f"train.{name}").read_text("utf-8").splitlines() for name in ("en", "fr")]
    kept = [(pair.source, pair.target) for pair in read_pairs(str(new.folder.path / MEMORY), "en", "fr")]
    assert sorted(kept) == sorted(set(zip(*files, strict=True)))


@pytest.mark.slow
def test_the_new_run_is_beside_the_other_from_wherever_that_is_named(other: Shell) -> None:
    inside = Shell(other.folder / "runs" / "toy")
    outcome = inside("train", "--finetune", ".", "../../new.tsv", "--training.steps=1")
    assert "../toy-new: trained." in outcome.err
    assert (other.folder / "runs" / "toy-new" / "model.safetensors").is_file()


@pytest.mark.slow
def test_pairs_for_development_may_be_named(other: Shell) -> None:
    outcome = other(*WORDS, "--data.dev=dev", "--run", "runs/other", "test")
    assert outcome.code == 0, outcome.err
    data = config_file.load(RunFolder(other.folder / "runs" / "other").config).data
    assert (data.train, data.dev) == (("new.tsv", "test"), "dev")
    assert not (other.folder / "runs" / "other-data").exists()


@pytest.mark.slow
def test_new_pairs_are_mixed_with_those_of_the_other_run(other: Shell) -> None:
    """The words of docs/starting.md: the new pairs are set aside as ever, and trained on beside the old ones."""
    mixed = "--data.train=[runs/toy-new-data/train, train]", "--data.weights=[1, 1]"
    outcome = other(*WORDS, *mixed)
    assert outcome.code == 0, outcome.err
    new = len((other.folder / "runs" / "toy-new-data" / "train.en").read_text("utf-8").splitlines())
    half = (new + 80) // 2
    assert f"an epoch draws {half} of runs/toy-new-data/train (of {new}), " in outcome.err
    other.write("third.tsv", (other.folder / "new.tsv").read_bytes())
    third = other("train", "--finetune", "runs/toy-new", "third.tsv", "--training.epochs=1")
    assert third.code == 0, f"a run that starts from a mixture is none: {third.err}"


@pytest.mark.slow
def test_other_pairs_in_the_folder_for_them_stay(other: Shell, golden: Golden) -> None:
    assert other(*WORDS).code == 0
    before = contents(other.folder / "runs" / "toy-new-data")
    other.write("new.tsv", (other.folder / "new.tsv").read_text("utf-8").replace("un\t", "une\t"))
    golden(other.fails(*WORDS))
    assert contents(other.folder / "runs" / "toy-new-data") == before


def test_what_cannot_be_started_is_told(other: Shell, golden: Golden) -> None:
    golden(other.fails("train", "--finetune", "runs/none", "new.tsv"))
    golden(other.fails("train", "--finetune", "runs/toy", "none.tsv"))
    golden(other.fails("train", "--finetune", "runs/toy", "none"))
    other.write("empty.tsv", "en\tfr\n")
    golden(other.fails("train", "--finetune", "runs/toy", "empty.tsv"))
    assert other("train", "--finetune", "runs/toy").code == 2
    assert other("train", "--finetune", "runs/toy", "--seed=2").code == 2
    assert not (other.folder / "runs" / "toy-empty").exists()
    assert not list((other.folder / "runs").glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("options", ["--run=runs/toy", "--run=runs/other", "--run=new.tsv", "--run=runs --seeds=2"])
def test_a_command_that_is_refused_leaves_nothing(options: str, other: Shell, golden: Golden) -> None:
    """Whatever stands in the place of the run: the one to start from, another, a file, or what is no run."""
    assert other("train", "toy.yaml", "--run=runs/other", "--training.steps=1").code == 0
    (other.folder / "runs-4").mkdir()
    other.write("runs-4/mine", "mine")
    before = contents(other.folder)
    golden(other.fails(*WORDS, *options.split()))
    assert contents(other.folder) == before
    assert not list(other.folder.rglob("*-data"))


def test_a_run_of_more_than_pairs_of_texts_needs_a_configuration(other: Shell, golden: Golden) -> None:
    config = other.folder / "runs" / "toy" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("alignments: false", "alignments: true"), "utf-8")
    golden(other.fails(*WORDS))


@pytest.mark.slow
def test_a_run_of_several_languages_starts_from_another_with_catalogues(other: Shell) -> None:
    """German beside English: in columns, and in the catalogue beside that of French, which lacks some messages."""
    rows = [(source, toy.german(source), target) for source, target in toy.pairs(80, 6)]
    other.write("three.tsv", "".join("\t".join(row) + "\n" for row in [("en", "de", "fr"), *rows]))
    init = other("init", "three.tsv", "--columns=en,fr", "--also=de", "--translation-memory", "-o", "three.yaml")
    assert init.code == 0, init.err
    sizes = ("--model.encoder={kind: rnn, size: 8}", "--model.decoder={kind: rnn, size: 8}", "--model.embedding.size=8")
    outcome = other("train", "three.yaml", "--run=runs/three", "--training.epochs=1", *sizes)
    assert outcome.code == 0, outcome.err
    messages = toy.pairs(40, 7)
    german = [toy.german(source) if number % 2 else "" for number, (source, _) in enumerate(messages)]
    (other.folder / "po").mkdir()
    for language, translations in (("fr", [target for _, target in messages]), ("de", german)):
        entries = [f'msgid ""\nmsgstr "Language: {language}\\nContent-Type: text/plain; charset=UTF-8\\n"\n']
        for number, ((source, _), text) in enumerate(zip(messages, translations, strict=True)):
            entries.append(f'msgctxt "{number}"\nmsgid "{source}"\nmsgstr "{text}"\n')
        other.write(f"po/{language}.po", "\n".join(entries))
    outcome = other("train", "--finetune", "runs/three", "po/fr.po", "--run=runs/mine", "--training.epochs=1")
    assert outcome.code == 0, outcome.err
    data = other.folder / "runs" / "mine-data"
    columns = [
        [line for part in ("train", "dev") for line in (data / f"{part}.{name}").read_text("utf-8").splitlines()]
        for name in ("en", "de", "fr")
    ]
    assert sorted(zip(columns[0], columns[2], strict=True)) == sorted(messages)
    assert columns[1].count("") == 20
    assert all(text in ("", toy.german(source)) for source, text, _ in zip(*columns, strict=True))
    config = Run.load(other.folder / "runs" / "mine").config
    assert config.data.source == ("en", "de")
    assert config.training.source_dropout == 0.1
