"""OpenNMT-py 3 with architecture A: its own training loop, and its own translator on a model of one update."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoints hold more than tensors

import torch
from onmt.bin import train, translate  # type: ignore[import-not-found]
from onmt.inference_engine import InferenceEnginePY  # type: ignore[import-not-found]
from onmt.trainer import Trainer  # type: ignore[import-not-found]
from onmt.utils.parse import ArgumentParser  # type: ignore[import-not-found]

from benchmarks.device_rounds import DeviceRounds
from benchmarks.jobs import Job
from benchmarks.rounds import Updates

CONFIG = """
data:
  corpus_1: {{path_src: {data}/train.source, path_tgt: {data}/train.target}}
src_vocab: {data}/vocabulary.source
tgt_vocab: {data}/vocabulary.target
src_vocab_size: 20000
tgt_vocab_size: 20000
vocab_size_multiple: 1
save_model: {folder}/model
seed: 1
encoder_type: brnn
decoder_type: rnn
rnn_type: GRU
enc_layers: 1
dec_layers: 1
word_vec_size: 256
hidden_size: 512
bridge: true
input_feed: 1
global_attention: mlp
dropout: [0.2]
attention_dropout: [0.0]
optim: adam
learning_rate: 0.001
max_grad_norm: 1.0
batch_type: sents
batch_size: {rows}
bucket_size: 8000
normalization: tokens
num_workers: 0
train_steps: {updates}
valid_steps: 1000000
save_checkpoint_steps: {updates}
report_every: 1000000
param_init: 0.1
{device}
"""


def run_training(job: Job, folder: str, updates: int) -> None:
    """Its own training, with a model and a checkpoint in `folder` after so many updates."""
    path = Path(folder) / "config.yaml"
    device = "world_size: 1\ngpu_ranks: [0]" if job.device == "cuda" else ""
    filled = CONFIG.format(data=job.folder, folder=folder, rows=job.rows, updates=updates, device=device)
    path.write_text(filled, encoding="utf-8")
    train.train(train._get_parser().parse_known_args(["-config", str(path)])[0])


def measure_training(job: Job) -> None:
    updates, step = Updates(DeviceRounds(job.device), job.warm, job.updates), Trainer._gradient_accumulation

    def counted(self: Any, batches: list[Any], *rest: Any) -> None:
        step(self, batches, *rest)
        targets = [batch["tgt"] for batch in batches]  # each begins with a start symbol
        tokens = sum(int(target[:, 1:, 0].ne(self.train_loss.padding_idx).sum()) for target in targets)
        updates.done(tokens, sum(map(len, targets)))

    Trainer._gradient_accumulation = counted
    with tempfile.TemporaryDirectory() as folder:
        run_training(job, folder, 1_000_000)


def measure_decoding(job: Job) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_training(job, folder, 1)
        sentences = job.sentences()
        forced = ["-min_length", str(job.length - 1), "-max_length", str(job.length - 1)]  # the end symbol follows
        size = ["-beam_size", str(job.beam), "-batch_size", str(job.rows), "-batch_type", "sents"]
        files = ["-model", f"{folder}/model_step_1.pt", "-src", "none", "-output", f"{folder}/output"]
        options = translate._get_parser().parse_args(
            [*files, *size, *forced, "-gpu", "0" if job.device == "cuda" else "-1"]
        )
        ArgumentParser.validate_translate_opts(options)
        ArgumentParser._get_all_transform_translate(options)
        ArgumentParser._validate_transforms_opts(options)
        ArgumentParser.validate_translate_opts_dynamic(options)
        engine = InferenceEnginePY(options)
        rounds = DeviceRounds(job.device)

        def decode() -> None:
            with torch.inference_mode():
                _, results = engine.infer_list(sentences)
            rounds.count(sum(len(best[0].split()) + 1 for best in results), len(results))

        rounds.repeat(decode)


def main(job: Job) -> None:
    torch.set_num_threads(job.threads)
    (measure_training if job.work == "train" else measure_decoding)(job)


if __name__ == "__main__":
    main(Job.read(sys.argv[1]))
