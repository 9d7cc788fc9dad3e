"""The dossier of a recommendation: what follows from taking it, and the page that says so."""

from labkit.sizing.dossier.collect import Dossier, LoadTime, Reason, Winner, dossier_of
from labkit.sizing.dossier.contents import document_of
from labkit.sizing.dossier.html import html
from labkit.sizing.dossier.markdown import markdown

__all__ = [
    "Dossier",
    "LoadTime",
    "Reason",
    "Winner",
    "document_of",
    "dossier_of",
    "html",
    "markdown",
]
