"""The site's templates can be written from their README alone."""

from __future__ import annotations

from dataclasses import is_dataclass
from inspect import getmembers, signature

import pytest

from pipeline.site import pages
from tests.site.scratch import TEMPLATES


@pytest.mark.parametrize("value", [one for _, one in getmembers(pages, is_dataclass) if one.__module__ == pages.__name__])
def test_every_name_that_a_template_is_given_is_told(value: type) -> None:
    told = (TEMPLATES / "README.md").read_text()
    assert [name for name in signature(value).parameters if f"`{name}`" not in told] == []


def test_every_template_is_told() -> None:
    told = (TEMPLATES / "README.md").read_text()
    assert [path.name for path in TEMPLATES.glob("*.j2") if f"`{path.name}`" not in told] == []
