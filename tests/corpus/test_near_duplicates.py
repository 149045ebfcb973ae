"""Near-duplicates against brute force, and what a template leaves out."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.corpus import near_duplicates
from dragoman.corpus.near_duplicates import LEAST, describe_near_duplicates, find_near_duplicates, template
from tests.corpus.test_repeats import write
from tests.corpus.test_translation_memory import similarity

WORDS = "open Open close , file 3 7 the all new".split()
SAME_TEMPLATE = "2 of these are equal except for case, numbers, punctuation and placeholders"
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Open 3 files", "open %d  files."),
        ("Open {count} files", "Open %(count)s files"),
        ("Fichier\u00a0: %s", "fichier"),
        ("“Page” 1,000", "page 2"),
    ],
)
def test_sources_with_one_template(one: str, other: str) -> None:
    assert template(one) == template(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Open files", "Open file"), ("mp3", "mp4"), ("100", "200"), ("%d", "%s"), ("+", "-"), ("बिल", "बोल")],
)
def test_sources_with_two_templates(one: str, other: str) -> None:
    assert template(one) != template(other)


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, max_size=6), st.lists(SENTENCES, max_size=40), st.integers(1, 50))
def test_near_duplicates_are_those_of_brute_force(sources: list[str], training: list[str], portion: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "PORTION", portion)
        near = find_near_duplicates(sources, iter(training))
    for number, source in enumerate(sources):
        scores = [similarity(source, text) for text in training]
        same = [text for text in training if template(text) == template(source)]
        similar = max(scores, default=0) >= LEAST - 1e-9
        assert (number in near) == bool(similar or same)
        if number in near:
            duplicate = near[number]
            assert duplicate.same_template == bool(same)
            assert duplicate.similarity == pytest.approx(
                max(scores) if similar else scores[training.index(duplicate.trained)]
            )
            first = training[max(range(len(scores)), key=lambda place: (round(scores[place], 9), -place))]
            assert duplicate.trained == (first if similar else same[0])


def test_a_long_source_is_compared_by_its_template() -> None:
    long = "open all " * 300
    assert find_near_duplicates([long, "open"], [long.upper() + "9", long + "files", ""]).keys() == {0}


def test_a_report_counts_and_shows_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = write(tmp_path, "train", [("Open 5 files", "x"), ("a b c d e f " * 20, "y"), ("shut", "")])
    pairs: list[tuple[str, ...]]
    pairs = [("close", "zu"), ("Open 5 files", "y"), ("open 3 files!", "z"), ("a b c d e g " * 20, "y"), ("shut", "zu")]
    dev = write(tmp_path, "dev", pairs)
    long = "a b c d e f " * 6 + "a b c d ..."
    assert str(describe_near_duplicates(dev, [train], "en", "de")).splitlines() == [
        "near-duplicates in the training data: 3 of 5 sources, 60.0 %; " + SAME_TEMPLATE,
        '  line 3: "open 3 files!", in training "Open 5 files" (0.54)',
        f'  line 4: "{long.replace("f", "g")}", in training "{long}" (0.87)',
    ]
    monkeypatch.setattr(near_duplicates, "CHECKED", 2)
    report = describe_near_duplicates(dev, train, "en", "de")
    assert str(report) == "near-duplicates in the training data: 0 of 2 sources (a sample of 5), 0.0 %"


def test_of_several_sources_one_is_compared(tmp_path: Path) -> None:
    train = write(tmp_path, "train", [("a", "b", "c")], "src mt pe")
    dev = write(tmp_path, "dev", [("a", "x", "c")], "src mt pe")
    both = "src", "mt"
    assert describe_near_duplicates(dev, train, "src", "pe", sources=both).near == 1
    assert describe_near_duplicates(dev, train, "mt", "pe", sources=both).near == 0
