"""``without_blocks``: a note's Markdown without what leads to notes that are left out.

An entry of a list goes with all that is below it, a heading with its section, a row of a table alone, a callout as a whole. So
what one note says of another goes together with the link to it. Of links in a row behind a colon each goes alone. A heading goes
with the last entry of the list below it, and so does an entry without a link.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

UNNAMED = "a note that is not published"
Hides = Callable[[str], bool]
_MARKERS = ("- ", "* ", "+ ")


def targets_of(text: str) -> Iterator[str]:
    """Yield what the wikilinks and Markdown links of a text lead to, without heading, words and suffix."""
    for part in text.split("[[")[1:]:
        inside = part.partition("]]")[0]
        yield inside.partition("|")[0].partition("#")[0].rstrip("\\").removesuffix(".md")
    for part in text.split("](")[1:]:
        yield part.partition(")")[0].strip("<>").partition("#")[0].removesuffix(".md")


def blocks_cited(text: str) -> Iterator[str]:
    """Yield the ids of the blocks that the wikilinks of a text lead to."""
    for part in text.split("#^")[1:]:
        yield part.partition("]]")[0].partition("|")[0].rstrip("\\")


def without_blocks(text: str, hides: Hides, *, own: bool = False, cited: Container[str] = ()) -> str:
    """Return a Markdown text without the blocks that lead to a note that ``hides`` knows, by a link's target.

    ``own``: a person wrote it, so that a paragraph stays; only the link in it becomes ``UNNAMED``. So do links in quotes whose
    ids are ``cited`` elsewhere, and in the headings above them.
    """
    lines = text.split("\n")
    kept: set[int] = set()
    for place, line in enumerate(lines):
        if line.startswith("^") and line[1:].strip() in cited:
            first = place - 1
            while first > 0 and lines[first - 1].startswith(">"):
                first -= 1
            kept.update(range(first, place + 1))
    dropped: set[int] = set()
    for place, line in enumerate(lines):
        if place in dropped or not any(map(hides, targets_of(line))):
            continue
        if not own and (rest := _rest_of_row(line, hides)):
            lines[place] = rest
            continue
        span = [] if place in kept else _span(lines, place, own)
        if kept.isdisjoint(span):
            dropped.update(span)
        else:
            dropped.update(number for number in span if number != place and number not in kept and lines[number].strip())
        if place not in dropped:
            lines[place] = _unnamed(line, hides)
    holders = [place for place, line in enumerate(lines) if line.startswith("##") or (_depth(line) == 0 and "[[" not in line)]
    for place in [] if own else reversed(holders):
        above = -1 if lines[place].startswith("#") else 0
        below = [number for number in range(place + 1, len(lines)) if lines[number].strip()]
        left = next((lines[number] for number in below if number not in dropped), "")
        if below and below[0] in dropped and _depth(lines[below[0]]) > above and not _depth(left) > above:
            dropped.add(place)
    return "\n".join(line for place, line in enumerate(lines) if place not in dropped)


def _span(lines: Sequence[str], place: int, own: bool) -> range:
    """The lines of the block around a line; none if a person's paragraph stays."""
    mark, rest = _parted(lines[place])
    if rest.startswith("#"):
        level = len(rest) - len(rest.lstrip("#"))

        def ends(line: str) -> bool:
            bare = line.lstrip("#")
            return line.startswith("%% ") or (bare.startswith(" ") and 0 < len(line) - len(bare) <= level)

        return range(place, _until(lines, place, ends))
    if rest.lstrip().startswith("|"):
        return range(place, place + 1)
    start = place
    while start >= 0 and (not lines[start].strip() or (_parted(lines[start])[1][:1].isspace() and _depth(lines[start]) < 0)):
        start -= 1
    if start >= 0 and _depth(lines[start]) >= 0 and _parted(lines[start])[0] == mark:
        indent = " " * (_depth(lines[start]) + 1)

        def ends_item(line: str) -> bool:
            found, rest = _parted(line)
            return found != mark or bool(rest.strip() and not rest.expandtabs(4).startswith(indent))

        end = _until(lines, start, ends_item)
        while not lines[end - 1].strip("> "):
            end -= 1  # what follows the list stands apart from what is left of it
        return range(start, end)
    inside = (lambda line: line.startswith(">")) if mark else lambda line: bool(line.strip())
    first = place
    while first > 0 and inside(lines[first - 1]):
        first -= 1
    last = _until(lines, place, lambda line: not inside(line))
    named = last + 1 < len(lines) and not lines[last] and lines[last + 1].startswith("^")
    return range(first, last + 2 if named else last) if mark or not own else range(0)


def _parted(line: str) -> tuple[str, str]:
    """The marks of the quotes that a line is in, and the rest of it."""
    rest = line.lstrip("> ") if line.startswith(">") else line
    mark = line[: len(line) - len(rest)]
    indent = mark[mark.rfind(">") + 2 :] if mark else ""
    return mark.replace(" ", ""), indent + rest


def _depth(line: str) -> int:
    """How far the entry of a list is indented that a line begins; -1 if it begins none."""
    rest = _parted(line)[1].expandtabs(4)
    number, dot, _ = rest.lstrip().partition(". ")
    is_item = rest.lstrip().startswith(_MARKERS) or (dot and number.isdecimal())
    return len(rest) - len(rest.lstrip()) if is_item else -1


def _rest_of_row(line: str, hides: Hides) -> str:
    """A line of links in a row behind a colon without those that are left out, and what is in brackets behind them; "" if it is
    another, or none would stay."""
    lead, colon, row = line.partition(": [[")
    links = row.split(" · [[")
    left = [link for link in links if not hides(next(targets_of(f"[[{link}")))]
    is_row = colon and all("]]" in link and link.partition("]]")[2][:2] in ("", " (") for link in links)
    return f"{lead}{colon}{' · [['.join(left)}" if is_row and left else ""


def _until(lines: Sequence[str], place: int, ends: Callable[[str], bool]) -> int:
    return next((number for number in range(place + 1, len(lines)) if ends(lines[number])), len(lines))


def _unnamed(line: str, hides: Hides) -> str:
    """A line in which each link to a note that is left out is plain words."""
    first, *parts = line.split("[[")
    for part in parts:
        inside, _, after = part.partition("]]")
        first += f"{UNNAMED}{after}" if hides(next(targets_of(f"[[{inside}]]"))) else f"[[{part}"
    head, *rest = first.split("](")
    for part in rest:
        inside, _, after = part.partition(")")
        if hides(next(targets_of(f"]({inside})"))):
            head = f"{head.rpartition('[')[0]}{UNNAMED}{after}"
        else:
            head += f"]({part}"
    return head
