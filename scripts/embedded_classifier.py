"""Train the embedded classifier: the embedded model with a head, on texts of `review_texts.py`.

    python scripts/embedded_classifier.py --out build/classifier [--also stsa.binary.dev]

The embeddings and the first layers of the embedded model stay as they are.  Of each matrix that is
trained, the change is kept as the product of two narrow ones (its largest singular values), in
float16; `headlight.load` puts it on the embedded model.  What the model that is kept gets right of
texts that were held out stands in its card, beside a bag of words; ``--also`` names other texts
with the same two labels, of which nothing was learnt.
"""

import argparse
import json
from pathlib import Path

import torch
from accelerate.utils import set_seed
from fine_tune import Learner, bag_of_words
from review_texts import LABELS, save, write_texts
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from headlight.capture.changed_weights import CHANGED, DOWN, UP, with_changes
from headlight.capture.loading import quiet
from headlight.catalogue.embedded_models import EMBEDDED
from headlight.corpora import SentencePair, open_sentence_pairs

TEXTS, HELD_OUT, SAMPLE = 12_000, 1_000, 400
"""To train on; held out, of each kind; and of these in the sample."""
FROZEN = 3
"""Layers that stay as they are."""
RANK = 16
"""Width of the narrow matrices."""
EPOCHS, LEARNING_RATE, BATCH = 4, 3e-4, 32

Tensors = dict[str, torch.Tensor]
Scores = dict[str, tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--also", help="labelled texts of others, to be tested on")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    set_seed(asked.seed)
    texts = write_texts(TEXTS, HELD_OUT, asked.seed)
    training = pairs_of(texts.trained)
    model = untrained()
    learner = Learner(model, AutoTokenizer.from_pretrained(EMBEDDED), BATCH)
    learner.train(training, EPOCHS, LEARNING_RATE)
    base = load_file(EMBEDDED / "model.safetensors")
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    changes = narrowed(base, trained)
    model.load_state_dict(with_changes(base, changes), strict=False)  # as it will be loaded
    sets = {
        "other reviews of the same kind": pairs_of(texts.new_texts),
        "reviews with opinion words that no text to train on has": pairs_of(texts.new_words),
        **({f"sentences of {Path(asked.also).name}": named(asked.also)} if asked.also else {}),
    }
    scores = {
        f"{len(some):,} {name}": (learner.accuracy(some), bag_of_words(training, some))
        for name, some in sets.items()
    }
    patterns = {
        name: (learner.accuracy(some), bag_of_words(training, some))
        for name in sorted({each[2] for each in texts.new_texts})
        if (some := pairs_of([each for each in texts.new_texts if each[2] == name]))
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    save_file(changes, asked.out / CHANGED)
    model.config.architectures = [type(model).__name__]
    said = {name: each for name, each in model.config.to_diff_dict().items() if name[0] != "_"}
    (asked.out / "config.json").write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    save(texts.new_texts[:SAMPLE], asked.out / "sample.reviews.tsv")
    size = (asked.out / CHANGED).stat().st_size
    (asked.out / "README.md").write_text(card(scores, patterns, size), encoding="utf-8")


def untrained() -> torch.nn.Module:
    """The embedded model with a head of random weights, its first layers frozen."""
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(
            EMBEDDED,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: number for number, label in enumerate(LABELS)},
            dtype=torch.float32,
        )
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:FROZEN]):
        part.requires_grad_(False)
    return model


def narrowed(base: Tensors, trained: Tensors) -> Tensors:
    """What is kept: of a matrix the largest singular values of its change, else all of it."""
    kept = {}
    for name, each in trained.items():
        if name in base and each.ndim == 2:
            left, sizes, right = torch.linalg.svd(each.detach() - base[name].float(), False)
            roots = sizes[:RANK].sqrt()
            kept[name + UP] = (left[:, :RANK] * roots).half().contiguous()
            kept[name + DOWN] = (roots[:, None] * right[:RANK]).half().contiguous()
        else:
            kept[name] = each.detach().half().contiguous()
    return kept


def pairs_of(texts: list[tuple[str, str, str]]) -> list[SentencePair]:
    return [SentencePair(name="", first=text, second=None, label=label) for text, label, _ in texts]


def named(source: str) -> list[SentencePair]:
    """Texts of others; a label may be its number."""
    return [
        SentencePair(name=each.name, first=each.first, second=each.second, label=label)
        for each in open_sentence_pairs(source)
        if (label := LABELS[int(each.label)] if str(each.label).isdigit() else each.label)
    ]


def card(scores: Scores, patterns: Scores, size: int) -> str:
    """What is said of the classifier."""

    def rows(some: Scores) -> str:
        return "\n".join(f"| {name} | {own:.1%} | {bag:.1%} |" for name, (own, bag) in some.items())

    return f"""# headlight-classifier

A small classifier of short English reviews, positive or negative as a whole, which comes with Headlight so
that studies of classifiers run without any other model. It is the embedded model `headlight-small` with a
head: embeddings and the first {FROZEN} layers are the same, and of the matrices of the other layers the change is kept as
the product of two of width {RANK}, in float16 ({size / 1000:,.0f} kB).

**Licence.** Apache-2.0. **Training.** By `scripts/embedded_classifier.py`: {EPOCHS} passes over {TEXTS:,} texts,
AdamW, learning rate {LEARNING_RATE:g}.

**Data.** Texts of our own, put together of words and sentence patterns by `scripts/review_texts.py`; nothing was taken from elsewhere.
Each label is true by construction. In most patterns it takes more than single words to tell it: a negation, a
contrast of which one half counts, what somebody else had said, what might have been.

| texts that were held out | right | a bag of words |
| --- | --- | --- |
{rows(scores)}

Chance is 50%. The bag of words is a logistic regression on the counts of words, trained on the same texts.
**So the classifier has learnt what these sentences do with their opinion words, and knows these words and hardly any
others.** It is a model to try studies on, whose right answers are known; it is no classifier of reviews.

| pattern, of the first row | right | a bag of words |
| --- | --- | --- |
{rows(patterns)}

`sample.reviews.tsv` holds {SAMPLE} of the texts of the first row.
"""


if __name__ == "__main__":
    main()
