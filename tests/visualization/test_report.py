"""The report page: complete, self-contained, and inert to what the texts contain."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman import inspection
from dragoman.translation.result import Result
from dragoman.visualization.report import Report, RunView, page
from dragoman.visualization.report_tables import GroupRow, Groups, ScoreCell, Scores, facts, groups, legend, scores
from dragoman.visualization.sentences import DIGITS, LEVELS, ReportSentence, SentenceMetric
from tests import toy


def example(source: list[str], target: list[str], *more: Any, **options: Any) -> ReportSentence:
    """Words that stand between spaces, if no texts are given."""
    fields: dict[str, Any] = {"texts": [("en", " ".join(source))], "target_text": " ".join(target), **options}
    return ReportSentence(source, target, *more, **fields)


NASTY = "</script><b>bold</b> & {{data}} \u2028 <!-- \x00"
METRICS: list[dict[str, Any]] = [
    {"step": 100, "epoch": 1, "time": 1.5, "train/loss": 5.0, "train/learning_rate": 0.001},
    {"step": 100, "valid/loss": 4.5, "valid/bleu": 3.2, "valid/perplexity": 90.0},
    {"step": 200, "epoch": 2, "time": 3.0, "train/loss": math.nan, "train/learning_rate": 0.0005},
    {"step": 200, "valid/loss": None, "valid/bleu": 9.9, "valid/perplexity": 20.0},
    {"note": "a row of another kind"},
]
EXAMPLES = [
    example(
        ["the", "cat"],
        ["le", "chat"],
        "le chat",
        [[0.9, 0.1], [0.25, 0.75]],
        -0.5,
        [(0, 0), (1, 1)],
        texts=[("en", "The cat")],
        target_text="Le chat",
    ),
    example([NASTY, "."], [NASTY], NASTY, [[0.5, 0.5]], -7.25, None, [(NASTY, -7.25), ("autre", -9.0)]),
    example(["قطة"], ["cat"], "", [[1.0]], -1.0),
    example(["nothing"], [], "rien", [], -3.0),
]
DEMO = RunView(
    "runs/demo", "seed: 1\nmodel:\n  size: 256\n", [("Parameters", 1234), ("Device", "CPU")], METRICS, EXAMPLES
)
FULL = Report(
    [DEMO],
    [Scores("BLEU", [(0, ScoreCell(31.254, 30.0, 33.0))], [("copying en", 1.5)], ["nrefs:1|case:mixed|tok:13a"])],
    [Scores("Perplexity", [(0, ScoreCell(12.5))], (), ["unit:word"], False)],
    [
        Groups(
            "BLEU by length",
            "Words",
            "Sentences",
            [GroupRow("1-10", 1200, [(0, ScoreCell(33.3))]), GroupRow("over 10", 7, [(0, ScoreCell(math.nan))])],
        )
    ],
)
OTHER = RunView(
    "runs/other",
    "seed: 1\nmodel:\n  size: 512\n",
    metrics=METRICS,
    examples=[
        example(["the", "cat"], ["un", "chat"], "le chat", [[0.6, 0.4], [0.1, 0.9]], -0.75, texts=[("en", "The cat")])
    ],
)


class Page(HTMLParser):
    """What a browser would see: the text of each script, the ids of visible sections, all other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.sections: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")
        names = dict(attrs)
        if tag == "section" and "hidden" not in names:
            self.sections.append(names.get("id") or "")

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag == "script":
            self.scripts[-1] += data
        elif self._tag != "style":
            self.text += data


def data(report: Report) -> Any:
    """The sentences in the page."""
    return json.loads(Page(page(report)).scripts[0])


def report(*runs: RunView, measures: Sequence[SentenceMetric] = ()) -> Report:
    return Report(runs, measures=measures)


def unpacked(packed: Any, shape: tuple[int, int]) -> np.ndarray:
    """The weights of a map, as its two digits each say."""
    values = {digit: value for value, digit in enumerate(DIGITS.tobytes().decode())}
    digits = np.array([values[digit] for digit in packed["weights"]], dtype=float).reshape(-1, 2)
    low, high = packed["range"]
    return (low + (high - low) * (digits @ [len(values), 1]) / LEVELS).reshape(shape)


def test_every_part_of_a_run_is_in_the_page() -> None:
    seen = Page(page(FULL))
    assert seen.sections == ["scores", "sentences", "groups", "curves", "facts", "configuration"]
    for text in ("runs/demo", "Parameters", "1234", "31.25", "± 1.50", "nrefs:1|case:mixed|tok:13a", "1-10", "1,200"):
        assert text in seen.text
    for text in ("copying en 1.50", "Perplexity lower is better", "12.50", "unit:word"):
        assert text in seen.text
    assert [seen.text.count(title) for title in ("BLEU", "Perplexity", "Learning rate")] >= [2, 1, 1]
    assert "size: 256" in seen.text


@pytest.mark.parametrize("runs", [[], [RunView("bare")]])
def test_a_page_without_anything_to_show(runs: list[RunView]) -> None:
    seen = Page(page(report(*runs)))
    assert seen.sections == []
    assert "There is nothing to show yet." in seen.text


@pytest.mark.parametrize(
    ("full_report", "sections"),
    [
        (report(RunView("a", examples=EXAMPLES)), ["sentences"]),
        (report(RunView("a", metrics=METRICS[:1])), ["curves"]),
        (Report([RunView("a")], scores=[Scores("BLEU", [(0, ScoreCell(1.0))])]), ["scores"]),
        (Report([RunView("a")], further=[Scores("AER", [(0, ScoreCell(1.0))])]), ["scores"]),
        (report(RunView("a", metrics=[{"step": 1}], config_yaml="a: 1")), ["configuration"]),
        (Report([RunView("a")], groups=[Groups("BLEU", "Words", "Sentences", [])]), ["groups"]),
    ],
)
def test_missing_parts_are_left_out(full_report: Report, sections: list[str]) -> None:
    assert Page(page(full_report)).sections == sections


def test_texts_are_never_taken_for_markup() -> None:
    run = RunView(NASTY, NASTY, [(NASTY, NASTY)], METRICS, EXAMPLES)
    tables = [Scores(NASTY, [(0, ScoreCell(1.0))], [(NASTY, 1.0)], [NASTY])]
    grouped = [Groups(NASTY, NASTY, NASTY, [GroupRow(NASTY, 1, [(0, ScoreCell(1.0))])])]
    text = page(Report([run], tables, tables, grouped, [SentenceMetric(NASTY, True)]))
    seen = Page(text)
    assert len(seen.scripts) == 2
    assert "<b>bold" not in text
    shown = NASTY.replace("\x00", "␀")
    assert seen.text.count(shown) >= 12
    assert json.loads(seen.scripts[0])["sentences"][1]["found"][0]["source"] == [NASTY, "."]
    assert "\ud800" not in page(report(RunView("\ud800", examples=[example(["\ud800"], [], "", [], 0.0)])))


def test_the_page_asks_nothing_of_the_network() -> None:
    text = page(Report([DEMO, OTHER], FULL.scores, FULL.further, FULL.groups))
    seen = Page(text)
    loading = {"src", "srcset", "action", "data", "poster"}
    assert not loading & {name for name, _ in seen.attributes}
    assert all(value.startswith("#") for name, value in seen.attributes if name == "href" and value)
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)


def test_the_policy_allows_the_own_style_and_script_and_nothing_else() -> None:
    """By their digests: no attribute has style or script, and every element that has is one of the page's own."""
    text = page(Report([DEMO, OTHER], FULL.scores, FULL.further, FULL.groups))
    policy = dict(
        directive.split(" ", 1) for directive in (re.search(r'Policy" content="(.*?)"', text) or [""])[1].split("; ")
    )
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in str(policy)
    for kind, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        digests = {hashlib.sha256(element.encode()).digest() for element in re.findall(pattern, text, re.DOTALL)}
        allowed = {base64.b64decode(element.removeprefix("'sha256-").rstrip("'")) for element in policy[kind].split()}
        assert digests == allowed
    assert not [name for name, _ in Page(text).attributes if name == "style" or name.startswith("on")]


@pytest.mark.slow
def test_links_are_those_of_the_translation(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also where the end symbol has more attention than any word, and a word of the translation has no link."""
    (translation,) = dragoman.load(toy.trained(tmp_path_factory.getbasetemp())).translate(["one two"])
    (source,) = translation.sources
    unlinked = source._replace(end_attention=np.array([2.0, 0.0]))
    shown = inspection.example(Result(replace(translation, sources=(unlinked,))))
    (sentence,) = data(report(RunView("a", examples=[shown])))["sentences"]
    assert sentence["found"][0]["links"] == [list(link) for link in translation.alignment if link[1] == 1]


def test_weights_are_packed_to_a_quarter_of_a_thousandth_of_their_range() -> None:
    attention = np.array([[0.12345, np.nan], [np.inf, 1.0]], dtype=np.float32)
    wide_example = example(
        ["a", "b"],
        ["c", "d"],
        "",
        attention,
        math.nan,
        {(1, 1), (0, 1)},
        [("x", -math.inf)],
        maps={"contrast": [[-8.0, 2.5], [0.0, 1.0]]},
        confidence=[0.25, math.nan],
        values=[1.5, math.inf],
    )
    (sentence,) = data(report(RunView("a", examples=[wide_example])))["sentences"]
    (output,) = sentence["found"]
    assert [entry["name"] for entry in output["maps"]] == ["attention", "contrast"]
    assert [entry["range"] for entry in output["maps"]] == [[0, 1], [-8, 2.5]]
    first, second = (unpacked(entry, (2, 2)) for entry in output["maps"])
    np.testing.assert_allclose(first, [[0.12345, 0.0], [0.0, 1.0]], atol=0.00013)
    np.testing.assert_allclose(second, [[-8.0, 2.5], [0.0, 1.0]], atol=0.0013)
    assert output["score"] is None
    assert output["gold"] == [[0, 1], [1, 1]]
    assert output["best"] == [["x", None]]
    assert output["confidence"] == [0.25, None]
    assert output["values"] == [1.5, None]


def test_maps_over_words_leave_the_columns_that_are_no_words_empty() -> None:
    attention = [[0.5, 0.25, 0.25, 0.5, 0.5]]
    columns = ["[en]", "a", "b", "[fr]", "c"]
    mapped = example(columns, ["x"], None, attention, 0.0, None, (), [0, 3], maps={"gradient": [[1.0, 0.5, 0.25]]})
    ((output,),) = (entry["found"] for entry in data(report(RunView("a", examples=[mapped])))["sentences"])
    np.testing.assert_allclose(unpacked(output["maps"][1], (1, 5)), [[0.0, 1.0, 0.5, 0.0, 0.25]], atol=0.0002)


def test_sentences_read_as_they_were_written_and_have_words_for_the_matrix() -> None:
    source, target = ["It", "'", "s", "."], ["C'", "est", "."]
    written = example(source, target, None, np.ones((3, 4)), -1.0, texts=[("en", "It's.")], target_text="C'est.")
    (sentence,) = data(report(RunView("a", examples=[written])))["sentences"]
    assert sentence["texts"] == [["en", "It's."]]
    assert [(entry["text"], entry["source"]) for entry in sentence["found"]] == [("C'est.", source)]


def test_what_several_runs_made_of_a_sentence_stands_together() -> None:
    """By number where the references are the same ones, and else by source, each as often as it occurs."""

    def example_of(source: str, target: str, reference: str) -> ReportSentence:
        return example(source.split(), [target], reference, np.ones((1, len(source.split()))), 0.0)

    one = RunView("one", examples=[example_of("a b", "x", "X"), example_of("c", "y", "Y"), example_of("c", "z", "Z")])
    two_sources = RunView(
        "two", examples=[example_of("1 2", "x2", "X"), example_of("3", "y2", "Y"), example_of("3", "z2", "Z")]
    )
    other = RunView(
        "other", examples=[example_of("c", "y3", "other"), example_of("d", "w", "W"), example_of("c", "z3", "Z")]
    )
    entries = data(report(one, two_sources, other))["sentences"]
    assert [[(entry["run"], entry["text"]) for entry in sentence["found"]] for sentence in entries] == [
        [(0, "x"), (1, "x2")],
        [(0, "y"), (1, "y2"), (2, "y3")],
        [(0, "z"), (1, "z2"), (2, "z3")],
        [(2, "w")],
    ]
    assert [sentence["reference"] for sentence in entries] == ["X", "Y", "Z", "W"]
    assert [entry.get("reference") for entry in entries[1]["found"]] == [None, None, "other"]


def test_a_thousand_sentences_of_two_runs_fit_into_eight_megabytes() -> None:
    """Of 25 words each, and with five best translations."""
    generator = np.random.default_rng(1)
    words = [f"word{number}" for number in range(25)]
    best = [(" ".join(words), -1.0)] * 5
    examples = [
        example(words, words, " ".join(words), generator.dirichlet([0.1] * 25, 25), -1.0, None, best)
        for _ in range(1000)
    ]
    text = page(report(RunView("a", examples=examples), RunView("b", examples=examples)))
    assert len(text.encode()) < 8_000_000


def test_a_part_of_the_sentences_is_told() -> None:
    assert "The first 4 of 5,000 sentences; all are scored." in Page(page(report(replaced(DEMO, 5000)))).text
    assert "all are scored" not in Page(page(report(replaced(DEMO, 4)))).text


def replaced(run: RunView, sentences: int) -> RunView:
    return RunView(run.name, examples=run.examples, sentences=sentences)


def test_counts_of_parts_are_set_apart_from_what_describes_them() -> None:
    card = facts([("a", [("encoder", "rnn"), ("parameters", "2,000"), ("  encoder", "500"), ("speed", "9")])])
    rows = re.findall(r"<div(.*?)><dt>(.*?)</dt><dd>(.*?)</dd></div>", card)
    part = ' class="part"'
    assert rows == [("", "encoder", "rnn"), ("", "parameters", "2,000"), (part, "encoder", "500"), ("", "speed", "9")]


def test_long_paths_can_go_on_in_the_next_line() -> None:
    text = page(
        Report(
            [RunView("runs/a", "a: 1", [("data", "corpora/en")], METRICS)],
            [Scores("BLEU", [(0, ScoreCell(1.0))], (), ["a|b"])],
        )
    )
    assert "<title>runs/a " in text
    assert text.count("runs/<wbr>a</") == 4  # two headings, a table and the configuration
    assert "corpora/<wbr>en" in text
    assert "a|<wbr>b" in text


def test_several_runs_stand_side_by_side() -> None:
    judged = [(0, ScoreCell(31.2, 30.0, 32.0)), (1, ScoreCell(29.0, 28.0, 30.0, 0.004, "**", -2.2))]
    text = page(Report([DEMO, OTHER], [Scores("BLEU", judged)]))
    seen = Page(text)
    assert "Loss, validation" in seen.text
    assert "Loss, training" in seen.text
    assert "95 % intervals" in seen.text
    assert "Differences are those from demo: * for p < 0.05, ** for p < 0.01, by paired bootstrap." in seen.text
    assert "−2.20** p 0.004" in seen.text
    assert json.loads(seen.scripts[0])["runs"] == ["demo", "other"]
    assert re.findall(r"<mark>(.*?)</mark>", text) == ["  size: 512"]


def test_runs_without_intervals_have_neither_plots_nor_marks() -> None:
    card = scores(["a", "b"], Scores("BLEU", [(0, ScoreCell(31.2)), (1, ScoreCell(29.0, difference=-2.2))]))
    assert "−2.20" in card
    assert not re.search(r"svg|±|plot", card)


def test_the_legend_says_what_there_is_to_say() -> None:
    alone, first, other = ScoreCell(1.0), ScoreCell(1.0, 0.5, 1.5), ScoreCell(2.0, 1.5, 2.5, 0.2, "", 1.0)
    names = ["a", "b", "c"]
    assert legend(names, [(0, alone)]) == ""
    assert "interval" in legend(names, [(0, first)])
    assert "ifference" not in legend(names, [(0, first)])
    assert "from a." in legend(names, [(0, alone), (1, ScoreCell(2.0, difference=1.0))])
    assert "from a: * for p" in legend(names, [(0, first), (1, other)])
    assert "from the first run with the same references" in legend(names, [(0, first), (1, first), (2, other)])


def test_intervals_are_drawn_on_one_scale() -> None:
    card = scores(
        ["a", "b"], Scores("BLEU", [(0, ScoreCell(30.0, 25.0, 35.0)), (1, ScoreCell(40.0, 30.0, 45.0, 0.5, "", 10.0))])
    )
    assert re.findall(r'class="range" d="M(.*?) 6H(.*?)"', card) == [("2", "50"), ("26", "98")]
    assert re.findall(r'class="at" d="M(.*?) 1V11"', card) == ["26", "74"]


def test_bars_of_a_group_tell_whose_they_are() -> None:
    cells = [(0, ScoreCell(50.0, 40.0, 60.0)), (1, ScoreCell(25.0, 20.0, 100.0, 0.03, "*", -25.0))]
    card = groups(["a", "b"], Groups("BLEU", "Words", "Sentences", [GroupRow("1-5", 8, cells)]))
    assert re.findall(r'rect class="part" width="(.*?)"', card) == ["50", "25"]
    assert re.findall(r'class="range" d="M(.*?) 6H(.*?)"', card) == [("40", "60"), ("20", "100")]
    seen = Page(card).text
    assert "1-58a 50.00b 25.00*" in seen


def curve(text: str, name: str) -> list[tuple[str, str]]:
    """Value and place of the points of a curve, as the page shows them."""
    return re.findall(rf"<title>{name}: (\S+) at (\S+)</title>", text)


@pytest.mark.spec("G4")
def test_the_learning_curves_of_several_systems_share_a_plot_over_epochs() -> None:
    """A system with half as large batches takes twice as many steps."""
    runs = []
    for name, steps, values in (("flat", 50, (9.5, 18.5, 21.5)), ("hierarchical", 100, (8.5, 16.5, 25.5))):
        valid = [{"step": steps * n, "epoch": n, "valid/bleu": value} for n, value in enumerate(values, start=1)]
        within = {"step": steps // 2, "epoch": 1, "train/loss": 5.5}
        runs.append(RunView(name, metrics=[within, *valid]))
    text = page(report(*runs))
    plot = next(figure for figure in text.split("<figure>") if "BLEU" in figure and "<svg" in figure)
    assert curve(plot, "flat") == [("9.5", "1"), ("18.5", "2"), ("21.5", "3")]
    assert curve(plot, "hierarchical") == [("8.5", "1"), ("16.5", "2"), ("25.5", "3")]
    assert ">epochs</text>" in plot
    assert "steps" not in plot
    assert curve(text, "hierarchical")[-1] == ("5.5", "0.5")


@pytest.mark.spec("G4")
def test_a_run_that_has_not_seen_all_pairs_is_compared_by_steps() -> None:
    begun = RunView("begun", metrics=[{"step": 30, "epoch": 1, "valid/bleu": 3.5}])
    text = page(report(DEMO, begun))
    assert curve(text, "begun") == [("3.5", "30")]
    assert ("9.9", "200") in curve(text, "runs/demo")
    assert ">steps</text>" in text
    assert ">epochs</text>" not in text


def test_the_phases_of_one_run_share_a_chart() -> None:
    text = Page(page(report(DEMO))).text
    assert "validation" in text
    assert "Loss, validation" not in text


def test_runs_are_told_apart_by_names_without_the_folder_of_all() -> None:
    def names(*paths: str) -> Any:
        return data(report(*(RunView(name, examples=EXAMPLES) for name in paths)))["runs"]

    assert names("a", "a", "") == ["a", "a (2)", "run 3"]
    assert names("runs/a") == ["runs/a"]
    assert names("runs/a", "runs/b/c") == ["a", "b/c"]
    assert names("/one/run", "/other/run") == ["one/run", "other/run"]
    assert names("runs/a", "b") == ["runs/a", "b"]
