"""The report page: complete, self-contained, inert to what the texts contain, and alive in a browser."""

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.visualisation.report import Example, RunView, page
from dragoman.visualisation.tables import Bucket, facts, lengths


def example(source: list[str], target: list[str], *more: Any, **texts: str) -> Example:
    """Words that stand between spaces, if no texts are given."""
    given: dict[str, Any] = {"source_text": " ".join(source), "target_text": " ".join(target), **texts}
    return Example(source, target, *more, **given)


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
        source_text="The cat",
        target_text="Le chat",
    ),
    example([NASTY, "."], [NASTY], NASTY, [[0.5, 0.5]], -7.25, None, [(NASTY, -7.25), ("autre", -9.0)]),
    example(["قطة"], ["cat"], "", [[1.0]], -1.0),
    example(["nothing"], [], "rien", [], -3.0),
]
FULL = RunView(
    "runs/demo",
    "seed: 1\nmodel:\n  size: 256\n",
    [("Parameters", 1234), ("Device", "CPU")],
    METRICS,
    [("BLEU", 31.254, "nrefs:1|case:mixed|tok:13a"), ("TER", 50.0, "nrefs:1|case:mixed")],
    [Bucket(1, 10, 1200, 33.3), Bucket(11, None, 7, math.nan)],
    EXAMPLES,
)
OTHER = RunView(
    "runs/other",
    "seed: 1\nmodel:\n  size: 512\n",
    metrics=METRICS,
    scores=[("BLEU", 28.0, "nrefs:1|case:lc|tok:13a")],
    lengths=[Bucket(1, 10, 1200, 30.0)],
    examples=[
        example(["the", "cat"], ["un", "chat"], "le chat", [[0.6, 0.4], [0.1, 0.9]], -0.75, source_text="The cat")
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


def test_every_part_of_a_run_is_in_the_page() -> None:
    seen = Page(page([FULL]))
    assert seen.sections == ["facts", "scores", "curves", "lengths", "sentences", "configuration"]
    for text in ("runs/demo", "Parameters", "1234", "31.25", "nrefs:1|case:mixed|tok:13a", "1–10", "over 10", "1,200"):
        assert text in seen.text
    assert [seen.text.count(title) for title in ("BLEU", "Perplexity", "Learning rate")] >= [2, 1, 1]
    assert "size: 256" in seen.text


@pytest.mark.parametrize("runs", [[], [RunView("bare")]])
def test_a_page_without_anything_to_show(runs: list[RunView]) -> None:
    seen = Page(page(runs))
    assert seen.sections == []
    assert "There is nothing to show yet." in seen.text


@pytest.mark.parametrize(
    ("run", "sections"),
    [
        (RunView("a", examples=EXAMPLES), ["sentences"]),
        (RunView("a", metrics=METRICS[:1]), ["curves"]),
        (RunView("a", scores=[("BLEU", 1.0, "s")]), ["scores"]),
        (RunView("a", metrics=[{"step": 1}], config_yaml="a: 1"), ["configuration"]),
        (RunView("a", lengths=[Bucket(1, 5, 0, math.nan)]), ["lengths"]),
    ],
)
def test_missing_parts_are_left_out(run: RunView, sections: list[str]) -> None:
    assert Page(page([run])).sections == sections


def test_texts_are_never_taken_for_markup() -> None:
    run = RunView(NASTY, NASTY, [(NASTY, NASTY)], METRICS, [(NASTY, 1.0, NASTY)], examples=EXAMPLES)
    text = page([run])
    seen = Page(text)
    assert len(seen.scripts) == 2
    assert "<b>bold" not in text
    shown = NASTY.replace("\x00", "␀")
    assert seen.text.count(shown) >= 6
    data = json.loads(seen.scripts[0])
    assert data[0]["examples"][1]["source"] == [NASTY, "."]
    assert "\ud800" not in page([RunView("\ud800", examples=[example(["\ud800"], [], "", [], 0.0)])])


def test_the_page_asks_nothing_of_the_network() -> None:
    text = page([FULL, OTHER])
    seen = Page(text)
    loading = {"src", "srcset", "action", "data", "poster"}
    assert not loading & {name for name, _ in seen.attributes}
    assert all(value.startswith("#") for name, value in seen.attributes if name == "href" and value)
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)
    assert "default-src 'none'" in text


def test_examples_are_handed_to_the_page_as_numbers() -> None:
    attention = np.array([[0.12345, np.nan], [np.inf, 1.0]], dtype=np.float32)
    other = example(["a", "b"], ["c", "d"], "", attention, math.nan, {(1, 1), (0, 1)}, [("x", -math.inf)])
    found = json.loads(Page(page([RunView("a", examples=[other])])).scripts[0])[0]["examples"][0]
    assert found["attention"] == [[123, 0], [0, 1000]]
    assert found["score"] is None
    assert found["gold"] == [[0, 1], [1, 1]]
    assert found["n_best"] == [["x", None]]


def test_sentences_read_as_they_were_written_and_have_words_for_the_matrix() -> None:
    source, target = ["It", "'", "s", "."], ["C'", "est", "."]
    written = example(source, target, None, np.ones((3, 4)), -1.0, source_text="It's.", target_text="C'est.")
    data = json.loads(Page(page([RunView("a", examples=[written])])).scripts[0])
    found = [(each["source_text"], each["target_text"], each["source"]) for each in data[0]["examples"]]
    assert found == [("It's.", "C'est.", source)]


def test_counts_of_parts_are_set_apart_from_what_describes_them() -> None:
    card = facts([("a", [("encoder", "rnn"), ("parameters", "2,000"), ("  encoder", "500"), ("speed", "9")])])
    rows = re.findall(r"<div(.*?)><dt>(.*?)</dt><dd>(.*?)</dd></div>", card)
    part = ' class="part"'
    assert rows == [("", "encoder", "rnn"), ("", "parameters", "2,000"), (part, "encoder", "500"), ("", "speed", "9")]


def test_long_paths_can_go_on_in_the_next_line() -> None:
    text = page(
        [RunView("runs/a", "a: 1", [("data", "corpora/en")], METRICS, [("BLEU", 1.0, "a|b")], [Bucket(1, 2, 3, 4.0)])]
    )
    assert "<title>runs/a " in text
    assert text.count("runs/<wbr>a</") == 5  # two headings, two tables and the configuration
    assert "corpora/<wbr>en" in text


def test_several_runs_stand_side_by_side() -> None:
    seen = Page(page([FULL, OTHER]))
    assert "Loss, validation" in seen.text
    assert "Loss, training" in seen.text
    assert "Not comparable: the signatures differ." in seen.text  # case:mixed and case:lc
    assert [run["name"] for run in json.loads(seen.scripts[0])] == ["runs/demo", "runs/other"]
    text = page([FULL, OTHER])
    assert re.findall(r"<mark>(.*?)</mark>", text) == ["  size: 512"]
    assert text.count('class="bar"') == 4


def test_buckets_of_all_runs_stand_in_order_with_the_sentences_of_each() -> None:
    one, other = (
        [Bucket(1, 5, 8, 10.0), Bucket(101, None, 3, 20.0)],
        [Bucket(6, 10, 2, 30.0), Bucket(101, None, 4, 5.0)],
    )
    table = lengths(["a", "b"], [one, other])
    assert re.findall(r'<th scope="row" class="narrow">(.*?)</th>', table) == ["1–5", "6–10", "over 100"]
    assert re.findall(r'<td class="count narrow">(.*?)</td>', table) == ["8<br>–", "–<br>2", "3<br>4"]
    assert re.findall(r'class="bar".*?>(.*?)</div>', table) == ["10.00", "–", "–", "30.00", "20.00", "5.00"]
    assert re.findall(r'<td class="count narrow">(.*?)</td>', lengths(["a", "b"], [one, one])) == ["8", "3"]


def curve(text: str, name: str) -> list[tuple[str, str]]:
    """Value and place of the points of a curve, as they are told."""
    return re.findall(rf"<title>{name}: (\S+) at (\S+)</title>", text)


@pytest.mark.spec("G4")
def test_the_learning_curves_of_several_systems_share_a_plot_over_epochs() -> None:
    """A system with half as large batches takes twice as many steps."""
    runs = []
    for name, steps, values in (("flat", 50, (9.5, 18.5, 21.5)), ("hierarchical", 100, (8.5, 16.5, 25.5))):
        valid = [{"step": steps * n, "epoch": n, "valid/bleu": value} for n, value in enumerate(values, start=1)]
        within = {"step": steps // 2, "epoch": 1, "train/loss": 5.5}
        runs.append(RunView(name, metrics=[within, *valid]))
    text = page(runs)
    plot = next(figure for figure in text.split("<figure>") if "BLEU" in figure and "<svg" in figure)
    assert curve(plot, "flat") == [("9.5", "1"), ("18.5", "2"), ("21.5", "3")]
    assert curve(plot, "hierarchical") == [("8.5", "1"), ("16.5", "2"), ("25.5", "3")]
    assert ">epochs</text>" in plot
    assert "steps" not in plot
    assert curve(text, "hierarchical")[-1] == ("5.5", "0.5")


@pytest.mark.spec("G4")
def test_a_run_that_has_not_seen_all_pairs_is_compared_by_steps() -> None:
    begun = RunView("begun", metrics=[{"step": 30, "epoch": 1, "valid/bleu": 3.5}])
    text = page([FULL, begun])
    assert curve(text, "begun") == [("3.5", "30")]
    assert ("9.9", "200") in curve(text, "runs/demo")
    assert ">steps</text>" in text
    assert ">epochs</text>" not in text


def test_the_phases_of_one_run_share_a_chart() -> None:
    text = Page(page([FULL])).text
    assert "validation" in text
    assert "Loss, validation" not in text


def test_runs_of_the_same_name_are_told_apart() -> None:
    data = json.loads(Page(page([RunView("a"), RunView("a"), RunView("")])).scripts[0])
    assert [run["name"] for run in data] == ["a", "a (2)", "run 3"]


needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")

PROBE = """<script>{
const told = [], press = (part, key) =>
  part.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const list = document.getElementById("list"), search = document.getElementById("search");
const source = () => document.querySelector(".pair dd").textContent;
const panels = () => document.querySelectorAll("#shown .panel").length;
told.push(list.children.length, source(), panels(), document.querySelector(".said").textContent);
press(document.querySelector(".heat"), "ArrowRight");
press(document.querySelector(".heat"), "ArrowDown");
told.push(document.querySelector("output").textContent);
press(list, "ArrowDown");
told.push(source(), document.querySelectorAll("#shown .said b, #list b").length, panels());
search.value = "RIEN"; search.dispatchEvent(new Event("input"));
told.push(document.getElementById("count").textContent, source());
search.value = "?"; search.dispatchEvent(new Event("input"));
told.push(document.getElementById("count").textContent, panels());
const result = document.createElement("pre");
result.id = "told"; result.textContent = JSON.stringify(told); document.body.append(result);
}</script></body>"""


def browsed(text: str, folder: Path) -> list[Any]:
    """What a page's script tells in the element `told`, after a browser has opened the page."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]
    run = subprocess.run(command, capture_output=True, timeout=120, check=True)
    found = re.search(r'<pre id="told">(.*?)</pre>', run.stdout.decode("utf-8"), re.DOTALL)
    assert found is not None, "the page's script failed"
    told: list[Any] = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return told


@needs_chromium
def test_sentences_are_chosen_and_searched_with_the_keyboard(tmp_path: Path) -> None:
    told = browsed(page([FULL, OTHER]).replace("</body>", PROBE), tmp_path)
    assert told[:4] == [4, "The cat", 2, "Le chat"]  # both runs translated it
    assert told[4] == "the → chat 0.25"
    assert told[5:8] == [f"{NASTY} .", 0, 1]
    assert told[8:10] == ["1 of 4 sentences", "nothing"]
    assert told[10:] == ["0 of 4 sentences", 0]


HIDDEN = "<style>.heat { display: none; }</style>"  # to lay out so many cells takes a while
LARGEST = """<script>{
const result = document.createElement("pre");
result.id = "told"; result.textContent = JSON.stringify([document.querySelector(".scale").textContent]);
document.body.replaceChildren(result);
}</script>"""


@needs_chromium
def test_a_long_sentence_has_its_matrix(tmp_path: Path) -> None:
    """Of more weights than a call can have arguments."""
    words, attention = ["a"] * 400, np.full((350, 400), 0.002)
    attention[349, 399] = 0.35
    run = RunView("a", examples=[example(words, words[:350], "", attention, -1.0)])
    text = page([run]).replace("</head>", f"{HIDDEN}</head>").replace("</body>", f"{LARGEST}</body>")
    assert browsed(text, tmp_path) == ["00.4 weight"]
