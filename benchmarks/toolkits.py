"""The contenders: dragoman's paths, and the other toolkits that an interpreter has."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from benchmarks.contest import ROOT, Contender
from benchmarks.jobs import Job
from dragoman.model.attention.terms.table import TERMS

PATHS = {"float32": "dragoman, plain", "bfloat16": "dragoman, fast"}  # by the precision of matrix products

EXPORTED = {"dragoman, ONNX int8": None, "dragoman, ONNX int8, 300,20": [300, 20]}  # by candidates
NO_GRAPHS = "dragoman, no CUDA graphs"

NO_TERM = "additive"
TOGETHER = 4  # trainings with a term that are measured together, in turns


class Peer(NamedTuple):
    """Another toolkit: the package required, the module that measures it, and the works and devices that it is
    measured in.
    """

    name: str
    package: str
    module: str
    works: frozenset[str]
    devices: frozenset[str] = frozenset({"cpu", "cuda"})


PEERS = (
    Peer("OpenNMT-py", "onmt", "benchmarks.peers.opennmt", frozenset({"train", "greedy", "beam"})),
    Peer("JoeyNMT", "joeynmt", "benchmarks.peers.joey", frozenset({"train"})),
    Peer(
        "CTranslate2, int8 Transformer",
        "ctranslate2",
        "benchmarks.peers.ctranslate",
        frozenset({"greedy", "beam"}),
        frozenset({"cpu"}),
    ),
)
VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
DISTRIBUTIONS = {"onmt": "OpenNMT-py"}  # a package that is published under another name


def own(job: Job, *, exported: bool = False) -> Iterator[Contender]:
    """Yield dragoman itself, for each path that does this work."""
    plain, fast = (replace(job, precision=precision) for precision in PATHS)
    paths = {PATHS["float32"]: plain}
    if job.work in ("train", "products"):
        paths[PATHS["bfloat16"]] = fast
        if job.work == "train" and job.device == "cuda":
            paths[NO_GRAPHS] = replace(plain, overrides={"device.cuda_graphs": "false"})
    elif job.device == "cpu":
        paths[PATHS["bfloat16"]] = replace(fast, engine="int8")
        if exported:
            paths |= {name: replace(fast, engine="onnx", candidates=shortlist) for name, shortlist in EXPORTED.items()}
    for name, path in paths.items():
        yield Contender(name, sys.executable, "benchmarks.worker", path)


def terms(job: Job) -> Iterator[list[Contender]]:
    """Yield trainings with each term of attention that shows all of the source, a few at a time beside one without."""
    kinds_shown = [kind for kind, term in TERMS.items() if not term.hides]
    for begin in range(0, len(kinds_shown), TOGETHER):
        names = {NO_TERM: [], **{f"+ {kind}": [kind] for kind in kinds_shown[begin : begin + TOGETHER]}}
        jobs_by_name = [(name, _with_terms(job, kinds)) for name, kinds in names.items()]
        yield [Contender(name, sys.executable, "benchmarks.worker", own_job) for name, own_job in jobs_by_name]


def _with_terms(job: Job, kinds: list[str]) -> Job:
    return replace(job, precision="bfloat16", overrides={"model.attention.terms": f"[{', '.join(kinds)}]"})


def peers(python: str, job: Job, installed: dict[Peer, str]) -> Iterator[Contender]:
    """Yield the installed toolkits that do this work."""
    for peer, version in installed.items():
        if job.work in peer.works:
            yield Contender(f"{peer.name} {version}", python, peer.module, job)


def look(python: str, device: str) -> tuple[dict[Peer, str], list[str]]:
    """Return the toolkits that an interpreter has, with their versions, and a line for each that is not measured."""
    installed, missing = {}, []
    for peer in PEERS:
        if device not in peer.devices:
            missing.append(f"{peer.name}: not measured on {device}")
            continue
        command = [python, "-c", VERSION, DISTRIBUTIONS.get(peer.package, peer.package)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        except OSError as error:
            return {}, [f"no other toolkits: {python}: {error.strerror or error}"]
        if answer.returncode == 0:
            installed[peer] = answer.stdout.strip()
        else:
            missing.append(f"{peer.name}: not installed for {python}")
    return installed, missing
