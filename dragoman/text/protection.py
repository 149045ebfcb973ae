"""Protected spans: what comes through a translation verbatim, such as placeholders; marks stand for it meanwhile."""

import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.pretokenizer import Span
from dragoman.text.tokenizer import MARK, MARKS, REPLACEMENT

Pattern: TypeAlias = re.Pattern[str]

_GONE = str.maketrans(dict.fromkeys(MARKS, REPLACEMENT))

_ATTRIBUTE = r"""\s+[\w:@.-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))?"""
_FORMAT = r"[-+#0']*(?:[1-9]\d*|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[qjzt])?"  # between `%` and the letter of printf
_SPACED = r"[^\W\u2e80-\U0010ffff]"  # a letter or digit of a script that has spaces between words
_FREE = rf"(?<!{_SPACED})"  # not after one
_NO_NUMBER = r"(?<!\d)(?<!\d[ \u00a0\u202f])"  # not after one: 50 %off
_PRINTF = rf"""
    %(?:\d+\$|\(\w[^()\s]*\)){_FORMAT}[a-zA-Z@]           # %1$s %(count)s
  | {_NO_NUMBER}%{_FORMAT}[a-zA-Z@]                       # %d %-5.2f %'lu
  | %(?!'){_FORMAT}[diufxXoegcs@](?!\w)                   # 100%d, but nothing in 50 %off
"""
_CONVERSION = "(?:hh?|ll?|[qjzt])?[diuoxXsfc]"  # of printf
_CLOSING = r"""(?<![^\s(]["'“”‘’«»„])"""  # not after a quote that closes
_NAMED = rf"""
    {_FREE}(?<![:.)\]}}*%]){_CLOSING} :[A-Za-z][\w+-]*+:(?!{_SPACED})                     # :smile:
  | {_FREE}(?<![:.)\]}}*%\[]){_CLOSING} :[A-Za-z_][A-Za-z0-9_]++(?!{_SPACED})             # :name
  | {_FREE}(?<![@.]) @[A-Za-z]\w+                                                      # @count
  | (?<![^\s"'(“‘«\u2e80-\U0010ffff])![a-z][a-z0-9_]+(?!{_SPACED})                      # !name
  | {_NO_NUMBER}%[A-Z][A-Z0-9_]{{2,}}(?!{_SPACED})                                        # %NAME
  | {_NO_NUMBER}%(?!{_CONVERSION}(?:[^a-z_]|.{{0,200}}%{_CONVERSION}(?![a-z])))          # no %lld, no %sclick here%s
      [a-z][a-z0-9_]{{2,}}(?!{_SPACED})                                                  # %name
  | {_NO_NUMBER}%[-+0\ ]*\d*<\w+>{_FORMAT}[a-zA-Z](?!{_SPACED})                           # %<count>d
  | %(?:\d+\$)?\#@\w+@                                                                # %#@letters@
  | %L(?:\d{{1,2}}|n(?!{_SPACED}))                                                       # %L1 %Ln
"""
_IN_PATH = r"""[^\s\\"'<>|*?()\[\]{}]"""
# A path of Windows, in which `\n` is no line break; a space is in it if a `\` follows in the same word.
_PATH = rf"(?<![A-Za-z0-9])[A-Za-z]:\\(?:{_IN_PATH}|\\|(?<![.,;:!?])[ ](?={_IN_PATH}+\\))*(?<![.,;:!?])"
_MESSAGE = "[^{}]*+"  # of ICU: text with braces in braces, seven deep, which is a message in a message in another
for _ in range(6):
    _MESSAGE = rf"(?:[^{{}}]++|\{{{_MESSAGE}\}})*+"
_BRANCHES = rf"\{{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal)\s*+,{_MESSAGE}\}}"  # {n, plural, one {..} ..}
_IN_URL = '[^\\s<>"()\u00ab\u00bb\u2000-\U0010ffff]'  # Japanese, for instance, goes on after it without a space


_ONLY_BRANCHES = re.compile(rf"\s*{_BRANCHES}\s*")


def only_branches(text: str) -> bool:
    """Whether a text is a message of ICU with branches and nothing else. No model translates those."""
    return _ONLY_BRANCHES.fullmatch(text) is not None


def placeholders() -> Pattern:
    """What programs put other text in the place of, in the notations of C, Python, Qt, JavaScript, Java, Ruby, PHP,
    Apple, ICU, Fluent and the shell, and the escapes of line breaks and tabs: `%d`, `%1$s`, `%(count)s`, `%<count>d`,
    `%#@count@`, `%L1`, `%Ln`, `{name}`, `{{name}}`, `{{{name}}}`, `{ $name }`, `${x}`, `$x`, `$(x)`, `%{x}`, `#{x}`,
    `$t(x)`, `%name%`, `:name`, `@name`, `!name`, `%name`, `{% if x %}`, `<%= x %>`, `\\n`, `%%`; and `[X12X]`. An
    amount with a separator (`$1,000`) is none. A message of ICU with branches (plural, select, selectordinal) is one
    span: with its parts in another order, it would be none. So is a path of Windows (`C:\\new`), in which `\\n` is no
    line break.
    """
    return re.compile(
        r"(?=[%{$\#[\\<:@!]|[A-Za-z]:\\) (?:"  # nothing is tried where none of them begins
        rf"{_PATH} | <%(?:[^%<]|%(?!>)|<(?!%))*+%>"  # C:\new <%= x %>
        rf"| %[A-Za-z_]\w+%(?![%\w]) | %% | {_NAMED} | {_PRINTF} | %\d{{1,2}}"  # %name% %1
        rf"| {_BRANCHES}"
        r"""
      | \{%[^{}]*%\}                                                          # {% if x %}
      | \{\{\{[^{}]*\}\}\} | [$\#%]?\{\{[^{}]*\}\} | [$\#%]?\{[^{}\s]*\}          # {{{x}}} {{ x }} {x} ${x}
      | \{\s*+(?:[$-][\w.-]++|[A-Z][A-Z0-9_-]*+\([^(){}]*+\))\s*+\}               # { $x } { -brand } { NUMBER($x) }
      | \{\s*(?:\w+\s*)?(?:,\s*\w+\s*){0,2}\}                                   # {n, number}
      | \{\s*\w+\s*,\s*(?:number|date|time)\s*,[^{}]*\}                          # {d, date, yyyy-MM-dd HH:mm}
      | \$(?!\d+[.,\u00a0\u202f]\d)\w+(?:\$|\([^()\s]*\))?                    # $x $x$ $t(x), but nothing in $1,000
      | \$\([A-Za-z_][\w.]*\)                                                  # $(NAME) $(EXIF.ISO)
      | \[[A-Z]+\d+[A-Z]*\] | \\[nrt]                                         # [X12X] \n
        )""",
        re.VERBOSE,
    )


def tags() -> Pattern:
    """Tags, comments and entities of XML and HTML: `<b>`, `</b>`, `<a href="...">`, `<br/>`, `<0>`, `&amp;`."""
    comment = "<!--(?:(?!<!--).)*?-->"  # from the last `<!--`, so that those that are not closed are read once
    return re.compile(
        rf"{comment}|</?(?:[^\W\d][\w:.-]*(?:{_ATTRIBUTE})*\s*|\d+)/?>|&(?:\w{{2,}}|\#\d+|\#[xX][0-9a-fA-F]+);",
        re.DOTALL,
    )


def urls() -> Pattern:
    """Addresses of the web, and others with `://`, without the punctuation after them."""
    return re.compile(
        rf"(?:[A-Za-z][A-Za-z0-9+.-]{{0,30}}+://|(?<!\w)www\.)(?:{_IN_URL}|\({_IN_URL}*\))+(?<![.,;:!?'])"
    )


def emails() -> Pattern:
    """Addresses of people: `name@example.org`."""
    return re.compile(
        r"[A-Za-z0-9._%+\u00c0-\u024f-]{1,64}+@[A-Za-z0-9\u00c0-\u024f-]+(?:\.[A-Za-z0-9\u00c0-\u024f-]+)+"
    )


def numbers() -> Pattern:
    """Numbers in digits, with what joins them: `7`, `-2`, `1,000.5`, `10:30`, `2024-01-31`, `0x1F`. Digits after a
    letter (`mp3`) are none.
    """
    return re.compile(
        r"(?![^-+\u2212\d])(?<![\dA-Za-z_\u00c0-\u052f])"
        r"(?:0[xX][0-9a-fA-F]+\b|(?:(?<![\w.,)\]%])[-+\u2212])?\d+(?:[.,:/\u00a0\u202f-]\d+)*)"
    )


def whitespace() -> Pattern:
    """Line breaks and tabs with the space around them, and several spaces in a row."""
    return re.compile(r"(?!\S)(?:(?:(?<!\s)\s*)?[\t-\r\x1c-\x1e\x85\u2028\u2029]\s*|[ ]{2,})")


def pattern(*, regex: str) -> Pattern:
    """The matches of the Python regular expression `regex`. UserError if it is invalid."""
    try:
        return re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise UserError(f"'{regex}' is not a regular expression: {error}") from None


KINDS: Mapping[str, Callable[..., Pattern]] = {
    "placeholders": placeholders,
    "tags": tags,
    "urls": urls,
    "emails": emails,
    "numbers": numbers,
    "whitespace": whitespace,
    "pattern": pattern,
}


class ProtectedSpan(NamedTuple):
    """A span of a text, and the mark in its place."""

    mark: str
    text: str
    begin: int
    end: int


class Masked(NamedTuple):
    """Texts with marks, and what the marks stand for: `spans` of the text with this `number`, in their order."""

    texts: tuple[str, ...]
    spans: tuple[ProtectedSpan, ...] = ()
    number: int = 0


class Protection:
    """What is protected: all that these patterns find. Two are equal if they protect the same."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = (*patterns, MARK)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protection) and self.patterns == other.patterns

    def __hash__(self) -> int:
        return hash(self.patterns)

    @classmethod
    def of(cls, kinds: Sequence[Spec]) -> "Protection | None":
        """What parts of the table KINDS find; None if there are none. UserError for one that is not valid."""
        return cls([components.build(KINDS, spec) for spec in kinds]) if kinds else None

    @classmethod
    def named(cls, kinds: Sequence[str]) -> "Protection | None":
        """The same of kinds as a command has them: their names, or `pattern=REGEX`."""
        split = (kind_text.partition("=") for kind_text in kinds)
        return cls.of([Spec(kind, {"regex": regex} if equals else {}) for kind, equals, regex in split])

    def find(self, text: str) -> list[Span]:
        """The spans of a text from left to right, none in another: of those that begin first, the longest."""
        spans: list[Span] = []
        ahead = [match for expression in self.patterns if (match := _match_after(expression, text, 0))]
        while ahead:
            begin, end = min([match.span() for match in ahead], key=lambda span: (span[0], -span[1]))
            spans.append((begin, end))
            later = [
                candidate if candidate.start() >= end else _match_after(candidate.re, text, end) for candidate in ahead
            ]
            ahead = [match for match in later if match]
        return spans

    def masked(self, texts: Sequence[str]) -> Masked:
        """Texts to translate, with marks for the spans of the first that is not blank, numbered from left to right; all
        beyond the last mark share that one. In the others, spans that are the same have the same mark, and further
        spans stay.
        """
        number = next((number for number, text in enumerate(texts) if text.strip()), 0)
        return self._mask_places(texts, number, self.find(texts[number])) if texts else Masked(())

    def masked_pair(self, sources: Sequence[str], target: str) -> Masked:
        """The same of texts and their translation, which comes last. Only spans that both have get marks; what one of
        them has alone stays.
        """
        number = next((number for number, text in enumerate(sources) if text.strip()), 0)
        left = Counter(target[begin:end] for begin, end in self.find(target))
        kept: list[Span] = []
        for begin, end in self.find(sources[number]) if sources else ():
            if left[sources[number][begin:end]] and len(kept) < len(MARKS):
                left[sources[number][begin:end]] -= 1
                kept.append((begin, end))
        return self._mask_places((*sources, target), number, kept)

    def _mask_places(self, texts: Sequence[str], number: int, places: list[Span]) -> Masked:
        last = len(MARKS) - 1
        spans = [
            ProtectedSpan(MARKS[min(place, last)], texts[number][begin:end], begin, end)
            for place, (begin, end) in enumerate(places)
        ]
        own = _replace_spans(texts[number], [((span.begin, span.end), span.mark) for span in spans])
        counts = Counter(span.mark for span in spans)
        alone = [span for span in spans if counts[span.mark] == 1]
        masked_texts = [own if place == number else self.like(text, alone) for place, text in enumerate(texts)]
        return Masked(tuple(masked_texts), tuple(spans), number)

    def like(self, text: str, spans: Sequence[ProtectedSpan]) -> str:
        """A text with the marks of these spans in the place of the same ones, each used once, from left to right."""
        left: dict[str, deque[str]] = {}
        for protected in spans:
            left.setdefault(protected.text, deque()).append(protected.mark)
        marked_spans = [(span, left.get(text[slice(*span)])) for span in self.find(text)] if text else []
        return _replace_spans(text, [(span, marks.popleft()) for span, marks in marked_spans if marks])


def _match_after(pattern: Pattern, text: str, begin: int) -> re.Match[str] | None:
    """The first match of a pattern from `begin` on that is not empty."""
    match = pattern.search(text, begin)
    if match and not match[0]:
        return next((later for later in pattern.finditer(text, begin) if later[0]), None)
    return match


def _replace_spans(text: str, marks: Sequence[tuple[Span, str]]) -> str:
    """A text with marks in the place of spans, and no others."""
    parts: list[str] = []
    position = 0
    for (begin, end), mark in marks:
        parts += [text[position:begin].translate(_GONE), mark]
        position = end
    return "".join([*parts, text[position:].translate(_GONE)])
