"""Page of the survey: weights, norms and effective attention of every head."""

import xarray as xr

from headlight.catalogue import statistic
from headlight.findings import highlights
from headlight.findings.heads_with_sinks import SINK_KINDS, sink_kinds
from headlight.findings.statistics import numbers_of
from headlight.findings.survey import survey
from headlight.studies.survey.page.effective_attention import correlation_section
from headlight.studies.survey.page.entropy import entropy_section
from headlight.studies.survey.page.headline import headline as headline
from headlight.studies.survey.page.heads import grid_section, heads_section
from headlight.studies.survey.page.highlighted_heads import highlights_section
from headlight.studies.survey.page.importance import importance_section
from headlight.studies.survey.page.massive_activations import residual_section
from headlight.studies.survey.page.null_spaces import null_spaces_section
from headlight.studies.survey.page.ranks import frequency_section, ranks_section
from headlight.studies.survey.page.shares import (
    matrices_section,
    neighbours_section,
    shares_section,
    weight_to_norm_section,
)
from headlight.studies.survey.page.sinks import sinks_section
from headlight.studies.survey.page.tables import tables_section
from headlight.studies.survey.page.token_types import token_section
from headlight.studies.survey.page.vector_lengths import dispersion_section
from headlight.views.parts import Section, Summary
from headlight.views.parts.result_facts import categories, mean_of, rounded
from headlight.views.passages import NO_PAGES, PassagePages

findings = survey
"""Findings in words, shown first."""


def summary(result: xr.Dataset) -> Summary:
    """Return the share of the first token or separators, and the mean entropy of weights."""
    shares_by_name: Summary = {}
    name = "first" if "class_share" in result else "sep"
    for measure in map(str, result["measure"].values):
        for label in (name, "entropy"):
            numbers = numbers_of(result, statistic(label), measure)
            shares_by_name[f"{measure}_to_{label}" if label == name else f"{measure}_{label}"] = (
                mean_of(numbers.value)
            )
    if "vector_norm_cv" in result:
        shares_by_name["vector_norm_cv"] = mean_of(result["vector_norm_cv"])
    if "effective_correlation_by_head" in result:
        shares_by_name["effective_correlation"] = mean_of(result["effective_correlation_by_head"])
    return rounded(shares_by_name | chosen_summary(result))


def sections(result: xr.Dataset, pages: PassagePages = NO_PAGES) -> list[Section]:
    """Return the sections: highlights, grid, shares by category, and differences of measures."""
    highlighted = highlights(result)
    parts = [
        highlights_section(result, highlighted, pages),
        grid_section(result, highlighted),
        heads_section(result),
        shares_section(result),
        weight_to_norm_section(result, highlighted),
        matrices_section(result),
        neighbours_section(result),
        entropy_section(result),
        dispersion_section(result),
        correlation_section(result),
        tables_section(result),
        residual_section(result),
        token_section(result),
        *chosen_sections(result),
    ]
    return [section for section in parts if section.drawings or section.tables or section.html]


def chosen_sections(result: xr.Dataset) -> list[Section]:
    """Return the sections on optional parts that the survey has."""
    parts: list[Section] = []
    if "weight_norm_spearman" in result:
        parts += [ranks_section(result), frequency_section(result)]
    if "importance" in result:
        parts.append(importance_section(result))
    if "null_dimension" in result:
        parts.append(null_spaces_section(result))
    if "output_rank" in result:
        parts.append(sinks_section(result))
    return parts


def chosen_summary(result: xr.Dataset) -> Summary:
    """Return Spearman's ρ, loss and gradients, and null spaces, where they were chosen."""
    numbers: Summary = {}
    if "weight_norm_spearman" in result:
        for name in categories(result, "key_group"):
            values = result["weight_norm_spearman"].sel(key_group=name)
            numbers[f"spearman_{name}"] = float(values)
    if "importance" in result:
        numbers["loss"] = float(result["loss"])
        numbers["predicted_tokens"] = int(result["predicted_tokens"])
        for name in categories(result, "importance_key"):
            values = result["importance"].sel(importance_query="all", importance_key=name)
            numbers[f"importance_{name}"] = mean_of(values)
    if "null_dimension" in result:
        numbers["null_dimension"] = mean_of(result["null_dimension"])
    if "output_rank" in result:
        kinds = sink_kinds(result)["sink_kind"]
        numbers |= {f"sinks_{kind}": int((kinds == kind).sum()) for kind in SINK_KINDS}
    return numbers
