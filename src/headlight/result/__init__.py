"""Results of studies: their files, their intervals, and several kinds of attention as one."""

from headlight.catalogue.writers import RESULT
from headlight.result.csv_files import csv_tables, csv_text, save_csv
from headlight.result.descriptions import Description, Scale, bounds, describe
from headlight.result.netcdf import load, netcdf_bytes, refusing_incomplete, save
from headlight.result.passes import joined
from headlight.result.provenance import FORMAT, calculated_with, stamp, versions

__all__ = [
    "FORMAT",
    "RESULT",
    "Description",
    "Scale",
    "bounds",
    "calculated_with",
    "csv_tables",
    "csv_text",
    "describe",
    "joined",
    "load",
    "netcdf_bytes",
    "refusing_incomplete",
    "save",
    "save_csv",
    "stamp",
    "versions",
]
