"""Claims of Wiegreffe and Pinter (2019), and the rules by which they hold."""

from collections.abc import Callable, Iterable, Mapping

import pandas
from numpy.typing import ArrayLike

from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.answers import (
    Answer,
    all_of,
    any_of,
    difference,
    exact,
    mean_of,
    negate,
    provided,
    within,
)
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.wiegreffe2019 import QUOTED, UNCHECKED, Quoted
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.notes import notes_of
from headlight_papers.papers.wiegreffe2019.results import frames_of, load_all
from headlight_papers.training.text_encoders import Encoder

AS_GOOD = 0.02
"""F1 within which models count as equally good."""
SAME = 0.1
"""TVD to the base up to which predictions count as kept."""
LEARNT = 0.6
"""Accuracy from which on a base has learnt to tell two classes apart."""

Rule = Callable[[pandas.DataFrame], tuple[Estimate | str, Answer]]
"""Number of one set, or the reason why there is none, and the answer of the rule."""


def needs_attention(rows: pandas.DataFrame) -> Claim:
    """Judge Table 2: on some sets a model with uniform attention is as good."""

    def judge(models: pandas.DataFrame) -> tuple[Estimate, Answer]:
        lost = difference(_f1(models, "base", "lstm"), _f1(models, "guided", "lstm"))
        # A base that has not learnt loses nothing by uniform attention, and proves nothing.
        return lost, provided(learnt(models, "lstm"), within(lost, most=AS_GOOD))

    numbers, answers = _judge_sets(rows, judge)
    return Claim(
        "1. Attention is not needed everywhere",
        f"on at least one set F1 of the LSTM trained with uniform attention is at most {AS_GOOD} "
        "below that with attention of its own",
        _quoted(lambda quoted: quoted.base - quoted.uniform, numbers),
        f"below by {_written(numbers)}",
        any_of(*answers),
    )


def carries_over(rows: pandas.DataFrame) -> Claim:
    """Judge Table 3: the attention of the LSTM helps a model without context."""

    def judge(models: pandas.DataFrame) -> tuple[Estimate, Answer]:
        of_base, even = (_f1(models, "guided", "average", guide) for guide in ("base", "uniform"))
        gain = difference(of_base, even)
        return gain, provided(learnt(models, "lstm"), within(gain, above=0))

    numbers, answers = _judge_sets(rows, judge)
    return Claim(
        "2. Attention is of use to another model",
        "F1 of the model without context is higher with the weights of the LSTM than with uniform "
        "ones, on every set",
        _quoted(
            lambda quoted: quoted.guided[2] - quoted.guided[0] if quoted.guided else None, numbers
        ),
        f"by {_written(numbers)}",
        all_of(*answers),
    )


def adversaries_do_not(rows: pandas.DataFrame) -> Claim:
    """Judge Table 3: the attention of adversaries does not."""

    def judge(models: pandas.DataFrame) -> tuple[Estimate, Answer]:
        misled = models[(models.guide == "adversary") & (models.weight > 0)]
        largest = misled[misled.weight == misled.weight.max()]
        gap = difference(largest.f1, _f1(models, "guided", "average", "base"))
        students = all_of(learnt(models, "lstm"), control_keeps(models, "lstm"))
        return gap, provided(students, within(gap, below=0))

    numbers, answers = _judge_sets(rows, judge)
    return Claim(
        "3. That of adversaries is of less use",
        "F1 of the model without context is lower with the weights of the adversary of the largest "
        "λ than with those of its base, on every set; a set counts if the control (λ = 0) has "
        "learnt to predict as its base does",
        _quoted(
            lambda quoted: quoted.guided[3] - quoted.guided[2] if quoted.guided else None, numbers
        ),
        _written(numbers, _without_control(rows, "lstm", answers)),
        all_of(*answers),
    )


def adversaries_exist(rows: pandas.DataFrame, encoder: Encoder = "lstm") -> Claim:
    """Judge Section 4: a trained model can predict the same and attend otherwise than seeds do."""

    def judge(models: pandas.DataFrame) -> tuple[Estimate | str, Answer]:
        seeds, taught = _select(models, "seed", encoder), _adversaries(models, encoder)
        # One adversary beside several seeds: its distance is compared with their mean.
        further = {at: difference([jsd], seeds.jsd) for at, jsd in taught.jsd.items()}
        alike = {at: _is_kept(tvd, models, encoder) for at, tvd in taught.tvd.items()}
        exists = any_of(
            *(all_of(alike[at], within(distances, above=0)) for at, distances in further.items())
        )
        # That none exists says something only of students that can learn to predict the same.
        fair = all_of(learnt(models, encoder), control_keeps(models, encoder) or exists)
        distances = [number for at, number in further.items() if alike[at]]
        none = f"{_nearest(taught)}, {_kept_up_to(models, encoder):.3f} counts)"
        return max(distances, key=lambda distance: distance.value, default=none), provided(
            fair, exists
        )

    numbers, answers = _judge_sets(rows, judge)
    of_paper = encoder == "lstm"
    return Claim(
        "4. Adversaries of a whole model exist"
        if of_paper
        else "6. So it is for a Transformer layer",
        f"on every set an adversary (λ > 0) of the {'LSTM' if of_paper else 'Transformer'} has a "
        f"JSD above that of other seeds, and a TVD of at most {SAME} or of the seeds'; that there "
        "is none counts if the TVD of all is clearly above, and the control (λ = 0) has such a TVD",
        "JSD " + _quoted(lambda quoted: quoted.jsd, numbers, sign="") if of_paper else "not asked",
        f"JSD above that of seeds by {_written(numbers, _without_control(rows, encoder, answers))}",
        all_of(*answers),
        extension=not of_paper,
    )


def harder_than_single_texts(
    rows: pandas.DataFrame, instances: Mapping[str, Mapping[str, ArrayLike]]
) -> Claim:
    """Judge Figure 5: adversaries of a whole model cost more than those of single texts."""

    def judge(models: pandas.DataFrame) -> tuple[Estimate | str, Answer]:
        of_set = instances[str(models.set.iloc[0])]
        single = {name: mean_of(of_set[name]) for name in ("tvd", "jsd")}
        answers, near = [], []
        taught = _adversaries(models, "lstm")
        for of_predictions, of_attention in zip(taught.tvd, taught.jsd, strict=True):
            tvd = exact(of_predictions).minus(single["tvd"])
            jsd = single["jsd"].minus(exact(of_attention))
            worse = all_of(within(tvd, above=0), within(jsd, above=0))
            as_good = all_of(within(tvd, most=0), within(jsd, most=0))
            # Better in one and worse in the other decides nothing.
            answers.append(True if worse else negate(as_good) if as_good else None)
            near += [jsd] if within(tvd, most=0) else []
        students = all_of(learnt(models, "lstm"), control_keeps(models, "lstm"))
        none = f"{_nearest(taught)}, that of single texts {single['tvd']:.3f})"
        # Where none has a TVD as small, the reason is printed in the place of a number.
        least = min(near, key=lambda distance: distance.value, default=none)
        return least, provided(students, all_of(*answers))

    numbers, answers = _judge_sets(rows, judge)
    return Claim(
        "5. They are harder to find than those of single texts",
        "on every set all adversaries (λ > 0) of the LSTM have a larger TVD and a smaller JSD than "
        "those that are looked for text by text; the contrary if one is as good in both, and "
        "inconclusive where one moves attention further at a larger TVD",
        "so in its Figure 5",
        "JSD of single texts above that of adversaries with their TVD by "
        f"{_written(numbers, _without_control(rows, 'lstm', answers))}",
        all_of(*answers),
    )


def learnt(models: pandas.DataFrame, encoder: Encoder) -> Answer:
    """Whether bases tell the classes apart; of one that does not nothing follows."""
    return within(mean_of(_select(models, "base", encoder).accuracy), least=LEARNT)


def control_keeps(models: pandas.DataFrame, encoder: Encoder) -> Answer:
    """Whether a student without another objective (λ = 0) predicts as its base does."""
    control = _adversaries(models, encoder, control=True)
    limit = _kept_up_to(models, encoder)
    return all_of(*(within(tvd, most=limit) for tvd in control.tvd))


def _is_kept(tvd: float, models: pandas.DataFrame, encoder: Encoder) -> Answer:
    """Whether a run predicts as its base does; not if its TVD is clearly above that of seeds."""
    # Between the bound and what is clearly above other seeds, the answer is inconclusive.
    if within(tvd, most=_kept_up_to(models, encoder)):
        return True
    above = within(difference([tvd], _select(models, "seed", encoder).tvd), above=0)
    return False if above else None


def _kept_up_to(models: pandas.DataFrame, encoder: Encoder) -> float:
    # A TVD no larger than that of other seeds is as small as training allows.
    return max([SAME, *map(float, _select(models, "seed", encoder).tvd)])


def _adversaries(
    models: pandas.DataFrame, encoder: Encoder, *, control: bool = False
) -> pandas.DataFrame:
    # An adversary of λ = 0 is the control: that it predicts the same is no finding.
    taught = _select(models, "adversary", encoder)
    return taught[taught.weight == 0] if control else taught[taught.weight > 0]


def _select(models: pandas.DataFrame, kind: str, encoder: Encoder) -> pandas.DataFrame:
    return models[(models.kind == kind) & (models.encoder == encoder)]


def _nearest(taught: pandas.DataFrame) -> str:
    # The caller closes the parenthesis, behind the bound.
    smallest = f"the smallest is {taught.tvd.min():.3f}" if len(taught) else "there are 0"
    return f"(none with such a TVD: {smallest}"


def _judge_sets(
    rows: pandas.DataFrame, judge: Rule
) -> tuple[dict[str, Estimate | str], list[Answer]]:
    judged = {str(title): judge(rows[rows.set == title]) for title in rows.set.unique()}
    return (
        {title: number for title, (number, _) in judged.items()},
        [answer for _, answer in judged.values()],
    )


def _f1(
    rows: pandas.DataFrame, kind: str, encoder: Encoder, guide: str = ""
) -> "pandas.Series[float]":
    models = _select(rows, kind, encoder)
    return models[models.guide == guide].f1 if guide else models.f1


def _without_control(
    rows: pandas.DataFrame, encoder: Encoder, answers: Iterable[Answer]
) -> dict[str, str]:
    """Return why sets are inconclusive whose control predicts otherwise than its base."""
    reasons = {}
    for title, answer in zip(rows.set.unique(), answers, strict=True):
        models = rows[rows.set == title]
        # Only an inconclusive answer needs the reason.
        if answer is None and control_keeps(models, encoder) is not True:
            tvd = _adversaries(models, encoder, control=True).tvd
            learnt = f"has not learnt (TVD {tvd.max():.3f})" if len(tvd) else "is missing"
            reasons[str(title)] = f", where the control {learnt}"
    return reasons


def _written(by_set: Mapping[str, Estimate | str], reasons: Mapping[str, str] | None = None) -> str:
    """Return the number of each set, and the reason why it does not count, if any."""
    numbers = {
        title: number if isinstance(number, str) else f"{number:+.3f}"
        for title, number in by_set.items()
    }
    why = reasons or {}
    return ", ".join(f"{title} {number}{why.get(title, '')}" for title, number in numbers.items())


def _quoted(
    number: Callable[[Quoted], float | None], titles: Iterable[str], sign: str = "+"
) -> str:
    """Return the quoted numbers of these sets, marked as unchecked."""
    numbers = {title: number(QUOTED[title]) for title in titles if title in QUOTED}
    text = ", ".join(
        f"{title} {value:{sign}.3f}" for title, value in numbers.items() if value is not None
    )
    return f"{text} ({UNCHECKED})" if text else "other sets"


@exhibit("findings", "Sections 3 to 5", title="What the paper concludes, and what is so here")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The conclusions, each judged by a rule that is stated."""
    rows = frames_of(reproduction)
    instances = {
        title: {
            name: claims[f"instance_{name}"].sel(encoder_of="lstm").values
            for name in ("tvd", "jsd")
        }
        for title, claims in load_all(reproduction).items()
    }
    claims = [
        needs_attention(rows),
        carries_over(rows),
        adversaries_do_not(rows),
        adversaries_exist(rows),
        harder_than_single_texts(rows, instances),
        adversaries_exist(rows, "transformer"),
    ]
    return claims_content(writer, claims, notes_of(reproduction), "its classifiers")
