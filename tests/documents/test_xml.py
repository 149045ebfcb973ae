"""XLIFF and TMX whose units are translated."""

import random
import re
from itertools import chain, repeat
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest

pytest.importorskip("lxml")
from lxml import etree

from dragoman.corpus.translation_memory import Match
from dragoman.corpus.xml import local_name
from dragoman.documents import codes
from dragoman.documents.document import File
from dragoman.documents.passages import Passage
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.documents.xliff_tmx import Tmx, Xliff
from dragoman.errors import UserError
from tests.documents.speaking import Say, backwards, nothing, same, spoken

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <!-- about -->
  <file original="x" source-language="en-US" datatype="plaintext">
    <body>
      <trans-unit id="1">
        <source>one <g id="1">two</g> <x id="2"/>six</source>
        <note>kept</note>
      </trans-unit>
      <trans-unit id="2"><source>one</source><target>un</target></trans-unit>
      <trans-unit id="3"><source>one two</source><target state="new">one two</target></trans-unit>
      <trans-unit id="4" translate="no"><source>one</source></trans-unit>
      <trans-unit id="5" approved="yes"><source>one</source><target/></trans-unit>
      <trans-unit id="6"><source>12 %</source></trans-unit>
      <trans-unit id="7"><source><bpt id="1">&lt;b&gt;</bpt>one<ept id="1"/> &amp; two</source></trans-unit>
    </body>
  </file>
</xliff>
"""
NEW = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
  <file id="f">
    <unit id="u">
      <segment id="s1"><source>one <pc id="1">two</pc></source></segment>
      <segment id="s2" state="final"><source>one</source><target>un</target></segment>
      <ignorable><source> </source></ignorable>
    </unit>
  </file>
</xliff>
"""
MEMORY = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
  <header srclang="en" datatype="plaintext"/>
  <body>
    <tu>
      <tuv xml:lang="en-US"><seg>one <bpt i="1">&lt;b></bpt>two<ept i="1">&lt;/b></ept> <ph>x</ph></seg></tuv>
    </tu>
    <tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="fr"><seg>un</seg></tuv></tu>
    <tu><tuv xml:lang="de"><seg>eins</seg></tuv></tu>
  </body>
</tmx>
"""


def opened(kind: Any, text: str, pair: tuple[str, str] = ("en", "fr")) -> Any:
    return kind(File("x.xml", text.encode(), pair))


def written(kind: Any, text: str, say: Say = backwards) -> Any:
    return etree.fromstring(spoken(opened(kind, text), say))


def texts(element: Any) -> str:
    return "".join(element.itertext())


def test_units_of_xliff_without_a_translation_have_one() -> None:
    assert [line.text for line in opened(Xliff, OLD).lines] == ["one two six", "one two", "one & two"]
    root = written(Xliff, OLD)
    units = {unit.get("id"): unit for unit in root.iter("{*}trans-unit")}
    targets = {name: unit.find("{*}target") for name, unit in units.items()}
    shown = etree.tostring(targets["1"], encoding="unicode", with_tail=False).replace(
        f' xmlns="{root.nsmap[None]}"', ""
    )
    state = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    assert shown == f'<target {state}><x id="2"/>SIX <g id="1">TWO</g> ONE</target>'
    assert [child.tag.split("}")[1] for child in units["1"]] == ["source", "target", "note"]
    assert (targets["2"].text, targets["2"].get("state")) == ("un", None)
    assert (targets["3"].text, targets["3"].get("state")) == ("TWO ONE", "needs-review-translation")
    assert targets["4"] is targets["6"] is None
    assert targets["5"].text is None
    codes = etree.tostring(targets["7"], encoding="unicode", with_tail=False)
    assert ">TWO &amp; <bpt" in codes
    assert "</bpt>ONE<ept" in codes
    assert root.find("{*}file").get("target-language") == "fr"


SEGMENTS = """<xliff version="1.2"><file source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>One two. 7. Six nine.</source><seg-source><mrk mtype="seg" mid="1">One two.</mrk> <mrk \
mtype="seg" mid="2">7.</mrk> <g id="a"><mrk mtype="seg" mid="3">Six <x id="1"/>nine.</mrk></g></seg-source>\
%s</trans-unit>
</body></file></xliff>"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("", "1:TWO. ONE|2:7.|3:NINE. SIX"),
        ("<target/>", "1:TWO. ONE|2:7.|3:NINE. SIX"),
        ('<target state="new">One two.</target>', "1:TWO. ONE|2:7.|3:NINE. SIX"),
        ("<target>tout</target>", ""),
        ("<target><mrk mtype='seg' mid='1'>un</mrk> <mrk mtype='seg' mid='3'/></target>", "1:un|3:NINE. SIX"),
        ("<target><mrk mtype='seg' mid='3'>six</mrk></target>", "1:TWO. ONE|3:six"),
        ("<target><mrk mtype='seg' mid='1'>un</mrk> <mrk mtype='seg' mid='3'>neuf</mrk></target>", "1:un|3:neuf"),
    ],
)
def test_each_segment_of_a_unit_is_translated_by_itself(target: str, expected: str) -> None:
    """One that has a translation keeps it."""
    (target_element,) = written(Xliff, SEGMENTS % target).iter("target")
    segments = [f"{element.get('mid')}:{texts(element)}" for element in target_element.iter("mrk")]
    assert "|".join(segments) == expected
    assert (target_element.get("state") == "needs-review-translation") is any(map(str.isupper, texts(target_element)))
    if not target:
        assert [element.tag for element in target_element] == ["mrk", "mrk", "g"]
        assert texts(target_element) == "TWO. ONE 7. NINE. SIX"
        assert [element.tag for element in target_element.iter()].count("x") == 1


def test_the_quality_of_a_segment_names_it() -> None:
    root = written(Xliff, SEGMENTS % "", remembered)
    assert [element.get("mid") for element in root.iter("alt-trans")] == ["1", "3"]
    assert [element.get("state-qualifier") for element in root.iter("target") if element.get("state")] == [
        "fuzzy-match"
    ]


def test_tags_that_a_text_says_come_through() -> None:
    """Of HTML that was exported, escaped or not; half of a pair stands alone."""
    unit = OLD.replace(
        "one</source><target>un", "one &lt;b&gt;two&lt;/b&gt; <![CDATA[<i>six]]> A&amp;amp;B</source><target>", 1
    )
    (line,) = [line for line in opened(Xliff, unit).lines if "A&B" in line.text]
    assert line.text == "one two six A&B"
    (target,) = [element for element in written(Xliff, unit).iter("{*}target") if "A&amp;B" in texts(element)]
    assert texts(target) == "A&amp;B <i>SIX <b>TWO</b> ONE"
    numbered = OLD.replace('one <g id="1">two</g> <x id="2"/>six', "&lt;0&gt;one two&lt;/0&gt; six", 1)
    assert texts(next(written(Xliff, numbered).iter("{*}target"))) == "SIX <0>TWO ONE</0>"
    crossed = OLD.replace('one <g id="1">two</g> <x id="2"/>six', 'one &lt;b&gt;two <g id="1">six&lt;/b&gt; ten</g>', 1)
    for say in (same, backwards):
        target = next(written(Xliff, crossed, say).iter("{*}target"))
        assert [local_name(element) for element in target.iter()] == ["target", "g"]
        assert sorted(re.findall("</?b>", texts(target))) == ["</b>", "<b>"]
        assert "</b>" in texts(target[0])
    (line, *_) = opened(Tmx, MEMORY.replace("one <bpt", "one &lt;i&gt; <bpt")).lines
    assert [mark.raw for mark in line.marks][:1] == ["<i> "]


def test_a_code_that_stands_alone_keeps_its_spaces() -> None:
    unit = OLD.replace('one <g id="1">two</g> <x id="2"/>six', 'one two <x id="2"/> six', 1)
    assert opened(Xliff, unit).lines[0].text == "one two six"
    target = next(written(Xliff, unit, same).iter("{*}target"))
    assert (target.text, target[0].tail) == ("one two ", " six")


def test_a_file_keeps_its_declaration_line_ends_and_last_line() -> None:
    for begin, encoding in (("", "utf-8"), ("\ufeff", "utf-8"), ("", "utf-16"), ("", "latin-1")):
        name = {"utf-8": "UTF-8", "utf-16": "UTF-16", "latin-1": "ISO-8859-1"}[encoding]
        text = begin + NEW.replace("UTF-8", name).replace("?>\n", "?>\n<!-- </xliff> -->\n\n", 1).replace("\n", "\r\n")
        root = 'xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr"'
        text = re.sub(r"(?<=<xliff )[^>]*", root, text) + "<!-- é -->\r\n"
        document = Xliff(File("x.xlf", text.encode(encoding), ("en", "fr")))
        assert spoken(document, nothing).decode(encoding) == text


@pytest.mark.parametrize(
    ("before", "following"),
    [
        ("", "<!-- </xliff> here -->\n"),
        ("<!DOCTYPE xliff [ <!-- x]> --> <!ELEMENT xliff ANY> ]>\n", ""),
        ('<!DOCTYPE xliff SYSTEM "http://x/[a].dtd">\n', "\n<?x y?>"),
        ('<?xml version="1.0" encoding="KOI8-R"?>', ""),
    ],
)
def test_what_stands_around_the_root_is_never_lost(before: str, following: str) -> None:
    text = before + SEGMENTS % "" + following
    done = spoken(opened(Xliff, text))
    tree, original_tree = (etree.fromstring(element).getroottree() for element in (done, text.encode()))
    assert tree.docinfo.doctype == original_tree.docinfo.doctype
    around = [
        [str(element) for element in root.itersiblings(preceding=True)]
        for root in (tree.getroot(), original_tree.getroot())
    ]
    after = [[str(element) for element in root.itersiblings()] for root in (tree.getroot(), original_tree.getroot())]
    assert around[0] == around[1]
    assert after[0] == after[1]


def test_a_file_of_utf_16_needs_no_declaration() -> None:
    text = NEW.partition("?>")[2].strip()
    done = spoken(Xliff(File("x.xlf", text.encode("utf-16"), ("en", "fr"))))
    assert (
        etree.fromstring(done).find(".//{*}target").text
        == etree.fromstring(spoken(opened(Xliff, text))).find(".//{*}target").text
    )


@pytest.mark.parametrize("failures", [0, 1, 2])
@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize(("kind", "text"), [(Xliff, NEW), (Tmx, MEMORY)])
def test_utf_16_keeps_its_order_of_bytes(
    kind: type[Xliff | Tmx], text: str, order: str, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of a file is written anew."""
    replace_spans = codes._replace_spans

    def spoken_anew(document: Xliff | Tmx) -> bytes:
        results = chain([UserError("differs")] * failures, repeat(DEFAULT))
        monkeypatch.setattr(codes, "_replace_spans", Mock(wraps=replace_spans, side_effect=results))
        return spoken(document)

    data = ("\ufeff" + text.replace("UTF-8", "UTF-16")).encode(f"utf-16-{order}")
    expected = spoken_anew(opened(kind, text)).decode().replace("UTF-8", "UTF-16")
    assert spoken_anew(kind(File("x", data, ("en", "fr")))) == ("\ufeff" + expected).encode(f"utf-16-{order}")


WRITTEN = """<?xml version='1.0' encoding='UTF-8'?>
<!DOCTYPE x:xliff>
<x:xliff version = '1.2'  xmlns:x="urn:oasis:names:tc:xliff:document:1.2" xmlns:a='urn:a' a:b="&#x41;">
<x:file original='a "b" >' source-language="en" datatype="x"DECLARED><x:body>
<x:trans-unit id='1' ><x:source><![CDATA[one & <b>two</b>]]></x:source><x:target ><![CDATA[un & <b>]]></x:target>
</x:trans-unit><x:trans-unit id="2" a:b="c"><x:source>two "six"</x:source>TARGET</x:trans-unit>
<x:trans-unit id="3" approved='yes'><x:source>é &gt; &#119;<x:x id='>' /></x:source><x:target/></x:trans-unit>
</x:body></x:file><!-- > --></x:xliff >
"""


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_not_translated_stays_as_it_is_written(encoding: str, end: str) -> None:
    """Quotes, spaces, references, CDATA, and the order of attributes."""
    text = WRITTEN.replace("UTF-8", encoding).replace("\n", end)
    before = text.replace("DECLARED", "").replace("TARGET", "")
    declared = text.replace("DECLARED", ' target-language="fr"')
    target = '<x:target state="needs-review-translation" state-qualifier="mt-suggestion">"SIX" TWO</x:target>'
    for say, after in ((backwards, target), (nothing, "")):
        document = Xliff(File("x.xlf", before.encode(encoding), ("en", "fr")))
        assert spoken(document, say).decode(encoding) == declared.replace("TARGET", after)


def test_a_translation_is_written_as_cdata_like_its_source() -> None:
    text = (
        '<xliff version="1.2"><file source-language="en" target-language="fr"><body><trans-unit id="1">'
        "<source><![CDATA[%s & one]]></source></trans-unit></body></file></xliff>"
    )
    assert b"><![CDATA[ONE & TWO]]></target>" in spoken(opened(Xliff, text % "two"))
    assert b">ONE &amp; ]]&gt;</target>" in spoken(opened(Xliff, text % "]]]]><![CDATA[>"))
    memory = '<tmx><body><tu><tuv xml:lang="en"><seg><![CDATA[one & two]]></seg></tuv>%s</tu></body></tmx>'
    added = '<tuv xml:lang="fr" creationtool="dragoman"><seg><![CDATA[TWO & ONE]]></seg></tuv>'
    assert spoken(opened(Tmx, memory % "")).decode() == memory % added


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (  # as elsewhere in the file
            '<tu><tuv lang="FR-FR"><seg>x</seg></tuv></tu><tu><tuv lang="EN-US"><seg>one</seg></tuv></tu>',
            '<tuv lang="FR-FR" creationtool="dragoman"><seg>ONE</seg></tuv></tu></body>',
        ),
        (  # as the source, if there is no other
            '<tu><tuv lang="EN-US"><seg>one</seg></tuv></tu>',
            '<tuv lang="FR" creationtool="dragoman"><seg>ONE</seg></tuv></tu></body>',
        ),
        (
            '<tu><tuv xml:lang="en"><seg>one</seg></tuv></tu>',
            '<tuv xml:lang="fr" creationtool="dragoman"><seg>ONE</seg></tuv></tu></body>',
        ),
        *(
            (  # which is empty
                f'<tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="fr-CA">{empty}</tuv></tu>',
                '<tuv xml:lang="fr-CA" creationtool="dragoman"><seg>ONE</seg></tuv></tu></body>',
            )
            for empty in ("<seg></seg>", "<seg/>", "<seg> </seg>", "")
        ),
    ],
)
def test_a_text_of_a_memory_is_where_and_what_it_would_be(units: str, expected: str) -> None:
    memory = spoken(opened(Tmx, f"<tmx><body>{units}</body></tmx>")).decode()
    assert expected in memory
    assert memory.count("<tuv") == max(2, units.count("<tuv") + ("fr-CA" not in units))


def test_accelerators_of_labels_are_carried_over_beside_codes() -> None:
    text = '<tmx><body><tu><tuv xml:lang="en"><seg><hi>&amp;One</hi> two</seg></tuv></tu></body></tmx>'
    assert b"<seg>TWO <hi>&amp;ONE</hi></seg>" in spoken(opened(Tmx, text))


def test_a_memory_with_one_of_several_texts_of_a_language_is_complete() -> None:
    text = "".join(
        f'<tuv xml:lang="fr-{region}"><seg>{segment}</seg></tuv>' for region, segment in (("FR", ""), ("CA", "un"))
    )
    assert not opened(Tmx, f'<tmx><body><tu><tuv xml:lang="en"><seg>one</seg></tuv>{text}</tu></body></tmx>').lines


def test_segments_in_a_source_alone_are_its_words() -> None:
    unit = SEGMENTS.replace("seg-source", "source").replace("<source>One two. 7. Six nine.</source>", "") % ""
    (target,) = written(Xliff, unit).iter("target")
    assert sorted(texts(target).split()) == ["7.", "NINE.", "ONE", "SIX", "TWO."]


def test_marks_around_words_stay_around_them() -> None:
    text = NEW.replace(
        "</unit>",
        '<segment><source>one <sm id="9" type="comment"/>two<em startRef="9"/> six</source></segment></unit>',
        1,
    )
    (*_, target) = written(Xliff, text).iter("{*}target")
    assert [local_name(element) for element in target] == ["sm", "em"]
    assert (target.text, target[0].tail, target[1].tail) == ("SIX ", "TWO", " ONE")
    kept = OLD.replace(
        '<bpt id="1">&lt;b&gt;</bpt>one<ept id="1"/> &amp; two', 'one <mrk mtype="protected">two nine</mrk> six', 1
    )
    assert any(texts(element) == "SIX two nine ONE" for element in written(Xliff, kept).iter("{*}target"))


def test_the_rest_of_a_file_stays() -> None:
    once = spoken(opened(Xliff, OLD), nothing)
    expected = OLD.replace('datatype="plaintext"', 'datatype="plaintext" target-language="fr"')
    assert etree.canonicalize(once.decode().partition("?>")[2]) == etree.canonicalize(expected.partition("?>")[2])
    assert spoken(opened(Xliff, once.decode()), nothing) == once


def test_segments_of_xliff_2_are_translated_but_not_reviewed() -> None:
    root = written(Xliff, NEW)
    first, second = root.iter("{*}segment")
    target = first.find("{*}target")
    assert (texts(target), target[0].get("id"), first.get("state")) == ("TWO ONE", "1", "translated")
    assert target[0].text == "TWO"
    assert (texts(second.find("{*}target")), second.get("state")) == ("un", "final")
    assert root.get("trgLang") == "fr"


@pytest.mark.parametrize(
    ("attributes", "translated"),
    [
        ('state="initial"', True),
        ('state="initial" subState="x:draft"', True),
        ("", False),
        ('state="translated"', False),
        ('state="reviewed"', False),
        ('state="final"', False),
    ],
)
def test_a_segment_of_xliff_2_that_is_initial_is_translated_again(attributes: str, translated: bool) -> None:
    """Also where it has a target already; one that says nothing of its state is left as it is."""
    text = NEW.replace(' state="final"><source>one<', f" {attributes}><source>one two<")
    segment = list(written(Xliff, text).iter("{*}segment"))[1]
    (target,) = segment.iter("{*}target")
    assert texts(target) == ("TWO ONE" if translated else "un")
    expected = {"state": "translated"} if translated else dict(re.findall(r'(\w+)="([^"]*)"', attributes))
    assert dict(segment.attrib) == {"id": "s2", **expected}


def remembered(text: str) -> TranslatedText:
    """What somebody corrected of a similar sentence."""
    translation = same(text)
    match = Match("said", 0.875, text)
    return translation._replace(sentences=tuple(TranslatedSentence("said", match=match) for _ in translation.sentences))


def test_what_was_remembered_says_how_similar_it_was() -> None:
    old, new = written(Xliff, OLD, remembered), written(Xliff, NEW, remembered)
    unit = next(old.iter("{*}trans-unit"))
    assert unit.find("{*}target").get("state-qualifier") == "fuzzy-match"
    match = unit.find("{*}alt-trans")
    assert (match.get("match-quality"), match.get("origin"), texts(match)) == ("88%", "dragoman", "said")
    match = next(new.iter("{urn:oasis:names:tc:xliff:matches:2.0}match"))
    assert local_name(next(new.iter("{*}unit"))[0]) == "matches"  # modules stand before segments
    assert {name: match.get(name) for name in ("ref", "type", "matchQuality")} == {
        "ref": "#s1",
        "type": "tm",
        "matchQuality": "88",
    }
    assert [texts(child) for child in match] == ["one two", "said"]


def test_the_quality_of_several_sentences_is_that_of_the_least_similar() -> None:
    """If one has none, the whole has none."""
    passage = Passage(("one", "two"), ("", " ", ""))
    good, poor = (TranslatedSentence("said", match=Match("said", score, "one")) for score in (0.9, 0.6))
    assert TranslatedText(passage, (good, poor)).quality == TranslatedText(passage, (poor, good)).quality == 0.6
    assert TranslatedText(passage, (good, TranslatedSentence("said"))).quality is None
    match = written(Xliff, OLD, lambda text: TranslatedText(passage, (good, poor))).find(".//{*}alt-trans")
    assert match.get("match-quality") == "60%"


def test_a_segment_without_an_id_gets_one_for_its_quality() -> None:
    root = written(Xliff, NEW.replace(' id="s1"', "").replace('id="s2"', 'id="s1"'), remembered)
    segment = next(root.iter("{*}segment"))
    assert segment.get("id") not in (None, "s1")
    match = next(root.iter("{urn:oasis:names:tc:xliff:matches:2.0}match"))
    assert (match.get("ref"), match.get("matchQuality")) == (f"#{segment.get('id')}", "88")


def test_units_of_a_memory_get_the_language_that_they_lack() -> None:
    root = written(Tmx, MEMORY)
    languages = "{http://www.w3.org/XML/1998/namespace}lang"
    units = [{element.get(languages): texts(element) for element in unit} for unit in root.iter("tu")]
    assert units == [{"en-US": "one <b>two</b> x", "fr": "<b>TWO</b> xONE "}, {"en": "one", "fr": "un"}, {"de": "eins"}]
    added = root.findall(".//tuv")[1]
    assert (added.get("creationtool"), [element.tag for element in added[0]]) == ("dragoman", ["bpt", "ept", "ph"])


CODES = ["one", "two six", "<x id='1'/>", "<g id='2'>nine <x id='3'/>ten</g>", "<ph id='4'>{n}</ph>", "<bx id='5'/>",
         "<ex id='5'/>", "&lt;b&gt;", "&amp;", "\n  eight", "<mrk mtype='x'>was</mrk>"]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_files_of_every_shape_come_back(seed: int) -> None:
    generator = random.Random(seed)
    units = [" ".join(generator.choices(CODES, k=generator.randint(1, 8))) for _ in range(10)]
    body = "".join(f"<trans-unit id='{n}'><source>{unit}</source></trans-unit>" for n, unit in enumerate(units))
    text = f"<xliff version='1.2'><file source-language='en' target-language='fr'><body>{body}</body></file></xliff>"
    root = written(Xliff, text, same)
    for unit in root.iter("trans-unit"):
        source, target = unit.find("source"), unit.find("target")
        if any(map(str.isalpha, re.sub("{n}|<b>", "", texts(source)))):
            assert _inner(target) == _inner(source)
    for unit in written(Xliff, text).iter("trans-unit"):
        source, target = unit.find("source"), unit.find("target")
        if target is not None:
            assert sorted((e.tag, e.get("id")) for e in target.iter()) == sorted(
                (e.tag.replace("source", "target"), e.get("id")) for e in source.iter()
            )


def _inner(element: Any) -> str:
    return (element.text or "") + "".join(etree.tostring(child, encoding="unicode") for child in element)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Xliff, "<xliff", r"x\.xml:1: invalid XML"),
        (Xliff, MEMORY, r"x\.xml:2: expected <xliff>, found <tmx>"),
        (Tmx, MEMORY.replace('"en', '"de'), "has no en"),
        (Xliff, OLD.replace('"en-US"', '"fr"'), "x.xml:4: is a translation of fr, and the run translates en"),
        (Xliff, NEW.replace('srcLang="en"', 'srcLang="de" trgLang="fr"'), "x.xml:2: "),
        (Xliff, '<!DOCTYPE x [<!ENTITY a "b">]>\n<xliff/>', "declares an entity"),
        (Tmx, '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<tmx>&a;</tmx>', "declares an entity"),
    ],
)
def test_what_cannot_be_translated_is_told(kind: Any, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        opened(kind, text)


def test_characters_that_no_xml_may_have_are_left_out() -> None:
    document = opened(Xliff, NEW)
    translation = same("one two")
    damaged = translation._replace(sentences=(TranslatedSentence("one\x00\x07 two"),))
    target = next(etree.fromstring(document.written([damaged])).iter("{*}target"))
    assert texts(target) == "one two"
