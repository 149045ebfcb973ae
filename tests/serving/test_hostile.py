"""Hostile requests, of which `make fuzz` sends thousands."""

import zipfile
from collections import Counter
from io import BytesIO

import pytest

pytest.importorskip("fastapi")
from tests.serving import hostile


def test_they_are_of_all_kinds_and_the_same_for_a_seed() -> None:
    requests = [hostile.drawn(number, 1) for number in range(200)]
    assert requests[:20] == [hostile.drawn(number, 1) for number in range(20)]
    assert requests[0] != hostile.drawn(0, 2)
    kinds = Counter(request.name.partition(".")[2] or request.path for request in requests)
    assert {*kinds} >= {"docx", "pptx", "srt", "md", "html", "json", "/translate", "/v1/translate"}
    assert max(len(request.data) for request in requests) < 200_000
    office = next(request for request in requests if request.name == "a.docx")
    with zipfile.ZipFile(BytesIO(office.data)) as archive:
        assert archive.namelist() == ["word/document.xml"]


@pytest.mark.slow
def test_a_service_stands_a_few(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "SLOWEST", 60.0)  # how quick it is depends on the machine
    assert hostile.main(["--requests", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("8 hostile requests, seed 1")
    assert lines[2].endswith("0 faults; ended with 143")
    monkeypatch.setattr(hostile, "SLOWEST", 0.0)
    assert hostile.main(["--requests", "1"]) == 1
