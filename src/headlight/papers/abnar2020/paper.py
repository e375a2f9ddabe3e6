"""Attention rollout (Abnar and Zuidema 2020)."""

from headlight.papers.abnar2020.settings import Settings
from headlight.papers.exhibit import Paper
from headlight.papers.token_maps.claims import Ahead, findings
from headlight.papers.token_maps.tables import agreement, removal

BY = "Abnar and Zuidema (2020)"
CLAIMS = (
    Ahead(
        "Rollout agrees more with leaving tokens out than weights do",
        "rollout",
        "weight",
        "leave_one_out",
    ),
    Ahead(
        "Rollout agrees more with gradients than weights do", "rollout", "weight", "gradient_input"
    ),
)

PAPER = Paper(
    name="abnar2020",
    settings=Settings,
    introduction="Whether the weights of the last layer, or their rollout through all layers with "
    "half of each token kept, agree with leaving tokens out (blank-out) and with gradients. No "
    "published number was at hand. Maximal flow is not asked: it takes a problem of its own for "
    "every token.",
    exhibits=(
        findings(BY, CLAIMS),
        agreement("agreement", BY),
        removal("removal", f"Beyond {BY}"),
    ),
)
