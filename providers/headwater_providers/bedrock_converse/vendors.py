"""Amazon Bedrock: its runtime speaks Converse, and hands other bodies through to each model's own protocol."""

from __future__ import annotations

from headwater_providers.vendors import Endpoint, ProviderSpec

VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="bedrock",
        name="Amazon Bedrock",
        protocol="bedrock-converse",
        address="https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION:us-east-1}.amazonaws.com",  # PI-BR-05
        credential="aws",
        env_keys=("AWS_BEARER_TOKEN_BEDROCK",),
        env_base_url=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "BEDROCK_BASE_URL"),
        hosts=("amazonaws.com",),
        models=(r"^(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai)\.[a-z]", r"^arn:aws[a-z-]*:bedrock:"),
        aliases=("amazon-bedrock", "aws-bedrock"),
        model_dialect=(
            (r"claude-(?:3-7|sonnet-4|opus-4|haiku-4)", {"reasoning_field": "thinking", "signed_reasoning": True}),
            (r"claude", {"signed_reasoning": True}),
        ),
        also={"bedrock-invoke": Endpoint()},
    ),
)
