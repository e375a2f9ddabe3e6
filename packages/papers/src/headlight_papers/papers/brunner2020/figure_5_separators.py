"""Figure 5: attention to [SEP], effective and raw."""

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.null_space_results import bias_note, load_survey
from headlight_papers.papers.brunner2020.raw_and_effective import MEASURE, means_by_layer
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import percent
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.token_categories import FROM


@exhibit("figure-5", "Figure 5 and Appendix A.2")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention to [SEP], effective and raw."""
    survey = load_survey(reproduction)
    share = survey["share"].sel(key_category="sep")
    from_to = FROM.names
    frame = means_by_layer(
        {label: share.sel(query_category=name) for name, label in from_to.items()}
    )
    means = share.sel(query_category=list(from_to)).mean(("head", "layer"))
    ratio = means.sel(measure="effective") / means.sel(measure="weight")
    return Section(
        explanation="What goes to [SEP] from [SEP] itself and from all other tokens: (a) effective "
        "attention, signed, and (b) raw attention. A dot is a head, a line the mean of a layer.",
        drawings=[
            writer.curves(
                survey.sel(
                    key_category="sep",
                    query_category=list(from_to),
                    measure=["effective", "weight"],
                ),
                Curve("share", panel="{measure} to [SEP]", by=(MEASURE, FROM), percent=True),
                caption="Attention to [SEP] by layer, effective (a) and raw (b).",
                alternative="; ".join(
                    f"{label}: {float(ratio.sel(query_category=name)):.0%} of it is effective"
                    for name, label in from_to.items()
                ),
            )
        ],
        tables=[writer.table(frame, "Means over the heads of a layer, in percent")],
        comparisons=[
            Comparison(
                f"effective share of {label}",
                "most of it lies in the null space",
                percent(float(ratio.sel(query_category=name))),
                "%",
                "ratio of the means over all heads",
            )
            for name, label in from_to.items()
        ],
        notes=[*text_notes(reproduction, survey), bias_note(reproduction)],
    )
