"""The worked examples of CONTRIBUTING.md and docs/extending.md, read word for word and followed in a copy."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

PAGES = CONTRIBUTING, EXTENDING = "CONTRIBUTING.md", "docs/extending.md"
CHANGELOG = "CHANGELOG.md"
SECTION = re.compile(r"^### An? (?P<name>\w+)\n(?P<body>(?:(?!##).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^(?P<where>.+):\n\n```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
FILE = re.compile(r"In `([^`]+)`")
PART = re.compile(r"In `([^`]+)`, with `([^`]+)` in `(\w+)`")
BEFORE = re.compile(r"In `([^`]+)`, before `(\w+)`")
TRANSFORM = re.compile(r"^### A text transform\n(?P<body>(?:(?!##).*\n)*)", re.MULTILINE)
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
    proof_entry: tuple[str, str] | None  # in a table of the test file, with its name
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


def examples(*pages: str, root: Path = ROOT) -> list[Example]:
    """The examples of pages: sections of four blocks of code, each after a line with its place."""
    sections = SECTION.finditer("\n".join((root / page).read_text("utf-8") for page in pages or PAGES))
    return [_example(section["name"], section["body"]) for section in sections]


def _example(name: str, body: str) -> Example:
    blocks = list(BLOCK.finditer(body))
    assert [block["language"] for block in blocks] == ["python", "python", "markdown", "yaml"], name
    part, proof, change, configuration = (block["text"] for block in blocks)
    file, entry, table = _matched(PART, blocks[0]["where"]).groups()
    (test,), changelog = (_matched(FILE, block["where"]).groups() for block in blocks[1:3])
    assert changelog == (CHANGELOG,), name
    in_table = PART.search(blocks[1]["where"])
    proof_entry = (in_table[2], in_table[3]) if in_table else None
    return Example(name, file, entry, table, part, test, proof, proof_entry, change, configuration)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.search(text)
    assert match is not None, f"{pattern.pattern} is not in {text}"
    return match


def costs(root: Path = ROOT) -> list[Cost]:
    """The table of the page."""
    rows = ROW.findall((root / EXTENDING).read_text("utf-8"))
    return [Cost(name, int(files), code, test) for name, files, code, test in rows]


def follow(example: Example, root: Path) -> None:
    """Does in a copy of the project what an example says."""
    module, test, changelog = root / example.file, root / example.test, root / CHANGELOG
    _write(module, _with_part(module.read_text("utf-8"), example.part, example.entry, example.table))
    if example.proof_entry:
        _write(test, _with_part(test.read_text("utf-8"), example.proof, *example.proof_entry))
    else:
        _write(test, f"{test.read_text('utf-8')}\n\n{example.proof}" if test.is_file() else example.proof)
    before, added, after = changelog.read_text("utf-8").partition("### Added\n\n")
    _write(changelog, f"{before}{added}{example.change}{after}")


def _with_part(text: str, part: str, entry: str, table_name: str) -> str:
    """A module with the imports at its head, the class in front of its table, and the entry at the end of that."""
    imports = _matched(IMPORTS, part)
    head, table = _matched(FIRST_IMPORT, text), _matched(re.compile(rf"^{table_name}\b.*{{", re.MULTILINE), text)
    end = text.index("}", table.end())
    entry = f"    {entry},\n" if text[end - 1] == "\n" else f", {entry}"
    pieces = [
        text[: head.start()],
        imports["lines"],
        text[head.start() : table.start()],
        part[imports.end() :],
        "\n\n",
        text[table.start() : end],
        entry,
        text[end:],
    ]
    return "".join(pieces)


def add_command(root: Path, name: str) -> None:
    """Adds in a copy of the project the command that the page shows: its file, and its name in a list."""
    _, _, section = (root / EXTENDING).read_text("utf-8").partition("## Adding a command\n")
    _write(root / "dragoman" / "cli" / f"{name}.py", _matched(FENCED, section)["text"])
    commands = root / "dragoman" / "cli" / "options.py"
    _write(commands, commands.read_text("utf-8").replace("demo info", f"demo info {name}"))


def add_transform(root: Path) -> list[str]:
    """Add the text transform of the page to a copy of the project: new files, and an option before another one. Return
    the paths of the files.
    """
    body = _matched(TRANSFORM, (root / CONTRIBUTING).read_text("utf-8"))["body"]
    paths: list[str] = []
    for block in BLOCK.finditer(body):
        path = root / _matched(FILE, block["where"])[1]
        if before := BEFORE.search(block["where"]):
            imports = _matched(IMPORTS, block["text"])
            field = _matched(re.compile(rf"^    {before[2]}: ", re.MULTILINE), text := path.read_text("utf-8"))
            head = _matched(FIRST_IMPORT, text).start()
            option = block["text"][imports.end() :]
            _write(path, text[:head] + imports["lines"] + text[head : field.start()] + option + text[field.start() :])
        else:
            assert not path.exists()
            _write(path, block["text"])
        paths.append(path.relative_to(root).as_posix())
    return paths


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
