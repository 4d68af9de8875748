"""What does decoding alone cost, per text event?

    python benchmarks/bench_decode.py [--events 20000] [--per-read 16] [--json]

Bytes that are already there, cut into reads of 16 events, are decoded to events and folded; then the same for every protocol, as the simulator
writes it. Beside it: the bare msgspec decode of the same
frames (the least that parsing can cost), and the openai SDK's own chunk objects if it is installed. `growth` is the cost per event of an
answer a hundred times as long: 1.0 is linear.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import headwater as hw
from harness import Row, arguments, report, versions
from headwater.sim.script import Script, steps
from headwater.sim.speech import SPEECHES, Speech
from headwater_codecs.openai_chat.wire import decode_chunk
from loopback import answer, delta, reads


def per_event(run: Callable[[], object], events: int, repeat: int) -> float:
    """CPU microseconds per event, the best of some runs."""
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        run()
        best = min(best, (time.process_time() - started) / events * 1e6)
    return best


def written(speech: Speech, events: int, per_read: int) -> list[bytes]:
    """The body of an answer with this many text events in a protocol, cut into reads."""
    encoder = speech.encoder(model="bench-1", id="bench", created=1_760_000_000)
    script = Script(n=events)
    pieces = [piece for _, event in steps(script, "bench-1", "bench") if (piece := encoder.feed([event]))]
    return [b"".join(pieces[at : at + per_read]) for at in range(0, len(pieces), per_read)]


def main() -> None:
    args = arguments(__doc__ or "", events=(int, 20_000, "text events of the answer"), **{"per-read": (int, 16, "events in one read")})
    events, repeat = args.events, max(args.repeat, 5)
    chunks = reads(events, args.per_read)
    frames = [frame[6:-2] for frame in answer(events)[:-1]]
    varied = [delta({"content": f" token{number % 100}"}).replace(b"1760000000", b"%d" % (1_700_000_000 + number)) for number in range(events)]
    varied = [answer(1)[0], *varied, *answer(0)[1:]]
    rows: list[Row] = [
        {"what": "bare msgspec decode", "us/event": per_event(lambda: [decode_chunk(data) for data in frames], events, repeat)},
        {"what": "headwater decode_events", "us/event": per_event(lambda: hw.decode_events("openai-chat", chunks), events, repeat)},
        {"what": "headwater decode (folded)", "us/event": per_event(lambda: hw.decode("openai-chat", chunks), events, repeat)},
        {"what": "headwater, one event a read", "us/event": per_event(lambda: hw.decode_events("openai-chat", varied), events, repeat)},
    ]
    for speech in SPEECHES:
        body = written(speech, events, args.per_read)
        options = {"family": "anthropic"} if speech.protocol == "bedrock-invoke" else {}

        def decode(protocol: str = speech.protocol, body: list[bytes] = body, options: dict[str, str] = options) -> object:
            return hw.decode_events(protocol, body, options=options)

        rows.append({"what": speech.protocol, "us/event": per_event(decode, events, repeat)})
    short, long = reads(1_000, args.per_read), reads(100_000, args.per_read)
    small = per_event(lambda: [hw.decode("openai-chat", short).text for _ in range(20)], 20_000, repeat)
    rows.append({"what": "growth, 1,000 to 100,000 deltas", "us/event": per_event(lambda: hw.decode("openai-chat", long).text, 100_000, 3) / small})
    try:
        from openai.types.chat import ChatCompletionChunk
    except ImportError:
        pass
    else:
        few = frames[:2_000]
        rows.append(
            {
                "what": "openai SDK chunk objects",
                "us/event": per_event(lambda: [ChatCompletionChunk.construct(**json.loads(data)) for data in few], len(few), 3),
            }
        )
    report(versions("headwater", "msgspec", "openai"), rows, ["what", "us/event"], args.json)


if __name__ == "__main__":
    main()
