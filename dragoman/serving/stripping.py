"""What a model reads of texts: all but their protected spans, which come back in its translation."""

from dragoman.documents.spans import PROTECTED, Stripped
from dragoman.documents.translated import Sentence
from dragoman.serving.models import Read
from dragoman.text.protection import Protection
from dragoman.translation.translation import Translation


class StrippedSources:
    """What a model reads for a sentence, without its protected spans: those of the first of several texts that is not
    blank come back, in the translation.
    """

    def __init__(self, text: Read, known: Protection | None) -> None:
        texts = (text,) if isinstance(text, str) else text
        self._number = next((number for number, each in enumerate(texts) if each.strip()), 0)
        self.first = texts[self._number]
        self._stripped = [Stripped(each, PROTECTED, known) for each in texts]
        self.text = self._stripped[0].text if isinstance(text, str) else tuple(each.text for each in self._stripped)

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate."""
        return self._stripped[self._number].worded

    def sentence(self, translation: Translation) -> Sentence:
        """The translation with the spans in it."""
        return self._stripped[self._number].sentence(translation, self._number)
