"""*On Identifiability in Transformers* (Brunner et al. 2020)."""

from headlight.papers.plan import Paper

PAPER = Paper(
    name="brunner2020",
    title="On Identifiability in Transformers (Brunner et al. 2020)",
    introduction="Every table and figure of the paper, made anew on this model and data, with the "
    "published numbers beside ours. Layers and heads are named as in the paper, from 1; layer 0 "
    "stands for the input embeddings. Everywhere else in Headlight they count from 0.",
    plans=(),
)
