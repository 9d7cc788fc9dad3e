"""The border where somebody else's `config.json` comes in: reading, naming and checking fields.

Only fields that decide a parameter count or a cache size are read; everything else is ignored.
A field that is missing takes the family's default (`families`), as transformers does; what then
is still missing, or makes no sense, ends in one sentence that names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from labkit.catalog.errors import ConfigError

# One meaning, many spellings: GPT-2, OPT, Falcon, DBRX … name the same field differently.
SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        "n_embd": "hidden_size",
        "n_embed": "hidden_size",
        "d_model": "hidden_size",
        "n_layer": "num_hidden_layers",
        "n_layers": "num_hidden_layers",
        "num_layers": "num_hidden_layers",
        "n_head": "num_attention_heads",
        "n_heads": "num_attention_heads",
        "num_heads": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "n_head_kv": "num_key_value_heads",
        "n_positions": "max_position_embeddings",
        "n_ctx": "max_position_embeddings",
        "max_seq_len": "max_position_embeddings",
        "seq_length": "max_position_embeddings",
        "n_inner": "intermediate_size",
        "ffn_dim": "intermediate_size",
        "ffn_hidden_size": "intermediate_size",
        "num_experts": "num_local_experts",
        "n_routed_experts": "num_local_experts",
        "moe_num_experts": "num_local_experts",
        "moe_k": "num_experts_per_tok",
        "num_experts_per_token": "num_experts_per_tok",
        "moe_num_shared_experts": "n_shared_experts",
        "num_shared_experts": "n_shared_experts",
        "dtype": "torch_dtype",
        "use_bias": "enable_bias",
    }
)
# The wrappers of multimodal checkpoints keep the language model's fields one level down.
TEXT_KEYS = ("text_config", "llm_config", "language_config", "language_model_config")
MAX_CONFIG_BYTES = 4_000_000

Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]
CountOrZero = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Layers = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Flag = Annotated[bool, Field(strict=True)]


class HFConfig(BaseModel):
    """The fields of a decoder's `config.json` that count, under transformers' own names."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model_type: str = ""
    hidden_size: Count
    num_hidden_layers: Layers
    num_attention_heads: Count
    vocab_size: Count
    intermediate_size: Count | None = None
    num_key_value_heads: Count | None = None
    head_dim: Count | None = None
    max_position_embeddings: Count | None = None
    tie_word_embeddings: Flag = False
    torch_dtype: str | None = None
    # biases and norms
    attention_bias: Flag = False
    qkv_bias: Flag = False
    mlp_bias: Flag = False
    use_qk_norm: Flag = False
    lm_head_bias: Flag = False
    norms_per_layer: Count | None = None
    # sliding windows
    sliding_window: CountOrZero | None = None
    use_sliding_window: Flag | None = None
    sliding_window_pattern: Count | None = None
    max_window_layers: CountOrZero | None = None
    layer_types: list[str] | None = None
    # multi-head latent attention
    kv_lora_rank: Count | None = None
    q_lora_rank: Count | None = None
    qk_nope_head_dim: CountOrZero | None = None
    qk_rope_head_dim: Count | None = None
    v_head_dim: Count | None = None
    # mixture of experts
    num_local_experts: CountOrZero | None = None
    num_experts_per_tok: Count | None = None
    moe_intermediate_size: Count | None = None
    n_shared_experts: CountOrZero | None = None
    shared_expert_intermediate_size: CountOrZero | None = None
    first_k_dense_replace: CountOrZero = 0
    moe_layer_freq: Count | list[int] = 1
    decoder_sparse_step: Count = 1
    mlp_only_layers: list[int] | None = None
    # OPT
    word_embed_proj_dim: Count | None = None
    do_layer_norm_before: Flag = True
    enable_bias: Flag = True


def read_config(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, or in `path/config.json` when `path` is a folder.

    Raises `ConfigError` where the file is missing, too large, not JSON or not an object.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        with file.open("rb") as handle:
            data = handle.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"No such model configuration: {str(file)!r}.") from None
    except OSError as error:
        raise ConfigError(f"Cannot read {str(file)!r}: {error.strerror}.") from None
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{str(file)!r} is larger than 4 MB: no model configuration is.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigError(f"{str(file)!r} is not valid JSON.") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{str(file)!r} holds a JSON {type(value).__name__}, not an object.")
    return value


def text_part(raw: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The language model's own fields, and whether they were inside a multimodal wrapper."""
    for key in TEXT_KEYS:
        inner = raw.get(key)
        if isinstance(inner, Mapping):
            outer = {k: raw[k] for k in ("torch_dtype", "dtype", "quantization_config") if k in raw}
            return {**outer, **inner}, True
    return dict(raw), False


def canonical(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The same fields under one spelling; transformers' own spelling wins where both stand."""
    fields = {SPELLINGS[k]: v for k, v in raw.items() if k in SPELLINGS and v is not None}
    return {**fields, **{k: v for k, v in raw.items() if k not in SPELLINGS}}


def validate(fields: Mapping[str, Any], label: str) -> HFConfig:
    """Check canonical `fields`; raise `ConfigError` naming every missing or senseless one."""
    required = [n for n, f in HFConfig.model_fields.items() if f.is_required()]
    missing = [name for name in required if fields.get(name) is None]
    if missing:
        raise ConfigError(f"{label} lacks {_listing(missing)}.")
    optional_null = {
        k: v for k, v in fields.items() if v is not None or k not in HFConfig.model_fields
    }
    try:
        return HFConfig.model_validate(optional_null)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        shown = str(fields[field])
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        raise ConfigError(
            f"{label} gives {field} = {shown}: {_expected(field)} is needed."
        ) from None


def _expected(field: str) -> str:
    if field in {"layer_types", "mlp_only_layers"}:
        return "a list with one entry per layer" if field == "layer_types" else "a list of layers"
    annotation = str(HFConfig.model_fields[field].annotation)
    if "bool" in annotation:
        return "true or false"
    if "str" in annotation:
        return "a text"
    if field == "num_hidden_layers":
        return "a whole number from 1 to 10,000"
    zero = field in {
        "sliding_window",
        "max_window_layers",
        "num_local_experts",
        "n_shared_experts",
        "shared_expert_intermediate_size",
        "first_k_dense_replace",
        "qk_nope_head_dim",
    }
    return f"a whole number from {0 if zero else 1} to 1,000,000,000"


def _listing(names: list[str]) -> str:
    if len(names) == 1:
        return f"the field {names[0]}"
    return "the fields " + ", ".join(names[:-1]) + " and " + names[-1]
