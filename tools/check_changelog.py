"""Check that CHANGELOG.md has the version in pyproject.toml, as a release or as the one being prepared."""

import re
import sys
import tomllib
from datetime import date
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
SECTION = re.compile(r"^## \[(?P<name>[^\]\n]+)\](?P<rest>.*)\n(?P<body>(?:(?!## ).*\n?)*)", re.MULTILINE)
ITEM = re.compile(r"^- \S", re.MULTILINE)
DATE = re.compile(r" - \d{4}-\d{2}-\d{2}")
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
DEVELOPED = re.compile(rf"{VERSION.pattern}(\.dev[0-9]+)?")  # a version that is being prepared may be marked as such


def _date(rest: str) -> bool:
    try:
        return bool(DATE.fullmatch(rest) and date.fromisoformat(rest.removeprefix(" - ")))
    except ValueError:
        return False


def order(version: str) -> tuple[int, ...]:
    """Return a key that sorts 0.10.0 after 0.9.1; that of 0.2.0.dev0 is that of the release 0.2.0."""
    return tuple(int(part) for part in version.split(".")[:3])


def problems(changelog: str, version: str) -> list[str]:
    """Return the problems of a changelog in the form of keepachangelog.com; empty if it is correct."""
    if not DEVELOPED.fullmatch(version):
        return [f"version {version} of pyproject.toml must read like 1.2.3 or 1.2.3.dev0"]
    sections = list(SECTION.finditer(changelog))
    if not sections or sections[0]["name"] != "Unreleased":
        return ["the first section must be '## [Unreleased]'"]
    headings = re.findall(r"^## .*", changelog, re.MULTILINE)
    if strange := [line for line in headings if not SECTION.match(f"{line}\n")]:
        return [f"'{line}' must read like '## [1.2.3] - 2026-01-31'" for line in strange]
    unreleased, *released = sections
    faults = [
        f"'## [{section['name']}]{section['rest']}' must read like '## [1.2.3] - 2026-01-31'"
        for section in released
        if not (VERSION.fullmatch(section["name"]) and _date(section["rest"]))
    ]
    if faults:
        return faults
    faults += [f"'## [{section['name']}]' tells nothing" for section in released if not ITEM.search(section["body"])]
    names = [section["name"] for section in released]
    if names != sorted(set(names), key=order, reverse=True):
        faults.append("the newest version comes first, each version once")
    elif (dates := [section["rest"] for section in released]) != sorted(dates, reverse=True):
        faults.append("a newer version has an older date")
    if version not in names:
        if names and order(version) <= order(names[0]):
            faults.append(f"no section for version {version} of pyproject.toml, and {names[0]} is newer")
        elif not ITEM.search(unreleased["body"]):
            faults.append(f"version {version} of pyproject.toml has no section, and Unreleased is empty")
    return faults


def main() -> int:
    """Return the exit status: 0 if the changelog is correct."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    faults = problems((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    console = Console(stderr=bool(faults), highlight=False, markup=False, soft_wrap=True)
    for problem in faults:
        console.print(f"CHANGELOG.md: {problem}")
    if not faults:
        console.print(f"CHANGELOG.md: tells version {version}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
