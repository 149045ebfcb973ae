"""What a glossary costs and gains: the terms of sentences, and the two tables."""

from pathlib import Path

import pytest

from benchmarks import terms
from tests import toy

LINKS = frozenset({(0, 0), (1, 1), (2, 2)})


def test_a_term_is_the_longest_word_with_one_link_to_a_word_that_has_no_other() -> None:
    one, other = "small kitchens burned", "petite cuisines brûlaient"
    assert terms.item(one, other, LINKS) == (one, other, "kitchens", "cuisines")
    assert terms.item(one, other, LINKS | {(1, 0)}) == (one, other, "burned", "brûlaient")
    assert terms.item(one, other, LINKS | {(1, 0), (0, 2)}) is None
    assert terms.item("kitchens kitchens", "cuisines cuisine", LINKS - {(2, 2)}) is None
    assert terms.item("the 1000s", "les 1000s", LINKS - {(2, 2)}) is None


def test_a_word_without_a_corpus_is_spelled_forwards_again() -> None:
    term_item = terms.Item("In kitchens.", "Aux Cuisines.", "kitchens", "Cuisines")
    assert term_item.backwards().translation == "senisiuc"
    for spelled in ("Aux senisiuc.", "Aux Senisiuc."):
        assert terms.forwards(spelled, term_item.backwards(), term_item) == "Aux Cuisines."


@pytest.mark.slow
def test_the_tables_tell_how_many_terms_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terms, "SHORTEST", 3)
    run = toy.trained(tmp_path)
    lines = {"en": ["one two three", "four five six"], "fr": ["un deux trois", "zut cinq six"], "align": ["2-2", "0-0"]}
    for name, table_lines in lines.items():
        (tmp_path / f"text.{name}").write_text("".join(f"{line}\n" for line in table_lines), "utf-8")
    files = [
        f"--{name}={tmp_path}/text.{end}" for name, end in (("source", "en"), ("reference", "fr"), ("links", "align"))
    ]
    assert terms.main([f"--run={run}", *files]) == 0
    output = capsys.readouterr()
    cells_of = [
        line.split("|")[1:3] for line in output.out.splitlines() if line.startswith(("| no", "| `--glossary` "))
    ]
    assert cells_of[::2] == [[" no glossary ", " 0 of 2 "], [" no glossary ", f" 0 of {cells_of[2][1].split()[-1]} "]]
    assert [cells[1].split()[0] for cells in cells_of[1::2]] == [cells[1].split()[2] for cells in cells_of[1::2]]
    assert "2 of 2 sentences have a term" in output.err
    assert output.out.count("`--glossary-weight") == 2 * len(terms.WEIGHTS)


def test_a_run_without_its_sentences_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert terms.main([f"--run={tmp_path}"]) == 1
    assert capsys.readouterr().err == "--run goes with --source, --reference and --links\n"
