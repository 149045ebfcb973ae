"""Forms of plurals in gettext's catalogues: how many a language has, and which numbers each is for."""

import re
from collections.abc import Mapping
from gettext import c2py
from typing import NamedTuple

COUNTED = 200  # numbers from 0 on that show which forms a rule has, and whether that of 1 has other numbers
_HEADER = re.compile(r"nplurals\s*=\s*(\d{1,4})\s*;\s*plural\s*=\s*([^;]*)")


class PluralRule(NamedTuple):
    """The categories of a language in the order of gettext's forms, and the expression that selects the form of n."""

    categories: tuple[str, ...]
    expression: str

    @property
    def header(self) -> str:
        """The value of Plural-Forms in a `.po`."""
        return f"nplurals={len(self.categories)}; plural={self.expression};"


class Forms(NamedTuple):
    """The forms of a catalogue: how many there are, which is that of 1, whether that is the form of 1 alone, and the
    form of each number below COUNTED.
    """

    size: int
    singular: int
    alone: bool
    of: tuple[int, ...] = ()


def read_forms(header: str) -> Forms | None:
    """Return the forms that a Plural-Forms header declares; None if it is missing or invalid."""
    declared = _HEADER.search(header)
    if not declared:
        return None
    try:
        form_of = c2py(declared[2].strip())
        forms = [int(form_of(number)) for number in range(COUNTED)]
    except (ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    count = int(declared[1])
    if not max(forms) < count <= COUNTED:
        return None
    return Forms(count, forms[1], forms.count(forms[1]) == 1, tuple(forms))


def plural_rule(language: str) -> PluralRule | None:
    """Return the rule of a language by its code, with a region (`pt_BR`) if that has a rule of its own."""
    parts = re.split(r"[-_@.]", language.lower())
    return _RULES.get("_".join(parts[:2])) or _RULES.get(parts[0])


_SLAVIC = "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
_ONE, _TWO = ("one", "other"), ("one", "few", "other")
_BY_RULE: Mapping[PluralRule, str] = {
    PluralRule(("other",), "0"): "bo dz id ja km ko lo ms my th vi wo yo zh",
    PluralRule(
        _ONE, "(n != 1)"
    ): "af an ast az bg bn ca da de el en eo es et eu fi fo fur fy gl gu ha hu hy ia it ka kk "
    "kn ks ku ky lb ml mn mr nb ne nl nn no nso or pa pap ps pt rm sd so sq st sv sw ta te tk tr ts ug ur ve xh yi zu",
    PluralRule(_ONE, "(n > 1)"): "ak am br fa fil fr hi ln mg oc pt_br si ti tl uz wa",
    PluralRule(_ONE, "(n%10!=1 || n%100==11)"): "is mk",
    PluralRule(("one", "few", "many"), f"(n%10==1 && n%100!=11 ? 0 : {_SLAVIC})"): "be ru uk",
    PluralRule(_TWO, f"(n%10==1 && n%100!=11 ? 0 : {_SLAVIC})"): "bs hr sh sr",
    PluralRule(("one", "few", "many"), f"(n==1 ? 0 : {_SLAVIC})"): "csb pl szl",
    PluralRule(_TWO, "(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2"): "cs sk",
    PluralRule(_TWO, "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2)"): "lt",
    PluralRule(("one", "other", "zero"), "(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2)"): "lv",
    PluralRule(_TWO, "(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2)"): "mo ro",
    PluralRule(
        ("one", "two", "few", "other"), "(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3)"
    ): "dsb hsb sl",
    PluralRule(("one", "two", "other"), "(n==1 ? 0 : n==2 ? 1 : 2)"): "he iw se",
    PluralRule(("one", "two", "few", "many", "other"), "(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4)"): "ga",
    PluralRule(
        ("one", "two", "few", "other"), "(n==1 || n==11) ? 0 : (n==2 || n==12) ? 1 : (n > 2 && n < 20) ? 2 : 3"
    ): "gd",
    PluralRule(
        ("one", "few", "many", "other"),
        "(n==1 ? 0 : n==0 || (n%100>1 && n%100<11) ? 1 : (n%100>10 && n%100<20) ? 2 : 3)",
    ): "mt",
    PluralRule(
        ("zero", "one", "two", "few", "many", "other"),
        "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5)",
    ): "ar",
    PluralRule(
        ("zero", "one", "two", "few", "many", "other"),
        "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n==3 ? 3 : n==6 ? 4 : 5)",
    ): "cy",
}
_RULES = {code: rule for rule, codes in _BY_RULE.items() for code in codes.split()}
