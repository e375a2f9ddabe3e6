"""Figure 4 and Section 3.3: focused and broad attention."""

from headlight.views.parts import By, Comparison, Curve, Reference, Section
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.measure_panels import MEASURE
from headlight_papers.papers.clark2019.results import load_survey
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction

WHO = By("query_category", {"all": "all tokens", "cls": "from [CLS]"})


@exhibit("figure-4", "Figure 4 and Section 3.3")
def figure_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Focused and broad attention."""
    survey = load_survey(reproduction)
    entropy = survey["entropy"]
    uniform = Reference(float(survey["entropy_uniform"]), "uniform attention")
    by_layer = entropy.mean("head")
    last = by_layer.isel(measure=0, layer=-1).sel(query_category="cls")
    table = frame_of(
        {
            "all tokens": by_layer.sel(query_category="all"),
            "from [CLS]": by_layer.sel(query_category="cls"),
        }
    )
    return Section(
        explanation="Entropy of what a token attends to, in nats, for each head; the dashed line "
        "is attention spread evenly over the text. Norms, effective attention and gradients are "
        "made distributions first: absolute values divided by their sum.",
        drawings=[
            writer.curves(
                survey.sel(query_category=list(WHO.names)),
                Curve(
                    "entropy",
                    panel="{measure}, {query_category}",
                    by=(MEASURE, WHO),
                    y_label="entropy (nats)",
                    limits=(0.0, 1.05 * uniform.value),
                    references=[uniform],
                ),
                caption="Entropy by layer: left of all tokens, right of [CLS] alone.",
                alternative=f"Uniform attention has {uniform.value:.2f} nats.",
                columns=2,
            )
        ],
        tables=[writer.table(table, "Means over the heads of a layer, in nats")],
        comparisons=[
            Comparison(
                "entropy from [CLS], mean of the last layer",
                published.CLS_ENTROPY_LAST_LAYER,
                float(last),
                "nats",
                f"uniform attention over these texts has {uniform.value:.2f} nats",
                digits=2,
            )
        ],
        notes=text_notes(reproduction, survey),
    )
