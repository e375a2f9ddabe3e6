"""Exclusivity of attention in tagging, beside that in classification."""

from collections.abc import Iterator
from functools import partial

import pandas
import xarray

from headlight.views.parts import Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.attention_comparison import NUMBERS
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jsd_tvd_plane import LINE, PLANE, points, with_line
from headlight_papers.papers.model_tables import reference_rows, run_table
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import sweep_jobs
from headlight_papers.papers.text_classifiers import (
    ClassifierJob,
    ClassifierTrainer,
    classifiers_of,
    file_name,
    sets_of,
)
from headlight_papers.papers.yang2020 import claims
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import notes_of
from headlight_papers.papers.yang2020.results import frame_of, load_sweep
from headlight_papers.training.text_encoders import Encoder

ENCODER: Encoder = "transformer"
"""Encoder of the classifiers: a layer of self-attention, as the tagger has."""


def load_classifiers(reproduction: Reproduction, title: str) -> xarray.Dataset:
    """Load classifiers of one set on its test part: models as the tagger's, trained alike."""
    stages = sweep_jobs(reproduction, partial(ClassifierJob, encoder=ENCODER))
    bases, jobs = stages[0], [job for stage in stages for job in stage]

    def measure(trainer: ClassifierTrainer) -> xarray.Dataset:
        rows = [
            row for job in bases for row in reference_rows(trainer, job, bases[: job.seed][-1:])
        ]
        models = run_table(trainer, jobs, rows, NUMBERS)
        return models.drop_dims("epoch").sel(part="test", drop=True)

    name = f"classifiers-{file_name(title)}"
    family = classifiers_of(reproduction, title)
    return family.measure(stages, measure, name=name, stage="classifiers")


@exhibit("exclusivity", "Section 1, which asks it", "labelled")
def exclusivity(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Is attention of tagging more exclusive than that of classification?"""
    tasks = {claims.TAGGER: frame_of(load_sweep(reproduction))}
    for title in sets_of(reproduction):
        result = load_classifiers(reproduction, title)
        tasks[title] = result.to_dataframe().reset_index(drop=True)
    table = [row for task, rows in tasks.items() for row in _models(task, rows)]
    tagger, *others = tasks.items()
    claim = claims.more_exclusive(tagger[1], dict(others))
    both = pandas.concat([rows.assign(task=task) for task, rows in tasks.items()])
    picture = writer.curves(
        with_line(both, "mean", ["task"]),
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
    taught = rows[rows.kind == "adversary"].groupby("weight")
    groups |= {f"λ = {weight:g}": some for weight, some in taught}
    groups["uniform"] = rows[rows.kind == "uniform"]
    for name, some in groups.items():
        if len(some):
            numbers = {title: str(mean_interval(some[key])) for key, title in SHOWN.items()}
            yield {"task": task, "model": name} | {
                title: "–" if text.startswith("nan") else text for title, text in numbers.items()
            }
