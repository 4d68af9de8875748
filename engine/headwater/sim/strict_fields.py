"""The fields that vendors know, for the checks of `--strict`: of the body, by protocol, and of the messages, items and parts in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Json = dict[str, object]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_ANTHROPIC = _words(
    "messages max_tokens system temperature top_p top_k stop_sequences tools tool_choice thinking metadata service_tier",
    "output_config container mcp_servers context_management cache_control",
)
_CHAT = _words(
    "model messages stream stream_options max_tokens max_completion_tokens temperature top_p n stop seed presence_penalty frequency_penalty",
    "logprobs top_logprobs logit_bias tools tool_choice parallel_tool_calls response_format reasoning_effort verbosity service_tier user store",
    "metadata prompt_cache_key prediction modalities audio web_search_options safety_identifier",
)
BODY: Mapping[str, frozenset[str]] = {
    "openai-chat": _CHAT,
    "openai-responses": _words(
        "model input instructions stream stream_options max_output_tokens max_tool_calls temperature top_p tools tool_choice parallel_tool_calls",
        "text reasoning include store metadata user service_tier prompt_cache_key top_logprobs previous_response_id truncation background prompt",
        "conversation safety_identifier context_management",
    ),
    "openai-text": _words(
        "model prompt suffix max_tokens temperature top_p n stream stream_options logprobs echo stop presence_penalty frequency_penalty best_of",
        "logit_bias user seed",
    ),
    "openai-assistants": _words(
        "assistant_id thread model instructions additional_instructions additional_messages tools tool_resources metadata temperature top_p stream",
        "max_prompt_tokens max_completion_tokens truncation_strategy tool_choice parallel_tool_calls response_format reasoning_effort",
    ),
    "openai-assistants outputs": _words("tool_outputs stream"),
    "anthropic-messages": _ANTHROPIC | {"model", "stream"},
    "bedrock-invoke anthropic": _ANTHROPIC | {"anthropic_version", "anthropic_beta"},
    "bedrock-invoke nova": _words("schemaVersion system messages inferenceConfig toolConfig"),
    "bedrock-invoke titan": _words("inputText textGenerationConfig"),
    "bedrock-invoke llama": _words("prompt max_gen_len temperature top_p images"),
    "bedrock-invoke mistral": _words("prompt max_tokens temperature top_p top_k stop"),
    "bedrock-invoke mistral-chat": _CHAT - {"model", "stream"},
    "gemini": _words(
        "contents systemInstruction system_instruction tools toolConfig tool_config safetySettings safety_settings generationConfig",
        "generation_config cachedContent cached_content labels serviceTier store",
    ),
    "gemini-interactions": _words(
        "model agent input system_instruction tools response_format response_mime_type response_modalities stream store background",
        "generation_config agent_config previous_interaction_id service_tier labels webhook_config",
    ),
    "cohere-chat": _words(
        "model messages stream tools documents citation_options response_format safety_mode max_tokens stop_sequences temperature seed",
        "frequency_penalty presence_penalty k p logprobs strict_tools tool_choice thinking priority raw_prompting",
    ),
}
_CACHED = "cache_control"
_ITEM = _words("id type status")
# What is inside, by protocol: kinds that are not in a table have fields that nobody lists here, and are let through.
ANTHROPIC_BLOCKS: Mapping[str, frozenset[str]] = {
    "text": _words("type text citations", _CACHED),
    "image": _words("type source", _CACHED),
    "document": _words("type source title context citations", _CACHED),
    "thinking": _words("type thinking signature"),
    "redacted_thinking": _words("type data"),
    "tool_use": _words("type id name input caller", _CACHED),
    "tool_result": _words("type tool_use_id content is_error", _CACHED),
}
RESPONSES_ITEMS: Mapping[str, frozenset[str]] = {
    "message": _ITEM | _words("role content phase"),
    "function_call": _ITEM | _words("call_id name arguments namespace"),
    "function_call_output": _ITEM | _words("call_id output"),
    "custom_tool_call": _ITEM | _words("call_id name input namespace"),
    "custom_tool_call_output": _ITEM | _words("call_id output"),
    "reasoning": _ITEM | _words("summary content encrypted_content"),
}
CHAT_MESSAGES: Mapping[str, frozenset[str]] = {
    "system": _words("role content name"),
    "developer": _words("role content name"),
    "user": _words("role content name"),
    "assistant": _words("role content name refusal audio tool_calls function_call"),
    "tool": _words("role content tool_call_id"),
}
COHERE_MESSAGES: Mapping[str, frozenset[str]] = {
    "system": _words("role content"),
    "user": _words("role content"),
    "assistant": _words("role content tool_calls tool_plan citations"),
    "tool": _words("role content tool_call_id"),
}
ASSISTANTS_MESSAGE = _words("role content attachments metadata")
GEMINI_CONTENT = _words("role parts")
GEMINI_PART = _words(
    "text thought thoughtSignature thought_signature inlineData inline_data fileData file_data functionCall function_call functionResponse",
    "function_response executableCode executable_code codeExecutionResult code_execution_result videoMetadata video_metadata partMetadata",
    "part_metadata mediaResolution media_resolution toolCall tool_call toolResponse tool_response",
)
STEPS: Mapping[str, frozenset[str]] = {
    "user_input": _words("type content"),
    "model_output": _words("type content"),
    "thought": _words("type signature summary"),
    "function_call": _words("type id name arguments signature"),
    "function_result": _words("type call_id result name is_error signature"),
}


def unknown(value: Json, known: frozenset[str] | None) -> str | None:
    """The words of the refusal where the object has fields beyond the known ones; where nothing is known of it nothing is refused."""
    strange = () if known is None else sorted(set(value) - known)
    return f"unknown field: {', '.join(strange)}" if strange else None


def objects(value: object) -> Iterator[Json]:
    """The objects in a list; none in anything else."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
