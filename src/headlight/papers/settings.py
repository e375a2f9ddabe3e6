"""How a paper is reproduced; without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.errors import UsageError
from headlight.settings import (
    NO_EFFECT,
    AtLeast0,
    AtLeast1,
    Range,
    Settings,
    choices,
    require_choice,
)
from headlight.vocabulary import Kind

SegmentIds = Literal["pair", "zeros"]
Measure = Literal["weight", "norm", "effective", "gradient"]
"""What the papers' questions can be asked of: the measures of single heads."""

MEASURES: tuple[Measure, ...] = choices(Measure)


@dataclass(frozen=True, kw_only=True)
class ReproductionSettings(Settings):
    """Everything that the results depend on besides model and data.

    Attributes:
        measures: what is compared with one another; ``gradient`` needs a language-model head.
        max_examples: segments of text.
        max_length: tokens in a segment of text, special ones included.
        kind: the attention that is looked at, of kobayashi2020; by default the first that the model
            has.
        segment_ids: of pairs of paragraphs: ``zeros``, as in the released maps of Clark et al., or
            ``pair``, as in the code of Kobayashi et al. and in BERT's training; by default as the
            paper's authors set them.
        max_sentences: sentences of each treebank, and of those with tags; by default all.
        overlap: read whole documents for coreference, in windows that share so many words; by
            default documents are cut off after 128 tokens, as Clark et al. do.
        invalid: what becomes of sentences and documents whose annotation is invalid, or whose words
            the tokenizer drops.
        seed: of everything random.
        max_pairs: examples of each set of sentence pairs.
        directions: random directions for each input token by which contributions are estimated.
        exact_pairs: short examples of the first set of which contributions are computed exactly as
            well.
        folds: random splits of the pairs on which tokens are identified.
        mlp_folds: as many of them for MLPs, which take ten times as long as linear maps.
        solver: of the linear maps that identify tokens: ``adam``, as in the paper, or ``ridge``,
            which is much quicker.
        samples: noisy copies of a sentence whose gradients SmoothGrad averages, of kobayashi2020;
            30 in the papers.
        max_gradients: translations of which gradients and differences of predictions are taken,
            from the first one on.
        max_parallel: pairs of parallel text from which other aligners learn; 0 trains none.
        lambdas: how much adversaries are to differ in attention: λ times the mean KL of a row is
            taken from their loss; 0 is always among them, and by default for yang2020
            0.0001,0.0003,0.001,0.003,0.01,0.03,0.1, for wiegreffe2019 0.001,0.003,0.01.
        repeats: models of yang2020 and wiegreffe2019 that are trained alike but for their seeds.
        epochs: passes over what is learnt from, of yang2020; of jain2019 and
            wiegreffe2019 at most so many.
        predictions: what keeps an adversary's predictions near those of its base: cross-entropy to
            the base's ``labels``, by default for yang2020, or total variation, ``tvd``, for
            wiegreffe2019.
        distance: what keeps its attention away: ``kl``, as in the papers, or ``jsd``, which is
            bounded.
        selection: the part on which the best epoch is chosen: ``dev``, or ``test``, as in the
            released code.
        processes: models that are trained at a time; by default as many as there are cores.
        max_texts: texts of each part of a labelled set, drawn; by default all, of wiegreffe2019
            1500.
        max_words: labelled texts that are longer are left out, besides those that the papers leave
            out; by default those of more than 200 words in jain2019, of 120 in wiegreffe2019.
        max_explained: texts of each test part that jain2019 looks at one by one.
        max_adversaries: of these those for which it looks for other attention; wiegreffe2019 does
            so for as many.
        drawn: translations of which soft alignments are drawn: the ``sample`` of the package, from
            German to English, or the first short ones of the ``corpus`` that has gold links.
    """

    measures: Annotated[tuple[str, ...], Measure] = MEASURES  # checked below, one by one
    max_examples: AtLeast1 = 992
    max_length: Annotated[int, Range(minimum=8)] = 128
    kind: Kind | None = None
    segment_ids: SegmentIds | None = None
    max_sentences: AtLeast1 | None = None
    overlap: AtLeast0 | None = None
    invalid: Literal["refuse", "skip"] = "refuse"
    seed: int = 0
    max_pairs: AtLeast1 = 408
    directions: Annotated[int, Range(minimum=2)] = 8
    exact_pairs: AtLeast0 = 20
    folds: AtLeast1 = 10
    mlp_folds: AtLeast1 = 2
    solver: Literal["adam", "ridge"] = "adam"
    samples: AtLeast1 = 10
    max_gradients: AtLeast1 = 40
    max_parallel: AtLeast0 = 5000
    lambdas: tuple[Annotated[float, Range(minimum=0)], ...] | None = None
    repeats: AtLeast1 = 3
    epochs: AtLeast1 = 12
    predictions: Literal["labels", "tvd"] | None = None
    distance: Literal["kl", "jsd"] = "kl"
    selection: Literal["dev", "test"] = "dev"
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None
    max_texts: AtLeast1 | None = None
    max_words: AtLeast1 | None = None
    max_explained: Annotated[int, Range(minimum=2)] = 150
    max_adversaries: AtLeast1 = 60
    drawn: Literal["sample", "corpus"] = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        for measure in self.measures:
            require_choice("measure", measure, Measure)
        if not self.measures:
            raise UsageError("no measure is asked for; name at least one with --measures.")
