"""What pyproject.toml says fits the rest of the repository."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from importlib import import_module, metadata, resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from ruamel.yaml import YAML

import dragoman
from dragoman import demo
from dragoman.cli.options import PANELS
from dragoman.serving import pages
from tests import toy
from tests.serving.server import serving


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def name_of(requirement: str) -> str:
    """The normalized name of a distribution: `ruamel.yaml>=0.18` is ruamel-yaml."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def test_there_is_one_version(project: dict[str, Any]) -> None:
    assert project["version"] == dragoman.__version__


def test_the_command_exists(project: dict[str, Any]) -> None:
    module, _, function = project["scripts"]["dragoman"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_what_the_documentation_imports_is_there(repository: Path) -> None:
    pages = [repository / "README.md", *(repository / "docs").glob("*.md"), *(repository / "configs").rglob("*.md")]
    text = "\n".join(path.read_text("utf-8") for path in pages)
    ours = r"(?:dragoman|phrasebook)[.\w]*"
    matches = re.findall(rf"^(?:from ({ours}) import (\w+)|import ({ours}))$", text, re.MULTILINE)
    assert matches
    for package, name, module in matches:
        if module:
            import_module(module)
        elif not hasattr(import_module(package), name):
            import_module(f"{package}.{name}")


def test_extras_are_installed_from_the_checkout(project: dict[str, Any], repository: Path) -> None:
    """No package is published: `pip install dragoman` would fail, or bring a stranger's."""
    pages = [repository / "README.md", *(repository / "docs").glob("*.md"), *(repository / "dragoman").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in pages)
    assert not re.findall(r"pip install '?dragoman", text)
    named = re.findall(r"pip install -c constraints\.txt -e '\.\[([\w,]+)\]'", text)
    named += re.findall(r'missing_library\([^()]+, "(\w+)"\)', text)
    extras = {extra for names in named for extra in names.split(",")}
    assert {"serve", "onnx", "align"} <= extras <= project["optional-dependencies"].keys()


def test_every_table_that_is_made_is_told_of(repository: Path) -> None:
    tables = re.findall(r"^([a-z0-9-]+-table):", (repository / "Makefile").read_text("utf-8"), re.MULTILINE)
    pages = [repository / "CHANGELOG.md", *(repository / "docs").glob("*.md")]
    documentation = "\n".join(path.read_text("utf-8") for path in pages)
    assert tables
    assert [table for table in tables if f"make {table}" not in documentation] == []


@pytest.mark.parametrize(
    ("page", "lines"), [("README.md", 125), ("ARCHITECTURE.md", 250), ("CONTRIBUTING.md", 200), ("CHANGELOG.md", 250)]
)
def test_pages_stay_short(page: str, lines: int, repository: Path) -> None:
    assert len((repository / page).read_text("utf-8").splitlines()) <= lines


def test_every_page_is_linked_from_the_readme(repository: Path) -> None:
    """Except the front page of the site, which takes the place of the README there."""
    readme = (repository / "README.md").read_text("utf-8")
    names = {path.name for path in (repository / "docs").glob("*.md")} - {"index.md"}
    assert [name for name in sorted(names) if f"(docs/{name}" not in readme] == []


def test_every_command_is_in_the_table_of_commands(repository: Path) -> None:
    table = (repository / "docs" / "commands.md").read_text("utf-8")
    commands = " ".join(PANELS.values()).split()
    assert [name for name in commands if f"`{name}" not in table] == []


def test_every_dependency_is_pinned_within_its_range(project: dict[str, Any], repository: Path) -> None:
    versions = pins(repository / "constraints.txt")
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        lowest = requirement.partition(">=")[2]
        pinned = versions[name_of(requirement)]
        assert release(pinned) >= release(lowest), requirement


def test_the_licenses_of_all_dependencies_are_listed(project: dict[str, Any], repository: Path) -> None:
    """They are as the packages name them, where these are installed and do so in the current form."""
    page = (repository / "docs" / "licenses.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w.-]+) \| (.+) \| (everything|`.+`) \|$", page, re.MULTILINE)
    extras = {f"`{extra}`": needs for extra, needs in project["optional-dependencies"].items()}
    uses: dict[str, list[str]] = {name_of(need): ["everything"] for need in project["dependencies"]}
    for extra in extras.keys() - {"`dev`", "`dist`", "`mutation`"}:
        for name in map(name_of, extras[extra]):
            if uses.get(name) != ["everything"]:
                uses.setdefault(name, []).append(extra)
    assert {name_of(name): use for name, _, use in rows} == {name: ", ".join(sorted(uses[name])) for name in uses}
    for name, license_name, _ in rows:
        with suppress(metadata.PackageNotFoundError):
            assert metadata.metadata(name).json.get("license_expression", license_name) == license_name


def test_the_lowest_versions_are_those_that_are_tested(project: dict[str, Any], repository: Path) -> None:
    """`make lowest` installs them; what the tests need beside them is as anywhere else."""
    lowest, latest = (pins(repository / name) for name in ("constraints-lowest.txt", "constraints.txt"))
    bounds = dict(requirement.split(">=") for requirement in project["dependencies"])
    assert {name: lowest.pop(name_of(name), "") for name in bounds} == bounds
    assert lowest.items() <= latest.items()


def pins(path: Path) -> dict[str, str]:
    """The version of each distribution in a file, by its normalized name."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {name_of(name): version for name, version in (line.split("==") for line in lines)}


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def test_the_citation_is_of_this_version(project: dict[str, Any], repository: Path) -> None:
    citation = YAML(typ="safe").load(repository / "CITATION.cff")
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


def test_workflows_and_hooks_run_what_developers_run(repository: Path) -> None:
    """What CI runs is a target of the Makefile, or the script that is made for it; a hook is a part of `make lint`."""
    yaml = YAML(typ="safe")
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text("utf-8"), re.MULTILINE))
    workflows = [yaml.load(path) for path in sorted((repository / ".github" / "workflows").iterdir())]
    steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step and "name" not in step]
    assert {".ci/run", "make lowest", "make docs", "make dist"} == set(runs)
    assert {run.removeprefix("make ") for run in runs if run.startswith("make ")} <= targets
    lint = "\n".join(commands(repository, "lint"))
    (local,) = yaml.load(repository / ".pre-commit-config.yaml")["repos"]
    for hook in local["hooks"]:
        assert hook["entry"] in lint, hook


def test_data_files_travel_with_the_package(repository: Path) -> None:
    options = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = options["tool"]["setuptools"]["package-data"]["dragoman"]
    package = repository / "dragoman"
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    data = {Path(folder, name) for folder, _, names in os.walk(package, followlinks=True) for name in names}
    unpacked = {path.name for path in data - packed if path.suffix not in (".py", ".pyc")}
    assert unpacked == {"README.md"}  # of configs/attention, whose links lead to the docs


def commands(repository: Path, target: str, environment: str = ".venv") -> list[str]:
    """What `make` would run, the environment's set-up left out."""
    process = subprocess.run(["make", "-n", target], cwd=repository, capture_output=True, text=True, check=True)
    lines = process.stdout.splitlines()
    return [line for line in lines if line.startswith(f"{environment}/bin/") and " pip " not in line]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_check_ends_with_the_tests_and_runs_everything_else_before(repository: Path) -> None:
    (tests,) = commands(repository, "test")
    *first, last = commands(repository, "check")
    assert last == tests
    assert "pytest" in tests
    for name in ("ruff format --check", "ruff check", "mypy --strict", "lint-imports", "tools.check_changelog"):
        assert any(name in line for line in first), name
    assert not any("pytest" in line for line in first)
    (quick,) = commands(repository, "quick")
    assert quick == f'{tests} -m "not slow"'
    lowest = commands(repository, "lowest", ".venv-lowest")
    assert lowest == [f"{quick.replace('.venv', '.venv-lowest')} --any-wording"]


def test_what_runs_on_every_change_is_the_check(repository: Path) -> None:
    *_, last = (repository / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert last == "exec make check"
    assert os.access(repository / ".ci" / "run", os.X_OK)


@pytest.fixture(scope="module")
def source(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a package is built of."""
    pytest.importorskip("setuptools", minversion="77", reason="needs setuptools 77 to build with")
    source = tmp_path_factory.mktemp("above") / "dragoman"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(repository / name, source)
    for name in ("configs", "dragoman"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(repository / name, source / name, symlinks=True, ignore=unwanted)
    return source


def built(kind: str, source: Path, folder: Path) -> Path:
    """The file that is installed, made without a network."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel_path,) = folder.glob("*.whl")
    return wheel_path


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    """What is installed without the repository."""
    with ZipFile(built("wheel", source, tmp_path_factory.mktemp("wheel"))) as file:
        yield file


@pytest.mark.slow
def test_an_editable_install_is_found_from_the_folder_above_the_checkout(source: Path, tmp_path: Path) -> None:
    """There the checkout is a package without `__init__.py`, which a path goes before, and a finder does not."""
    with ZipFile(built("editable", source, tmp_path)) as file:
        (name,) = (name for name in file.namelist() if "/" not in name)
        assert name.endswith(".pth")
        assert file.read(name).decode().strip() == str(source)


@pytest.mark.slow
def test_the_wheel_holds_every_configuration(wheel: ZipFile, repository: Path) -> None:
    configs = repository / "configs"
    written = {f"dragoman/configs/{path.relative_to(configs).as_posix()}": path for path in configs.rglob("*.yaml")}
    packed = {name for name in wheel.namelist() if name.startswith("dragoman/configs/")}
    assert packed == set(written)
    assert all(wheel.read(name) == path.read_bytes() for name, path in written.items())
    here = resources.files("dragoman") / "configs"
    assert (here / "attention" / "additive.yaml").is_file()


@pytest.mark.slow
def test_the_wheel_holds_the_corpus_of_the_demo_and_not_its_generator(wheel: ZipFile) -> None:
    assert wheel.read(f"dragoman/{demo.CORPUS}") == (resources.files("dragoman") / demo.CORPUS).read_bytes()
    assert {name.partition("/")[0] for name in wheel.namelist()} == {
        "dragoman",
        f"dragoman-{dragoman.__version__}.dist-info",
    }


def test_the_wheel_holds_the_page_of_the_service(wheel: ZipFile) -> None:
    folder = resources.files("dragoman.serving") / "page"
    written = {f"dragoman/serving/page/{file.name}": file.read_bytes() for file in folder.iterdir()}
    packed = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("dragoman/serving/page/")}
    assert packed == written
    names = {pages.DOCUMENTATION, *(name for name, _ in pages.FILES.values())}
    assert {f"dragoman/serving/page/{name}" for name in names} == set(written)


@pytest.mark.slow
def test_the_wheel_serves_without_the_repository(
    wheel: ZipFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")
    wheel.extractall(tmp_path / "site")
    run = toy.trained(tmp_path)
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    where = [sys.executable, "-c", "import dragoman; print(dragoman.__file__)"]
    assert subprocess.check_output(where, env=environment, text=True).startswith(str(tmp_path / "site"))
    with serving(run, environment=environment) as address:
        query = urlencode({"q": "one two", "source": "en", "target": "fr"}).encode()
        with urlopen(f"{address}/translate", query) as answer:
            assert list(json.load(answer)) == ["translatedText"]
        for path in ("", *pages.FILES):
            with urlopen(f"{address}/{path.lstrip('/')}") as answer:
                assert answer.status == 200


@pytest.mark.slow
def test_the_extra_of_the_service_brings_what_it_imports(wheel: ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    requirements = message_from_bytes(wheel.read(name)).get_all("Requires-Dist", [])
    brought = {
        name_of(requirement)
        for requirement in requirements
        if "extra ==" not in requirement or re.search("extra == .serve.", requirement)
    }
    code = [wheel.read(name) for name in wheel.namelist() if re.match(r"dragoman/(serving|documents)/.*\.py", name)]
    modules = {module.partition(".")[0] for content in code for module in imported(ast.parse(content))}
    here = metadata.packages_distributions()
    needed = {name_of(here[module][0]) for module in modules - sys.stdlib_module_names - {"dragoman"}}
    assert {"fastapi", "lxml", "uvicorn"} <= needed
    assert needed - brought == {"starlette"}  # of fastapi


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_no_link_of_the_description_is_dead_on_a_package_index(wheel: ZipFile, repository: Path) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    message = message_from_bytes(wheel.read(name))
    description = str(message.get_payload(decode=True), "utf-8")  # type: ignore[arg-type]
    assert message["Description-Content-Type"] == "text/markdown"
    targets = re.findall(r"\]\(([^)]*)\)", description)
    assert [target for target in targets if not target.startswith("https://")] == []
    assert [line for line in description.splitlines() if line.startswith("!")] == []
    assert "and look\ninside it.\n\ndragoman requires Python" in description  # and an image between
    assert "- **Attention mechanisms of the literature**: alignment scores" in description
    headings = re.findall(r"(?m)^#.*", (repository / "README.md").read_text(encoding="utf-8"))
    assert re.findall(r"(?m)^#.*", description) == headings
