"""The measured process of `make speed-guard`: `python -m benchmarks.guard_worker FOLDER SCALE DEVICE`.

It runs with the code of one commit, which may be older than this file, so it uses only the command line, the public
Python interface, and libraries. It first writes a line of JSON with the names of its jobs and its device. For a line
with the name of a job on standard input it does one round of that job and answers with a line of JSON: `{"seconds":
...}`, or `{"failed": ...}` if the commit cannot do it.
"""

import http.client
import json
import os
import random
import re
import resource
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

PAIRS = 4_000  # of training
LENGTH, SPREAD, SHORTEST, LONGEST = 13.8, 4.0, 4, 35  # words of a sentence, as in Multi30k
SYMBOLS = 10_000
CLIENTS = 8
SHORT = 6  # words of a message or request
NEVER = -1e4  # logit of the end symbol: only the length limit ends a translation, so both commits do the same work
PATIENCE = 60.0  # seconds until a service answers

RECURRENT = """
  embedding: {size: 256, tie: all}
  encoder: {kind: rnn, cell: gru, size: 256, dropout: 0.2}
  attention: {score: additive}
  decoder: {kind: rnn, cell: gru, size: 512, input_feeding: attentional, readout: tanh, dropout: 0.2}"""
TRANSFORMER = """
  embedding: {size: 256, tie: all}
  encoder: {kind: self_attention, size: 256, layers: 3, heads: 4, hidden: 1024}
  bridge: none
  attention: {score: scaled_dot}
  decoder: {kind: self_attention, size: 256, layers: 3, heads: 4, hidden: 1024}"""
SMALL = """
  embedding: {size: 64, tie: all}
  encoder: {kind: rnn, cell: gru, size: 64}
  attention: {score: additive}
  decoder: {kind: rnn, cell: gru, size: 128}"""
# As the students of Firefox, with half the layers of the encoder.
SSRU = """
  embedding: {size: 256, tie: all}
  encoder: {kind: self_attention, size: 256, layers: 3, heads: 4, hidden: 1024}
  bridge: none
  attention: {score: scaled_dot}
  decoder:
    {kind: self_attention, size: 256, layers: 2, heads: 4, hidden: 1024, autoregression: ssru, positions: none,
     alignment_layer: 1, alignment_head: 1}"""
# As `import` writes a Transformer of Marian, half as wide and deep as OPUS-MT's.
HALF = (
    "kind: self_attention, size: 256, layers: 3, heads: 8, hidden: 1024, dropout: 0.1, bias: true, activation: swish, "
    "norm: after, final_norm: false, norm_epsilon: 1.0e-06, embedding_norm: false, scale: true, positions: marian"
)
IMPORTED = f"""
  start_symbol: none
  embedding: {{size: 256, tie: all}}
  encoder: {{{HALF}}}
  bridge: none
  attention: {{score: scaled_dot}}
  decoder: {{{HALF}, alignment_head: 1}}
  output: {{kind: softmax, label_smoothing: 0.1}}"""
MODELS = {"GRU": RECURRENT, "Transformer": TRANSFORMER, "SSRU": SSRU, "imported": IMPORTED, "small": SMALL}

CONFIG = """
run: {run}
data: {{source: en, target: fr, train: {corpus}/train, dev: {corpus}/dev}}
text:
  shared_vocabulary: true
  source: {{pretokenizer: {pretokenizer}, tokenizer: {tokenizer}}}
  target: {{pretokenizer: {pretokenizer}, tokenizer: {tokenizer}}}
model:{model}
training: {{epochs: null, steps: {steps}, batch: {{size: 80}}}}
search: {search}
device: {{name: {device}, threads: 1}}
{more}"""
# The search that `import` writes, with the limit of the length of all models here, which ends every translation.
SHRINKING = "{kind: beam, size: 6, shrink: true, normalization: length, alpha: 1.0}"
IMPORTED_OPTIONS = "constraints: [no_unknown]\nreplace_unk: false\n"
ENGINES = {"cpu": ("torch", "int8", "onnx"), "cuda": ("torch",)}


class Work(NamedTuple):
    """A search over some sentences in batches."""

    search: str
    beam: int
    rows: int  # sentences of a batch
    sentences: int

    def __str__(self) -> str:
        return f"{self.search}, batches of {self.rows}"


WORKS = (Work("greedy", 1, 1, 24), Work("greedy", 1, 64, 128), Work("beam 5", 5, 1, 24), Work("beam 5", 5, 64, 128))
FEW = (WORKS[0], WORKS[3])


class Jobs:
    """All that is measured, by name. A job returns the seconds of one round: of the processor, but on a GPU and for the
    service, in which waiting counts too.
    """

    def __init__(self, folder: Path, scale: float, device: str = "cpu") -> None:
        self._folder = folder
        self._scale = scale
        self._device = device
        self._seconds = busy_seconds if device == "cpu" else wall_seconds
        self._random = random.Random(1)
        self.by_name: dict[str, Callable[[], float]] = {}
        for model, works in {"GRU": WORKS, "Transformer": WORKS, "SSRU": FEW, "imported": FEW}.items():
            self.by_name[f"{model}, training"] = partial(self._train, model)
            for engine in ENGINES[device]:
                for work in works:
                    self.by_name[f"{model}, {engine}, {work}"] = partial(self._translate, model, engine, work)
            self.by_name[f"{model}, score"] = partial(self._score, model)
        self.by_name["small, .po of 2,000 strings"] = self._translate_messages
        self.by_name[f"small, service with {CLIENTS} clients"] = self._serve

    def count(self, count: int) -> int:
        return max(2, round(count * self._scale))

    def _train(self, model: str) -> float:
        config = self.config(model, self._folder / f"trained-{time.monotonic_ns()}", self.count(40), "greedy")
        return self._seconds(lambda: command("train", str(config)))

    def _translate(self, model: str, engine: str, work: Work) -> float:
        translator = load(self._exported(model) if engine == "onnx" else self._run(model), engine)
        texts = sorted(self.texts[: self.count(work.sentences)], key=len)
        batches = [texts[begin : begin + work.rows] for begin in range(0, len(texts), work.rows)]
        return self._seconds(lambda: [translator.translate(batch, beam_size=work.beam) for batch in batches])

    def _score(self, model: str) -> float:
        translator, texts = load(self._run(model), "torch"), self.texts[: self.count(256)]
        return self._seconds(lambda: translator.score(texts, list(reversed(texts))))

    def _translate_messages(self) -> float:
        run, catalogue = self._run("small"), self._folder / "messages.po"
        messages = [" ".join(text.split()[:SHORT]) for text in self._sentences(self.count(2_000))]
        entries = [f'msgid "{message}"\nmsgstr ""\n' for message in messages]
        head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
        catalogue.write_text("\n".join([head, *entries]), encoding="utf-8")
        output = self._folder / f"messages-{time.monotonic_ns()}.po"
        return self._seconds(lambda: command("translate", str(run), str(catalogue), "-o", str(output)))

    def _serve(self) -> float:
        texts = [" ".join(text.split()[:SHORT]) for text in self._sentences(self.count(20) * CLIENTS)]
        with serving(self._run("small"), self._folder / "log") as address, ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(partial(request_all, address), [texts[:2]] * CLIENTS))
            began = time.perf_counter()
            list(clients.map(partial(request_all, address), [texts[number::CLIENTS] for number in range(CLIENTS)]))
            return time.perf_counter() - began

    @property
    def texts(self) -> list[str]:
        return (self._corpus / "test.en").read_text("utf-8").splitlines()

    @property
    def _corpus(self) -> Path:
        """The folder of random sentences, written when first needed."""
        folder = self._folder / "corpus"
        if not folder.is_dir():
            folder.mkdir()
            for name, count in (("train", self.count(PAIRS)), ("dev", 2), ("test", 256)):
                for language in ("en", "fr"):
                    lines = "".join(f"{text}\n" for text in self._sentences(count))
                    (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
        return folder

    def _sentences(self, count: int) -> Iterator[str]:
        for _ in range(count):
            length = round(min(LONGEST, max(SHORTEST, self._random.gauss(LENGTH, SPREAD))))
            yield " ".join(f"w{self._random.randrange(SYMBOLS)}" for _ in range(length))

    def config(self, model: str, run: Path, steps: int, search: str) -> Path:
        path, is_imported = run.with_suffix(".yaml"), model == "imported"
        words = f"{{kind: word, vocab_size: {SYMBOLS}}}"
        values = {
            "run": run,
            "corpus": self._corpus,
            "pretokenizer": "punctuation" if is_imported else "whitespace",
            "tokenizer": f"{{kind: sentencepiece, model: {self._pieces}}}" if is_imported else words,
            "model": MODELS[model],
            "steps": steps,
            "search": SHRINKING if is_imported else f"{{kind: {search}}}",
            "device": self._device,
            "more": IMPORTED_OPTIONS if is_imported else "",
        }
        path.write_text(CONFIG.format(**values), encoding="utf-8")
        return path

    @property
    def _pieces(self) -> Path:
        """A sentencepiece model whose pieces are the words of the corpus, so that translations have their lengths."""
        path = self._folder / "pieces.model"
        if not path.is_file():
            import sentencepiece

            with path.open("wb") as file:
                sentencepiece.SentencePieceTrainer.train(
                    input=str(self._corpus / "train.en"),
                    model_writer=file,
                    model_type="word",
                    vocab_size=SYMBOLS,
                    hard_vocab_limit=False,
                    eos_id=0,
                    unk_id=1,
                    bos_id=-1,
                    minloglevel=2,
                )
        return path

    @cache  # noqa: B019 (one object lives as long as the process)
    def _run(self, model: str) -> Path:
        """Train one step. Return the folder of the run, whose translations never end by themselves."""
        run = self._folder / f"run-{model}"
        command("train", str(self.config(model, run, 1, "beam")))
        never_end(run / "model.safetensors")
        return run

    @cache  # noqa: B019
    def _exported(self, model: str) -> Path:
        run = self._run(model)
        command("export", str(run), "--onnx", "--quantization", "int8")
        return run


def never_end(weights: Path) -> None:
    """Make the end symbol improbable in a file of weights."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    from dragoman.data.vocabulary import EOS

    with safe_open(weights, "pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors["output.bias"][EOS] = NEVER
    save_file(tensors, weights, metadata)


@cache
def load(run: Path, engine: Any) -> Any:
    """Return a translator."""
    import dragoman

    return dragoman.load(run, engine=engine)


def command(*arguments: str) -> None:
    """Run a command of dragoman in this process. Raises RuntimeError if it fails."""
    sys.argv = ["dragoman", *arguments]
    try:
        runpy.run_module("dragoman", run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise RuntimeError(f"dragoman {arguments[0]}: exit status {error.code}") from error


def busy_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds that some work takes, in this process and in those that it starts."""
    began = _processor_seconds()
    work()
    return _processor_seconds() - began


def wall_seconds(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes on a GPU, with all that it has been given to do."""
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def serving(run: Path, log: Path) -> Iterator[tuple[str, int]]:
    """Serve a run for the length of the block; yields the address."""
    arguments = [sys.executable, "-m", "dragoman", "serve", str(run), "--port", "0"]
    with log.open("w") as output, subprocess.Popen(arguments, stderr=output, stdout=output) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not (address := re.search(r"http://([\d.]+):(\d+)", log.read_text("utf-8"))):
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("dragoman serve: does not start")
                time.sleep(0.05)
            yield address[1], int(address[2])
        finally:
            server.terminate()


def request_all(address: tuple[str, int], texts: list[str]) -> None:
    """Have texts translated one after another. Raises RuntimeError if a request fails."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    for text in texts:
        body = json.dumps({"q": text, "source": "en", "target": "fr"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"dragoman serve: answered {response.status}")
    connection.close()


def main() -> None:
    folder, scale, device = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs = Jobs(folder, scale, device)
    print(json.dumps({"jobs": list(jobs.by_name), "device": device}), file=answers, flush=True)
    for line in sys.stdin:
        answer: dict[str, float | str]
        try:
            with (folder / "output").open("w") as output, redirect_stdout(output), redirect_stderr(output):
                answer = {"seconds": jobs.by_name[line.strip()]()}
        except Exception as error:  # whatever an older commit raises where it cannot do a job
            answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
