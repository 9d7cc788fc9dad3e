"""`labkit size MODEL`: which machines hold a workload, the cheapest, and why not the others."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from labkit.catalog import Catalog, Instance, ModelSpec
from labkit.cli.common import console, emit_json, fail, nearest
from labkit.cli.prices import check_price
from labkit.sizing import SLO, Workload
from labkit.sizing.dossier import Dossier, document_of, dossier_of, html, markdown
from labkit.sizing.fleet import DEFAULT_HEADROOM
from labkit.sizing.frontier import frontier_svg
from labkit.sizing.recommend import recommend
from labkit.sizing.user_rates import UserRate, read_rates

REPORTS = ("md", "html")


def size(
    model: Annotated[
        str, typer.Argument(help="A model of the catalogue, or a path to a config.json.")
    ],
    rate: Annotated[
        float | None,
        typer.Option(help="Requests per second to serve (default: one instance at full load)."),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(help="Prompt tokens: 512, uniform:32-512, lognormal:mean=300,p95=900, …"),
    ] = "512",
    output: Annotated[str, typer.Option(help="Output tokens, written the same way.")] = "256",
    ttft_ms: Annotated[float | None, typer.Option(help="Promised time to first token.")] = None,
    tpot_ms: Annotated[float | None, typer.Option(help="Promised time per output token.")] = None,
    percentile: Annotated[
        float, typer.Option(help="Share of requests, in percent, that the promise holds for.")
    ] = 95.0,
    prefix_hit_rate: Annotated[
        float, typer.Option(help="Share of the prompt that the prefix cache holds.")
    ] = 0.0,
    headroom: Annotated[
        float, typer.Option(help="Share of a fleet's capacity that stays free.")
    ] = DEFAULT_HEADROOM,
    spares: Annotated[
        int, typer.Option(help="Instances that may be lost while the promise still holds.")
    ] = 1,
    checked: Annotated[
        int,
        typer.Option(help="So many of the best instance types are planned again with queues."),
    ] = 5,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Weight formats to try, e.g. bf16,fp8 (default: 16 bits, fp8, int8, int4)."
        ),
    ] = None,
    kv: Annotated[
        str | None,
        typer.Option(help="KV-cache format (default: the 16-bit one the weights compute in)."),
    ] = None,
    loader: Annotated[
        str | None, typer.Option(help="How weights load: streamed, state_dict, presharded.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Only this engine: vllm, sglang, llama.cpp, neuron, …")
    ] = None,
    instances: Annotated[
        str | None, typer.Option(help="Only these instance types, e.g. 'g5.*,g6.*'.")
    ] = None,
    price: Annotated[str, typer.Option(help="on-demand, spot or sagemaker.")] = "on-demand",
    region: Annotated[str, typer.Option(help="AWS region of the prices.")] = "us-east-1",
    rates: Annotated[
        Path | None,
        typer.Option(
            help="CSV of your own rates (Savings Plans, …): option, subject, value, unit, source, "
            "as_of, region, label."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many candidates and misses to show.")] = 10,
    show_all: Annotated[
        bool,
        typer.Option("--all", help="Every set-up that holds, not one per instance type."),
    ] = False,
    report: Annotated[
        str | None, typer.Option(help="A page to forward: md or html (see --out).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this file instead of the screen.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank the machines that hold a workload under its SLO, cheapest fleet first.

    Every other machine is named with the code and the number that stopped it.

    Where nothing holds, the nearest misses are shown; the exit code stays 0.
    """
    check_price(price, region)
    _check(top, spares, checked, report, out, json)
    spec = ModelSpec.from_config(model)
    catalog = Catalog.load()
    promised = ttft_ms is not None or tpot_ms is not None
    slo = SLO(ttft_ms, tpot_ms, percentile) if promised else None
    workload = Workload.of(prompt, output, rate, slo, prefix_hit_rate)
    own = _own_rates(rates)
    found = recommend(
        spec,
        workload,
        instances=_chosen(catalog, instances),
        formats=_listed("--weights", weights),
        engines=_listed("--engine", engine),
        kv=kv,
        loader=loader,
        headroom=headroom,
        n_plus=spares,
        price_kind=price,
        region=region,
        checked=checked if rate is not None else 0,
    )
    dossier = dossier_of(
        found,
        on=date.today(),
        catalog=catalog,
        headroom=headroom,
        n_plus=spares,
        loader=loader,
        rates=own,
        plan=bool(report),
    )
    if json:
        from labkit.cli.size_json import as_dict

        emit_json(as_dict(dossier, every=show_all))
    elif report:
        _write(dossier, report, out, top)
    else:
        from labkit.cli.size_view import render

        render(dossier, console(), top=top, every=show_all)


def _check(
    top: int, spares: int, checked: int, report: str | None, out: Path | None, json: bool
) -> None:
    for name, value, least in (("top", top, 1), ("spares", spares, 0), ("checked", checked, 0)):
        if value < least:
            fail(f"--{name} must be a whole number of at least {least}, not {value}.")
    if report is not None and report not in REPORTS:
        near = nearest(report, REPORTS) or REPORTS
        fail(f"Unknown report {report!r}: use {' or '.join(near)}.")
    if report and json:
        fail("--report and --json are two answers: ask for one of them.")
    if out is not None and not report:
        fail("--out is the file of a report: add --report md or --report html.")


def _listed(option: str, text: str | None) -> tuple[str, ...] | None:
    """ "int4, fp8" as ("int4", "fp8"); None where nothing was asked."""
    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not parts:
        fail(f"{option} names nothing: {text!r}.")
    return parts


def _chosen(catalog: Catalog, text: str | None) -> Sequence[Instance]:
    """The instance types that the patterns name, all without one; each must name at least one."""
    patterns, every = _listed("--instances", text), catalog.instances()
    if patterns is None:
        return every
    chosen: dict[str, Instance] = {}
    for pattern in patterns:
        plain = pattern.lower().removeprefix("ml.")
        named = [one for one in every if fnmatch.fnmatchcase(one.name, plain)]
        if not named:
            names = [one.name for one in every] + sorted({f"{one.family}.*" for one in every})
            near = nearest(plain, names)
            hint = (
                f"did you mean {' or '.join(near)}?" if near else "write them like g5.*,g6.xlarge."
            )
            fail(f"No instance type is called {pattern!r}: {hint}")
        chosen.update({one.name: one for one in named})
    return tuple(chosen.values())


def _own_rates(path: Path | None) -> tuple[UserRate, ...]:
    if path is None:
        return ()
    import csv

    try:
        with path.open(encoding="utf-8", newline="") as file:
            return read_rates(csv.DictReader(file))
    except OSError as error:
        fail(f"Cannot read the rates {path}: {error.strerror or error}.")
    except UnicodeDecodeError:
        fail(f"Cannot read the rates {path}: it is no text in UTF-8.")


def _write(dossier: Dossier, report: str, out: Path | None, top: int) -> None:
    document = document_of(dossier, top)
    if report == "html":
        text, pictures = html(document), {}
    else:
        pictures = _pictures(dossier, out)
        text = markdown(document, pictures=bool(pictures))
    if out is None:
        print(text, end="")
        return
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
        for path, picture in pictures.items():
            path.write_text(picture, encoding="utf-8", newline="\n")
    except OSError as error:
        fail(f"Cannot write the report to {out}: {error.strerror or error}.")
    written = ", ".join(str(path) for path in (out, *pictures))
    console(stderr=True).print(f"Written: {written}")


def _pictures(dossier: Dossier, out: Path | None) -> dict[Path, str]:
    """The SVG files that lie beside a Markdown page; on the screen there are none."""
    svg = frontier_svg(dossier.recommendation)
    return (
        {out.with_name("cost-against-latency.svg"): svg + "\n"} if out is not None and svg else {}
    )
