"""Terms and protected spans on the command line."""

from pathlib import Path

from dragoman.translation.result import Result
from tests.golden import Golden
from tests.system.conftest import Shell


def test_terms_are_in_the_translations_and_what_is_not_is_told(trained: Shell, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("two\tcinq\nfour\tneuf\n", "utf-8")
    (tmp_path / "kept").write_text("six\n", "utf-8")
    (tmp_path / "prefixes").write_text(f"\n\n{' '.join(['quatre'] * 20)}\n", "utf-8")  # no room after
    arguments = ["--glossary", str(tmp_path / "terms.tsv"), "--do-not-translate", str(tmp_path / "kept"), "--json"]
    arguments += ["--prefix", str(tmp_path / "prefixes")]
    done = trained("translate", "runs/toy", *arguments, stdin="one two\nsix four\nsix four\n")
    assert done.code == 0, done.err
    first, second, third = (Result.from_line(line).translation for line in done.out.splitlines())
    assert "cinq" in first.words
    assert "six" in second.words
    assert third.text.startswith("quatre quatre")
    lacking = [any(term.target is None for term in record.terms) for record in (first, second, third)]
    assert done.err.count("not in the translation") == sum(lacking)
    assert done.err.count(":3: not in the translation: ") == 1


def test_the_languages_of_the_run_are_a_header(trained: Shell, tmp_path: Path) -> None:
    for first, second, code in (("en", "fr", 0), ("fr", "en", 1)):
        (tmp_path / "terms.tsv").write_text(f"{first}\t{second}\ntwo\tcinq\n", "utf-8")
        done = trained("translate", "runs/toy", "--glossary", str(tmp_path / "terms.tsv"), "--json", stdin="en two\n")
        assert done.code == code, done.err
        if code == 0:
            assert [term.text for term in Result.from_line(done.out).translation.terms] == ["two"]


def test_what_does_not_go_together_is_told(trained: Shell, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "terms.tsv").write_text("\tcinq\n", "utf-8")
    (tmp_path / "kept.tsv").write_text("one\n", "utf-8")
    for words in (
        ["--glossary", str(tmp_path / "terms.tsv")],
        ["--glossary-weight", "2"],
        ["--glossary", str(tmp_path / "kept.tsv"), "--glossary-weight", "2", "--search", "exhaustive"],
        ["--protect", "placeholder"],
        ["--protect", "whitespace"],
        ["--wait", "1", "--protect", "numbers"],
    ):
        golden(trained.refuses("translate", "runs/toy", *words, stdin="one\n").replace(str(tmp_path), "."))
