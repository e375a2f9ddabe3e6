"""Figure 18: contributions to [CLS]."""

from headlight.views.parts import Comparison, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.claims import two_largest
from headlight_papers.papers.brunner2020.contribution_places import (
    draw_places,
    frame_by_place,
    list_places,
)
from headlight_papers.papers.brunner2020.contribution_results import (
    contribution_notes,
    load_contributions,
    shown_layers,
)
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction


@exhibit("figure-18", "Figure 18 and Appendix C.3", "pairs")
def figure_18(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Contribution to [CLS]."""
    pairs = find_pair_set(reproduction)
    result = load_contributions(reproduction, pairs)
    if not bool(result["sep_count"].any()):
        return Section(explanation="The texts of this model have no [CLS] and [SEP].")
    writer.keep(frame_by_place(result, "cls"), "a")
    writer.keep(frame_by_place(result, "sep"), "b")
    return Section(
        explanation="All that the hidden [CLS] receives from other tokens, by their place: (a) "
        "counted from [CLS] itself, (b) from the first [SEP], the border between the sentences. "
        "Texts are of different lengths, so that far places are there in few of them.",
        drawings=[
            draw_places(
                writer,
                result,
                "cls",
                "From [CLS]",
                (1, 64),
                "(a) Contribution to [CLS], by place after it.",
                "a",
            ),
            draw_places(
                writer,
                result,
                "sep",
                "From the first [SEP]",
                (-32, 32),
                "(b) Contribution to [CLS], by place relative to the first [SEP].",
                "b",
            ),
        ],
        comparisons=[
            Comparison(
                f"the two places that give most to [CLS], layer {layer + 1}",
                list_places(published.NEAREST),
                list_places(two_largest(result["sep_share"].isel(layer=layer))),
                note="relative to the first [SEP]",
            )
            for layer in shown_layers(result)
        ],
        notes=contribution_notes(reproduction, pairs, result),
    )
