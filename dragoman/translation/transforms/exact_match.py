"""Texts that a translation memory has: answered without the model."""

from dataclasses import replace

from dragoman.translation.sentence import Sentence, TextTransform


class ExactMatch(TextTransform):
    """A text whose translation the memory of a run has is answered with that, if it begins as it should."""

    def prepare(self, sentence: Sentence) -> Sentence:
        translation = sentence.model_inputs.remembered(sentence.inputs)
        if translation is None or not translation.startswith(sentence.beginning or ""):
            return sentence
        return replace(sentence, answer=translation)
