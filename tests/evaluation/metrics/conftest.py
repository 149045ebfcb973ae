"""Segments to compare metrics with other implementations on."""

import random

import pytest

WORDS = """der die das Häuser Haus läuft laufen über Straße naïve I am we're running runs ran cats the of garden gardens
well-known 3.5 1,000 Москва город на улице ქალაქი हिन्दी में , . ! ? " ( ) – ...""".split()
Segments = tuple[list[str], list[list[str]]]


def _line(source: random.Random) -> list[str]:
    return [source.choice(WORDS) for _ in range(source.randint(1, 25))]


def _edited(line: list[str], source: random.Random) -> list[str]:
    """Words deleted, replaced, said twice, and one phrase moved."""
    tokens: list[str] = []
    for word in line:
        tokens += source.choices([[word], [], [source.choice(WORDS)], [word, word]], [16, 1, 2, 1])[0]
    if source.random() < 0.3 and len(tokens) > 4:
        begin, place = sorted(source.sample(range(len(tokens)), 2))
        tokens = tokens[begin:place] + tokens[:begin] + tokens[place:]
    return tokens or ["x"]


@pytest.fixture(scope="session")
def segments() -> Segments:
    """1,000 random translations, and two references of each."""
    source = random.Random(21)
    lines = [_line(source) for _ in range(1000)]
    references = [[" ".join(_edited(line, source)) for line in lines] for _ in range(2)]
    return [" ".join(_edited(line, source)) for line in lines], references
