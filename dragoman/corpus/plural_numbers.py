"""Plurals with a number in the place of the placeholder, where a language has several forms for more than one.

`%d files` is translated to Czech in two ways, one for 2 to 4 files and one for 5 and more, and nothing in it says which
is meant. `2 files` and `5 files` do.
"""

import re
from typing import Final, NamedTuple

from dragoman.corpus.plural_forms import COUNTED, Forms
from dragoman.corpus.translation_unit import PluralForm

# Placeholders of whole numbers in C, Python, Qt and KDE, and their names in braces.
NUMBER: Final = re.compile(
    r"(?<![%$\\{])(?:%(?:\d+\$|\(\w+\))?'?(?:hh|h|ll|l|z|j|t|q|L)?[diu](?![^\W\d_])|%n(?!\w)|%1(?![\w$.])|"
    r"%?\{(?:0|n|num|number|count)\}(?!\}))"
)


HUNDRED: Final = 100  # in most languages, of the most common form of more than one

_DIGITS = re.compile(r"\d+")


class PluralExample(NamedTuple):
    """A text with a number in the place of a placeholder."""

    text: str
    number: str
    placeholder: str

    def restore(self, translation: str, *, alone: bool = False) -> str | None:
        """Return a translation with the placeholder in the place of the number; None unless it is there once. A form
        for that number `alone` may do without, as `two files` does, if it has no other number.
        """
        if alone and set(_DIGITS.findall(translation)) <= {*_DIGITS.findall(self.text)} - {self.number}:
            return translation
        pattern = rf"(?<![\d.,]){self.number}(?!\d|[.,]\d)"
        restored, count = re.subn(pattern, lambda match: self.placeholder, translation)
        return restored if count == 1 else None


def example_numbers(forms: Forms) -> dict[int, int]:
    """Return a number for each form that is not the singular, the least above 1 if there is one. None are needed if
    there is only one such form.
    """
    numbers: dict[int, int] = {}
    for number in (*range(2, COUNTED), 0) if forms.of else ():
        numbers.setdefault(forms.of[number], number)
    numbers.pop(forms.singular, None)
    return numbers if len(numbers) > 1 else {}


def describe_forms(forms: Forms) -> dict[int, PluralForm]:
    """Return each form of a catalogue with a number that it is for, which tells it apart or is a large one."""
    examples = example_numbers(forms)
    numbers: dict[int, int] = {}
    for number in (HUNDRED, *range(2, COUNTED), 1, 0) if forms.of else ():
        numbers.setdefault(forms.of[number], number)
    return {
        form: PluralForm(examples.get(form, number), form in examples, forms.of.count(form) == 1)
        for form, number in numbers.items()
    }


def put_number(text: str, number: int) -> PluralExample | None:
    """Return a text with a number in the place of its placeholder for one; None if it has no such placeholder or
    several, or the number stands in it already.
    """
    places = [*NUMBER.finditer(text)]
    if len(places) != 1 or re.search(rf"(?<!\d){number}(?!\d)", text.replace(places[0][0], "")):
        return None
    (place,) = places
    return PluralExample(f"{text[: place.start()]}{number}{text[place.end() :]}", str(number), place[0])
