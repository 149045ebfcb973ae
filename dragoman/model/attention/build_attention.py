"""Builds attention from its configuration, and the combination of several sources."""

from typing import Any

from dragoman.configuration import components
from dragoman.configuration.config import AttentionConfig, ModelConfig
from dragoman.data.vocabulary import UNK
from dragoman.model.assembly import Assemble, make_failing, require_causal
from dragoman.model.attention.attention import Attention, GlobalAttention, NoAttention
from dragoman.model.attention.hierarchical_attention import HierarchicalAttention
from dragoman.model.attention.normalizers import NORMALIZERS, Softmax
from dragoman.model.attention.scores import SCORES, UniformScore
from dragoman.model.attention.sources.combination import Combination, OneSource
from dragoman.model.attention.sources.table import COMBINATIONS
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import AttentionTerm, TermSizes
from dragoman.model.attention.windows import WINDOWS, LocalAttention, Window


def build_attention(attention: AttentionConfig, sizes: TermSizes, mark: int | None, assemble: Assemble) -> Attention:
    """Build attention to one source, for queries and states of these sizes."""
    path = "model", "attention"
    if not attention.attends:
        for name in attention.beside_score():
            assemble((*path, name), make_failing("requires attention (score other than none)"), lambda: None)
        return NoAttention()
    terms = _terms(attention, sizes, assemble)
    features = sum(term.features for term in terms)
    score = assemble(
        (*path, "score"),
        lambda: components.build(SCORES, attention.score, sizes.query, sizes.state, features),
        lambda: UniformScore(sizes.query, sizes.state, features),
    )
    normalizer = assemble((*path, "normalizer"), lambda: components.build(NORMALIZERS, attention.normalizer), Softmax)
    whole = GlobalAttention(score, normalizer, terms)
    hiding = hiding_term(attention)
    require_causal((*path, "score"), hiding, score.reads_ahead, "another", assemble)
    for number, term in enumerate(terms):
        require_causal((*path, "terms", number), hiding, term.reads_ahead or term.updates_unseen, "others", assemble)
    if sum(term.hides for term in terms) > 1:
        assemble((*path, "terms"), make_failing("at most one term may mask source tokens"), lambda: None)
    is_hard = any(term.is_hard for term in terms)
    if attention.sentences is not None and sizes.symbols is None:
        assemble((*path, "sentences"), make_failing("require a text source; data.features are numeric"), lambda: None)
    elif attention.sentences is not None:
        require_causal((*path, "sentences"), hiding, is_hard, "null", assemble)
        return assemble((*path, "sentences"), lambda: _hierarchical(attention, whole, sizes, mark), lambda: whole)
    window = components.build(WINDOWS, attention.window, sizes.query)
    if not isinstance(window, Window):
        return whole
    instead = "none" if is_hard else "none or monotonic"
    require_causal((*path, "window"), hiding, is_hard or window.reads_ahead, instead, assemble)
    return LocalAttention(whole, window)


def _terms(attention: AttentionConfig, sizes: TermSizes, assemble: Assemble) -> list[AttentionTerm]:
    """Return the configured terms. A term that needs symbols is a problem if the source is regions."""
    terms = []
    for number, spec in enumerate(attention.terms):
        if sizes.symbols is None and (TERMS[spec.kind].hides or TERMS[spec.kind].reads_symbols):
            problem = f"'{spec.kind}' requires a text source; data.features are numeric"
            assemble(("model", "attention", "terms", number), make_failing(problem), lambda: None)
        else:
            terms.append(components.build(TERMS, spec, sizes))
    return terms


def _hierarchical(
    attention: AttentionConfig, words: GlobalAttention, sizes: TermSizes, mark: int | None
) -> HierarchicalAttention:
    """Build attention to words and sentences. Without a mark, as when a model is only checked, `<unk>` takes its
    place.
    """
    if not WINDOWS[attention.window.kind].everywhere:
        raise ValueError("cannot be combined with a window; use window: none")
    score = components.build(SCORES, attention.score, sizes.query, sizes.state)
    return HierarchicalAttention(words, score, UNK if mark is None else mark)


def build_combination(model: ModelConfig, attentions: list[Attention], query_size: int) -> Combination:
    """Return the attention of a decoder to all its sources."""
    spec = components.complete(COMBINATIONS, model.combination)
    kind = COMBINATIONS[spec.kind]
    # With a sentinel, even one source has something beside it.
    if len(attentions) == 1 and not spec.options.get("sentinel"):
        if kind.weighs:
            raise ValueError(f"'{spec.kind}' requires several attended sources, found one")
        if not model.initial_state_only:  # with which this source may be missing
            return OneSource(attentions[0])
    if kind.weighs and not attentions[0].size:
        raise ValueError(f"is '{spec.kind}', which requires attention (score other than none)")
    parts: list[Any] = [attentions, query_size, model.embedding.size]
    if kind.scores_sentinel and spec.options["sentinel"]:
        parts.append(components.build(SCORES, model.attention.score, query_size, query_size))
    return components.build(COMBINATIONS, spec, *parts)


def hiding_term(attention: AttentionConfig) -> str | None:
    """Return the kind of the term that hides source symbols, if there is one."""
    return next((term.kind for term in attention.terms if attention.attends and TERMS[term.kind].hides), None)
