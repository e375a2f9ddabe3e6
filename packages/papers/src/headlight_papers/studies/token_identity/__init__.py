"""Identification of input tokens from hidden tokens (Brunner et al. 2020, Section 4)."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from headlight.catalogue import TEXT, Study
from headlight.errors import UsageError, setting
from headlight.settings import NO_EFFECT, AtLeast1, Common, Range, Settings, choices
from headlight.settings.attribution import MatrixPrecision
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import Kind

MapKind = Literal["naive", "linear", "mlp"]
"""Kind of map: the identity, a matrix, or two matrices with a GELU between them."""

Loss = Literal["cosine", "l2"]
Solver = Literal["adam", "ridge"]
Target = Literal["input", "previous_layer"]
RateSearch = Literal["each", "shared"]

MAPS: tuple[MapKind, ...] = choices(MapKind)
LOSSES: tuple[Loss, ...] = choices(Loss)

LEARNING_RATES = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
"""Learning rates searched by Brunner et al. (2020), Appendix B.1."""

RIDGES = tuple(10.0**power for power in range(-9, 2))
"""λ of ridge regression, as multiples of the mean square of a feature."""

Positive = Annotated[float, Range(above=0)]


@dataclass(frozen=True, kw_only=True)
class MapTrainingSettings(Settings):
    """Settings of the training of maps (Brunner et al. 2020, Appendix B.1).

    Attributes:
        rates: learning rates of Adam, chosen by validation loss; the other parameters are β = 0.9
            and 0.999, ε = 10⁻⁸.
        batch: tokens in a training step.
        epochs: maximal number of epochs; the paper has no limit.
        patience: epochs without a lower validation loss before training stops.
        hidden: hidden units of the MLP.
        precision: precision of matrix products in training: ``highest`` is float32; ``medium`` may
            multiply in bfloat16 and add in float32, which can be faster.
    """

    rates: tuple[Positive, ...] = LEARNING_RATES
    batch: AtLeast1 = 256
    epochs: AtLeast1 = 300
    patience: AtLeast1 = 20
    hidden: AtLeast1 = 1000
    precision: MatrixPrecision = "highest"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rates:
            raise UsageError("rates is empty; name at least one learning rate.")


@dataclass(frozen=True, kw_only=True)
class TokenIdentitySettings(TextSettings):
    """Settings of maps from hidden to input tokens, and of their evaluation.

    Attributes:
        kind: stack whose hidden tokens are analysed; by default the first that the model has.
        maps: maps from hidden to input tokens: ``naive`` is the identity, ``linear`` a matrix,
            ``mlp`` two matrices with a GELU between them.
        losses: distances for training maps and for nearest neighbours.
        solver: solver of linear maps: ``adam``, or ``ridge``, in closed form.
        target: target of the maps: the ``input`` token, or the output of the ``previous_layer``
            (for the lowest layer, the input).
        offsets: positions of the tokens to recover, relative to the hidden token; 0 is the token
            itself, 1 the next.
        fractions: shares of the training sequences that are used.
        across: also test the map of each layer on all other layers.
        folds: number of random splits into 70% training, 15% validation and 15% test sequences.
        training: training of the maps.
        rate_search: search for the learning rate: for ``each`` map, or ``shared``, the best for the
            highest layer and the first fold, as in the paper.
        memory: maximal memory of hidden tokens, beyond which they are stored in files, and of maps
            in training together, in bytes.
    """

    kind: Common[Kind | None] = None
    maps: Common[tuple[MapKind, ...]] = MAPS
    losses: tuple[Loss, ...] = LOSSES
    solver: Solver = "adam"
    target: Common[Target] = "input"
    offsets: tuple[int, ...] = (0,)
    fractions: tuple[Annotated[float, Range(above=0, maximum=1)], ...] = (1.0,)
    across: bool = False
    folds: AtLeast1 = 10
    training: MapTrainingSettings = field(default_factory=MapTrainingSettings)
    rate_search: RateSearch = "each"
    memory: Annotated[AtLeast1, NO_EFFECT] = 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("maps", "losses", "offsets", "fractions"):
            if not getattr(self, name):
                raise UsageError(f"{setting(name)} is empty; name at least one.")
        if self.across and self.target == "previous_layer":
            raise UsageError("a map to the previous layer can be tested on its own layer only.")


STUDY = Study(
    name="token_identity",
    title="identification of input tokens from hidden tokens",
    question="test how well input tokens can be recovered from hidden tokens",
    papers="Brunner et al. 2020, Section 4",
    source=TEXT,
    settings=TokenIdentitySettings,
    examples=(
        ("msr_paraphrase_test.txt --format pairs --solver ridge", "takes minutes, not hours"),
        ("wiki/ --pairs --max-examples 400 --maps naive,linear", ""),
    ),
    smallest={
        "across": True,
        "folds": 2,
        "losses": ["cosine"],
        "training": {"epochs": 1, "rates": [1e-3], "hidden": 4},
    },
    order=8,
    on_shards=False,
)
