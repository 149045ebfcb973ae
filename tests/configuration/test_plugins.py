"""Parts of files that a user names: in the tables, in runs, and never executed unless named."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dragoman
from dragoman.cli import app
from dragoman.cli.options import files_and_overrides
from dragoman.configuration import components, plugins
from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.model.attention.scores import SCORES
from dragoman.model.encoder.table import ENCODERS, FEATURE_ENCODERS
from dragoman.run.run import Run
from dragoman.training import checks
from tests.plugin_code import CONFIG, SCORE, unload, without_plugins, write_files

METRIC = """
from dragoman.evaluation.metrics.table import METRICS


class Mine(METRICS["wer"]):
    \"\"\"WER.\"\"\"


PARTS = {"metric": {"mine": Mine}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    with without_plugins():
        yield tmp_path


def test_parts_of_a_file_are_in_their_table() -> None:
    plugins.load_code(["mine.py"])
    assert components.complete(SCORES, Spec("proximity")) == Spec("proximity")
    assert [(str(plugin), plugin.parts) for plugin in plugins.loaded()] == [("mine.py", ("score:proximity",))]
    first = SCORES["proximity"]
    plugins.load_code(["mine.py"])
    assert SCORES["proximity"] is first


def test_a_file_that_was_changed_replaces_its_parts(folder: Path) -> None:
    plugins.load_code(["mine.py"])
    (folder / "mine.py").write_text(SCORE.replace('"proximity"', '"far"'), "utf-8")
    plugins.load_code(["mine.py"])
    assert "proximity" not in SCORES
    assert "far" in SCORES


@pytest.mark.parametrize("name", plugins.TABLES)
def test_every_table_is_where_it_is_said_to_be(name: str) -> None:
    table, base = plugins.table_of(name), plugins.base_of(name)
    assert isinstance(table, dict)
    assert all(issubclass(part, base) for part in table.values() if isinstance(part, type))


def test_tables_that_contain_others_know_later_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENCODERS, "mine", ENCODERS["rnn"])
    assert list(FEATURE_ENCODERS) == ["projection", *ENCODERS]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "mine.py: expected a mapping PARTS"),
        ("PARTS = {'scores': {}}", "mine.py: PARTS: unknown table 'scores'; expected one of score, "),
        ("PARTS = {'score': {'a': int}}", "mine.py: PARTS: score:a: expected a subclass of "),
        (SCORE.replace('"proximity"', '"dot"'), "mine.py: PARTS: score:dot: there is a part of this name already"),
        ("a = 1\nb = (", "mine.py:2: SyntaxError: "),
        ("a = 1\nb = c", "mine.py:2: NameError: name 'c' is not defined"),
    ],
    ids=["none", "table", "class", "name", "syntax", "error"],
)
def test_code_that_cannot_be_used_is_an_error_of_one_line(code: str, message: str, folder: Path) -> None:
    (folder / "mine.py").write_text(code, "utf-8")
    with pytest.raises(UserError) as raised:
        plugins.load_code(["mine.py"])
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)
    assert plugins.loaded() == []
    with pytest.raises(UserError, match=r"^config\.yaml:3: code: mine\.py"):
        checks.load_config("config.yaml")


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(UserError, match=r"^other\.py: no such file$"):
        plugins.load_code(["other.py"])


def test_every_command_takes_code() -> None:
    pending = [get_command(app)]
    while pending:
        command = pending.pop()
        pending += getattr(command, "commands", {}).values()
        names = [name for option in command.params for name in option.opts]
        assert hasattr(command, "commands") or command.ignore_unknown_options != ("--code" in names)


def test_code_of_a_command_is_loaded_before_its_options_are_checked(folder: Path) -> None:
    (folder / "metric.py").write_text(METRIC, "utf-8")
    words = ["evaluate", "train.fr", "-i", "train.en", "--metrics", "mine"]
    assert CliRunner().invoke(app, words).exit_code == 1
    result = CliRunner().invoke(app, [*words, "--code", "metric.py"])
    assert (result.exit_code, "mine" in METRICS) == (0, True)
    assert files_and_overrides(["config.yaml", "--code", "[mine.py, metric.py]"])[0] == ["config.yaml"]
    assert "proximity" in SCORES


@pytest.fixture
def run() -> Path:
    dragoman.train("config.yaml", quiet=True)
    unload()
    return Path("run")


def test_debug_config_lists_plug_ins() -> None:
    output = CliRunner().invoke(app, ["debug", "config", "config.yaml"]).stdout
    assert re.search(r"uniform,[\s#]+proximity", output)
    assert output.endswith("# plug-in mine.py: score:proximity\n")


@pytest.mark.slow
def test_a_run_records_its_code_and_does_not_execute_it(run: Path, folder: Path) -> None:
    (record,) = json.loads((run / "run.json").read_text("utf-8"))["plugins"]
    assert (record["file"], record["parts"]) == ("code.mine.py", ["score:proximity"])
    assert (run / "code.mine.py").read_text("utf-8") == SCORE
    trap = folder / "executed"
    for path in (folder / "mine.py", run / "code.mine.py"):
        path.write_text(f"open({str(trap)!r}, 'w')\n{SCORE}", "utf-8")
    ways = [
        lambda: Run.load(run),
        lambda: dragoman.load(run),
        lambda: dragoman.load_config(run / "config.yaml"),
        lambda: dragoman.train(run / "config.yaml"),
    ]
    for way in ways:
        with pytest.raises(UserError) as raised:
            way()
        assert "--code" in str(raised.value)
    (folder / "link.yaml").symlink_to(run / "config.yaml")
    with pytest.raises(UserError, match="was not executed"):
        dragoman.load_config("link.yaml")
    assert not trap.exists()
    with pytest.raises(UserError, match=r"mine\.py differs from it"):
        dragoman.load(run, code="mine.py")
    assert trap.exists()


@pytest.mark.slow
def test_a_run_is_used_with_its_code(run: Path) -> None:
    assert "needs score:proximity of code.mine.py" in CliRunner().invoke(app, ["info", "run"]).stderr
    output = CliRunner().invoke(app, ["info", "run", "--code", "run/code.mine.py"]).stdout
    assert "code.mine.py (SHA-256" in output
    unload()
    assert dragoman.load(run, code=["run/code.mine.py"]).translate(["a"])


@pytest.mark.slow
def test_a_run_whose_plug_in_only_trained_it_needs_no_code(folder: Path) -> None:
    (folder / "mine.py").write_text(METRIC, "utf-8")
    config = CONFIG.replace("proximity", "dot") + "metrics: [mine]\n"
    (folder / "config.yaml").write_text(config.replace("{epochs: 1}", "{epochs: 1, metric: mine}"), "utf-8")
    dragoman.train("config.yaml", quiet=True)
    unload()
    assert dragoman.load("run").translate(["a"])


@pytest.mark.slow
def test_training_goes_on_with_the_same_code_only(run: Path, folder: Path) -> None:
    more = {"training.epochs": 2}
    dragoman.train(dragoman.load_config(run / "config.yaml", {**more, "code": ["run/code.mine.py"]}), quiet=True)
    unload()
    (folder / "mine.py").write_text(SCORE + "\n# changed\n", "utf-8")
    with pytest.raises(UserError, match=r"^run: was started with another mine\.py"):
        dragoman.train(dragoman.load_config("config.yaml", {"training.epochs": 3}), quiet=True)


@pytest.mark.slow
def test_code_of_a_run_that_uses_no_part_of_it_is_not_executed_either(run: Path) -> None:
    """Also where nothing else is wrong with the configuration."""
    config = dragoman.load_config(run / "config.yaml", {"model.attention.score": "dot", "run": "other"})
    with pytest.raises(UserError, match=r"^code: mine\.py was not executed"):
        dragoman.train(config, quiet=True)


def install(site: Path, name: str, code: str) -> None:
    """A package as pip installs it: a module of the same name, and its entry point."""
    (site / f"{name}.py").write_text(code, "utf-8")
    info = site / f"{name}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[dragoman.parts]\nmine = {name}\n", "utf-8")


def test_a_package_is_imported_when_a_kind_is_unknown_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "lazy_plugin", SCORE)
    assert components.complete(SCORES, Spec("additive")).options
    assert "lazy_plugin" not in sys.modules
    assert components.find_problems(SCORES, Spec("proximity"), ()) == []
    assert [str(plugin) for plugin in plugins.loaded()] == ["lazy_plugin 1.5"]
    assert list(plugins.used({"proximity"})) == plugins.loaded()
    assert list(plugins.used({"dot"})) == []
    plugins.load_installed()
    assert len(plugins.loaded()) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_like_this", "the plug-in cannot be imported: ModuleNotFoundError: No module named"),
        ("PARTS = {'score': {'dot': int}}", "PARTS: score:dot: expected a subclass"),
    ],
)
def test_a_broken_package_is_named_in_one_line(
    code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, f"broken_plugin_{len(code)}", code)
    with pytest.raises(UserError, match=rf"^broken_plugin_{len(code)} 1\.5: {message}"):
        components.find_problems(SCORES, Spec("proximity"), ())
    assert components.find_problems(SCORES, Spec("dot"), ()) == []  # others do not notice
    result = CliRunner().invoke(app, ["debug", "config", "config.yaml", "--code", "[]"])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_a_package_may_take_the_place_of_the_file_that_a_run_was_trained_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [{"file": "code.mine.py", "sha256": "0", "parts": ["score:proximity"]}]
    with pytest.raises(UserError, match="needs score:proximity"):
        plugins.require(Path("run"), records, {"proximity"})
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "later_plugin", SCORE)
    plugins.require(Path("run"), records, {"proximity"})


@pytest.mark.parametrize("records", [None, 3, ["x"], [{"file": 3}], [{"package": "a", "parts": "score:dot"}]], ids=str)
def test_records_that_make_no_sense_are_no_requirements(records: object) -> None:
    plugins.require(Path("run"), records, {"dot"})


TRANSFORM = '''
from dataclasses import replace

from dragoman.translation.sentence import Sentence, TextTransform
from dragoman.translation.translation import Translation


class Signed(TextTransform):
    """Translations that end with a signature."""

    def __init__(self, *, signature: str = "?") -> None:
        self.signature = signature

    def prepare(self, sentence: Sentence) -> Sentence:
        return sentence.noted(self)

    def complete(self, translation: Translation, sentence: Sentence) -> Translation:
        return replace(translation, text=f"{translation.text} -- {self.signature}")


PARTS = {"transform": {"signed": Signed}}
'''


@pytest.mark.slow
def test_a_text_transform_of_the_configuration_is_applied_to_every_translation(folder: Path) -> None:
    (folder / "mine.py").write_text(TRANSFORM, "utf-8")
    config = CONFIG.replace("proximity", "dot")
    (folder / "config.yaml").write_text(f"{config}transforms: {{kind: signed, signature: me}}\n", "utf-8")
    dragoman.train("config.yaml", quiet=True)
    (translation,) = dragoman.load("run").translate(["a"])
    assert translation.text.endswith(" -- me")
    result = CliRunner().invoke(app, ["debug", "part", "signed", "--code", "mine.py"])
    assert result.stdout == "transform:signed: keeps its contract (2 checks)\n"
    dragoman.train(dragoman.load_config("config.yaml", {"transforms": [], "training.epochs": 2}), quiet=True)
    unload()
    with pytest.raises(UserError, match=r"transforms\.0: unknown kind 'signed', no plug-in has one$"):
        dragoman.load_config("config.yaml", {"code": [], "model.attention.score": "dot"})
