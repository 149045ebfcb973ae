"""`dragoman evaluate` of several systems and of parts of a test set."""

import json
from pathlib import Path

import pytest

from tests.system.conftest import Shell

WORDS = "one two three four five six seven eight nine ten".split()


@pytest.fixture
def scored(tmp_path: Path) -> Shell:
    """References, and translations with a wrong word in every second line (good) or in every line (bad)."""
    shell = Shell(tmp_path)
    lines = [[WORDS[(i + j * (i % 7 + 1)) % 10] for j in range(4 + i % 12)] for i in range(60)]
    for name, wrong in (("ref", 0), ("good", 2), ("bad", 1)):
        told = [" ".join(["no", *line[1:]] if wrong and not i % wrong else line) for i, line in enumerate(lines)]
        shell.write(name, "\n".join(told) + "\n")
    shell.write("tags.tsv", "topic\thand\n" + "".join(f"t{i % 3}\t{i % 2}\n" for i in range(60)))
    return shell


@pytest.mark.spec("H13")
def test_a_score_has_an_interval(scored: Shell) -> None:
    (line,) = scored("evaluate", "ref", "-i", "good", "--metrics=wer", "--confidence").lines
    plain = scored("evaluate", "ref", "-i", "good", "--metrics=wer").lines[0]
    assert line.split(" ± ")[0] == plain.split(" (")[0]
    assert line.endswith(" (nrefs:1|case:mixed|bs:1000|seed:12345)")
    found = json.loads(
        scored("evaluate", "ref", "-i", "good", "--metrics=wer", "--confidence", "--samples=500", "--json").out
    )
    assert found["confidence_mean"] == pytest.approx(found["score"], abs=found["confidence_var"])
    assert found["confidence"] == f"μ = {found['confidence_mean']:.2f} ± {found['confidence_var']:.2f}"
    assert (found["bs"], found["seed"]) == ("500", "12345")


@pytest.mark.spec("H13")
@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_systems_are_compared_with_the_first(scored: Shell, test: str) -> None:
    words = ("evaluate", "ref", "-i", "bad", "-i", "good", "-i", "bad", "--metrics=bleu,wer", f"--test={test}")
    heading, *rows, _, bleu, wer, _, legend = scored(*words).lines
    assert heading.split() == ["system", "BLEU", "WER"]
    assert [row.split()[0] for row in rows] == ["bad", "good", "bad"]
    assert [(row.count("**"), row.count(" p 1.000")) for row in rows] == [(0, 0), (2, 0), (0, 2)]
    assert (bleu.split(": ")[0], wer.split(": ")[0]) == ("BLEU", "WER")
    assert "from bad" in legend
    assert test in legend
    found = json.loads(scored(*words, "--json").out)
    assert [each["system"] for each in found] == ["bad", "good", "bad"]
    assert [each["WER"]["p_value"] for each in found] == [None, pytest.approx(1 / 1001), 1.0]
    assert found[1]["BLEU"]["low"] < found[1]["BLEU"]["score"] < found[1]["BLEU"]["high"]
    assert f"{found[1]['BLEU']['score']:.2f} ± {found[1]['BLEU']['ci']:.2f}" in rows[1]


@pytest.mark.spec("H12")
def test_scores_by_length_of_source_or_reference(scored: Shell) -> None:
    words = ("evaluate", "ref", "-i", "good", "--metrics=wer", "--by=length")
    heading, *rows = scored(*words).lines
    assert heading.split() == ["reference", "length", "sentences", "WER"]
    assert [row.split()[0] for row in rows[:3]] == ["3-5", "6-10", "11-15"]
    assert sum(int(row.split()[1]) for row in rows[:3]) == 60
    errors = [float(row.split()[2]) for row in rows[:3]]
    assert errors == sorted(errors, reverse=True)  # one wrong word each
    scored.write("source", "a b\n" * 20 + "a b c d\n" * 40)
    found = json.loads(scored(*words, "--source=source", "--json").out)
    assert [(each["source length"], each["sentences"]) for each in found] == [("1-2", 20), ("3-5", 40)]
    assert "WER" in found[0]


@pytest.mark.spec("H12")
def test_scores_by_frequency_and_tags_of_several_systems(scored: Shell) -> None:
    scored.write("corpus", "no one two\n" * 20 + "three\n")
    words = ("evaluate", "ref", "-i", "bad", "-i", "good", "--by=tags.tsv", "--by=frequency", "--corpus=corpus")
    topics, hands, frequencies = scored(*words, "--metrics=exact_match").out.split("\n\n")[::2]
    assert [line.split()[:3] for line in topics.splitlines()[1:]] == [
        [f"t{topic}", "20", system] for topic in range(3) for system in ("bad", "good")
    ]
    of_good = [line for line in hands.splitlines() if " good " in line]
    assert [line.split()[3] for line in of_good] == ["0.00", "100.00"]  # only lines of even numbers are wrong
    assert "**" in of_good[1]
    assert "**" not in of_good[0]
    assert [line.split()[0] for line in frequencies.splitlines()[1::2]] == ["0", "1", "10-99"]


@pytest.mark.spec("H12")
def test_groups_of_fewer_than_20_sentences_have_scores_alone(scored: Shell) -> None:
    """Resampling one sentence would find any difference certain."""
    scored.write("tags.tsv", "topic\n" + "a\n" * 19 + "b\n" * 41)
    words = ("evaluate", "ref", "-i", "bad", "-i", "good", "--metrics=wer", "--by=tags.tsv")
    _, *rows, _, signature, _, _ = scored(*words).lines
    assert [(row.split()[0], "±" in row, " p " in row) for row in rows] == [
        ("a", False, False),
        ("a", False, False),
        ("b", True, False),
        ("b", True, True),
    ]
    assert "|bs:1000|" in signature
    found = json.loads(scored(*words, "--json").out)
    scored.write("few", "a\n" * 19)
    outcome = scored("evaluate", "few", "-i", "few", "--metrics=wer", "--confidence")
    assert outcome.lines == ["WER = 0.00 (nrefs:1|case:mixed)"]
    assert outcome.err.startswith("19 sentences are too few")
    assert [set(each["WER"]) >= {"p_value", "ci"} for each in found] == [False, False, True, True]


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_a_run_has_intervals_and_groups_too(copied: Shell) -> None:
    for name in ("many.en", "many.fr"):
        copied.write(name, (copied.folder / name.replace("many", "test")).read_text("utf-8") * 10)
    words = ("evaluate", "many.fr", "--run=runs/toy", "--source=many.en", "--metrics=bleu", "--beam=2")
    plain, *further = copied(*words).lines
    line, *others = copied(*words, "--confidence").lines
    assert others == further
    assert line.split(" ± ")[0] == plain.split(" (")[0]
    assert line.endswith("|bs:1000|seed:12345|beam:2)")
    assert copied(*words, "--by=length").lines[0].split() == ["source", "length", "sentences", "BLEU"]


def test_tags_that_do_not_fit_are_told(scored: Shell) -> None:
    scored.write("short.tsv", "topic\na\nb\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=short.tsv").startswith("short.tsv has 2 rows")
    scored.write("uneven.tsv", "topic\n" + "a\n" * 58 + "a\tb\n" + "a\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=uneven.tsv").startswith("uneven.tsv:60: 2 columns")
    scored.write("empty.tsv", "")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=empty.tsv").startswith("empty.tsv has 0 rows")
    scored.write("three", "a\nb\nc\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=length", "--source=three").startswith(
        "three has 3 lines"
    )
