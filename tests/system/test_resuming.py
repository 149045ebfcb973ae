"""A long translation that does not end: what was done is kept, and continued."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman.files.writing import write_in_parts
from tests import toy
from tests.forms import alike
from tests.system.conftest import Shell

WORDS = ("translate", "runs/toy", "many.en", "-o", "out", "--json")


@pytest.fixture
def many(copied: Shell) -> Shell:
    """With 40 lines, which come in portions of 8 and 16."""
    copied.write("many.en", "".join(f"{source}\n" for source, _ in toy.pairs(40, 11)))
    return copied


def texts(shell: Shell, *names: str) -> list[str]:
    return [(shell.folder / name).read_text("utf-8") for name in names]


def whole(shell: Shell, *options: str) -> str:
    """The output of a command that ends, which is removed again."""
    assert shell(*WORDS, *options).code == 0
    (text,) = texts(shell, "out")
    (shell.folder / "out").unlink()
    return text


def partial(shell: Shell) -> int:
    """How many lines the output has, which is not whole and not there under its name."""
    assert not (shell.folder / "out").exists()
    return texts(shell, "out.partial")[0].count("\n")


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_translation_is_continued(sign: signal.Signals, many: Shell) -> None:
    expected = whole(many)
    outcome = many.kill("translation", 3, *WORDS, sign=sign)
    assert outcome.code == {signal.SIGINT: 130, signal.SIGKILL: -9}[sign]
    if sign == signal.SIGINT:
        message = "24 lines are in out.partial, from which --resume continues"
        assert outcome.err.splitlines() == [f"interrupted: {message}"]
    assert partial(many) == 24
    before = texts(many, "out.partial")
    assert many.fails(*WORDS) == (
        "out.partial: has 24 lines of an interrupted command; continue after them with --resume, or remove it"
    )
    assert texts(many, "out.partial") == before
    assert many(*WORDS, "--resume").code == 0
    assert alike(texts(many, "out")[0], expected)
    assert not list(many.folder.glob("*.partial*"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--n-best=2",)])
def test_a_half_line_is_cut(options: tuple[str, ...], many: Shell) -> None:
    expected = whole(many, *options)
    many.kill("translation", 3, *WORDS, *options)
    lines = expected.splitlines(keepends=True)
    many.write("out.partial", "".join(lines[:9]) + lines[9][:3])
    assert many(*WORDS, *options, "--resume").code == 0
    assert texts(many, "out")[0] == expected


@pytest.mark.slow
def test_what_is_continued_is_in_the_batches_that_it_would_have_been_in(many: Shell) -> None:
    """So that not even the last digit of a figure is another: a portion that was cut is worked on anew."""
    expected = whole(many, "--json")
    many.kill("translation", 3, *WORDS, "--json")
    lines = expected.splitlines(keepends=True)
    many.write("out.partial", "".join(lines[:20]).replace('"text":"', '"text":"from the portion that was cut '))
    assert many(*WORDS, "--json", "--resume").code == 0
    written = texts(many, "out")[0].splitlines(keepends=True)
    assert ["from the portion that was cut" in line for line in written] == [True] * 8 + [False] * (len(lines) - 8)
    assert written[8:] == lines[8:]


@pytest.mark.slow
def test_a_line_that_cannot_be_read_costs_nothing_that_was_done(many: Shell) -> None:
    expected = whole(many)
    right = (many.folder / "many.en").read_bytes()
    lines = right.splitlines(keepends=True)
    many.write("many.en", b"".join([*lines[:20], b"\xff\n", *lines[21:]]))
    message = many.fails(*WORDS)
    assert message.startswith("many.en:21: not UTF-8 (")
    assert message.endswith("; 8 lines are in out.partial, from which --resume continues")
    assert partial(many) == 8
    many.write("many.en", right)
    assert many(*WORDS, "--resume").code == 0
    assert alike(texts(many, "out")[0], expected)


def test_warnings_of_lines_after_those_kept_have_their_line_numbers(many: Shell) -> None:
    many.write("many.en", "one\n" * 9 + " ".join(["one"] * 600) + "\n")
    words = ("translate", "runs/toy", "many.en", "-o", "out", "--search=greedy")
    many.kill("translation", 2, *words)
    many.write("out.partial", "un\n" * 8)
    outcome = many(*words, "--resume")
    assert outcome.err == "many.en:10: too long, only the first 500 symbols were read\n"
    assert texts(many, "out")[0].startswith("un\n" * 8)
    assert texts(many, "out")[0].count("\n") == 10


def test_with_nothing_to_continue_resume_begins(many: Shell) -> None:
    expected = whole(many)
    assert many(*WORDS, "--resume").code == 0
    assert alike(texts(many, "out")[0], expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("translate runs/toy test.en -o out --resume", "--resume: out.partial was written with another command"),
        ("translate runs/toy test.en --resume", "--resume: requires an output file (-o FILE)"),
        ("translate runs/toy test.en --resume -o -", "--resume: requires an output file (-o FILE)"),
        ("translate runs/toy test.en --resume -o /dev/null", "--resume: requires an output file (-o FILE)"),
        (
            "translate runs/toy test.en --resume -o out --n-best 2",
            "usage: --resume cannot be combined with --wait, --inc",
        ),
        (
            "translate runs/toy test.en --resume -o out --wait 2",
            "usage: --resume cannot be combined with --wait, --inc",
        ),
        (
            "translate runs/toy test.en -o out --wait 2",
            "out.partial: has 9 lines of an interrupted command; remove it",
        ),
    ],
)
def test_lines_that_do_not_fit_are_told_and_left_alone(words: str, message: str, copied: Shell) -> None:
    copied.write("out.partial", "un\n" * 9)
    before = set(copied.folder.rglob("*"))
    output = copied.refuses(*words.split())
    assert output.startswith(message)
    assert "lines are in" not in output
    assert set(copied.folder.rglob("*")) == before
    assert texts(copied, "out.partial") == ["un\n" * 9]


@pytest.fixture
def begun(many: Shell) -> Shell:
    """With 8 lines of a translation that was killed."""
    many.kill("translation", 2, *WORDS)
    assert partial(many) == 8
    return many


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "other"),
    [
        ("runs/other many.en --json", "RUN"),
        ("runs/toy runs/other many.en --json", "RUN"),
        ("runs/toy many.en --json --beam 2 --search beam", "--search, --beam"),
        ("runs/toy many.en --alignments", "--alignments, --json"),
        ("runs/toy many.en --json --weights model-best", "--weights"),
        ("runs/toy many.en --json --engine int8", "--engine"),
        ("runs/toy many.en --json --shortlist 10,5", "--shortlist"),
        ("runs/toy many.en --json --to fr", "--to"),
        ("runs/toy --source en=many.en --json", "--source"),
        ("runs/toy many.en --json --n-best 2", "--n-best"),
        ("runs/toy many.en --json --batch-lines 8", "--batch-lines"),
        ("runs/toy many.en", "--json"),
    ],
)
def test_what_was_written_in_another_way_is_not_continued(words: str, other: str, begun: Shell) -> None:
    before = texts(begun, "out.partial", "out.partial.note")
    shutil.copytree(begun.folder / "runs/toy", begun.folder / "runs/other")
    message = begun.fails("translate", *words.split(), "-o", "out", "--resume")
    way = "use the original options, or remove it"
    assert message == f"--resume: out.partial was written with another {other}; {way}"
    message = begun.fails("translate", *words.split(), "-o", "out")
    assert message == "out.partial: has 8 lines of an interrupted command; remove it"
    assert texts(begun, "out.partial", "out.partial.note") == before


def test_what_another_version_wrote_is_not_continued(begun: Shell) -> None:
    note = begun.folder / "out.partial.note"
    note.write_text(note.read_text("utf-8").replace(dragoman.__version__, "0.1.9", 1), "utf-8")
    message = begun.fails(*WORDS, "--resume")
    assert message.startswith("--resume: out.partial was written with another version of dragoman; ")


def test_translations_of_other_lines_are_not_continued(begun: Shell) -> None:
    before = texts(begun, "out.partial", "out.partial.note")
    right = (begun.folder / "many.en").read_text("utf-8").splitlines(keepends=True)
    begun.write("many.en", "".join([*right[:7], "ten\n", *right[8:]]))
    message = begun.fails(*WORDS, "--resume")
    assert message == "--resume: many.en:8: is not the line that out.partial translates"
    begun.write("many.en", "".join(right[:6]))
    assert begun.fails(*WORDS, "--resume") == "--resume: out.partial has 8 lines, but many.en has 6"
    assert texts(begun, "out.partial", "out.partial.note") == before


def test_the_same_lines_from_elsewhere_are_continued(begun: Shell) -> None:
    (begun.folder / "many.en").rename(begun.folder / "moved.en")
    assert begun(*WORDS[:2], "moved.en", *WORDS[3:], "--resume").code == 0
    assert texts(begun, "out")[0].count("\n") == 40


@pytest.mark.parametrize("words", [WORDS, (*WORDS, "--resume"), (*WORDS, "--n-best=2")])
def test_what_another_process_writes_is_not_to_be_removed(words: tuple[str, ...], many: Shell) -> None:
    with write_in_parts(many.folder / "out") as file:
        file.write("un\n")
        file.flush()
        assert many.fails(*words) == "out.partial: another process is writing it"


@pytest.mark.parametrize("name", ["out.partial", "out.partial.note"])
@pytest.mark.parametrize("text", ["", "mine\n"])
def test_what_is_there_is_not_ours_to_remove(name: str, text: str, many: Shell) -> None:
    many.write(name, text)
    message = many.fails(*WORDS)
    assert message.startswith(f"{name}: has {text.count('mine')} line")
    assert "has 1 lines" not in message
    assert texts(many, name) == [text]
    assert not (many.folder / "out").exists()


def test_a_link_is_not_written_to(many: Shell) -> None:
    (many.folder / "out.partial").symlink_to("test.en")
    before = texts(many, "test.en")
    for words in (WORDS, (*WORDS, "--resume")):
        assert many.fails(*words) == "out.partial: cannot write (not a regular file)"
    assert texts(many, "test.en") == before


@pytest.mark.parametrize("name", ["out.partial", "out.partial.note"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("runs/toy {}", "{}: is not a supported document"),
        ("runs/toy --source en={}", "--output {}: is an input file and would be overwritten; name another file"),
    ],
)
def test_a_source_is_not_taken_for_what_was_left(name: str, words: str, message: str, copied: Shell) -> None:
    shutil.copy(copied.folder / "test.en", copied.folder / name)
    before = texts(copied, name)
    output = copied.fails("translate", *words.format(name).split(), "-o", "out", "--resume")
    assert output.startswith(message.format(name))
    assert texts(copied, name) == before
    assert not (copied.folder / "out").exists()


@pytest.mark.parametrize("one", ["x", "x.partial", "x.partial.note"])
@pytest.mark.parametrize("other", ["x", "./x.partial"])
def test_outputs_do_not_take_the_files_of_each_other(one: str, other: str, copied: Shell) -> None:
    if one == "x.partial.note" and other != "x":
        other = "./x.partial.note"
    message = copied.fails("postedit", "runs/toy", "--translation", "test.en", "-o", one, "--html", other)
    assert message == f"--html {Path(other)}: is already the output file; name another file"


def test_a_protected_file_is_not_replaced(copied: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    copied.write("out", "mine")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    message = copied.fails("translate", "runs/toy", "test.en", "-o", "out")
    assert message == "out: cannot write (Permission denied)"
    assert texts(copied, "out") == ["mine"]


def test_a_loop_of_links_is_told(copied: Shell) -> None:
    (copied.folder / "a").symlink_to("a")
    message = copied.fails("translate", "runs/toy", "test.en", "-o", "a")
    assert message == "a: cannot write (Too many levels of symbolic links)"


def test_a_very_long_name_can_be_written(copied: Shell) -> None:
    assert copied("translate", "runs/toy", "test.en", "-o", "x" * 250).code == 0
    assert texts(copied, "x" * 250)[0].count("\n") == 6


def test_an_n_best_list_is_kept_and_not_continued(many: Shell) -> None:
    words = ("translate", "runs/toy", "many.en", "-o", "out", "--n-best=2")
    outcome = many.kill("translation", 2, *words, sign=signal.SIGINT)
    assert outcome.err == "interrupted: 16 lines are in out.partial\n"
    assert texts(many, "out.partial")[0].count("\n") == 16
    assert many.fails(*words) == "out.partial: has 16 lines of an interrupted command; remove it"
    message = many.fails(*words[:-1], "--resume")
    assert message.startswith("--resume: out.partial was written with another command")


def test_where_nothing_was_written_nothing_is_left(many: Shell) -> None:
    before = set(many.folder.rglob("*"))
    many.kill("translation", 1, *WORDS, sign=signal.SIGINT)
    assert set(many.folder.rglob("*")) == before


@pytest.mark.parametrize("to_file", [True, False])
@pytest.mark.slow
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
    terminal = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # the terminal is gone with the command
            break
        if not data:
            break
        terminal += data
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"0 of 40 lines" in terminal
    assert len(texts(many, "out" if to_file else "shown")[0].splitlines()) == 40
