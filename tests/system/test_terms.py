"""Terms and protected spans on the command line."""

from pathlib import Path

from dragoman.translation.result import Result
from tests.golden import Golden
from tests.system.conftest import Shell


def test_terms_are_in_the_translations_and_what_is_not_is_told(trained: Shell, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("two\tcinq\nfour\tneuf\n", "utf-8")
    (tmp_path / "kept").write_text("six\n", "utf-8")
    asked = ["--glossary", str(tmp_path / "terms.tsv"), "--keep", str(tmp_path / "kept"), "--json"]
    done = trained("translate", "runs/toy", *asked, stdin="one two\nsix four\n")
    first, second = (Result.from_line(line).translation for line in done.out.splitlines())
    assert "cinq" in first.text.split()
    assert "six" in second.text.split()
    assert [(term.text, term.forms, term.target is None) for term in second.terms] == [
        ("six", ("six",), False),
        ("four", ("neuf",), True),
    ]
    assert done.err.count(":2: not in the translation: four") == 1


def test_what_does_not_go_together_is_told(trained: Shell, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "terms.tsv").write_text("\tcinq\n", "utf-8")
    for words in (
        ["--glossary", str(tmp_path / "terms.tsv")],
        ["--glossary-weight", "2"],
        ["--protect", "placeholder"],
        ["--wait", "1", "--protect", "numbers"],
    ):
        golden(trained.fails("translate", "runs/toy", *words, stdin="one\n").replace(str(tmp_path), "."))
