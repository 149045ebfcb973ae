"""What the options of `translate` say about the files that it reads."""

from pathlib import Path

import pytest

from dragoman.cli.translate_options import TranslateOptions


@pytest.mark.parametrize(
    ("words", "sources", "prefix", "files"),
    [
        ("run", [], None, "-"),
        ("run a.en", [], None, "a.en"),
        ("run", ["en=a.en", "de=a.de"], None, "a.en a.de"),
        ("run !", ["de=a.de"], "a.fr", "a.de ! a.fr"),
        ("run a.en", ["de=a.de"], "a.fr", "a.de a.en a.fr"),
    ],
)
def test_standard_input_is_a_file_of_lines_unless_sources_are_named(
    words: str, sources: list[str], prefix: str | None, files: str
) -> None:
    options = TranslateOptions([*map(Path, words.split())], source=sources, prefix=Path(prefix) if prefix else None)
    assert options.line_files == [Path(name) for name in files.split()]
