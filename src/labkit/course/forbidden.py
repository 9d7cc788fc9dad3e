"""Whether a function answers by calling what it was to be written without.

The notebook's own look, at the function itself and at what it calls, so that the learner hears of
it before the grade does. Grading looks again, at the notebook's text.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any


def forbidden_use(answer: object, forbids: Sequence[str]) -> str | None:
    """The first forbidden module that the function reaches, or None.

    Followed are the functions of the notebook that it calls; a library's own inside is not
    looked at.
    """
    if not forbids:
        return None
    return next((name for name in _reached(answer, set()) if _within(name, forbids)), None)


def _within(module: str, forbids: Sequence[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in forbids)


def _reached(thing: object, seen: set[int]) -> Iterator[str]:
    """Names of the modules that a function is made of."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, ModuleType):
        yield thing.__name__
        return
    home = getattr(thing, "__module__", None)
    if isinstance(home, str):
        yield home
    if not isinstance(thing, FunctionType) or home != "__main__":
        return
    for name, imported in _names(thing.__code__):
        if imported:
            yield name
        elif name in thing.__globals__:
            yield from _reached(thing.__globals__[name], seen)
    for cell in thing.__closure__ or ():
        yield from _reached(_content(cell), seen)


def _names(code: CodeType) -> Iterator[tuple[str, bool]]:
    """(name, imported?) of every global and import in the code and in what is nested in it."""
    package = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            package = str(step.argval)
            yield package, True
        elif step.opname == "IMPORT_FROM":
            yield f"{package}.{step.argval}", True
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval), False
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None
