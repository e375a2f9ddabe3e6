"""Ask the findings of the papers of pretrained models, and write the pages of the documentation.

    python scripts/pretrained_pages.py build/models --out build/pretrained

The models are those of ``make models``; every number comes from the studies that this script runs
on the sample corpus.  What is done already in the folder is used again.
"""

import argparse
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import torch
import transformers
import xarray
from reproduction import DOCS, LARGEST, escaped, write_page

import headlight
from headlight.corpora.samples import SAMPLE_TEXT
from headlight.findings.estimates import estimates
from headlight.findings.heads_with_sinks import sink_kinds, sinks
from headlight.findings.thresholds import FAR_BELOW, MOST
from headlight.findings.what_was_read import independent_units, what_was_read
from headlight.views.pictures import svg_text
from headlight.views.result_contents import findings, pictures
from headlight_papers.papers.answers import any_of, largest, within
from headlight_papers.papers.brunner2020 import claims as brunner
from headlight_papers.papers.claims import Claim
from headlight_papers.papers.clark2019 import claims as clark
from headlight_papers.papers.kobayashi2020 import norm_claims as kobayashi

Results = Mapping[str, xarray.Dataset]
SENTENCES = 4
"""Findings of a study that its section has."""


@dataclass(frozen=True)
class Run:
    """A study, and how it is asked of a model.

    Attributes:
        study: its name.
        title: of its section.
        settings: what differs from the defaults.
        pictures: those of its page that are shown.
        name: where the study is asked twice; by default that of the study.
        said: its findings, of which the first few are written.
    """

    study: str
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    name: str = ""
    said: Callable[[xarray.Dataset], list[str]] = findings

    @property
    def key(self) -> str:
        """The name under which its result is kept."""
        return self.name or self.study


@dataclass(frozen=True)
class Subject:
    """A pretrained model, and its page.

    Attributes:
        page: the file in docs, without its suffix.
        title: of the page.
        name: of the model.
        about: what has to be known of its weights.
        runs: what it is asked.
        left_out: what it cannot be asked, and why.
    """

    page: str
    title: str
    name: str
    about: str
    runs: tuple[Run, ...]
    left_out: str = ""


TEXTS: Mapping[str, Any] = {"max_length": 128, "overflow": "split", "max_examples": 100}
SHORTER = {"max_length": 40, "overflow": "split"}
SURVEY = Run(
    "survey",
    "Every head, by weight, norm and effective attention",
    {**TEXTS, "numbers": ("ranks", "null_space"), "sinks": "on"},
    ("shares", "dispersion", "correlation_points"),
)
SINKS = Run(
    "survey",
    "Two kinds of sinks",
    {
        "max_length": 24,
        "max_examples": 100,
        "measures": ("weight", "norm"),
        "numbers": ("sinks",),
        "passages": False,
        "token_types": 0,
    },
    ("sinks",),
    name="sinks",
    said=sinks,
)
DISTANCES = Run("distances", "Heads that attend alike", {**TEXTS, "max_examples": 20})
TOKENS = Run(
    "token_identity",
    "Hidden tokens and their inputs",
    {**TEXTS, "maps": ("naive", "linear"), "solver": "ridge", "folds": 3},
    ("rates",),
)
ATTRIBUTION = Run(
    "attribution",
    "Where hidden tokens come from",
    {**SHORTER, "max_examples": 5, "exact": 0},
    ("own",),
)
ABLATION = Run(
    "ablation",
    "Without a head",
    {"max_length": 64, "overflow": "split", "max_examples": 6},
    ("layers",),
)
SUBJECTS = {
    "smollm2": Subject(
        "real-decoder",
        "What is true of a real decoder",
        "SmolLM2-135M-Instruct",
        "a Llama of 30 layers with 9 heads of 64 dimensions, which share 3 key-value heads. "
        "**Every number on this page is one of 4-bit weights** (GGUF, Q4_1), read as float32. The "
        "first token is a word of the text. A decoder sees no next token, so that a rule which "
        "asks for one cannot hold.",
        (SURVEY, SINKS, ABLATION, DISTANCES, TOKENS),
        "Where hidden tokens come from (hidden token attribution) is not asked: derivatives "
        "through 30 layers take too long for a page that is made on two cores.",
    ),
    "minilm": Subject(
        "real-encoder",
        "What is true of a real encoder",
        "all-MiniLM-L6-v2",
        "a BERT of 6 layers with 12 heads of 32 dimensions, trained further for embeddings of "
        "sentences, in float32.",
        (SURVEY, SINKS, DISTANCES, TOKENS, ATTRIBUTION),
        "It predicts no words, so that there is no loss: ablation and importance, and with them "
        "what the papers say of the loss, are not asked.",
    ),
}


def main() -> None:
    arguments = _arguments()
    for name in arguments.only:
        subject = SUBJECTS[name]
        results = {
            run.key: _result(run, arguments.models / name, arguments.out / name)
            for run in subject.runs
        }
        write_page(subject.page, page(subject, results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="folder of the models")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--only", nargs="+", choices=list(SUBJECTS), default=list(SUBJECTS))
    return parser.parse_args()


def _result(run: Run, model: Path, out: Path) -> xarray.Dataset:
    print(f"{model.name}: {run.key}", flush=True)
    study = getattr(headlight, run.study)
    result = study(SAMPLE_TEXT, model=model, out=out / run.key, resume=True, **run.settings)
    return cast("xarray.Dataset", result)


def page(subject: Subject, results: Results) -> Iterator[str]:
    """The lines of the page of a model."""
    yield f"# {subject.title}\n"
    yield from _sink_lines(subject, results[SINKS.key])
    yield (
        f"What the papers say of BERT, asked on the sample corpus of {subject.name}: "
        f"{subject.about}\n"
    )
    yield "```\nmake pretrained-pages\n```\n"
    front = subject.runs[0]
    yield _drawn(subject, front, front.pictures[0], results[front.key])
    yield "## The findings of the papers\n"
    yield (
        "A finding holds if the whole 95% interval fulfils its rule, does not hold if none of it "
        "does, and is inconclusive otherwise or where nothing could be measured. The rules stand "
        "in the reproductions of [Clark et al.](clark2019.md), [Kobayashi et al.](kobayashi2020.md)"
        " and [Brunner et al.](brunner2020.md); where a paper speaks of [SEP] and the model has "
        "none, the first token is asked.\n"
    )
    yield "| finding | the paper | here | |\n| --- | --- | --- | --- |"
    for claim in judge(results):
        cells = (claim.claim, claim.published, claim.ours, claim.verdict)
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"
    yield ""
    for run in subject.runs:
        yield from _section(subject, run, results[run.key])
    if subject.left_out:
        yield f"{subject.left_out}\n"
    yield (
        f"{datetime.now(UTC).date().isoformat()}, torch {torch.__version__}, transformers "
        f"{transformers.__version__}, Python {platform.python_version()}.\n"
    )


def _sink_lines(subject: Subject, result: xarray.Dataset) -> Iterator[str]:
    kinds = sink_kinds(result)["sink_kind"]
    no_op, broadcast, inconclusive = (
        int((kinds == kind).sum()) or "none" for kind in ("no-op", "broadcast", "inconclusive")
    )
    yield (
        f"**Is the first token of {subject.name} a no-op or a broadcast? Of {len(kinds)} heads "
        f"with it as sink, {no_op} do nothing by it, {broadcast} are known to write it to all "
        f"tokens, and {inconclusive} are inconclusive.**\n"
    )
    yield f"{escaped(sinks(result)[-1])}\n"


def _section(subject: Subject, run: Run, result: xarray.Dataset) -> Iterator[str]:
    settings = ", ".join(f"`{name}={value!r}`" for name, value in run.settings.items())
    yield f"## {run.title}\n"
    yield f"*`{run.study}` with {settings}.* {escaped(what_was_read(result).sentence)}\n"
    yield from (f"- {escaped(said)}" for said in run.said(result)[:SENTENCES])
    yield ""
    names = run.pictures[1:] if run is subject.runs[0] else run.pictures
    yield from (_drawn(subject, run, name, result) for name in names)


def _drawn(subject: Subject, run: Run, name: str, result: xarray.Dataset) -> str:
    """The picture beside the page, and the lines that show it."""
    drawing = pictures(result)[name]
    content = svg_text(drawing.draw())
    if len(content) > LARGEST:
        raise SystemExit(f"{run.study} {name}: a picture of {len(content)} characters")
    path = DOCS / "images" / subject.page / f"{run.key}-{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    caption = f"\n*{escaped(drawing.caption)}*\n" if drawing.caption else ""
    where = f"images/{subject.page}/{path.name}"
    return f"![{escaped(drawing.alternative)}]({where})\n{caption}"


def judge(results: Results) -> list[Claim]:
    """The findings that the results can be asked for, those of Clark et al. first."""
    survey = results["survey"]
    rates = results["token_identity"].sel(map="linear").squeeze(("offset", "fraction"))["rate"]
    of_clark = [clark.to_neighbours(survey), clark.broad_below(survey)]
    of_clark.append(clark.alike_in_layers(results["distances"]))
    of_brunner = [
        brunner.less_correlated(survey),
        brunner.keeps_identity(rates),
        brunner.in_the_angle(rates.isel(layer=-1)),
    ]
    if "attribution" in results:
        found = results["attribution"]
        of_brunner += [brunner.mixes(found), brunner.still_largest(found), brunner.local(found)]
        of_brunner.append(brunner.far_context_is_deep(found))
    return [
        *(_named("Clark 2019", each) for each in of_clark),
        *_to_what_says_little(survey),
        *(_named("Kobayashi 2020", each) for each in kobayashi.judge_claims(survey)),
        *(_named("Brunner 2020", each) for each in of_brunner),
    ]


def _named(paper: str, claim: Claim) -> Claim:
    """With the paper in front, in place of the number that it has on the page of the paper."""
    return replace(claim, claim=f"{paper}: {claim.claim.split('. ', 1)[-1]}")


def _to_what_says_little(survey: xarray.Dataset) -> list[Claim]:
    """That much goes where there is little to take: [SEP], or the first token of a decoder."""
    if float(survey["token_share"].sel(key_category="sep")) > 0:
        return [
            _named("Clark 2019", clark.to_separators(survey)),
            _named("Clark 2019", clark.no_op(survey)),
            _named("Brunner 2020", brunner.peak_vanishes(survey)),
        ]
    name, first, units = "behaviour_share", {"behaviour": "first"}, independent_units(survey)
    weights, norms = (
        estimates(survey, name, ("layer", "head"), measure=measure, **first)
        for measure in ("weight", "norm")
    )
    weight, taken = weights.mean(), norms.mean()
    layers = weights.mean(1).at(slice(survey.sizes["layer"] // 2, None))
    ends = layers.simultaneous(units)
    peak = brunner.peak_vanishes(survey, name, first)
    return [
        Claim(
            "Clark 2019: Deep layers attend mostly to a token that says little (the first)",
            "in at least one layer of the deeper half more than half of the weight goes to it",
            "[SEP], layers 6 to 10 of 12 (Section 3.2)",
            f"most of any such layer: {largest(layers, units):.1%}",
            any_of(*(within(ends.at(at), above=MOST) for at in range(len(ends.value)))),
        ),
        Claim(
            "Kobayashi 2020: First token: weight is cancelled",
            f"its share of ‖αf(x)‖ is at most {FAR_BELOW} times that of α",
            "[CLS] and [SEP] (Figure 3)",
            f"{weight:.1%} of α, {taken:.1%} of ‖αf(x)‖",
            within(taken.minus(weight.times(FAR_BELOW)), most=0),
        ),
        replace(peak, claim="Brunner 2020: The peak of the first token is not effective"),
    ]


if __name__ == "__main__":
    main()
