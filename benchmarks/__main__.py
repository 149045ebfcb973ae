"""Speed of training and decoding of architecture A, for each path of dragoman and other toolkits: `make bench`.

docs/speed.md explains the figures.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from benchmarks import architecture, corpus, decoder, provenance, toolkits
from benchmarks.architecture import Sizes
from benchmarks.contest import Contender, Figures, measure
from benchmarks.corpus import Corpus
from benchmarks.jobs import Job
from benchmarks.report import Report, Row, table
from dragoman import devices, threads
from dragoman.configuration import config_file
from dragoman.configuration.config import DeviceConfig
from dragoman.errors import UserError
from dragoman.run.folder import RunFolder

WORKS = ("train", "terms", "greedy", "beam")
MULTI30K = Path("data/multi30k")
TINY = Sizes(embedding=8, encoder=4, decoder=8, symbols=50, batch=8)
STUDENT = Sizes(embedding=128, encoder=128, decoder=256, symbols=6000)  # those of configs/student.yaml


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", type=Path, help=f"folder of Multi30k's files (otherwise {MULTI30K}, if it is there)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, help="only this number (default: one, then all)")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=WORKS, help="what to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds for medians")
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter that has other toolkits installed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the figures in this file of --json")
    parser.add_argument("--student", action="store_true", help="the sizes of configs/student.yaml, half as wide")
    parser.add_argument("--tiny", action="store_true", help="a tiny model, to try this program itself")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or (options.threads is not None and options.threads < 1):
        parser.error("--rounds and --threads are at least 1")
    return options


def sizes_of(options: argparse.Namespace) -> Sizes:
    return TINY if options.tiny else STUDENT if options.student else Sizes()


def jobs(options: argparse.Namespace, folder: Path, sizes: Sizes) -> list[Job]:
    """Return the measurements in order."""
    counts = [options.threads] if options.threads else sorted({1, threads.cores()})
    jobs_of_task = []
    for count in counts:
        base = Job("train", sizes.batch, count, str(folder / "symbols"), device=options.device)
        if options.device == "cuda":
            base = replace(base, warm=1000, updates=50)  # CUDA graphs of all shapes are recorded before
        decoding = [
            replace(base, work=work, beam=beam, rows=rows, size=size)
            for work, beam in (("greedy", 1), ("beam", 5))
            for rows, size in ((1, 32), (64, 256))
        ]
        jobs_of_kind = [base, replace(base, work="terms"), *decoding]
        if options.tiny:
            jobs_of_kind = [replace(job, warm=2, updates=2, size=8, length=4) for job in jobs_of_kind if job.rows > 1]
        jobs_of_task += [job for job in jobs_of_kind if job.work in options.works]
    return jobs_of_task


def work_needed(job: Job, sizes: Sizes, prepared: Corpus) -> float:
    """Return the floating-point operations of matrix products per target token, padding excluded."""
    source, target, energies = prepared.source_length, prepared.target_length, prepared.energies
    if job.work == "train":  # the backward pass has two products for each one of the forward pass
        return 3 * architecture.products(sizes, source, target, energies) / target
    steps = job.beam * job.length
    return architecture.products(sizes, source, steps, source * steps) / job.length


def products(options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure the matrix-product rate of one core in each precision, in FLOP/s."""
    size = 256 if options.tiny else 1024  # a processor without bfloat16 takes 20 seconds for one product of 1024
    job = Job("products", 0, 1, str(folder / "symbols"), size=size, device=options.device)
    figures_by_name = measure(list(toolkits.own(job)), options.rounds)
    rates = {}
    for precision, name in toolkits.PATHS.items():
        figures = figures_by_name[name]
        if isinstance(figures, str):
            raise UserError(f"{name}: {figures}")
        rates[precision] = figures.tokens_cpu if options.device == "cpu" else figures.tokens
    return rates


def run(options: argparse.Namespace, console: Console) -> Report:
    """Measure everything that is asked for; a line is printed for each measurement that another toolkit does not
    support.
    """
    sizes = sizes_of(options)
    files = options.data or (MULTI30K if corpus.has_files(MULTI30K) else None)
    installed: dict[toolkits.Peer, str] = {}
    if options.peers:
        installed, missing = toolkits.look(options.peers, options.device)
        for line in missing:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_folder = RunFolder(folder / "run")
        prepared = corpus.prepare(files, folder, sizes, pairs=64 if options.tiny else 8000)
        config = config_file.load(folder / "config.yaml")
        report = Report(_machine(options), prepared.name, provenance.of(config), products(options, folder))
        if not {"greedy", "beam"}.isdisjoint(options.works):
            for line in decoder.prepare(config, run_folder):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
        for job in jobs(options, folder, sizes):
            own = toolkits.own(job, exported=decoder.exported(run_folder))
            side_by_side = [*own, *toolkits.peers(options.peers, job, installed)]
            contests = toolkits.terms(job) if job.work == "terms" else [side_by_side]
            console.print(f"{job.work}, {job.rows} a batch, {job.threads} threads ...", highlight=False)
            failures = [
                pair
                for contenders in contests
                for pair in zip(contenders, measure(contenders, options.rounds).values(), strict=True)
            ]
            for contender, figures in failures:
                if isinstance(figures, str):
                    message = f"{contender.name}: failed: {figures}"
                    console.print(message, highlight=False, markup=False, soft_wrap=True)
                else:
                    report.rows.append(_row(contender, figures, report, work_needed(job, sizes, prepared)))
    return report


def _row(contender: Contender, figures: Figures, report: Report, flops: float) -> Row:
    job, share = contender.job, None
    if contender.name in toolkits.PATHS.values():  # other toolkits have different vocabularies or models
        rate = figures.tokens_cpu if job.device == "cpu" else figures.tokens
        share = flops * rate / report.products[job.precision]
    return Row(job.work, job.rows, job.threads, contender.name, figures, share)


def _machine(options: argparse.Namespace) -> str:
    config = DeviceConfig.model_validate({"name": options.device})
    return f"{devices.choose(config)}, {threads.cores()} cores, torch {torch.__version__}"


def main(arguments: list[str] | None = None) -> int:
    options, console = parsed(arguments), Console(stderr=True)
    try:
        before = Report.read(options.against) if options.against else None
        report = run(options, console)
        wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
        Console(width=wide).print(table(report, before))
        if options.json:
            report.write(options.json)
    except UserError as error:
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
