"""The protocol anthropic-messages: Anthropic's Messages API."""
