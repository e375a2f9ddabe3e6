"""*On Identifiability in Transformers* (Brunner et al. 2020)."""

from headlight_papers.papers.brunner2020.attention.effective import figure_1, figure_5
from headlight_papers.papers.brunner2020.attention.maps import figure_6
from headlight_papers.papers.brunner2020.attention.null_spaces import section_3
from headlight_papers.papers.brunner2020.contribution.neighbours import (
    figure_4,
    figure_18,
    figure_41,
    figure_43,
)
from headlight_papers.papers.brunner2020.contribution.own import figure_3, figure_40, figure_42
from headlight_papers.papers.brunner2020.contribution.tags import figure_26
from headlight_papers.papers.brunner2020.contribution.tracked import figure_19
from headlight_papers.papers.brunner2020.findings import findings
from headlight_papers.papers.brunner2020.identity.layers import (
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
)
from headlight_papers.papers.brunner2020.identity.neighbours import (
    figure_14,
    figure_15,
    figure_16,
    figure_17,
)
from headlight_papers.papers.brunner2020.identity.rates import (
    figure_2,
    figure_7,
    figure_38,
    figure_39,
)
from headlight_papers.papers.brunner2020.settings import Settings
from headlight_papers.papers.exhibit import Paper

PAPER = Paper(
    name="brunner2020",
    settings=Settings,
    introduction="The figures of the paper and of its appendices, reproduced on this model and "
    "data, with the published numbers beside ours: attention that its output does not determine "
    "(Section 3, Figures 1, 5 and 6), input tokens found again from hidden ones (Figures 2, 7 to "
    "17, 38 and 39), and what input tokens contribute to hidden ones (Figures 3, 4, 18 to 37, and "
    "40 to 43). Heads have the name that they have everywhere in Headlight, and the paper's, "
    "from 1, in brackets. Layers are numbered as in the paper, from 1.",
    exhibits=(
        findings, section_3, figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7,
        figure_8, figure_9, figure_10, figure_11, figure_12, figure_13, figure_14, figure_15,
        figure_16, figure_17, figure_18, figure_19, figure_26, figure_38, figure_39, figure_40,
        figure_41, figure_42, figure_43,
    ),
)  # fmt: skip
