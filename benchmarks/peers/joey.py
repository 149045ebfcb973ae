"""JoeyNMT 2 with architecture A: its own training loop."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from joeynmt import builders  # type: ignore[import-not-found]
from joeynmt.config import load_config  # type: ignore[import-not-found]
from joeynmt.training import TrainManager, train  # type: ignore[import-not-found]

from benchmarks.device_rounds import DeviceRounds
from benchmarks.jobs import Job
from benchmarks.rounds import Updates

CONFIG = """
name: "benchmark"
joeynmt_version: "2.3.0"
model_dir: "{folder}/model"
use_cuda: {cuda}
fp16: False
random_seed: 1
data:
  train: "{data}/train"
  dev: "{data}/test"
  dataset_type: "plain"
  src: {{lang: "source", max_length: 100, level: "word", voc_min_freq: 1, tokenizer_type: "none"}}
  trg: {{lang: "target", max_length: 100, level: "word", voc_min_freq: 1, tokenizer_type: "none"}}
  special_symbols: {{unk_token: "<unk>", unk_id: 0, pad_token: "<pad>", pad_id: 1, bos_token: "<s>", bos_id: 2,
    eos_token: "</s>", eos_id: 3}}
testing: {{n_best: 1, beam_size: 1, batch_size: 64, batch_type: "sentence", max_output_length: 60}}
training:
  optimizer: "adam"
  normalization: "tokens"
  scheduling: "plateau"
  loss: "crossentropy"
  learning_rate: 0.001
  clip_grad_norm: 1.0
  batch_size: {rows}
  batch_type: "sentence"
  epochs: 1000
  updates: 1000000
  validation_freq: 1000000
  logging_freq: 1000000
  overwrite: True
  shuffle: True
model:
  initializer: "xavier_uniform"
  bias_initializer: "zeros"
  encoder: {{type: "recurrent", rnn_type: "gru", embeddings: {{embedding_dim: 256, scale: False, dropout: 0.2}},
    hidden_size: 256, bidirectional: True, dropout: 0.2, num_layers: 1, activation: "tanh"}}
  decoder: {{type: "recurrent", rnn_type: "gru", embeddings: {{embedding_dim: 256, scale: False, dropout: 0.2}},
    hidden_size: 512, dropout: 0.2, hidden_dropout: 0.2, num_layers: 1, input_feeding: True, init_hidden: "bridge",
    attention: "bahdanau", activation: "tanh"}}
"""


class Plateau(torch.optim.lr_scheduler.ReduceLROnPlateau):
    """Takes the argument `verbose`, which torch has no more and JoeyNMT still gives."""

    def __init__(self, *arguments: Any, verbose: bool = False, **options: Any) -> None:
        super().__init__(*arguments, **options)


def main(job: Job) -> None:
    builders.ReduceLROnPlateau = Plateau
    torch.set_num_threads(job.threads)
    updates, step = Updates(DeviceRounds(job.device), job.warm, job.updates), TrainManager._train_step
    last: list[tuple[int, int]] = []

    def counted(self: Any, batch: Any) -> Any:
        if last:  # the update follows the step, so it is done when the next one begins
            updates.done(*last.pop())
        last.append((int(batch.ntokens), int(batch.nseqs)))
        return step(self, batch)

    TrainManager._train_step = counted
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        cuda = job.device == "cuda"
        path.write_text(CONFIG.format(data=job.folder, folder=folder, rows=job.rows, cuda=cuda), encoding="utf-8")
        (Path(folder) / "model").mkdir()
        train(rank=0, world_size=1, cfg=load_config(path), skip_test=True)


if __name__ == "__main__":
    main(Job.read(sys.argv[1]))
