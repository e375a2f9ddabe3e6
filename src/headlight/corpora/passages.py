"""Questions with passages that an answer may have come from, checked before a model reads them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headlight.chats import holds_chat, is_chat, require_characters
from headlight.corpora.text_checks import require_text
from headlight.errors import UsageError, setting
from headlight.files import parse_json, read

EXAMPLE = ("question", "context", "answer")
"""Keys of an example: a text or a chat, its passages, and an answer or nothing."""


def examples_of(
    question: Any, context: Sequence[str] | None = None, answer: str | None = None
) -> list[Mapping[str, Any]]:
    """Return the examples that are handed over: one, or several in the place of the question.

    Args:
        question: Text, or messages of a chat; or several examples, objects with `EXAMPLE`.
        context: Passages of a single example.
        answer: Answer of a single example; None where the model writes it.

    Raises:
        UsageError: No passage or an empty one, no question, or an empty answer.
    """
    examples: list[Any] = [{"question": question, "context": context or (), "answer": answer}]
    if isinstance(question, list | tuple) and not is_chat(question):
        if context is not None or answer is not None or not question:
            raise UsageError("give either examples, at least one, or a question with passages.")
        examples = list(question)
    for number, example in enumerate(examples, 1):
        if not isinstance(example, Mapping) or not {*EXAMPLE[:2]} <= {*example} <= {*EXAMPLE}:
            raise UsageError(
                f"example {number} is no object with question, context and, if known, answer; "
                'write {"question": ..., "context": [...], "answer": ...}.'
            )
        passages = example["context"]
        if not isinstance(passages, list | tuple) or not all(isinstance(t, str) for t in passages):
            raise UsageError(f"the context of example {number} is no list of texts; give passages.")
        require_passages(passages)
        if isinstance(example["question"], str) or not holds_chat(example["question"]):
            require_text(example["question"], "question")
        if example.get("answer") is not None:
            require_text(example["answer"], "answer")
    return examples


def require_passages(passages: Sequence[str]) -> None:
    """Refuse passages if there are none, or if a passage is empty.

    Raises:
        UsageError: There is no passage, or an empty one.
    """
    if not passages:
        raise UsageError(f"there is no passage to compare; give some as {setting('context')}.")
    for number, passage in enumerate(passages, 1):
        if not require_characters(passage, f"passage {number}").strip():
            raise UsageError(f"passage {number} is empty; write something, or leave it out.")


def read_examples(path: Path) -> list[Any]:
    """Return the examples of a file of JSON lines.

    Raises:
        UsageError: There is no such file, or a line is no JSON.
    """
    examples = []
    for number, line in enumerate(read(path, error=UsageError).splitlines(), 1):
        try:
            examples += [parse_json(line)] if line.strip() else []
        except ValueError as problem:
            raise UsageError(f"{path}, line {number}: no JSON ({problem}); mend it.") from problem
    return examples
