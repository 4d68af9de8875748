"""The protocol bedrock-invoke: InvokeModelWithResponseStream of Amazon Bedrock."""
