"""The numbers of Jain and Wallace (2019): those of the released results of their code.

There attention over states of a BiLSTM (``lstm``), or of an affine map of each word (``average``),
with tanh; test sets of theirs.  The columns ``ag`` and ``al`` of the released tables are swapped;
here they are named by what they hold.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from headlight_papers.training.text_encoders import Encoder

SOURCE = "Jain and Wallace (2019)"


@dataclass(frozen=True, slots=True)
class Correlation:
    """Kendall's τ of two measures, over the texts of a test set.

    Attributes:
        mean: Mean over texts.
        spread: Standard deviation over texts.
        significant: Share of texts with p ≤ 0.05.
    """

    mean: float
    spread: float
    significant: float


@dataclass(frozen=True, slots=True)
class Released:
    """Released results of one model.

    Attributes:
        f1: F1 of the second class.
        accuracy: Accuracy on the test set.
        auc: Area under the ROC curve.
        attention_gradient: Kendall's τ of attention and gradients.
        attention_left_out: Kendall's τ of attention and losses of predictions without a word.
        gradient_left_out: Kendall's τ of gradients and losses of predictions without a word.
        jsd: ε-max JSD by class, read off their histograms.
    """

    f1: float
    accuracy: float
    auc: float
    attention_gradient: Correlation
    attention_left_out: Correlation
    gradient_left_out: Correlation
    jsd: tuple[float, float]


_ROWS = """
SST      lstm     .784 .808 .902  .351 .211 .49  .291 .191 .36  .656 .163 .91  .48 .49
SST      average  .800 .807 .895  .606 .201 .85  .623 .155 .88  .558 .250 .73  .47 .49
IMDb     lstm     .896 .898 .960  .437 .061 1.0  .341 .070 .99  .517 .100 1.0  .58 .57
IMDb     average  .882 .883 .945  .675 .050 1.0  .576 .098 1.0  .639 .187 1.0  .61 .61
AG_News  lstm     .958 .958 .990  .389 .134 .86  .367 .150 .80  .612 .121 .99  .62 .64
AG_News  average  .955 .954 .988  .770 .071 1.0  .507 .130 .97  .494 .171 .94  .58 .59
20_News  lstm     .917 .922 .978  .130 .206 .48  .123 .189 .44  .534 .164 .99  .61 .38
20_News  average  .909 .913 .969  .772 .078 1.0  .721 .137 .99  .622 .197 .96  .68 .44
"""
"""Set, encoder, and the fields of `Released` in their order."""


def _released() -> Iterator[tuple[tuple[str, Encoder], Released]]:
    for title, encoder, *row in map(str.split, _ROWS.strip().splitlines()):
        f1, accuracy, auc, *taus, first, second = map(float, row)
        gradient, left_out, both = (Correlation(*taus[at : at + 3]) for at in (0, 3, 6))
        numbers = Released(f1, accuracy, auc, gradient, left_out, both, (first, second))
        yield (title.replace("_", " "), cast("Encoder", encoder)), numbers


RELEASED = dict(_released())
"""By the title of the set and the encoder."""

PAPER_F1 = {"SST": 0.81, "IMDb": 0.88, "20 News": 0.94, "AG News": 0.96}
"""F1 of the BiLSTM, Table 1 of the paper."""

TEST_TEXTS = {"SST": 1725, "IMDb": 4356, "AG News": 3798, "20 News": 357}
"""Number of test texts of the released results."""
