"""A page as data: headings with paragraphs, lists, tables, terms and pictures.

The same document becomes Markdown and HTML, so that the two can never say different things.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.sizing.whatif.bars import Bar


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain prose; nothing in it is markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, each item a sentence or two."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under column names; the columns named by `numeric` stand right.

    A cell of two lines has its value above and its range below.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG and what it shows in words; `name` is its file where it needs one (Markdown)."""

    svg: str
    words: str
    name: str


@dataclass(frozen=True, slots=True)
class BarPicture:
    """A bar of segments, as the what-if panel draws it."""

    bar: Bar


@dataclass(frozen=True, slots=True)
class Link:
    """A sentence that points to a document of the project, by its path there."""

    before: str
    path: str
    after: str


Block = Paragraph | Bullets | Table | Picture | BarPicture | Link


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A titled page; `lead` is the answer, before any heading."""

    title: str
    subtitle: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
