"""``onlinehash paper``: the paper's tables and figures, measured and drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_Parts = Annotated[
    list[str] | None, typer.Argument(help="table1, table2, fig2 … fig7; all if none is named.")
]
_Tier = Annotated[str, typer.Option(help="How much: quick (a minute), standard, or paper (its sizes).")]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="A file of features, or the folder of the photographs; without it, the one that ONLINEHASH_DATA "
        "names or ../shared/data, or else digits."
    ),
]
_Labels = Annotated[Path | None, typer.Option(help="A file of labels, where they are not with the features.")]
_Bits = Annotated[list[int] | None, typer.Option(help="One or more numbers of bits: --bits 32 64 96 128.")]
_Repeats = Annotated[int | None, typer.Option(min=1, help="Divisions of the data, each with a seed.")]
_Out = Annotated[Path, typer.Option(help="Folder for results, tables, figures and the report.")]
_Workers = Annotated[int, typer.Option(min=1, help="Processes that measure codes side by side.")]
_Draw = Annotated[bool, typer.Option("--draw", help="Draw again what was measured; measure nothing.")]
_Json = Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")]


def paper(
    parts: _Parts = None,
    tier: _Tier = "standard",
    data: _Data = None,
    labels: _Labels = None,
    bits: _Bits = None,
    repeats: _Repeats = None,
    out: _Out = Path("results/paper"),
    workers: _Workers = 1,
    draw_only: _Draw = False,
    json_output: _Json = False,
) -> None:
    """Measure and draw the paper's tables and figures, with every method behind one interface.

    An interrupted run goes on where it stopped; what has been measured is not measured again.
    """
    from onlinehash.errors import InvalidParameterError
    from onlinehash.paper import sources
    from onlinehash.paper.jobs import TIERS, Job, plan
    from onlinehash.paper.measure import Bench
    from onlinehash.paper.report import draw
    from onlinehash.paper.run import Results, run

    if tier not in TIERS:
        raise InvalidParameterError(f"--tier: expected one of {', '.join(TIERS)}, got {tier!r}")
    how = TIERS[tier]
    # an option takes one word, so the other numbers after --bits arrive among the parts
    numbers = [*(bits or []), *(int(part) for part in parts or [] if bits and part.isdigit())]
    parts = [part for part in parts or [] if not (bits and part.isdigit())]
    how = replace(how, bits=tuple(dict.fromkeys(numbers)) or how.bits, repeats=repeats or how.repeats)
    if data is None:
        folder = sources.default_folder()
        settings = [sources.DIGITS] if folder is None or tier == "quick" else sources.photographs(folder)
    elif data.is_dir():
        settings = sources.photographs(data)
    else:
        settings = sources.user_file(data, labels)
    jobs = plan(parts, how, settings)
    results = Results(out / "results.jsonl")
    bench = Bench({setting.name: setting for setting in settings}, out / "made")
    console = Console(stderr=True)
    if not draw_only:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), console=console,
        ) as bar:  # fmt: skip
            task = bar.add_task("starting", total=len(jobs))

            def step(job: Job, ended: int, total: int) -> None:
                bar.update(task, completed=ended, total=total, description=job.title)

            try:
                run(jobs, bench, results, workers, step)
            except KeyboardInterrupt:
                console.print("interrupted: the same command goes on from here")
                raise typer.Exit(130) from None
    report = draw(jobs, settings, results, out)
    if json_output:
        typer.echo(json.dumps({"report": str(report), "measurements": len(results.records())}))
    else:
        typer.echo(f"{report} shows it all; tables and figures lie beside it")
