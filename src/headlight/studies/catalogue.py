"""All studies in one table, which needs no torch until one is run."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from headlight.errors import UnknownNameError
from headlight.settings import Settings

if TYPE_CHECKING:
    import xarray

EMBEDDED_TRANSLATOR = "headlight-translator"
"""The name of the embedded translation model, from German to English."""


@dataclass(frozen=True)
class Study:
    """One row of the table.

    Attributes:
        name: of the function in the root, and of the command, there with hyphens; the ``stage`` of
            its results.
        title: what it says, in a few words.
        reads: what its source is; text, or for classifiers labelled text, where that depends on
            the model.
        settings_name: the class of its settings.
        folder: its package; by default its name.
        source: paper and section.
        on_shards: whether it goes through its corpus once and is done, so that several processes
            can share a run.
        no_sentence: why its report shows no text of the corpus, where it shows none.
    """

    name: str
    title: str
    reads: Literal["text", "treebank", "coreference", "parallel", "labelled", "text_or_labelled"]
    settings_name: str
    source: str
    folder: str = ""
    on_shards: bool = True
    no_sentence: str = ""

    @property
    def package(self) -> str:
        """Where it lives."""
        return f"headlight.studies.{self.folder or self.name}"

    @property
    def settings(self) -> type[Settings]:
        """The class of its settings; imports no torch."""
        found: type[Settings] = getattr(
            import_module(f"{self.package}.settings"), self.settings_name
        )
        return found

    @property
    def run(self) -> Callable[..., "xarray.Dataset"]:
        """``run(source, model, settings, *, folder, command, progress)``."""
        found: Callable[..., "xarray.Dataset"] = import_module(f"{self.package}.study").run
        return found

    @property
    def default_model(self) -> str | None:
        """The embedded model that it runs on where none is named; None for the usual one."""
        return EMBEDDED_TRANSLATOR if self.reads == "parallel" else None


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "survey",
            "what weights, norms and effective attention say about every head",
            "text",
            "SurveySettings",
            "Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020",
            folder="heads",
        ),
        Study(
            "norms",
            "how long transformed vectors are, and how that goes with weights and frequency",
            "text",
            "NormSettings",
            "Kobayashi et al. 2020, Section 4",
            no_sentence=(
                "it speaks of lengths over a whole corpus; what each head does with them, a "
                "survey of the same texts shows"
            ),
        ),
        Study(
            "contributions",
            "what input tokens contribute to hidden tokens",
            "text",
            "ContributionSettings",
            "Brunner et al. 2020, Section 5",
            no_sentence=(
                "it speaks of hidden tokens, into which all heads of a layer have gone together"
            ),
        ),
        Study(
            "distances",
            "how differently heads attend",
            "text",
            "DistanceSettings",
            "Clark et al. 2019, Section 6",
            no_sentence=(
                "it compares each head with each other over all texts; what one does, a "
                "survey of the same texts shows"
            ),
        ),
        Study(
            "importance",
            "how much the loss depends on attention",
            "text",
            "ImportanceSettings",
            "Clark et al. 2019, Section 3.2",
            no_sentence=(
                "it sums gradients by kind of token over a whole corpus, and keeps none of a text"
            ),
        ),
        Study(
            "ablation",
            "what the model says without a head, or a layer's heads",
            "text_or_labelled",
            "AblationSettings",
            "Michel et al. 2019, Section 3; Kobayashi et al. 2020",
        ),
        Study(
            "identifiability",
            "how much of attention is identifiable from the output",
            "text",
            "IdentifiabilitySettings",
            "Brunner et al. 2020, Section 3",
            no_sentence=(
                "it speaks of ranks and null spaces, which depend on the length of a text and "
                "not on its words"
            ),
        ),
        Study(
            "token_identity",
            "how well hidden tokens give away their input tokens",
            "text",
            "TokenIdentitySettings",
            "Brunner et al. 2020, Section 4",
            on_shards=False,
            no_sentence=(
                "its probes read hidden tokens, into which all heads of a layer have gone together"
            ),
        ),
        Study(
            "dependency",
            "heads as parsers",
            "treebank",
            "DependencySettings",
            "Clark et al. 2019, Section 4.2",
        ),
        Study(
            "coreference",
            "heads as resolvers of coreference",
            "coreference",
            "CoreferenceSettings",
            "Clark et al. 2019, Section 4.3",
        ),
        Study(
            "parser_probes",
            "probes that parse from attention",
            "treebank",
            "ParserProbeSettings",
            "Clark et al. 2019, Section 5",
            on_shards=False,
            no_sentence=(
                "a probe weighs all heads together; sentences in which one of them parses are "
                "in the report of `dependency`"
            ),
        ),
        Study(
            "alignment",
            "how well a translation model links words",
            "parallel",
            "AlignmentSettings",
            "Kobayashi et al. 2020, Section 5; Ding et al. 2019; Li et al. 2019",
            no_sentence=(
                "the links of any pair, beside those that people made, are on the page that "
                "`headlight align --html` writes"
            ),
        ),
        Study(
            "permutation",
            "what a classifier's answers lose with other attention",
            "labelled",
            "PermutationSettings",
            "Jain and Wallace 2019, Section 4.2.1; Wiegreffe and Pinter 2019, Section 3.1",
            no_sentence="weights are exchanged at random, and no text stands for all the draws",
        ),
        Study(
            "faithfulness",
            "what a classifier's answers lose with important words",
            "labelled",
            "FaithfulnessSettings",
            "DeYoung et al. 2020; Serrano and Smith 2019",
            no_sentence=(
                "words are removed from texts whole shares at a time; heads have no part in it"
            ),
        ),
        Study(
            "agreement",
            "which measures agree on the words that matter to a classifier",
            "labelled",
            "AgreementSettings",
            "Jain and Wallace 2019, Section 4.1",
            no_sentence="it compares orders of all words of a text, and not what a head looks at",
        ),
        Study(
            "instance_adversary",
            "how different attention can be while a classifier's answer stays",
            "labelled",
            "InstanceAdversarySettings",
            "Jain and Wallace 2019, Section 4.2.2; Brunner et al. 2020, Section 3.3",
            no_sentence=(
                "the other weights of a text are found by a search; `what_if` reads a text "
                "with other weights"
            ),
        ),
        Study(
            "adversary",
            "other models with a classifier's answers and other attention",
            "labelled",
            "AdversarySettings",
            "Wiegreffe and Pinter 2019, Section 4; Yang, Section 4.2",
            on_shards=False,
            no_sentence="it compares other models by their answers over a whole corpus",
        ),
        Study(
            "guided",
            "what the attention of a classifier is worth to a model without context",
            "labelled",
            "GuidedSettings",
            "Wiegreffe and Pinter 2019, Section 3.4",
            on_shards=False,
            no_sentence="it compares models without context by their answers over a whole corpus",
        ),
    )
}
"""By name, in the order in which help and documentation list them."""


def find_study(name: str) -> Study:
    """The study of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]
