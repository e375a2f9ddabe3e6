"""Attention compared with gold annotations: heads as parsers and resolvers, and probes."""

from headlight.probes.control import RandomControl, random_control
from headlight.probes.coreference import coreference_heads
from headlight.probes.coreference_settings import CoreferenceSettings
from headlight.probes.dependency import dependency_heads
from headlight.probes.dependency_settings import DependencySettings
from headlight.probes.identity import token_identity
from headlight.probes.identity_files import load_map
from headlight.probes.identity_settings import IdentitySettings, MapRecipe
from headlight.probes.parser import parse_probes
from headlight.probes.parser_dataset import probe_table
from headlight.probes.parser_settings import PROBES, ProbeSettings
from headlight.probes.parser_training import RECIPES, Recipe, recipe
from headlight.probes.parser_weights import load_probe, save_probe

__all__ = [
    "PROBES",
    "RECIPES",
    "CoreferenceSettings",
    "DependencySettings",
    "IdentitySettings",
    "MapRecipe",
    "ProbeSettings",
    "RandomControl",
    "Recipe",
    "coreference_heads",
    "dependency_heads",
    "load_map",
    "load_probe",
    "parse_probes",
    "probe_table",
    "random_control",
    "recipe",
    "save_probe",
    "token_identity",
]
