"""What a model says without a head, or without all heads of a layer (Michel et al. 2019)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import xarray

from headlight.analysis.classifiers.components import Component, by_scope, components_of
from headlight.analysis.classifiers.plan import LabelledSource, plan_classifier_study
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.study import GradientStudy, PassStudy
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.capture import AttentionSite, CapturedModel, Objective, Prepared, default_objective
from headlight.capture.tasks import task_of
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reduce import Strongest, Tally
from headlight.run import State
from headlight.studies.ablation import AblationSettings
from headlight.studies.ablation.observer import CHANGES, OWN, AblationObserver
from headlight.studies.ablation.outputs import Outputs
from headlight.studies.ablation.passages import most_changed

CALLED = {"loss": "loss_change", "accuracy": "accuracy_change"}
"""Variables that are differences."""

VARIABLES = (
    long_names(
        {
            "kl": Variable(
                "KL divergence of the predictions without it from those of the model as it is",
                "nat",
                interval=True,
            ),
            "changed": Variable("share of the predictions that become others", interval=True),
            "loss_change": Variable(
                "change of the loss of a predicted token or class without it", "nat", interval=True
            ),
            "accuracy_change": Variable(
                "change of the share of right predictions without it", interval=True
            ),
            "norm": Variable(
                "length of what it adds to a token, ‖Σ_j α_ij f(x_j)‖, mean over tokens",
                "",
                interval=True,
            ),
        },
        by={"layer_": "; all heads of a layer", "head_": "; one head"},
    )
    | long_names(
        {
            "loss": Variable(
                "loss of a predicted token or class, of the model as it is", "nat", interval=True
            ),
            "accuracy": Variable("share of right predictions of the model as it is", interval=True),
        },
        by={"own_": ""},
    )
    | {"predicted": ("predictions with a label", "1")}
)


def dataset(
    tally: Tally, components: Sequence[Component], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Named arrays of what was seen."""
    found = tally.compute()
    variables: dict[str, Any] = {"predicted": ((), found["predicted"]["total"])}
    for bound, statistic in BOUNDS.items():
        for at, name in enumerate(OWN):
            variables[f"own_{name}{bound}"] = ((), found["own"][statistic][at])
        for name, values in zip(CHANGES, found["changes"][statistic], strict=True):
            for prefix, (axes, cells) in by_scope(values, components, sites).items():
                variables[f"{prefix}{CALLED.get(name, name)}{bound}"] = (axes, cells)
    coordinates = {"layer": [site.layer for site in sites]}
    if "head_kl" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    return described(variables, coordinates, VARIABLES)


class AblationStudy(PassStudy[AblationSettings], GradientStudy[AblationSettings]):
    """How far a model's predictions move when a head is removed, beside how much the head writes.

    A head that is removed hands zeros to the output projection, as if all its weights were zero;
    b^O and everything else stays, and nothing is trained again.  What comes after it computes with
    what then reaches it.

    Of a language model, predictions are distributions over the vocabulary: of a masked one at every
    token that is not special, of others at every token that predicts a next one, and at the last
    word.  Loss and accuracy are those of masked tokens, or of next tokens.  Of a classifier they
    are distributions over classes, of a tagger at the first token of each word.  A text has the
    mean over its predictions, and the result is the mean over texts.  A removal costs one forward
    pass; of small batches several run at once, within ``batch_tokens``.

    Its result has over ``layer`` and ``head``, with the prefix ``head_``, and over ``layer``, with
    ``layer_``: ``kl``, the KL divergence (intact ‖ removed) in nats; ``changed``, the share of
    predictions whose most probable choice is another; ``loss_change`` and ``accuracy_change``; and
    ``norm``, the mean length of what is removed.  Each has an interval, from resampled texts
    (``_low``, ``_high``).  ``own_loss`` and ``own_accuracy`` are those of the model as it is.

    Args:
        source: of a language model, see `headlight.analysis.text_plan.TextSource`; of a classifier,
            see `headlight.analysis.classifiers.plan.LabelledSource`.
        model: with its head.
        settings: see `AblationSettings`.
        objective: which words a language model should predict; by default what it was trained for.

    Source: Michel et al. (2019), Section 3, who remove heads of a translator and of BERT; the
        length is that of Kobayashi et al. (2020), Eq. 3, summed over keys.
    """

    name = "ablation"
    title = "Predictions without heads"
    settings_class = AblationSettings

    def __init__(
        self,
        source: TextSource | LabelledSource,
        model: CapturedModel,
        settings: AblationSettings,
        objective: Objective | None = None,
    ) -> None:
        self.settings = settings
        self.classifies = task_of(type(model.transformer).__name__) is not None
        if self.classifies:
            self.plan = self._plan_classifier(source, model, objective)
            return
        settings.check_of_language_model()
        one = Pass(objective=objective or default_objective(model, seed=settings.seed))
        texts: Any = source
        self.plan = plan_text_study(self.name, self.title, texts, model, settings, passes=(one,))

    def _plan_classifier(
        self, source: Any, model: CapturedModel, objective: Objective | None
    ) -> StudyPlan[Any]:
        if source is None:
            raise UsageError(f"{model.name} is a classifier; name a corpus of labelled texts.")
        if objective is not None:
            raise UsageError(
                f"{model.name} is a classifier, which predicts labels; leave out the objective."
            )
        asked = self.settings.of_classifier()
        plan, _ = plan_classifier_study(self.name, self.title, source, model, asked)
        return replace(plan, settings=self.settings)

    def observe(self, _: Pass, batch: Batch, examples: Sequence[Any]) -> AblationObserver:
        """Runs the model without each head, on one batch."""
        plan = self.plan
        if self.classifies:
            outputs = Outputs.of_classes(examples, plan.model.transformer.device)
        else:
            assert isinstance(batch, Prepared)  # noqa: S101 - a pass with an objective prepares
            outputs = Outputs.of_words(batch)
        return AblationObserver(plan.model, batch, examples, outputs, plan.sites, self.settings)

    def dataset(self, _: Pass, state: State) -> xarray.Dataset:
        """Changes by head and layer, and the predictions that each changed most."""
        components = components_of(self.settings.by, self.plan.sites)
        found = dataset(state.tally, components, self.plan.sites)
        passages = state.tally.get("passages")
        if passages is None:
            return found
        assert isinstance(passages, Strongest)  # noqa: S101 - the observer makes it
        return found.merge(most_changed(passages, components, self.plan.model.tokenizer, found))


run = AblationStudy.run
