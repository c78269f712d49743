"""An evaluator of formula texts of the tests' own: exact fractions, nothing but arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
_CALLS: dict[str, Callable[..., Fraction]] = {
    "min": min,
    "max": max,
    "ceil": lambda a: Fraction(ceil(a)),
    "int": lambda a: Fraction(int(a)),
}


def evaluated(text: str, values: Mapping[str, int | float]) -> Fraction:
    """The number that a text means. Raises ValueError for anything but arithmetic."""
    plain = text.replace("·", "*").replace("×", "*").replace("−", "-")
    return _node(ast.parse(plain, mode="eval").body, values)


def symbols(text: str) -> set[str]:
    """The names in a text that stand for numbers."""
    plain = text.replace("·", "*").replace("×", "*").replace("−", "-")
    tree = ast.parse(plain, mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(_CALLS)


def _decimal(number: float) -> Fraction:
    """A number as it is written: 0.92 is 92 hundredths."""
    return Fraction(str(number))


def _node(node: ast.expr, values: Mapping[str, int | float]) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return _decimal(node.value)
    if isinstance(node, ast.Name):
        return _decimal(values[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_node(node.left, values), _node(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _CALLS[node.func.id](*(_node(each, values) for each in node.args))
    raise ValueError(f"{ast.dump(node)} is no arithmetic")
