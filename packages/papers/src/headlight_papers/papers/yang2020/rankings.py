"""Rankings of words before the safe point and after."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas
import torch
import xarray
from jaxtyping import Bool, Float64
from torch import Tensor

from headlight.result import describe
from headlight.views.parts import Curve, Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import lambdas_of, sweep_jobs
from headlight_papers.papers.yang2020.claims import BREAKS_DOWN
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import notes_of
from headlight_papers.papers.yang2020.results import frame_of, load_sweep
from headlight_papers.papers.yang2020.table_1_adversaries import shown_weights
from headlight_papers.papers.yang2020.tagger_training import Job, TaggerTrainer, taggers_of
from headlight_papers.papers.yang2020.tagging_data import TagBatch
from headlight_papers.training.model_outputs import Outputs

VARIABLES = {
    "rho": ("Spearman's ρ of the weights of a row, mean over rows in which it is defined", "1"),
    "same": ("share of rows whose largest weight is on the same word", "1"),
}
BASE, BEFORE, SEED = "its base", "the λ before", "another seed"


def rank_agreement(
    weights: Float64[Tensor, "*row key"],
    others: Float64[Tensor, "*row key"],
    keys: Bool[Tensor, "key"],
) -> tuple[Float64[Tensor, "*row"], Bool[Tensor, "*row"]]:
    """Compute Spearman's ρ of two rows of weights, and whether they agree on the largest weight.

    Args:
        weights: Weights.
        others: Other weights of the same keys.
        keys: Mask of the keys that count.

    Returns:
        Correlation ρ, NaN where all weights of a row are the same (equal weights share a rank),
        and the agreement on the largest weight.
    """
    chosen = [weight[..., keys] for weight in (weights, others)]
    ranks = [
        (weight[..., None] > weight[..., None, :]).double().sum(-1)
        + 0.5 * (weight[..., None] == weight[..., None, :]).double().sum(-1)
        for weight in chosen
    ]
    first, second = (rank - rank.mean(-1, keepdim=True) for rank in ranks)
    spread = first.square().sum(-1) * second.square().sum(-1)
    rho = torch.where(spread > 0, (first * second).sum(-1) / spread.sqrt(), torch.nan)
    return rho, chosen[0].argmax(-1) == chosen[1].argmax(-1)


def compare_rankings(
    batches: Sequence[TagBatch], outputs: Sequence[Outputs], others: Sequence[Outputs]
) -> dict[str, list[float]]:
    """See `VARIABLES`; by head, over all rows of words."""
    rhos, same = [], []
    for batch, output, reference in zip(batches, outputs, others, strict=True):
        for sentence, real in enumerate(batch.real):
            first, second = (
                side.attention[sentence][:, real].double() for side in (output, reference)
            )
            agreement = rank_agreement(first, second, real)
            rhos.append(agreement[0])
            same.append(agreement[1].double())
    return {
        "rho": torch.cat(rhos, -1).nanmean(-1).tolist(),
        "same": torch.cat(same, -1).mean(-1).tolist(),
    }


def load_rankings(reproduction: Reproduction) -> xarray.Dataset:
    """Load adversaries beside their base and that of the λ before, and bases of other seeds."""
    seeds, weights = range(reproduction.settings.repeats), lambdas_of(reproduction)

    def measure(trainer: TaggerTrainer) -> xarray.Dataset:
        rows = [row for seed in seeds for row in _pairs(trainer, seed, weights)]
        coords = {name: ("pair", [row[name] for row in rows]) for name in ("of", "seed", "weight")}
        values = {
            name: (("pair", "head"), np.array([row[name] for row in rows])) for name in VARIABLES
        }
        return describe(xarray.Dataset(values, coords=coords), VARIABLES)

    stages = sweep_jobs(reproduction, Job)
    return taggers_of(reproduction).measure(stages, measure, name="rankings", stage="rankings")


def _pairs(trainer: TaggerTrainer, seed: int, weights: list[float]) -> Iterator[dict[str, Any]]:
    """Yield the comparisons of one seed; other bases are those of the seed before it."""
    batches = trainer.data.parts["test"]

    def outputs(job: Job) -> list[Outputs]:
        return trainer.outputs(job, ("test",))["test"]

    base = outputs(Job("base", seed))
    before = None
    for weight in weights:
        adversary = outputs(Job("adversary", seed, weight))
        about: dict[str, Any] = {"seed": seed, "weight": weight}
        yield about | {"of": BASE} | compare_rankings(batches, adversary, base)
        if before is not None:
            yield about | {"of": BEFORE} | compare_rankings(batches, adversary, before)
        before = adversary
    if seed:
        about = {"seed": seed, "weight": np.nan, "of": SEED}
        yield about | compare_rankings(batches, outputs(Job("base", seed - 1)), base)


@exhibit("rankings", "Section 5, which proposes it")
def rankings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Rankings of words before the safe point and after."""
    result = load_rankings(reproduction)
    frame = result.mean("head").to_dataframe().reset_index(drop=True)
    taught = frame_of(load_sweep(reproduction))
    nll = taught[taught.kind == "adversary"].groupby("weight").nll.mean()
    growth = (nll / nll.shift(1)).fillna(1.0)
    broken = growth.index[growth >= BREAKS_DOWN]
    weights = lambdas_of(reproduction)
    table = []
    for weight in weights:
        row = {"model": f"λ = {weight:g}", "NLL times": f"{growth[weight]:.2f}"}
        row["side"] = "after" if len(broken) and weight >= broken.min() else "before"
        for partner in (BASE, BEFORE):
            some = frame[(frame.of == partner) & (frame.weight == weight)]
            row |= {f"{title}, {partner}": _shown(some[name]) for name, title in TITLES.items()}
        table.append(row)
    seeds = frame[frame.of == SEED]
    other = {f"{title}, {BASE}": _shown(seeds[name]) for name, title in TITLES.items()}
    table.append({"model": SEED, "NLL times": "–", "side": "–", **other})
    formatted = pandas.DataFrame(table).fillna("–")
    last = formatted.iloc[len(weights) - 1]
    means = frame.dropna(subset="weight").groupby(["of", "weight"]).mean().to_xarray()
    picture = writer.curves(
        means.assign_coords(shown=("weight", shown_weights(means["weight"].values))),
        *(
            Curve(
                name,
                panel=title,
                by="of",
                over="shown",
                x_label="λ, times the mean KL of a row",
                marked=True,
                logarithmic=True,
            )
            for name, title in TITLES.items()
        ),
        caption="How far adversaries rank the words of a row as their base does, and as the "
        "adversary of the λ before: means over seeds; λ = 0 stands at the left end.",
        alternative="At the largest λ: "
        f"{', '.join(f'{name} {last[name]}' for name in formatted.columns[3:5])}.",
        columns=2,
    )
    return Section(
        explanation="Of every row of attention: Spearman's ρ between the weights of two models "
        "over the words of the sentence, and whether their largest weight is on the same word; "
        "means over rows, heads and seeds. The paper proposes to compare the rankings of "
        "adversaries before its safe point with those after. Here “after” begins with the first λ "
        f"at which NLL grows by a factor of at least {BREAKS_DOWN}; “the λ before” is the "
        "adversary of the next smaller λ of the same seed. What counts is the distance to another "
        "seed, which was not asked to attend otherwise.",
        drawings=[picture],
        tables=[writer.table(formatted, "Means over seeds on the test part")],
        notes=notes_of(reproduction),
    )


TITLES = {"rho": "ρ", "same": "largest the same"}


def _shown(values: "pandas.Series[float]") -> str:
    return str(mean_interval(values)) if len(values) else "–"
