"""Identify the language of translations, which a model of several languages may get wrong (extra `languages`)."""

import copy
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from itertools import chain
from typing import Any

from dragoman.errors import UserError, missing_library
from dragoman.evaluation.metrics.metric import Score

_TRADITIONAL = re.compile(r"[-_.](?:hant|tw|hk|mo)\b", re.IGNORECASE)
DOUBT = 2  # another language must be this many times as probable as the wanted one


class Identifier:
    """Identifies languages by py3langid (Lui and Baldwin 2012), restricted to the given ones, as short texts require.

    Languages are ISO 639 codes; only the first part of `pt_BR` or `de-AT` is used. UserError if py3langid is not
    installed, or does not know one of them and is not to skip it (`skip_unknown`).
    """

    def __init__(self, languages: Sequence[str], *, skip_unknown: bool = False) -> None:
        self._model = copy.copy(_load_model())  # shares the tables, which `set_languages` replaces in this copy only
        unknown = [name for name in languages if code(name) not in self._model.labels]
        if unknown and not skip_unknown:
            raise UserError(f"py3langid does not know the language '{unknown[0]}'")
        languages = [name for name in languages if name not in unknown]
        self.languages = tuple(languages)
        self.codes = sorted(set(map(code, languages)))
        self._model.set_languages(self.codes)

    def ranked(self, text: str) -> list[tuple[str, float]]:
        """The given languages with their probabilities for a text, the most probable first. Of several varieties of a
        language there is one: of Chinese that of its characters, otherwise the first.
        """
        probabilities = dict(self._model.rank(text))
        names = [_variety([name for name in self.languages if code(name) == entry], text) for entry in self.codes]
        probabilities_of = [(name, float(probabilities[code(name)])) for name in names]
        return sorted(probabilities_of, key=lambda entry: (-entry[1], self.languages.index(entry[0])))

    def wrong(self, text: str, language: str) -> bool:
        """Whether a text is in another language. False in doubt, for instance for a name or a number."""
        probabilities = dict(self._model.rank(text))
        return bool(max(probabilities.values()) > DOUBT * probabilities[code(language)])


@cache
def _load_model() -> Any:
    """Load the model of py3langid: half a second and 75 MB, once in a process."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "languages") from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _variety(names: Sequence[str], text: str) -> str:
    """The first of several varieties of a language that has the characters of a text: traditional ones, which GB 2312
    has not, or simplified ones, which Big5 has not.
    """
    traditional = len(text.encode("big5", "ignore")) > len(text.encode("gb2312", "ignore"))
    suited = (name for name in names if (_TRADITIONAL.search(name) is not None) == traditional)
    return next(suited, names[0]) if code(names[0]) == "zh" else names[0]


def code(name: str) -> str:
    """The language code in the suffix of a file."""
    return re.split(r"[-_.]", name)[0].lower()


def wrong_language(
    texts: Sequence[str], references: Sequence[Sequence[str]], language: str, among: Sequence[str]
) -> Score:
    """The percentage of translations in another language of `among` than the wanted one. The signature includes the
    percentage for the references, which measures the identifier's own errors. Raises the UserErrors of `Identifier`.
    """
    identifier = Identifier(among)

    def share(lines: Sequence[str]) -> float:
        return 100 * sum(identifier.wrong(line, language) for line in lines) / max(1, len(lines))

    version, of_references = metadata.version("py3langid"), share(list(chain.from_iterable(references)))
    signature = f"unit:percent|language:{code(language)}|among:{','.join(identifier.codes)}|py3langid:{version}"
    return Score("Wrong language", share(texts), f"{signature}|doubt:{DOUBT}|references:{of_references:.2f}")
