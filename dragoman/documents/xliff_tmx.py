"""XLIFF and TMX: what has no translation yet gets one, marked as that of a machine."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import count
from typing import Any, NamedTuple, final

from lxml import etree

from dragoman.corpus.naming import matched, variants
from dragoman.corpus.xml import TMX_UNITS, XLIFF_UNITS, check_root, local_name, parse_tree, tmx_texts
from dragoman.documents.codes import CodedText, OriginalFile
from dragoman.documents.document import Document, File
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError

MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
ORIGIN, MACHINE = "dragoman", "mt-suggestion"
UNTRANSLATED = ("new", "needs-translation")  # states of a target of XLIFF 1.2 that is no translation yet
INITIAL = ("initial",)  # the same of a segment of 2.0


class UntranslatedUnit(NamedTuple):
    """A unit without a translation, and its source; of a unit that is in segments (XLIFF 1.2), one of them, by its
    number in the unit (`mid`).
    """

    unit: Any
    coded: CodedText
    segment: str | None = None


class _Units(Document):
    """What XLIFF and TMX share. UserError for a file of another format, or in other languages."""

    root: str

    def __init__(self, file: File) -> None:
        self.languages = file.languages
        tree = parse_tree(file.name, file.data)
        root = self._root = tree.getroot()
        self._original = OriginalFile(tree, file.data)
        self._declared: list[tuple[Any, str]] = []  # elements that have got an attribute, and its name
        check_root(root, self.root, file.name)
        self._gaps = [gap for gap in self._find_gaps(file.name) if gap.coded.line.worded]
        self.lines = [gap.coded.line for gap in self._gaps]

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        changed: list[Any] = []
        for gap, translation in zip(self._gaps, translated, strict=True):
            if translation.complete:
                self._fill(gap, gap.coded.line.written(translation), translation)
                changed.append(gap.unit.getparent() if local_name(gap.unit) == "segment" else gap.unit)
        return self._original.serialized(changed, self._declared)

    @abstractmethod
    def _find_gaps(self, name: str) -> Iterator[UntranslatedUnit]:
        """Yield what lacks a translation."""

    @abstractmethod
    def _fill(self, gap: UntranslatedUnit, written: str, translated: TranslatedText) -> None:
        """Give it one."""


@final
class Tmx(_Units):
    """The units of a translation memory that lack the target language."""

    root = "tmx"

    def _find_gaps(self, name: str) -> Iterator[UntranslatedUnit]:
        self._codes: dict[str, str] = {}  # of languages, as the file has them, each with its attribute
        has_source = False
        units = [(unit, tmx_texts(unit)) for unit in self._root.iter(*(f"{{*}}{tag}" for tag in TMX_UNITS))]
        for _, texts in units:
            self._codes |= {code: attribute for code, attribute, _ in texts}
        for unit, texts in units:
            source, target = variants(self.languages, [code for code, _, _ in texts])
            has_source = has_source or bool(source)
            segment = texts[source[0]][2].find("{*}seg") if source else None
            if segment is not None and all(_empty(texts[place][2]) for place in target):
                yield UntranslatedUnit(unit, CodedText(segment))
        if self._codes and not has_source:
            raise UserError(f"{name}: has no {self.languages[0]} (it has: {', '.join(sorted(self._codes))})")

    def _fill(self, gap: UntranslatedUnit, written: str, translated: TranslatedText) -> None:
        texts = tmx_texts(gap.unit)
        source, target = variants(self.languages, [code for code, _, _ in texts])
        text = texts[target[0]][2] if target else self._added_text(gap.unit, *texts[source[0]][:2])
        text.set("creationtool", ORIGIN)
        segment = text.find("{*}seg")
        if segment is None:
            segment = etree.SubElement(text, etree.QName(etree.QName(gap.unit).namespace, "seg"))
        _clear(segment)
        gap.coded.fill(segment, written)

    def _added_text(self, unit: Any, source: str, attribute: str) -> Any:
        """Add an element for the target language, which is named as elsewhere in the file, or else in the manner of the
        source language there.
        """
        _, places = variants(self.languages, list(self._codes))
        if places:
            code, attribute = list(self._codes.items())[places[0]]
        else:
            code = self.languages[1].upper() if source.isupper() else self.languages[1]
        text = _added(unit, etree.QName(etree.QName(unit).namespace, "tuv"))
        text.set(attribute, code)
        return text


@final
class Xliff(_Units):
    """The units of XLIFF 1.2 and 2.0 without a translation that may have one. Afterwards 1.2 says of a target that it
    needs a review, and 2.0 that it is translated, but not reviewed. How similar a corrected sentence was, or how
    sure the model, stands there as the quality of a match.
    """

    root = "xliff"

    def __init__(self, file: File) -> None:
        super().__init__(file)
        self._filled: set[Any] = set()  # targets

    def _find_gaps(self, name: str) -> Iterator[UntranslatedUnit]:
        root = self._root
        self._check(root, "srcLang", "trgLang", name)
        for file in root.iter("{*}file"):
            self._check(file, "source-language", "target-language", name)
        for unit in root.iter(*(f"{{*}}{tag}" for tag in XLIFF_UNITS)):
            divided, target = unit.find("{*}seg-source"), unit.find("{*}target")
            source = unit.find("{*}source") if divided is None else divided
            if local_name(unit) == "trans-unit":
                initial = target is not None and target.get("state") in UNTRANSLATED
            else:
                initial = unit.get("state") in INITIAL
            if source is None or unit.get("approved") == "yes" or _stays(unit):
                continue
            segments, there = _segments(divided), _segments(target)
            if segments and (there or initial or _empty(target)):
                gaps = (mid for mid in segments if initial or _empty(there.get(mid)))
                yield from (UntranslatedUnit(unit, CodedText(segments[mid]), mid) for mid in gaps)
            elif initial or _empty(target):
                yield UntranslatedUnit(unit, CodedText(source))

    def _check(self, element: Any, source: str, target: str, name: str) -> None:
        """UserError if an element says that it is in other languages."""
        if element.get(source):
            codes = element.get(source), element.get(target, "")
            where = f"{name}:{element.sourceline}"
            if matched(self.languages, codes, where) != (0, 1):
                raise UserError(f"{where}: is a translation of {codes[0]}, and the run translates {self.languages[0]}")
            if not codes[1]:
                element.set(target, self.languages[1])
                self._declared.append((element, target))

    def _fill(self, gap: UntranslatedUnit, written: str, translated: TranslatedText) -> None:
        unit, space = gap.unit, etree.QName(gap.unit).namespace
        target = unit.find("{*}target")
        if target is None:
            target = etree.Element(etree.QName(space, "target"))
            before = [child for child in unit if local_name(child) in ("source", "seg-source")][-1]
            before.addnext(target)
            target.tail, before.tail = before.tail, before.tail
        if gap.segment is None:
            _clear(target)
            gap.coded.fill(target, written)
        else:
            gap.coded.fill(_place(target, gap.unit.find("{*}seg-source"), gap.segment), written)
        if local_name(unit) == "segment":
            unit.set("state", "translated")
            unit.attrib.pop("subState", None)  # it refines the state that the segment had
            self._match(gap, written, translated)
            return
        qualifier = _qualifier(translated)
        if target in self._filled and target.get("state-qualifier") != qualifier:
            qualifier = MACHINE  # of segments that come from several places
        self._filled.add(target)
        target.set("state", "needs-review-translation")
        target.set("state-qualifier", qualifier)
        if translated.quality is not None:
            match = _added(unit, etree.QName(space, "alt-trans"))
            match.set("match-quality", _percent(translated.quality))
            match.set("origin", ORIGIN)
            if gap.segment is not None:
                match.set("mid", gap.segment)
            gap.coded.fill(etree.SubElement(match, etree.QName(space, "target")), written)

    def _match(self, gap: UntranslatedUnit, written: str, translated: TranslatedText) -> None:
        """Write the quality in the module that XLIFF 2.0 has for it, which names the segment by its id."""
        segment, unit = gap.unit, gap.unit.getparent()
        if translated.quality is None:
            return
        if not segment.get("id"):
            ids = {element.get("id") for element in unit.iter()}
            segment.set("id", next(name for number in count(1) if (name := f"s{number}") not in ids))
        matches = unit.find(f"{{{MATCHES}}}matches")
        if matches is None:
            matches = etree.Element(etree.QName(MATCHES, "matches"), nsmap={"mtc": MATCHES})
            unit.insert(0, matches)
        space = etree.QName(segment).namespace
        match = etree.SubElement(matches, etree.QName(MATCHES, "match"), {"ref": f"#{segment.get('id')}"})
        match.set("type", "tm" if _qualifier(translated) != MACHINE else "mt")
        match.set("origin", ORIGIN)
        match.set("matchQuality", _percent(translated.quality).removesuffix("%"))
        source = etree.SubElement(match, etree.QName(space, "source"))
        source.text = gap.coded.line.text
        gap.coded.fill(etree.SubElement(match, etree.QName(space, "target")), written)


def _segments(element: Any) -> dict[str, Any]:
    """The segments that a text of XLIFF 1.2 is divided into."""
    marks = [] if element is None else element.iter("{*}mrk")
    segments = (mark for mark in marks if mark.get("mtype") == "seg")
    return {segment.get("mid", f"#{number}"): segment for number, segment in enumerate(segments)}


def _place(target: Any, source: Any, number: str) -> Any:
    """The segment of this number in a target, without a text. A target without segments gets those of the source."""
    there = _segments(target)
    if there and number not in there:
        segments = _segments(source)
        missing = etree.Element(segments[number].tag, segments[number].attrib)
        after = list(segments)[list(segments).index(number) + 1 :]
        following = next((there[mid] for mid in after if mid in there), None)
        if following is not None:
            following.addprevious(missing)
            missing.tail = " "
        else:
            target[-1].tail = target[-1].tail or " "
            target.append(missing)
    elif not there:
        _clear(target)
        target.text = source.text
        target.extend(map(deepcopy, source))
        for segment in _segments(target).values():
            if CodedText(segment).line.worded:
                _clear(segment)
    segment = _segments(target)[number]
    _clear(segment)
    return segment


def _empty(element: Any) -> bool:
    return element is None or not "".join(element.itertext()).strip()


def _clear(element: Any) -> None:
    """Take all out of an element."""
    for child in list(element):
        element.remove(child)
    element.text = None


def _added(parent: Any, name: etree.QName) -> Any:
    """A new element after the last in another, on a line of its own if that is."""
    before, added = parent[-1], etree.SubElement(parent, name)
    before.tail, added.tail = parent.text, before.tail
    return added


def _stays(unit: Any) -> bool:
    """Whether it, or what it is in, says that it is not to be translated."""
    elements = (unit, *unit.iterancestors())
    return next((element.get("translate") for element in elements if element.get("translate")), "yes") == "no"


def _qualifier(translated: TranslatedText) -> str:
    """Where a translation is from: a model, or the memory of corrections."""
    matches = [sentence.match for sentence in translated.sentences]
    if None in matches or not matches:
        return MACHINE
    return "exact-match" if all(match and match.score == 1 for match in matches) else "fuzzy-match"


def _percent(quality: float) -> str:
    return f"{100 * quality:.0f}%"
