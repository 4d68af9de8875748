"""The protocol openai-text: legacy completions."""
