"""Markdown whose texts are translated."""

import random
import re
import time

import numpy as np
import pytest

pytest.importorskip("tree_sitter_markdown")
from markdown_it import MarkdownIt

from dragoman.documents.document import File
from dragoman.documents.markdown import Markdown
from dragoman.documents.passages import split_text
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.translation import Translation
from tests.documents.speaking import Say, backwards, nothing, same, spoken


def written(text: str, say: Say = backwards) -> str:
    return spoken(Markdown(File("x.md", text.encode(), ("en", "fr"))), say).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two\n", "TWO ONE\n"),
        ("# one two #\n", "# TWO ONE #\n"),
        ("one two\n===\n\nsix\n---\n", "TWO ONE\n===\n\nSIX\n---\n"),
        ("one\ntwo\n", "TWO ONE\n"),
        ("one *two* six\n", "SIX *TWO* ONE\n"),
        ("**one** two __six *nine*__\n", "__*NINE* SIX__ TWO **ONE**\n"),
        ("one [two](http://x.y 'six') nine\n", "NINE [TWO](http://x.y 'six') ONE\n"),
        ("one `two six` nine\n", "NINE `two six` ONE\n"),
        ("one <http://x.y> nine\n", "NINE <http://x.y> ONE\n"),
        ("one ![two](x.png) nine\n", "![two](x.png) NINE ONE\n"),
        ("one <b>two</b> nine\n", "NINE <b>TWO</b> ONE\n"),
        ("one &amp; two\n", "TWO & ONE\n"),
        ("one \\* two\n", "TWO \\* ONE\n"),
        ("one  \ntwo\\\nsix seven\n", "ONE  \nTWO\\\nSEVEN SIX\n"),
        ("- one two\n- [ ] six\n  1. nine\n", "- TWO ONE\n- [ ] SIX\n  1. NINE\n"),
        ("> one\n> two\n> - six\n", "> TWO ONE\n> - SIX\n"),
        ("| one two | six |\n|---|:-:|\n| **nine** | 1 |\n", "| TWO ONE | SIX |\n|---|:-:|\n| **NINE** | 1 |\n"),
        ("```py\none\n```\n\n    two\n\nsix\n", "```py\none\n```\n\n    two\n\nSIX\n"),
        ("---\ntitle: one\n---\n\ntwo\n", "---\ntitle: one\n---\n\nTWO\n"),
        ("<div>\none <b>two</b>\n</div>\n\nsix\n", "<div>\n<b>TWO</b> ONE\n</div>\n\nSIX\n"),
        ("[one]: http://x.y\n\ntwo [one] [One][] [two][one]\n",
         "[one]: http://x.y\n\n[TWO][one] [ONE][One] [ONE][one] TWO\n"),
        ("one [two] six\n", "SIX \\[TWO] ONE\n"),
        ("one two[^1]\n\n[^1]: six nine\n", "TWO[^1] ONE\n\n[^1]: NINE SIX\n"),
        ("> [!NOTE]\n> one two\n", "> [!NOTE]\n> TWO ONE\n"),
        ("one $x^2$ two\n", "TWO $x^2$ ONE\n"),
        ("one ~~two~~\n", "~~TWO~~ ONE\n"),
        ("one two<br>six nine\n", "TWO ONE<br>NINE SIX\n"),
        ("one <me@x.y> two<br>six nine\n", "TWO <me@x.y> ONE<br>NINE SIX\n"),
        ("> one two<br />\n> six nine\n", "> TWO ONE<br />\n> NINE SIX\n"),
        ("| one two<br>six nine | ten |\n|---|---|\n", "| TWO ONE<br>NINE SIX | TEN |\n|---|---|\n"),
        ("one **two<br>six** nine\n", "NINE **<br>SIX TWO** ONE\n"),
        ("one <i>two<br>six</i> nine\n", "NINE <i><br>SIX TWO</i> ONE\n"),
        ("one <kbd>two<br>six</kbd> nine\n", "NINE <kbd>two<br>six</kbd> ONE\n"),
        ("one <kbd>two six</kbd> nine\n", "NINE <kbd>two six</kbd> ONE\n"),
        ("one <i translate='no'>two <b>six</b></i> nine\n", "NINE <i translate='no'>two <b>six</b></i> ONE\n"),
        ("[one two]: http://x.y\n\nsix [one\ntwo] nine\n", "[one two]: http://x.y\n\nNINE [TWO ONE][one two] SIX\n"),
        ("***\n", "***\n"),
        ("1234\n", "1234\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_layout_comes_through(text: str, expected: str) -> None:
    assert written(text) == expected
    assert written(text, nothing) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('!!! note "one two"\n    six nine\n\nten one\n', '!!! note "TWO ONE"\n    NINE SIX\n\nONE TEN\n'),
        ("!!! note\n\n    one two\n\n    - six nine\n\n        ten one\n\n    a b\n",
         "!!! note\n\n    TWO ONE\n\n    - NINE SIX\n\n        ONE TEN\n\n    B A\n"),
        ('??? tip "one"\n    two six\n    nine\n', '??? tip "ONE"\n    NINE SIX TWO\n'),
        ('=== "one two"\n\n    six nine\n', '=== "TWO ONE"\n\n    NINE SIX\n'),
        ('!!! note "a"\n    one two\n\n    !!! tip inline "b c"\n        six nine\n\n    ten one\n',
         '!!! note "A"\n    TWO ONE\n\n    !!! tip inline "C B"\n        NINE SIX\n\n    ONE TEN\n'),
        ('!!! note\n    one\n\n    !!! tip\n        two\n\n    six\n\n        !!! note "one two"\n',  # is code there
         '!!! note\n    ONE\n\n    !!! tip\n        TWO\n\n    SIX\n\n        !!! note "one two"\n'),
        ("!!! note\n    one two\n\n    ```\n    six nine\n    ```\n\n        ten one\n",
         "!!! note\n    TWO ONE\n\n    ```\n    six nine\n    ```\n\n        ten one\n"),
        ("- one\n\n    !!! note\n        two six\n", "- ONE\n\n    !!! note\n        SIX TWO\n"),
        (":::tip\none two\n:::\n", ":::tip\nTWO ONE\n:::\n"),
        (":::tip[one two]\n\nsix nine\n\n:::\n", ":::tip[TWO ONE]\n\nNINE SIX\n\n:::\n"),
        ("::: tip one two\nsix nine\n:::\n", "::: tip TWO ONE\nNINE SIX\n:::\n"),
        ("::: {.note #a}\none two\n::::\n", "::: {.note #a}\nTWO ONE\n::::\n"),
        ("## one two { #one .wide }\n", "## TWO ONE { #one .wide }\n"),
        ("one two\n{: .note }\n", "TWO ONE\n{: .note }\n"),
        ("{: .note }\none two\n", "{: .note }\nTWO ONE\n"),
        ("one [two](x){ .wide } *six*{: #a} nine\n", "NINE *SIX*{: #a} [TWO](x){ .wide } ONE\n"),
        ("one [two six]{.small} nine\n", "NINE [SIX TWO]{.small} ONE\n"),
        ("one {name} two\n", "TWO {NAME} ONE\n"),
        ('import Tabs from "x";\nimport {\n  a,\n} from "y"\n\none two\n',
         'import Tabs from "x";\nimport {\n  a,\n} from "y"\n\nTWO ONE\n'),
        ("export const one = {\n  two: 1,\n};\n\nsix nine\n", "export const one = {\n  two: 1,\n};\n\nNINE SIX\n"),
        ("export default function X() {\n\n  return 1\n}\n\nsix nine\n",
         "export default function X() {\n\n  return 1\n}\n\nNINE SIX\n"),
        ("export const x = () => {\n  a('{')\n\n    if (b) {\n\n  one two\n    }\n\n  one \"(\" // {\n}\n\nsix nine\n",
         "export const x = () => {\n  a('{')\n\n    if (b) {\n\n  one two\n    }\n\n  one \"(\" // {\n}\n\nNINE SIX\n"),
        ("export const one = {\n\n# six nine\n\nten one\n", "export const one = {\n\n# NINE SIX\n\nONE TEN\n"),
        ("import a, {b as c} from 'x'\nimport * as d from \"y\";\nimport 'z'\nimport type {A} from 'x'\n\none two\n",
         "import a, {b as c} from 'x'\nimport * as d from \"y\";\nimport 'z'\nimport type {A} from 'x'\n\nTWO ONE\n"),
        ("import the file from 'Downloads'\n", "'DOWNLOADS' FROM FILE THE IMPORT\n"),
        ("- ```\n  one\n\n:::tip[one two]\nsix\n:::\n", "- ```\n  one\n\n:::tip[TWO ONE]\nSIX\n:::\n"),
        ("1. one two\n   - six\n\n   ```\n   one two\n\n!!! note \"one two\"\n",
         "1. TWO ONE\n   - SIX\n\n   ```\n   one two\n\n!!! note \"TWO ONE\"\n"),
        ("> ```\n> one\n\n:::tip[one two]\nsix\n:::\n", "> ```\n> one\n\n:::tip[TWO ONE]\nSIX\n:::\n"),
        ("> ```\n> one\n\n> one two\n>\n> :::tip[one two]\n> six\n> :::\n",
         "> ```\n> one\n\n> TWO ONE\n>\n> :::tip[TWO ONE]\n> SIX\n> :::\n"),
        ("- ```\n  one\n\n  :::tip[one two]\n  ```\n", "- ```\n  one\n\n  :::tip[one two]\n  ```\n"),
        ("import one\n\nexport two from six\n", "ONE IMPORT\n\nSIX FROM TWO EXPORT\n"),
        ("one\n:   two six\n\n    nine ten\n\none two\n", "ONE\n:   SIX TWO\n\n    TEN NINE\n\nTWO ONE\n"),
        ("one two\n\n*[HTML]: six nine\n", "TWO ONE\n\n*[HTML]: NINE SIX\n"),
        ("one [[two six]] nine\n", "NINE [[two six]] ONE\n"),
        ("[toc]\n\n[TOC]\n\n[[_TOC_]]\n\none two\n", "[toc]\n\n[TOC]\n\n[[_TOC_]]\n\nTWO ONE\n"),
        ("one two\n\\newpage\nsix nine\n", "TWO ONE\n\\newpage\nNINE SIX\n"),
        ("one \\textbf{two six} nine\n", "NINE \\textbf{two six} ONE\n"),
        ('{{< note "a b" >}}\none two\n{{< /note >}}\n', '{{< note "a b" >}}\nTWO ONE\n{{< /note >}}\n'),
        ("one {{< ref two >}} six {% raw %} nine\n", "NINE {% raw %} SIX {{< ref two >}} ONE\n"),
        ('```\n!!! note "one"\n    two\n:::tip[six nine]\n```\n',
         '```\n!!! note "one"\n    two\n:::tip[six nine]\n```\n'),
        ("one\n\n    :::tip[six nine]\n", "ONE\n\n    :::tip[six nine]\n"),
        ("> :::tip\n> one two\n> :::\n", "> :::tip\n> TWO ONE\n> :::\n"),
        ('!!! note "one two"\r\n    six nine\r\n\r\nten one\r\n',
         '!!! note "TWO ONE"\r\n    NINE SIX\r\n\r\nONE TEN\r\n'),
    ],
)  # fmt: skip
def test_extensions_of_markdown_stay_and_their_texts_are_translated(text: str, expected: str) -> None:
    assert written(text) == expected
    assert written(text, nothing) == text


def test_quotation_marks_in_the_title_of_an_admonition_are_entities() -> None:
    document = Markdown(File("x.md", b'!!! note "one"\n', ("en", "fr")))
    assert document.written([same('a "b" c')]) == b'!!! note "a &quot;b&quot; c"\n'


def first_word(text: str) -> TranslatedText:
    passage, words = split_text(text, "en", sentences=False), text.split()
    seen = SourceAttention("en", text, words, np.eye(1, len(words)), np.ones(1))
    return TranslatedText(passage, (TranslatedSentence("ONE", Translation((seen,), "ONE", ["ONE"], -1.0, -1.0, ())),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one *two*\n", "ONE\n"),
        ("**one** ***two*** six\n", "**ONE**\n"),
        ("one *two*{.b} six\n", "ONE\n"),
        ("*one*{.a} **two**{#b .c} six\n", "*ONE*{.a}\n"),
        ("one [two]{.b} six\n", "ONE[]{.b}\n"),
        ("one **[two](x)** six\n", "ONE[](x)\n"),
        ("one <b>two</b>\n", "ONE<b></b>\n"),
    ],
)
def test_emphasis_around_nothing_is_left_out(text: str, expected: str) -> None:
    assert written(text, first_word) == expected


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["one<br>", "one\\\n"])
def test_many_breaks_take_time_in_proportion(piece: str) -> None:
    begin = time.process_time()
    assert written(piece * 20_000 + "one\n").count("ONE") == 20_001
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("emphasis", ["*a ", "_a **b ", "~~a~~ *b* ", "***"])
def test_a_paragraph_with_too_much_emphasis_is_refused(emphasis: str) -> None:
    few, many = emphasis * 25 + "end\n", emphasis * 250 + "end\n"
    assert "end" in written(few, same)
    with pytest.raises(UserError, match=r"x\.md:3: expected at most 200 signs of emphasis in a paragraph"):
        written("one\n\n" + many)
    assert written("one *two*\n\n" * 300).count("TWO") == 300


def test_empty_lines_at_the_beginning_count() -> None:
    with pytest.raises(UserError, match=r"x\.md:2: expected at most"):
        written("\n" + "*a " * 250 + "end\n")


@pytest.mark.parametrize("image", ["![a", "![a] ", "![a](b ", "![a](b) "])
def test_a_paragraph_with_too_many_images_is_refused(image: str) -> None:
    """The parser's time grows with their square, and its memory with 12 kB for each that does not end."""
    assert "end" in written(image * 500 + "end\n", same)
    with pytest.raises(UserError, match=r"x\.md:3: expected at most 500 images in a paragraph"):
        written("one\n\n" + image * 501 + "end\n")
    assert written("![one](a) two\n\n" * 600, first_word)


@pytest.mark.parametrize("text", ["one " + "_" * 50_000 + " *two*\n", "one " + "a_b " * 300 + "*two*\n",
                                  "one a" + "_" * 50_000 + "b *two*\n", "one " + "** " * 300 + "*two*\n"])  # fmt: skip
def test_signs_that_emphasise_nothing_are_no_emphasis(text: str) -> None:
    begin = time.process_time()
    assert "*two*" in written(text, same)
    assert time.process_time() - begin < 5


def test_emphasis_is_as_deep_as_it_may_be() -> None:
    signs = ["*", "_"] * 49
    text = "one ".join(["", *signs]) + "two" + "".join(reversed(signs)) + "\n"
    assert written(text, same).count("one") == 98


@pytest.mark.parametrize("words", ["# a", "- a", "+ a", "> a", "1. a", "1) a", "--", "a | b", "*a*", "_a_", "[a](b)",
                                  "`a`", "<b>", "&amp;", "a\\", "![a](b)", "a_b_c", "2 * 3 * 4",
                                  "<http://a.b>"])  # fmt: skip
@pytest.mark.parametrize("around", ["%s\n", "- %s\n", "> %s\n", "## %s\n", "| a |\n|---|\n| %s |\n"])
def test_a_translation_is_never_taken_for_markup(words: str, around: str) -> None:
    document = Markdown(File("x.md", (around % "one").encode(), ("en", "fr")))
    done = document.written([same(line.text) if line.text != "one" else same(words) for line in document.lines])
    assert rendered(done.decode()) == rendered(around % "one").replace("one", escaped(words))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rendered(text: str) -> str:
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    return " ".join(html.replace("\n", " ").split())


PIECES = ["one", "two six", "*nine*", "**ten *of* it**", "`a * b`", "[link to](http://x.y/a_b \"a title\")",
          "<i>six</i>", "![picture](a_b.png)", "snake_case", "2 * 3", "a < b", "x & y", "\\*", "&copy;", "~~no~~",
          "<http://x.y>", "{name}", "été"]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_files_of_every_shape_come_back(seed: int) -> None:
    generator = random.Random(seed)
    text = "\n".join(_block(generator, 0) for _ in range(12))
    assert rendered(written(text, same)) == rendered(text)
    tags = re.compile(r"<[^<>]*>|http[^<\s]+")
    assert sorted(tags.findall(rendered(written(text)))) == sorted(tags.findall(rendered(text)))
    assert written(text, nothing) == text


def _block(generator: random.Random, depth: int) -> str:
    def words(most: int = 6) -> str:
        return " ".join(generator.choices(PIECES, k=generator.randint(1, most)))

    kind = generator.choice(["text", "text", "wrapped", "head", "list", "quote", "table", "code"])
    if kind == "wrapped":
        return f"{words()} on\n{words()}\n"
    if kind == "head":
        return f"## {words()}\n"
    if kind == "list" and depth < 2:
        inner = [_block(generator, depth + 1) for _ in range(2)]
        return "\n".join("- " + item.replace("\n", "\n  ").rstrip() + "\n" for item in inner)
    if kind == "quote" and depth < 2:
        return "".join(f"> {line}\n" for line in _block(generator, depth + 1).splitlines())
    if kind == "table" and depth == 0:
        return f"| {words(2)} | {words(2)} |\n|---|---|\n| {words(2)} | {words(2)} |\n"
    if kind == "code":
        return f"```\n{words()}\n```\n"
    return words() + "\n"


def test_an_element_within_a_word_that_is_copied_stays_where_it_is() -> None:
    """Strikethrough of GitHub may begin and end within a word, such as a version."""
    for text in ("one 1:2023~dfsg-1.1~deb12u1 two\n", "one un*believ*able two\n", "a**long**est\n"):
        assert spoken(Markdown(File("x.md", text.encode(), ("en", "fr"))), same).decode() == text
