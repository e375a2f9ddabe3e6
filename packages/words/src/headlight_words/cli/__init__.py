"""Commands for words of translations: `align` and `aer`."""
