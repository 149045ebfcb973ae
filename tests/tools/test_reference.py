"""The site: its pages name every key, kind, option, command and public name, and it is built without a warning."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import dragoman
from dragoman.cli import app
from dragoman.cli.evaluate_scores import KINDS
from dragoman.configuration import components, sections
from dragoman.configuration.config import Config
from dragoman.training.checks import PARTS
from tools import reference
from tools.settings import defined_keys, file_of
from tools.spec import IDS, PAGE, read_rows

QUESTIONS = {  # what a new user types, and the page or section that answers
    "keep {name} placeholders": "docs/terms",
    "glossary of terms": "docs/terms",
    "resume training": "docs/first-steps#resume-training",
    "use my GPU": "docs/speed",
    "serve with docker": "docs/serve",
    "fill in a .po file": "docs/corpora#fill-in-a-po-file",
    "add my own score": "docs/extending",
    "which metric and interval": "docs/evaluation",
    "CTranslate2 export": "docs/import",
    "what does label_smoothing do": "docs/objectives",
    "label smoothing": "docs/objectives#label-smoothing",
    "import OPUS-MT": "docs/import",
    "confidence of a translation": "docs/confidence",
    "back-translation": "docs/tasks",
    "word alignment": "docs/attention",
    "class": "docs/attention-class",
    "several GPUs": "docs/speed#several-gpus",
    "multiple GPUs": "docs/speed",
    "out of memory": "docs/speed",
    "mixed precision": "docs/speed#mixed-precision",
    "int8 quantization": "docs/speed",
    "beam size": "docs/search",
    "n-best list": "docs/search",
    "length penalty": "docs/search",
    "ensemble": "docs/search#ensembles",
    "temperature": "docs/search",
    "my own attention score": "docs/extending",
    "coverage": "docs/attention",
    "multi-head attention": "docs/attention",
    "seed": "docs/first-steps",
    "reproducible results": "docs/first-steps",
    "hyperparameter search": "docs/first-steps",
    "W&B": "docs/commands",
    "subword regularization": "docs/vocabulary",
    "vocabulary sharing": "docs/vocabulary",
    "BPE": "docs/vocabulary",
    "copy mechanism": "docs/vocabulary",
    "pointer network": "docs/vocabulary",
    "low-resource": "docs/small",
    "domain adaptation": "docs/starting",
    "multilingual model": "docs/languages",
    "teacher forcing": "docs/objectives",
    "minimum risk": "docs/objectives#minimum-risk",
    "checkpoint averaging": "docs/objectives",
    "gradient accumulation": "docs/objectives",
    "translate a .docx": "docs/documents",
    "constrained decoding": "docs/terms",
    "authentication": "docs/serve",
    "HTTPS": "docs/serve",
    "ONNX": "docs/speed#onnx",
    "Python API": "docs/reference/python",
    "score sentences": "docs/evaluation#score-sentences",
    "source factors": "docs/sources",
    "right-to-left": "docs/report#right-to-left-text",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("site") / "reference"
    reference.write(folder)
    return {name: (folder / f"{name}.md").read_text("utf-8") for name in reference.PAGES}


def test_every_key_has_a_row_with_its_meaning(pages: dict[str, str]) -> None:
    parts = re.split(r"^#+ (.+)$", pages["configuration"], flags=re.MULTILINE)
    by_heading = dict(zip(parts[1::2], parts[2::2], strict=True))
    rows = [
        (f"{heading}.{name}".removeprefix("Configuration."), meaning)
        for heading, text in by_heading.items()
        for name, meaning in re.findall(r"^\| \[?`(\w+)`\S* \|.*\| ([^|]+) \|$", text, re.MULTILINE)
    ]
    assert {*sections.keys_of(Config)} <= {key for key, meaning in rows if meaning.strip()}
    assert {components.dotted(path) for path in PARTS} <= by_heading.keys()


def texts_of_kinds(path: components.Path, page: str) -> dict[str, str]:
    section = re.split(rf"^##+ {re.escape(components.dotted(path))}$", page, flags=re.MULTILINE)[1]
    section = re.split("^##+ ", section, flags=re.MULTILINE)[0]
    parts = re.split(r"^\*\*`(\w+)`\*\*$", section, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("path", PARTS, ids=components.dotted)
def test_every_kind_has_its_options(path: components.Path, pages: dict[str, str]) -> None:
    by_kind = texts_of_kinds(path, pages["configuration"])
    assert list(by_kind) == list(PARTS[path])
    for kind, constructor in PARTS[path].items():
        assert re.findall(r"^\| `(\w+)` \|", by_kind[kind], re.MULTILINE) == components.options(constructor)
        text = by_kind[kind].split("\n| option |")[0]
        assert [name for name in components.options(constructor) if not reference.explains(text, name)] == []


def test_every_row_of_the_literature_that_names_a_configuration_is_linked(pages: dict[str, str]) -> None:
    configured = {
        row.id for row in read_rows(PAGE.read_text("utf-8")) if any(map(list, map(defined_keys, row.settings)))
    }
    assert len(configured) > 80
    linked = {row.upper() for row in re.findall(r"\(\.\./literature\.md#(\w+)\)", pages["configuration"])}
    assert configured - linked == set()


@pytest.mark.parametrize("path", PARTS, ids=components.dotted)
def test_every_kind_links_the_rows_of_the_literature_that_its_class_is_at_home_in(
    path: components.Path, pages: dict[str, str]
) -> None:
    by_kind = texts_of_kinds(path, pages["configuration"])
    rows = list(read_rows(PAGE.read_text("utf-8")))
    for kind, constructor in PARTS[path].items():
        code = (file_of(constructor), getattr(constructor, "__name__", ""))
        ids = [row.id for row in rows if code in {(home.file, name) for home in row.homes for name in home.names}]
        line = re.search("^Literature: .*$", by_kind[kind], re.MULTILINE)
        assert re.findall(r"\[(\w+) [^]]+\]\(\.\./literature\.md#", line[0] if line else "") == ids


def test_options_link_their_rows_and_have_the_meanings_that_base_classes_give(pages: dict[str, str]) -> None:
    decoder = texts_of_kinds(("model", "decoder"), pages["configuration"])["rnn"]
    assert re.search(r"^\| `attend` \|.*\[B6\]\(\.\./literature\.md#b6\)", decoder, re.MULTILINE)
    penalty = texts_of_kinds(("training", "penalties"), pages["configuration"])["fertility"]
    assert "for the first `begin` of them" in penalty


def test_every_command_has_its_options(pages: dict[str, str]) -> None:
    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, command
        for part, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {part}")

    named = [(name, command) for name, command in walk(typer.main.get_command(app), "dragoman") if name != "dragoman"]
    parts = re.split(r"^##+ (.+)$", pages["commands"], flags=re.MULTILINE)
    by_name = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert by_name.keys() == {name for name, _ in named}
    for name, command in named:
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
        assert [option for option in options if f"`{option}" not in by_name[name]] == []


def test_the_list_of_metrics_and_ranges_are_as_in_the_help(pages: dict[str, str]) -> None:
    assert f"VALUE}}: {', '.join(KINDS)}. |" in pages["commands"]
    assert "| `--beam N` (`1<=x<=1000`) |" in pages["commands"]
    assert "| `` |" not in pages["commands"]  # of an empty default


def test_no_text_is_read_as_html(pages: dict[str, str]) -> None:
    for text in pages.values():
        plain = re.sub(r"^```.*?^```$|^ {4}[^\n]*$|(`+).+?\1", "", text, flags=re.MULTILINE | re.DOTALL)  # no code
        assert re.findall(r"<\w+>", plain) == []


def test_a_page_that_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    reference.write(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    reference.write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_every_configuration_is_in_the_list(repository: Path) -> None:
    folder = repository / "configs"
    text = (folder / "README.md").read_text("utf-8")
    below = [path for path in folder.rglob("*.yaml") if path.parent.name != "attention"]
    assert below
    assert [path for path in below if f"]({path.relative_to(folder).as_posix()})" not in text] == []


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    words = ["-q", "-W", "--keep-going", "-b", "html", "-c", "docs", ".", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], cwd=repository, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(site: Path, repository: Path) -> None:
    pages = {path.relative_to(site / "docs").as_posix() for path in (site / "docs").rglob("*.html")}
    written = {
        path.relative_to(repository / "docs").with_suffix(".html").as_posix()
        for path in (repository / "docs").glob("*.md")
    }
    assert written | {f"reference/{name}.html" for name in reference.PAGES} <= pages
    assert (site / "index.html").is_file()
    literature = (site / "docs" / "literature.html").read_text("utf-8")
    assert re.findall(r'<tr class="[^"]*" id="(\w+)">', literature) == [row_id.lower() for row_id in IDS]
    python = (site / "docs" / "reference" / "python.html").read_text("utf-8")
    headings = dict(re.findall(r'<dt class="sig [^>]*id="dragoman\.(\w+)">(.*?)</dt>', python, re.DOTALL))
    assert headings.keys() == {*dragoman.__all__}
    classes = {name for name in dragoman.__all__ if inspect.isclass(getattr(dragoman, name))}
    assert {name for name in classes if "sig-param" in headings[name]} == {"Result", "RunFolder"}


@pytest.mark.slow
def test_the_search_of_the_site_answers_questions_of_new_users(site: Path, repository: Path) -> None:
    """By its first three results, as Node computes them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    script = repository / "tests" / "tools" / "site_search.js"
    done = subprocess.run([node, str(script), str(site), *QUESTIONS], capture_output=True, text=True, check=True)
    results = dict(zip(QUESTIONS, json.loads(done.stdout), strict=True))
    assert {query: names[:3] for query, names in results.items() if QUESTIONS[query] not in names[:3]} == {}
