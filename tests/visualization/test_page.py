"""The report in a browser: with a pointer, with the keyboard alone, on a phone, and as axe-core sees it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import inspection, reporting
from dragoman.configuration.components import Spec
from dragoman.reporting import TranslatedRun
from dragoman.run.run import Run
from dragoman.translation import loading
from dragoman.visualization.explained import BeamNode
from dragoman.visualization.report import Report, RunView, page
from dragoman.visualization.report_tables import GroupRow, Groups, ScoreCell, Scores
from dragoman.visualization.scale import scale_top
from dragoman.visualization.sentences import ReportSentence, SentenceMetric
from tests import toy
from tests.browser import Browser

pytestmark = pytest.mark.slow

NASTY = "</script><b>bold</b> & <img src=x>"
METRICS = [{"step": step, "epoch": 1, "valid/bleu": step / 10, "train/loss": 9 - step / 100} for step in (100, 200)]
MEASURES = [SentenceMetric("BLEU", True), SentenceMetric("TER", False)]
TEXTS = [  # source, reference, translations and their values by the two systems
    ("The cat sleeps", "Le chat dort", ("Le chat dort", 90, 10), ("Un chat dort", 60, 40)),
    ("A dog", "Un chien", ("Un chien", 80, 20), ("Un chat", 5, 95)),
    (NASTY, "rien", ("rien", 10, 90), ("rien du tout", 15, 85)),
    ("قطة تنام", "cat sleeps", ("cat sleeps", 40, 60), ("sleeps", 35, 65)),
]


BEAM = [  # Le chat ✔, Le chien …, Un ✗
    BeamNode(None, "Le", "Le", -0.1, -0.1, 1, "continued"),
    BeamNode(None, "Un", "Un", -3.0, -3.0, 1, "pruned"),
    BeamNode(0, " chat", " chat", -0.2, -0.3, 2, "continued"),
    BeamNode(0, " chien", " chien", -2.0, -2.1, 2, "open"),
    BeamNode(2, "</s>", "", -0.1, -0.4, 3, "finished", -0.13),
]


def example(text: tuple[Any, ...], system: int, number: int) -> ReportSentence:
    source, reference, (output, bleu, ter) = text[0], text[1], text[2 + system]
    words, target = source.split(), output.split()
    weights = np.full((len(target), len(words)), 0.1)
    for t in range(len(target)):
        weights[t, min(t, len(words) - 1)] = 0.7 - 0.2 * system
    first = system == number == 0
    return ReportSentence(
        words,
        target,
        reference,
        weights,
        -1.0 - number,
        [(1, 1)] if first else None,
        [(output, -1.0), ("autre", -2.0)] if first else (),
        texts=[("en", source)],
        target_text=output,
        alignment=[(min(t, len(words) - 1), t) for t in range(len(target))],
        values=[float(bleu), float(ter)],
        maps={"contrast": -weights} if first else {},
        confidence=[0.25, 0.5, 1.0] if first else None,
        contrast=[["instead", "log P", "erasure"], ["chat / chien", "+2.50", "cat +2.00"]] if first else (),
        nearest=[("Le chien dort", 0.75, "The dog sleeps")] if first else (),
        beam=BEAM if first else (),
    )


def view(name: str, system: int) -> RunView:
    examples = [example(text, system, number) for number, text in enumerate(TEXTS)]
    return RunView(name, f"seed: {system}\n", [("languages", "en to fr")], METRICS, examples)


CELLS = [(0, ScoreCell(31.2, 30.0, 32.0)), (1, ScoreCell(29.0, 28.0, 30.0, 0.004, "**", -2.2))]
REPORT = Report(
    [view("runs/one", 0), view("runs/other", 1)],
    [Scores("BLEU", CELLS, [("copying en", 3.0)], ["nrefs:1"], True)],
    [Scores("Perplexity", CELLS[:1], (), ["unit:word"], False)],
    [Groups("BLEU by length of the source", "Words", "Sentences", [GroupRow("1-2", 4, CELLS)])],
    MEASURES,
)


@pytest.fixture(scope="module")
def whole() -> str:
    return page(REPORT)


def order(browser: Browser) -> list[str]:
    return browser.texts("#list .source")


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose an option by its text, as a reader would."""
    from selenium.webdriver.support.select import Select

    Select(browser.find(f"#{name}")).select_by_visible_text(value)


def test_a_sentence_opens_to_its_texts_and_the_weights_of_a_word(browser: Browser, whole: str) -> None:
    browser.open(whole)
    assert browser.texts(".texts dd") == ["The cat sleeps", "Le chat dort"]
    browser.driver.find_elements("css selector", "#list button")[1].click()
    assert browser.texts(".texts dd") == ["A dog", "Un chien"]
    assert browser.texts(".said") == ["Un chien", "Un chat"]
    assert browser.texts(".said .other") == ["chat"]  # which the reference has not
    words = browser.driver.find_elements("css selector", "[aria-label='Words of the translation'] .word")
    words[1].click()
    assert browser.texts("[aria-label='Words of the source'] .word small") == [".10", ".70"]
    assert browser.texts("#weights output")[0] == "chien ← dog 0.70, A 0.10"
    browser.driver.find_elements("css selector", "[aria-label='Words of the source'] .word")[0].click()
    assert browser.texts("[aria-label='Words of the translation'] .word small") == [".70", ".10"]
    assert browser.texts("#weights output")[0] == "A → Un 0.70, chien 0.10"


def test_the_cells_of_the_matrix_are_numbers_under_the_words(browser: Browser, whole: str) -> None:
    browser.open(whole)
    assert browser.texts(".heat thead th") == ["The", "cat", "sleeps"]
    assert browser.texts(".heat tbody th") == ["Le", "chat", "dort"]
    assert browser.texts(".heat tbody td") == [".70", ".10", ".10", ".10", ".70", ".10", ".10", ".10", ".70"]
    browser.run("document.querySelector('.heat').focus()")
    browser.press("ARROW_RIGHT", "ARROW_DOWN", "ARROW_RIGHT")
    assert browser.texts("#weights output")[1] == "cat → chat 0.70, gold link"
    assert browser.find(".heat td.on").text == ".70"


def test_another_system_and_another_map_are_chosen(browser: Browser, whole: str) -> None:
    browser.open(whole)
    assert browser.find("#weights h4").text == "Attention of one"
    browser.driver.find_elements("css selector", ".system input")[1].click()
    assert browser.find("#weights h4").text == "Attention of other"
    assert browser.texts(".heat tbody td")[0] == ".50"
    browser.find(".turn.after").click()  # the system stays chosen
    assert browser.find("#weights h4").text == "Attention of other"
    browser.find(".turn.before").click()
    browser.driver.find_elements("css selector", ".system input")[0].click()
    choose(browser, "map", "contrast")
    assert browser.find("#weights h4").text == "Contrast of one"
    assert browser.texts(".heat tbody td.against")[:3] == ["−.70", "−.10", "−.10"]
    assert browser.focused.get_attribute("id") == "map"


@pytest.mark.parametrize("largest", [0.0, 0.003, 0.034, 0.31, 1.0, 1.7, 12.34])
def test_the_scale_ends_where_that_of_a_picture_does(browser: Browser, largest: float) -> None:
    seen = ReportSentence(["a", "b"], ["c"], None, [[-1e-9, largest]], -1.0, texts=[("en", "a b")], target_text="c")
    browser.open(page(Report([RunView("a", examples=[seen])])))
    top = scale_top(np.array(seen.attention))
    assert browser.find(".scale").text.split()[-1].startswith(f"{top:.{2 if top < 0.1 else 1}f}")


@pytest.mark.parametrize("shares", [(), (0, 3)])
def test_the_alignment_has_the_numbers_of_words(browser: Browser, shares: tuple[int, ...]) -> None:
    """Also where columns are no words: those of a source as a whole, and of a sentinel."""
    first, words = len(shares[:1]), ["a", "dog"]
    columns = ["[en]", *words, "[sentinel]"] if shares else words
    attention = np.eye(2, len(columns), first)
    linked = [(first, 0), (first + 1, 1)]
    seen = ReportSentence(
        *(columns, ["un", "chien"], None, attention, -1.0, None, (), shares),
        texts=[("en", "a dog")],
        target_text="un chien",
        alignment=linked,
    )
    browser.open(page(Report([RunView("a", examples=[seen])])))
    browser.find("#weights summary").click()
    assert browser.texts("#weights details[open] tr") == ["a → un 1.00", "dog → chien 1.00"]
    assert browser.texts("#weights details[open] code") == ["0-0 1-1"]
    browser.open(page(Report([RunView("a", examples=[replace(seen, alignment=())])])))
    assert browser.texts("#weights summary") == []


def test_confidence_is_told_in_words(browser: Browser, whole: str) -> None:
    browser.open(whole)
    browser.find("[aria-label='Words of the translation'] .word").click()
    assert browser.texts("#weights output")[0].endswith("; confidence 0.25")
    assert "low confidence" in browser.find(".scale").text


def test_why_not_the_reference_what_is_similar_and_the_search_are_opened(browser: Browser, whole: str) -> None:
    browser.open(whole)
    *_, why, similar, search = browser.driver.find_elements("css selector", "#weights summary")
    assert search.text == "Search: 5 hypotheses, up to 2 at a time, 1 finished, 1 pruned, 1 open"
    for element in (why, similar, search):
        element.click()
    rows = browser.texts("#weights details[open] tr")
    assert rows == [
        "instead log P erasure",
        "chat / chien +2.50 cat +2.00",
        "similar source translation",
        "0.75 The dog sleeps Le chien dort",
    ]
    lines = browser.driver.find_elements("css selector", ".tree li")
    assert [(element.get_attribute("aria-level"), element.text.replace("\n", " ")) for element in lines] == [
        ("1", "Le"),
        ("2", "chat ✔ finished −0.13"),
        ("2", "chien … open −2.10"),
        ("1", "Un ✗ pruned −3.00"),
    ]
    assert lines[1].location["x"] == lines[0].location["x"]
    indents = [
        browser.run("return parseFloat(getComputedStyle(arguments[0]).paddingLeft)", element) for element in lines
    ]
    assert indents[0] < indents[1] == indents[2]


def test_sentences_are_sorted_by_any_measure_of_any_system(browser: Browser, whole: str) -> None:
    browser.open(whole)
    cat, dog, nasty, arabic = (text[0] for text in TEXTS)
    assert order(browser) == [cat, dog, nasty, arabic]
    choose(browser, "order", "worst first")
    assert order(browser) == [nasty, arabic, dog, cat]
    choose(browser, "system", "other")
    assert order(browser) == [dog, nasty, arabic, cat]
    choose(browser, "measure", "TER")
    choose(browser, "order", "best first")
    assert order(browser) == [cat, arabic, nasty, dog]
    choose(browser, "order", "largest difference first")
    choose(browser, "system", "one")
    assert order(browser) == [dog, cat, nasty, arabic]  # 75, 30, 5 and 5 apart
    assert browser.texts("#list .figures b") == ["−75.00", "−30.00", "+5.00", "−5.00"]
    choose(browser, "order", "most behind first")
    assert order(browser) == [nasty, arabic, cat, dog]
    choose(browser, "order", "lowest model score first")
    assert order(browser) == [arabic, nasty, dog, cat]
    choose(browser, "order", "longest first")
    assert order(browser)[0] == nasty


def test_sentences_are_filtered_by_words(browser: Browser, whole: str) -> None:
    browser.open(whole)
    search = browser.find("#search")
    for words, expected in {
        "CHAT": ["The cat sleeps", "A dog"],
        "chat dort": ["The cat sleeps"],
        '"chat dort" -un': [],
        "un -dort": ["A dog"],
        "-chat": [NASTY, "قطة تنام"],
    }.items():
        search.clear()
        search.send_keys(words)
        assert order(browser) == expected, words
    search.clear()
    search.send_keys("chat")
    assert browser.find("#count").text == "2 of 4 sentences, BLEU of each"
    assert set(browser.texts("#shown mark")) == {"chat"}
    search.send_keys("xyz")
    assert browser.texts("#list li") == ["No sentence has these words."]
    assert browser.texts("#shown *") == []


def tab(browser: Browser, selector: str, *, back: bool = False) -> None:
    """Press Tab, or Shift and Tab, until what is selected has the focus."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    for _ in range(60):
        keys = ActionChains(browser.driver)
        (
            keys.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT) if back else keys.send_keys(Keys.TAB)
        ).perform()
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
    pytest.fail(f"{selector} is not reached with Tab")


def test_everything_is_reached_with_the_keyboard_alone(browser: Browser, whole: str) -> None:
    browser.open(whole)
    browser.press("TAB")
    assert browser.focused.text == "Skip to the content"
    browser.press("ENTER")
    tab(browser, "#search")
    browser.press("chat", "TAB", "w")  # the order: worst first
    assert order(browser) == ["A dog", "The cat sleeps"]
    tab(browser, "#search", back=True)
    browser.press("ARROW_DOWN")
    browser.press("ARROW_DOWN")
    assert browser.find("#shown h3").text == "Sentence 1"
    assert browser.focused.get_attribute("aria-current") == "true"
    seen = []
    for _ in range(12):
        browser.press("TAB")
        seen.append(browser.focused.get_attribute("class") or browser.focused.get_attribute("name"))
    assert [label.split()[0] for label in seen if label].count("word") == 2  # a stop for each line of words
    assert "heat" in seen
    tab(browser, ".system input", back=True)
    browser.press("ARROW_DOWN")
    assert browser.find("#weights h4").text == "Attention of other"
    tab(browser, "[aria-label='Words of the source'] .word")
    browser.press("END")
    assert browser.texts("#weights output")[0].startswith("sleeps → dort 0.50")
    browser.press("ARROW_DOWN")
    assert browser.focused.get_attribute("class").split()[0] == "word"
    assert browser.texts("#weights output")[0].startswith("Un ← The 0.50")
    tab(browser, ".heat")
    browser.press("ARROW_RIGHT", "ARROW_DOWN")
    assert browser.find(".heat td.on").text == ".10"
    tab(browser, ".system input", back=True)
    browser.press("ARROW_UP")
    tab(browser, "#weights summary")
    browser.press("ENTER")
    assert browser.texts("#weights details[open] tr")


def test_right_to_left_text_runs_from_the_right(browser: Browser, whole: str) -> None:
    browser.open(whole)
    browser.driver.find_elements("css selector", "#list button")[3].click()
    direction = "return getComputedStyle(document.querySelector(arguments[0])).direction"
    assert browser.run(direction, ".texts dd") == "rtl"
    assert browser.run(direction, "[aria-label='Words of the source']") == "rtl"
    assert browser.run(direction, "[aria-label='Words of the translation']") == "ltr"
    assert browser.run(direction, ".heat") == "rtl"
    first, second = browser.driver.find_elements("css selector", "[aria-label='Words of the source'] .word")
    assert first.location["x"] > second.location["x"]
    first.click()
    browser.press("ARROW_LEFT")
    assert browser.focused == second
    browser.run("document.querySelector('.heat').focus()")
    browser.press("ARROW_LEFT", "ARROW_LEFT")
    assert "\N{FIRST STRONG ISOLATE}تنام\N{POP DIRECTIONAL ISOLATE} → cat 0.10" in browser.texts("#weights output")[1]


def test_texts_are_shown_as_they_are(browser: Browser, whole: str) -> None:
    browser.open(whole)
    browser.driver.find_elements("css selector", "#list button")[2].click()
    assert browser.texts(".texts dd")[0] == NASTY
    assert browser.driver.find_elements("css selector", "img, #shown .said b") == []


def test_on_a_phone_a_sentence_takes_the_place_of_the_list(browser: Browser, whole: str) -> None:
    browser.open(whole, 360, 740)
    assert browser.texts("#shown h3") == []
    browser.driver.find_elements("css selector", "#list button")[1].click()
    assert browser.texts("#shown h3") == ["Sentence 2"]
    assert order(browser) == []
    browser.find(".turn.after").click()
    assert browser.texts("#shown h3") == ["Sentence 3"]
    browser.find(".turn.back").click()
    assert len(order(browser)) == 4
    assert browser.focused.text.startswith("</script>")
    assert browser.run("return document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_axe_finds_nothing(browser: Browser, whole: str, width: int, dark: bool) -> None:
    browser.open(whole, width, dark=dark)
    assert browser.problems() == []
    browser.run("document.querySelector('#list button').click()")
    browser.run("document.querySelectorAll('.words .word')[1].focus()")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.problems() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_many_sentences_are_listed_as_they_are_looked_at(browser: Browser) -> None:
    examples = [example((f"{TEXTS[0][0]} {number}", *TEXTS[0][1:]), 0, 1) for number in range(350)]
    browser.open(page(Report([RunView("a", examples=examples)], measures=MEASURES)))
    listed = "return document.querySelectorAll('#list button').length"
    assert browser.run(listed) == 100
    browser.run("document.getElementById('list').scrollTop = 1e6")
    browser.driver.implicitly_wait(5)
    browser.find("#list li:nth-child(150)")
    browser.driver.implicitly_wait(0)
    browser.driver.find_elements("css selector", "#list button")[0].click()
    browser.press("END")
    assert browser.run(listed) == 350
    assert browser.focused.text.startswith("The cat sleeps 349")


def test_the_matrix_of_a_long_sentence_is_drawn_when_it_is_asked_for(browser: Browser) -> None:
    """Of more weights than a call can have arguments."""
    words, attention = ["a"] * 400, np.full((350, 400), 0.002)
    attention[349, 399] = 0.35
    long = ReportSentence(words, words[:350], None, attention, -1.0, texts=[("en", "a")], target_text="a")
    browser.open(page(Report([RunView("a", examples=[long])])))
    assert browser.driver.find_elements("css selector", ".heat") == []
    assert browser.texts("#weights summary")[0] == "Matrix of 350 by 400 words"
    browser.driver.find_elements("css selector", ".words .word")[399].click()
    assert browser.texts("#weights output")[0] == "a → a 0.35"


def test_runs_of_a_model_are_a_page_without_requests(
    browser: Browser, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From a trained model to the page: two searches of it, which say other words."""
    run = Run.load(toy.trained(tmp_path_factory.getbasetemp()))
    model, pairs = loading.load(run.folder.path), toy.pairs(30, 9)
    sentences, _ = inspection.translated(model, pairs)
    model.search = Spec("sample", {"temperature": 3.0})
    other_sentences, _ = inspection.translated(model, pairs)
    reporting.write_page(tmp_path / "page.html", [TranslatedRun(run, sentences), TranslatedRun(run, other_sentences)])
    text = (tmp_path / "page.html").read_text("utf-8")
    for width in (360, 1400):
        browser.open(text, width)
        assert browser.problems() == []
        assert [re.sub(".*/", "", entry) for entry in browser.requests() if entry != "about:blank"] == ["page.html"]
    assert browser.find("#count").text == "30 sentences, chrF2 of each"
    assert browser.texts(".texts dd") == list(pairs[0])
    seen = sentences.examples[0]
    shown = [float(f"0{text}") if text else 0.0 for text in browser.texts(".heat tbody td")]
    np.testing.assert_allclose(np.reshape(shown, np.shape(seen.attention)), np.asarray(seen.attention), atol=0.0052)
    place = next(
        n
        for n, (one, other) in enumerate(zip(sentences.examples, other_sentences.examples, strict=True))
        if one.target_text != other.target_text and one.target_text and other.target_text
    )
    browser.driver.find_elements("css selector", "#list button")[place].click()
    for number, entry in enumerate((sentences.examples[place], other_sentences.examples[place])):
        browser.driver.find_elements("css selector", ".system input")[number].click()
        assert browser.texts("[aria-label='Words of the translation'] .word") == list(entry.target)


def test_a_thousand_sentences_of_two_systems_are_a_page_to_work_with(browser: Browser) -> None:
    """Of 25 words each, with four translations: less than 8 MB, and a list to work with within a second."""
    drawn = np.random.default_rng(1)

    def sentence(number: int) -> ReportSentence:
        words = [f"word{number % 97}of{place}" for place in range(25)]
        weights, text = drawn.dirichlet(np.full(25, 0.1), 25), " ".join(words)
        best = [(f"{text} {rank}", -float(rank)) for rank in range(4)]
        values = [float(number % 100)] * 2
        return ReportSentence(
            words, words, text, weights, -9.0, None, best, texts=[("en", text)], target_text=text, values=values
        )

    views = [RunView(name, examples=[sentence(number) for number in range(1_000)]) for name in ("one", "other")]
    html = page(Report(views, measures=MEASURES))
    assert len(html.encode()) < 8_000_000
    browser.open(html)
    ready = "const [it] = performance.getEntriesByType('navigation'); return it.domContentLoadedEventEnd / 1000"
    assert browser.run(ready) < 10  # seconds, on a busy machine; docs/report.md has what it takes on an idle one
    assert browser.find("#count").text.startswith("1,000 sentences")
