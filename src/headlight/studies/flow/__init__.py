"""Where the vectors of tokens come from, by several ways of following input tokens."""

from dataclasses import dataclass

from headlight.analysis.settings import TextSettings
from headlight.catalogue import Study
from headlight.settings import require_distinct
from headlight.settings.flow import MethodName
from headlight.vocabulary import Kind


@dataclass(frozen=True, kw_only=True)
class FlowSettings(TextSettings):
    """Everything that the result depends on besides model and corpus.

    Attributes:
        methods: how tokens are followed. Products over layers of what each takes from each:
            ``rollout`` of weights, ``rollout_norm``, ``rollout_block_norm`` and
            ``rollout_layer_norm`` of norms, ``globenc``, ``alti`` and ``value_zeroing``. Through
            all layers at once: ``decompx``, ``attribution`` and ``gradient_hidden``. The last four
            run a layer, or the model, once for each token or more, and are slow.
        kind: which attention, of ``encoder`` and ``decoder``; by default the first that the model
            has.
    """

    methods: tuple[MethodName, ...] = ("rollout", "rollout_layer_norm", "globenc", "alti")
    kind: Kind | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("methods", self.methods)


STUDY = Study(
    name="flow",
    title="what hidden tokens come from, by several methods",
    question="how much of a token after each layer comes from itself, from the first token, from"
    " special tokens and from others near or far, and whether methods agree",
    papers="Abnar and Zuidema 2020; Modarressi et al. 2022, 2023; Ferrando et al. 2022;"
    " Mohebbi et al. 2023",
    reads="text",
    settings=FlowSettings,
    examples=(
        ("wiki/ --max-length 64", ""),
        ("wiki/ --model gpt2 --methods rollout,alti,decompx --max-examples 20", ""),
    ),
    smallest={"max_length": 16, "max_examples": 4},
    order=8,
    no_sentence="it speaks of whole layers; of one text, `headlight.analysis.flow` has the maps",
)
