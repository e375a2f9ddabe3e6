"""Which probes are trained, and how."""

from dataclasses import asdict, dataclass, field
from typing import Any

from headlight.errors import UnknownNameError, UsageError
from headlight.measures import MEASURES
from headlight.studies.parser_probes.models import ALIGNMENTS
from headlight.studies.parser_probes.training import Recipe
from headlight.studies.parser_probes.trees import SYMMETRIES
from headlight.studies.word_maps.plan import FeatureSettings

PROBES = (
    "right_branching",
    "distances_and_words",
    "random_attention_and_words",
    "attention",
    "attention_and_words",
)
"""The rows of Clark et al. (2019), Table 3, but for the structural probe."""

BASELINES = PROBES[:2]
"""Those that see no attention."""

RANDOM = "random_attention_and_words"
"""The one that sees attention of the random control."""

NO_MEASURE = ""


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """What a table of probes depends on, besides model, treebanks and word vectors.

    Attributes:
        probes: which of `PROBES`.
        measures: of what attention: ``weight``, ``norm``, ``effective``; one row for each.
        recipe: how they are trained, see `Recipe` and `RECIPES`.
        seeds: each probe is trained once for each; scores are over all of them together.
        align_root: whether each candidate has its own word vector (``fixed``), or that of the word
            after it, as in the authors' code (``as_released``).
        bias: a weight for each head that words do not change, as in the authors' code.
        symmetry: how UUAS joins the two directions of a pair: ``max`` or ``mean``.
        control_seed: of the random weights of the control.
        features: how attention is read off.
    """

    probes: tuple[str, ...] = PROBES
    measures: tuple[str, ...] = MEASURES
    recipe: Recipe = field(default_factory=Recipe)
    seeds: tuple[int, ...] = (0,)
    align_root: str = "fixed"
    bias: bool = True
    symmetry: str = "max"
    control_seed: int = 0
    features: FeatureSettings = field(default_factory=FeatureSettings)

    def __post_init__(self) -> None:
        for kind, given, known in (
            ("probe", self.probes, PROBES),
            ("measure for probes", self.measures, MEASURES),
            ("alignment of the root", (self.align_root,), ALIGNMENTS),
            ("way to join two directions", (self.symmetry,), SYMMETRIES),
        ):
            for name in given:
                if name not in known:
                    raise UnknownNameError(kind, name, known)
        if not self.probes or not self.seeds:
            raise UsageError("name at least one probe and one seed.")
        if not self.measures and not set(self.probes) <= set(BASELINES):
            raise UsageError("probes of attention need at least one measure.")

    def rows(self) -> list[tuple[str, str]]:
        """Probe and measure of each row, in the order of `PROBES`; baselines have no measure."""
        return [
            (probe, measure)
            for probe in PROBES
            if probe in self.probes
            for measure in ((NO_MEASURE,) if probe in BASELINES else self.measures)
        ]

    def signature(self) -> dict[str, Any]:
        """All settings, as JSON."""
        settings = asdict(self)
        del settings["features"]["batch_tokens"]
        return settings
