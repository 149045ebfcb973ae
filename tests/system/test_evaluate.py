"""`dragoman evaluate` of several systems and of parts of a test set."""

import json
import re
import unicodedata
from pathlib import Path
from random import Random

import pytest

from dragoman.cli.evaluate_scores import entry, part
from dragoman.evaluation.metrics.metric import Score
from tests.golden import Golden
from tests.system.conftest import Shell

WORDS = "one two three four five six seven eight nine ten".split()


@pytest.fixture
def scored(tmp_path: Path) -> Shell:
    """References, and translations with a wrong word in every second line (good) or in every line (bad)."""
    shell = Shell(tmp_path)
    lines = [[WORDS[(i + j * (i % 7 + 1)) % 10] for j in range(4 + i % 12)] for i in range(60)]
    for name, wrong in (("ref", 0), ("good", 2), ("bad", 1)):
        lines_out = [" ".join(["no", *line[1:]] if wrong and not i % wrong else line) for i, line in enumerate(lines)]
        shell.write(name, "\n".join(lines_out) + "\n")
    shell.write("tags.tsv", "topic\thand\n" + "".join(f"t{i % 3}\t{i % 2}\n" for i in range(60)))
    return shell


def test_translations_as_json_are_no_texts(scored: Shell) -> None:
    scored.write("json", '{"version":2,"text":"one","words":["one"]}\n' * 60)
    message = scored.fails("evaluate", "ref", "-i", "json")
    assert message == "json: contains JSON, expected plain text; convert it with `jq -r .text`"


def test_several_metrics_are_separated_by_commas(scored: Shell) -> None:
    outcome = scored("evaluate", "ref", "-i", "good", "--metrics", "bleu", "chrf")
    assert outcome.code == 2
    assert "--metrics bleu,chrf" in " ".join(outcome.err.replace("│", " ").split())
    scored.write("chrf", (scored.folder / "ref").read_text())
    assert scored("evaluate", "ref", "-i", "good", "--metrics", "bleu", "chrf").code == 0


@pytest.mark.spec("H13")
def test_a_score_has_an_interval(scored: Shell) -> None:
    (line,) = scored("evaluate", "ref", "-i", "good", "--metrics=wer", "--confidence").lines
    plain = scored("evaluate", "ref", "-i", "good", "--metrics=wer").lines[0]
    assert line.split(" ± ")[0] == plain.split(" (")[0]
    assert line.endswith(" (nrefs:1|case:mixed|bs:1000|seed:12345)")
    rows = json.loads(
        scored("evaluate", "ref", "-i", "good", "--metrics=wer", "--confidence", "--samples=500", "--json").out
    )
    assert rows["confidence_mean"] == pytest.approx(rows["score"], abs=rows["confidence_var"])
    assert rows["confidence"] == f"μ = {rows['confidence_mean']:.2f} ± {rows['confidence_var']:.2f}"
    assert (rows["bs"], rows["seed"]) == ("500", "12345")


@pytest.mark.slow
@pytest.mark.spec("H13")
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_systems_are_compared_with_the_first(scored: Shell, test: str) -> None:
    words = ("evaluate", "ref", "-i", "bad", "-i", "good", "-i", "bad", "--metrics=bleu,wer", f"--test={test}")
    heading, *rows, _, bleu, wer, _, legend = scored(*words).lines
    assert heading.split() == ["system", "BLEU", "WER"]
    assert [row.split()[0] for row in rows] == ["bad", "good", "bad"]
    assert [(row.count("**"), row.count(" p 1.000")) for row in rows] == [(0, 0), (2, 0), (0, 2)]
    assert (bleu.split(": ")[0], wer.split(": ")[0]) == ("BLEU", "WER")
    assert "from bad" in legend
    assert test in legend
    results = json.loads(scored(*words, "--json").out)
    assert [row["system"] for row in results] == ["bad", "good", "bad"]
    assert [row["WER"]["p_value"] for row in results] == [None, pytest.approx(1 / 1001), 1.0]
    assert results[1]["BLEU"]["low"] < results[1]["BLEU"]["score"] < results[1]["BLEU"]["high"]
    assert f"{results[1]['BLEU']['score']:.2f} ± {results[1]['BLEU']['ci']:.2f}" in rows[1]


@pytest.mark.spec("H12")
def test_scores_by_length_of_source_or_reference(scored: Shell) -> None:
    words = ("evaluate", "ref", "-i", "good", "--metrics=wer", "--by=length")
    heading, *rows = scored(*words).lines
    assert heading.split() == ["reference", "length", "sentences", "WER"]
    assert [row.split()[0] for row in rows[:3]] == ["3-5", "6-10", "11-15"]
    assert sum(int(row.split()[1]) for row in rows[:3]) == 60
    errors = [float(row.split()[2]) for row in rows[:3]]
    assert errors == sorted(errors, reverse=True)  # one wrong word each
    scored.write("other", "a b\n" * 60)
    of_first, *rows = scored("evaluate", "ref", "other", *words[2:]).lines
    assert of_first == heading
    assert [row.split()[0] for row in rows[:3]] == ["3-5", "6-10", "11-15"]  # by the first reference
    scored.write("source", "a b\n" * 20 + "a b c d\n" * 40)
    results = json.loads(scored(*words, "--source=source", "--json").out)
    assert [(row["source length"], row["sentences"]) for row in results] == [("1-2", 20), ("3-5", 40)]
    assert "WER" in results[0]


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
    results = json.loads(scored(*words, "--json").out)
    scored.write("few", "a\n" * 19)
    outcome = scored("evaluate", "few", "-i", "few", "--metrics=wer", "--confidence")
    assert outcome.lines == ["WER = 0.00 (nrefs:1|case:mixed)"]
    assert outcome.err.startswith("19 sentences are too few")
    assert [set(row["WER"]) >= {"p_value", "ci"} for row in results] == [False, False, True, True]


@pytest.mark.spec("H12")
@pytest.mark.parametrize(("times", "judged"), [(1, False), (19, False), (20, True)])
def test_words_that_few_sentences_have_have_scores_alone(scored: Shell, times: int, judged: bool) -> None:
    """However many other sentences there are."""
    lines = ["the cat"] * 100 + ["the emu"] * times
    for name, emu in (("ref", "emu"), ("wrong", "cat"), ("right", "emu")):
        scored.write(name, "\n".join(lines).replace("emu", emu) + "\n")
    scored.write("corpus", "the cat\n" * 5)
    words = ("evaluate", "ref", "-i", "wrong", "-i", "right", "--by=frequency", "--corpus=corpus", "--json")
    rows = json.loads(scored(*words).out)
    assert [row["frequency"] for row in rows] == ["0", "0", "4-9", "4-9"]
    assert ["p_value" in row["F1 of words"] for row in rows] == [judged, judged, True, True]


@pytest.mark.spec("H12")
def test_words_that_only_a_translation_has_are_shown(scored: Shell) -> None:
    """As many of the references whichever system comes first."""
    scored.write("ref", "the cat\n" * 30)
    scored.write("invents", "the emu\n" * 30)
    scored.write("corpus", "the cat\n" * 5)
    for systems in (("-i", "ref", "-i", "invents"), ("-i", "invents", "-i", "ref")):
        words = ("evaluate", "ref", "ref", *systems, "--by=frequency", "--corpus=corpus", "--json")
        rows = json.loads(scored(*words).out)
        assert [(row["frequency"], row["words"]) for row in rows] == [("0", 0)] * 2 + [("4-9", 120)] * 2


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_scores_by_the_type_of_edits(scored: Shell) -> None:
    """Both systems have nothing but substituted words, one a line; of the bad one's edits, half are needed."""
    words = ("evaluate", "ref", "-i", "bad", "-i", "good", "--by=edits")
    heading, *rows, _, signature, _, _ = scored(*words).lines
    assert heading.split() == ["edit", "system", "Edits"]
    assert [row.split()[:3] for row in rows[:4]] == [
        [edit, system, "0.00"] for edit in ("insert", "delete") for system in ("bad", "good")
    ]
    assert "**" in rows[5]
    assert signature.startswith("Edits: nrefs:1|case:mixed|bs:1000")
    wer = json.loads(scored("evaluate", "ref", "-i", "bad", "--metrics=wer", "--json").out)["score"]
    results = json.loads(scored("evaluate", "ref", "-i", "bad", "--by=edits", "--json").out)
    assert [row["Edits"]["score"] for row in results] == [0, 0, wer]
    heading, *rows = scored(
        "evaluate", "ref", "-i", "bad", "-i", "good", "-i", "ref", "--by=edits", "--edited=bad"
    ).lines
    assert heading.split() == ["edit", "edits", "system", "F1", "of", "edits"]
    assert [row.split()[:4] for row in rows[6:9]] == [
        ["substitute", "60", "bad", "0.00"],
        ["substitute", "60", "good", "66.67"],
        ["substitute", "60", "ref", "100.00"],
    ]
    scored.write("few", "a\n")
    assert scored.fails("evaluate", "ref", "-i", "bad", "--by=edits", "--edited=few").startswith("ref has 60 lines")


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_a_run_has_intervals_and_groups_too(copied: Shell) -> None:
    for name in ("many.en", "many.fr"):
        copied.write(name, (copied.folder / name.replace("many", "test")).read_text("utf-8") * 10)
    words = ("evaluate", "many.fr", "--run=runs/toy", "--source=many.en", "--metrics=bleu", "--beam=2")
    plain, *further = copied(*words).lines
    line, *further_lines = copied(*words, "--confidence").lines
    assert [item.split(" ± ")[0] for item in further_lines] == [item.split(" (")[0] for item in further]
    assert all(item.endswith("|bs:1000|seed:12345)") for item in further_lines)
    listed = json.loads(copied(*words, "--confidence", "--json").out)
    assert [item["name"] for item in listed] == ["BLEU", "Perplexity", "Accuracy"]
    assert all("confidence_var" in item for item in listed)
    assert listed[1]["confidence_var"] > 0
    assert line.split(" ± ")[0] == plain.split(" (")[0]
    assert line.endswith("|bs:1000|seed:12345|beam:2)")
    assert copied(*words, "--confidence", "--seed=12345", "--samples=1000").lines == [line, *further_lines]
    for option, end in (("--samples=100", "|bs:100|seed:12345)"), ("--seed=0", "|bs:1000|seed:0)")):
        changed = copied(*words, "--confidence", option).lines
        assert all(item.endswith(end) for item in changed[1:])
        assert changed[1].split(" (")[0] != further_lines[0].split(" (")[0]  # perplexity, with its interval
    heading, *_, signature = copied(*words, "--by=length").lines
    assert heading.split() == ["source", "length", "sentences", "BLEU"]
    assert signature.endswith("|beam:2")
    own = [word for word in words if word != "--metrics=bleu"]
    heading, *_, signature = copied(*own, "--by=frequency", "--corpus=train.fr").lines
    assert heading.split() == ["frequency", "words", "F1", "of", "words"]
    assert signature.endswith("|beam:2")


@pytest.mark.slow
@pytest.mark.parametrize("more", [["-i", "bad"], ["--by=length"]])
def test_metrics_of_one_name_do_not_go_into_one_object(scored: Shell, more: list[str]) -> None:
    words = ("evaluate", "ref", "-i", "good", *more, "--metrics=chrf,{kind: chrf, lowercase: true}")
    assert scored.fails(*words, "--json").startswith("--metrics: 2 are called 'chrF2'")
    assert scored(*words).code == 0
    assert len(json.loads(scored(*words[:4], words[-1], "--json").out)) == 2


@pytest.mark.slow
def test_options_that_would_do_nothing_are_refused(scored: Shell) -> None:
    words = ("evaluate", "ref", "-i", "good")
    for option, name in (("--tokenize", "intl"), ("--unit", "character")):
        assert scored.fails(*words, "--metrics=chrf", option, name).startswith(f"{option}: no metric")
    for more in (["--test=randomization"], ["--samples=500"], ["--seed=1"], ["--confidence", "--test=randomization"]):
        assert scored(*words, *more).code == 2
    assert scored(*words, "--confidence", "--seed=1").code == 0
    edits, frequency = ("--by=edits",), ("--by=frequency", "--corpus=ref")
    for by in (edits, frequency, edits + frequency):
        for option in ("--metrics=chrf", "--tokenize=intl", "--unit=character", "--lowercase"):
            message = scored(*words, *by, option)
            works = option == "--lowercase" and "--by=edits" in by
            assert (message.code, f"{option.partition('=')[0]} has no effect on --by" in message.err) == (
                (0, False) if works else (2, True)
            )
        assert scored(*words, *by, "--by=length", "--metrics=chrf", "--lowercase").code == 0


def test_a_table_without_p_explains_none(scored: Shell) -> None:
    scored.write("few", "a\n" * 19)
    assert scored("evaluate", "few", "-i", "few", "-i", "few", "--metrics=wer").lines[-1].startswith("WER: ")


def test_parts_without_a_word_are_told(scored: Shell) -> None:
    scored.write("marks", "!!!\n" * 60)
    words = ("evaluate", "marks", "-i", "marks", "--by=frequency", "--corpus=ref")
    for more in ((), ("--json",)):
        assert scored.fails(*words, *more) == "--by frequency: there is nothing to score"


def test_a_value_in_a_signature_may_have_its_separator_in_it() -> None:
    signature = "nrefs:1" + part("weights", "a|b:c") + part("beam", 3)
    assert signature == r"nrefs:1|weights:a\|b:c|beam:3"
    fields = entry(Score("BLEU", 1.0, signature))
    assert (fields["nrefs"], fields["weights"], fields["beam"]) == ("1", "a|b:c", "3")


@pytest.mark.slow
def test_tags_that_do_not_fit_are_told(scored: Shell) -> None:
    scored.write("short.tsv", "topic\na\nb\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=short.tsv").startswith("short.tsv has 2 rows")
    scored.write("uneven.tsv", "topic\n" + "a\n" * 58 + "a\tb\n" + "a\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=uneven.tsv").startswith("uneven.tsv:60: 2 columns")
    for name in ("system", "sentences", "WER"):
        scored.write("named.tsv", f"topic\t{name}\n" + "a\tb\n" * 60)
        message = scored.fails("evaluate", "ref", "-i", "good", "--by=named.tsv", "--metrics=wer")
        assert message.startswith(f"named.tsv:1: '{name}' is")
    scored.write("empty.tsv", "")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=empty.tsv").startswith("empty.tsv has 0 rows")
    scored.write("three", "a\nb\nc\n")
    assert scored.fails("evaluate", "ref", "-i", "good", "--by=length", "--source=three").startswith(
        "three has 3 lines"
    )


@pytest.fixture
def task(tmp_path: Path) -> Shell:
    """Labeled questions, 60 to evaluate on, and translations that lose the telling word of every second."""
    pytest.importorskip("sklearn")
    shell = Shell(tmp_path)
    classes = {"where": "place", "who": "person", "when": "time"}
    random = Random(1)
    questions = [f"{list(classes)[i % 3]} is the {random.choice(WORDS)} {random.choice(WORDS)}" for i in range(120)]
    labels = [classes[text.split()[0]] for text in questions]
    shell.write(
        "train.tsv", "".join(f"{text}\t{label}\n" for text, label in zip(questions[60:], labels[60:], strict=True))
    )
    shell.write("ref", "".join(f"{text}\n" for text in questions[:60]))
    shell.write("labels", "".join(f"{label}\n" for label in labels[:60]))
    spoiled = [f"what {text.partition(' ')[2]}" if i % 2 else text for i, text in enumerate(questions[:60])]
    shell.write("good", "".join(f"{text}\n" for text in questions[:60]))
    shell.write("bad", "".join(f"{text}\n" for text in spoiled))
    return shell


DOWNSTREAM = ("evaluate", "ref", "--downstream=train.tsv", "--labels=labels")


@pytest.mark.slow
@pytest.mark.spec("H11")
def test_another_task_suffers_from_bad_translations(task: Shell) -> None:
    heading, *rows, _, signature, _, legend = task(*DOWNSTREAM, "-i", "good", "-i", "bad").lines
    assert heading.split() == ["text", "Accuracy", "drop"]
    assert [row.split()[0] for row in rows] == ["ref", "good", "bad", "(always"]
    assert rows[0].split()[1:] == ["100.00", "±", "0.00", "0.00", "±", "0.00"]
    assert rows[0].split()[1:4] == rows[1].split()[1:4]
    assert "**" in rows[2]
    assert signature.startswith("Accuracy, drop: trained:60|labels:3|scikit-learn:")
    assert "from ref" in legend
    results = json.loads(task(*DOWNSTREAM, "-i", "bad", "--json", "--test=randomization").out)
    assert [row["text"] for row in results] == ["ref", "bad", "(always place)"]
    bad = results[1]
    assert 50 <= bad["Accuracy"]["score"] < 90
    assert bad["drop"]["score"] == pytest.approx(100 - bad["Accuracy"]["score"])
    assert bad["drop"]["low"] < bad["drop"]["score"] < bad["drop"]["high"]
    assert bad["Accuracy"]["p_value"] < 0.01
    assert results[2]["Accuracy"]["score"] == pytest.approx(100 / 3, abs=0.01)


@pytest.mark.slow
@pytest.mark.spec("H11")
def test_what_is_labeled_is_compared_in_nfc(task: Shell) -> None:
    message = task(*DOWNSTREAM, "-i", "good").err
    lines = (task.folder / "good").read_text("utf-8").splitlines()
    task.write("good", "\n".join([f"{lines[0]} e\u0301", *lines[1:]]) + "\n")
    more = f"good: 1 of {len(lines)} lines are not in NFC and were normalized for scoring\n"
    assert task(*DOWNSTREAM, "-i", "good").err == more + message


@pytest.mark.spec("H11")
def test_a_reference_that_is_a_system_too_has_two_rows(task: Shell) -> None:
    assert [row.split()[0] for row in task(*DOWNSTREAM, "-i", "ref").lines[1:4]] == ["ref", "ref", "(always"]


@pytest.mark.spec("H11")
@pytest.mark.slow
def test_what_a_run_translates_is_labeled_too(copied: Shell) -> None:
    pytest.importorskip("sklearn")
    copied.write("train.tsv", "un deux\ta\ntrois quatre\tb\n")
    copied.write("labels", "a\n" * 6)
    words = ("evaluate", "test.fr", "--run=runs/toy", "--source=test.en", "--downstream=train.tsv", "--labels=labels")
    outcome = copied(*words)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.lines[1:4]] == ["test.fr", "runs/toy", "(always"]
    greedy = json.loads(copied(*words, "--search=greedy", "--json").out)
    assert ["search:greedy" in row["Accuracy"]["signature"] for row in greedy] == [False, True, False]


@pytest.mark.parametrize("more", [["--by=frequency", "--corpus=-"], ["--by=-"], ["--by=edits", "--edited=-"]])
def test_standard_input_is_one_file_only(more: list[str], copied: Shell) -> None:
    message = "-: only one file can be standard input"
    assert copied.fails("evaluate", "test.fr", "-i", "-", *more, stdin="un\n" * 6).startswith(message)
    run = ("--run=runs/toy", "--source=-")
    assert copied.fails("evaluate", "test.fr", *run, *more, stdin="one\n" * 6).startswith(message)


@pytest.mark.slow
def test_labels_that_do_not_fit_are_told(task: Shell, golden: Golden) -> None:
    words = ("evaluate", "ref", "-i", "good", "--downstream=train.tsv")
    task.write("few", "place\n")
    golden(task.fails(*words, "--labels=few"))
    task.write("odd", "Place\n" * 60)
    golden(task(*words, "--labels=odd").err)
    for name in ("ref", "good", "labels"):
        task.write(name, "".join(f"{line}\n" for line in (task.folder / name).read_text("utf-8").split("\n")[:19]))
    outcome = task(*words, "--labels=labels")
    golden(outcome.err)
    assert "±" not in outcome.out
    assert outcome.lines[2].split() == ["good", "100.00", "0.00"]


@pytest.mark.slow
def test_downstream_goes_with_what_it_needs(task: Shell) -> None:
    for words in (["--labels=labels"], ["--downstream=train.tsv"], *([*DOWNSTREAM[2:], option] for option in (
        "--metrics=bleu", "--by=length", "--lowercase", "--tokenize=char", "--unit=token"
    ))):  # fmt: skip
        assert task("evaluate", "ref", "-i", "good", *words).code == 2, words


@pytest.mark.slow
def test_texts_are_compared_in_nfc_and_that_is_told_once_for_each_file(scored: Shell, golden: Golden) -> None:
    composed = ["un \u00e9t\u00e9 nu", "un", "\u00e0 l\u00e0"]
    scored.write("nfc", "".join(f"{line}\n" for line in composed))
    scored.write("nfd", "".join(f"{unicodedata.normalize('NFD', line)}\n" for line in composed))
    metrics = "--metrics=bleu,chrf,ter,exact_match,cer,wer"
    right = scored("evaluate", "nfc", "-i", "nfc", metrics)
    assert right.err == ""
    for words in (("nfd", "-i", "nfc"), ("nfc", "-i", "nfd"), ("nfd", "-i", "nfd"), ("nfd", "nfd", "-i", "nfc")):
        outcome = scored("evaluate", *words, metrics)
        assert outcome.err == "nfd: 2 of 3 lines are not in NFC and were normalized for scoring\n"
        assert outcome.out.replace("nrefs:2", "nrefs:1") == right.out
    golden(outcome.err.strip())
    assert scored("evaluate", "-i", "-", "nfc", metrics, stdin="e\u0301\n" * 3).err.startswith("<stdin>: 3 of 3 lines")
    table = scored("evaluate", "nfc", "-i", "nfc", "--by=frequency", "--corpus=nfd").out
    assert [line.split()[0] for line in table.splitlines()[1:3]] == ["1", "2-3"]


def test_a_script_without_spaces_is_told(scored: Shell, golden: Golden) -> None:
    scored.write("zh", "他喜欢吃苹果。\n")
    scored.write("apart", "他 喜欢 吃 苹果 。\n")
    message = scored("evaluate", "zh", "-i", "zh").err
    assert message.startswith("zh: ")
    assert "--tokenize zh" in message
    assert "asian_support: true" in message
    golden(message.strip())
    assert "asian" not in scored("evaluate", "zh", "-i", "zh", "--metrics=bleu").err
    for words in (
        ("zh", "-i", "zh", "--metrics=bleu", "--tokenize=zh"),
        ("apart", "-i", "apart"),
        ("zh", "--metrics=cer"),
    ):
        assert scored("evaluate", *words, stdin="x\n").err == "", words


def test_of_a_run_the_references_alone_may_have_another_form(copied: Shell) -> None:
    """What it translates is no file, and what it reads is compared with nothing."""
    copied.write("odd.en", "one e\u0301\n" * 2)
    copied.write("odd.fr", "e\u0301 un\nun\n")
    outcome = copied("evaluate", "odd.fr", "--run=runs/toy", "--source=odd.en", "--metrics=bleu")
    assert outcome.err == "odd.fr: 1 of 2 lines are not in NFC and were normalized for scoring\n"


def test_log_probabilities_are_not_compared_in_nfc(scored: Shell) -> None:
    scored.write("nfd", "e\u0301\n")
    scored.write("scores", "-1.5\t3\n")
    assert scored("evaluate", "nfd", "-i", "scores", "--metrics=perplexity").err == ""


def test_gold_links_that_seem_to_count_from_1_are_told(scored: Shell, golden: Golden) -> None:
    scored.write("gold", "1-1 2-2\n" * 8)
    scored.write("links", "0-0 1-1\n" * 8)
    words = ("evaluate", "gold", "-i", "links", "--metrics")
    outcome = scored(*words, "aer")
    assert outcome.lines == ["AER = 50.00 (nrefs:1)"]
    golden(outcome.err.strip())
    outcome = scored(*words, "{kind: aer, one_based: true}")
    assert (outcome.lines, outcome.err) == (["AER = 0.00 (nrefs:1)"], "")
    assert scored("evaluate", "links", "-i", "links", "--metrics=aer").err == ""


@pytest.mark.slow
@pytest.mark.spec("H13")
def test_alignments_and_log_probabilities_have_intervals_and_are_compared(copied: Shell) -> None:
    for name in ("many.en", "many.fr"):
        copied.write(name, (copied.folder / name.replace("many", "test")).read_text("utf-8") * 10)
    files = ("runs/toy", "many.en", "many.fr")
    outcome = copied("align", *files)
    copied.write("links", outcome.out)
    copied.write("gold", "".join(f"{line.rsplit(' ', 1)[0]} 0?0\n" for line in outcome.lines))
    message = copied("align", *files, "--gold=gold").err
    with_interval = copied("align", *files, "--gold=gold", "--confidence").err
    matched = re.fullmatch(r"AER = (\S+) ± (\S+) \(precision .*\)\n", with_interval)
    assert matched
    rate, interval = matched.groups()
    assert with_interval.replace(f" ± {interval}", "") == message
    copied.write("none", "\n" * len(outcome.lines))
    words = ("evaluate", "gold", "-i", "links", "-i", "none", "--metrics=aer", "--json")
    first, second = json.loads(copied(*words).out)
    assert first["AER"]["score"] == pytest.approx(100 * float(rate), abs=0.01)
    assert first["AER"]["ci"] == pytest.approx(100 * float(interval), abs=0.01)
    assert (second["AER"]["score"], second["AER"]["p_value"] < 0.01) == (100, True)

    scored = copied("score", *files)
    plain = scored.err.rpartition("perplexity ")[2].split()[0]
    value, _, interval = copied("score", *files, "--confidence").err.rpartition("perplexity ")[2].split()[:3]
    assert value == plain
    copied.write("one", scored.out)
    copied.write("other", "".join(f"{float(line.split()[0]) - 1}\t{line.split()[1]}\n" for line in scored.lines))
    words = ("evaluate", "many.fr", "-i", "one", "-i", "other", "--metrics=perplexity", "--json")
    first, second = json.loads(copied(*words).out)
    assert first["Perplexity"]["score"] == pytest.approx(float(value), abs=0.01)
    assert first["Perplexity"]["ci"] == pytest.approx(float(interval), abs=0.01)
    assert second["Perplexity"]["p_value"] < 0.01
    few = copied("score", "runs/toy", "test.en", "test.fr", "--confidence").err
    assert few.startswith("6 sentences are too few")
    assert "±" not in few
