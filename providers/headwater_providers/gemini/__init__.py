"""The protocol gemini: Google's Gemini API and Vertex AI."""
