"""Conditions of roff's ``.if`` and ``.ie``, evaluated as nroff does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

_NAMED = re.compile(r"([drcmFS])[ \t]*(\S{1,60})[ \t]*|([notev])(?![\w.])[ \t]*")
_TOKEN = re.compile(r"(\d{1,9}(?:\.\d{0,9})?)[icpPmnsuvMfz]?|(<=|>=|==|<>|[-+*/%<>=&:()])")
_LONGEST = 200
_DEEPEST = 20


def evaluate(text: str, names: Collection[str], registers: Mapping[str, int]) -> tuple[bool, str]:
    """Return whether the condition at the start of ``text`` holds, and the text after it. An unknown condition does not hold."""
    text = text.lstrip()
    negated = False
    while text.startswith("!"):
        text, negated = text[1:].lstrip(), not negated
    holds, rest = _evaluate_simple(text, names, registers)
    return holds != negated, rest


def _evaluate_simple(text: str, names: Collection[str], registers: Mapping[str, int]) -> tuple[bool, str]:
    if found := _NAMED.match(text):
        if found[3]:
            return found[3] in "no", text[found.end() :]
        known = registers if found[1] == "r" else names
        return found[1] in "dr" and found[2] in known, text[found.end() :]
    if text[:1] and not text[0].isalnum() and text[0] not in "(+-.\\":
        parts = text.split(text[0], 3)
        return (parts[1] == parts[2], parts[3]) if len(parts) == 4 else (False, "")
    return _evaluate_number(text)


def _evaluate_number(text: str) -> tuple[bool, str]:
    tokens: list[str] = []
    at = depth = 0
    while at < min(len(text), _LONGEST) and (found := _TOKEN.match(text, at)):
        depth += (found[2] == "(") - (found[2] == ")")
        tokens.append(found[1] or found[2])
        at = found.end()
        while depth > 0 and at < len(text) and text[at] == " ":
            at += 1
    rest = text[at:] if text[at : at + 1] in (" ", "\t", "\\", "") or at else text.partition(" ")[2]
    return (_value(iter(tokens), 0) > 0 if tokens else False), rest


def _value(tokens: Iterator[str], depth: int) -> float:
    """Return the value of an expression up to its closing bracket. As in roff, operators have no precedence."""
    total, operator = 0.0, "+"
    for part in tokens:
        if part == ")" or depth > _DEEPEST:
            break
        if part == "(" or part[0].isdigit():
            number = _value(tokens, depth + 1) if part == "(" else float(part)
            total, operator = _apply(total, operator, number), "+"
        else:
            operator = part
    return total


def _apply(left: float, operator: str, right: float) -> float:
    if operator in ("/", "%"):
        return 0.0 if not right else left / right if operator == "/" else left % right
    results = {
        "+": left + right, "-": left - right, "*": left * right, "<": left < right, ">": left > right, "<=": left <= right,
        ">=": left >= right, "=": left == right, "==": left == right, "<>": left != right,
        "&": left > 0 and right > 0, ":": left > 0 or right > 0,
    }  # fmt: skip
    return float(results.get(operator, 0.0))
