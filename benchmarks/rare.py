"""What to do about rare words: `make rare-table`.

Four corpora of tokenized text: sentences (ja-en), product documentation (lv-en), descriptions of lines of Python
(anno-code) and questions to SQL (question-sql). The folder of `--data` has them as they are published, in the places
that CORPORA names.

A row is a training. Words of configs/rare/words.yaml have a vector if they are frequent enough; what stands for the
others in a translation makes several lines of a row: `<unk>`, a word of the source, or the translation of that word in
a dictionary, which is counted from the training pairs (extra `align`). Other rows copy, or read and write characters or
subwords; in the last one, three models of subwords translate together. For each line the table has BLEU of the tokens
as they are, the percentage of exact matches, and the minutes of processor time that the training took. `--test` adds
the test sets. Started again, it continues where it stopped.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.metrics.error_rates import ExactMatchRate
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.reading import existing, read_lines
from dragoman.training import checks

WORDS = Path(__file__).resolve().parent.parent / "configs" / "rare" / "words.yaml"
PARTS = ("dev", "test")


class Corpus(NamedTuple):
    """A place below the folder of `--data`: the beginning of the names of its files, or a file of questions. `options`
    suit its size.
    """

    place: str
    source: str
    target: str
    options: Mapping[str, str] = MappingProxyType({})


FIRST = "ja-en"
CORPORA = {
    FIRST: Corpus("enja_nmt_tips", "ja", "en"),
    "lv-en": Corpus("msdocs_lven", "lv", "en", {"training.epochs": "12", "training.batch.size": "48"}),
    "anno-code": Corpus("django_code", "anno", "code", {"training.epochs": "15"}),
    "question-sql": Corpus("text2sql/geography.json", "question", "sql", {"training.epochs": "120"}),
}
COPIED = {"model.output": "{kind: pointer_generator, label_smoothing: 0.1}"}
HYBRID = {"model.embedding.source": "hybrid", "model.output": "{kind: hybrid, size: 256, label_smoothing: 0.1}"}
CHARACTERS = {"text.source.tokenizer": "character", "text.target.tokenizer": "character", "data.max_length": "200"}
SUBWORDS = {
    "text.source.tokenizer": "{kind: bpe, vocab_size: 2000}",
    "text.target.tokenizer": "{kind: bpe, vocab_size: 2000}",
}
SEEDS = tuple(f"{FIRST}, subwords, seed {seed}" for seed in (1, 2, 3))
TOGETHER = f"{FIRST}, subwords, three seeds together"
WAYS = {  # what may stand for `<unk>`, and how a translator is loaded for it
    "`<unk>`": {"replace_unk": False},
    "a source word": {},
    "its translation": {"dictionary": True},
}


class Score(NamedTuple):
    """BLEU of the tokens as they are, and the percentage of exact matches."""

    bleu: float
    exact: float


class Result(NamedTuple):
    """Scores by what stands for `<unk>` and by part of the corpus, and minutes of processor time."""

    scores: Mapping[str, Mapping[str, Score]]
    minutes: float


def rows() -> list[Row]:
    """Return the rows: words, and words that are copied, of each corpus; of the first, the other ways as well."""
    of_all: dict[str, dict[str, str]] = {"words": {}, "words, copied": COPIED}
    of_first = {
        **of_all,
        "words, copied as taught": {"model.output": "{kind: pointer, supervised: true, label_smoothing: 0.1}"},
        "words, read by two LSTMs": {"model.embedding.source": "{kind: character_rnn, characters: 128, hidden: 256}"},
        "words, read by convolutions": {
            "model.embedding.source": "{kind: character_cnn, characters: 128, widths: [1, 2, 3], filters: 64}"
        },
        "words, read and spelled": HYBRID,
        "characters": CHARACTERS,
    }
    seeds = [Row(name, WORDS, {**SUBWORDS, "seed": name.split()[-1]}) for name in SEEDS]
    return [
        Row(f"{corpus}, {name}", WORDS, {**CORPORA[corpus].options, **options})
        for corpus in CORPORA
        for name, options in (of_first if corpus == FIRST else of_all).items()
    ] + [*seeds, Row(TOGETHER, WORDS, SUBWORDS)]


TABLE = Table(
    "benchmarks.rare",
    str(__doc__),
    lambda _: rows(),
    folder="runs/rare-table",
    data="data",
    epochs=None,
    first=(SEEDS,),
    flags={"--test": "also show the scores of the test sets"},
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    corpus, _ = _named(row)
    files = {f"data.{part}": _part(corpus, part, options) for part in ("train", "dev")}
    places = {key: str(place) for key, place in {"run": options.folder / row.slug, **files}.items()}
    languages = {"data.source": CORPORA[corpus].source, "data.target": CORPORA[corpus].target}
    return checks.load_config(row.config, {**places, **languages, "device.threads": "1", **row.overrides})


def _named(row: Row) -> tuple[str, str]:
    """Return the corpus of a row, and its options."""
    corpus, _, name = row.name.partition(", ")
    return corpus, name


def _part(corpus: str, part: str, options: argparse.Namespace) -> Path:
    """Return a part of a corpus, as `data.train` names one. Questions become a file of two columns."""
    place = options.data / CORPORA[corpus].place
    if place.suffix != ".json":
        return Path(place / part)
    path: Path = options.folder / "texts" / f"{corpus}.{part}.tsv"
    if not path.is_file():
        names = (CORPORA[corpus].source, CORPORA[corpus].target)
        write(path, map("\t".join, [names, *questions(place, part)]))
    return path


def questions(path: Path, part: str) -> Iterator[tuple[str, str]]:
    """Yield the questions of a part, split by question, and the first SQL of each, both with the values of variables
    (Finegan-Dollak et al. 2018). Quotation marks, brackets and commas are tokens.
    """
    for query in json.loads("\n".join(read_lines(existing(path)))):
        for sentence in query["sentences"]:
            if sentence["question-split"] == part:
                texts = (sentence["text"], query["sql"][0])
                question, sql = (_tokenized(_filled(text, sentence["variables"])) for text in texts)
                yield question, sql


def _filled(text: str, variables: Mapping[str, str]) -> str:
    for name in sorted(variables, key=len, reverse=True):  # `name1` begins `name10`
        text = text.replace(name, variables[name])
    return text


def _tokenized(text: str) -> str:
    return " ".join(re.sub(r"([\"'(),;])", r" \1 ", text).split())


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    if row.name == TOGETHER:
        seeds = [seed_row for seed_row in rows() if seed_row.name in SEEDS]
        runs = [options.folder / seed_row.slug for seed_row in seeds]
        minutes = sum(_result(seed_row, options).minutes for seed_row in seeds)
    else:
        run, minutes = trained(row, run_config, options)
        runs = [run]
    scores = {way: scored(runs, _named(row)[0], options, way) for way in (WAYS if _says_unknown(run_config) else [""])}
    provenance.write(result(row, options), Result(scores, minutes)._asdict(), made_with)


def _says_unknown(run_config: Config) -> bool:
    """Tell whether `<unk>` may be in translations: not in those of subwords, characters and words that are spelled."""
    return run_config.text.target.tokenizer.kind == "word" and run_config.model.output.kind != "hybrid"


def scored(runs: Sequence[Path], corpus: str, options: argparse.Namespace, way: str = "") -> dict[str, Score]:
    """Return the scores of runs that translate together, by part of the corpus."""
    overrides: dict[str, Any] = dict(WAYS.get(way, {}))
    if overrides.pop("dictionary", False):
        overrides["dictionary"] = dictionary(corpus, options)
    model = dragoman.load(runs, device=DeviceConfig(threads=1), **overrides)
    scores_by_way = {}
    for part in PARTS:
        pairs = _read(corpus, part, options)
        texts = [translation.text for translation in model.translate([pair.source for pair in pairs])]
        right = [[pair.target for pair in pairs]]
        scores_by_way[part] = Score(
            *(metric.corpus(texts, right).value for metric in (Bleu(tokenize="none"), ExactMatchRate()))
        )
    return scores_by_way


def _read(corpus: str, part: str, options: argparse.Namespace) -> list[Pair]:
    return list(read_pairs(_part(corpus, part, options), CORPORA[corpus].source, CORPORA[corpus].target))


def dictionary(corpus: str, options: argparse.Namespace) -> Path:
    """Return the dictionary of a corpus, which is counted from its training pairs when it is first asked for."""
    path: Path = options.folder / "texts" / f"{corpus}.dictionary.tsv"
    if not path.is_file():
        sides = path.with_suffix(".source"), path.with_suffix(".target")
        for side, texts in zip(sides, zip(*_read(corpus, "train", options), strict=True), strict=True):
            write(side, texts)
        command = [sys.executable, "-m", "dragoman", "dictionary", *map(str, sides), "--pretokenizer", "whitespace"]
        done = subprocess.run([*command, "-o", str(path)], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise UserError(done.stderr.strip())
    return path


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: _result(row, options) for row in table_rows}
    parts = PARTS if options.test else PARTS[:1]
    lines = []
    for name, figures_row in results.items():
        for way, by_part in figures_row.scores.items():
            cells = (f"{value:.1f}" for part in parts for value in by_part[part])
            lines.append((name, way, *cells, f"{figures_row.minutes:.1f}"))
    heads = [f"{part} {figure}" for part in parts for figure in ("BLEU", "exact")]
    markdown(("", "for `<unk>`", *heads, "minutes"), *lines)


def _result(row: Row, options: argparse.Namespace) -> Result:
    read = provenance.read(result(row, options))
    scores = {way: {part: Score(*values) for part, values in parts.items()} for way, parts in read["scores"].items()}
    return Result(scores, read["minutes"])


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
