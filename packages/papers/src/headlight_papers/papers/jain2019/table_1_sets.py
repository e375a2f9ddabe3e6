"""Table 1: the sets, and how well they are learnt."""

import pandas
import xarray

from headlight.views.parts import Comparison, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, load_all, notes_of
from headlight_papers.papers.reproduction import Reproduction


@exhibit("table-1", "Table 1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The sets, and how well they are learnt."""
    results = load_all(reproduction)
    sets = pandas.DataFrame(
        [
            _about_set(title, result)
            for (title, encoder), result in results.items()
            if encoder == "lstm"
        ]
    )
    scores = {"F1": "f1", "accuracy": "accuracy", "AUC": "auc", "NLL": "nll"}
    models = pandas.DataFrame(
        [
            {"model": f"{title}, {ENCODER_NAMES[encoder]}"}
            | {column: float(result[name]) for column, name in scores.items()}
            for (title, encoder), result in results.items()
        ]
    )
    compared = [
        Comparison(
            f"{title}, {ENCODER_NAMES[encoder]}",
            published.RELEASED[title, encoder].f1,
            float(result["f1"]),
            note=f"the paper prints {published.PAPER_F1[title]:.2f}" if encoder == "lstm" else "",
            digits=3,
        )
        for (title, encoder), result in results.items()
        if (title, encoder) in published.RELEASED
    ]
    return Section(
        explanation="F1 is that of the second class. Published is the F1 of the authors' released "
        "results.",
        tables=[
            writer.table(sets, "Sets", formats={"words": ".0f"}, name="sets"),
            writer.table(models, "Models on the test part", formats=".3f"),
        ],
        comparisons=compared,
        notes=notes_of(reproduction, results),
    )


def _about_set(title: str, result: xarray.Dataset) -> dict[str, object]:
    counts = result["texts"]
    classes = " / ".join(map(str, counts["class"].values))
    by_part = {
        str(part): " / ".join(str(int(count)) for count in counts.sel(part=part).values)
        for part in counts["part"].values
    }
    return {
        "set": title,
        "classes": classes,
        **by_part,
        "words": float(result["length"].sel(part="train")),
        "vocabulary": int(result["vocabulary"]),
        "published, test": published.TEST_TEXTS.get(title, "–"),
    }
