"""Claims of Clark et al. (2019), and the rules by which they hold."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.thresholds import MOST
from headlight.findings.what_was_read import independent_units
from headlight.views.parts import Section
from headlight_papers.papers.answers import (
    Answer,
    all_of,
    any_of,
    difference,
    exact,
    largest,
    within,
)
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import (
    load_antecedents,
    load_dependencies,
    load_distances,
    load_survey,
    stem,
)
from headlight_papers.papers.clark2019.table_3_probes import LABELS, load_probes
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.findings.dependency import ALL, best_heads, gains

BROADER = 0.9
"""Share of the entropy of uniform attention above which a head attends nearly evenly."""
GAIN = 10.0
"""Points by which one head is far better than a baseline."""


@exhibit("findings", "Sections 3 to 6", title="Which findings hold")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The findings of Sections 3 to 6, each with the rule by which it holds or not."""
    survey, sources = load_survey(reproduction), reproduction.sources
    judged = [to_neighbours(survey), to_separators(survey), no_op(survey), broad_below(survey)]
    for source in sources.dependency:
        result = load_dependencies(reproduction, source)
        judged += [finds_relations(result, stem(source)), not_all_syntax(result, stem(source))]
    judged += [
        finds_antecedents(load_antecedents(reproduction, source), stem(source))
        for source in sources.coreference
    ]
    if sources.dependency:
        judged.append(knows_syntax(load_probes(reproduction)))
    judged.append(alike_in_layers(load_distances(reproduction)))
    notes = [
        model_note(reproduction),
        "The best head or layer is chosen on the same data, as in the paper. Its interval holds "
        "for all from which it was chosen at once, and so is wider than that of a head that was "
        "named beforehand; behind it is what one has that is chosen in every other block of texts, "
        "and counted in the rest.",
    ]
    return claims_content(writer, judged, notes)


def to_neighbours(survey: xarray.Dataset) -> Claim:
    """Judge Section 3.1: some heads attend mostly to the token before or behind."""
    # The paper's numbers are of weights, the first measure of a survey.
    weights = survey.isel(measure=0)
    answers, sentences = [], []
    for offset, name in ((-1, "previous"), (1, "next")):
        heads = estimates(weights, "neighbour", offset=offset)
        answers.append(_any_lies(heads, survey, above=MOST))
        sentences.append(f"{name} {_largest(heads, survey)}")
    return Claim(
        "1. Heads attend to a neighbour",
        "at least one head gives more than half of its weight to the previous token, and one to "
        "the next",
        f"{published.PREVIOUS_TOKEN_HEADS} and {published.NEXT_TOKEN_HEADS} of 144 heads "
        "(Section 3.1)",
        f"most of any head: {', '.join(sentences)}",
        all_of(*answers),
    )


def to_separators(survey: xarray.Dataset) -> Claim:
    """Judge Section 3.2: over half of the attention of deep layers goes to [SEP]."""
    to_sep = survey.isel(measure=0).sel(key_category="sep")
    of_all = to_sep.sel(query_category="all")
    # The paper says "layers 6 to 10" of 12, which are in the deeper half.
    deeper = slice(of_all.sizes["layer"] // 2, None)
    layers = estimates(of_all, "share").mean(1).at(deeper)
    return Claim(
        "2. Deep layers attend mostly to [SEP]",
        "in at least one layer of the deeper half more than half of the weight goes to [SEP]",
        "layers 6 to 10 of 12 (Section 3.2)",
        f"most of any such layer: {_largest(layers, survey)}",
        _any_lies(layers, survey, above=MOST),
    )


def no_op(survey: xarray.Dataset) -> Claim:
    """Judge Section 3.2: where heads attend to [SEP], [SEP] attends to itself, as in a no-op."""
    to_sep = survey.isel(measure=0).sel(key_category="sep")
    # Both shares of a head stand side by side: of all queries, and of [SEP] alone.
    share = to_sep["share"].sel(query_category=["all", "sep"])
    shares = share.values.reshape(-1, 2)
    mostly = [float(to_itself) for other, to_itself in shares if other > MOST]
    ours = (
        f"at least {min(mostly):.1%}, in {len(mostly)} heads"
        if mostly
        else f"no head gives so much: {np.nanmax(shares[:, 0], initial=0):.1%} at most"
    )
    return Claim(
        "3. Attention to [SEP] is a no-op",
        "heads that give more than half of their weight to [SEP] give more than "
        f"{published.SEP_TO_SEP}% of that of [SEP] to [SEP]",
        f"more than {published.SEP_TO_SEP}% (Section 3.2)",
        ours,
        all_of(*(within(100 * weight, above=published.SEP_TO_SEP) for weight in mostly)),
    )


def broad_below(survey: xarray.Dataset) -> Claim:
    """Judge Section 3.3: some heads of low layers attend very broadly."""
    weights = survey.isel(measure=0)
    # The bound is the mean entropy of even rows over the same texts, which have different lengths.
    uniform = float(survey["entropy_uniform"])
    lowest = weights.sel(query_category="all").isel(layer=0)
    first = estimates(lowest, "entropy", ("head",))
    return Claim(
        "4. Heads of the first layer attend broadly",
        f"at least one has {BROADER:.0%} of the entropy of uniform attention",
        "yes, in lower layers (Section 3.3)",
        f"most of any: {largest(first, independent_units(survey)):.2f} nats; uniform {uniform:.2f}",
        _any_lies(first, survey, least=BROADER * uniform) if uniform > 0 else None,
    )


def finds_relations(result: xarray.Dataset, name: str) -> Claim:
    """Judge Section 4.2, Table 1: each relation has a head that beats the best offset."""
    gains = [
        _select_best(result, row, "gain")
        for row in _best(result).to_dict("records")
        if row["relation"] != ALL
    ]
    # A relation counts where the interval of the gain lies above 0, which the paper does not ask.
    above = sum(within(gain, above=0) is True for gain in gains)
    far = sum(within(gain, least=GAIN / 100) is True for gain in gains)
    answers = [within(gain, above=0) for gain in gains]
    return Claim(
        f"5. Heads specialise in relations ({name})",
        "for most relations of at least 100 words the best head finds more than the best fixed "
        "offset",
        "15 of 15 rows (Table 1)",
        f"clearly for {above} of {len(gains)}, for {far} by at least {GAIN:g} points",
        _most(answers),
    )


def not_all_syntax(result: xarray.Dataset, name: str) -> Claim:
    """Judge Section 4.2: no single head does well at syntax over all."""
    bests = [
        _select_best(result, row, "accuracy")
        for row in _best(result).to_dict("records")
        if row["relation"] == ALL
    ]
    row = published.TABLE_1["all"]
    return Claim(
        f"6. No head finds most governors ({name})",
        f"the best head of all finds less than {100 * MOST:.0f}% of all governors",
        f"{row.accuracy}% (Table 1)",
        ", ".join(f"{accuracy:.1%}" for accuracy in bests),
        all_of(*(within(accuracy, below=MOST) for accuracy in bests)),
    )


def finds_antecedents(result: xarray.Dataset, name: str) -> Claim:
    """Judge Section 4.3, Table 2: one head finds antecedents better than simple rules do."""
    every_mention = result.isel(measure=0).sel(mention_kind=ALL)
    heads = estimates(every_mention, "accuracy", ("layer", "head", "direction"))
    baselines = estimates(every_mention, "baseline_accuracy", ("baseline",))
    best, units = heads.first(), independent_units(result)
    answers, sentences = [], []
    # The first two baselines are the simple rules; the third is built of four sieves.
    for at, baseline in enumerate(map(str, result["baseline"].values[:2])):
        sentences.append(f"{baseline} {baselines.at(at):.1%}")
        if best is not None:
            beyond = heads.minus(baselines.at(at)).simultaneous(units)
            answers.append(within(beyond.at(best), above=0))
    row = published.TABLE_2
    return Claim(
        f"7. A head resolves coreference ({name})",
        "the best head finds more than the nearest mention, and than head match, by the interval "
        "of the difference over the same documents, wide enough for all heads",
        f"{row['best head'][0]}; {row['nearest'][0]} and {row['head match'][0]} (Table 2)",
        f"{_largest(heads, result)}; {', '.join(sentences)}",
        all_of(*answers),
    )


def knows_syntax(result: xarray.Dataset) -> Claim:
    """Judge Section 5, Table 3: heads know more of syntax than words and distances do."""
    uas = estimates(result, "score", ("row",), metric="uas")
    # Rows of the baselines have no measure.
    weight = np.isin(result["measure"].values, ["", "weight"])
    wanted = ("attention_and_words", "distances_and_words", "random_attention_and_words")
    places = {name: np.flatnonzero(weight & (result["probe"].values == name)) for name in wanted}
    uas_of = {
        LABELS[name]: uas.at(int(at[0])) if at.size else exact(np.nan)
        for name, at in places.items()
    }
    probe, *others = uas_of.values()
    row = published.TABLE_3
    return Claim(
        "8. Heads together know syntax",
        "UAS of attention and words lies above that of distances and words, and of random "
        "attention and words",
        ", ".join(f"{name} {row[name]}" for name in uas_of) + " (Table 3)",
        ", ".join(f"{name} {score:.1%}" for name, score in uas_of.items()),
        all_of(*(within(probe.minus(other), above=0) for other in others)),
    )


def alike_in_layers(result: xarray.Dataset) -> Claim:
    """Judge Section 6, Figure 6: heads of one layer often attend alike."""
    distance = result["distance"].isel(measure=0).values
    layer, other = result["layer"].values, result["second_layer"].values
    # The matrix is symmetric, so that each pair is taken once.
    first, second = np.triu_indices(len(distance), 1)
    same = layer[first] == other[second]
    pairs = distance[first, second]
    gap = difference(pairs[same], pairs[~same])
    return Claim(
        "9. Heads of one layer behave alike",
        "the mean divergence of two heads of one layer is below that of heads of different layers",
        "often fairly close (Section 6)",
        f"by {gap:.3f} nats per token",
        within(gap, below=0),
    )


def _any_lies(numbers: Estimate, result: xarray.Dataset, **where: float) -> Answer:
    # The intervals hold for all numbers at once, since any of them may decide.
    ends = numbers.simultaneous(independent_units(result))
    return any_of(*(within(ends.at(place), **where) for place in np.ndindex(ends.value.shape)))


def _largest(numbers: Estimate, result: xarray.Dataset) -> str:
    # The largest of many is too large by chance; the cross-fit estimate is not.
    chosen = numbers.largest()
    beside = f"; by cross-fit {chosen.value:.1%}" if numbers.known else ""
    return f"{largest(numbers, independent_units(result)):.1%}{beside}"


def _select_best(result: xarray.Dataset, row: Mapping[Hashable, Any], name: str) -> Estimate:
    # The head was chosen among all heads, and its interval has to allow for that.
    of_relation = result.sel(measure=row["measure"], relation=row["relation"])
    accuracy = estimates(of_relation, "accuracy", ("layer", "head", "direction"))
    return largest(gains(of_relation) if name == "gain" else accuracy, independent_units(result))


def _best(result: xarray.Dataset) -> pandas.DataFrame:
    """Return the best heads of the relations that were measured."""
    # Relations without a word in these sentences have no accuracy, and no best head.
    measured = result["accuracy"].notnull().any(("measure", "layer", "head", "direction"))
    if not measured.sel(relation=ALL):
        return pandas.DataFrame(columns=["relation"])
    return best_heads(result.isel(relation=measured.values), str(result["measure"].values[0]))


def _most(answers: list[Answer]) -> Answer:
    """Whether more than half of several rules hold."""
    half = MOST * len(answers)
    if not answers:
        return None
    if answers.count(True) > half:
        return True
    # The rest cannot make it a majority, whichever way they are decided.
    return False if answers.count(True) + answers.count(None) <= half else None
