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
    sweep = load_sweep(reproduction)
    rows, guided = frame_of(sweep), frame_of(load_guided(reproduction))
    small, large = chosen_lambdas(reproduction)
    length = float(sweep.attrs["row_length"])
    found = [
        claims.costs_nothing(rows, small, length),
        claims.costs_much(rows, large, length),
        claims.safe_point(rows),
        claims.guides_as_well(rows, guided, large, length),
        claims.carries_over(rows, guided),
        claims.beyond_seeds(rows, small, length),
    ]
    return claims_content(writer, found, notes_of(reproduction), "its tagger")
