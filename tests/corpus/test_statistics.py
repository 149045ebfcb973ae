"""What the report of a corpus finds, by line."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.configuration.components import Spec
from dragoman.corpus.statistics import CorpusReport, DistributionSummary, describe, describe_links, describe_spans
from dragoman.errors import UserError
from dragoman.text.protection import Protection
from tests.golden import Golden

WORDS = ["cat", "dog", "house", "tree", "extraordinary", "a", "on", "running", "blue", "seven"]


def sentences(count: int) -> list[str]:
    generator = np.random.default_rng(1)
    sizes = generator.integers(3, 25, count)
    return [f"{' '.join(generator.choice(WORDS, size))} n{number}" for number, size in enumerate(sizes)]


def report(folder: Path, source: list[str], target: list[str]) -> CorpusReport:
    for suffix, lines in (("en", source), ("de", target)):
        (folder / f"corpus.{suffix}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return describe(folder / "corpus", "en", "de")


def findings_by_name(corpus_report: CorpusReport) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {finding.name.split(",")[0]: (finding.count, finding.first) for finding in corpus_report.findings}


def clean(count: int = 100) -> tuple[list[str], list[str]]:
    source = sentences(count)
    return source, [line.upper() for line in source]


def test_links_are_counted_and_checked(tmp_path: Path, golden: Golden) -> None:
    report(tmp_path, ["a cat, here", "a dog", "a"], ["EINE KATZE, HIER", "EIN HUND", "EIN"])
    place, links = tmp_path / "corpus", tmp_path / "corpus.en-de.align"
    links.write_text("0-0 1-1 1?0 3-3\n\n0?0\n", encoding="utf-8")
    assert str(describe_links(place, "en", "de")).splitlines() == [
        "links: 3 sure, 2 merely possible; 42.9 % of target words have none",
        f"pairs without a link: 1 (line {links}:2)",
    ]
    report(tmp_path, ["a b c"] * 6, ["A B C"] * 6)
    links.write_text("1-1 2-2\n" * 6, encoding="utf-8")
    assert str(describe_links(place, "en", "de")).endswith("no link has a word 0; words must be counted from 0")
    links.write_text("1-1 2-2\n" * 5 + "0-1\n", encoding="utf-8")
    assert "word 0" not in str(describe_links(place, "en", "de"))
    report(tmp_path, ["a\tcat"], ["EINE\x01KATZE"])  # as training reads them: two words and one
    links.write_text("1-0\n", encoding="utf-8")
    assert describe_links(place, "en", "de", pretokenizers=("whitespace", "whitespace")).sure == 1
    report(tmp_path, ["a cat", "a dog", "a"], ["EINE KATZE", "EIN HUND", "EIN"])
    links.write_text("0-0\n2-0\n0-0\n", encoding="utf-8")
    with pytest.raises(UserError, match=r":2:") as raised:
        describe_links(place, "en", "de")
    golden(str(raised.value))


def test_a_clean_corpus_has_no_findings(tmp_path: Path) -> None:
    corpus_report = report(tmp_path, *clean(1000))
    assert corpus_report.findings == ()
    assert corpus_report.unusual == ()


def test_lengths_and_ratios(tmp_path: Path) -> None:
    corpus_report = report(tmp_path, ["a b, c"] * 3 + ["a b c d e"], ["A B"] * 3 + ["A B C D E"])
    assert corpus_report.pairs == 4
    assert corpus_report.source_words == pytest.approx((4.25, 4.0, 4.85, 5.0))
    assert corpus_report.target_characters.maximum == 9
    assert corpus_report.ratio == pytest.approx((1.75, 2.0, 2.0, 2.0))
    assert str(corpus_report.ratio) == "mean 1.8, median 2, 95 % 2, max 2"
    assert str(DistributionSummary(0.7, 9 / 13, 4 / 3, 120)) == "mean 0.7, median 0.7, 95 % 1.3, max 120"


def test_offenders_are_named_by_line(tmp_path: Path) -> None:
    source, target = clean()
    source[4] = "  "
    target[7] = ""
    target[10] = source[10]
    source[20], target[20] = source[1], target[1]
    source[30], target[30] = source[2], target[2] + " X"
    source[40], target[40] = "nothing like its translation", "x"
    source[50], target[50] = "1,000 and 3.5", "1.000 und 3,5"
    source[60], target[60] = "12 of them", "13 davon"
    target[70] = "sch\u00c3\u00b6n" + target[70]
    assert findings_by_name(report(tmp_path, source, target)) == {
        "source empty": (1, ("5",)),
        "target empty": (1, ("8",)),
        "target identical to source": (1, ("11",)),
        "pair repeated": (1, ("21",)),
        "source repeated with another target": (1, ("31",)),
        "unusual length ratio": (1, ("41",)),
        "numbers differ": (3, ("5", "8", "61")),
        "decoded twice (such as \u00c3\u00a4 for \u00e4)": (1, ("71",)),
    }


def test_only_the_first_offenders_are_named(tmp_path: Path) -> None:
    corpus_report = report(tmp_path, ["same"] * 9, ["same"] * 9)
    assert findings_by_name(corpus_report)["target identical to source"] == (9, ("1", "2", "3", "4", "5"))
    assert "target identical to source: 9 (line 1, 2, 3, 4, 5, ...)" in str(corpus_report)


def test_a_shift_between_the_files_is_noticed(tmp_path: Path) -> None:
    source, target = clean(1000)
    del target[400]
    target.append("the end")
    assert findings_by_name(report(tmp_path, source, target))["lengths match better with an offset"] == (
        3,
        ("401", "601", "801"),
    )


def test_characters_out_of_place(tmp_path: Path) -> None:
    source, target = clean(2000)
    source[5] += "\u200b"
    source[6] += " \u0007\u200b"
    target[7] += " \u0441"
    target[8] += " \ufffd"
    target[9] += " \u00e9\u20ac\u2019"  # at home in any Latin text
    unusual = [
        (character.side, character.character, character.lines, character.first)
        for character in report(tmp_path, source, target).unusual
    ]
    assert unusual == [
        ("source", "\u200b", 2, "6"),
        ("source", "\u0007", 1, "7"),
        ("target", "\u0441", 1, "8"),
        ("target", "\ufffd", 1, "9"),
    ]
    assert "source has U+200B (ZERO WIDTH SPACE; not a written character): 2 (first in line 6)" in str(
        report(tmp_path, source, target)
    )


def test_a_script_of_its_own_is_at_home(tmp_path: Path) -> None:
    assert report(tmp_path, ["кот и дом"] * 50, ["猫と家"] * 50).unusual == ()


def test_lines_of_several_corpora_are_named_with_their_place(tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in ("one.tsv", "two.tsv")]
    for place, lines in zip(places, ("a\tA\nb\tB\n", "c\tC\n\tD\n"), strict=True):
        Path(place).write_text(lines)
    assert findings_by_name(describe(places, "en", "de")) == {"source empty": (1, (f"{places[1]}:2",))}


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("x.csv", 'en,de\n"a\nb",c\n\n\nd,\n', "line 6"),
        ("x.csv", "a,b\n\nc,e\n\nd,\n", "line 5"),
        ("x.tsv", "en\tde\na\tb\nd\t\n", "line 3"),
        ("x.jsonl", '{"en": "a", "de": "b"}\n\n\n{"en": "d", "de": ""}\n', "line 4"),
        ("x.json", '[{"en": "a", "de": "b"},\n\n {"en": "d", "de": ""}]', "pair 2"),
    ],
)
def test_an_example_is_called_by_its_line_or_where_it_has_none_by_its_number(
    name: str, text: str, place: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert f"target empty: 1 ({place})" in str(describe(path, "en", "de"))
    path.write_text(text.replace('"d"', '"\\u200bd"').replace("d,", "\u200bd,").replace("d\t", "\u200bd\t"))
    assert f"(first in {place})" in str(describe(path, "en", "de"))


def test_pairs_with_other_spans_are_called_as_others_are(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("en,de\na,b\n\n{x} a,b\n")
    (tmp_path / "two.json").write_text('[{"en": "a", "de": "b"}, {"en": "{x}", "de": "b"}]')
    places = [str(tmp_path / name) for name in ("one.csv", "two.json")]
    protection = Protection.of([Spec("placeholders")])
    assert protection
    span_report = describe_spans(places, "en", "de", protection, sources=("en",))
    assert str(span_report.findings[0]).endswith(f"2 (line or pair {places[0]}:4, {places[1]}:2)")


def test_an_empty_corpus_is_told(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="corpus:") as raised:
        report(tmp_path, [], [])
    golden(str(raised.value))


def test_only_empty_lines_can_be_described(tmp_path: Path) -> None:
    corpus_report = report(tmp_path, ["", ""], ["", ""])
    assert findings_by_name(corpus_report) == {"source empty": (2, ("1", "2")), "target empty": (2, ("1", "2"))}
    assert "pairs: 2" in str(corpus_report)
