"""The protocol cohere-chat: Cohere's chat, version 2."""
