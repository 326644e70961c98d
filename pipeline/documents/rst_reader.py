"""reStructuredText → page: docutils parses it, and what it finds goes through the HTML reader.

Sphinx and its extensions have many more directives and roles than docutils knows. What is in one is text whatever its name;
directives that hold code, or no text, are listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from html import escape
from typing import Any, ClassVar, cast

from docutils import nodes, utils
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, roles
from docutils.statemachine import StringList
from docutils.transforms.references import Footnotes, Substitutions

from pipeline.documents.html_reader import BOXES, DIAGRAMS, read_html
from pipeline.documents.page_writer import squash
from pipeline.ports import Page

_STANDARD = ("table", "list-table", "csv-table", "replace", "unicode")  # read as docutils does
_CODE = (
    "code", "code-block", "sourcecode", "parsed-literal", "prompt", "console", "math", "doctest", "testcode", "productionlist",
)  # fmt: skip
_WITHOUT_TEXT = ("contents", "toctree", "raw", "index", "meta", "highlightlang", "autosummary", "testsetup", "testcleanup")
_ABOUT = ("figure", "only", "ifconfig", "container", "class", "rst-class", "cssclass", "grid")  # the argument is no text
# Whose argument is the beginning of the text; that of others is the term that their content defines.
_VERSIONS = {
    "versionadded": "Added in version", "versionchanged": "Changed in version", "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}  # fmt: skip
_VALUES = ("type", "default", "value")  # the options of a description that Sphinx shows
# Where docutils' names of a document's parts are not HTML's: the element.
_TAGS = {
    "title": "p", "paragraph": "p", "line": "p", "attribution": "p", "block_quote": "blockquote", "literal_block": "pre",
    "doctest_block": "pre", "bullet_list": "ul", "enumerated_list": "ol", "list_item": "li", "definition_list": "dl",
    "term": "dt", "classifier": "dt", "definition": "dd", "footnote": "dl", "citation": "dl", "label": "dt",
    "field_list": "dl", "field_name": "dt", "field_body": "dd", "option_list": "dl", "option_group": "dt", "description": "dd",
    "table": "table", "row": "tr", "entry": "td",
}  # fmt: skip
_ERROR = 3  # docutils' level of a message that holds what could not be read as markup


class _AnyDirective(Directive):
    """A directive of any name, with any options: its code, or its argument and content as text."""

    has_content, optional_arguments, final_argument_whitespace = True, 1, True
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = defaultdict(
        lambda: directives.unchanged, name=directives.unchanged
    )

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        if name in _WITHOUT_TEXT or name in DIAGRAMS:
            return []
        if name in _CODE:
            said = "".join(self.arguments).split("\n")  # code without a blank line before it counts as argument, too
            named = name != "math" and bool(self.block_text.partition("\n")[0].partition("::")[2].strip())
            return [nodes.literal_block("", "\n".join([*said[named:], *self.content]).strip("\n"))]
        argument = "" if name in _ABOUT else "".join(self.arguments)
        lines = [f":{key}: {self.options[key]}" for key in _VALUES if self.options.get(key)]
        if name in _VERSIONS:
            number, text = (*argument.split(None, 1), "", "")[:2]
            argument = f"{_VERSIONS[name]} {number}: {text}".rstrip(": ")
        elif not self.content and not lines and not any(map(str.isspace, argument)):
            return []  # a setting, a file, a picture
        is_term = bool(argument and (self.content or lines)) and name not in BOXES and name not in _VERSIONS
        lines = [*lines, "", *self.content] if is_term else [*argument.split("\n"), "", *self.content]
        block = nodes.definition() if is_term else nodes.container()
        self.state.nested_parse(StringList(lines), self.content_offset, block, match_titles=True)
        if not is_term:
            return block.children
        terms = []
        for line in map(str.strip, argument.split("\n")):  # a title may have marks; stars of a signature are none
            parsed, faults = self.state.inline_text(line, self.lineno) if "`" in line or "|" in line else ([], [])
            terms.append(nodes.term("", "", *parsed) if parsed and not faults else nodes.term("", line))
        return [nodes.definition_list("", nodes.definition_list_item("", *terms, block))]


def _role(_name: str, _source: str, text: str, *_about: object) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the text of a role of any name; of "words <target>" the words."""
    return [nodes.Text(utils.unescape(text.partition(" <")[0] if text.endswith(">") else text))], []


# docutils has no other way to read names that it does not know; Sphinx does the same.
_standard_directive = directives.directive
directives.directive = lambda name, *about: _standard_directive(name, *about) if name in _STANDARD else (_AnyDirective, [])
roles.role = cast(Any, lambda *_about: (_role, []))


def read_rst(source: str, name: str) -> Page:
    """Return the document in ``source``; ``name`` is the title if it has no section.

    Raises:
        ReadFailed: it holds no text.
    """
    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = 6  # no message is printed or ends the reading
    settings.file_insertion_enabled, settings.line_length_limit = False, len(source)
    document = utils.new_document(name, settings)
    Parser().parse(source, document)
    for transform in (Substitutions, Footnotes):
        transform(document).apply()
    section = document.next_node(nodes.section)
    title = squash(section[0].astext() if section else "") or name
    return read_html(f"<title>{escape(title)}</title><body>{_html(document, 0)}", title, all_is_content=True)


def _html(node: nodes.Node, level: int) -> str:
    """Return the HTML of ``node``; ``level`` is how many sections it is in."""
    if not isinstance(node, nodes.Element):
        return escape(node.astext())
    kind = node.tagname
    if kind in ("comment", "substitution_definition") or (kind == "system_message" and node["level"] < _ERROR):
        return ""
    parts = node.findall(nodes.literal_block) if kind == "system_message" else node.children
    text = "".join(_html(part, level + (kind == "section")) for part in parts)
    text = escape(node.astext()) if kind == "option_group" else text
    tag = f"h{min(level, 6)}" if kind == "title" and isinstance(node.parent, nodes.section) else _TAGS.get(kind, "")
    text = f"[{text}]" if kind in ("label", "citation_reference", "footnote_reference") else text
    return f"<{tag}>{text}</{tag}>" if tag else text
