"""CTranslate2 in int8 with a random Transformer of 3 + 3 layers, 256 wide: decoding only."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from benchmarks.jobs import Job, lines
from benchmarks.rounds import Rounds

LAYERS, HEADS, WIDTH, INNER = 3, 4, 256, 1024


def specification(symbols: dict[str, list[str]]) -> Any:
    """The model with normal numbers for weights."""
    spec = ctranslate2.specs.TransformerSpec.from_config(LAYERS, HEADS)
    generator = np.random.default_rng(1)

    def table(rows: int, columns: int) -> Any:
        return generator.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    def fill_linear(linear: Any, rows: int, columns: int) -> None:
        linear.weight, linear.bias = table(rows, columns), np.zeros(rows, np.float32)

    def fill_norm(norm: Any) -> None:
        norm.gamma, norm.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def fill_attention(attention: Any, widths: list[int]) -> None:
        fill_norm(attention.layer_norm)
        for linear, width in zip(attention.linear, widths, strict=True):
            fill_linear(linear, width, WIDTH)

    for side, half in (("source", spec.encoder), ("target", spec.decoder)):
        embeddings = half.embeddings[0] if side == "source" else half.embeddings
        embeddings.weight = table(len(symbols[side]), WIDTH)
        fill_norm(half.layer_norm)
        for layer in half.layer:
            fill_attention(layer.self_attention, [3 * WIDTH, WIDTH])
            if side == "target":
                fill_attention(layer.attention, [WIDTH, 2 * WIDTH, WIDTH])
            fill_norm(layer.ffn.layer_norm)
            fill_linear(layer.ffn.linear_0, INNER, WIDTH)
            fill_linear(layer.ffn.linear_1, WIDTH, INNER)
    fill_linear(spec.decoder.projection, len(symbols["target"]), WIDTH)
    spec.register_source_vocabulary(symbols["source"])
    spec.register_target_vocabulary(symbols["target"])
    spec.validate()
    return spec


def save(job: Job, model: str) -> None:
    """Write the model to a folder."""
    specials = ["<blank>", "<unk>", "<s>", "</s>"]
    symbols = {
        side: specials + [line.split("\t")[0] for line in lines(Path(job.folder) / f"vocabulary.{side}")]
        for side in ("source", "target")
    }
    specification(symbols).save(model)


def main(job: Job) -> None:
    with tempfile.TemporaryDirectory() as model:
        # In another process: making the model takes more memory than using it.
        subprocess.run([sys.executable, "-m", "benchmarks.peers.ctranslate", str(job), model], check=True)
        translator = ctranslate2.Translator(model, compute_type="int8", inter_threads=1, intra_threads=job.threads)
    sentences = [line.split() for line in job.sentences()]
    rounds = Rounds()

    def decode() -> None:
        batches = [sentences] if job.rows > 1 else [[sentence] for sentence in sentences]
        for batch in batches:
            results = translator.translate_batch(
                batch,
                max_batch_size=job.rows,
                beam_size=job.beam,
                min_decoding_length=job.length,
                max_decoding_length=job.length,
            )
            rounds.count(sum(len(result.hypotheses[0]) for result in results), len(batch))

    rounds.repeat(decode)


if __name__ == "__main__":
    (save if len(sys.argv) > 2 else main)(Job.read(sys.argv[1]), *sys.argv[2:])
