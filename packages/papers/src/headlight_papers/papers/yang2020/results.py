"""Results of the sweep, and of models that are guided."""

from collections.abc import Callable

import numpy as np
import pandas
import xarray

from headlight_papers.papers.model_tables import Rows, reference_rows, run_table
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import lambdas_of, sweep_jobs
from headlight_papers.papers.yang2020.tagger_training import Guide, Job, TaggerTrainer, taggers_of

VARIABLES = {
    "f1": ("F1 of spans, strict IOB2", "1"),
    "f1_lenient": ("F1 of spans as conlleval counts them", "1"),
    "accuracy": ("share of words with their gold tag", "1"),
    "nll": ("negative log-likelihood of gold tags per word", "nats"),
    "taught_nll": ("negative log-likelihood of the base's tags per word", "nats"),
    "agreement": ("share of words with the base's tag", "1"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "kl": ("KL(attention ‖ the base's) of a row", "nats"),
    "jsd": ("JSD of attention and the base's, of a row", "nats"),
    "kl_cell": ("KL as a mean over all entries, as in the paper", "nats"),
}


def load_sweep(reproduction: Reproduction) -> xarray.Dataset:
    """Load bases, adversaries of every λ, other bases and uniform attention, on dev and test.

    Rows are models, of ``kind`` ``base``, ``adversary``, ``seed`` (the base of another seed beside
    this one) or ``uniform`` (the base with uniform attention, not trained for it).
    """
    return _run_table(reproduction, "sweep", sweep_jobs(reproduction, Job), _references)


def load_guided(reproduction: Reproduction) -> xarray.Dataset:
    """Load models with imposed attention: a base's, an adversary's, uniform, each word itself."""
    weights = tuple(dict.fromkeys(chosen_lambdas(reproduction)))
    sources: list[tuple[Guide, float | None]] = [
        ("base", None),
        *(("adversary", weight) for weight in weights),
        ("uniform", None),
        ("identity", None),
    ]
    seeds = range(reproduction.settings.repeats)
    stages = [
        [Job("base", seed) for seed in seeds],  # there already, unless somebody has removed them
        [Job("adversary", seed, weight) for seed in seeds for weight in weights],
        [Job("guided", seed, weight, guide) for seed in seeds for guide, weight in sources],
    ]
    return _run_table(reproduction, "guided", stages, lambda *_: [])


def chosen_lambdas(reproduction: Reproduction) -> tuple[float, float]:
    """Return the λ nearest to the paper's 0.2 and 3, which multiply a mean over entries."""
    length = float(load_sweep(reproduction).attrs["row_length"])
    multipliers = [weight for weight in lambdas_of(reproduction) if weight] or [0.0]

    def nearest(paper: float) -> float:
        return min(multipliers, key=lambda weight: abs(np.log(max(weight, 1e-12) * length / paper)))

    return nearest(0.2), nearest(3.0)


def frame_of(result: xarray.Dataset, part: str = "test") -> pandas.DataFrame:
    """Return a row for each model, with its numbers on one part, averaged over heads."""
    numbers = result[list(VARIABLES)].sel(part=part)
    return numbers.mean("head").to_dataframe().reset_index(drop=True)


def _run_table(
    reproduction: Reproduction,
    name: str,
    stages: list[list[Job]],
    more: Callable[[TaggerTrainer, int], Rows],
) -> xarray.Dataset:
    """Return models as a result: the guided ones, or else all, and further rows of each seed."""
    jobs = [job for stage in stages for job in stage]
    jobs = [job for job in jobs if job.kind == "guided"] or jobs

    def measure(trainer: TaggerTrainer) -> xarray.Dataset:
        seeds = range(reproduction.settings.repeats)
        references = [row for seed in seeds for row in more(trainer, seed)]
        data = trainer.data
        return run_table(trainer, jobs, references, VARIABLES).assign_attrs(
            row_length=data.row_length,
            **{f"sentences_{part}": data.sentences(part) for part in data.parts},
            tags=len(data.tags),
        )

    return taggers_of(reproduction).measure(stages, measure, name=name, stage=name)


def _references(trainer: TaggerTrainer, seed: int) -> Rows:
    # Each pair of seeds is there once, since all distances are the same the other way round.
    others = [Job("base", seed - 1)] if seed else []
    rows = reference_rows(trainer, Job("base", seed), others)
    return [({**about, "seed": seed}, measured) for about, measured in rows]
