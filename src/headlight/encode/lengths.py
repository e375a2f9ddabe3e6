"""Which examples go into a batch together."""

from collections.abc import Sequence

from headlight.encode.encoded import Encoded
from headlight.errors import UsageError


def length_batches(examples: Sequence[Encoded], token_budget: int) -> list[list[int]]:
    """Indices of examples of similar length, so that little of a batch is padding.

    Examples are taken in the order of their lengths, equal ones in their own order.  A batch is
    closed before its size with padding, tokens of the decoder included, would exceed the budget;
    an example that exceeds it alone makes a batch by itself.

    Args:
        examples: As many as one wants to look at together, say a shard.
        token_budget: Tokens in a batch at most, padding included; at least 1.

    Raises:
        UsageError: The budget is not positive.
    """
    if token_budget < 1:
        raise UsageError(f"the token budget must be at least 1, and is {token_budget}.")
    lengths = [(len(example.ids), len(example.target)) for example in examples]
    batches: list[list[int]] = []
    batch: list[int] = []
    longest_target = 0
    for index in sorted(range(len(examples)), key=lambda index: (lengths[index], index)):
        length, target = lengths[index]
        longest_target = max(longest_target, target)
        if batch and (len(batch) + 1) * (length + longest_target) > token_budget:
            batches.append(batch)
            batch, longest_target = [], target
        batch.append(index)
    return [*batches, batch] if batch else batches
