"""The command line itself: what it takes, what it imports, how it answers mistakes."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dragoman
from dragoman.cli import app
from dragoman.cli.evaluate_scores import KINDS
from dragoman.configuration import config_file
from dragoman.training import checks
from dragoman.translation import json_schema
from tests import toy

COMMANDS = ["demo", "init", "train", "translate", "score", "align", "evaluate", "report", "average", "export", "info"]
GROUPED = [
    "augment back",
    "augment copy",
    "augment forward",
    "augment noise",
    "debug config",
    "debug data",
    "debug part",
]
GROUPED += ["judge make", "judge read"]
HEAVY = ("torch", "numpy", "sacrebleu", "sentencepiece")


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words), prog_name="dragoman", env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


def imported(names: tuple[str, ...], code: str, folder: Path, repository: Path) -> str:
    """Those of the modules that a program has imported when it ends."""
    watched = (
        f"import atexit, sys; atexit.register(lambda: print([n for n in {names} if n in sys.modules], file=sys.stderr))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{watched}\n{code}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.argv = ['dragoman', '--help']; from dragoman.cli import main; main()",
        "import sys; sys.argv = ['dragoman', 'train', '--help']; from dragoman.cli import main; main()",
        "import dragoman; dragoman.__version__; dir(dragoman)",
    ],
)
def test_help_and_the_package_import_nothing_heavy(code: str, repository: Path) -> None:
    assert imported(HEAVY, code, repository, repository) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "train.fr", "-i", "train.fr"],
        ["corpus", "train", "-o", "new", "--columns", "en,fr"],
        ["terms", "train", "-o", "new", "--columns", "en,fr"],
        pytest.param(
            ["align", "train.en", "train.fr", "--method=ibm1"],
            marks=pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`"),
        ),
        pytest.param(
            ["dictionary", "train.en", "train.fr", "-o", "new", "--method=ibm1"],
            marks=pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`"),
        ),
    ],
)
def test_what_needs_no_model_does_without_torch(words: list[str], tmp_path: Path, repository: Path) -> None:
    toy.corpus(tmp_path)
    (tmp_path / "toy.yaml").write_text("data: {source: en, target: fr, train: train, dev: dev}\n", encoding="utf-8")
    code = f"import sys; sys.argv = {['dragoman', *words]}; from dragoman.cli import main; main()"
    assert imported(("torch",), code, tmp_path, repository) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["align", "run", "a", "b", "--one-based"],
        ["init", "a", "b", "--columns=x"],
        ["train", "x.yaml", "--seed"],
        ["translate", "run", "--shortlist=x"],
    ],
)
def test_a_mistake_in_the_words_is_told_before_anything_heavy_is_imported(
    words: list[str], tmp_path: Path, repository: Path
) -> None:
    code = f"""
import sys
from importlib.util import find_spec
from dragoman.cli import main
sys.argv = {["dragoman", *words]}
try:
    main()
except SystemExit as end:
    assert end.code == 2
"""
    assert imported(HEAVY, code, tmp_path, repository) == "[]"


def test_public_names_are_sorted_and_there() -> None:
    assert dragoman.__all__ == sorted(dragoman.__all__)
    assert all(getattr(dragoman, name).__name__ == name for name in dragoman.__all__)
    assert set(dragoman.__all__) <= set(dir(dragoman))
    with pytest.raises(AttributeError, match="no attribute 'loda'"):
        dragoman.loda  # noqa: B018


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPED])
def test_every_command_has_help(command: str) -> None:
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert f"Usage: dragoman {command}" in out


def test_the_help_of_evaluate_names_all_metrics() -> None:
    _, out, _ = run("evaluate", "--help")
    assert f"OPTION: VALUE}}: {', '.join(KINDS)}. [default" in re.sub(r"[\s│]+", " ", out)


@pytest.mark.slow
def test_a_terminal_of_no_width_has_help_too(repository: Path) -> None:
    def help_text(columns: str) -> str:
        command = [sys.executable, "-m", "dragoman", "--help"]
        variables = {**os.environ, "PYTHONPATH": str(repository), "COLUMNS": columns}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout

    assert "translate" in help_text("0")
    assert help_text("0") == help_text("") == help_text("80")


def test_help_lists_every_command() -> None:
    code, out, _ = run("-h")
    assert code == 0
    assert all(f"{command} " in out for command in [*COMMANDS, "debug"])
    assert run("--version") == (0, f"dragoman {dragoman.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["trian", "x.yaml"], "Did you mean 'train'?"),
        (["translate", "run", "--beem=3"], "--beam"),
        (["translate"], "Missing argument 'RUN... [FILE]'"),
        (["translate", "run", "--beam=0"], "Invalid value for '--beam'"),
        (["score", "run", "a", "b", "c"], "unexpected extra argument"),
        (["evaluate", "ref", "--run=x"], "--run requires --source"),
        (
            ["evaluate", "ref", "--run=x", "--source=y", "-i", "z"],
            "--run cannot be combined with --input: it translates --source itself",
        ),
        (["evaluate", "ref", "-i", "z", "--source=y"], "--source requires --run or --by length"),
        (["evaluate", "ref", "-i", "z", "--by=length", "--source=y", "--source=x"], "several --source require --run"),
        (["evaluate", "ref", "-i", "z", "--by=frequency"], "--by frequency requires --corpus"),
        (["evaluate", "ref", "-i", "z", "--corpus=y"], "--corpus requires --by frequency"),
        (["align", "run", "a", "b", "--confidence"], "--confidence requires --gold"),
        (["evaluate", "ref", "-i", "z", "--by=length", "--edited=y"], "--edited requires --by edits"),
        (
            ["evaluate", "ref", "--run=x", "--source=y", "--by=length", "--shortlist=9,1"],
            "--shortlist cannot be combined with --by",
        ),
        (["average", "run", "--last=1", "--best=1", "-o", "x"], "--last cannot be combined with --best"),
        (["average", "run", "file", "--last=1", "-o", "x"], "FILES cannot be combined with --last or --best"),
        (["average", "run", "-o", "-"], "Invalid value for '--output' / '-o': expected the name of a file"),
        (["init", "a.en", "a.de", "-o", "-"], "Invalid value for '--output' / '-o': expected the name of a file"),
        (["average", "run"], "Missing option '--output'"),
        (["export", "run"], "expected one of --onnx, --ctranslate2, --marian"),
        (["export", "run", "--quantization", "int8"], "requires --onnx, --ctranslate2 or --argos"),
        (["export", "run", "--onnx", "--ctranslate2"], "found onnx and ctranslate2"),
        (["export", "run", "--marian"], "--marian requires --output"),
        *(
            (["translate", "run", "--engine=ctranslate2", *words], "--engine ctranslate2 cannot be combined with")
            for words in (["--glossary=x"], ["--shortlist=9,1"], ["--mbr=chrf"], ["--min-confidence=0.5"])
        ),
        (["export", "run", "--onnx", "--quantization", "int16"], "expected --quantization int8, found int16"),
        (
            ["score", "run", "a", "b", "--json", "--per-symbol"],
            "--per-symbol cannot be combined with --json: its objects",
        ),
        (
            ["align", "run", "a", "b", "--json", "--threshold=0.1"],
            "--threshold cannot be combined with --json: it has every weight",
        ),
        (["align", "a", "b", "--json"], "--json requires RUN"),
        (["align", "a", "b", "--source=x=y"], "--source requires RUN"),
        (["align", "run", "a", "b", "--method=hmm"], "--method cannot be combined with RUN"),
        (["align", "run", "a", "b", "c"], "expected at most RUN, SOURCE and TARGET"),
        (["align", "a", "b", "--method=ibm4"], "'--method': 'ibm4' is not one of 'ibm1', 'ibm2', 'hmm', 'fast_align'"),
        (["translate", "run", "--engine=onyx"], "Invalid value for '--engine'"),
        (["train", "x.yaml", "--seed"], "--seed needs a value: --seed VALUE"),
        (["train", "--seed=3"], "expected one configuration file, found none; 3 is taken for the value of --seed"),
        (["train", "--quiet", "x.yaml"], "found none; x.yaml is taken for the value of --quiet"),
        (["translate", "run", "--beam=abc"], "Invalid value for '--beam': expected a whole number, found \"abc\""),
        (["translate", "run", "--beam=0"], "Invalid value for '--beam': must be at least 1, found"),
        (["translate", "run", "--beam=1001"], "Invalid value for '--beam': must be at most 1000, found"),
        (
            ["align", "run", "a", "b", "--threshold=x"],
            "'--threshold': expected a number, found",
        ),
        (
            ["translate", "run", "--engine=tpu"],
            "'--engine': 'tpu' is not one of 'torch', 'int8', 'onnx'",
        ),
        (["translate", "run", "--search=beem"], "'--search': unknown kind 'beem', did you mean 'beam'?"),
        (
            ["evaluate", "ref", "--run=x", "--source=y", "--search=best"],
            "'--search': unknown kind 'best', expected one of",
        ),
        (["train", "x.yaml", "y.yaml"], "expected one configuration file, found x.yaml and y.yaml"),
    ],
)
def test_mistakes_in_the_words_are_usage_errors(words: list[str], hint: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert hint in err


@pytest.mark.slow
def test_schemas_are_printed_without_other_words_and_without_torch(tmp_path: Path, repository: Path) -> None:
    for words, schema in (
        ("translate", json_schema.schema()),
        ("debug config", config_file.schema(checks.PARTS)),
    ):
        assert run(*words.split(), "--schema") == (0, schema, "")
        assert "--schema" in run(*words.split(), "--help")[1]
    code = "import sys; sys.argv = ['dragoman', 'translate', '--schema']; from dragoman.cli import main; main()"
    assert imported(("torch", "numpy"), code, tmp_path, repository) == "[]"


def test_a_command_does_not_look_for_garbage_at_its_end(repository: Path) -> None:
    """In all of torch that takes half a second."""
    code = (
        "import atexit, gc, sys; atexit.register(lambda: print(gc.get_freeze_count()))\n"
        "sys.argv = ['dragoman', '--version']; from dragoman.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
    version, frozen = done.stdout.split("\n")[:2]
    assert version == f"dragoman {dragoman.__version__}"
    assert int(frozen) > 1000
