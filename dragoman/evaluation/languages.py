"""In which language a text is: what a model of several languages may get wrong (extra `languages`)."""

import re
from collections.abc import Sequence
from importlib import metadata
from itertools import chain
from typing import Any

from dragoman.errors import UserError
from dragoman.evaluation.metrics import Score

DOUBT = 2  # another language must be so many times as probable as the one that is wanted


class Identifier:
    """Tells languages apart by py3langid (Lui and Baldwin 2012), restricted to some, which short texts need.

    Languages are ISO 639 codes; of `pt_BR` or `de-AT` the first part counts. UserError where py3langid is not
    installed, or does not know one of them.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ModuleNotFoundError as error:
            raise UserError(f"{error.name} is not installed; pip install 'dragoman[languages]' brings it") from error
        self._model: Any = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        unknown = [name for name in languages if code(name) not in self._model.labels]
        if unknown:
            raise UserError(f"py3langid does not know the language '{unknown[0]}'")
        self.codes = sorted(set(map(code, languages)))
        self._model.set_languages(self.codes)

    def wrong(self, text: str, language: str) -> bool:
        """Whether a text is in another language. It is not where that is in doubt, as of a name or a number."""
        found = dict(self._model.rank(text))
        return bool(max(found.values()) > DOUBT * found[code(language)])


def code(name: str) -> str:
    """The code of a language that files are named after."""
    return re.split(r"[-_.]", name)[0].lower()


def wrong_language(
    texts: Sequence[str], references: Sequence[Sequence[str]], language: str, among: Sequence[str]
) -> Score:
    """The percentage of translations in another language than the wanted one; `among` are the languages that it can be.
    The signature has that of the references too: the identifier's own errors. UserError as `Identifier`.
    """
    identifier = Identifier(among)

    def share(lines: Sequence[str]) -> float:
        return 100 * sum(identifier.wrong(line, language) for line in lines) / max(1, len(lines))

    version, of_references = metadata.version("py3langid"), share(list(chain.from_iterable(references)))
    signature = f"unit:percent|language:{code(language)}|among:{','.join(identifier.codes)}|py3langid:{version}"
    return Score("Wrong language", share(texts), f"{signature}|doubt:{DOUBT}|references:{of_references:.2f}")
