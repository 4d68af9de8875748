"""The openai-chat protocol."""
