"""The protocol bedrock-converse: ConverseStream of Amazon Bedrock."""
