"""Flow of information from input tokens to hidden vectors, by several methods."""

from dataclasses import dataclass
from typing import Annotated

from headlight.catalogue import TEXT, Study
from headlight.settings import Common, Range, require_distinct
from headlight.settings.attribution import Slope
from headlight.settings.flow import METHODS, FlowName
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import Kind


@dataclass(frozen=True, kw_only=True)
class FlowSettings(TextSettings):
    """Everything that the result depends on besides model and corpus.

    Attributes:
        methods: methods that attribute hidden tokens to input tokens. Products of the maps of
            layers: ``rollout`` of weights, ``rollout_norm``, ``rollout_block_norm`` and
            ``rollout_layer_norm`` of norms, ``globenc``, ``alti`` and ``value_zeroing``. Through
            all layers at once: ``decompx``, ``attribution`` and ``gradient_hidden``. The last four
            run a layer, or the model, at least once for each token, and are slow. Layer by layer:
            ``mixing``, the ratio contributed by other tokens; ``mixing_feed_forward`` includes the
            feed-forward network with linearized activations, in five more passes.
        slope: slope of linearized activations: ``chord`` from the bias (Kobayashi et al. 2024),
            ``zero_origin`` or ``derivative``.
        masks: share of tokens replaced by the mask token, drawn by text; 0.12 in the code of
            Kobayashi et al. (2021).
        kind: kind of attention, ``encoder`` or ``decoder``; by default the first that the model
            has.
    """

    methods: tuple[FlowName, ...] = ("rollout", "rollout_layer_norm", "globenc", "alti")
    slope: Slope = "chord"
    masks: Annotated[float, Range(minimum=0, maximum=1)] = 0.0
    kind: Common[Kind | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("methods", self.methods)

    @property
    def followed(self) -> tuple[str, ...]:
        """Return the methods that follow input tokens."""
        return tuple(name for name in self.methods if name in METHODS)

    @property
    def mixes(self) -> bool:
        """Return whether mixing ratios are among the methods."""
        return len(self.followed) < len(self.methods)


STUDY = Study(
    name="flow",
    title="attribution of hidden tokens to input tokens, by several methods",
    question="attribute hidden tokens to their own, first, special, near and far input tokens, by"
    " several methods, and measure how much a layer mixes in from the context",
    papers="Abnar and Zuidema 2020; Kobayashi et al. 2021, 2024; Modarressi et al. 2022, 2023;"
    " Ferrando et al. 2022; Mohebbi et al. 2023",
    source=TEXT,
    settings=FlowSettings,
    examples=(
        ("wiki/ --max-length 64", ""),
        ("wiki/ --model gpt2 --methods rollout,alti,decompx --max-examples 20", ""),
        ("wiki/ --pairs --methods mixing --masks 0.12", "mixing ratios, as Kobayashi (2021) has"),
        ("wiki/ --methods mixing_feed_forward", "mixing ratios through the whole layer"),
    ),
    smallest={"methods": ("rollout", "alti", "mixing"), "max_length": 16, "max_examples": 4},
    order=8,
)
