"""What every token after every layer is made of: the routes from the input to it, by heads."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float
from torch import Tensor

from headlight import files
from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.one_text import capture_one, one_text
from headlight.encode import piece_style
from headlight.errors import UsageError
from headlight.measures.norm import per_head
from headlight.measures.parts import missed_without, missed_without_heads
from headlight.result import FORMAT, save, versions
from headlight.vocabulary import Kind

LEAST = 0.005
"""Parts of heads that are kept make up at least this share of their sum."""
