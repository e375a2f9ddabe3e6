"""What the paper concludes, and whether it is so here."""

from headlight.papers.claims import claims_content
from headlight.papers.exhibit import Content, exhibit
from headlight.papers.reproduction import Reproduction
from headlight.papers.writer import ExhibitWriter
from headlight.papers.yang2020 import claims
from headlight.papers.yang2020.results import chosen_lambdas, frame_of, load_guided, load_sweep
from headlight.papers.yang2020.tables import SOURCE, notes_of


@exhibit("findings", "What the paper concludes, and what is so here", f"{SOURCE}, Section 5")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """The conclusions, each judged by a rule that is stated."""
    rows, guided = frame_of(load_sweep(reproduction)), frame_of(load_guided(reproduction))
    small, large = chosen_lambdas(reproduction)
    found = [
        claims.costs_nothing(rows, small),
        claims.costs_much(rows, large),
        claims.safe_point(rows),
        claims.guides_as_well(rows, guided, large),
        claims.carries_over(guided),
        claims.beyond_seeds(rows, small),
    ]
    return claims_content(writer, found, notes_of(reproduction), "its tagger")
