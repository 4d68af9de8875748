"""The protocol openai-responses: OpenAI's Responses API."""
