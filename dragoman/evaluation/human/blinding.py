"""Which sentences are judged, in which order, and under which names nobody can tell the systems."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.errors import UserError
from dragoman.evaluation.human.forms import (
    ERRORS,
    QUESTIONS,
    RANK,
    SEVERITIES,
    VERSION,
    JudgedOutput,
    JudgedSentence,
    Key,
)
from dragoman.text.pretokenizer import punctuation

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese. Each letter can be marked.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def blind(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    questions: Sequence[str],
    categories: Sequence[str],
    *,
    sentences: int | None,
    seed: int,
) -> Key:
    """Draw so many sentences that are not blank (None: all), and shuffle them and the translations of each.

    Equal translations of a sentence are one, which is judged once for all systems that it is from. Names and order
    depend on the seed and on all that is judged, so that no other page has them. Raises UserError if no sentence is
    left.
    """
    drawn = [seed, sentences, list(sources), [(name, list(texts)) for name, texts in systems.items()]]
    generator = random.Random(json.dumps([*drawn, list(questions), list(categories)]))
    page = _id(generator)
    lines = [number for number, source in enumerate(sources) if source.strip()]
    generator.shuffle(lines)
    items: list[JudgedSentence] = []
    for number in lines[:sentences]:
        systems_of: dict[str, list[str]] = {}
        for name, translations in systems.items():
            systems_of.setdefault(translations[number], []).append(name)
        outputs = [JudgedOutput(id=_id(generator), text=text, systems=names) for text, names in systems_of.items()]
        generator.shuffle(outputs)
        items.append(JudgedSentence(id=_id(generator), line=number + 1, source=sources[number], outputs=outputs))
    if not items:
        raise UserError("all sources are blank")
    return Key(
        version=VERSION,
        page=page,
        seed=seed,
        systems=list(systems),
        questions=list(questions),
        categories=list(categories),
        items=items,
    )


def shown(key: Key) -> dict[str, Any]:
    """What the page knows: nothing of systems, lines or the seed."""
    questions = {name: QUESTIONS[name] for name in key.questions if name in QUESTIONS}
    return {
        "version": VERSION,
        "page": key.page,
        "questions": [
            {"name": name, "prompt": prompt, "answers": list(answers.items())}
            for name, (prompt, answers, _) in questions.items()
        ],
        "rank": RANK in key.questions,
        "categories": key.categories if ERRORS in key.questions else [],
        "severities": list(SEVERITIES),
        "items": [
            {
                "id": item.id,
                "source": item.source,
                "outputs": [{"id": output.id, "pieces": pieces(output.text)} for output in item.outputs],
            }
            for item in key.items
        ],
    }


def pieces(text: str) -> list[str]:
    """Split a text into what is between its words and the words that can be marked, in turns, from the former on."""
    parts: list[str] = []
    end = 0
    for first, last in punctuation(text):
        word = text[first:last]
        for begin, part in enumerate(word, first) if _UNSPACED.search(word) else [(first, word)]:
            parts += [text[end:begin], part]
            end = begin + len(part)
    return [*parts, text[end:]]


def _id(generator: random.Random) -> str:
    return f"{generator.getrandbits(64):016x}"
