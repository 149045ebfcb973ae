"""From a configuration to a run folder: what is checked, spelled out and refused before anything is trained."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman import config as configuration
from dragoman.components import Spec
from dragoman.config import Config, ConfigError
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS
from dragoman.files import alone
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run import RunFolder
from dragoman.search.searches import SEARCHES
from dragoman.text.units import UNITS
from dragoman.training import session
from dragoman.training.objectives.objectives import OBJECTIVES
from dragoman.training.optimiser import OPTIMISERS
from dragoman.training.schedule import SCHEDULES
from tests import toy

Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]

FAULTS = {
    "text.source.unit": {"kind": "bpe", "sise": 3},
    "text.target.unit": "wort",
    "training.objective": "teacher_forced",
    "training.penalties": [{"kind": "coverage", "weight": 0}],
    "training.optimiser": {"kind": "adam", "learning_rate": -1},
    "training.schedule": {"kind": "cosine", "steps": 20, "warmup": 20},
    "training.search": {"kind": "beam", "size": 0},
    "search": "beem",
    "metrics": [{"kind": "bleu", "order": "four"}],
    "model.decoder": {"kind": "rnn", "attend": "sometimes"},
}


@pytest.fixture
def made(corpus: Path, tmp_path: Path) -> Callable[..., Config]:
    def configured(options: Mapping[str, Any] = {}) -> Config:
        return toy.config(corpus, tmp_path / "run", {"training.steps": 1, **options})

    return configured


def refused(config: Config) -> str:
    with pytest.raises(UserError) as error:
        session.train(config, quiet=True)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("key", FAULTS)
def test_each_faulty_part_is_named(key: str, made: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError) as error:
        made({key: FAULTS[key]})
    (line,) = str(error.value).split("\n")
    assert line.startswith(f"--{key}")


NEEDED = "text.joint needs equal ones"


@pytest.mark.parametrize(
    ("source", "target", "key", "message"),
    [
        ({"unit": "bpe"}, {"unit": {"kind": "bpe", "size": 4000}}, "unit", "bpe size=4000 differs from .*: bpe; "),
        ({"unit": "word"}, {"unit": "bpe"}, "unit", "bpe differs from text.source.unit: word; "),
        (
            {"unit": "word", "tokeniser": "whitespace"},
            {"unit": "word", "tokeniser": "punctuation"},
            "tokeniser",
            "'punctuation' differs from text.source.tokeniser: 'whitespace'; ",
        ),
    ],
)
def test_a_joint_inventory_needs_one_way_to_make_it(
    source: dict[str, Any], target: dict[str, Any], key: str, message: str, made: Callable[..., Config]
) -> None:
    options = {
        f"text.{side}.{name}": value
        for side, given in (("source", source), ("target", target))
        for name, value in given.items()
    }
    with pytest.raises(ConfigError, match=f"text.target.{key}: {message}{NEEDED}"):
        made({"text.joint": True, **options})
    made({"text.joint": False, "model.embedding.tie": "none", **options})


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"unit": {"kind": "word"}}, {"unit": {"kind": "word", "size": 50000}}),
        ({"unit": "bpe"}, {"unit": {"kind": "bpe", "dropout": 0.1}}),
        ({"unit": "unigram"}, {"unit": {"kind": "unigram", "alpha": 0.1}}),
        ({"unit": "character", "tokeniser": "whitespace"}, {"unit": "character", "tokeniser": "punctuation"}),
        ({"unit": "bpe", "lowercase": True}, {"unit": "bpe", "tokeniser": "whitespace"}),
    ],
)
def test_what_makes_no_other_symbols_may_differ(
    source: dict[str, Any], target: dict[str, Any], made: Callable[..., Config]
) -> None:
    options = {
        f"text.{side}.{name}": value
        for side, given in (("source", source), ("target", target))
        for name, value in given.items()
    }
    text = made({"text.joint": True, **options}).text
    assert text.joint
    assert text.source != text.target


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"training.penalties": ["coverage", "supervised"]},
            "training.penalties.1: 'supervised' needs links between words (data.alignments: true)",
        ),
        (
            {"training.penalties": ["coverage", "fertility", {"kind": "coverage", "weight": 2}]},
            "training.penalties.2: 'coverage' is there already",
        ),
        (
            {"training.penalties": "coverage", "model.attention.score": "none"},
            "training.penalties: there is no attention (model.attention.score: none)",
        ),
    ],
)
def test_penalties_need_what_they_judge(made: Callable[..., Config], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        made(options)
    assert str(error.value).endswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model.attention.score": "none"}, "there is no attention (model.attention.score: none)"),
        ({"data.train": "all.tsv"}, "'agreement' needs a file for each side, which all.tsv is not"),
        ({"data.dev": "all.tsv.gz"}, "'agreement' needs a file for each side, which all.tsv.gz is not"),
    ],
)
def test_agreement_needs_two_sides_that_look_at_each_other(
    made: Callable[..., Config], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        made({"training.objective": "agreement", **options})
    assert str(error.value).endswith(f"training.objective: {message}")
    assert "\n" not in str(error.value)


def test_agreement_takes_no_penalties(made: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError, match=r"training\.penalties: objective 'agreement' takes none"):
        made({"training.objective": "agreement", "training.penalties": "coverage"})


def test_missing_links_are_told_before_training(made: Callable[..., Config]) -> None:
    config = made({"training.penalties": "supervised", "data.alignments": True})
    assert refused(config).endswith("train.en-fr.align: no such file (nor train.en-fr.align.gz)")


def test_all_faults_are_told_at_once(made: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError) as error:
        made({**FAULTS, "training.schedule": "cosine"})
    assert {line.removeprefix("--").partition(":")[0] for line in str(error.value).split("\n")} == set(FAULTS)


def test_a_configuration_made_in_python_is_checked_too(made: Callable[..., Config], tmp_path: Path) -> None:
    sound = made()
    training = sound.training.model_copy(
        update={"metric": "ter", "epochs": None, "steps": None, "optimiser": Spec("adamm")}
    )
    with pytest.raises(ConfigError) as error:
        session.train(sound.model_copy(update={"training": training}), quiet=True)
    assert str(error.value).split("\n") == [
        "training.steps: training would never end: epochs and steps are both null",
        "training.metric: 'ter' is not listed in metrics",
        "training.optimiser.kind: unknown kind 'adamm', did you mean 'adam'?",
    ]
    assert not (tmp_path / "run").exists()


def test_a_complete_configuration_has_every_option_of_every_part(made: Callable[..., Config]) -> None:
    full = session.complete(made({"training.schedule": {"kind": "cosine", "steps": 9}}))
    parts: list[tuple[Any, Spec]] = [
        (UNITS, full.text.source.unit),
        (UNITS, full.text.target.unit),
        (OBJECTIVES, full.training.objective),
        (OPTIMISERS, full.training.optimiser),
        (SCHEDULES, full.training.schedule),
        (SEARCHES, full.training.search),
        (SEARCHES, full.search),
        *((METRICS, metric) for metric in full.metrics),
    ]
    for table, spec in parts:
        parameters = inspect.signature(table[spec.kind]).parameters.values()
        assert list(spec.options) == [each.name for each in parameters if each.kind is each.KEYWORD_ONLY], spec
    assert full.model.encoder.options["direction"] == "bidirectional"
    assert full.model.attention.score.options == {"size": None}
    assert session.complete(full) == full
    assert full.training.optimiser.options["learning_rate"] == 0.01  # what was given stays


def test_a_file_in_the_place_of_the_folder_is_refused(made: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine", encoding="utf-8")
    assert refused(made()) == f"{tmp_path / 'run'}: is a file; choose another folder with --run"
    assert (tmp_path / "run").read_text(encoding="utf-8") == "mine"


def test_two_processes_cannot_train_one_run(made: Callable[..., Config], tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with alone(tmp_path / "run", "busy"):
        assert refused(made()) == f"{tmp_path / 'run'}: another process is training this run"
        assert not list((tmp_path / "run").iterdir()), "nothing was written"
    session.train(made(), quiet=True)


@pytest.mark.parametrize("name", ["thesis.tex", "model.safetensors", "README.md"])
def test_a_folder_of_other_things_is_refused(name: str, made: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine", encoding="utf-8")
    assert name in refused(made())
    assert [path.name for path in (tmp_path / "run").iterdir()] == [name]


def test_an_empty_folder_will_do(made: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert session.train(made(), quiet=True).card.is_file()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 9),
        ("model.decoder", {"kind": "rnn", "size": 20}),
        ("training.optimiser", {"kind": "adam", "learning_rate": 0.5}),
        ("data.max_length", 7),
    ],
)
def test_a_run_with_another_configuration_is_refused(
    key: str, value: Any, made: Callable[..., Config], tmp_path: Path
) -> None:
    folder = session.train(made(), quiet=True)
    before = folder.config.read_bytes(), folder.last_state.read_bytes()
    assert f"{tmp_path / 'run'}: was begun with another {key};" in refused(made({key: value}))
    assert "begun with another seed and 1 other option;" in refused(made({"seed": 77, "training.clip": 3.0}))
    assert (folder.config.read_bytes(), folder.last_state.read_bytes()) == before


FREE = {
    "training.epochs": 7,
    "training.save_every": 7,
    "training.patience": 7,
    "training.skip_limit": 7,
    "training.average": 1,
    "device.precision": "bfloat16",
    "search": {"kind": "beam", "size": 2},
}


def test_what_makes_no_other_run_may_change(made: Callable[..., Config]) -> None:
    session.train(made(), quiet=True)
    folder = session.train(made(FREE), quiet=True)
    kept = configuration.load(folder.config)
    assert (kept.training.epochs, kept.search.options["size"], kept.training.average) == (7, 2, 1)


def test_a_run_may_move(made: Callable[..., Config], tmp_path: Path) -> None:
    folder = session.train(made(), quiet=True)
    folder.path.rename(tmp_path / "moved")
    assert session.train(made({"run": str(tmp_path / "moved")}), quiet=True).card.is_file()


def test_a_failure_before_anything_was_saved_leaves_no_folder(
    made: Callable[..., Config], meddle: Meddle, tmp_path: Path
) -> None:
    def fail(loss: Loss, model: Seq2Seq) -> Loss:
        raise UserError("no luck")

    meddle({1: fail})
    assert refused(made()) == "no luck"
    assert not (tmp_path / "run").exists()


def test_a_folder_that_was_there_stays_after_a_failure(made: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    refused(made({"data.dev": str(tmp_path / "nowhere")}))
    assert (tmp_path / "run").is_dir()


def test_a_begun_folder_without_a_state_begins_anew_with_any_configuration(
    made: Callable[..., Config], meddle: Meddle, tmp_path: Path
) -> None:
    def fail(loss: Loss, model: Seq2Seq) -> Loss:
        raise UserError("no luck")

    (tmp_path / "run").mkdir()
    meddle({1: fail})
    refused(made())
    meddle({})
    folder = session.train(made({"seed": 12}), quiet=True)
    assert configuration.load(folder.config).seed == 12


def test_the_same_command_makes_the_run_and_says_what_it_does(
    made: Callable[..., Config], capsys: pytest.CaptureFixture[str]
) -> None:
    folder: RunFolder = session.train(made())
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert "1 threads, float32" in lines[0]
    assert "60 of 60 pairs" in lines[0]
    assert lines[1].split()[:2] == ["step", "1"]
    assert lines[2].startswith("mean of the best 1")
    assert folder.weights().is_file()
