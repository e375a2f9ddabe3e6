"""What the paper concludes, and whether it is so here."""

from headlight.papers.claims import claims_content
from headlight.papers.exhibit import Content, exhibit
from headlight.papers.jain2019 import claims
from headlight.papers.jain2019.results import frame_of, load_all
from headlight.papers.jain2019.tables import SOURCE, notes_of
from headlight.papers.reproduction import Reproduction
from headlight.papers.writer import ExhibitWriter


@exhibit("findings", "What the paper concludes, and what is so here", f"{SOURCE}, Sections 4 and 5")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """The conclusions, each judged by a rule that is stated."""
    results = load_all(reproduction)
    frames = {key: frame_of(found) for key, found in results.items()}
    found = [
        claims.modest(frames),
        claims.gradients_agree_more(frames),
        claims.not_without_context(frames),
        claims.context_breaks(frames),
        claims.others_exist(frames),
        claims.permuting_does_little(frames),
        claims.transformer_alike(frames),
    ]
    return claims_content(writer, found, notes_of(reproduction, results), "classifiers of texts")
