"""Everything in one folder: tables, figures, and a report in one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from onlinehash.paper.claims import Claim, claims
from onlinehash.paper.figures import Figure, figures
from onlinehash.paper.found import Found
from onlinehash.paper.jobs import Job
from onlinehash.paper.run import Results
from onlinehash.paper.sources import Setting
from onlinehash.paper.tables import Table, tables

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #ccc; --soft: #f4f4f4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --line: #444; --soft: #222; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; padding: .5rem; background: #fff; border-radius: 6px; }
figure svg { max-width: 100%; height: auto; }
.verdict { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 4px;
           background: var(--soft); font-size: .85rem; }
details { margin: .25rem 0 1rem; }
"""


def draw(jobs: Sequence[Job], settings: Sequence[Setting], results: Results, out: Path) -> Path:
    """Write tables (Markdown, CSV), figures (SVG, PNG), claims and the report; nothing is measured."""
    records = results.records()
    found = Found(jobs, records)
    of_tables, of_figures = tables(found, list(settings)), figures(found, settings)
    judged = claims(found, settings)
    out.mkdir(parents=True, exist_ok=True)
    for table in of_tables:
        (out / f"{table.name}.md").write_text(table.markdown())
        (out / f"{table.name}.csv").write_text(table.csv())
    for figure in of_figures:
        (out / f"{figure.name}.svg").write_text(figure.svg)
        (out / f"{figure.name}.png").write_bytes(figure.png)
    (out / "claims.md").write_text(claims_as_markdown(judged))
    report = out / "report.html"
    report.write_text(_html(found, judged, of_tables, of_figures))
    return report


def claims_as_markdown(judged: Sequence[Claim]) -> str:
    """The claims as a list."""
    parts = []
    for claim in judged:
        figures = "\n".join(f"  - {line}" for line in claim.figures)
        parts.append(f"- **{claim.says}: {claim.verdict}.**\n{figures}")
    return "\n".join(parts) + "\n"


def _html(
    found: Found, judged: Sequence[Claim], of_tables: Sequence[Table], of_figures: Sequence[Figure]
) -> str:
    machine = found.records[0]["machine"] if found.records else {}
    versions = ", ".join(f"{name} {value}" for name, value in machine.items())
    missing = f"<p><strong>{found.missing} measurements are missing.</strong></p>" if found.missing else ""
    body = [
        "<h1>Online hashing with efficient updating of binary codes: the paper, measured again</h1>",
        f"<p>{len(found.records)} measurements; {escape(versions)}.</p>{missing}",
        "<h2>The paper's claims</h2>" if judged else "",
        *(_claim(claim) for claim in judged),
        "<h2>Figures</h2>",
        *(_figure(figure) for figure in of_figures),
        "<h2>Tables</h2>",
        *(_table(table) for table in of_tables),
    ]
    head = f'<meta charset="utf-8"><title>onlinehash: the paper</title><style>{_STYLE}</style>'
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    content = "\n".join(body)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}{viewport}</head><body>\n{content}\n</body></html>\n'
    )


def _claim(claim: Claim) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in claim.figures)
    verdict = f'<span class="verdict">{claim.verdict}</span>'
    return (
        f"<p>{escape(claim.says)}: {verdict}</p><details><summary>figures</summary><ul>{lines}</ul></details>"
    )


def _figure(figure: Figure) -> str:
    svg = figure.svg[figure.svg.index("<svg") :]
    # ids are local to each drawing, and would clash in one page
    svg = svg.replace('id="', f'id="{figure.name}-').replace("url(#", f"url(#{figure.name}-")
    svg = svg.replace('href="#', f'href="#{figure.name}-')
    label = escape(figure.title)
    return (
        f'<h3>{label}</h3><p>{escape(figure.about)}</p><figure role="img" aria-label="{label}">{svg}</figure>'
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    drawn = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f"<h3>{escape(table.title)}</h3><p>{escape(table.about)}</p>{drawn}"
