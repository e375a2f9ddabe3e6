"""Plan of a study of words that a corpus says something of, by several measures of attention."""

from collections.abc import Callable
from typing import Any

from headlight.capture import CapturedModel, Objective
from headlight.corpora import Corpus
from headlight.engine.max_length import choose_length
from headlight.engine.model_parts import check_tokenizer, choose_sites, encoder_for_one_text
from headlight.engine.plan import CountedExamples, StudyPlan, plan_passes, required_objective


def plan_word_study(  # noqa: PLR0913 - each is a choice of its own
    name: str,
    title: str,
    corpus: Corpus[Any],
    model: CapturedModel,
    settings: Any,
    objective: Objective | None,
    encode: Callable[[Any, int], CountedExamples[Any]],
    *,
    if_empty: str,
) -> StudyPlan[Any]:
    """The plan of all measures; those that need gradients have passes of their own.

    Args:
        name: Name of the study.
        title: What the result is about.
        corpus: Corpus that can be read more than once.
        model: The model.
        settings: Settings of measures and words.
        objective: Objective of the gradient; by default that of what the model was trained for.
        encode: Makes examples of the corpus, given the tokenizer and the longest in tokens.
        if_empty: What to ask if no example can be made of the corpus.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths; or no tokenizer.
        MissingHeadError: the gradient needs a language-model head, or an objective.
    """
    tokenizer = check_tokenizer(model)
    model = encoder_for_one_text(model, settings.kind)
    kind, sites = choose_sites(model, settings)
    objective = required_objective(model, settings.measures, objective, settings.seed)
    return StudyPlan(
        name=name,
        title=title,
        source=corpus.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=encode(tokenizer, choose_length(model, settings.max_length)),
        settings=settings,
        passes=plan_passes(settings.measures, objective, settings.attribution),
        measures=settings.measures,
        if_empty=if_empty,
        corpus=corpus,
    )
