"""The protocol openai-assistants: OpenAI's Assistants API."""
