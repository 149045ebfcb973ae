"""Prompts of other programs: how they are recognized, and the form of the answers. Their instructions are shortened."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
from dragoman.serving.prompts import PROMPTS, Message, PromptTask, recognize

SEPARATOR = "\n==WEBLATE_PART==\n"
SUBTITLES = "#1\nOriginal>\none two\nTranslation>\n\n\n#12\nSpeaker> 1\nOriginal>\nsix\none\nTranslation>"


def conversation(*contents: str) -> list[Message]:
    """Messages that come from an instruction, the user and the model in turn, the last from the user."""
    roles = ["system"] * (len(contents) % 2 == 0) + ["user", "assistant"] * len(contents)
    return [Message(role, content) for role, content in zip(roles, contents, strict=False)]


def weblate(**values: Any) -> str:
    strings = [{"source": "one @@PH1@@", "context": "menu", "placeholders": {"@@PH1@@": "%s"}}, {"source": "two"}]
    whole = {"source_language": "en", "target_language": "pt_BR", "glossary": [], "strings": strings}
    return json.dumps({**whole, **values})


CASES: dict[str, tuple[list[Message], tuple[str, str], list[str], str]] = {
    "GNU gettext": (conversation("Translate into French:\none two\n"), ("", "French"), ["one two\n"], "<one two\n>"),
    "GNU gettext, with a source": (
        conversation("Translate from English into Chinese (simplified):\n one: two"),
        ("English", "Chinese (simplified)"),
        [" one: two"],
        "< one: two>",
    ),
    "gpt-po": (
        conversation(
            "You translate.",
            'Do.\n\nWait for my incoming message in "en" and translate it into "fr"(a code). A note',
            "Understood.",
            '<translate index="2" context="a "menu"">one\ntwo </translate>\n<translate index="3">a <b> & </translate>',
        ),
        ("en", "fr"),
        ["one\ntwo ", "a <b> & "],
        '<translated index="2"><one\ntwo ></translated>\n<translated index="3"><a <b> & ></translated>',
    ),
    "gpt-po-translator, a list": (
        conversation(
            "CONTEXT: menu\nIMPORTANT: ...\n\nTranslate the following list of texts from English to fr. Keep %s. "
            'Example format: ["Translation 1"]\n\nTexts to translate:\n["one", "caf\\u00e9 \\"two\\""]'
        ),
        ("English", "fr"),
        ["one", 'café "two"'],
        '["<one>", "<café \\"two\\">"]',
    ),
    "gpt-po-translator, a text": (
        conversation(
            "PLURAL FORM: plural\n\nTranslate the following text from English to Brazilian Portuguese. Keep %s. "
            "Here is the text to translate:\none\ntwo"
        ),
        ("English", "Brazilian Portuguese"),
        ["one\ntwo"],
        "<one\ntwo>",
    ),
    "gpt-po-translator, a word": (
        conversation(
            "Translate the following text from English to fr. Keep %s. Here is the text to translate:\n"
            "Translate this single word or short phrase from English to fr. If not, return it unchanged:\none"
        ),
        ("English", "fr"),
        ["one"],
        "<one>",
    ),
    "gpt-po-translator, a long answer": (
        conversation("Translate this text concisely from English to fr. Keep it.\nText to translate:\none"),
        ("English", "fr"),
        ["one"],
        "<one>",
    ),
    "gpt-po-translator, a check": (conversation("Reply with 'ok'"), ("", ""), [], "ok"),
    "i18n-ai-translate": (
        conversation(
            'Translate from English to French.\n\n- Translate each object.\n```json\n[{"id":0,"original":"a"}]',
            '{"items":[]}',
            "Translate from English to French.\n\n- Translate each object in the array.\nAs JSON.\n```json\n"
            '[{"id":7,"original":"one{{NEWLINE}}```","context":""},{"id":8,"original":"{{arg1}}"}]\n```\n',
        ),
        ("English", "French"),
        ["one\n```", "{{arg1}}"],
        '{"items": [{"id": 7, "translated": "<one{{NEWLINE}}```>"}, {"id": 8, "translated": "<{{arg1}}>"}]}',
    ),
    "LLM-Subtrans": (
        conversation("Translate subtitles.", f"Translate these subtitles for A to B to French\n\n{SUBTITLES}\n"),
        ("", "French"),
        ["one two", "six\none"],
        "#1\nTranslation>\n<one two>\n\n#12\nTranslation>\n<six\none>",
    ),
    "LLM-Subtrans, with a context": (
        conversation(
            "--------\nSYSTEM\n--------\n#200\nOriginal>\nx\nTranslation>\ny\n--------\n<context>\nTranslate these\n"
            f"</context>\n\nTranslate these subtitles to French\n\n{SUBTITLES}\n\n\n<summary>S</summary>\n"
        ),
        ("", "French"),
        ["one two", "six\none"],
        "#1\nTranslation>\n<one two>\n\n#12\nTranslation>\n<six\none>",
    ),
    "LLM-Subtrans, once more": (
        conversation(
            f"Translate these subtitles to French\n\n{SUBTITLES}\n",
            "#1\nTranslation>\nun",
            "There were some problems with the translation:\n- A line is missing",
        ),
        ("", "French"),
        ["one two", "six\none"],
        "#1\nTranslation>\n<one two>\n\n#12\nTranslation>\n<six\none>",
    ),
    "subsetzer, cues": (
        conversation(
            "You translate.",
            "Translate the following subtitle cues from en to fr. Keep.\n\nINPUT:\n1|||__TAG0__one__TAG1__\ntwo\n2|||x",
        ),
        ("en", "fr"),
        ["[X1X]one[X2X]\ntwo", "x"],
        "1|||<__TAG0__one__TAG1__\ntwo>\n2|||<x>",
    ),
    "subsetzer, a cue": (
        conversation(
            "Translate the following subtitle cue from auto-detected language to French. Keep it.\n\nPREVIOUS CUE:\nsix"
            "\n\nCURRENT CUE:\none __BR0__\n\ntwo\n\nNEXT CUE:\nthree"
        ),
        ("auto-detected language", "French"),
        ["one [X1X]\n\ntwo"],
        "<translation><one __BR0__\n\ntwo></translation>",
    ),
    "Subtitle Edit": (
        conversation("Translate from English to French, keep punctuation as input, without comments:\n\none:\n\ntwo"),
        ("English", "French"),
        ["one:\n\ntwo"],
        "<one:\n\ntwo>",
    ),
    "transpolibre": (
        conversation(
            "You translate.",
            "/set nothink\nTranslate from English to Greek, Modern (1453-).\nUSE...\nText to translate:\none two",
        ),
        ("English", "Greek, Modern (1453-)"),
        ["one two"],
        "<one two>",
    ),
    "Weblate": (
        conversation("You translate.", weblate(strings=[{"source": "a"}]), '["b"]', weblate()),
        ("en", "pt_BR"),
        ["one [X1X]", "two"],
        '["<one @@PH1@@>", "<two>"]',
    ),
    "Weblate, with separators": (
        conversation("Adept at translating text\nfrom language 'en'\nto language 'fr'\n", f"one{SEPARATOR}two\n"),
        ("en", "fr"),
        ["one", "two\n"],
        f"<one>{SEPARATOR}<two\n>",
    ),
    "Weblate, rephrasing": (
        conversation(
            "Adept at translating text\nfrom language 'en'\nto language 'fr'\nYou receive existing translation strings",
            f"one{SEPARATOR}un",
        ),
        ("en", "fr"),
        ["one"],
        "<one>",
    ),
}


def bracketed(texts: Sequence[str]) -> list[str]:
    return [f"<{text}>" for text in texts]


@pytest.mark.parametrize("case", CASES)
def test_texts_and_languages_are_found_and_answers_have_the_form_of_the_client(case: str) -> None:
    messages, (source, target), texts, answer = CASES[case]
    task = recognize(messages)
    assert task is not None
    assert (task.texts, task.source, task.target) == (texts, source, target)
    assert task.write(bracketed(texts)) == answer


def test_every_client_has_a_case() -> None:
    assert {case.partition(",")[0] for case in CASES} == {*PROMPTS}


def test_terms_of_weblate_are_terms() -> None:
    """In older versions they are an object."""
    entries = [{"source": "one", "target": "uno", "flags": ["terminology"]}, {"source": " ", "target": "x"}]
    for glossary in (entries, {"one": "uno"}):
        task = recognize(conversation(weblate(glossary=glossary)))
        assert task is not None
        assert [(term.source, term.forms) for term in task.terms.terms] == [("one", ("uno",))]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "Hello",
        "Translate this: one two",
        "Translate into French",
        "Translate the following list of texts from English to fr. Keep.\n\nTexts to translate:\n{}",
        "Translate the following list of texts from English to fr. Keep.\n\nTexts to translate:\n[1]",
        "Translate the following list of texts from English to fr. Keep.\n\nTexts to translate:\n" + "[" * 9999,
        "Translate these subtitles to French\n\n#1\none",
        "Translate these subtitles\n\n#1\nOriginal>\none\nTranslation>",
        "Translate the following subtitle cues from en to fr. Keep.\n\none",
        f"Translate into {'x' * 90}:\none",
        "Translate from English to French.\n\n- Translate each object\n```json\n[{}]\n```\n",
        "Check translations from English to French.\n\n```json\n[]\n```\n",
        weblate(strings=[{"text": "one"}]),
        weblate(strings="one"),
        weblate(target_language=1),
        '{"source_language": "en", "target_language": "fr", "units": []}',
        "There were some problems with the translation",
    ],
)
def test_other_prompts_are_not_recognized(content: str) -> None:
    assert recognize(conversation(content)) is None


def test_a_conversation_without_texts_is_not_recognized() -> None:
    """Of gpt-po, whose texts are in the last message."""
    *before, _ = CASES["gpt-po"][0]
    for content in ("one", '<translate index="1">one', '<translate index="1">one</translate> two', ""):
        assert recognize([*before, Message("user", content)]) is None
    assert recognize([]) is None


@given(st.lists(st.sampled_from(list(CASES)), min_size=1, max_size=3), st.text(max_size=30), st.integers(0, 300))
def test_damaged_prompts_do_no_harm(cases: list[str], text: str, place: int) -> None:
    """What is recognized has as many translations as texts in its answer."""
    messages = [message for case in cases for message in CASES[case][0]]
    last = messages[-1].content
    task = recognize([*messages[:-1], Message("user", last[:place] + text + last[place:])])
    if task is not None:
        assert isinstance(task, PromptTask)
        assert isinstance(task.write(bracketed(task.texts)), str)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "Translate from ",
        "Translate from a to b to ",
        "Translate ",
        '<translate index="1">',
        '<translate index="1" context="',
        "</translate>\n",
        "#1\nOriginal>\n",
        "\nTranslation>\n",
        "|||",
        "1|||\n",
        "\n",
        " to ",
        '{"strings": ',
    ],
)
def test_the_time_is_linear_in_the_length_of_a_prompt(piece: str) -> None:
    body = piece * (200_000 // len(piece))
    began = time.perf_counter()
    for opening in ("", *(messages[-1].content[:150] for messages, *_ in CASES.values())):
        recognize([*CASES["gpt-po"][0][:-1], Message("user", opening + body)])
    assert time.perf_counter() - began < 10
