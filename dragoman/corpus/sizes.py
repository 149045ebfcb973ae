"""Sizes of models that suit a corpus, and the configuration with them."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.corpus.examples import Pair
from dragoman.corpus.sample import CorpusSample, Inventory
from dragoman.text.pretokenizer import punctuation
from dragoman.text.subword import Bpe

FEW = 10_000  # pairs below which BLEU is near 0, or jumps about, for much of a training: chrF decides there
JOINT = 0.5  # least share of common letters (Sample.shared) for which languages share an inventory
FEW_EPOCHS = 10  # in so many, or fewer, a network does not learn its pairs by heart, and needs little dropout


HIDDEN = 0.1  # the share of the texts of each of several sources that a training hides


class CorpusFiles(NamedTuple):
    """The corpora as a configuration names them: prefixes (or files of columns) and the languages, with those of
    further sources.
    """

    train: str
    dev: str
    source: str
    target: str
    also: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source, *self.also)


class InitOptions(NamedTuple):
    """What the user asks for: a model that reads a translation memory, and the number of epochs."""

    translation_memory: bool = False
    epochs: int | None = None


DEFAULTS = InitOptions()


class Size(NamedTuple):
    """Sizes for corpora of at most `pairs` pairs."""

    pairs: float
    symbols: int
    embedding: int
    encoder: int
    decoder: int
    dropout: float
    batch: int
    rate: float
    epochs: int


# More pairs allow more symbols and a wider network, and need less dropout. docs/small-notes.md has what the first line
# is measured against.
SIZES = (
    Size(5_000, 1_000, 128, 128, 256, 0.4, 32, 0.002, 100),
    Size(20_000, 2_000, 128, 128, 256, 0.35, 32, 0.001, 60),
    Size(100_000, 6_000, 192, 192, 384, 0.35, 64, 0.001, 45),
    Size(1_000_000, 12_000, 256, 256, 512, 0.2, 80, 0.001, 20),
    Size(float("inf"), 24_000, 512, 512, 1024, 0.1, 128, 0.001, 8),
)


def sizes(pairs: int) -> Size:
    """The line of the table for a corpus of so many pairs."""
    return next(size for size in SIZES if pairs <= size.pairs)


def choose(
    corpus: CorpusFiles, sample: CorpusSample, run: str, options: InitOptions = DEFAULTS, size: Size | None = None
) -> Config:
    """A configuration of this size, by default one that suits the corpus: conditional GRU, additive attention, tied
    embeddings. With a number of epochs, the learning rate falls over all of them. Spans that both sides share are
    protected, but not with several sources, where that has not been measured.
    """
    size = size or sizes(sample.pairs)
    text = _text(sample, size)
    embedded, dropout, epochs = 0.2, size.dropout, options.epochs or size.epochs
    if epochs <= FEW_EPOCHS < size.epochs:
        embedded, dropout = 0.1, min(0.15, dropout)
    schedule = Spec("cosine", {"warmup": 0.1}) if options.epochs else Spec("plateau", {"warmup": 300})
    memory = {"translation_memory": Spec("nearest", {"threshold": 0.4})} if options.translation_memory else {}
    places = {"source": corpus.sources, "target": corpus.target, "train": corpus.train, "dev": corpus.dev}
    several = options.translation_memory or corpus.also
    rest = {"layers": 1, "dropout": dropout}
    max_length = max(100, 50 * round(1 + 1.6 * sample.longest / 50))
    # As many symbols as `size.batch` sentences have on average: about as many steps as with batches of sentences, and
    # the longest sentences, many times longer than the mean in catalogues, take no more memory than others.
    counts = [text[side]["tokenizer"].options["vocab_size"] for side in ("source", "target")]
    length = mean_length(sample.examples, counts[:1] if text["shared_vocabulary"] else counts, max_length)
    looks = {"attend": "between", "input_feeding": "none", "readout": "deep"}
    tokenize = "none" if sample.tokenized else sample.tokenize
    bleu, chrf = Spec("bleu", {"tokenize": tokenize} if tokenize else {}), Spec("chrf")
    metrics = [chrf, bleu] if sample.pairs < FEW else [bleu, chrf]
    return Config.model_validate(
        {
            "run": run,
            "data": {**places, **memory, "max_length": max_length},
            "text": {**text, "protect": () if several else tuple(map(Spec, sample.spans))},
            "model": {
                "embedding": {
                    "size": size.embedding,
                    "dropout": embedded,
                    "tie": "all" if text["shared_vocabulary"] else "output",
                },
                "combination": "hierarchical" if several else "concatenation",
                "encoder": Spec("rnn", {"cell": "gru", "size": size.encoder, "direction": "bidirectional", **rest}),
                "decoder": Spec("rnn", {"cell": "gru", "size": size.decoder, **looks, **rest}),
                "output": Spec("softmax", {"label_smoothing": 0.1}),
            },
            "training": {
                "epochs": epochs,
                "batch": {"size": 10 * round(size.batch * length / 10), "type": "tokens"},
                "optimizer": Spec("adam", {"learning_rate": size.rate}),
                "schedule": schedule,
                "source_dropout": HIDDEN if corpus.also else 0.0,
                "validate_every": 2_000 if sample.pairs > 200_000 else None,
                "metric": metrics[0].kind,
            },
            "search": Spec("beam", {"size": 5}),
            "metrics": metrics,
        }
    )


def _text(sample: CorpusSample, size: Size) -> dict[str, Any]:
    """The options of the text of both sides, with one inventory for both if their letters are alike."""
    joint = sample.shared >= JOINT
    pretokenizer = "whitespace" if sample.tokenized else "punctuation"
    symbols = {
        side: sample.both.symbols(size.symbols) if joint else inventory.symbols(size.symbols // 2)
        for side, inventory in (("source", sample.source), ("target", sample.target))
    }
    sides = {
        side: {"pretokenizer": pretokenizer, "tokenizer": Spec("bpe", {"vocab_size": count})}
        for side, count in symbols.items()
    }
    return {"shared_vocabulary": joint, **sides}


def mean_length(examples: Sequence[Pair], sizes: Sequence[int], max_length: int) -> float:
    """Return the mean number of symbols of a pair, its longer side with the end symbol, over the pairs of at most
    `max_length`. The subwords are learned from the examples: about `sizes` for source and target, or one size for a
    joint inventory. With a tenth of the pairs of a corpus as examples, the mean is within 1 % of that of all pairs.
    """
    sides = list(zip(*examples, strict=True))
    if len(sizes) == 1:
        units = [_learn_subwords(list(chain(*sides)), sizes[0])] * 2
    else:
        units = [_learn_subwords(texts, size) for texts, size in zip(sides, sizes, strict=True)]
    source, target = (unit.numbers(texts)[1] for unit, texts in zip(units, sides, strict=True))
    lengths = np.maximum(source, target) + 1
    kept = lengths[lengths <= max_length]
    return float(kept.mean()) if len(kept) else float(max_length)


def _learn_subwords(texts: Sequence[str], size: int) -> Bpe:
    words = {text[begin:end] for text in texts for begin, end in punctuation(text)}
    unit = Bpe(vocab_size=Inventory.of(words).symbols(size))
    unit.fit(texts, seed=1)
    return unit
