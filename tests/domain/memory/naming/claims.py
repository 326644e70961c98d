"""Statements made of claims, from two pages in turn."""

from __future__ import annotations

from pipeline.domain.memory.values import Statement


def statements(*claims: str, same_page: bool = False, title: str = "") -> list[Statement]:
    pages = ("corpus:a.md", "corpus:a.md" if same_page else "corpus:b.md")
    return [
        Statement(fact=f"f{number}", claim=claim, quote=claim, url=pages[number % 2], digest="0" * 64, title=title, cited=True)
        for number, claim in enumerate(claims)
    ]
