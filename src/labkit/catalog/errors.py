"""What the catalogue says when it is asked for something it cannot give."""

from __future__ import annotations

from labkit.contract.errors import LabkitError


class CatalogError(LabkitError):
    """A fact table or a snapshot that cannot be read."""


class ConfigError(LabkitError):
    """A model configuration that cannot be understood; the message names the field at fault."""
