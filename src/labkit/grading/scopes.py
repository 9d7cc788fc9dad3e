"""Which names a statement takes from the notebook and which it leaves there, read from its text.

A function's own variables are its own: that two functions both say `model` connects nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def bound_names(statement: ast.stmt) -> set[str]:
    """Names that the statement binds in the notebook itself, not inside a function or class."""
    return {name for node in _same_scope(statement) for name in _binds(node)}


def free_names(statement: ast.stmt) -> set[str]:
    """Names that the statement looks up in the notebook, also from inside its functions."""
    return _free([statement], frozenset())


def _free(nodes: list[ast.AST], own: frozenset[str]) -> set[str]:
    """Names used in this scope or in one inside it, and defined in neither."""
    inside = [node for root in nodes for node in _same_scope(root)]
    used = {n.id for n in inside if isinstance(n, ast.Name)}
    for scope in (node for node in inside if isinstance(node, _SCOPES)):
        body, outside = _split(scope)
        here = [node for root in body for node in _same_scope(root)]
        declared = {n for node in here if isinstance(node, ast.Global) for n in node.names}
        locals_ = {name for node in here for name in _binds(node)} | _parameters(scope)
        used |= _free(body, frozenset(locals_ - declared)) | _free(outside, frozenset())
    return used - own


def _split(scope: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """What runs inside a scope, and what runs where it is defined: decorators, defaults, bases."""
    children = list(ast.iter_child_nodes(scope))
    if isinstance(scope, _FUNCTIONS):
        body = scope.body if isinstance(scope.body, list) else [scope.body]
        return list(body), [child for child in children if child not in body]
    if isinstance(scope, ast.ClassDef):
        return list(scope.body), [child for child in children if child not in scope.body]
    return children, []


def _parameters(scope: ast.AST) -> set[str]:
    if not isinstance(scope, _FUNCTIONS):
        return set()
    return {node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg)}


def _same_scope(root: ast.AST) -> Iterator[ast.AST]:
    """The node and everything below it, but nothing inside an inner scope."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += list(ast.iter_child_nodes(node))


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.split(".")[0]
