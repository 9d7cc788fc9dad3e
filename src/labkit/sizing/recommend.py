"""`recommend`: every way to run a model on a catalogue's machines, ranked by cost under the SLO.

For each instance type, weight format and tensor-parallel size the largest batch is found that
holds the promises and fits the KV cache; from it the replica's goodput, the fleet for the rate and
its cost (`options`, in closed form). What holds is ranked, what does not says why (`misses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from labkit.catalog.formats import FORMATS
from labkit.catalog.specs import Instance, ModelSpec
from labkit.contract.errors import UnknownNameError
from labkit.sizing.defaults import default_kv_format
from labkit.sizing.device import Device, device_of
from labkit.sizing.engines import DEFAULT_ENGINE, engine_named, loader_named
from labkit.sizing.fleet import DEFAULT_HEADROOM
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import SizingError, Workload, require_count, require_fraction
from labkit.sizing.lanes import Lane, lane_of
from labkit.sizing.recommendation import Loser, Recommendation

if TYPE_CHECKING:
    from labkit.catalog import Catalog

LATENCIES = ("e2e", "tpot", "ttft")
PRICE_KINDS = ("on-demand", "spot", "sagemaker")
_FORMATS = ("bf16", "fp8", "int8", "int4")


def recommend(
    model: ModelSpec,
    workload: Workload,
    *,
    catalog: Catalog | None = None,
    instances: Iterable[Instance] | None = None,
    engines: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    kv: str | None = None,
    loader: str | None = None,
    max_batch: int | None = None,
    price_kind: str = "on-demand",
    region: str = "us-east-1",
    sagemaker: bool = False,
    headroom: float = DEFAULT_HEADROOM,
    n_plus: int = 1,
    latency: str = "e2e",
    checked: int = 0,
) -> Recommendation:
    """Ranked deployments of `model` for `workload`, the Pareto front, and every loser's reason.

    catalog or instances: what to choose from. engines: tried on each machine; None is the one of
    the instance's kind. formats: of weights; None is bf16 (fp16 where the silicon has no bf16),
    fp8, int8, int4 and the model's own. A narrower format is cheaper and may answer worse: name
    the formats that your own evaluation allows. kv: None is the 16-bit format of the machine.
    max_batch: None is the engine's own limit of sequences. sagemaker: the same as `price_kind`
    "sagemaker": ml. prices, and only types that it hosts.
    headroom: share of each replica's goodput that stays free; n_plus: instances that may be lost.
    latency: the front's other axis, "e2e", "tpot" (served) or "ttft".
    checked: so many of the best instance types are planned again by `plan_fleet`, whose queue has
    distributions (some 50 ms each), and ranked by its answer.

    Raises `SizingError` for inputs that make no sense, `UnknownNameError` for unknown names.
    """
    kind = "sagemaker" if sagemaker else price_kind
    if checked and workload.requests_per_second is None:
        raise SizingError("checked needs requests_per_second; this workload names none.")
    _check(kind, headroom, n_plus, latency, max_batch, checked)
    if (catalog is None) == (instances is None):
        raise SizingError("recommend needs a catalog or instances, one of the two.")
    chosen = catalog.instances() if catalog is not None else tuple(instances or ())
    if not chosen:
        raise SizingError("recommend needs at least one instance type to choose from.")
    lanes = lanes_for(model, chosen, engines, formats, kv, loader)

    from labkit.sizing.ranking import rank
    from labkit.sizing.ranking_table import Terms

    terms = Terms(workload, kind, region, headroom, n_plus, max_batch, latency)
    found = rank(lanes, terms)
    result = Recommendation(
        model=model,
        workload=workload,
        price_kind=kind,
        region=region,
        deployments=found.deployments,
        front=found.front,
        losers=found.losers,
        nearest=nearest(found.losers, {d.setup.instance for d in found.deployments}),
        latency=latency,
    )
    if not checked:
        return result
    from labkit.sizing.ranking_checked import planned_again

    again = planned_again(result, checked, headroom, n_plus, loader)
    return replace(
        again, nearest=nearest(again.losers, {d.setup.instance for d in again.deployments})
    )


def lanes_for(
    model: ModelSpec,
    instances: Sequence[Instance],
    engines: Sequence[str] | None,
    formats: Sequence[str] | None,
    kv: str | None,
    loader: str | None,
) -> list[Lane]:
    """The lanes of all instances, engines, formats and tensor-parallel sizes."""
    return [
        lane
        for instance in instances
        for lane in _lanes_on(
            model,
            instance,
            tuple(engines) if engines else None,
            tuple(formats) if formats else None,
            kv,
            loader,
        )
    ]


@remembered(objects=2)
def _lanes_on(
    model: ModelSpec,
    instance: Instance,
    engines: tuple[str, ...] | None,
    formats: tuple[str, ...] | None,
    kv: str | None,
    loader: str | None,
) -> tuple[Lane, ...]:
    sizes = tensor_parallel_choices(device_of(instance))
    lanes = []
    for name in engines or (DEFAULT_ENGINE[instance.kind],):
        engine = engine_named(name)
        loading = loader_named(loader or engine.loader)
        for weights in formats or formats_for(model, instance):
            cache = kv or default_kv_format(weights, instance)
            lanes += [lane_of(model, instance, engine, loading, weights, cache, n) for n in sizes]
    return tuple(lanes)


def formats_for(model: ModelSpec, instance: Instance) -> tuple[str, ...]:
    """The weight formats tried where none are named: see `recommend`."""
    names = dict.fromkeys(_FORMATS)
    if model.native_format in FORMATS:
        names[model.native_format] = None
    if _lacks_bf16(instance):
        names["fp16"] = None
    return tuple(names)


def _lacks_bf16(instance: Instance) -> bool:
    accelerator = instance.accelerator
    return (
        accelerator is not None and accelerator.rates_known and not accelerator.peak_flops("bf16")
    )


def tensor_parallel_choices(device: Device) -> tuple[int, ...]:
    """Sizes that are tried: the powers of two up to the devices there are, and all of them."""
    powers = [2**i for i in range(device.count.bit_length()) if 2**i <= device.count]
    return tuple(dict.fromkeys((*powers, device.count)))


def nearest(losers: Iterable[Loser], placed: set[str]) -> tuple[Loser, ...]:
    """For each instance type not in `placed` its nearest loser; the nearest of all comes first."""
    best: dict[str, Loser] = {}
    for loser in losers:
        name = loser.setup.instance
        if name not in placed and (name not in best or loser.distance < best[name].distance):
            best[name] = loser
    return tuple(sorted(best.values(), key=lambda x: (x.distance, x.setup.instance)))


def _check(
    kind: str,
    headroom: float,
    n_plus: int,
    latency: str,
    max_batch: int | None,
    checked: int,
) -> None:
    if kind not in PRICE_KINDS:
        raise UnknownNameError("price kind", kind, PRICE_KINDS)
    if latency not in LATENCIES:
        raise UnknownNameError("latency", latency, LATENCIES)
    require_fraction("headroom", headroom, zero_ok=True)
    require_count("n_plus", n_plus, minimum=0)
    require_count("checked", checked, minimum=0)
    if max_batch is not None:
        require_count("max_batch", max_batch)
