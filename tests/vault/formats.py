"""JSON Canvas 1.0 and the syntax of Obsidian's bases as models; written from the formats, not from what makes our files."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

Id = Annotated[str, StringConstraints(min_length=1)]
Colour = Annotated[str, StringConstraints(pattern=r"^([1-6]|#[0-9A-Fa-f]{6})$")]
Side = Literal["top", "right", "bottom", "left"]
End = Literal["none", "arrow"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Node(Strict):
    id: Id
    x: int
    y: int
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    color: Colour | None = None

    def covers(self, other: _Node) -> bool:
        across = self.x < other.x + other.width and other.x < self.x + self.width
        return across and self.y < other.y + other.height and other.y < self.y + self.height

    def holds(self, other: _Node) -> bool:
        across = self.x <= other.x and other.x + other.width <= self.x + self.width
        return across and self.y <= other.y and other.y + other.height <= self.y + self.height


class TextNode(_Node):
    type: Literal["text"]
    text: str


class FileNode(_Node):
    type: Literal["file"]
    file: Annotated[str, StringConstraints(pattern=r"^[^/].*\.[a-z]+$")]
    subpath: Annotated[str, StringConstraints(pattern=r"^#")] | None = None


class LinkNode(_Node):
    type: Literal["link"]
    url: str


class GroupNode(_Node):
    type: Literal["group"]
    label: str | None = None
    background: str | None = None
    backgroundStyle: Literal["cover", "ratio", "repeat"] | None = None  # noqa: N815


class CanvasEdge(Strict):
    id: Id
    fromNode: Id  # noqa: N815
    toNode: Id  # noqa: N815
    fromSide: Side | None = None  # noqa: N815
    toSide: Side | None = None  # noqa: N815
    fromEnd: End | None = None  # noqa: N815
    toEnd: End | None = None  # noqa: N815
    color: Colour | None = None
    label: str | None = None


class Canvas(Strict):
    """A whole canvas; beyond the format: no id twice, no edge into nothing, no two things in one place."""

    generated: str = ""
    nodes: list[Annotated[TextNode | FileNode | LinkNode | GroupNode, Field(discriminator="type")]] = []
    edges: list[CanvasEdge] = []

    @model_validator(mode="after")
    def _sound(self) -> Canvas:
        ids = Counter([*(node.id for node in self.nodes), *(edge.id for edge in self.edges)])
        assert max(ids.values(), default=1) == 1, f"an id twice: {ids.most_common(1)}"
        known = {node.id for node in self.nodes}
        assert {end for edge in self.edges for end in (edge.fromNode, edge.toNode)} <= known, "an edge into nothing"
        for one, other in combinations(self.nodes, 2):
            group = next((node for node in (one, other) if isinstance(node, GroupNode)), None)
            inside = group is not None and type(one) is not type(other) and group.holds(other if group is one else one)
            assert inside or not one.covers(other), f"{one.id} and {other.id} in one place"
        return self


PropertyId = Annotated[str, StringConstraints(pattern=r"^(note|file|formula)\.[A-Za-z_][A-Za-z0-9_]*$")]
Expression = Annotated[str, StringConstraints(min_length=1)]
SUMMARIES = (
    "Average", "Min", "Max", "Sum", "Range", "Median", "Stddev", "Earliest", "Latest", "Checked", "Unchecked", "Empty",
    "Filled", "Unique",
)  # fmt: skip


class Filter(Strict):
    """One of and, or, not, over expressions and further filters."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    all_of: list[Expression | Filter] | None = Field(None, alias="and")
    any_of: list[Expression | Filter] | None = Field(None, alias="or")
    none_of: list[Expression | Filter] | None = Field(None, alias="not")

    @model_validator(mode="after")
    def _one(self) -> Filter:
        assert sum(part is not None for part in (self.all_of, self.any_of, self.none_of)) == 1
        return self

    def expressions(self) -> list[str]:
        parts = self.all_of or self.any_of or self.none_of or []
        return [words for part in parts for words in ([part] if isinstance(part, str) else part.expressions())]


class Shown(Strict):
    displayName: str  # noqa: N815


class Order(Strict):
    property: PropertyId
    direction: Literal["ASC", "DESC"]


class View(Strict):
    type: Literal["table", "cards", "list"]
    name: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^#|\[\]^]+$")]
    filters: Expression | Filter | None = None
    groupBy: Order | None = None  # noqa: N815
    order: list[PropertyId] = []
    sort: list[Order] = []
    summaries: dict[PropertyId, Literal[SUMMARIES]] = {}  # type: ignore[valid-type]
    limit: Annotated[int, Field(gt=0)] | None = None
    columnSize: dict[PropertyId, int] = {}  # noqa: N815


class Base(Strict):
    filters: Expression | Filter | None = None
    formulas: dict[str, Expression] = {}
    properties: dict[PropertyId, Shown] = {}
    views: Annotated[list[View], Field(min_length=1)]

    @model_validator(mode="after")
    def _sound(self) -> Base:
        names = [view.name for view in self.views]
        assert len(set(names)) == len(names), "two views of one name"
        formulas = {name.removeprefix("formula.") for name in self.named() if name.startswith("formula.")}
        assert formulas <= self.formulas.keys(), "a formula that is not there"
        return self

    def named(self) -> set[str]:
        """The ids of all properties that it speaks of outside of expressions."""
        in_views = (
            {*view.order, *(key.property for key in view.sort), *view.summaries, *view.columnSize,
             *([view.groupBy.property] if view.groupBy else [])}
            for view in self.views
        )  # fmt: skip
        return {*self.properties, *(name for names in in_views for name in names)}

    def expressions(self) -> list[str]:
        filters = [self.filters, *(view.filters for view in self.views)]
        parts = [[each] if isinstance(each, str) else each.expressions() for each in filters if each is not None]
        return [*self.formulas.values(), *(words for words_of in parts for words in words_of)]


_BASE: TypeAdapter[Base] = TypeAdapter(Base)


def base_of(text: str) -> Base:
    found: Any = yaml.safe_load(text)
    return _BASE.validate_python(found)
