"""Other attention matrices of the same output: that attention is not identifiable, shown.

After Brunner et al. (2020), Section 3.3, and tried on the model itself: it is run with each
alternative in the place of its own attention, and its outputs are compared.
"""

from headlight.reading.alternatives.find import Alternatives, alternatives
from headlight.settings.alternatives import AlternativeSettings

__all__ = ["AlternativeSettings", "Alternatives", "alternatives"]
