"""What `mkdocs.yml` cannot say: MkDocs calls the functions `on_...` of this file while it builds the site.

They let pages link to files outside `docs`, list the frameworks' modules and the commands, link names to the
reference, and fail the build if a public name is not in the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from os.path import relpath
from pathlib import Path
from typing import Any

import griffe
from typer.testing import CliRunner

from groundjudge.cli.app import app

ROOT = Path(__file__).parents[1]
SOURCE = "https://github.com/groundjudge/groundjudge/blob/main"
LINK = re.compile(r"(?<=\]\()(?P<path>(?:\.\./)+[^)#]+)")
LOADED = re.compile(
    r'<(?:script|img|iframe)\b[^>]*\bsrc="?https?:[^>]*|<link\b(?![^>]*canonical)[^>]*https?:[^>]*'
)
"""What makes a browser ask another machine."""

SIGNATURE = re.compile(
    r'(?P<heading><h\d id="(?P<id>[^"]+)"(?:(?!<h\d ).)*?</h\d>\s*)'
    r'(?P<signature><div class="doc-signature[^"]*">.*?</div>)',
    re.DOTALL,
)
TAG = re.compile("<[^>]+>")
LONG = 200
"""Characters of a signature's arguments from which on they are shown only once on a page."""

NAME = re.compile(r"<code>(?P<name>[A-Z]\w+)</code>(?!</a>|</autoref>)")
COMMAND = re.compile(r"^  (\w[\w-]*)  ", re.MULTILINE)
EVERY_ADAPTER = "::: groundjudge.adapters.*\n"
EVERY_COMMAND = "::: groundjudge --help\n"
ADAPTER = """## {title}

`groundjudge.adapters.{name}`

::: groundjudge.adapters.{name}
    options: {{show_root_heading: false, show_root_toc_entry: false, heading_level: 3}}
"""
ALSO = {
    "deepeval": """### What all metrics have in common

::: groundjudge.adapters.deepeval._Metric
    options: {members: [], show_root_heading: false, show_root_toc_entry: false}
"""
}
"""What is said once for several names of an adapter."""
INTERNAL = {"groundjudge.case.case", "groundjudge.evidence", "groundjudge.lab.libraries"}
"""Modules whose `__all__` is for the library itself."""


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401  MkDocs has its own types
    """Link to the repository where a page names a file outside `docs`, and list adapters and commands."""
    folder = (ROOT / "docs" / page.file.src_uri).parent
    if EVERY_ADAPTER in markdown:
        markdown = markdown.replace(EVERY_ADAPTER, "\n".join(_sections_of_adapters()))
    if EVERY_COMMAND in markdown:
        markdown = markdown.replace(EVERY_COMMAND, "\n".join(_sections_of_commands()))
    return LINK.sub(lambda link: _address_in_repository(folder, link["path"]), markdown)


def _address_in_repository(folder: Path, link: str) -> str:
    """The address of a file outside `docs`; other links as they are, for MkDocs to check."""
    path = (folder / link).resolve()
    if path.is_relative_to(ROOT / "docs") or not path.is_relative_to(ROOT) or not path.exists():
        return link
    return f"{SOURCE}/{relpath(path, ROOT)}"


def _sections_of_adapters() -> Iterator[str]:
    for file in sorted((ROOT / "adapters").glob("[a-z]*.py")):
        framework = file.read_text(encoding="utf-8").partition(":")[0].strip('"')
        yield ADAPTER.format(name=file.stem, title=framework)
        yield ALSO.get(file.stem, "")


def _sections_of_commands(*names: str) -> Iterator[str]:
    """The help of a command, and of the commands in it."""
    text = CliRunner(env={"COLUMNS": "100"}).invoke(app, [*names, "--help"]).stdout
    yield f"## groundjudge {' '.join(names)}\n\n```text\n{text.strip()}\n```\n"
    for name in COMMAND.findall(text.partition("\nCommands:\n")[2]):
        yield from _sections_of_commands(*names, name)


def on_page_content(html: str, **_: object) -> str:
    """Show a long signature once, and link the names of public classes in texts to the reference."""
    heading_ids: dict[str, str] = {}
    html = SIGNATURE.sub(lambda signature: _show_once(signature, heading_ids), html)
    lines: list[str] = []
    for line in html.split("\n"):
        if "<h" in line:  # a link inside a heading would be in the table of contents too
            lines.append(line)
        else:
            lines.append(NAME.sub(_link_to_reference, line))
    return "\n".join(lines)


def _show_once(match: re.Match[str], heading_ids: dict[str, str]) -> str:
    """A heading and its signature, or a link to an earlier one with the same arguments.

    Args:
        match: what `SIGNATURE` found.
        heading_ids: the first heading with these arguments on the page, by the arguments; it is added to.
    """
    arguments = TAG.sub("", match["signature"]).partition("(")[2]
    first_id = heading_ids.setdefault(arguments, match["id"])
    if first_id == match["id"] or len(arguments) < LONG:
        return match[0]
    name = f'<a href="#{first_id}"><code>{first_id.rpartition(".")[2]}</code></a>'
    return f"{match['heading']}<p>The arguments are those of {name}.</p>"


def _link_to_reference(match: re.Match[str]) -> str:
    """The name of a class with a link to where the reference has it, if it is public."""
    name = match["name"]
    for module in ("groundjudge", "groundjudge.types", "groundjudge.replies"):
        if name in import_module(module).__all__:
            return f'<autoref identifier="{module}.{name}" optional>{match[0]}</autoref>'
    return match[0]


def on_env(env: object, config: Any, **_: object) -> object:  # noqa: ANN401
    """Fail unless the pages that are now rendered show every public name.

    Raises:
        SystemExit: a public name is on no page of the reference.
    """
    inventory = set(config.plugins["mkdocstrings"].handlers.inventory)
    package = griffe.load("groundjudge", search_paths=[ROOT / "src"], allow_inspection=False)
    missing_lines = [f"::: {name}" for name in public_names(package) if name not in inventory]
    if missing_lines:
        raise SystemExit("\n".join(["no page of docs/reference has these lines:", *missing_lines]))
    return env


def on_post_build(config: Any, **_: object) -> None:  # noqa: ANN401
    """Fail if a page would load something from elsewhere.

    Raises:
        SystemExit: one does; the message names it.
    """
    for file in Path(config.site_dir).rglob("*.html"):
        match = LOADED.search(file.read_text(encoding="utf-8"))
        if match:
            raise SystemExit(f"{file} loads from elsewhere: {match[0]}")  # noqa: EM102, TRY003  it is read by people


def public_names(package: griffe.Object | griffe.Alias) -> Iterator[str]:
    """The names in the `__all__` of every public module, each with the path of its module.

    A function with the name of its file is found inside it: `groundjudge.judging.panel.panel`.
    """
    exports = package.exports or ()
    if package.path in INTERNAL:
        exports = ()
    for export in exports:
        name = str(export)
        if name in package.modules:
            yield f"{package.path}.{name}.{name}"
        else:
            yield f"{package.path}.{name}"
    for module in package.modules.values():
        if not module.is_alias:
            yield from public_names(module)
