"""Links between the words of sentence pairs, found from these pairs alone (extra `align`): by the library sil-thot, or
by another finder of the places of words (`training/aligning.py`).
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from importlib import import_module
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

from dragoman.corpus.pharaoh import Links
from dragoman.errors import UserError, missing_library
from dragoman.text.normalizer import Normalizer

ITERATIONS = 5  # of a model, and of the IBM model 1 that it starts from
LONGEST = 200  # words of a sentence; the library's HMM takes no more, and its time grows with their third power

PROGRAM = "from dragoman.corpus.aligners import work; work()"

REPORTS = 10  # times that `mask_align` tells how far its training is

# The place in one sentence, from 1, of each word of the other; 0 is none.
Places: TypeAlias = list[int]


class Method(StrEnum):
    """Alignment models: Brown et al. (1993), Vogel et al. (1996), Dyer et al. (2013), Chen et al. (2021)."""

    ibm1 = "ibm1"
    ibm2 = "ibm2"
    hmm = "hmm"
    fast_align = "fast_align"
    mask_align = "mask_align"


class Symmetrization(StrEnum):
    """Ways to make one alignment of those of both directions (Och and Ney 2003, Koehn et al. 2003), or one alone:
    `forward` has at most one source word for a target word, `backward` at most one target word for a source word.
    """

    union = "union"
    intersection = "intersection"
    och = "och"
    grow_diag = "grow_diag"
    grow_diag_final = "grow_diag_final"
    grow_diag_final_and = "grow_diag_final_and"
    forward = "forward"
    backward = "backward"


class WordPair(NamedTuple):
    """The words of a pair, with spaces between them: as one text, they take little memory."""

    source: str
    target: str

    @property
    def lists(self) -> tuple[list[str], list[str]]:
        source, target = (text.split(" ") if text else [] for text in self)  # words may have other white space
        return source, target

    @property
    def counts(self) -> tuple[int, int]:
        source, target = self.lists
        return len(source), len(target)

    @property
    def usable(self) -> bool:
        """Whether the pair can be aligned: neither side is empty, or longer than LONGEST."""
        return all(0 < count <= LONGEST for count in self.counts)


class AlignmentTask(NamedTuple):
    """What a process has to do: learn from all pairs, and align those from number `first` on."""

    method: Method
    pairs: list[WordPair]
    first: int


# Finds, given tasks, the number of processes and what to call after each pass, the places for each task.
Find: TypeAlias = Callable[[Sequence[AlignmentTask], int, Callable[[], object]], list[list[Places]]]


def written_words(pretokenizer: str) -> Callable[[str], str]:
    """A function from a text to its words, as `text.pretokenizer` separates them, with spaces between."""
    from dragoman.text.pretokenizer import PRETOKENIZERS  # slow to import, and the command line needs the names above

    normalize, tokenize = Normalizer(lowercase=False), PRETOKENIZERS[pretokenizer]

    def words(text: str) -> str:
        text = normalize(text)
        return " ".join(text[begin:end] for begin, end in tokenize(text))

    return words


def lower_words(pretokenizer: str) -> Callable[[str], str]:
    """The same in lower case, in which words are aligned."""
    words = written_words(pretokenizer)
    return lambda text: lowered(words(text))


def lowered(words: str) -> str:
    """Words with spaces between, each in lower case."""
    return " ".join(word.lower() for word in words.split(" "))


def passes(method: Method, symmetrization: Symmetrization) -> int:
    """How often `links` calls `passed`: after each time that it goes through the pairs, or for `mask_align` after a
    tenth of its training.
    """
    training = REPORTS if method is Method.mask_align else ITERATIONS * (1 + (method in _FROM_IBM1))
    return len(_directions(symmetrization)) * (training + 1)


def links(
    pairs: Sequence[WordPair],
    also: Sequence[WordPair] = (),
    *,
    method: Method,
    symmetrization: Symmetrization,
    processes: int,
    passed: Callable[[], object] = lambda: None,
    find: Find | None = None,
) -> Iterator[Links]:
    """Return the links of each pair, none for one that is not usable; the model learns from the pairs in `also`, too.
    `passed` is called after each of the `passes`. UserError if the library is not installed.

    Places are found by `find` or, without it, by the library, with each direction in a process of its own, `processes`
    at a time: as long as the library computes, it holds the lock of the interpreter, and this process could not even be
    interrupted.
    """
    _library("alignment")
    background, wanted = ([pair for pair in group if pair.usable] for group in (also, pairs))
    learned = background + wanted
    turned = [WordPair(pair.target, pair.source) for pair in learned]
    tasks = [
        AlignmentTask(method, turned if back else learned, len(background)) for back in _directions(symmetrization)
    ]
    directions = (find or _in_processes)(tasks, processes, passed) if wanted else []
    places = zip(*directions, strict=True)
    return (_links(pair, next(places), symmetrization) if pair.usable else frozenset() for pair in pairs)


def _links(pair: WordPair, places: Sequence[Places], symmetrization: Symmetrization) -> Links:
    """The links of a pair from the places that each direction has found."""
    source, target = pair.counts
    both = []
    for back, source_places in zip(_directions(symmetrization), places, strict=True):
        matrix = _library("common").WordAlignmentMatrix(*((target, source) if back else (source, target)))
        matrix.put_list(source_places)
        if back:
            matrix.transpose()
        both.append(matrix)  # (source words, target words)
    if symmetrization in _JOINED:
        getattr(both[0], _JOINED[symmetrization])(both[1])  # changes the first
    return frozenset((int(s), int(t)) for s, t in zip(*both[0].to_numpy().nonzero(), strict=True))


def _directions(symmetrization: Symmetrization) -> list[bool]:
    """The directions to train, each as whether it goes back from target to source."""
    return [False, True] if symmetrization in _JOINED else [symmetrization is Symmetrization.backward]


def _in_processes(tasks: Sequence[AlignmentTask], processes: int, passed: Callable[[], object]) -> list[list[Places]]:
    """What `_aligned` finds for each task. UserError if a process ends before that."""
    answers: list[list[Places]] = []
    with ThreadPoolExecutor(len(tasks)) as readers, ExitStack() as children:
        for first in range(0, len(tasks), processes):
            batch = tasks[first : first + processes]
            started = [children.enter_context(_process()) for _ in batch]
            answers += readers.map(_answer, started, batch, repeat(passed))
    return answers


@contextmanager
def _process() -> Iterator[subprocess.Popen[str]]:
    """A process that does a task (`work`), and has ended when the block ends. In a session of its own, it hears no
    Ctrl-C.
    """
    code = f"import sys; sys.path[:] = {sys.path}; {PROGRAM}"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _answer(process: subprocess.Popen[str], task: AlignmentTask, passed: Callable[[], object]) -> list[Places]:
    """Give a process its task and read what it says until it is done."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError), process.stdout as answers, process.stdin as question:
        question.write(json.dumps(task) + "\n")
        question.flush()
        for line in answers:
            answer: str | list[Places] | None = json.loads(line)
            if isinstance(answer, str):
                raise UserError(f"word alignment failed: {answer}")
            if answer is not None:
                return answer
            passed()
    raise UserError(f"the word alignment process ended ({process.wait()}), perhaps for lack of memory")


def work() -> None:
    """What such a process does: read a task, write null after each pass, and then what it has found or what failed, a
    line each.
    """
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # without its parent it has nothing to do
    line = sys.stdin.readline()
    if line.endswith("\n"):
        method, pairs, first = json.loads(line)
        for answer in _align_or_report(AlignmentTask(Method(method), [WordPair(*pair) for pair in pairs], first)):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _align_or_report(task: AlignmentTask) -> Iterator[str | list[Places] | None]:
    """Yield what `_aligned` yields, and the fault if there is one."""
    try:
        yield from _aligned(task)
    except Exception as error:
        yield f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0]


def _aligned(task: AlignmentTask) -> Iterator[list[Places] | None]:
    """Yield None after each pass, and then the places in the source of the target words of each pair to align."""
    alignment = _library("alignment")
    sentences = [pair.lists for pair in task.pairs]
    model = alignment.FastAlignModel() if task.method is Method.fast_align else alignment.Ibm1AlignmentModel()
    for sentence in sentences:
        model.add_sentence_pair(*sentence)
    yield from _train(model)
    if task.method in _FROM_IBM1:
        model = getattr(alignment, _FROM_IBM1[task.method])(model)  # with the same pairs
        yield from _train(model)
    places = [model.get_best_alignment(*sentence)[1].to_list() for sentence in sentences[task.first :]]
    yield None
    yield places


def _train(model: Any) -> Iterator[None]:
    model.start_training()
    for _ in range(ITERATIONS):
        model.train()
        yield None
    model.end_training()


def _library(module: str) -> Any:
    try:
        return import_module(f"thot.{module}")
    except ImportError as error:
        raise missing_library("sil-thot", "align") from error


_FROM_IBM1 = {Method.ibm2: "Ibm2AlignmentModel", Method.hmm: "HmmAlignmentModel"}
_JOINED = {
    Symmetrization.union: "union",
    Symmetrization.intersection: "intersect",
    Symmetrization.och: "och_symmetrize",
    Symmetrization.grow_diag: "grow_diag",
    Symmetrization.grow_diag_final: "grow_diag_final",
    Symmetrization.grow_diag_final_and: "grow_diag_final_and",
}
