"""The syntax of Obsidian's bases as models; written from the format, not from what makes our files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

Id = Annotated[str, StringConstraints(min_length=1)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
