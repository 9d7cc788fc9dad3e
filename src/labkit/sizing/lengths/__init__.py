"""How long prompts and answers are: token-length distributions behind one protocol, `Lengths`."""

from labkit.sizing.lengths.empirical import Empirical
from labkit.sizing.lengths.law import Lengths, mean_progress
from labkit.sizing.lengths.lognormal import LogNormal
from labkit.sizing.lengths.plain import Fixed, Geometric, Uniform
from labkit.sizing.lengths.text import lengths_of, parse_lengths

__all__ = [
    "Empirical",
    "Fixed",
    "Geometric",
    "Lengths",
    "LogNormal",
    "Uniform",
    "lengths_of",
    "mean_progress",
    "parse_lengths",
]
