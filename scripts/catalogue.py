"""Renew the model catalogue: python scripts/catalogue.py

The facts (windows, limits, prices, what a model reads and writes) come from the data file that the package litellm ships; it is fetched from the
package index by pip, read, and thrown away. What is written is kept small: our vendors, models that chat.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE = ROOT / "providers" / "headwater_providers" / "catalogue" / "models.json"
DATA = "litellm/model_prices_and_context_window_backup.json"
VENDORS = {  # theirs -> ours
    "openai": "openai",
    "azure": "azure",
    "anthropic": "anthropic",
    "gemini": "google",
    "vertex_ai-language-models": "vertex",
    "vertex_ai": "vertex",
    "vertex_ai-anthropic_models": "vertex",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "cohere_chat": "cohere",
    "groq": "groq",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "xai": "xai",
    "cerebras": "cerebras",
    "perplexity": "perplexity",
    "moonshot": "moonshot",
    "dashscope": "dashscope",
    "minimax": "minimax",
    "sambanova": "sambanova",
    "zai": "zai",
    "cloudflare": "cloudflare",
}
PRICES = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost")
SIGHTS = {
    "image": ("supports_vision", "supports_image_input"),
    "file": ("supports_pdf_input",),
    "audio": ("supports_audio_input",),
    "video": ("supports_video_input",),
}
STEPS = (100, 128, 200, 256, 272, 512)  # thousands of tokens above which another price counts
LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def name_of(key: str, vendor: str) -> str | None:
    """The model's own name; None for what is no model (a price class, a size of images)."""
    parts = key.split("/")
    if parts[0] in (vendor, "vertex_ai", "bedrock") and len(parts) > 1:
        parts = parts[1:]
    name = "/".join(parts)
    return None if name.startswith(("together-ai-", "fireworks-ai-")) or "-x-" in name or "commitment" in name else name


def entry(facts: dict[str, object]) -> list[object]:
    """One model: context window, most output, what it reads beside text, what it writes, reasoning, levels, prices per million tokens, steps, end."""
    reads = [kind for kind, flags in SIGHTS.items() if any(facts.get(flag) for flag in flags)]
    writes = [
        kind for kind in ("image", "audio") if kind in (list_of(facts.get("supported_output_modalities"))) or facts.get(f"supports_{kind}_output")
    ]
    levels = {level: facts[f"supports_{level}_reasoning_effort"] for level in LEVELS if f"supports_{level}_reasoning_effort" in facts}
    steps = []
    for step in STEPS:
        prices = [per_million(facts.get(f"{name}_above_{step}k_tokens")) for name in PRICES]
        if any(price is not None for price in prices):
            steps.append([step * 1000, prices])
    return [
        whole(facts.get("max_input_tokens") or facts.get("max_tokens")),
        whole(facts.get("max_output_tokens")),
        reads,
        writes,
        bool(facts.get("supports_reasoning")),
        levels,
        [per_million(facts.get(name)) for name in PRICES],
        steps,
        facts.get("deprecation_date"),
    ]


def list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


def per_million(value: object) -> float | None:
    return round(value * 1e6, 6) if isinstance(value, int | float) else None


def written(vendor: str, models: dict[str, list[object]]) -> str:
    """A vendor's models, a line for each, so that a renewed file can be read as a change."""
    lines = [f"   {json.dumps(name)}: {json.dumps(found, separators=(',', ':'))}" for name, found in models.items()]
    return f"  {json.dumps(vendor)}: {{\n" + ",\n".join(lines) + "\n  }"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder, "litellm"]
        subprocess.run(fetch, check=True)
        wheel = next(Path(folder).glob("litellm-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            data = json.loads(archive.read(DATA))
    models: dict[str, dict[str, list[object]]] = {}
    for key, facts in sorted(data.items()):
        vendor = VENDORS.get(facts.get("litellm_provider", ""))
        if vendor is None or facts.get("mode") not in ("chat", "responses", "completion"):
            continue
        if (name := name_of(key, facts["litellm_provider"])) is not None:
            models.setdefault(vendor, {})[name] = entry(facts)
    head = {"as_of": datetime.now(UTC).date().isoformat(), "from": f"litellm {wheel.name.split('-')[1]}"}
    FILE.write_text(json.dumps(head)[:-1] + ', "models": {\n' + ",\n".join(written(vendor, of) for vendor, of in models.items()) + "\n}}\n")
    print(f"{FILE.relative_to(ROOT)}: {sum(map(len, models.values()))} models of {len(models)} vendors, {FILE.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
