"""The report as one page of HTML that needs nothing beside it."""

import base64
from collections.abc import Mapping
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt


def page(title: str, source: str, charts: Mapping[str, bytes]) -> str:
    """Return the page.

    Args:
        title: of its window.
        source: the report as Markdown; HTML in it is taken for text.
        charts: PNG files by name, each of which the source shows as NAME.png.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    for name, png in charts.items():  # no text has that: in texts, a quotation mark is an entity
        body = body.replace(
            f'src="{name}.png"', f'src="data:image/png;base64,{base64.b64encode(png).decode()}"'
        )
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
    return environment.get_template("page.html.j2").render(title=title, body=body)
