"""`headwater generate`: one answer, streamed to the terminal."""

from __future__ import annotations

import sys
from functools import partial

import anyio

from headwater.cli.calls import GENERATE_TIMEOUTS, PromptOptions, check_model
from headwater.cli.console import DONE, FAILED, USAGE, Interrupt, explain, run_async, say, write_out
from headwater.cli.options import stdin_text
from headwater.plain import json_line, response_as_dict
from headwater_codecs.neutral import ConfigurationError, ReasoningDelta, RefusalDelta, Request, Response, TextDelta, ToolCallEnd, error_info


class Options(PromptOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of this command."""

    model_name: str = "local/smollm2"
    as_json: bool = False
    show_reasoning: bool = False


def generate(prompt: str, options: Options) -> int:
    """Answer the prompt (`-`: standard input); the exit code."""
    text = stdin_text() if prompt == "-" else prompt
    if not text.strip():
        raise ConfigurationError("the prompt is empty")
    check_model(options.model(options.model_name))
    return run_async(partial(answer, options.request(options.model_name, text), options), options.backend)


async def answer(request: Request, options: Options) -> int:
    """Stream one answer; what had come is shown whatever happens. Raises ConfigurationError before a byte is sent."""
    interrupt = Interrupt()
    async with interrupt.watch(), options.engine(GENERATE_TIMEOUTS) as engine:
        stream = engine.stream(request)
        with anyio.CancelScope() as scope:
            interrupt.on_first = lambda why: scope.cancel()
            async with stream:
                async for event in stream:
                    if not options.as_json and isinstance(event, TextDelta | RefusalDelta):
                        write_out(event.text)
                    elif options.show_reasoning and isinstance(event, ReasoningDelta):
                        sys.stderr.write(event.text)
                        sys.stderr.flush()
                    elif not options.as_json and isinstance(event, ToolCallEnd):
                        _show_call(stream.response)
        response = stream.response
    return _finish(response, interrupt, options.as_json)


def _finish(response: Response, interrupt: Interrupt, as_json: bool) -> int:
    """The last lines: what came of it, on standard error; the exit code."""
    stopped = interrupt.exit_code
    if stopped is not None and response.finish_reason is None and (response.error is None or response.error.kind == "aborted"):
        response.error = error_info("aborted", interrupt.why, retryable=True)
    if as_json:
        sys.stdout.buffer.write(json_line(response_as_dict(response)))
        sys.stdout.buffer.flush()
    elif response.text and not response.text.endswith("\n"):
        write_out("\n")
    if stopped is not None and response.finish_reason is None:
        say(f"{interrupt.why}: the answer is partial ({len(response.text)} characters)")
        return stopped
    failed = response.to_exception()
    if failed is not None:
        partial_answer = f" (the answer is partial: {len(response.text)} characters)" if response.text else ""
        say(f"headwater: {explain(failed.info)}{partial_answer}")
        return USAGE if failed.info.kind == "configuration" else FAILED
    say(status_line(response))
    return DONE


def status_line(response: Response) -> str:
    """What a finished answer came to, in one line."""
    parts: list[str] = [response.finish_reason or "unknown"]
    usage, timing = response.usage, response.timing
    if usage is not None and usage.output_tokens is not None:
        came_in = "" if usage.input_tokens is None else f"{usage.input_tokens} in, "
        parts.append(f"{came_in}{usage.output_tokens} out tokens" + (f" ({usage.reasoning_tokens} reasoning)" if usage.reasoning_tokens else ""))
    if timing.first_content is not None:
        parts.append(f"first after {timing.first_content:.2f} s")
        if usage is not None and usage.output_tokens and timing.last_content and timing.last_content > 0:
            parts.append(f"{usage.output_tokens / timing.last_content:.1f} tokens/s")
    if response.attempts > 1:
        parts.append(f"{response.attempts} attempts")
    parts.append("/".join(name for name in (response.provider, response.model) if name))
    return " · ".join(part for part in parts if part)


def _show_call(response: Response) -> None:
    call = response.tool_calls[-1]
    write_out(f"{call.name}({call.arguments})\n")
