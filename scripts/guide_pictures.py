"""Make the pictures of the guides again.

    python scripts/guide_pictures.py [NAME ...]

Studies and drawings are of the models and samples that come with the package, one of the language
model of ``make models``, and of what the pages say already; of the corpora of others there is
nothing in them.
"""

import heapq
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
import xarray as xr

import headlight
from headlight.corpora import SAMPLE_TEXT, open_corpus
from headlight.encode.adjacent_segments import adjacent_segments
from headlight.engine.blocks import Block
from headlight.measures import effective
from headlight.views.pictures import (
    BarRow,
    HeadMap,
    Line,
    LinePanel,
    Mark,
    bars,
    head_map,
    lines,
    svg_text,
)
from headlight.views.pictures.panels import panels_on
from headlight.views.pictures.theme import CYCLE, INK, LINE, QUIET, colour_of, picture
from headlight.views.reading.prediction import sections
from headlight.vocabulary import CATEGORIES, CATEGORY_LABELS
from headlight_words.sources import EMBEDDED_TRANSLATOR

matplotlib.use("Agg")
DOCS = Path(__file__).parents[1] / "docs"
STUDIES: Mapping[str, Mapping[str, Any]] = {
    "norms": {"max_examples": 40},
    "attribution": {"max_examples": 8, "max_length": 32, "exact": 0},
    "ablation": {"max_examples": 6},
    "circuits": {},
    "identifiability": {"max_examples": 20, "numbers": ("null_space",)},
    "flow": {"max_examples": 20, "methods": ("mixing_feed_forward",)},
    "token_identity": {
        "max_examples": 60,
        "max_length": 64,
        "maps": ("naive", "linear"),
        "solver": "ridge",
        "folds": 3,
    },
    "dependency": {},
    "coreference": {},
    "parser_probes": {},
    "alignment": {},
    "permutation": {"max_examples": 60, "shuffles": 3},
}
"""By the name of the picture: settings of the study, which has the same name."""
SURVEYED = {"norms": "dispersion", "identifiability": "null_spaces"}
"""Pictures of a survey, and what its page calls them."""


def study(name: str) -> Any:
    """The main picture of a study, made by the command that stands under it."""
    made = headlight.survey if name in SURVEYED else getattr(headlight, name)
    result = made(progress=False, **STUDIES[name]).headlight
    return result.plot(SURVEYED.get(name, result.plots[0]))


# ---------------------------------------------------------------- three tokens, by hand

TOKENS = ("the", "cat", "[SEP]")
WEIGHT = (0.2, 0.2, 0.6)
VECTORS = ((3.0, 0.0), (0.0, 4.0), (0.3, 0.4))
"""Those of docs/concepts.md and of the notebook on norms."""


def three_measures() -> dict[str, list[float]]:
    """Weight, norm and effective attention of the three tokens, as the package computes them."""
    weight = torch.tensor(WEIGHT, dtype=torch.float64)
    vectors = torch.tensor(VECTORS, dtype=torch.float64)
    # One head, one query, and an output projection that changes nothing.
    factor = torch.eye(2, dtype=torch.float64)[None]
    found = effective(weight[None, None, None], vectors[None, None], factor, 2)
    return {
        "weight": weight.tolist(),
        "norm": (weight * vectors.norm(dim=-1)).tolist(),
        "effective": found.attention[0, 0, 0].tolist(),
    }


@picture
def concepts() -> Any:
    """The sum of α f(x) as arrows, and the three measures as bars."""
    figure, (plane, table) = panels_on(2, (3.7, 3.0), 2)
    start = np.zeros(2)
    aside = ((-0.12, -0.08), (0.04, 0.0), (0.06, -0.03))  # of the words from the middle
    for token, share, vector, colour, by in zip(
        TOKENS, WEIGHT, VECTORS, CYCLE, aside, strict=False
    ):
        end = start + share * np.array(vector)
        arrow = {"arrowstyle": "->", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        plane.annotate("", end, start, arrowprops=arrow)
        plane.text(*((start + end) / 2 + by), f"{share} f({token})", color=colour)
        start = end
    arrow = {"arrowstyle": "->", "color": INK, "lw": 1, "linestyle": "--", "shrinkA": 0}
    plane.annotate("", start, (0, 0), arrowprops=arrow)
    plane.text(*(start / 2 + (-0.05, 0.02)), "output", color=INK, ha="right")
    plane.set(xlim=(-0.1, 1.25), ylim=(-0.14, 1.15), aspect="equal")
    plane.set_title("What cat takes: the sum of α f(x)")
    for place, (name, values) in enumerate(three_measures().items()):
        for at, value in enumerate(values):
            left = 1.15 * place
            table.barh(at, value, left=left, height=0.62, color=colour_of(name, place))
            table.text(left + value + 0.03, at, f"{value:.3g}", va="center", color=INK)
        table.text(1.15 * place, -0.75, name, color=QUIET, weight="bold")
        table.axvline(1.15 * place, color=LINE, lw=0.8)
    table.set_yticks(range(3), TOKENS)
    table.set(xlim=(-0.05, 3.4), ylim=(2.6, -1.1), xticks=[])
    table.spines[["bottom", "left"]].set_visible(False)
    table.set_title("How much from which token?")
    return figure


# ---------------------------------------------------------------- what a survey holds

SURVEYED = {
    "max_examples": 40,
    "pairs": True,
    "max_length": 128,
    "token_types": 0,
    "passages": False,
}


@cache
def surveyed() -> xr.Dataset:
    """The embedded model on forty pairs of the sample corpus."""
    return headlight.survey(progress=False, **SURVEYED)


def results() -> Any:
    """Three of a survey's dimensions: a map for each measure, layers by heads."""
    found = surveyed().share.sel(query_category="all", key_category="sep")
    maps = [
        HeadMap(f'measure="{name}"', found.sel(measure=name).values, format=".0%", limits=(0, 0.8))
        for name in ("weight", "norm", "effective")
    ]
    return head_map(maps, columns=3, annotate=False, title="share, to key_category='sep'")


def embedded_model() -> Any:
    """What goes to [CLS] and [SEP], by layer: by weight and by norm."""
    found = surveyed().share.sel(query_category="all", key_category=["cls", "sep"])
    means = found.sum("key_category").mean("head")
    series = [
        Line(name, means.layer.values, means.sel(measure=name).values, colour=name, marked=True)
        for name in ("weight", "norm")
    ]
    labels = {"x_label": "layer", "y_label": "to [CLS] and [SEP], mean of heads"}
    return lines([LinePanel("", series, percent=True, whole=True, limits=(0, 0.6), **labels)])


def numbers() -> Any:
    """The share of [SEP] of each head, with segment ids of pairs and with zeros."""
    shares = [
        100
        * headlight.survey(progress=False, measures=["weight"], segment_ids=name, **SURVEYED)
        .share.sel(measure="weight", query_category="all", key_category="sep")
        .values.ravel()
        for name in ("pair", "zeros")
    ]
    moved = np.argsort(-np.abs(shares[1] - shares[0]))[:3]
    named = {int(at): f"L{at // 8}H{at % 8}" for at in moved}
    series = [
        Line("a head", *shares, joined=False, marked=True, named=named),
        Line("the same", np.array([0, 80]), np.array([0, 80]), colour=LINE, dashed=True),
    ]
    labels = {
        "x_label": "weight to [SEP] in %, segment ids 0 and 1",
        "y_label": "… in %, segment ids 0 and 0",
    }
    return lines([LinePanel("", series, **labels)])


# ---------------------------------------------------------------- readings

LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 250)


@cache
def row_sums() -> dict[int, np.ndarray[Any, np.dtype[np.float64]]]:
    """By tokens of a text the mean sum of a row of effective attention, by layer."""
    words = Path(SAMPLE_TEXT).read_text(encoding="utf-8").split()
    model, found = headlight.load(), {}
    assert model.tokenizer is not None  # noqa: S101 - it comes with the model
    for length in LENGTHS:
        ids = model.tokenizer(" ".join(words[:length]), truncation=True, max_length=length)
        text = model.tokenizer.decode(ids["input_ids"], skip_special_tokens=True)
        reading = model.read(text)
        found[len(reading.tokens)] = (
            reading.effective.sum("key").mean(("head", "query")).values.astype(float)
        )
    return found


def questions() -> Any:
    """The sum of a row of effective attention, by tokens."""
    found = row_sums()
    tokens, sums = np.array(list(found)), np.array(list(found.values()))
    whole = Line("mean of layers", tokens, sums.mean(1), sums.min(1), sums.max(1), "effective")
    labels = {"x_label": "tokens of the text", "y_label": "sum of a row of A⊥"}
    size = Line("size of a head", np.array([32, 32]), np.array([0, 1]), colour=LINE, dashed=True)
    return lines([LinePanel("", [whole, size], percent=True, limits=(0, 1.05), **labels)])


def prediction() -> Any:
    """What heads write into the difference of two logits."""
    model = headlight.load(head="any")
    found = model.predict("The cat sat on the [MASK].", target="floor", against="chair")
    return next(each for each in sections(found.dataset) if each.name == "heads").drawings[0].draw()


def door_prediction() -> Any:
    """Heads that write most into the difference of two logits."""
    model = headlight.load(head="any")
    found = model.predict("The cat sat on the [MASK].", target="floor", against="chair")
    table = found.to_dataframe("head").head(6)
    rows = [
        BarRow(
            f"L{row.layer}H{row.head} from “{row.token}”",
            [Mark("", row.direct, colour="norm", note=f"{row.direct:+.2f}")],
        )
        for row in table.itertuples()
    ]
    return bars(rows, x_label="added to the logit of “floor”, less that of “chair”")


SENTENCE = (
    "The lighthouse keeper had not slept for two nights when the storm finally reached the "
    "harbour, and nobody in the village knew."
)


def first_look() -> Any:
    """One row of one head: to which tokens its weight goes, and from which its norm comes."""
    return headlight.load().read(SENTENCE).plot_row("two", layer=4, head=7, title="").figure


def pretrained(name: str, **options: Any) -> headlight.Model:
    """Load a model of ``make models``."""
    folder = Path(os.environ.get("HEADLIGHT_MODELS", DOCS.parent / "build" / "models"))
    return headlight.load(folder / name, **options)


def door_survey() -> Any:
    """All heads of a language model: what goes to the first token by weight, and by norm."""
    settings: dict[str, Any] = {"measures": ("weight", "norm"), "max_length": 128}
    result = headlight.survey(
        model=pretrained("smollm2"), max_examples=24, progress=False, **settings
    )
    return result.headlight.plot("weight_against_norm")


def tour_survey() -> Any:
    """All heads of the embedded model: what goes to [SEP] by weight, and by norm."""
    return surveyed().headlight.plot("weight_against_norm")


def tour_faithfulness() -> Any:
    """What a prediction loses without the tokens that two maps name."""
    result = headlight.faithfulness(
        max_examples=12,
        max_length=48,
        maps=("weight", "alti"),
        progress=False,
    )
    return result.headlight.plot("curves")


CHAT = (
    {"role": "user", "content": "My sister Anna lives in Oslo. What is the capital of France?"},
    {"role": "assistant", "content": "The capital of France is Paris."},
    {"role": "user", "content": "And where does my sister live?"},
)


def chats() -> Any:
    """The shares of the segments of a chat: of the tokens, of the weight, and of the norm."""
    data = pretrained("smollm2").read(list(CHAT)).dataset
    segments = data["key_segment"].values
    rows = []
    for name in dict.fromkeys(segments):
        numbers = data["head_number"].sel(statistic=name)
        shares = {by: float(numbers.sel(measure=by).mean()) for by in ("weight", "norm")}
        marks = [Mark(by, share) for by, share in shares.items()]
        rows.append(BarRow(name, [Mark("tokens", float((segments == name).mean())), *marks]))
    return bars(rows, x_label="mean share of a row, over all heads", percent=True)


PASSAGES = (
    "Tobias travels to work by night train.",
    "Ines has a pet tortoise.",
    "Mara keeps the spare key under the blue pot.",
    "Ruben was born in Oslo.",
)


def door_sources() -> Any:
    """Bars of the passages of an answer: removal, chosen heads, and all heads."""
    found = pretrained("smollm2", head="any").sources(
        "Where does Mara keep the spare key?", PASSAGES, answer="under the blue pot", masks=0
    )
    rows = found.dataset["value"].isel(answer=0)
    names = {"removal": "removal", "chosen heads by weight": "chosen heads"}
    names["all heads by weight"] = "all heads"
    shares = {label: rows.sel(signal=name).values for name, label in names.items()}
    return bars(
        [
            BarRow(
                text, [Mark(label, each[at] / abs(each).sum()) for label, each in shares.items()]
            )
            for at, text in enumerate(PASSAGES)
        ],
        x_label="share of “under the blue pot”",
        percent=True,
    )


def door_similarity() -> Any:
    """Bars of the pairs of words that add most to the cosine of a query and a passage."""
    texts = ("Who feeds the cat?", "The feline gets its food from Anna.")
    found = pretrained("minilm").similarity(*texts)
    rows = [
        BarRow(
            f"“{row['first text']}” × “{row['second text']}”",
            [Mark("", row["part"], colour="weight", note=f"{row['part']:+.2f}")],
        )
        for row in found.to_dataframe().head(6).to_dict("records")
    ]
    return bars(rows, x_label=f"added to the cosine {float(found.dataset['cosine']):.2f}")


def sources() -> Any:
    """How often signals name the passage that an answer rests on, as the page says."""
    rows = []
    for signal, share, interval, *_ in rows_of("sources.md", "<!-- agreement -->"):
        numbers = [float(text.rstrip("%")) / 100 for text in (share, *interval.split(" to "))]
        rows.append(BarRow(signal, [Mark("", *numbers)]))
    return bars(rows, x_label="answers whose passage is named", percent=True, dots=True)


def embedded_translator() -> Any:
    """Cross-attention of one layer: weight, and the length of what is moved."""
    model = headlight.load(EMBEDDED_TRANSLATOR)
    reading = model.read("das alte haus ist klein .", "the old house is small .", kind="cross")
    found = reading.dataset.sel(layer=1)
    sides = [found[f"{side}_token"].values.tolist() for side in ("query", "key")]
    maps = [
        HeadMap(title, values, *sides, "English, which reads", "German, which is read", name)
        for title, values, name in (
            ("weight, mean of heads", found.weight.mean("head").values, "weight"),
            ("‖Σαf(x)‖", found.merged_norm.values, "norm"),
        )
    ]
    return head_map(maps, columns=2, shared=False, annotate=False)


# ---------------------------------------------------------------- corpora, workers, pages

STRIPS, LENGTH = 8, 128


@picture
def corpora() -> Any:
    """Pairs of the sample corpus, a strip each: kinds of tokens, and where the second begins."""
    tokenizer = headlight.load().tokenizer
    assert tokenizer is not None  # noqa: S101 - it comes with the model
    pairs = adjacent_segments(open_corpus(SAMPLE_TEXT), tokenizer, length=LENGTH)
    figure, (axes,) = panels_on(1, (7.4, 2.5), 1)
    colours = [colour_of(name, at) for at, name in enumerate(CATEGORIES[:3])] + ["#d5dae0"]
    for row, example in enumerate(islice(pairs, STRIPS)):
        kinds, second = np.array(example.categories), np.array(example.segments) == 1
        place = (0, len(kinds), row + 0.33, row - 0.33)
        axes.imshow(
            kinds[None], matplotlib.colors.ListedColormap(colours), vmin=0, vmax=3, extent=place
        )
        ends = [int(np.flatnonzero(second)[0]), len(kinds)]
        axes.plot(ends, [row + 0.42] * 2, color=INK, lw=1.2, solid_capstyle="butt")
    handles = [matplotlib.patches.Patch(color=colour) for colour in colours]
    handles.append(matplotlib.lines.Line2D([], [], color=INK, lw=1.2))
    names = [*CATEGORY_LABELS.values(), "second segment"]
    figure.legend(handles, names, loc="outside upper left", ncols=5)
    axes.set(
        xlim=(0, LENGTH), ylim=(STRIPS - 0.3, -0.6), xlabel="token", ylabel="example", aspect="auto"
    )
    axes.set_yticks(range(STRIPS))
    return figure


WORKERS, TEXTS, SHARD, RATE = 6, 40_000, 256, 20.0
"""Of a simulated run: processes, texts, texts of a shard, and those that one measures a second."""


@picture
def clusters() -> Any:
    """Who takes which block of a run, over time; one worker is three times slower."""
    free = [(5.0 + 0.5 * number, number) for number in range(WORKERS)]
    shards, first, last = -(-TEXTS // SHARD), 0, 0.0
    figure, (axes,) = panels_on(1, (7.4, 2.3), 1)
    while first < shards:
        now, number = heapq.heappop(free)
        size = min(Block(first, "").shards, shards - first)
        long = min(size * SHARD, TEXTS - first * SHARD) / RATE * (3 if number == WORKERS - 1 else 1)
        axes.barh(number, long, left=now, height=0.7, color=CYCLE[0], edgecolor="white")
        first, last = first + size, max(last, now + long)
        heapq.heappush(free, (now + long, number))
    for now, number in free:
        axes.barh(number, last - now, left=now, height=0.7, color="#e3e7eb")
    names = [f"worker {number + 1}" for number in range(WORKERS)]
    axes.set_yticks(range(WORKERS), names)
    axes.set(xlim=(0, last), ylim=(WORKERS - 0.4, -0.6), xlabel="seconds")
    return figure


def rows_of(page: str, section: str) -> list[list[str]]:
    """The cells of the first table behind a heading, or another mark, of a page."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(section)[2]
    table = re.search(r"^\|.*?\n(?!\|)", text, re.MULTILINE | re.DOTALL)
    assert table, section  # noqa: S101 - a page without it has to be looked at
    cells = [line.strip("| ").split(" | ") for line in table[0].strip().splitlines()]
    return [[cell.strip() for cell in row] for row in cells[2:]]


def benchmarks() -> Any:
    """What a survey costs, in forward passes, as the page says; here and by other libraries."""
    rows = []
    for what, measured, *_ in rows_of("benchmarks.md", "## A survey beside other libraries"):
        if times := re.match(r"([\d.]+)×", measured):
            colour = "weight" if what.startswith("headlight") else "#aab2bb"
            mark = Mark("", float(times[1]), colour=colour, note=f"{times[1]}×")
            rows.append(BarRow(what.replace("survey of ", ""), [mark]))
    return bars(rows, x_label="processor time in plain forward passes", limits=(0, 1.9))


REASONS = {
    "attends in code of its own that": "own code that cuts or mixes",
    "attends in code of its own by": "own code without softmax",
    "no module of the tiny model": "has no attention",
    "does not run on a trial input": "no trial input",
    "no tiny configuration": "no tiny configuration",
}
"""Why a model type is refused, as the page begins to say it, in a few words."""


def models() -> Any:
    """How many model types of transformers are captured, by kind, and why others are not."""
    works = rows_of("models.md", "<!-- every model -->")
    refused = rows_of("models.md", "are refused:")
    kinds: Counter[str] = Counter()
    for attention, *_, number, _ in works:
        kinds.update({kind: int(number) for kind in attention.split(", ")})
    total = sum(int(number) for *_, number, _ in works)
    counts = [("works", total), *((f"… with {kind}", n) for kind, n in kinds.most_common())]
    rows = [
        BarRow(name, [Mark("", count, colour="weight", note=str(count))]) for name, count in counts
    ]
    largest = [(re.sub("<[^>]+>", "", why), int(count)) for why, count, _ in refused[:5]]
    largest.append(("other reasons", sum(int(count) for _, count, _ in refused[5:])))
    for why, count in largest:
        name = next((short for begin, short in REASONS.items() if why.startswith(begin)), why)
        rows.append(BarRow(name, [Mark("", count, colour="#aab2bb", note=str(count))]))
    return bars(rows, x_label="model types of transformers", limits=(0, 520))


DRAWN: Mapping[str, Callable[[], Any]] = {
    each.__name__: each
    for each in (
        benchmarks,
        chats,
        clusters,
        concepts,
        corpora,
        door_prediction,
        door_similarity,
        door_sources,
        door_survey,
        embedded_model,
        embedded_translator,
        first_look,
        models,
        numbers,
        prediction,
        questions,
        results,
        sources,
        tour_faithfulness,
        tour_survey,
    )
}
"""By the name of the page."""


def main(names: list[str]) -> None:
    """Those that are named, or all."""
    for name in names or [*STUDIES, *DRAWN]:
        if name in DRAWN:
            path = DOCS / "images" / "guides" / f"{name.replace('_', '-')}.svg"
            path.parent.mkdir(exist_ok=True)
            path.write_text(svg_text(DRAWN[name]()), encoding="utf-8")
        else:
            path = DOCS / "images" / "studies" / f"{name}.png"
            study(name).savefig(path, dpi=90, bbox_inches="tight")
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
