"""What is declared of each format of documents."""

from dragoman.documents.table import FORMATS


def test_strings_of_programs_are_not_split_into_sentences() -> None:
    strings = {ending for ending, document_format in FORMATS.items() if not document_format.prose}
    assert strings == set(".po .xliff .xlf .tmx .json .arb .xcstrings .yaml .yml".split())
