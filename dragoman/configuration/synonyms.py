"""Names that papers and other toolkits use for what has another name here: messages suggest ours."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

# Names of kinds, values and options, in lower case with `_`. The first of ours that is valid in its place is meant.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    # alignment score functions
    "general": ("bilinear",),
    "luong": ("bilinear",),
    "multiplicative": ("bilinear",),
    "bahdanau": ("additive",),
    "mlp": ("additive",),
    "concat": ("additive",),
    "dot_product": ("dot",),
    "scaled_dot_product": ("scaled_dot",),
    # encoders and decoders
    "transformer": ("self_attention",),
    "gru": ("rnn",),
    "lstm": ("rnn",),
    "birnn": ("rnn",),
    "brnn": ("rnn",),
    "cnn": ("convolutional",),
    "conv": ("convolutional",),
    "input_feeding": ("attentional",),
    "input_feed": ("input_feeding", "attentional"),
    # windows
    "local_m": ("monotonic",),
    "local_p": ("predictive",),
    # outputs
    "copy": ("pointer_generator",),
    "copying": ("pointer_generator",),
    "adaptive_softmax": ("adaptive",),
    # tokenizers
    "char": ("character",),
    "sentencepiece": ("unigram",),
    "spm": ("unigram",),
    "wordpiece": ("bpe",),
    # searches
    "beam_search": ("beam",),
    "diverse_beam_search": ("diverse",),
    "greedy_search": ("greedy",),
    "sampling": ("sample",),
    "nucleus": ("sample",),
    "top_k": ("sample",),
    "top_p": ("sample",),
    # training
    "mle": ("teacher_forcing",),
    "cross_entropy": ("teacher_forcing",),
    "nll": ("teacher_forcing",),
    "mrt": ("minimum_risk",),
    "noam": ("inverse_square_root",),
    "inverse_sqrt": ("inverse_square_root",),
    "rsqrt": ("inverse_square_root",),
    "reduce_on_plateau": ("plateau",),
    "reducelronplateau": ("plateau",),
    "sents": ("sentences",),
    # metrics
    "sacrebleu": ("bleu",),
    "chrf++": ("chrf",),
    "chrf2": ("chrf",),
    "rouge": ("rougeL",),
    # the machine
    "gpu": ("cuda",),
    "nvidia": ("cuda",),
    "bf16": ("bfloat16",),
    "fp32": ("float32",),
    "float": ("float32",),
    # options
    "lr": ("learning_rate",),
    "beam_size": ("size", "beam"),
    "beam_width": ("size", "beam"),
    "batch_size": ("size",),
    "hidden_size": ("size",),
    "rnn_size": ("size",),
    "dim": ("size",),
    "num_layers": ("layers",),
    "num_heads": ("heads",),
    "ffn_size": ("hidden",),
    "ff_size": ("hidden",),
    "dropout_rate": ("dropout",),
    "tokenizer": ("pretokenizer",),
    "warmup_steps": ("warmup",),
    "max_epochs": ("epochs",),
    "num_epochs": ("epochs",),
    "max_steps": ("steps",),
    "train_steps": ("steps",),
    "max_grad_norm": ("clip_norm",),
    "gradient_clipping": ("clip_norm",),
    "early_stopping": ("patience",),
    "src": ("source",),
    "tgt": ("target",),
    "trg": ("target",),
    "valid": ("dev",),
    "validation": ("dev",),
}

# Keys of other toolkits, and the options of parts, by the place where they stand here.
PLACES: Final[Mapping[str, str]] = {
    "lr": "training.optimizer.learning_rate",
    "learning_rate": "training.optimizer.learning_rate",
    "adam_betas": "training.optimizer.betas",
    "weight_decay": "training.optimizer.weight_decay",
    "warmup": "training.schedule.warmup",
    "warmup_steps": "training.schedule.warmup",
    "label_smoothing": "model.output.label_smoothing",
    "batch_size": "training.batch.size",
    "beam": "search.size",
    "beam_size": "search.size",
    "beam_width": "search.size",
    "hidden_size": "model.decoder.size",
    "rnn_size": "model.decoder.size",
    "layers": "model.encoder.layers",
    "num_layers": "model.encoder.layers",
    "heads": "model.encoder.heads",
    "num_heads": "model.encoder.heads",
    "embedding_size": "model.embedding.size",
    "emb_size": "model.embedding.size",
    "word_vec_size": "model.embedding.size",
    "dropout": "model.embedding.dropout",
    "share_embeddings": "model.embedding.tie",
    "tied_embeddings": "model.embedding.tie",
    "input_feed": "model.decoder.input_feeding",
    "input_feeding": "model.decoder.input_feeding",
    "vocab_size": "text.source.tokenizer.vocab_size",
    "share_vocab": "text.shared_vocabulary",
    "objective": "training.objective",
    "gpu": "device.name",
    "use_cuda": "device.name",
    "cuda": "device.name",
}


def own_name(name: str, valid: Collection[str]) -> str | None:
    """Return the valid name of what others call by this name."""
    return next((own for own in NAMES.get(_normalized(name), ()) if own in valid), None)


def place(name: str, keys: Sequence[str]) -> str | None:
    """Return the key, among all dotted `keys`, that stands for a key which is not valid where it was written: that with
    the same or a synonymous last name, if there is only one, or else the one in PLACES.
    """
    normalized = _normalized(name)
    names = {normalized, *NAMES.get(normalized, ())}
    matches = [key for key in keys if key.rpartition(".")[2] in names]
    return matches[0] if len(matches) == 1 else PLACES.get(normalized)


def _normalized(name: str) -> str:
    return name.lower().replace("-", "_")
