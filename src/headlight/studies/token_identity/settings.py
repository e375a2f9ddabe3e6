"""What a study of token identity depends on, besides model and text."""

from dataclasses import asdict, dataclass
from typing import Any

from headlight.errors import UnknownNameError, UsageError

MAPS = ("naive", "linear", "mlp")
"""The identity, a matrix, and two matrices with a GELU between them."""

LOSSES = ("cosine", "l2")
SOLVERS = ("adam", "ridge")
TARGETS = ("input", "below")
EMBEDDINGS = ("output", "sum")
SEARCHES = ("all", "one")
PRECISIONS = ("highest", "medium")

LEARNING_RATES = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
"""Those searched by Brunner et al. (2020), Appendix B.1."""

RIDGES = tuple(10.0**power for power in range(-9, 2))
"""λ of ridge regression, as multiples of the mean square of a feature."""


@dataclass(frozen=True, kw_only=True)
class MapRecipe:
    """How the maps are trained (Brunner et al. 2020, Appendix B.1).

    Attributes:
        rates: learning rates of Adam; that with the least validation loss is taken.  The other
            settings are β = 0.9 and 0.999, ε = 10⁻⁸.
        batch: tokens in a step.
        epochs: passes over the training tokens at most; the paper names no limit.
        patience: stop after so many epochs without a smaller validation loss.
        hidden: units of the MLP.
        precision: of products of matrices while training: ``highest`` is float32; ``medium`` may
            multiply in bfloat16 and add in float32, where the processor does that faster.
    """

    rates: tuple[float, ...] = LEARNING_RATES
    batch: int = 256
    epochs: int = 300
    patience: int = 20
    hidden: int = 1000
    precision: str = "highest"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise UnknownNameError("precision", self.precision, PRECISIONS)
        if min(self.batch, self.epochs, self.patience, self.hidden) < 1:
            raise UsageError("batch, epochs, patience and hidden must be at least 1.")
        if not self.rates or min(self.rates) <= 0:
            raise UsageError("learning rates must be above 0, and there must be at least one.")


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """Which maps from hidden to input tokens are made, and how they are judged.

    Attributes:
        maps: which of `MAPS`.
        losses: which of `LOSSES`; the nearest neighbour is looked up by the same measure.
        solver: of linear maps: ``adam``, or ``ridge``, in closed form.
        target: what is recovered: ``input``, or ``below``, the output of the block below (for the
            lowest block, the input).
        offsets: recover the token at so many positions to the right; 0 is the token itself.
        fractions: shares of the training sequences that are used.
        layers: which are mapped; all by default.
        across: also test the map of each layer on all of them.
        folds: random splits into 70 % training, 15 % validation and 15 % test sequences.
        recipe: how maps are trained.
        search: learning rates are compared for ``all`` maps, or on ``one``, that of the highest
            layer and the first fold, as in the paper, which has one rate for all layers.
        ridges: multiples of the mean square of a feature that ridge regression tries.
        embeddings: what counts as input: ``output``, what the first block is given, or ``sum``, the
            sum of embeddings before it is normalised.
        seed: of splits, first weights and the order of training.
        batch_tokens: tokens in a forward pass at most; it changes nothing.
        memory: bytes of hidden tokens above which they are kept in files, and bytes that maps in
            training may take together.
    """

    maps: tuple[str, ...] = MAPS
    losses: tuple[str, ...] = LOSSES
    solver: str = "adam"
    target: str = "input"
    offsets: tuple[int, ...] = (0,)
    fractions: tuple[float, ...] = (1.0,)
    layers: tuple[int, ...] | None = None
    across: bool = False
    folds: int = 10
    recipe: MapRecipe = MapRecipe()
    search: str = "all"
    ridges: tuple[float, ...] = RIDGES
    embeddings: str = "output"
    seed: int = 0
    batch_tokens: int = 2048
    memory: int = 2**30

    def __post_init__(self) -> None:
        for kind, given, known in (
            ("map", self.maps, MAPS),
            ("loss of maps", self.losses, LOSSES),
            ("solver", (self.solver,), SOLVERS),
            ("target of maps", (self.target,), TARGETS),
            ("kind of embeddings", (self.embeddings,), EMBEDDINGS),
            ("search of learning rates", (self.search,), SEARCHES),
        ):
            for name in given:
                if name not in known:
                    raise UnknownNameError(kind, name, known)
            if not given:
                raise UsageError(f"name at least one {kind}.")
        self._demand_sense()

    def _demand_sense(self) -> None:
        if self.folds < 1 or not self.offsets or not self.ridges or min(self.ridges) <= 0:
            raise UsageError("folds, offsets and ridges must not be empty, and ridges be above 0.")
        if not self.fractions or not all(0 < share <= 1 for share in self.fractions):
            raise UsageError(f"fractions lie above 0 and up to 1, unlike {self.fractions}.")
        if self.across and self.target == "below":
            raise UsageError("a map to the block below can be tested on its own layer only.")

    def signature(self) -> dict[str, Any]:
        """All settings that results depend on, as JSON."""
        settings = asdict(self)
        del settings["batch_tokens"], settings["memory"]
        return settings
