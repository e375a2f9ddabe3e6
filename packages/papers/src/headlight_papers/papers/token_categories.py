"""Categories of tokens, as papers call them."""

from headlight.views.parts import By

CATEGORIES = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,"}
TO = By("key_category", CATEGORIES)
"""Categories of attended tokens."""
FROM = By("query_category", {"sep": "[SEP] → [SEP]", "not_sep": "other → [SEP]"})
"""Categories of tokens that attend to a separator."""
