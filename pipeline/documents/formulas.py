"""MathML → one line of text: the TeX that the page gives, else ``a/b``, ``x^2`` and ``x_i``."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

_DEEPEST = 60


def formula(math: LexborNode) -> str:
    """Return a ``math`` element as one line."""
    for node in math.css("[encoding]"):
        if _name(node) == "annotation" and "tex" in (node.attributes.get("encoding") or "").lower():
            return " ".join(node.text(deep=True).split())
    said = math.attributes.get("alttext") or ""
    return " ".join((said or _plain(math, 0)).split())


def _name(node: LexborNode) -> str:
    """Return an element's name without the prefix that XHTML may give it: ``m:mfrac``."""
    return (node.tag or "").rpartition(":")[2]


def _plain(node: LexborNode, depth: int) -> str:
    tag = _name(node)
    if tag == "-text":
        return (node.text_content or "").strip()
    if depth > _DEEPEST:
        return f" {node.text(deep=True, separator=' ')} "
    parts = [_plain(child, depth + 1) for child in node.iter(include_text=tag in ("mi", "mn", "mo", "mtext", "ms"))]
    match tag, parts:
        case (("annotation" | "annotation-xml" | "mphantom"), _):
            return ""
        case "mfrac", [above, below]:
            return f"{_group(above)}/{_group(below)}"
        case (("msup" | "mover"), [base, above]):
            return f"{_group(base)}^{_group(above)}"
        case (("msub" | "munder"), [base, below]):
            return f"{_group(base)}_{_group(below)}"
        case (("msubsup" | "munderover"), [base, below, above]):
            return f"{_group(base)}_{_group(below)}^{_group(above)}"
        case "msqrt", _:
            return f"√({''.join(parts)})"
        case "mroot", [base, degree]:
            return f"{_group(base)}^(1/{_group(degree)})"
        case "mfenced", _:
            return f"({', '.join(parts)})"
        case (("mtd" | "mspace"), _):
            return f"{''.join(parts)} "
        case "mtr", _:
            return f"{''.join(parts).strip()}; "
        case "mo", [sign] if sign in ("=", "<", ">", "≤", "≥", "≈", "≠", "∈", "→", "+", "−", "±"):
            return f" {sign} "
        case _:
            return "".join(parts)


def _group(part: str) -> str:
    part = part.strip()
    simple = len(part) == 1 or part.isalnum() or part.replace(".", "", 1).isdigit()
    return part if simple else f"({part})"
