"""The wire format of openai-chat: chunks to structs, events to chunks."""
