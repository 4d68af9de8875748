"""The protocol gemini-interactions: Google's Interactions API."""
