"""The worked examples of CONTRIBUTING.md: read as they stand there, and followed in a copy of the project."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

PAGE, CHANGELOG = "CONTRIBUTING.md", "CHANGELOG.md"
SECTION = re.compile(r"^### An? (?P<name>\w+)\n(?P<body>(?:(?!##).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^(?P<where>.+):\n\n```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
FILE = re.compile(r"In `([^`]+)`")
PART = re.compile(r"In `([^`]+)`, with `([^`]+)` in `(\w+)`")
ROW = re.compile(r"^\| \[(\w+)\]\(#.+\) \| (\d+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)
FENCED = re.compile(r"^```python\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
IMPORTS = re.compile(r"\A(?P<lines>(?:(?:import|from) .+\n|\n(?!\n))*)\n*")
FIRST_IMPORT = re.compile(r"^(?:import|from) ", re.MULTILINE)


class Example(NamedTuple):
    """A part, the text of its class and the entry of its table; its test, a line of the changelog, a configuration."""

    name: str  # such as score
    file: str
    entry: str
    table: str
    part: str
    test: str  # the file
    proof: str
    change: str
    configuration: str

    @property
    def kind(self) -> str:
        """What a configuration calls the part."""
        return self.entry.split('"')[1]

    @property
    def tests(self) -> list[str]:
        """The names of its tests."""
        return re.findall(r"^def (test_\w+)", self.proof, re.MULTILINE)


class Cost(NamedTuple):
    """How many files a part takes, and those of code and test."""

    name: str
    files: int
    code: str
    test: str


def examples(root: Path = ROOT) -> list[Example]:
    """Those of the page: sections of four blocks of code, each behind a line that says where it goes."""
    sections = SECTION.finditer((root / PAGE).read_text("utf-8"))
    return [_example(section["name"], section["body"]) for section in sections]


def _example(name: str, body: str) -> Example:
    blocks = list(BLOCK.finditer(body))
    assert [block["language"] for block in blocks] == ["python", "python", "markdown", "yaml"], name
    part, proof, change, configuration = (block["text"] for block in blocks)
    file, entry, table = _matched(PART, blocks[0]["where"]).groups()
    (test,), changelog = (_matched(FILE, block["where"]).groups() for block in blocks[1:3])
    assert changelog == (CHANGELOG,), name
    return Example(name, file, entry, table, part, test, proof, change, configuration)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.search(text)
    assert match is not None, f"{pattern.pattern} is not in {text}"
    return match


def costs(root: Path = ROOT) -> list[Cost]:
    """The table of the page."""
    rows = ROW.findall((root / PAGE).read_text("utf-8"))
    return [Cost(name, int(files), code, test) for name, files, code, test in rows]


def follow(example: Example, root: Path) -> None:
    """Does in a copy of the project what an example says."""
    module, test, changelog = root / example.file, root / example.test, root / CHANGELOG
    _write(module, _with_part(module.read_text("utf-8"), example))
    _write(test, f"{test.read_text('utf-8')}\n\n{example.proof}" if test.is_file() else example.proof)
    before, added, after = changelog.read_text("utf-8").partition("### Added\n\n")
    _write(changelog, f"{before}{added}{example.change}{after}")


def _with_part(text: str, example: Example) -> str:
    """A module with the imports at its head, the class in front of its table, and the entry at the end of that."""
    imports = _matched(IMPORTS, example.part)
    head, table = _matched(FIRST_IMPORT, text), _matched(re.compile(rf"^{example.table}\b.*{{", re.MULTILINE), text)
    end = text.index("}", table.end())
    entry = f"    {example.entry},\n" if text[end - 1] == "\n" else f", {example.entry}"
    pieces = [
        text[: head.start()],
        imports["lines"],
        text[head.start() : table.start()],
        example.part[imports.end() :],
        "\n\n",
        text[table.start() : end],
        entry,
        text[end:],
    ]
    return "".join(pieces)


def add_command(root: Path, name: str) -> None:
    """Adds in a copy of the project the command that the page shows: its file, and its name in a list."""
    _, _, section = (root / PAGE).read_text("utf-8").partition("## Adding a command\n")
    _write(root / "dragoman" / "cli" / f"{name}.py", _matched(FENCED, section)["text"])
    commands = root / "dragoman" / "cli" / "options.py"
    _write(commands, commands.read_text("utf-8").replace("demo info", f"demo info {name}"))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
