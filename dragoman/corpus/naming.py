"""Names of languages and columns: which there are, and which are meant, where en may be called en-US."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.errors import UserError

UNSAID = ""  # a language that the file does not name
CONTEXT = "context"  # the column and source with the contexts of messages
PLAIN = ("source", "target")  # names of unnamed columns
SHOWN = 40  # characters (or columns) that an error message quotes

# Usual names of columns: their role or their language.
ROLES = (
    "source target src tgt trg mt hyp hypothesis pe ref reference original translation input output "
    "word lemma form spelling orthography graphemes pronunciation phonemes phones ipa"
).split()
CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
    "ara bel ben bul cat ces cmn cze dan deu dut ell eng est eus fas fin fra fre ger gle glg gre grc hbs heb hin hrv "
    "hsb hun hye ice ind isl ita jpn kat kaz khm kor lat lav lit mal mar mkd mlt mon msa nld nno nob nor pan per pol "
    "por ron rum rus san slk slo slv som spa sqi srp swa swe tam tel tgl tha tur ukr urd uzb vie wel yor yue zho zul"
).split()
LANGUAGES = (
    "afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian breton bulgarian "
    "catalan chinese croatian czech danish dutch english esperanto estonian finnish french galician georgian german "
    "greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada kazakh "
    "khmer korean kurdish lao latin latvian lithuanian luxembourgish macedonian malay malayalam maltese marathi "
    "mongolian nepali norwegian pashto persian polish portuguese punjabi romanian russian sanskrit serbian sinhala "
    "slovak slovenian somali sorbian spanish swahili swedish tamil telugu thai tibetan turkish ukrainian urdu uzbek "
    "vietnamese welsh wolof xhosa yiddish yoruba zulu"
).split()
NUMBERS = ("id", "no")  # beside two other languages, these are row numbers, not Indonesian and Norwegian
KNOWN = frozenset([*ROLES, *CODES, *LANGUAGES])

_DETAILED = re.compile(r"([a-z]+)[-_ ][a-z0-9]{2,8}")  # en-US, pt_BR, source_text
_SCRIPTS = {"latin": "latn", "iqtelif": "latn", "cyrillic": "cyrl", "devanagari": "deva"}  # by names in locales
_BY_SCRIPT = {
    "cyrl": "be bg kk ky mk mn ru sr tg tt uk",
    "hans": "zh",
    "hant": "yue zh_hk zh_mo zh_tw",
    "arab": "az_ir fa ks pa_pk ps sd ug ur",
    "guru": "pa",
}
_SCRIPT_OF = {code: script for script, codes in _BY_SCRIPT.items() for code in codes.split()}  # Latin if it is missing
_MAIN_REGIONS = frozenset({("zh", "hans", "cn"), ("zh", "hant", "tw")})  # others are spelled as the language: de_DE
_LANGUAGES = frozenset([*CODES, *LANGUAGES]) - frozenset(ROLES)  # mt: machine translation, and not Maltese


class Columns(NamedTuple):
    """The names of the columns or languages that hold a pair, and the line of the header if there is one."""

    names: tuple[str, ...]
    header: int | None = None


def is_language(name: str) -> bool:
    """Whether it is the name or code of a language, such as de, pt_BR or German."""
    return _first(name) in _LANGUAGES


def is_same_language(name: str, other: str) -> bool:
    """Whether both are names or codes of the same language, whatever region or script they add: en and en-US."""
    return is_language(name) and _first(name) == _first(other)


def measure_distance(wanted: str, other: str) -> int | None:
    """Return how far a language is from the one that is wanted: 0 if only its spelling differs (de and de-DE), 1 if it
    is without the wanted region (de for de_AT), 2 if it has a region and none is wanted, 3 if it has a different one
    (pt_BR for pt_PT). None for another language, and for one in another script (zh_CN for zh_TW).
    """
    (language, region), (other_language, other_region) = _locale(wanted), _locale(other)
    if language != other_language:
        return None
    if region == other_region:
        return 0
    return 3 if region and other_region else 2 if other_region else 1


def find_nearest(wanted: Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    """Return for each language the name that is in the same script and of the nearest region; itself if none is of that
    language. UserError if all are in another script, or several are equally near.
    """
    nearest: list[str] = []
    for language in wanted:
        same = [name for name in names if is_same_language(language, name)]
        distances = {name: distance for name in same if (distance := measure_distance(language, name)) is not None}
        candidates = [name for name in distances if distances[name] == min(distances.values())] if same else [language]
        if len(candidates) != 1:
            raise missing([language], names, where)
        nearest += candidates
    return tuple(nearest)


def _locale(name: str) -> tuple[tuple[str, str], str]:
    """Return the language and script of a code, and its region, which is empty if it is the main one."""
    language, *details = re.split("[-_@]", _code(name).partition(".")[0])
    script = _SCRIPT_OF.get("_".join([language, *details[:1]])) or _SCRIPT_OF.get(language, "latn")
    regions: list[str] = []
    for detail in details:
        if detail in _SCRIPTS or (len(detail) == 4 and detail.isalpha()):
            script = _SCRIPTS.get(detail, detail)
        else:
            regions.append(detail)
    region = "_".join(regions)
    return (language, script), "" if region == language or (language, script, region) in _MAIN_REGIONS else region


def match(names: Sequence[str], languages: Sequence[str]) -> tuple[int | None, ...]:
    """Return the index in `languages` of each name, or None if it is not there.

    A name means the language spelled alike (but for case and `_` for `-`), or else the only one with the same
    first part: en and en-US. Of the rest, a name that is no language's (source, mt) means the language that is left
    in its place, and any name one that is UNSAID.
    """
    places: dict[int, int] = {}
    left = dict(enumerate(languages))
    for same in (_code, _first):
        for number, name in enumerate(names):
            hits = [place for place, candidate in left.items() if candidate and same(candidate) == same(name)]
            if number not in places and len(hits) == 1:
                places[number] = hits[0]
                del left[hits[0]]
    rest = [number for number in range(len(names)) if number not in places]
    if len(rest) == len(left):
        fits = zip(rest, left, strict=True)
        places |= {number: place for number, place in fits if not (languages[place] and is_language(names[number]))}
    return tuple(places.get(number) for number in range(len(names)))


def variants(names: Sequence[str], languages: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """As `match`, but a name that several languages share means all of them: en is en-US and en-GB."""
    places = match(names, languages)
    left = [place for place in range(len(languages)) if place not in places]
    return tuple(
        tuple(other for other in left if languages[other] and _first(languages[other]) == _first(name))
        if place is None
        else (place,)
        for name, place in zip(names, places, strict=True)
    )


def matched(names: Sequence[str], languages: Sequence[str], where: str) -> tuple[int, ...]:
    """As `match`, but raises UserError if a name is not there."""
    places = match(names, languages)
    if None in places:
        raise missing([name for name, place in zip(names, places, strict=True) if place is None], languages, where)
    return tuple(place for place in places if place is not None)


def missing(names: Sequence[str], languages: Sequence[str], where: str) -> UserError:
    """The error for names that no language has."""
    there = ", ".join((language or "one without a name")[:SHOWN] for language in languages[:SHOWN])
    return UserError(f"{where}: has no {' or '.join(names)} (it has: {there or 'none'})")


def with_further(source: str, further: Sequence[str], target: str) -> tuple[str, ...]:
    """Return the names of all languages, in the order of sources and target. UserError if one is named twice."""
    for number, name in enumerate(further):
        if 0 in (measure_distance(source, name), measure_distance(target, name)):
            raise UserError(f"--also {name}: is the source or target language already")
        if any(measure_distance(other, name) == 0 for other in further[:number]):
            raise UserError(f"--also {name}: is named twice")
    return (source, *further, target)


def without_texts(name: str, where: str) -> UserError:
    """The error for a further language in which there are no texts."""
    return UserError(f"{where}: no texts in '{name}' (--also), neither here nor in catalogs beside it")


def two(languages: Sequence[str], wanted: Sequence[str], where: str) -> Columns:
    """Return the two languages of the pairs: the `wanted` ones, or the only two; unnamed ones are called `source` and
    `target`. UserError if this is ambiguous.
    """
    if wanted:
        matched(wanted, languages, where)
        return Columns(tuple(wanted))
    if len(languages) == 2:
        return Columns(tuple(name or plain for name, plain in zip(languages, PLAIN, strict=True)))
    return Columns(two_of(languages, wanted, where, "languages that it has"))


def two_of(
    names: Sequence[str], wanted: Sequence[str], where: str, named: str, cells: Sequence[str] = ()
) -> tuple[str, ...]:
    """Which two of the columns of these names hold the pairs: the `wanted` ones, or those with a usual name. UserError
    if one of the `wanted` is not there, or if it is not clear; it tells what is there (`cells`, if not the names).
    """
    there = cells or names
    if absent := [name for name in wanted if name not in there]:
        raise missing(absent, there, where)
    called = [name for name in names if is_name(name)]
    if len(called) > 2:
        called = [name for name in called if name.lower() not in NUMBERS]
    two = tuple(wanted or (called if len(called) == 2 else names))
    if len(two) == 2 and set(two) <= set(names):
        return two
    shown = ", ".join(column[:SHOWN] for column in there[:SHOWN]) or "none"
    if len(there) < 2:
        raise UserError(f"{where}: expected texts in two languages (it has: {shown})")
    raise UserError(f"{where}: {len(there)} columns; choose two with --columns NAME,NAME, {named} (it has: {shown})")


def names_columns(cells: Sequence[str]) -> bool:
    """Whether a first row looks like a header: all of its cells differ in more than letter case, at least two of them
    (both, if there are two) are usual names of columns, and none looks like a sentence.
    """
    different = {cell.strip().lower() for cell in cells}
    named = sum(map(is_name, cells))
    short = all(len(cell.split()) <= 3 and cell[-1:] not in (".", "!", "?") for cell in cells)
    return len(different) == len(cells) and named >= 2 and (named == len(cells) or len(cells) > 2) and short


def is_name(cell: str) -> bool:
    """Whether this is a usual name of a column of texts in one language."""
    name = cell.strip().lower()
    detailed = _DETAILED.fullmatch(name)
    return name in KNOWN or bool(detailed and detailed[1] in KNOWN)


def _code(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _first(name: str) -> str:
    return _code(name).partition("-")[0].partition("@")[0].partition(".")[0]
