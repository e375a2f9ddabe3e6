"""The numbers of Jain and Wallace (2019): those of the released results of their code.

There attention over states of a BiLSTM (``lstm``), or of an affine map of each word (``average``),
with tanh; test sets of theirs.  The columns ``ag`` and ``al`` of the released tables are swapped;
here they are named by what they hold.
"""

from dataclasses import dataclass

from headlight_papers.training.text_classifier import Encoder


@dataclass(frozen=True, slots=True)
class Correlation:
    """Kendall's τ of two measures, over the texts of a test set.

    Attributes:
        mean: over texts.
        spread: the standard deviation.
        significant: the share of texts with p ≤ 0.05.
    """

    mean: float
    spread: float
    significant: float


@dataclass(frozen=True, slots=True)
class Released:
    """Released results of one model.

    Attributes:
        f1: of the second class.
        accuracy: on the test set.
        auc: area under the ROC curve.
        attention_gradient: τ of attention and gradients.
        attention_left_out: τ of attention and what predictions lose without a word.
        gradient_left_out: τ of gradients and the same.
        jsd: ε-max JSD by class, read off their histograms.
    """

    f1: float
    accuracy: float
    auc: float
    attention_gradient: Correlation
    attention_left_out: Correlation
    gradient_left_out: Correlation
    jsd: tuple[float, float]


def _released(*numbers: float) -> Released:
    f1, accuracy, auc, *taus, first, second = numbers
    gradient, left_out, both = (Correlation(*taus[at : at + 3]) for at in (0, 3, 6))
    return Released(f1, accuracy, auc, gradient, left_out, both, (first, second))


RELEASED: dict[tuple[str, Encoder], Released] = {
    ("SST", "lstm"): _released(
        *(0.784, 0.808, 0.902),
        *(0.351, 0.211, 0.49, 0.291, 0.191, 0.36, 0.656, 0.163, 0.91),
        *(0.48, 0.49),
    ),
    ("SST", "average"): _released(
        *(0.800, 0.807, 0.895),
        *(0.606, 0.201, 0.85, 0.623, 0.155, 0.88, 0.558, 0.250, 0.73),
        *(0.47, 0.49),
    ),
    ("IMDb", "lstm"): _released(
        *(0.896, 0.898, 0.960),
        *(0.437, 0.061, 1.0, 0.341, 0.070, 0.99, 0.517, 0.100, 1.0),
        *(0.58, 0.57),
    ),
    ("IMDb", "average"): _released(
        *(0.882, 0.883, 0.945),
        *(0.675, 0.050, 1.0, 0.576, 0.098, 1.0, 0.639, 0.187, 1.0),
        *(0.61, 0.61),
    ),
    ("AG News", "lstm"): _released(
        *(0.958, 0.958, 0.990),
        *(0.389, 0.134, 0.86, 0.367, 0.150, 0.80, 0.612, 0.121, 0.99),
        *(0.62, 0.64),
    ),
    ("AG News", "average"): _released(
        *(0.955, 0.954, 0.988),
        *(0.770, 0.071, 1.0, 0.507, 0.130, 0.97, 0.494, 0.171, 0.94),
        *(0.58, 0.59),
    ),
    ("20 News", "lstm"): _released(
        *(0.917, 0.922, 0.978),
        *(0.130, 0.206, 0.48, 0.123, 0.189, 0.44, 0.534, 0.164, 0.99),
        *(0.61, 0.38),
    ),
    ("20 News", "average"): _released(
        *(0.909, 0.913, 0.969),
        *(0.772, 0.078, 1.0, 0.721, 0.137, 0.99, 0.622, 0.197, 0.96),
        *(0.68, 0.44),
    ),
}
"""By the title of the set and the encoder."""

PAPER_F1 = {"SST": 0.81, "IMDb": 0.88, "20 News": 0.94, "AG News": 0.96}
"""Of the BiLSTM, Table 1 of the paper."""

TEST_TEXTS = {"SST": 1725, "IMDb": 4356, "AG News": 3798, "20 News": 357}
"""Of the released results."""
