"""The commands of docs/verses.md, word for word."""

import re
import shlex

import pytest

from tests import toy
from tests.system.conftest import ROOT, Shell

BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = ["corpus", "init", "train", "evaluate", "report", "calibrate", "translate", "dictionary", "align"]
SHORT = {"train": ["--training.steps=3"]}
BOOKS = {"bible": 700, "mark": 40, "luke": 30}  # verses


@pytest.fixture
def shelf(shell: Shell) -> Shell:
    """Two finished books and one that is not, with German in the place of French, and English in that of Spanish."""
    for seed, (book, count) in enumerate(BOOKS.items()):
        pairs = toy.pairs(count, seed)
        texts = {
            "en": [source for source, _ in pairs],
            "fr": [toy.german(source) for source, _ in pairs],
            "es": [source for source, _ in pairs],
            "xx": [target for _, target in pairs],
        }
        for language in texts if book != "luke" else ("en", "fr", "es"):
            shell.write(f"{book}.{language}", "\n".join(texts[language]) + "\n")
    return shell


@pytest.mark.slow
def test_the_page_is_followed_word_for_word(shelf: Shell) -> None:
    page = (ROOT / "docs" / "verses.md").read_text("utf-8")
    commands = [shlex.split(line)[1:] for block in BLOCK.findall(page) for line in block.splitlines()]
    assert [words[0] for words in commands] == COMMANDS
    written = dict[str, str]()
    for words in commands:
        outcome = shelf(*words, *SHORT.get(words[0], []))
        assert outcome.code == 0, outcome.err
        written[words[0]] = outcome.out
    assert written["evaluate"].count("±") >= 2
    drafts = (shelf.folder / "luke.xx").read_text("utf-8").splitlines()
    assert len(drafts) == BOOKS["luke"]
    assert len((shelf.folder / "bible.align").read_text("utf-8").splitlines()) == BOOKS["bible"]
    assert len((shelf.folder / "dictionary.tsv").read_text("utf-8").splitlines()) == 1 + len(toy.WORDS)
