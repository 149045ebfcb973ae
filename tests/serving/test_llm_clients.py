"""Programs that ask a language model, run against a server: those that are installed here. Their requests are replayed
in `test_prompts.py`, `test_ollama.py` and `test_openai.py`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

from tests.serving.server import serving

pytestmark = pytest.mark.slow
CATALOGUE = r"""
msgid ""
msgstr ""
"Language: fr\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#, c-format
msgid "one two %s"
msgstr ""

#. A note.
msgctxt "menu"
msgid "one <b>two</b>\n"
msgstr ""

msgid "three"
msgstr "déjà"
"""
COMPATIBLE = "--provider openai_compatible --openai-compatible-base-url {server}/v1 --openai-compatible-key none"
SUBTITLES = "1\n00:00:01,000 --> 00:00:02,000\none two\n\n2\n00:00:03,000 --> 00:00:04,000\nsix\none\n"
LLM_SUBTRANS = """
import sys
from PySubtrans import init_options, init_subtitles, init_translator

server, path, stream = sys.argv[1:]
options = init_options(
    provider="Custom Server",
    model="run",
    server_address=server,
    endpoint="/v1/chat/completions",
    target_language="French",
    stream_responses=stream == "stream",
)
subtitles = init_subtitles(filepath=path, options=options)
init_translator(options).TranslateSubtitles(subtitles)
sys.stdout.write("|".join(line.translation or "" for line in subtitles.originals))
"""


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    with serving(run) as server:
        yield server


def installed(name: str, *options: str) -> list[str]:
    """The words of a command; the test is skipped if there is no such program."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return [path, *options]


def check(path: Path) -> None:
    translations = {entry.msgid.rstrip("\n"): entry.msgstr.rstrip("\n") for entry in polib.pofile(str(path))}
    assert translations == {"one two %s": "deux %s un", "one <b>two</b>": "<b>deux</b> un", "three": "déjà"}


def call(words: list[str], folder: Path) -> str:
    """What a program writes. The test is skipped without `ollama`, which transpolibre needs but does not install."""
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    if "No module named 'ollama'" in done.stderr:
        pytest.skip("the Python package ollama is not installed")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "msgpre --url={server} --model=run --input=fr/fr.po --output-file=fr/fr.po",
        "gpt-po --key none --host {server} --model run --po fr/fr.po",
        "gpt-po-translator --provider ollama --ollama-base-url {server} --model run --folder . --lang fr",
        "gpt-po-translator --provider ollama --ollama-base-url {server} --model run --folder . --lang fr --bulk",
        f"gpt-po-translator {COMPATIBLE} --model run --folder . --lang fr --bulk",
        "transpolibre -e ollama -u {server} -m run -s en -t fr -f fr/fr.po",
    ],
)
def test_a_catalogue(address: str, tmp_path: Path, words: str) -> None:
    name, *options = words.format(server=address).split()
    command = installed(name, *options)
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "fr.po").write_text(CATALOGUE, "utf-8")
    call(command, tmp_path)
    check(tmp_path / "fr" / "fr.po")


def test_i18n_ai_translate(address: str, tmp_path: Path) -> None:
    host = address.removeprefix("http://")
    options = ("translate", "-e", "ollama", "-h", host, "-m", "run", "--skip-translation-verification")
    command = installed("i18n-ai-translate", *options)
    (tmp_path / "en.po").write_text(CATALOGUE.replace("Language: fr", "Language: en"), "utf-8")
    call([*command, "-i", str(tmp_path / "en.po"), "-o", "fr"], tmp_path)
    translations = {entry.msgid: entry.msgstr for entry in polib.pofile(str(tmp_path / "fr.po"))}
    assert translations == {"one two %s": "deux %s un", "one <b>two</b>\n": "<b>deux</b> un\n", "three": "trois"}


def test_spit_shows_why_it_fails(address: str) -> None:
    command = installed("spit", f"--url={address}", "--model=run")
    for target, status in (("fr", 0), ("de", 1)):
        done = subprocess.run([*command, f"--to={target}"], input="one two", capture_output=True, text=True, timeout=60)
        assert done.returncode == status
        assert done.stdout == ("" if status else "deux un")
        assert ("the model translates en to fr" in done.stderr) == bool(status)


@pytest.mark.parametrize("options", ["--cues-per-request 1", "--cues-per-request 2 --stream", "--llm-mode generate"])
def test_subsetzer(address: str, tmp_path: Path, options: str) -> None:
    languages = ("--source", "English", "--target", "French")
    command = installed("subsetzer", "--server", address, "--model", "run", *languages, *options.split())
    (tmp_path / "a.srt").write_text(SUBTITLES, "utf-8")
    call([*command, "--in", "a.srt", "--out", "out", "--flat", "--outfile", "b.srt"], tmp_path)
    assert (tmp_path / "out" / "b.srt").read_text("utf-8").split("\n\n")[1].splitlines()[2:] == ["un", "six"]


@pytest.mark.parametrize("stream", ["stream", "whole"])
def test_llm_subtrans(address: str, tmp_path: Path, stream: str) -> None:
    """By the Python that has it: `PYSUBTRANS_PYTHON`."""
    python = os.environ.get("PYSUBTRANS_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import PySubtrans"], capture_output=True).returncode:
        pytest.skip("pysubtrans is not installed")
    (tmp_path / "a.srt").write_text(SUBTITLES, "utf-8")
    assert call([python, "-c", LLM_SUBTRANS, address, "a.srt", stream], tmp_path) == "deux un|un\nsix"
