"""The what-if panel: controls beside the answer, in a notebook; plain text everywhere else.

ipywidgets is imported when the panel is shown, so that this works in a core install and in a
terminal as text. The controls hold no state of their own: each change makes a new `Asked`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.catalog import Catalog, ModelSpec
from labkit.catalog.formats import FORMATS
from labkit.contract.errors import LabkitError, UnknownNameError
from labkit.contract.view import card, number
from labkit.sizing.estimate import Estimate
from labkit.sizing.whatif.look import Asked, Look, look
from labkit.sizing.whatif.markup import markup
from labkit.sizing.whatif.text import text

if TYPE_CHECKING:
    import ipywidgets  # type: ignore[import-untyped]  # it ships no types

_LENGTHS = tuple(2**n for n in range(4, 18))
_BATCHES = tuple(2**n for n in range(11))
_RATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_SIZES = (1, 2, 4, 8, 12, 16, 24, 32)
_PRICES = ("on-demand", "spot", "sagemaker")
_FIELDS = tuple(Asked.__dataclass_fields__)


class WhatIf:
    """A setting that can be moved. In a notebook the last line of a cell shows the panel.

    `asked` is where the controls stand, `look` and `estimate` what follows. `set(batch=16)` moves
    a control, in the panel too. `text()` is the whole answer in plain words.
    """

    def __init__(self, asked: Asked) -> None:
        self._look = look(asked)  # raises for names that do not exist, before anything is shown
        self._controls: dict[str, Any] = {}
        self._output: ipywidgets.HTML | None = None
        self._box: ipywidgets.HBox | None = None

    @property
    def asked(self) -> Asked:
        """Where the controls stand."""
        return self._look.asked

    @property
    def look(self) -> Look:
        """What follows from it."""
        return self._look

    @property
    def estimate(self) -> Estimate:
        """The engine's answer for one replica."""
        return self._look.estimate

    def set(self, **changes: Any) -> WhatIf:
        """Move controls by name. Raises `LabkitError` for an unknown name or value; then all stays.

        >>> what_if("llama-3-8b", "g5.xlarge").set(batch=16).estimate.config.batch
        16
        """
        for name in changes:
            if name not in _FIELDS:
                raise UnknownNameError("control", name, _FIELDS)
        self._look = look(replace(self.asked, **changes))
        if self._box is not None:
            self._align()
        return self

    def text(self, today: date | None = None) -> str:
        """The answer as plain text; `today` decides how old a price is."""
        return text(self._look, today or date.today())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"what_if({self.asked})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The panel where there are widgets; the text beside it for every other reader."""
        bundle: dict[str, Any] = {"text/plain": self.text()}
        try:
            box = self.widget()
        except ModuleNotFoundError as error:
            if error.name != "ipywidgets":
                raise
            bundle["text/plain"] += "\n\nControls to move need ipywidgets, which is not installed."
            return bundle
        shown = box._repr_mimebundle_(include=include, exclude=exclude) or {}
        return {**shown, **bundle}

    def widget(self) -> ipywidgets.HBox:
        """The panel as a widget, made once. Raises `ModuleNotFoundError` without ipywidgets."""
        if self._box is not None:
            return self._box
        import ipywidgets

        self._controls = _controls(self.asked)
        self._output = ipywidgets.HTML(markup(self._look, date.today()))
        for name, control in self._controls.items():
            control.observe(partial(self._moved, name), names="value")
        left = ipywidgets.VBox(list(self._controls.values()), layout={"flex": "0 0 21em"})
        right = ipywidgets.Box([self._output], layout={"flex": "1 1 30em"})
        self._box = ipywidgets.HBox(
            [left, right], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        self._box.add_class("labkit-what-if-panel")
        return self._box

    def _moved(self, name: str, change: Mapping[str, Any]) -> None:
        value = _asked(change["new"])
        if value == getattr(self.asked, name) or self._output is None:
            return
        try:
            self._look = look(replace(self.asked, **{name: value}))
        except LabkitError as error:
            self._output.value = card("failed", "Not possible", "", [str(error)])
            return
        self._output.value = markup(self._look, date.today())

    def _align(self) -> None:
        """Put every control where `asked` stands, and show the answer once."""
        for name, control in self._controls.items():
            value = _shown(getattr(self.asked, name))
            if value not in [option[1] for option in control.options]:
                control.options = [*control.options, (_label(name, value), value)]
            control.value = value
        if self._output is not None:
            self._output.value = markup(self._look, date.today())


def what_if(
    model: str = "llama-3-8b",
    instance: str = "g5.xlarge",
    *,
    weights: str | None = None,
    tensor_parallel_size: int | None = None,
    batch: int = 8,
    prompt: int = 512,
    output: int = 256,
    rate: float | None = None,
    kv: str | None = None,
    engine: str | None = None,
    prefix_hit_rate: float = 0.0,
    price: str = "on-demand",
    region: str = "us-east-1",
) -> WhatIf:
    """A panel that moves one setting and shows what binds: time, memory, cost, refusals.

    `rate` in requests/s adds what a fleet for it needs; `batch` is then the most sequences that a
    replica may have in flight. Raises `LabkitError`, one sentence, for names and numbers that make
    no sense.
    """
    catalog, spec = Catalog.load(), ModelSpec.from_config(model)
    return WhatIf(
        Asked(
            # A name becomes the one that the controls list; a config.json stays the path it is.
            model=spec.name if spec.name in catalog.model_names() else model,
            instance=catalog.instance(instance).name,
            weights=weights,
            tensor_parallel_size=tensor_parallel_size,
            batch=batch,
            prompt=prompt,
            output=output,
            rate=rate,
            kv=kv,
            engine=engine,
            prefix_hit_rate=prefix_hit_rate,
            price=price,
            region=region,
        )
    )


def _controls(asked: Asked) -> dict[str, Any]:
    """One control per field that is moved by hand, each named after its field."""
    import ipywidgets

    catalog = Catalog.load()
    models = [model.name for model in catalog.models() if model.kind == "decoder"]
    instances = [instance.name for instance in catalog.instances()]

    def choice(name: str, label: str, values: Sequence[Any]) -> Any:
        value = getattr(asked, name)
        every = values if value in values else [*values, value]
        return _control(ipywidgets.Dropdown, name, label, every, value)

    def slider(name: str, label: str, values: Sequence[int]) -> Any:
        value = getattr(asked, name)
        every = sorted({*values, value})
        return _control(
            ipywidgets.SelectionSlider, name, label, every, value, continuous_update=False
        )

    return {
        "model": choice("model", "model", models),
        "instance": choice("instance", "instance", instances),
        "weights": choice("weights", "weights", [None, *FORMATS]),
        "kv": choice("kv", "KV cache", [None, "fp16", "bf16", "fp8"]),
        "tensor_parallel_size": choice("tensor_parallel_size", "TP", [None, *_SIZES]),
        "batch": slider("batch", "batch", _BATCHES),
        "prompt": slider("prompt", "prompt tokens", _LENGTHS),
        "output": slider("output", "output tokens", _LENGTHS),
        "rate": choice("rate", "requests/s", [None, *_RATES]),
        "price": choice("price", "price", _PRICES),
    }


_USUAL = ""  # a widget takes None for "nothing chosen"; here it is the usual choice
_USUAL_LABELS = {
    "weights": "as published",
    "kv": "the usual 16 bits",
    "tensor_parallel_size": "one device",
    "rate": "not asked",
}


def _control(
    kind: Any, name: str, label: str, values: Sequence[Any], value: Any, **more: Any
) -> Any:
    return kind(
        options=[(_label(name, _shown(one)), _shown(one)) for one in values],
        value=_shown(value),
        description=label,
        style={"description_width": "7.5em"},
        layout={"width": "20em"},
        **more,
    )


def _shown(value: Any) -> Any:
    return _USUAL if value is None else value


def _asked(value: Any) -> Any:
    return None if value == _USUAL else value


def _label(name: str, value: Any) -> str:
    if value == _USUAL:
        return _USUAL_LABELS[name]
    return number(value) if isinstance(value, int | float) else str(value)
