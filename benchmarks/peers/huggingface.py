"""Hugging Face Transformers: `Seq2SeqTrainer` on a MarianMT folder, with the batches and the optimizer of its defaults.

The job's folder has `model`, and pairs of texts in `train.source` and `train.target`. With the override
`group_by_length`, batches have texts of similar lengths.
"""

import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset  # type: ignore[import-not-found]
from transformers import (  # type: ignore[import-not-found]
    DataCollatorForSeq2Seq,
    MarianMTModel,
    MarianTokenizer,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

from benchmarks.jobs import Job, lines
from benchmarks.rounds import Rounds, Updates

LONGEST = 100  # symbols of a text: as many as dragoman reads
IGNORED = -100  # a label that is padding


class Collator(DataCollatorForSeq2Seq):  # type: ignore[misc]
    """Makes batches and keeps the number of their target tokens and sentences, as some are made ahead."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sizes = deque[tuple[int, int]]()

    def __call__(self, features: Any, return_tensors: Any = None) -> Any:
        batch = super().__call__(features, return_tensors)
        self.sizes.append((int((batch["labels"] != IGNORED).sum()), len(batch["labels"])))
        return batch


class Counted(TrainerCallback):  # type: ignore[misc]
    """Reports every step to the measuring process."""

    def __init__(self, updates: Updates, collator: Collator) -> None:
        self._updates = updates
        self._collator = collator

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._updates.done(*self._collator.sizes.popleft())


def main(job: Job) -> None:
    torch.set_num_threads(job.threads)
    updates = Updates(Rounds(), job.warm, job.updates)
    folder = Path(job.folder)
    tokenizer = MarianTokenizer.from_pretrained(folder / "model")
    model = MarianMTModel.from_pretrained(folder / "model")
    source, target = (lines(folder / f"train.{side}") for side in ("source", "target"))
    encoded = tokenizer(source, text_target=target, max_length=LONGEST, truncation=True)
    collator = Collator(tokenizer, model=model)
    grouped = {"train_sampling_strategy": "group_by_length"} if "group_by_length" in job.overrides else {}
    with tempfile.TemporaryDirectory() as output:
        arguments = Seq2SeqTrainingArguments(
            output,
            per_device_train_batch_size=job.rows,
            num_train_epochs=1000,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=job.precision == "bfloat16",
            disable_tqdm=True,
            logging_strategy="no",
            **grouped,
        )
        Seq2SeqTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict(dict(encoded)),
            data_collator=collator,
            callbacks=[Counted(updates, collator)],
        ).train()


if __name__ == "__main__":
    main(Job.read(sys.argv[1]))
