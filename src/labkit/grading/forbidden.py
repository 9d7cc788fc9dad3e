"""Whether an answer imports what it was to be written without, told from its text alone.

Followed are the names that the answer reaches: its own cell, the functions it calls, the imports
they use. A demonstration of the engine elsewhere in the notebook is nobody's offence.
"""

from __future__ import annotations

import ast
import builtins
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.grading.scopes import bound_names, free_names

# The root package gives these names on first use; `from labkit import estimate` hides a module.
ROOT_NAMES: Mapping[str, str] = {
    "Catalog": "labkit.catalog",
    "ModelSpec": "labkit.catalog",
    "EngineConfig": "labkit.sizing",
    "Estimate": "labkit.sizing",
    "SLO": "labkit.sizing",
    "Workload": "labkit.sizing",
    "estimate": "labkit.sizing",
    "explain": "labkit.sizing",
    "plot_frontier": "labkit.sizing.frontier",
    "recommend": "labkit.sizing",
    "sweep": "labkit.sizing",
    "what_if": "labkit.sizing",
    "bench": "labkit.bench",
}
_RUNS_PYTHON = re.compile(r"%%(time|timeit|prun|capture|python3?)\b")
_LINE_MAGIC = re.compile(r"^([ \t]*)%(?:time|timeit|prun)[ \t]+(?:-\S+[ \t]+\d*[ \t]*)*(.*)$", re.M)
_OTHER_MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|.*\?)$", re.M)
_ASSIGNED_MAGIC = re.compile(r"(=[ \t]*)[%!].*$", re.M)
_BUILTINS = frozenset(dir(builtins))
# Ways to reach any module by a name that no reader of the text can see.
_BACK_DOORS = frozenset(
    {"__import__", "importlib", "exec", "eval", "compile", "globals", "get_ipython", "pkgutil"}
)
# What is said to be used where a cell cannot be read at all.
UNREADABLE = "code that is nested too deeply to be read"
# CPython counts the depth of all threads' parses in one place (python/cpython#106905): two at once
# can make each other fail, with a SystemError or as if the code were nested too deeply.
_PARSING = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Unit:
    """One statement at the top of a cell (of an import: one name of it)."""

    binds: frozenset[str]
    uses: frozenset[str]
    imports: frozenset[str]  # modules and module members, dotted
    dotted: frozenset[str]  # attribute chains, "labkit.sizing.roofline"
    aliases: frozenset[tuple[str, str]]  # ("lk", "labkit") of `import labkit as lk`
    cell: int


def forbidden_use(
    sources: Sequence[str], starts: Iterable[int], names: Iterable[str], forbids: Iterable[str]
) -> str | None:
    """The forbidden module (or back door) that the answer reaches; None where there is none.

    `sources` are the code cells, `starts` the positions of the answer's own cells, `names` what
    the answer is called. A cell that is no Python is passed over: it does not run either. One that
    is nested too deeply may well run, since the depth left differs: it is UNREADABLE.
    """
    try:
        units = [unit for i, source in enumerate(sources) for unit in _units(source, i)]
    except RecursionError:
        return UNREADABLE
    reached = _reach(units, frozenset(starts), frozenset(names))
    modules = list(forbids)
    aliases = {alias: name for unit in units for alias, name in unit.aliases}
    for unit in reached:
        targets = unit.imports | {_resolve(dotted, aliases) for dotted in unit.dotted}
        for module in modules:
            if any(_is_inside(target, module) for target in targets):
                return module
        doors = unit.uses & _BACK_DOORS | targets & {"sys.modules"}
        if doors:
            return min(doors)
    return None


def _reach(units: Sequence[_Unit], starts: frozenset[int], names: frozenset[str]) -> list[_Unit]:
    known = frozenset().union(*(unit.binds for unit in units)) | _BUILTINS
    todo = [u for u in units if u.cell in starts or u.binds & names]
    reached: dict[int, _Unit] = {}
    while todo:
        unit = todo.pop()
        if id(unit) in reached:
            continue
        reached[id(unit)] = unit
        # A name that nothing binds may come from any star import, which binds "*".
        wanted = unit.uses | {"*"} if unit.uses - known else unit.uses
        todo += [u for u in units if u.binds & wanted]
    return list(reached.values())


def _units(source: str, cell: int) -> Iterator[_Unit]:
    for statement in _parse(source):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from _import_units(statement, cell)
            continue
        inner = [n for n in ast.walk(statement) if isinstance(n, (ast.Import, ast.ImportFrom))]
        hidden = [unit for node in inner for unit in _import_units(node, cell)]
        yield _Unit(
            binds=frozenset(bound_names(statement)),
            uses=frozenset(free_names(statement)),
            imports=frozenset(target for unit in hidden for target in unit.imports),
            dotted=frozenset(_chains(statement)),
            aliases=frozenset(pair for unit in hidden for pair in unit.aliases),
            cell=cell,
        )


def _parse(source: str) -> list[ast.stmt]:
    """The statements of a cell: as Python, else without its magics, else as IPython reads it."""
    for read in (str, without_magics, _as_ipython):
        try:
            with _PARSING:
                return ast.parse(read(source)).body
        except (SyntaxError, ValueError, MemoryError):
            continue
    return []


def without_magics(source: str) -> str:
    """The Python in a cell with magics: what `%time` and `%%timeit` run stays, the rest goes.

    >>> without_magics("%%time\\nx = 1\\n%timeit -n 3 f(x)\\n!ls")
    '\\nx = 1\\nf(x)\\npass'
    """
    head, newline, rest = source.lstrip().partition("\n")
    if head.startswith("%%"):
        if not _RUNS_PYTHON.match(head):
            return ""
        source = newline + rest
    source = _LINE_MAGIC.sub(r"\1\2", source)
    source = _OTHER_MAGIC.sub(r"\1pass", source)
    return _ASSIGNED_MAGIC.sub(r"\1None", source)


def _as_ipython(source: str) -> str:
    from IPython.core.inputtransformer2 import TransformerManager

    transformer: Any = TransformerManager  # IPython's own code is not annotated
    text: str = transformer().transform_cell(source)
    return text


def _import_units(node: ast.Import | ast.ImportFrom, cell: int) -> Iterator[_Unit]:
    for alias in node.names:
        head = alias.name.split(".")[0]
        bound = alias.asname or head
        if isinstance(node, ast.ImportFrom):
            target = _member(node.module or "", alias.name)
        else:
            target = alias.name
        yield _Unit(
            binds=frozenset([bound]),
            uses=frozenset([target.split(".")[0]]),
            imports=frozenset([target]),
            dotted=frozenset(),
            aliases=frozenset([(bound, target)] if alias.asname else []),
            cell=cell,
        )


def _member(module: str, name: str) -> str:
    if module == "labkit" and name in ROOT_NAMES:
        return f"{ROOT_NAMES[name]}.{name}"
    return module if name == "*" else f"{module}.{name}"


def _chains(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            yield ".".join([inner.id, *reversed(parts)])


def _resolve(dotted: str, aliases: Mapping[str, str]) -> str:
    """`lk.estimate` → `labkit.sizing.estimate`, by way of `import labkit as lk`."""
    head, _, rest = dotted.partition(".")
    full = f"{aliases.get(head, head)}.{rest}"
    module, _, name = full.partition(".")
    return _member(module, name) if module == "labkit" and "." not in name else full


def _is_inside(target: str, module: str) -> bool:
    return target == module or target.startswith(f"{module}.")
