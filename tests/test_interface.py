"""The Python interface: a wrong argument is reported in one line, by its name, whatever would fail because of it."""

import io
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from tests import toy
from tests.golden import Golden

WRONG = [
    *(f"translate(['one'], n_best={value})" for value in ("'4'", "2.5", "True", "0")),
    *(f"translate(['one'], beam_size={value})" for value in ("'4'", "2.5", "0")),
    *(f"translate(['one'], timeout={value})" for value in ("'soon'", "float('nan')", "[1]")),
    *(f"translate(['one'], search={value})" for value in ("5", "['greedy']")),
    "translate(['one'], search={'size': 3})",
    "translate(['one'], search='beem')",
    "translate(['one'], search={'kind': 'beam', 'sise': 3})",
    "translate(['one'], search=Spec('beam', {'size': 'many'}))",
    "translate(['one'], exact='yes')",
    "translate(['one'], constraints=[])",
    "translate(['one'], risk='chrf')",
    "translate(['one'], rerank=True)",
    *(f"simultaneous({value}, wait=1)" for value in ("'one two'", "3")),
    "list(translator.simultaneous(['one', 2], wait=1))",
    "simultaneous(['one'], wait=1.5)",
    "translation.explain(5)",
    "translation.explain(nearest='two')",
    "translation.explain(nearest=-1)",
    "explain(translation)",
    "explain(translator.score(['one'], ['un']))",
    "explain([translation], 'un')",
    "explain([translation], contrasts=['un', 'deux'])",
    *(f"load(run, device={value})" for value in ("'tpu'", "1", "{'name': 'cpu'}")),
    "load(run, weights=1)",
    *(f"load(run, shortlist={value})" for value in ("300", "(300, '20')")),
    "load(run, translation_memory=['more.tsv'])",
    *(f"load(run, dictionary={value})" for value in ("5", "[5]")),
    "load(run, replace_unk='yes')",
    *(f"load_config({value})" for value in ("None", "b'toy.yaml'")),
    *(f"load_config('toy.yaml', overrides={value})" for value in ("'seed'", "{5: 5}")),
    *(f"load_config(run + '/config.yaml', {{'seed': {value}}})" for value in ("object()", "[{1}]", "{1: 2}")),
    *(f"train(config={value})" for value in ("{}", "None")),
    *(f"train(load_config(run + '/config.yaml'), train={value})" for value in ("5", "'one un'", "[('one', 1)]")),
    *(f"train(load_config(run + '/config.yaml'), callbacks={value})" for value in ("5", "Callback()", "[print]")),
    "RunFolder(path=5)",
]
CALLS = """
import sys
import dragoman
from dragoman import *
from dragoman.configuration.components import Spec

run = sys.argv[1]
translator = dragoman.load(run)
translate, simultaneous, explain = translator.translate, translator.simultaneous, translator.explain
(translation,) = translate(["one two"])
for call in sys.argv[2:]:
    try:
        print("no fault:", eval(call))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture(scope="module")
def call_errors(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the message of each call."""
    run = str(toy.trained(tmp_path_factory.getbasetemp()))
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(repository), redirect_stdout(out):
        patch.setattr(sys, "argv", ["-c", run, *WRONG])
        exec(CALLS, {})
    return dict(zip(WRONG, out.getvalue().splitlines(), strict=True))


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_argument_is_told_by_its_name(call: str, call_errors: dict[str, str], golden: Golden) -> None:
    assert call_errors[call].split(":")[0] in ("TypeError", "ValueError", "UserError", "ConfigError"), call_errors[call]
    golden(call_errors[call], call)
