"""What the paper concludes, and whether it is so here."""

from headlight.papers.claims import claims_content
from headlight.papers.exhibit import Content, exhibit
from headlight.papers.reproduction import Reproduction
from headlight.papers.wiegreffe2019 import claims
from headlight.papers.wiegreffe2019.results import frames_of, load_all
from headlight.papers.wiegreffe2019.tables import SOURCE, notes_of
from headlight.papers.writer import ExhibitWriter


@exhibit("findings", "What the paper concludes, and what is so here", f"{SOURCE}, Sections 3 to 5")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """The conclusions, each judged by a rule that is stated."""
    rows = frames_of(reproduction)
    instances = {
        title: {
            name: found[f"instance_{name}"].sel(encoder_of="lstm").values for name in ("tvd", "jsd")
        }
        for title, found in load_all(reproduction).items()
    }
    found = [
        claims.needs_attention(rows),
        claims.carries_over(rows),
        claims.adversaries_do_not(rows),
        claims.adversaries_exist(rows),
        claims.harder_than_single_texts(rows, instances),
        claims.adversaries_exist(rows, "transformer"),
    ]
    return claims_content(writer, found, notes_of(reproduction), "its classifiers")
