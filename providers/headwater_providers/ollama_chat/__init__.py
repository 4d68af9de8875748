"""The protocol ollama-chat: Ollama's own chat."""
