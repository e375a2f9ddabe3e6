"""Plan of a study of annotated words, by several measures of attention."""

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
    """Return the plan of all measures; those that need gradients have passes of their own.

    Args:
        name: Name of the study.
        title: Title of the result.
        corpus: Corpus that can be read more than once.
        model: Model to observe.
        settings: Settings of measures and words.
        objective: Objective of the gradient; by default that of the model's training.
        encode: Function that makes examples of the corpus, given the tokenizer and the maximum
            length in tokens.
        if_empty: Request to the user if no example can be made of the corpus.

    Raises:
        UsageError: Layers, kinds or lengths do not fit together, or there is no tokenizer.
        MissingHeadError: The gradient needs a language-model head, or an objective.
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
