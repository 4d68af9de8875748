"""Options that several commands share, and the group that turns their results and failures into exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


class App(click.Group):
    """The command group. A command gives its exit code; a configuration error is one line and exit code 2, Ctrl-C is 130."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was named, and end the process with its code."""
        ctx.exit(self._code(ctx))

    def _code(self, ctx: click.Context) -> int:
        try:
            code = super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:  # the reader of standard output went away, as `| head` does
            from headwater.cli.console import FAILED, drop_stdout

            drop_stdout()
            return FAILED
        except Exception as error:
            return _code_of(error)
        return code if isinstance(code, int) else 0


def _code_of(error: Exception) -> int:
    from headwater.cli.console import FAILED, USAGE, explain, say
    from headwater_codecs.neutral import ConfigurationError, HeadwaterError

    if isinstance(error, ConfigurationError):
        say(f"headwater: {' '.join(error.info.message.split())}")
        return USAGE
    if isinstance(error, HeadwaterError):
        say(f"headwater: {explain(error.info)}")
        return FAILED
    raise error


def common(command: Command) -> Command:
    """The options of every command."""
    return _decorated(command, click.option("-v", "--verbose", count=True, expose_value=False, callback=_verbose, help=_VERBOSE))


def model_option(command: Command) -> Command:
    """`--model` with the local model as its default."""
    name = "Which model: vendor/name, or a name that one vendor has."
    return _decorated(command, click.option("-m", "--model", default="local/smollm2", show_default=True, help=name))


def sampling_options(command: Command) -> Command:
    """What shapes the answer."""
    return _decorated(
        command,
        click.option("--system", help="The system message."),
        click.option("--max-tokens", type=click.IntRange(min=1), help="The longest answer, in tokens."),
        click.option("--temperature", type=float, help="How freely the model chooses."),
    )


def engine_options(command: Command) -> Command:
    """Where requests go and how long they may take."""
    return _decorated(
        command,
        click.option("--base-url", help="Another server with the same protocol: everything before /chat/completions."),
        click.option("--timeout", "total", type=_SECONDS, help="Deadline in seconds for everything, retries included."),
        click.option("--connect-timeout", "connect", type=_SECONDS, help="Deadline in seconds for a connection."),
        click.option("--first-timeout", "first_content", type=_SECONDS, help="Deadline in seconds for the first content."),
        click.option("--idle-timeout", "idle", type=_SECONDS, help="The longest wait in seconds between two signs of progress."),
        click.option(
            "--retries", type=click.IntRange(min=0), help="How often a request is repeated that failed before its first content. [default: 2]"
        ),
        click.option("--backend", type=click.Choice(["asyncio", "uvloop", "trio"]), default="asyncio", show_default=True, help="The event loop."),
    )


_VERBOSE = "Log to standard error: -v retries and failures, -vv every stream."
_SECONDS = click.FloatRange(min=0, min_open=True)


def _decorated(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):  # the first one is listed first
        command = option(command)
    return command


def _verbose(ctx: click.Context, _: click.Parameter, level: int) -> None:
    if level:
        from headwater.cli.console import configure_logs

        configure_logs(level)


def stdin_text() -> str:
    """All of standard input as text; a byte order mark and one last newline are dropped."""
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    return text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")
