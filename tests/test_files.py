"""Lines are split at newlines alone, errors name file and line, and a file is whole or not there."""

import bz2
import errno
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Literal

import pytest

from dragoman.documents.document import File
from dragoman.errors import UserError
from dragoman.files import reading
from dragoman.files.reading import read_lines, read_sentences, read_words
from dragoman.files.writing import lines_in, note, partial, write_atomically, write_in_parts
from tests import disk
from tests.golden import Golden

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def lines_of(folder: Path, content: bytes, name: str = "text") -> list[str]:
    path = folder / name
    path.write_bytes(content)
    return list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"\n\n", ["", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u2028b\u0085c\fd\x1ce\n".encode(), ["a\u2028b\u0085c\fd\x1ce"]),
    ],
)
def test_only_a_newline_ends_a_line(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    assert lines_of(tmp_path, content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a", "\n"]),
        (b"a bc\nd\n", ["a", "bc", "\n", "d", "\n"]),
        (b"a ", ["a", "\n"]),
        (b" a\t\tb \n\n c", ["a", "b", "\n", "\n", "c", "\n"]),
        (b"a b\r\nc\r\n", ["a", "b", "\n", "c", "\n"]),
        (b"\xef\xbb\xbfa\n", ["a", "\n"]),
        (b"\xef\xbb\xbfa \xef\xbb\xbfb\n\xef\xbb\xbfc", ["a", "\ufeffb", "\n", "\ufeffc", "\n"]),
        (b"\r", ["\n"]),
        (b"a\n\r", ["a", "\n", "\n"]),
        (b"a\r b\r\tc\r\n", ["a\r", "b\r", "c", "\n"]),
        ("\u00e4\u2028b c".encode(), ["\u00e4\u2028b", "c", "\n"]),
    ],
)
def test_words_come_one_by_one_with_the_ends_of_their_lines(
    tmp_path: Path, content: bytes, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_bytes(content)
    assert list(read_words(tmp_path / "text")) == expected
    monkeypatch.setattr(reading, "CHUNK", 1)
    assert list(read_words(tmp_path / "text")) == expected


def test_a_file_whose_lines_end_in_carriage_returns_is_told(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "text").write_bytes(b"a b\rc\r")
    with pytest.raises(UserError, match=r"text:1:") as raised:
        list(read_lines(tmp_path / "text"))
    golden(str(raised.value))
    assert lines_of(tmp_path, b"a\r") == ["a"]
    assert lines_of(tmp_path, b"a\rb") == ["a\rb"]


@pytest.mark.parametrize("chunk", [7, reading.CHUNK])
def test_carriage_returns_of_a_cut_line_are_text_if_a_newline_follows(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    progress = b"".join(b"%d%%\r" % number for number in range(1000))
    (tmp_path / "text").write_bytes(progress + b"\nsecond line\n")
    first, second = read_lines(tmp_path / "text", 100)
    assert (first, second) == (progress[:101].decode(), "second line")
    (tmp_path / "text").write_bytes(progress)
    with pytest.raises(UserError, match="carriage returns only"):
        list(read_lines(tmp_path / "text", 100))


def test_a_word_in_another_encoding_is_told_with_line_and_byte(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "text").write_bytes(b"a\nbc na\xefve\n")
    with pytest.raises(UserError, match=r":2:") as raised:
        list(read_words(tmp_path / "text"))
    golden(str(raised.value))


def test_a_packed_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    assert lines_of(tmp_path, gzip.compress("ä\nb\n".encode()), "text.gz") == ["ä", "b"]


def test_a_packed_file_is_found_under_its_plain_name_unless_there_is_a_plain_one(
    tmp_path: Path, golden: Golden
) -> None:
    (tmp_path / "x.en.gz").write_bytes(gzip.compress(b"packed a\n\xff\n"))
    with pytest.raises(UserError, match=r"x\.en\.gz:2:") as raised:
        list(read_lines(tmp_path / "x.en"))
    golden(str(raised.value))
    words = read_words(tmp_path / "x.en")
    assert [next(words), next(words)] == ["packed", "a"]
    (tmp_path / "x.en").write_bytes(b"plain\n")
    assert list(read_lines(tmp_path / "x.en")) == ["plain"]
    (tmp_path / "folder.gz").mkdir()
    with pytest.raises(UserError, match=r"folder:") as raised:
        next(read_lines(tmp_path / "folder"))
    golden(str(raised.value))


@pytest.mark.parametrize("most", [7, 8])
@pytest.mark.parametrize("letter", ["a", "\u00e4", "\u4e00", "\U0001f600"])
def test_of_a_long_line_come_so_many_characters_and_one_more(letter: str, most: int, tmp_path: Path) -> None:
    text = [letter * (most - 1), letter * most + "\r", letter * (most + 1), letter * 1_000, "", letter * 50]
    (tmp_path / "text").write_bytes("\r\n".join(text).encode())
    assert list(read_lines(tmp_path / "text", most)) == [line[: most + 1] for line in text]
    assert list(read_lines(tmp_path / "text")) == text


def test_of_a_line_that_is_cut_only_what_is_read_has_to_be_utf8(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "text").write_bytes(b"a" * 40 + b"\xff\n\xff\n")
    lines = read_lines(tmp_path / "text", most=8)
    assert next(lines) == "a" * 9
    with pytest.raises(UserError, match=r"text:2:") as raised:
        next(lines)
    golden(str(raised.value))


@pytest.mark.parametrize("chunk", [1, 3, 65_536])
def test_of_a_long_line_words_come_up_to_its_limit(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    monkeypatch.setattr(reading, "LONGEST_TEXT", 8)  # 39 bytes
    (tmp_path / "text").write_bytes(b"ab " * 20 + b"\n" + b"c" * 100 + b" d\ne\n" + "\u4e00".encode() * 100)
    assert list(read_words(tmp_path / "text")) == [*["ab"] * 13, "\n", "c" * 39, "\n", "e", "\n", "\u4e00" * 13, "\n"]


@pytest.mark.slow
@pytest.mark.parametrize("read", ["read_words(path)", "read_lines(path, reading.LONGEST_TEXT)"])
def test_what_is_read_of_an_endless_line_does_not_grow_with_it(read: str, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "nul.gz", "wb", compresslevel=1) as file:
        for _ in range(30):
            file.write(bytes(10**6))
    code = f"""
import tracemalloc
from dragoman.files import reading
from dragoman.files.reading import read_lines, read_sentences, read_words
path = {str(tmp_path / "nul.gz")!r}
tracemalloc.start()
assert sum(1 for _ in {read}) in (1, 2)
assert tracemalloc.get_traced_memory()[1] < 5_000_000
"""
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)


@pytest.mark.parametrize("name", ["x.po", "x.PO.gz", "x.pot", "x.tmx", "x.xlf", "x.xliff"])
def test_a_file_of_units_has_no_sentences(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no such file"):
        list(read_sentences(tmp_path / name))
    (tmp_path / name).write_text('msgid "a"\n', "utf-8")
    with pytest.raises(UserError, match=r"x\.\w+(\.gz)?: is not a text file with one sentence per line"):
        list(read_sentences(tmp_path / name))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"a\nb\xff"))
    monkeypatch.setattr(sys, "stdin", stream)
    lines = read_lines("-")
    assert next(lines) == "a"
    with pytest.raises(UserError, match=r"^<stdin>:2:") as raised:
        next(lines)
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"ok\nna\xefve\n", "2: not UTF-8 (byte 0xEF at column 3)"),
        (b"\xef\xbb\xbfa\xe9\n", "1: not UTF-8 (byte 0xE9 at column 5)"),
        ("ab\n".encode("utf-16"), "1: not UTF-8 (byte 0xFF at column 1); it seems to be UTF-16, save it as UTF-8"),
    ],
)
def test_another_encoding_is_told_with_line_and_byte(tmp_path: Path, content: bytes, place: str) -> None:
    with pytest.raises(UserError) as caught:
        lines_of(tmp_path, content)
    assert str(caught.value) == f"{tmp_path / 'text'}:{place}"


def test_a_truncated_or_foreign_gz_is_told(tmp_path: Path, golden: Golden) -> None:
    packed = gzip.compress(os.urandom(10_000).hex().encode())
    with pytest.raises(UserError, match=r"cut\.gz:") as raised:
        lines_of(tmp_path, packed[: len(packed) // 2], "cut.gz")
    golden(str(raised.value))
    with pytest.raises(UserError, match=r"plain\.gz:") as raised:
        lines_of(tmp_path, b"plain text\n", "plain.gz")
    golden(str(raised.value))
    damaged = packed[:50] + bytes(200) + packed[250:]
    with pytest.raises(UserError, match=r"damaged\.gz:") as raised:
        lines_of(tmp_path, damaged, "damaged.gz")
    golden(str(raised.value))


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match=r"nowhere:") as raised:
        next(read_lines(tmp_path / "nowhere"))
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        next(read_lines(tmp_path))
    golden(str(raised.value))


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is forbidden to the super-user")
def test_an_unreadable_file_is_told(tmp_path: Path) -> None:  # whoever wrote the messages may have been that one
    path = tmp_path / "secret"
    path.touch(mode=0)
    with pytest.raises(UserError, match=r"secret: cannot read \(Permission denied\)"):
        next(read_lines(path))


def test_text_is_written_as_utf8_with_newlines(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with write_atomically(path) as file:
        file.write("ä\n\u2028\n")
    assert path.read_bytes() == "ä\n\u2028\n".encode()


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "file", "wb") as file:
        file.write(b"\r\n\xff")
    assert (tmp_path / "file").read_bytes() == b"\r\n\xff"


def fail_halfway(path: Path) -> None:
    with write_atomically(path) as file:
        file.write("new")
        file.flush()
        raise KeyError


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyError):
        fail_halfway(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = f"""
import os, signal
from dragoman.files.writing import write_atomically
with write_atomically({str(path)!r}) as file:
    file.write("new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


Writer = Callable[[Path], AbstractContextManager[IO[Any]]]
WRITERS = (write_atomically, write_in_parts)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_is_on_the_disk_before_it_has_its_name(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, and under another name until then: after a power failure, the file is the old one or the new one."""
    path = tmp_path / "file"
    path.write_text("old")
    calls = disk.record(monkeypatch)
    with writer(path) as file:
        file.write("new\n" * 10_000)
        assert calls == []
        assert path.read_text() == "old"
    inode = path.stat().st_ino
    assert calls == [disk.Synchronized(inode, 40_000), disk.Replaced(inode, path)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_cannot_be_put_in_place_leaves_the_old_file(
    *,
    writer: Writer,
    owner: Any,
    name: str,
    error: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing else, but for the lines of a file in parts, to be continued."""
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*arguments: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fail)
        with pytest.raises((UserError, KeyboardInterrupt)) as raised, writer(path) as file:
            file.write("new\n")
    assert isinstance(error, KeyboardInterrupt) or str(raised.value) == f"{path}: cannot write (Input/output error)"
    assert path.read_text() == "old"
    left = {entry.name: entry.read_text() for entry in tmp_path.iterdir() if entry != path}
    assert left == ({} if writer is write_atomically else {"file.partial": "new\n"})
    with writer(path) as file:
        file.write("newer\n")
    assert path.read_text() == "newer\n"


def test_what_fails_while_it_is_written_is_neither_synchronized_nor_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = disk.record(monkeypatch)
    with pytest.raises(KeyError):
        fail_halfway(tmp_path / "file")
    assert calls == []


def test_the_permissions_of_the_old_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o640)
    with write_atomically(path) as file:
        file.write("new")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with write_atomically(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_where_nothing_can_be_written_the_target_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"file/inside: cannot write"),
        write_atomically(tmp_path / "file" / "inside"),
    ):
        pass
    with pytest.raises(UserError, match="cannot write"), write_atomically(tmp_path):
        pass


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    code = """
import resource, signal
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from tests import disk
from tests.golden import Golden
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a limit on the size of files fails as a full disk does
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    with write_atomically("big") as file:
        file.write("x" * 1000)
except UserError as error:
    print(error)
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "big: cannot write (File too large)\n"
    assert list(tmp_path.iterdir()) == []


def test_trouble_with_another_file_inside_the_block_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), write_atomically(tmp_path / "file"):
        (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("name", ["file", os.devnull])
def test_trouble_with_another_stream_inside_the_block_is_not_taken_for_the_files(name: str, tmp_path: Path) -> None:
    """Errors of a closed pipe and a full disk name no file."""
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(BrokenPipeError), write_atomically(tmp_path / name):
        os.write(write, b"x")
    os.close(write)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("mode", ["w", "wb"])
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_full_device_is_told_whenever_its_buffer_is_written(mode: Literal["w", "wb"], size: int) -> None:
    with (
        pytest.raises(UserError, match=r"^/dev/full: cannot write \(No space left on device\)$"),
        write_atomically("/dev/full", mode) as file,
    ):
        file.write("x" * size if mode == "w" else b"x" * size)


def test_the_file_is_named_as_the_user_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(UserError, match=r"^link: cannot write \(Is a directory\)$"), write_atomically("link"):
        pass


def test_a_very_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 120)
    with write_atomically(path) as file:
        file.write("x")
    assert path.read_text() == "x"


def test_what_was_written_in_parts_stays_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("old\n")
    path.chmod(0o604)
    with pytest.raises(KeyboardInterrupt), write_in_parts(path) as file:  # noqa: PT012
        file.write("one\ntwo\nthr")
        raise KeyboardInterrupt
    assert path.read_text() == "old\n"
    assert partial(path).read_text() == "one\ntwo\nthr"
    assert lines_in(partial(path)) == 2
    with write_in_parts(path, 1) as file:
        file.write("2\n")
    assert path.read_text() == "one\n2\n"
    assert path.stat().st_mode & 0o777 == 0o604
    assert [entry.name for entry in tmp_path.iterdir()] == ["text"]


def test_of_a_file_in_parts_without_a_line_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="before a line"), write_in_parts(tmp_path / "text"):
        raise ValueError("before a line")
    assert list(tmp_path.iterdir()) == []
    with write_in_parts(tmp_path / "text"):
        pass
    assert (tmp_path / "text").read_text() == ""


def test_two_processes_do_not_write_the_same_parts(tmp_path: Path) -> None:
    path = tmp_path / "text"
    with write_in_parts(path) as file:
        with pytest.raises(UserError, match="partial: another process is writing it"), write_in_parts(path):
            pass
        file.write("one\n")
    assert path.read_text() == "one\n"


def test_lines_that_are_there_no_more_are_not_continued(tmp_path: Path) -> None:
    partial(tmp_path / "text").write_text("one\ntwo\n")
    with pytest.raises(UserError, match="another process has written it"), write_in_parts(tmp_path / "text", 3):
        pass
    assert partial(tmp_path / "text").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_parts_are_locked_until_they_have_their_name(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, messages = tmp_path / "text", []
    owner = os if place == "fsync" else Path
    function = getattr(owner, place)

    def intruded(*arguments: Any) -> Any:
        with pytest.raises(UserError) as caught, write_in_parts(path):
            pass
        messages.append(str(caught.value))
        return function(*arguments)

    monkeypatch.setattr(owner, place, intruded)
    with write_in_parts(path) as file:
        file.write("one\n")
    assert messages == [f"{partial(path)}: another process is writing it"]
    assert path.read_text() == "one\n"


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("mine"), os.mkfifo, Path.mkdir])
def test_parts_are_a_plain_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine\n")
    make(tmp_path / "text.partial")
    with (
        pytest.raises(UserError, match=r"text\.partial: cannot write \(not a regular file\)"),
        write_in_parts(tmp_path / "text"),
    ):
        pass
    assert (tmp_path / "mine").read_text() == "mine\n"
    assert (tmp_path / "text.partial").exists()


def test_a_very_long_name_can_be_written_in_parts(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    with write_in_parts(path) as file, note(path).open("x"):
        file.write("x")
    assert path.read_text() == "x"


@pytest.mark.parametrize("write", [write_atomically, write_in_parts])
def test_a_loop_of_links_is_told(write: Callable[[Path], AbstractContextManager[IO[str]]], tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(UserError, match="a: cannot write"), write(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_symlink()


def test_parts_lie_beside_what_a_link_stands_for(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/text")
    with write_in_parts(link) as file:
        assert partial(link) == tmp_path / "there" / "text.partial"
        assert partial(link).exists()
        file.write("one\n")
    assert link.is_symlink()
    assert (tmp_path / "there" / "text").read_text() == "one\n"


def test_a_pipe_has_no_parts(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reading:
        with write_in_parts(pipe) as file:
            assert not partial(pipe).exists()
            file.write("one\n")
        assert reading.communicate()[0] == b"one\n"
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (lzma.compress(b"one two"), "xz"),
        (bytes.fromhex("28b52ffd") + b"one", "zstd"),
        (bz2.compress(b"one two"), "bzip2"),
        (gzip.compress(b"one two", mtime=0), "gzip"),
        (b"PK\x03\x04one", "zip"),
        (b"7z\xbc\xaf'\x1cone", "7-Zip"),
        (b"%PDF-1.7\n", "PDF"),
    ],
)
def test_files_in_another_form_are_named(data: bytes, kind: str, tmp_path: Path, golden: Golden) -> None:
    """Whatever the end of their names, and by documents, too."""
    path = tmp_path / "one.txt"
    path.write_bytes(data)
    with pytest.raises(UserError, match=f"one.txt: is .*{kind}") as raised:
        list(read_lines(path))
    golden(str(raised.value), kind)
    with pytest.raises(UserError, match=f"one.txt: is .*{kind}"):
        list(read_words(path))
    with pytest.raises(UserError, match=f"one.txt: is .*{kind}"):
        _ = File("one.txt", data, ("en", "fr")).text
