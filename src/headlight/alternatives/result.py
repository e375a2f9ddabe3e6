"""What was found, with names."""

from dataclasses import dataclass

import xarray


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Other attention matrices of one head, with which the model puts out the same.

    Attributes:
        dataset: everything, with the tokens as coordinates; see the properties.
    """

    dataset: xarray.Dataset

    @property
    def original(self) -> xarray.DataArray:
        """The model's own attention, over query and key."""
        return self.dataset["original"]

    @property
    def attention(self) -> xarray.DataArray:
        """The alternatives, over alternative, query and key; none if there are none."""
        return self.dataset["attention"]

    @property
    def total_variation(self) -> xarray.DataArray:
        """Half the sum of the absolute changes of a row, over alternative and query."""
        return self.dataset["total_variation"]

    @property
    def exists(self) -> xarray.DataArray:
        """Whether a row that was looked at has any alternative, over query."""
        return self.dataset["exists"]

    @property
    def output_difference(self) -> xarray.DataArray:
        """The largest absolute change of an output of the model, over alternative."""
        return self.dataset["output_difference"]

    def __str__(self) -> str:
        attributes = self.dataset.attrs
        head = f"head {attributes['head']} of {attributes['kind']} layer {attributes['layer']}"
        rows, asked = int(self.exists.sum()), int(self.dataset["asked"].sum())
        if not rows:
            return (
                f"No other attention of {head} gives the same output: no direction of LN([T, 1]) "
                f"keeps a row of it in the simplex (rows looked at: {asked})."
            )
        return (
            f"{rows} of {asked} rows of {head} have other attention of the same output; here up to "
            f"{float(self.total_variation.max()):.3g} of a row's weight moves, and the "
            f"{attributes['output']} change by {float(self.output_difference.max()):.1e} at most "
            f"({attributes['output_size']:.3g} being the largest)."
        )
