"""The measurement "quantization": one model in a dozen formats, scored and timed.

Speeds come first and close together, so that they meet the same conditions: eager torch, then
bitsandbytes, then llama.cpp. Scoring follows; it cannot be disturbed. Quality is that of the
rounded weights in FP32 arithmetic, except for bitsandbytes, whose own kernels are what it is.
"""

from __future__ import annotations

import copy
import itertools
from importlib import metadata
from typing import TYPE_CHECKING, Any

from labkit.bench import text
from labkit.bench.jobs.decode import in_one_block
from labkit.bench.jobs.memory import shape_of
from labkit.bench.quant import bnb, ggufs, llama, sizes
from labkit.bench.quant.formats import FORMATS, Format
from labkit.bench.quant.kv import KV_FORMATS, measure_kv
from labkit.bench.quant.rewrite import Rewriter
from labkit.bench.quant.score import perplexity, window_losses
from labkit.bench.quant.speed import rounded, time_torch
from labkit.bench.rounds import Rounds
from labkit.bench.session import Measured, Session
from labkit.bench.weights import Weights, ensure_weights
from labkit.contract import Series

if TYPE_CHECKING:
    import torch

WINDOWS, QUICK_WINDOWS = 20, 4
WINDOW_TOKENS = 100
_NATIVE = [form for form in FORMATS.values() if form.torch_dtype]
_BITSANDBYTES = [form for form in FORMATS.values() if form.bitsandbytes]
_FILES = [form for form in FORMATS.values() if form.gguf]
_EMULATED = [form for form in FORMATS.values() if not form.bitsandbytes]
LLAMA = "llama"


def measure(session: Session) -> Measured:
    """Series torch.*, llama.*, read.fp32; facts formats, kv, text, reference, left_out."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = ensure_weights(session.report)
    session.say("loading SmolLM2-135M in FP32")
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32)
    model.eval().to(session.device)
    count = QUICK_WINDOWS if session.quick else WINDOWS
    windows = torch.tensor(text.windows(tokenizer, count, WINDOW_TOKENS), device=session.device)
    run = Run(session, weights, model, tokenizer, windows)
    run.speeds()
    run.scores()
    return run.finish()


class Run:
    """One run: what it has, and what it has found so far."""

    def __init__(
        self,
        session: Session,
        weights: Weights,
        model: Any,
        tokenizer: Any,
        windows: torch.Tensor,
    ) -> None:
        self._session, self._weights, self._model = session, weights, model
        self._tokenizer, self._windows = tokenizer, windows
        self._written: dict[str, str] = {}
        self._measured = Measured()
        self._formats: dict[str, dict[str, Any]] = {}
        self._kv: dict[str, dict[str, Any]] = {}
        self._left_out: dict[str, str] = {}
        self._files: dict[str, int] = {}
        self._native: dict[str, dict[str, int]] = {}
        self._reads = Rounds(session, budget_s=0.4)

    def speeds(self) -> None:
        """Torch in its own formats, bitsandbytes (scored at once, while it is loaded), llama.cpp.

        The bandwidth of the FP32 weights is taken before, amid and after.
        """
        if self._session.device == "cpu":
            in_one_block(self._model)
        self._read()
        for form in _NATIVE:
            self._session.say(f"timing {form.label} in torch")
            self._time_native(form)
        self._read()
        for form in _BITSANDBYTES:
            self._session.say(f"{form.label}: loading, timing, scoring")
            self._bitsandbytes(form)
        for form in _FILES:
            self._session.say(f"timing {form.label} in llama.cpp")
            self._llama(form)
        self._read()
        samples = self._reads.pooled()
        gigabytes = sizes.weight_bytes(self._model) / 1e9
        times = samples.cpu_s if self._session.device == "cpu" else samples.wall_s
        label = "Reading the FP32 weights once"
        rates = rounded([gigabytes / seconds for seconds in times])
        self._measured.series.append(Series("read.fp32", "GB/s", rates, label))

    def scores(self) -> None:
        """The loss of every rounded copy, then of quantised caches under the original weights."""
        writer = Rewriter(self._model)
        for form in _EMULATED:
            self._session.say(f"scoring {form.label}")
            writer.apply(form)
            counts = writer.counts(form) | {"held_bytes": sizes.held_bytes(self._model)}
            counts |= self._native.get(form.key, {})
            self._add(form, self._model, counts, emulated=form.key != "fp32")
        writer.apply(FORMATS["fp32"])
        self._kv["fp32"] = self._plain_cache()
        for cache in KV_FORMATS:
            self._session.say(f"scoring with a KV cache in {cache.label}")
            self._kv[cache.key] = measure_kv(self._model, self._windows, cache)

    def finish(self) -> Measured:
        """All of it as one result, the formats in the registry's order."""
        self._measured.facts |= {
            "formats": {key: self._formats[key] for key in FORMATS if key in self._formats},
            "kv": self._kv,
            "text": {
                "source": text.HELD_OUT.source,
                "licence": text.HELD_OUT.licence,
                "sha256": text.HELD_OUT.sha256,
                "windows": self._windows.shape[0],
                "window_tokens": self._windows.shape[1],
                "scored_tokens": self._windows.shape[0] * (self._windows.shape[1] - 1),
            },
            "reference": {
                "source": self._weights.source.key,
                "label": self._weights.source.label,
                "original": self._weights.is_original,
            },
            "fp8_native": fp8_native(self._session.device),
            "llama_agreement": self._agreement(),
            "left_out": self._left_out,
            "packages": _packages(),
        }
        if not self._weights.is_original:
            self._measured.notes.append(
                "The reference is dequantised Q4_1 (best available): losses are extra loss "
                "relative to it, and Q4_1 equals it by construction."
            )
        self._measured.notes += [
            f"Left out: {why}" for why in dict.fromkeys(self._left_out.values())
        ]
        return self._measured

    def _read(self) -> None:
        matrices = [p for p in self._model.parameters() if p.ndim > 1]

        def run() -> None:
            for weight in matrices:
                weight.sum()

        self._reads.take(run)

    def _time_native(self, form: Format) -> None:
        import torch

        model = self._model
        if form.torch_dtype != "float32":
            model = copy.deepcopy(model).to(getattr(torch, form.torch_dtype))
            if self._session.device == "cpu":
                in_one_block(model)
        label = f"torch {form.label}"
        written = time_torch(
            self._session, self._measured, form.key, label, model, self._windows[:1]
        )
        self._written[f"torch {form.key}"] = str(self._tokenizer.decode(written))
        self._native[form.key] = {
            "weight_bytes": sizes.weight_bytes(model),
            "held_bytes": sizes.held_bytes(model),
        }

    def _bitsandbytes(self, form: Format) -> None:
        why = bnb.missing()
        if why is None:
            try:
                self._score_natively(form)
                return
            except (ImportError, RuntimeError, ValueError) as error:
                if "allocate" in str(error) or "out of memory" in str(error):
                    raise
                why = f"{form.label} does not run on this {self._device()}: {error}"
        self._left_out[form.key] = why

    def _score_natively(self, form: Format) -> None:
        model = bnb.load(self._weights.folder, form, self._session.device)
        # Counted before it runs: the first product moves the scales elsewhere.
        counts = bnb.counts(model, form)
        label = f"torch {form.label}"
        time_torch(self._session, self._measured, form.key, label, model, self._windows[:1])
        self._add(form, model, counts, emulated=False)

    def _llama(self, form: Format) -> None:
        if LLAMA in self._left_out:
            return
        why = llama.missing()
        if why is None:
            path = ggufs.ensure_file(self._weights, form)
            self._files[form.key] = path.stat().st_size
            ids = self._windows[0].tolist()
            try:
                self._written[f"llama {form.key}"] = llama.time_llama(
                    self._session, self._measured, form.key, form.label, path, ids
                )
                return
            except (ImportError, OSError) as error:
                why = f"llama.cpp does not load on this machine: {error}"
        self._left_out[LLAMA] = why

    def _add(self, form: Format, model: Any, counts: dict[str, Any], *, emulated: bool) -> None:
        losses = window_losses(model, self._windows)
        self._formats[form.key] = {
            "label": form.label,
            "kind": form.kind,
            "file_bytes": self._files.get(form.key),
            "emulated": emulated,
            **counts,
            "nll": losses,
            "perplexity": perplexity(losses),
        }

    def _agreement(self) -> float | None:
        """The share of torch's FP32 greedy text that llama.cpp's FP32 file begins with."""
        ours, theirs = (self._written.get(f"{engine} fp32") for engine in ("torch", LLAMA))
        if not ours or theirs is None:
            return None
        pairs = zip(ours, theirs, strict=False)
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        return round(same / len(ours), 3)

    def _plain_cache(self) -> dict[str, Any]:
        shape = shape_of(self._model.config)
        found = self._formats["fp32"]
        per_token = 2 * shape["num_hidden_layers"] * shape["num_key_value_heads"]
        return {
            "label": "FP32",
            "bytes_per_token": per_token * shape["head_dim"] * 4,
            "attention_error": [],
            "nll": found["nll"],
            "perplexity": found["perplexity"],
        }

    def _device(self) -> str:
        return {"cpu": "CPU", "cuda": "GPU", "mps": "Apple GPU"}[self._session.device]


def _packages() -> dict[str, str]:
    """Versions of what did the work beside torch; absent ones are left out."""
    found = {}
    for name in ("gguf", "bitsandbytes", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # then `left_out` says so
            continue
    return found


def fp8_native(device: str) -> bool:
    """Whether `device` multiplies E4M3 itself: CUDA from compute capability 8.9 on (Ada, Hopper).

    Elsewhere FP8 saves bytes only, and is turned into a wider format before it is multiplied.
    """
    if device != "cuda":
        return False
    import torch

    return bool(torch.cuda.get_device_capability(0) >= (8, 9))
