"""`dragoman export` and what translates with it."""

import pytest

from tests.system.conftest import Shell


def test_without_an_export_the_way_to_one_is_told(trained: Shell) -> None:
    pytest.importorskip("onnxruntime")
    line = trained.fails("translate", "runs/toy", "test.en", "--engine=onnx")
    assert line == "runs/toy/onnx: no such export; `dragoman export --onnx` makes it"


@pytest.mark.slow
def test_an_exported_run_translates_as_before(copied: Shell) -> None:
    for module in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(module)
    outcome = copied("export", "runs/toy", "--onnx")
    assert outcome.out == ""
    assert outcome.err.startswith("runs/toy/onnx: ")
    assert "dragoman translate runs/toy FILE --engine onnx" in outcome.err
    for options in ([], ["--search=greedy"], ["--n-best=2", "--alignments"]):
        wanted = copied("translate", "runs/toy", "test.en", *options)
        exported = copied("translate", "runs/toy", "test.en", *options, "--engine=onnx")
        assert (exported.code, exported.err) == (0, "")
        assert [line.split(" F0=")[0] for line in exported.lines] == [line.split(" F0=")[0] for line in wanted.lines]
    assert "onnx/" in copied("info", "runs/toy").out
