"""A long translation that does not end: what was done is kept, and gone on behind."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests import toy
from tests.system.conftest import Shell

WORDS = ("translate", "runs/toy", "many.en", "-o", "out", "--attention", "seen.jsonl")
OUTPUTS = ("out", "seen.jsonl")


@pytest.fixture
def many(copied: Shell) -> Shell:
    """With 40 lines, which come in portions of 8 and 16."""
    copied.write("many.en", "".join(f"{source}\n" for source, _ in toy.pairs(40, 11)))
    return copied


def texts(shell: Shell, *names: str) -> list[str]:
    return [(shell.folder / name).read_text("utf-8") for name in names]


def whole(shell: Shell) -> list[str]:
    """The outputs of a command that ends, which are removed again."""
    assert shell(*WORDS).code == 0
    found = texts(shell, *OUTPUTS)
    for name in OUTPUTS:
        (shell.folder / name).unlink()
    return found


def partial(shell: Shell) -> list[int]:
    """How many lines each output has that is not whole; it has none under its name."""
    assert not any((shell.folder / name).exists() for name in OUTPUTS)
    return [text.count("\n") for text in texts(shell, *(f"{name}.partial" for name in OUTPUTS))]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_what_a_killed_translation_has_written_is_gone_on_behind(sign: signal.Signals, many: Shell) -> None:
    expected = whole(many)
    outcome = many.kill("translation", 3, *WORDS, sign=sign)
    assert outcome.code == {signal.SIGINT: 130, signal.SIGKILL: -9}[sign]
    if sign == signal.SIGINT:
        told = "24 lines are in out.partial, and --resume goes on behind them"
        assert outcome.err.splitlines() == [f"interrupted: {told}"]
    assert partial(many) == [24, 24]
    before = texts(many, "out.partial")
    assert many.fails(*WORDS) == (
        "out.partial: has 24 lines of a command that did not end; go on behind them with --resume, or remove it"
    )
    assert texts(many, "out.partial") == before
    assert many(*WORDS, "--resume").code == 0
    assert texts(many, *OUTPUTS) == expected
    assert not list(many.folder.glob("*.partial"))


def test_both_outputs_go_on_at_the_same_line_and_a_half_one_is_cut(many: Shell) -> None:
    expected = whole(many)
    lines = [text.splitlines(keepends=True) for text in expected]
    many.write("out.partial", "".join(lines[0][:9]) + lines[0][9][:3])
    many.write("seen.jsonl.partial", "".join(lines[1][:7]))
    assert many(*WORDS, "--resume").code == 0
    assert texts(many, *OUTPUTS) == expected


def test_a_line_that_cannot_be_read_costs_nothing_that_was_done(many: Shell) -> None:
    expected = whole(many)
    right = (many.folder / "many.en").read_bytes()
    lines = right.splitlines(keepends=True)
    many.write("many.en", b"".join([*lines[:20], b"\xff\n", *lines[21:]]))
    told = many.fails(*WORDS)
    assert told.startswith("many.en:21: not UTF-8 (")
    assert told.endswith("; 8 lines are in out.partial, and --resume goes on behind them")
    assert partial(many) == [8, 8]
    many.write("many.en", right)
    assert many(*WORDS, "--resume").code == 0
    assert texts(many, *OUTPUTS) == expected


def test_warnings_behind_what_was_kept_have_their_line_numbers(many: Shell) -> None:
    many.write("many.en", "one\n" * 9 + " ".join(["one"] * 600) + "\n")
    many.write("out.partial", "un\n" * 9)
    outcome = many("translate", "runs/toy", "many.en", "-o", "out", "--resume", "--search=greedy")
    assert outcome.err == "many.en:10: too long, the last 100 symbols were not read\n"
    assert texts(many, "out")[0].startswith("un\n" * 9)
    assert texts(many, "out")[0].count("\n") == 10


def test_with_nothing_to_go_on_behind_resume_begins(many: Shell) -> None:
    expected = whole(many)
    assert many(*WORDS, "--resume").code == 0
    assert texts(many, *OUTPUTS) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("translate runs/toy test.en -o out --resume", "--resume: out.partial has 9 lines, but test.en has 6"),
        ("translate runs/toy test.en --resume", "--resume: goes on with files; name one with -o"),
        ("translate runs/toy test.en --resume -o -", "--resume: goes on with files; name one with -o"),
        ("translate runs/toy test.en --resume -o /dev/null", "--resume: goes on with files; name one with -o"),
        ("translate runs/toy test.en --resume -o out --attention -", "--resume: goes on with files; name one"),
        ("translate runs/toy test.en --resume -o out --n-best 2", "--resume: goes on by the number of lines, which"),
        ("translate runs/toy test.en --resume -o out --wait 2", "--resume: goes on by the number of lines, which"),
        ("translate runs/toy test.en -o out --wait 2", "out.partial: has 9 lines of a command that did not end"),
        (
            "translate runs/toy test.en -o out --attention new --resume",
            "--resume: out.partial is there, but not new.partial; give the options of the first time",
        ),
    ],
)
def test_lines_that_do_not_fit_are_told_and_left_alone(words: str, message: str, copied: Shell) -> None:
    copied.write("out.partial", "un\n" * 9)
    before = set(copied.folder.rglob("*"))
    told = copied.fails(*words.split())
    assert told.startswith(message)
    assert "lines are in" not in told
    assert set(copied.folder.rglob("*")) == before
    assert texts(copied, "out.partial") == ["un\n" * 9]


def test_an_n_best_list_is_kept_too(many: Shell) -> None:
    words = ("translate", "runs/toy", "many.en", "-o", "out", "--n-best=2")
    outcome = many.kill("translation", 2, *words, sign=signal.SIGINT)
    assert outcome.err == "interrupted: 16 lines are in out.partial\n"
    assert texts(many, "out.partial")[0].count("\n") == 16


@pytest.mark.parametrize("to_file", [True, False])
def test_a_terminal_sees_how_far_it_is(to_file: bool, many: Shell) -> None:
    import pty

    where, out = ("-o out", "/dev/null") if to_file else ("", "shown")
    command = f"{sys.executable} -m dragoman translate runs/toy many.en {where} > {out}"
    pid, leader = pty.fork()
    if pid == 0:
        os.chdir(many.folder)
        root = str(Path(__file__).resolve().parents[2])
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": root, "TERM": "xterm", "COLUMNS": "80"}
        os.execve("/bin/sh", ["sh", "-c", command], variables)
    told = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # the terminal is gone with the command
            break
        if not data:
            break
        told += data
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"0 of 40 lines" in told
    assert len(texts(many, "out" if to_file else "shown")[0].splitlines()) == 40
