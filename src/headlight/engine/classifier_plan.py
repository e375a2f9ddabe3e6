"""Plan of a pass over labelled texts."""

from typing import Any

from headlight.capture import CapturedModel, Classes
from headlight.encode import EncodedPair, EncodedSentence, Examples, sentence_pairs, sentences
from headlight.engine.labelled_texts import (
    Classified,
    LabelledExamples,
    LabelledSource,
    open_labelled,
)
from headlight.engine.max_length import choose_length
from headlight.engine.model_parts import check_tokenizer, choose_sites
from headlight.engine.plan import StudyPlan
from headlight.errors import UsageError, setting
from headlight.study_settings.classifiers import ClassifierSettings


def plan_classifier_study(
    name: str,
    title: str,
    source: LabelledSource,
    model: CapturedModel,
    settings: ClassifierSettings,
) -> tuple[StudyPlan[Classified], Classes]:
    """Plan a study of a classifier, and return its classes; nothing runs yet.

    Args:
        name: Name of the study.
        title: Title of the result.
        source: Labelled corpus, see `LabelledSource`.
        model: Classifier of texts, or of tokens.
        settings: Settings of the study.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be opened.
    """
    tokenizer: Any = check_tokenizer(model)
    classes = Classes.from_model(model, settings.class_names)
    kind, sites = choose_sites(model, settings)
    end = _end_of_texts(model, tokenizer)
    corpus = open_labelled(source, settings, classes)
    length = choose_length(model, settings.max_length)
    encoded: Examples[EncodedPair] | Examples[EncodedSentence]
    if classes.task == "sequence":
        encoded = sentence_pairs(corpus, tokenizer, max_length=length)
    else:
        encoded = sentences(corpus, tokenizer, max_length=length, overflow="truncate")
    plan = StudyPlan(
        name=name,
        title=title,
        source=corpus.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=LabelledExamples(encoded, classes, end),
        settings=settings,
        max_examples=settings.max_examples,
        options={"classes": list(classes.names)},
        if_empty="are its texts empty?",
        corpus=corpus,
    )
    return plan, classes


def _end_of_texts(model: CapturedModel, tokenizer: Any) -> int | None:
    """Return the token at which a model that reads its text twice predicts the class."""
    if not model.reads_twice:
        return None
    config: Any = model.transformer.config
    end = config.eos_token_id
    if end is None or end not in tokenizer("").input_ids:
        raise UsageError(
            f"{model} reads its class off the end-of-text token, and its tokenizer does not "
            f"put it behind a text; give the tokenizer of the model with {setting('tokenizer=')}."
        )
    return int(end)
