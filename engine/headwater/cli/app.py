"""The commands and their options. Nothing heavy is imported here: `--help` has to be quick."""

from __future__ import annotations

import click

from headwater.cli.options import App, common, engine_options, model_option, sampling_options


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="headwater", prog_name="headwater")
def app() -> None:
    """Stream answers of language models: in the terminal, in batches, and against the clock.

    Without a key or a network, the model local/smollm2 runs inside of this machine (extra `local`).
    """


@app.command(short_help="Answer one prompt, streaming to the terminal.")
@click.argument("prompt")
@model_option
@sampling_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole response as JSON at the end instead of the text.")
@click.option("--show-reasoning", is_flag=True, help="Show the model's reasoning on standard error.")
@engine_options
@common
def generate(prompt: str, **options: object) -> int:
    """Answer one PROMPT, streaming to the terminal. `-` reads it from standard input.

    Ctrl-C stops the answer; what has come stays (exit code 130).
    Deadlines unless given: connect 10 s, first content 120 s, idle 60 s, none in total.
    """
    from headwater.cli.generate import Options, generate

    options["model_name"] = options.pop("model")
    return generate(prompt, Options.of(options))


@app.command(short_help="Answer every row of a file, so many at a time.")
@click.argument("input", metavar="IN.jsonl")
@click.option("-o", "--output", required=True, metavar="OUT.jsonl", help="Where the records go; - is standard output.")
@click.option("-m", "--model", help="The model of every row, whatever the rows say. Without it: each row's own, else local/smollm2.")
@click.option("-c", "--concurrency", type=int, default=8, show_default=True, help="Rows in flight at the same time.")
@sampling_options
@click.option("--limit", type=click.IntRange(min=0), help="Run only the first N rows.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first row that fails.")
@click.option("--overwrite", is_flag=True, help="Replace an output that is not empty.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@engine_options
@common
def batch(input: str, output: str, **options: object) -> int:
    """Answer every row of IN.jsonl (- is standard input): one record a row, written as soon as the row ends.

    \b
    A row is one line of JSON, in one of three forms:
      {"prompt": "..."}                      with, if you like, id, system, model, max_tokens, temperature, ...
      {"messages": [...]}                    the same with chat messages
      {"custom_id", "method", "url", "body"} OpenAI's batch line, answered in the form of OpenAI's output file

    A row that cannot be read or that fails is a record with its error; the others run. What a row says wins over the options, except
    --model. Ctrl-C aborts the rows in flight and writes what they had received.

    Deadlines per row unless given: connect 10 s, first content 120 s, idle 60 s, 900 s in total.
    Exit code: 0 all rows answered, 1 rows failed, 2 wrong use or configuration, 130 stopped.
    """
    from headwater.cli.batch import Options, batch

    options["model_name"] = options.pop("model")
    return batch(input, output, Options.of(options))


@app.command(short_help="Decode a captured response body, offline.")
@click.argument("file", metavar="FILE")
@click.option("-p", "--protocol", required=True, help="The wire protocol of the body: openai-chat, ...")
@click.option("--json", "as_json", is_flag=True, help="Print the response as JSON.")
@click.option("--events", is_flag=True, help="Print the events, one JSON object a line.")
@click.option("--content-type", help="The content type that the body came with.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME:VALUE", help="A header of the response (content-encoding counts).")
@click.option("--option", "options", multiple=True, metavar="NAME[=VALUE]", help="think_tags, think_open, cumulative_deltas, eof_is_end, strict.")
@common
def decode(file: str, protocol: str, **options: object) -> int:
    """Decode a captured response body, offline. FILE is - for standard input.

    Exit code: 0 the stream ended well, 1 it did not (what had come is printed), 2 wrong use.
    """
    from headwater.cli.decode import Options, decode

    return decode(file, protocol, Options.of(options))


@app.command(short_help="List the vendors that are known, or the models of one with their prices.")
@click.argument("vendor", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@common
def models(vendor: str | None, as_json: bool, **options: object) -> int:
    """List the vendors that are known: protocol, address, key variables, and whether a key is set (never the key).

    With VENDOR, list its models that are in the catalogue: context window, most output, US dollars for a million tokens, what they read.
    """
    from headwater.cli.models import models, of_vendor

    return models(as_json) if vendor is None else of_vendor(vendor, as_json)


@app.command(short_help="Measure how fast a model streams.")
@click.argument("model")
@click.option("-n", "--requests", type=int, default=20, show_default=True, help="Requests to measure.")
@click.option("-c", "--concurrency", type=int, default=1, show_default=True, help="Requests in flight at the same time.")
@click.option("--warmup", type=int, default=1, show_default=True, help="Requests before that, not measured.")
@click.option("--prompt", default="Write a short paragraph about rivers.", show_default=True, help="What is asked.")
@click.option("--unique", is_flag=True, help="Number the prompts, so that none is answered from a cache of another.")
@sampling_options
@click.option("--json", "as_json", is_flag=True, help="Print the figures and their definitions as JSON.")
@engine_options
@common
def bench(model: str, **options: object) -> int:
    """Measure how fast MODEL streams: time to first event, token and text, gaps, time per token, tokens/s, as p50, p90 and p99.

    Failed requests are counted and kept apart from the figures. Exit code 1 when any failed.
    Deadlines unless given: connect 10 s, first content 120 s, idle 60 s, 900 s in total.
    """
    from headwater.cli.bench import Options, bench

    return bench(model, Options.of(options))


@app.command(short_help="Run the scripted provider on this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Where it listens, on loopback only; 0 takes a free port.")
@click.option("--strict", is_flag=True, help="Refuse what the vendors refuse: orphan calls and results, blank blocks, unknown fields.")
@click.option("--max-concurrent", type=click.IntRange(min=1), help="Answer 429 beyond so many requests at once.")
@click.option("--rpm", type=click.IntRange(min=1), help="Answer 429 beyond so many requests per minute.")
@click.option("--tpm", type=click.IntRange(min=1), help="Answer 429 beyond so many tokens per minute.")
@click.option("--script", type=click.Path(exists=True, dir_okay=False), help="A JSON file: the model's name -> the fields of its script.")
@click.option("--cert", type=click.Path(exists=True, dir_okay=False), help="Serve TLS with this certificate (PEM, the key may be in it).")
@click.option("--key", type=click.Path(exists=True, dir_okay=False), help="The certificate's key, where it is a file of its own.")
@click.option("--backend", type=click.Choice(["asyncio", "trio"]), default="asyncio", show_default=True, help="The event loop.")
def sim(**options: object) -> int:
    """Run a scripted provider that speaks every protocol, with timing and every fault, until Ctrl-C.

    \b
    The model's name is the script:
      sim/tokens?n=200&gap_ms=20&first_ms=300     text; also text=, reasoning=, call=&args=, refusal=, choices=, finish=
      sim/fault?kind=truncate&after=10            close, reset, no_http, status, status_stall, html, json_error, error, truncate, cut,
                                                  reset_body, stall, pings, garbage, bad_chunk, huge, cut_utf8, length, idle_close;
                                                  times= makes it pass, late= puts it behind the end

    /_sim/stats tells how many requests came, how many at once, how many were refused, and how many clients left early.
    """
    from headwater.cli.sim import Options, sim

    return sim(Options(**options))  # type: ignore[arg-type]  # click has checked them
