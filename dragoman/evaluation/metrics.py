"""Metrics for a corpus or a sentence, with signatures that make scores reproducible; sacreBLEU's where it has them."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.configuration.components import Count
from dragoman.configuration.config import UNTRANSLATED
from dragoman.configuration.messages import figure
from dragoman.errors import UserError

Tokenise: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
Smoothing: TypeAlias = Literal["exp", "floor", "add-k", "none"]


class Score(NamedTuple):
    """The value of a metric for a corpus. `signature`: references, case, tokeniser, version, ..."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {figure(self.value)} ({self.signature})"

    def of(self, pair: str) -> "Score":
        """The same score with the language pair, if not empty, in its name."""
        return self._replace(name=f"{self.name} {pair}" if pair else self.name)

    def against(self, references: Sequence[str]) -> "Score":
        """The same score with a digest of the references in its signature: only scores on the same references are
        comparable.
        """
        data = f"sentences:{len(references)}|references:{_digest(references)}"
        return self._replace(signature=f"{self.signature}|{data}")


def predicted(perplexity: float, accuracy: float, unit: str, symbols: Sequence[str]) -> list[Score]:
    """Scores of how well a model predicts references in its own symbols, comparable only between models that have the
    same symbols.
    """
    signature = f"unit:{unit}|symbols:{len(symbols)}|inventory:{_digest(symbols)}"
    return [Score("Perplexity", perplexity, signature), Score("Accuracy", accuracy, signature)]


def _digest(lines: Iterable[str]) -> str:
    """A checksum of the lines: eight hexadecimal digits."""
    text = "\n".join(lines)
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


class Metric(ABC):
    """A score of the translations of a corpus, or of one sentence, against one or more references for each."""

    higher_is_better: ClassVar[bool] = True

    def corpus(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        """The score of the whole corpus; it is not the mean of the sentences' scores.

        `references` has one entry per reference translation, each a list as long as `hypotheses` (so a corpus with a
        single reference is `[lines]`). Raises UserError if lists are empty or differ in length.
        """
        if not hypotheses:
            raise UserError("no translations to score")
        if not references:
            raise UserError("no reference to score against")
        for number, lines in enumerate(references, start=1):
            if len(lines) != len(hypotheses):
                raise UserError(
                    f"there are {len(hypotheses)} translations, but reference {number} has {len(lines)} lines"
                )
        return self._score(hypotheses, references)

    def sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        """The score of one sentence, for comparing its translations: by default the score of a corpus of this sentence
        alone. Raises UserError if there is no reference.
        """
        if not references:
            raise UserError("no reference to score against")
        return self._sentence(hypothesis, references)

    def _sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        return self._score([hypothesis], [[reference] for reference in references])

    @abstractmethod
    def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        """The score of a corpus whose lists have been checked."""


class SacreMetric(Metric):
    """A metric of sacreBLEU."""

    def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        scorer = self._scorer()
        result = scorer.corpus_score(hypotheses, references)
        return Score(result.name, float(result.score), str(scorer.get_signature()))

    @abstractmethod
    def _scorer(self) -> Any:
        """A new sacreBLEU object for each corpus, since it stores the number of references."""


class Bleu(SacreMetric):
    """BLEU (Papineni et al. 2002), 0 to 100: clipped n-gram precisions, geometric mean, brevity penalty.

    The default `tokenise: 13a` scores natural text as WMT does. Older papers scored text that was tokenised, and often
    lower-cased, beforehand: `tokenise: none, lowercase: true` reproduces this. `intl` splits at all Unicode punctuation
    and symbols; `zh` and `char` suit text without spaces. `order` is the length of the longest n-grams. Whether the
    text is already tokenised is not checked.

    A sentence is scored with effective order: n-grams longer than the translation are left out of the mean, as
    otherwise the score of a short translation would be determined by smoothing. With `smoothing: none`, a translation
    without a match of some order has score 0.
    """

    def __init__(
        self,
        *,
        tokenise: Tokenise = "13a",
        lowercase: bool = False,
        smoothing: Smoothing = "exp",
        order: Count = 4,
    ) -> None:
        self.tokenise = tokenise
        self.lowercase = lowercase
        self.smoothing = smoothing
        self.order = order

    def _scorer(self, *, effective_order: bool = False) -> BLEU:
        return BLEU(
            lowercase=self.lowercase,
            tokenize=self.tokenise,
            smooth_method=self.smoothing,
            max_ngram_order=self.order,
            effective_order=effective_order,
            force=True,
        )

    def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        return self._named(*super()._score(hypotheses, references))

    def _sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        scorer = self._scorer(effective_order=True)
        result = scorer.sentence_score(hypothesis, references)
        return self._named(result.name, float(result.score), str(scorer.get_signature()))

    def _named(self, name: str, value: float, signature: str) -> Score:
        value = min(value, 100.0)  # the mean of logarithms makes a perfect match 100.00000000000004
        if self.order != 4:  # which sacreBLEU leaves out of its signature
            name, signature = f"{name}-{self.order}", f"{signature}|order:{self.order}"
        return Score(name, value, signature)


class Chrf(SacreMetric):
    """chrF (Popovic 2015), 0 to 100: the F2 score of character n-grams up to 6.

    `word_order: 2` counts words and word bigrams as well: chrF++.
    """

    def __init__(self, *, word_order: Literal[0, 1, 2] = 0, lowercase: bool = False) -> None:
        self.word_order = word_order
        self.lowercase = lowercase

    def _scorer(self) -> CHRF:
        return CHRF(word_order=self.word_order, lowercase=self.lowercase)


class Ter(SacreMetric):
    """Translation edit rate (Snover et al. 2006), in percent of the reference's words: lower is better.

    Edits are insertions, deletions, substitutions and shifts of word sequences. With several references, the edits to
    the nearest one are divided by the mean length. The rate of long output can exceed 100. sacreBLEU ignores case by
    default; here case counts (`case:mixed` in the signature), since post-editors correct it too. `lowercase: true`
    gives sacreBLEU's default. `normalise: true` first splits punctuation from words (Tercom).
    """

    higher_is_better = False

    def __init__(self, *, lowercase: bool = False, normalise: bool = False) -> None:
        self.lowercase = lowercase
        self.normalise = normalise

    def _scorer(self) -> TER:
        return TER(case_sensitive=not self.lowercase, normalized=self.normalise)


class LineMetric(Metric):
    """A metric of lines without normalisation, except that `lowercase` ignores letter case."""

    def __init__(self, *, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def _signature(self, references: Sequence[Sequence[str]], *more: str) -> str:
        case = "lc" if self.lowercase else "mixed"
        return "|".join([f"nrefs:{len(references)}", f"case:{case}", *more])

    def _cased(self, text: str) -> str:
        return text.lower() if self.lowercase else text


class ExactMatch(LineMetric):
    """The percentage of lines that equal one of their references: the accuracy in tasks of single words.

    100 minus this score is called word error rate in SIGMORPHON's tasks and elsewhere; that is not the word error rate
    of speech recognition. Nor is this score `accuracy`, which is that of symbols under teacher forcing.
    """

    def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        right = sum(
            self._cased(hypothesis) in map(self._cased, others)
            for hypothesis, *others in zip(hypotheses, *references, strict=True)
        )
        return Score("Exact match", 100.0 * right / len(hypotheses), self._signature(references))


class TokenErrorRate(LineMetric):
    """Insertions, deletions and substitutions of tokens, in percent of the reference's tokens: lower is better.

    Tokens are separated by white space, such as phones ("phone error rate"); with `unit: character` they are all
    characters, including spaces. With several references, the nearest counts (the shortest of equally near ones). Edits
    and tokens are summed over the corpus, so that long lines weigh more than short ones, and a line that is much longer
    than its reference can have a rate above 100. Unlike in `ter`, no single edit accounts for tokens that have been
    moved.
    """

    higher_is_better = False

    def __init__(self, *, lowercase: bool = False, unit: Literal["token", "character"] = "token") -> None:
        super().__init__(lowercase=lowercase)
        self.unit = unit

    def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        edits = tokens = 0
        for each in zip(hypotheses, *references, strict=True):
            hypothesis, *others = map(self._tokens, each)
            nearest, length = min((edit_distance(hypothesis, other), len(other)) for other in others)
            edits, tokens = edits + nearest, tokens + length
        signature = self._signature(references, f"unit:{self.unit}")
        return Score("Token error rate", 100.0 * edits / max(1, tokens), signature)

    def _tokens(self, line: str) -> list[str]:
        return list(self._cased(line)) if self.unit == "character" else self._cased(line).split()


def edit_distance(left: Sequence[str], right: Sequence[str]) -> int:
    """The least number of insertions, deletions and substitutions that turn one sequence into the other (Wagner and
    Fischer 1974).
    """
    costs = list(range(len(right) + 1))
    for row, old in enumerate(left, start=1):
        diagonal, costs[0] = costs[0], row
        for column, new in enumerate(right, start=1):
            cheapest = min(diagonal + (old != new), costs[column] + 1, costs[column - 1] + 1)
            diagonal, costs[column] = costs[column], cheapest
    return costs[-1]


METRICS: Mapping[str, type[Metric]] = {
    "bleu": Bleu,
    "chrf": Chrf,
    "ter": Ter,
    "exact_match": ExactMatch,
    "token_error_rate": TokenErrorRate,
}


def higher_is_better(name: str) -> bool:
    """Whether a higher value is better, for a metric or for a value in UNTRANSLATED."""
    return METRICS[name].higher_is_better if name in METRICS else UNTRANSLATED[name]
