"""Write the report of a run into its directory."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import jinja2
import msgspec
from markdown_it import MarkdownIt

from nncache.bench.report.charts import CHARTS, as_png
from nncache.bench.report.finding import workload_name
from nncache.bench.report.table import as_markdown
from nncache.bench.shared.driver import Figure
from nncache.bench.shared.figures import RunFigures

FIGURES: Final = "figures.json"


def write_report(directory: Path, run: RunFigures, checks: tuple[Figure, ...]) -> None:
    """Write charts, page, README.md and figures.json into the directory, which is made if it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FIGURES).write_bytes(msgspec.json.encode(run) + b"\n")
    charts = {name: as_png(draw(run)) for name, draw in CHARTS.items()}
    for name, png in charts.items():
        (directory / f"{name}.png").write_bytes(png)
    readme = as_markdown(run, checks)
    (directory / "README.md").write_text(readme, encoding="utf-8")
    html = page(f"{workload_name(run.info)}, {run.info.date}", readme, charts)
    (directory / "report.html").write_text(html, encoding="utf-8")


def page(title: str, source: str, charts: Mapping[str, bytes]) -> str:
    """Return the report as one page of HTML that needs nothing beside it.

    HTML in its source is taken for text; the charts are PNG files by name, each of which the source shows as NAME.png.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    for name, png in charts.items():  # no text has that: in texts, a quotation mark is an entity
        inline = f'src="data:image/png;base64,{base64.b64encode(png).decode()}"'
        body = body.replace(f'src="{name}.png"', inline)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
    return environment.get_template("page.html.j2").render(title=title, body=body)
