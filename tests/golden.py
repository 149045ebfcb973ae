"""The wording of messages, all of it in one file: messages.json has the message of each case of each test.

A test asserts what a message is about (file, line, key, exit status) and hands the message to the fixture `golden`,
which compares it with the file. Where words are to be others, `pytest --golden FILES` rewrites the messages of the
tests that run, with all their cases; the difference is then read before it is committed.
"""

import json
from pathlib import Path
from typing import Protocol

FILE = Path(__file__).with_name("messages.json")
Messages = dict[str, dict[str, str]]  # of a test, by case


class Golden(Protocol):
    """Compares a message with the one in the file. Cases have the names that parameters of the test have; where a test
    has several messages, they are counted. Another name can be given.
    """

    def __call__(self, message: str, case: str | None = None) -> None: ...


def read() -> Messages:
    messages: Messages = json.loads(FILE.read_text("utf-8"))
    return messages


def write(messages: Messages) -> None:
    """These messages in the place of those that the same tests had."""
    text = json.dumps(read() | messages, ensure_ascii=False, indent=1, sort_keys=True)
    FILE.write_text(text + "\n", "utf-8")
