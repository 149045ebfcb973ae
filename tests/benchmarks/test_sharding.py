"""What a second worker of `translate --shards` is worth, with a tiny run and a few lines."""

from pathlib import Path

import pytest

from benchmarks import sharding
from tests import toy


@pytest.mark.slow
def test_the_table_tells_whether_the_outputs_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    assert sharding.main([f"--run={toy.trained(tmp_path)}", "--lines=4000", "--shards=6"]) == 0
    lines = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[0].strip() for line in lines] == ["1", "2", "2, one killed"]
    assert [line[3].strip() for line in lines] == ["yes"] * 3


@pytest.mark.parametrize("last", ["un", "deux"])
def test_another_output_is_status_1(last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["un", "un", last])

    def translated(run: Path, source: Path, output: Path, *_: object, **__: object) -> float:
        output.write_text(next(texts))
        return 1.0

    monkeypatch.setattr(sharding, "translated", translated)
    assert sharding.main([f"--run={tmp_path}", "--lines=2"]) == int(last != "un")


def test_what_the_command_says_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    assert sharding.main([f"--run={tmp_path}", "--lines=2"]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_workers_are_those_below_a_process() -> None:
    assert sharding.workers(1_000_000_000) == []
