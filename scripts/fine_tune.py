"""Fine-tune a model on labelled texts or sentence pairs, as a twin or as a classifier.

    python scripts/fine_tune.py TEXTS --out build/fine-tuned-cola --epochs 3
    python scripts/fine_tune.py stsa.binary.train --held-out stsa.binary.dev --out build/sst

TEXTS is whatever `headlight.corpora.open_sentence_pairs` reads: MRPC, CoLA, MNLI, SST, AG News and
others.  The whole model is trained with a new classification head; what is saved is a model for
`headlight reproduce brunner2020 --compare` and for the studies of classifiers.  In the end the
labels of texts that were held out are predicted, by default of the last tenth, to show that
something was learnt: beside the model stand the most frequent label and a bag of words.
"""

import argparse
from collections import Counter
from pathlib import Path

import torch
from accelerate.utils import set_seed
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from headlight.capture.loading import quiet
from headlight.catalogue.embedded_models import EMBEDDED
from headlight.corpora import SentencePair, open_sentence_pairs

WARM_UP = 0.1
"""Share of the steps in which the learning rate rises; then it falls to 0."""
LONGEST_GRADIENT = 1.0
POOLED = 20
"""Batches whose texts are put in the order of their lengths."""


def main() -> None:
    arguments = _arguments()
    set_seed(arguments.seed)
    training, held_out = _split(arguments.texts, arguments.held_out)
    labels = sorted({str(pair.label) for pair in training})
    if len(labels) < 2:
        raise SystemExit(f"all texts to learn from have the label {labels[0]!r}; shuffle the file.")
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(
            arguments.model,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: number for number, label in enumerate(labels)},
            dtype=torch.float32,
            **({} if arguments.dropout is None else {"hidden_dropout_prob": arguments.dropout}),
        )
    learner = Learner(model, tokenizer, arguments.batch)
    learner.train(training, arguments.epochs, arguments.learning_rate)
    most = Counter(pair.label for pair in held_out).most_common(1)[0][1]
    print(
        f"held out: {learner.accuracy(held_out):.3f} of {len(held_out)} right; a bag of words "
        f"{bag_of_words(training, held_out):.3f}, the most frequent label "
        f"{most / len(held_out):.3f}"
    )
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)


class Learner:
    """A classifier, its tokenizer, and how many texts it reads at a time."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch: int
    ) -> None:
        self._model, self._tokenizer, self._batch = model, tokenizer, batch

    def train(self, training: list[SentencePair], epochs: int, learning_rate: float) -> None:
        """Train the parameters that need a gradient, and print the loss of every epoch."""
        trained = [each for each in self._model.parameters() if each.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=learning_rate)
        steps = epochs * -(-len(training) // self._batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: _rate((step + 1) / (steps + 1))
        )
        for epoch in range(epochs):
            self._model.train()
            total = 0.0
            for batch in _batches(training, self._batch):
                logits, wanted = self._run(batch)
                loss = torch.nn.functional.cross_entropy(logits, wanted)
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(trained, LONGEST_GRADIENT)
                optimiser.step()
                schedule.step()
                total += float(loss.detach()) * len(wanted)
            print(f"epoch {epoch + 1}: loss {total / len(training):.3f}", flush=True)
        self._model.eval()

    def accuracy(self, held_out: list[SentencePair]) -> float:
        """The share of texts whose class is right."""
        right = 0
        with torch.inference_mode():
            for start in range(0, len(held_out), self._batch):
                logits, wanted = self._run(held_out[start:][: self._batch])
                right += int((logits.argmax(-1) == wanted).sum())
        return right / len(held_out)

    def _run(self, chosen: list[SentencePair]) -> tuple[torch.Tensor, torch.Tensor]:
        seconds = [pair.second for pair in chosen]
        inputs = self._tokenizer(
            [pair.first for pair in chosen],
            None if None in seconds else seconds,
            padding=True,
            truncation=True,
            max_length=128,
            return_tensors="pt",
        )
        numbers = self._model.config.label2id
        wanted = torch.tensor([numbers[str(pair.label)] for pair in chosen])
        return self._model(**inputs).logits, wanted


def _batches(pairs: list[SentencePair], size: int) -> list[list[SentencePair]]:
    """All pairs at random, but those of similar length together, so that little is padding."""
    order = torch.randperm(len(pairs)).tolist()
    found = []
    for start in range(0, len(order), size * POOLED):
        pool = [pairs[place] for place in order[start:][: size * POOLED]]
        pool.sort(key=lambda pair: len(_joined(pair)))
        found += [pool[at:][:size] for at in range(0, len(pool), size)]
    return [found[place] for place in torch.randperm(len(found)).tolist()]


def bag_of_words(training: list[SentencePair], held_out: list[SentencePair]) -> float:
    """Accuracy of a logistic regression on the counts of words, which knows nothing of order."""
    (texts, labels), (others, wanted) = (
        ([_joined(pair) for pair in pairs], [pair.label for pair in pairs])
        for pairs in (training, held_out)
    )
    counts = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    return float(counts.fit(texts, labels).score(others, wanted))


def _joined(pair: SentencePair) -> str:
    return pair.first if pair.second is None else f"{pair.first} {pair.second}"


def _split(texts: str, held_out: str | None) -> tuple[list[SentencePair], list[SentencePair]]:
    """What is learnt from, and what is held out: a file of its own, or the last tenth."""
    pairs = _labelled(texts)
    if held_out is not None:
        return pairs, _labelled(held_out)
    kept = len(pairs) // 10
    return pairs[:-kept], pairs[-kept:]


def _labelled(texts: str) -> list[SentencePair]:
    return [pair for pair in open_sentence_pairs(texts) if pair.label is not None]


def _rate(done: float) -> float:
    """The share of the learning rate, after a share of the steps."""
    return min(done / WARM_UP, 1.0) * (1.0 - done)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", help="labelled texts or sentence pairs")
    parser.add_argument("--held-out", help="others to be tested on; default: the last tenth")
    parser.add_argument("--model", default=str(EMBEDDED), help="default: the embedded model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--dropout", type=float, help="of hidden layers; default: the model's own")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
