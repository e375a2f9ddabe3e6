"""The tagger beside classifiers of texts: whose attention can be moved further at the same cost."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.reduce.intervals import mean_interval
from headlight.result import describe
from headlight.views.parts import Section
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers.jobs import ClassifierJob
from headlight_papers.papers.text_classifiers.models import (
    file_name,
    sets_of,
    trained,
    training_key,
)
from headlight_papers.papers.trained import (
    LINE,
    PLANE,
    Rows,
    beside,
    columns_of,
    lambdas_of,
    points,
    with_line,
)
from headlight_papers.papers.writer import ExhibitWriter
from headlight_papers.papers.yang2020 import claims
from headlight_papers.papers.yang2020.results import frame_of, load_sweep
from headlight_papers.papers.yang2020.tables import SOURCE, lambda_name, notes_of
from headlight_papers.training.text_classifier import Encoder

ENCODER: Encoder = "transformer"
"""Of the classifiers: a layer of self-attention, as the tagger has."""
VARIABLES = {
    "f1": ("F1 of the second class", "1"),
    "accuracy": ("share of correct predictions", "1"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "agreement": ("share of texts with the base's class", "1"),
    "kl": ("KL(attention ‖ the base's) of a text", "nats"),
    "jsd": ("JSD of attention and the base's, of a text", "nats"),
}


def load_classifiers(reproduction: Reproduction, title: str) -> xarray.Dataset:
    """Classifiers of one set on its test part: the same models as of the tagger, alike trained."""
    seeds = range(reproduction.settings.repeats)
    bases = [ClassifierJob("base", ENCODER, seed) for seed in seeds]
    adversaries = [
        ClassifierJob("adversary", ENCODER, seed, one)
        for seed in seeds
        for one in lambdas_of(reproduction)
    ]
    jobs = [*bases, *adversaries]

    def make(_: Path) -> xarray.Dataset:
        trainer = trained(reproduction, title, [bases, adversaries])
        rows: Rows = [
            *((vars(job), trainer.measured(job)) for job in jobs),
            *(row for job in bases for row in beside(trainer, job, bases[: job.seed][-1:])),
        ]
        columns = {
            name: ("run", np.array([of["test"].get(name, np.nan) for _, of in rows]))
            for name in VARIABLES
        }
        coords = columns_of(rows, "kind", "seed", "weight")
        return describe(xarray.Dataset(columns, coords=coords), VARIABLES)

    name, key = f"classifiers-{file_name(title)}", training_key(reproduction, title)
    return reproduction.keep(name, "classifiers", make, jobs=[job.name for job in jobs], **key)


@exhibit(
    "exclusivity",
    "Is attention of tagging more exclusive than that of classification?",
    f"{SOURCE}, Section 1, which asks it",
    ("labelled",),
)
def exclusivity(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """JSD against TVD by λ, of the tagger and of classifiers of each set."""
    tasks = {claims.TAGGER: frame_of(load_sweep(reproduction))}
    for title in sets_of(reproduction):
        found = load_classifiers(reproduction, title)
        tasks[title] = found.to_dataframe().reset_index(drop=True)
    table = [row for task, rows in tasks.items() for row in _models(task, rows)]
    tagger, *others = tasks.items()
    claim = claims.more_exclusive(tagger[1], dict(others))
    every = pandas.concat([rows.assign(task=task) for task, rows in tasks.items()])
    picture = writer.curves(
        with_line(every, "mean", ["task"]),
        *(curve for task in tasks for curve in points(KINDS, task, {"task": task}, **PLANE)),
        caption="How far attention and predictions are from the base's: a dot for each model; the "
        "line goes through the means of the adversaries, from λ = 0 on.",
        alternative=f"At a TVD of at most {claims.SAME:g} adversaries move attention by "
        f"{claim.ours}.",
        columns=2,
    )
    return Section(
        explanation="Attention is the more exclusive, the less it can be moved while predictions "
        "stay as they are. Classifiers are a Transformer layer under one attention over the text, "
        "trained as the tagger is: other seeds, adversaries of the same λ with the same loss, and "
        "uniform attention put in. JSD is that of a row of attention, of which a text has one and "
        "a word of a sentence one for each head; TVD is ½ Σ |Δp|, of a text or of a word. A word "
        "has more classes than a text, so that the same TVD is more of what a text has to lose.",
        drawings=[picture],
        tables=[writer.table(pandas.DataFrame(table), "Means over seeds on the test part")],
        comparisons=[claim.comparison],
        notes=[
            *notes_of(reproduction),
            f"Labelled texts: of each part at most {reproduction.settings.max_texts} were drawn, "
            f"and texts of more than {reproduction.settings.max_words} words left out.",
        ],
    )


KINDS = {
    "adversary": "adversaries",
    LINE: "mean of a λ",
    "seed": "other seed",
    "uniform": "uniform, put in",
}
SHOWN = {"tvd": "TVD", "jsd": "JSD", "kl": "KL row", "agreement": "agreement", "accuracy": "right"}


def _models(task: str, rows: pandas.DataFrame) -> Iterator[dict[str, str]]:
    groups = {"base": rows[rows.kind == "base"], "other seed": rows[rows.kind == "seed"]}
    taught = rows[rows.kind == "adversary"]
    groups |= {f"λ = {lambda_name(float(one))}": taught[taught.weight == one]
               for one in sorted(taught.weight.unique())}  # fmt: skip
    groups["uniform"] = rows[rows.kind == "uniform"]
    for name, some in groups.items():
        if len(some):
            numbers = {title: str(mean_interval(some[key])) for key, title in SHOWN.items()}
            yield {"task": task, "model": name} | {
                title: "–" if text.startswith("nan") else text for title, text in numbers.items()
            }
