"""The plain reader gives what reading in full gives: the same events and diagnostics, whatever the frames hold."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_frames import delta, frame
from headwater_codecs.neutral import Diagnostic, Event, ReasoningDelta, ReasoningEnd, TextDelta
from headwater_codecs.openai_chat.plain import PLAIN, OpeningChunk
from headwater_codecs.openai_chat.wire import Chunk, ChunkChoice, Delta
from headwater_codecs.sse import Frame
from headwater_providers.openai_chat import translate
from headwater_providers.openai_chat.translate import ChatTranslator

FRAME = b'{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":null}'
PADDED = b'{"id":"c1","choices":[{"index":0,"delta":{"content":"Hi"}}],"obfuscation":"aB3"}'
THOUGHT = FRAME.replace(b'"content":"Hi"', b'"content":null,"reasoning_content":"Hi"')


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (FRAME, "Hi"),
        (PADDED, "Hi"),
        (FRAME.replace(b"Hi", "é🚀\u2028".encode()), "é🚀\u2028"),
        (FRAME.replace(b"Hi", b'a\\n\\"\\ud83d\\ude80'), 'a\n"🚀'),
        (FRAME.replace(b"Hi", b""), ""),
        (FRAME.replace(b'"content":"Hi"', b'"role":"assistant"'), ""),
        (FRAME.replace(b'"content":"Hi"', b'"content":"a","content" : "b"'), "b"),
        (FRAME.replace(b'"usage":null', b'"error":null,"x":[1]'), "Hi"),
        (b'{"choices":[{"delta":{"content":"Hi","refusal":null,"tool_calls":null}}]}', "Hi"),
    ],
)
def test_plain_text(data: bytes, text: str) -> None:
    """A frame that is nothing but text is read."""
    choice = PLAIN["text"](data).choices[0]
    assert (choice.delta.piece, choice.finish_reason) == (text, None)


@pytest.mark.parametrize("piece", [b"Hi", b""])
def test_plain_finish(piece: bytes) -> None:
    """The finish reason may come with it, or alone."""
    choice = PLAIN["text"](FRAME.replace(b"Hi", piece).replace(b'"finish_reason":null', b'"finish_reason":"stop"')).choices[0]
    assert (choice.delta.piece, choice.finish_reason) == (piece.decode(), "stop")


@pytest.mark.parametrize("data", [THOUGHT, THOUGHT.replace(b'"content":null', b'"content":""')])
def test_plain_reasoning(data: bytes) -> None:
    """So is one that is nothing but reasoning."""
    assert PLAIN["reasoning"](data).choices[0].delta.piece == "Hi"


ROLE = FRAME.replace(b'"content":"Hi"', b'"role":"assistant","content":"","refusal":null')


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (ROLE, ("c1", "m", "")),
        (ROLE.replace(b'"content":""', b'"content":null,"reasoning_content":""'), ("c1", "m", None)),
        (ROLE.replace(b'"content":"",', b""), ("c1", "m", None)),
        (FRAME, ("c1", "m", "Hi")),
        (PADDED, ("c1", None, "Hi")),
        (FRAME.replace(b'"c1"', b"null"), (None, "m", "Hi")),
    ],
)
def test_plain_opening(data: bytes, told: tuple[str | None, str | None, str | None]) -> None:
    """What comes before the first text, or with it, also names the answer and the model."""
    chunk = PLAIN["opening"](data)
    assert isinstance(chunk, OpeningChunk)
    assert (chunk.id, chunk.model, chunk.choices[0].delta.piece) == told


@pytest.mark.parametrize("data", [THOUGHT, FRAME.replace(b'"c1"', b"1"), FRAME.replace(b'"m"', b"{}"), b'{"choices":[],"id":"c1","model":"m"}'])
def test_not_opening(data: bytes) -> None:
    """Reasoning does not open a text, and odd names are read in full."""
    with pytest.raises(msgspec.DecodeError):
        PLAIN["opening"](data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"choices":[]}',
        b'{"choices":null}',
        b"{}",
        b"[DONE]",
        b"",
        b'"a"',
        b'{"choices":[{"delta":{"content":null}}]}',
        b'{"choices":[{"delta":null}]}',
        b'{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{}}]}',
        b'{"choices":[{"index":1,"delta":{"content":"a"}}]}',
        b'{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}',
        b'{"choices":[{"delta":{"content":"a"},"finish_reason":1}]}',
        b'{"choices":[{"delta":{"content":"a"},"message":{"content":"b"}}]}',
        b'{"choices":[{"delta":{"content":[{"text":"a"}]}}]}',
        b'{"choices":[{"delta":{"content":"a"}}],"usage":{}}',
        b'{"choices":[{"delta":{"content":"a"}}],"error":{"message":"e"}}',
        b'{"choices":[{"delta":{"content":"\xff"}}]}',
        b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"a\nb"}}]}',
        FRAME[:-1],
        FRAME + b"x",
        THOUGHT,
    ],
)
def test_not_plain(data: bytes) -> None:
    """Any other frame is refused."""
    with pytest.raises(msgspec.DecodeError):
        PLAIN["text"](data)


FULL: dict[str, object] = {
    "usage": {"prompt_tokens": 1},
    "error": {"message": "e"},
    "citations": ["u"],
    "search_results": ["u"],
    "x_groq": {"usage": {}},
}
FULL_CHOICE: dict[str, object] = {
    "index": 1,
    "finish_reason": ["stop"],
    "message": {"content": "a"},
    "text": "t",
    "usage": {"prompt_tokens": 1},
    "error": {"message": "e"},
}
FULL_DELTA: dict[str, object] = {
    "refusal": "a",
    "reasoning_content": "a",
    "reasoning": "a",
    "reasoning_text": "a",
    "reasoning_details": [{}],
    "tool_calls": [{"index": 0}],
    "function_call": {"name": "f"},
    "annotations": [{}],
    "images": [{}],
    "audio": {},
}


def test_every_field_that_says_more_is_refused() -> None:
    """No field that reading in full looks at is overlooked: with any of them the frame is not plain."""
    cases = [{"choices": [{"delta": {"content": "a"}}], name: value} for name, value in FULL.items()]
    cases += [{"choices": [{"delta": {"content": "a"}, name: value}]} for name, value in FULL_CHOICE.items()]
    cases += [{"choices": [{"delta": {"content": "a", name: value}}]} for name, value in FULL_DELTA.items()]
    assert set(FULL) == set(Chunk.__struct_fields__) - {"id", "model", "choices"}
    assert set(FULL_CHOICE) == set(ChunkChoice.__struct_fields__) - {"delta"}
    assert set(FULL_DELTA) == set(Delta.__struct_fields__) - {"content"}
    for kind in PLAIN:
        for case in cases:
            if kind == "reasoning":
                case = json.loads(json.dumps(case).replace('"content": "a"', '"content": ""'))
                if "reasoning_content" in case["choices"][0]["delta"]:
                    continue
            with pytest.raises(msgspec.ValidationError):
                PLAIN[kind](msgspec.json.encode(case))


TEXT = st.one_of(
    st.sampled_from(
        ["", "Hello", " w", "é", "🚀", '"', "\\", "\n", "\x00", "\x7f", "\u2028", "\ud83d", "\ude80", "[DONE]", '"content":"x', "a\\u0041"]
    ),
    st.text(max_size=5),
)
RAW = st.sampled_from([b"", b"\xff", b"\xc3", b"\x01", b"\\", b'\\"', b'","x":"', b"\\u00e9", b"\xe2\x80\xa8", b"\xed\xa0\xbd"])
PADDING = st.sampled_from([None, "", "aB3", "x", "a b", "é", '"', "\\"])
USAGE = st.sampled_from([None, {"prompt_tokens": 5, "completion_tokens": 1}, {"prompt_tokens": 5, "completion_tokens": 2}, {"prompt_tokens": 0}])
EXTRA = st.sampled_from(
    [
        {},
        {"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "f", "arguments": "{}"}}]},
        {"reasoning_content": "r"},
        {"refusal": "no"},
        {"annotations": [{"type": "url_citation", "url": "u"}]},
        {"reasoning_details": [{"type": "reasoning.text", "signature": "S"}]},
    ]
)


def frame_of(text: str, raw: bytes, padding: str | None, extra: dict[str, object], more: dict[str, object]) -> bytes:
    """A frame with `raw` bytes put into its text as they are."""
    choice: dict[str, object] = {"index": more.pop("index", 0), "delta": {"content": text + "\x00RAW\x00", **extra}}
    if "finish" in more:
        choice["finish_reason"] = more.pop("finish")
    value: dict[str, object] = {"id": "c1", "model": "m", "choices": [choice], **more}
    for name in more.pop("unnamed", ()):
        del value[name]
    value.pop("unnamed", None)
    if padding is not None:
        value["obfuscation"] = padding
    return (
        json.dumps(value, separators=(",", ":"), ensure_ascii=len(text) % 2 == 0).encode("utf-8", "surrogatepass").replace(b"\\u0000RAW\\u0000", raw)
    )


MORE = st.fixed_dictionaries(
    {},
    optional={
        "usage": USAGE,
        "citations": st.sampled_from([["u"], ["v"], ["u", "v"]]),
        "index": st.sampled_from([0, 0, 0, 1]),
        "finish": st.sampled_from([None, None, "", "stop", "null", "tool_calls"]),
        "unnamed": st.sampled_from([["id"], ["model"], ["id", "model"]]),
        "error": st.sampled_from([None, None, {"message": "e"}]),
        "x_groq": st.just({"usage": {"prompt_tokens": 7}}),
    },
)
TEXT_ONLY = st.builds(lambda text: frame_of(text, b"", None, {}, {}), TEXT)
LAST = st.builds(lambda text, reason: frame_of(text, b"", None, {}, {"finish": reason}), TEXT, st.sampled_from(["stop", "length", "content_filter"]))
ANY = st.builds(frame_of, TEXT, RAW, PADDING, EXTRA, MORE.map(dict))
OPENING = st.sampled_from([ROLE, ROLE, ROLE.replace(b'"c1"', b'""'), ROLE.replace(b'"content":"",', b""), ROLE.replace(b'"m"', b"null")])
CONTROL = st.sampled_from([b'{"choices":[],"usage":{"prompt_tokens":6}}', b'{"choices":[],"citations":["w"]}', b"null", b"{}", b"[DONE]"])
TEXTS = (TEXT_ONLY, TEXT_ONLY, TEXT_ONLY, TEXT_ONLY, OPENING, LAST)
FRAMES = st.lists(st.one_of(*TEXTS, ANY, ANY, st.sampled_from([FRAME, PADDED, THOUGHT, THOUGHT]), CONTROL), max_size=25)


def translated(frames: list[bytes], plain: bool) -> tuple[list[list[Event]], list[Diagnostic], int, bool]:
    """What comes of the frames, one at a time and then all that is left, with and without the plain reader."""
    translator = ChatTranslator()
    if not plain:
        translator._plain_allowed, translator._plain = False, None
    out = [translator.feed([Frame(data)]) for data in frames[:6]]
    out.append(translator.feed([Frame(data) for data in frames[6:]]))
    out.append(translator.finish())
    return out, translator.diagnostics, translator.progress, translator.settled


@settings(max_examples=400)
@given(FRAMES)
def test_same_events(frames: list[bytes]) -> None:
    """With the plain reader and without, the events and the diagnostics are the same."""
    assert translated(frames, plain=True) == translated(frames, plain=False)


def test_text_in_a_block_that_began_without() -> None:
    """Reasoning that began encrypted and goes on as text is not redacted."""
    details = delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "AA", "index": 0}]).data
    frames = [details, THOUGHT, THOUGHT]
    batches, *_ = translated(frames, plain=True)
    assert (batches, *_) == translated(frames, plain=False)
    ends = [event for batch in batches for event in batch if isinstance(event, ReasoningEnd)]
    assert [end.redacted for end in ends] == [False]


def test_nested_without_end() -> None:
    """Depth is no way to break the reader."""
    deep = FRAME.replace(b'"usage":null', b'"x":' + b"[" * 100_000)
    assert translated([FRAME, FRAME, deep], plain=True) == translated([FRAME, FRAME, deep], plain=False)


def test_the_plain_reader_is_used() -> None:
    """Most frames of an answer are not read in full; without this the tests above would say nothing."""
    frames = [Frame(THOUGHT.replace(b"Hi", b"r%d" % number)) for number in range(50)]
    frames += [Frame(FRAME.replace(b"Hi", b"t%d" % number)) for number in range(50)]
    translator = ChatTranslator()
    read = 0
    original = translator._inside

    def counting(frame: Frame) -> None:
        nonlocal read
        read += 1
        original(frame)

    translator._inside = counting  # type: ignore[method-assign]
    events = translator.feed(frames)
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == [f"r{number}" for number in range(50)]
    assert [event.text for event in events if isinstance(event, TextDelta)] == [f"t{number}" for number in range(50)]
    assert read <= 4


def test_trying_in_vain_is_given_up() -> None:
    """Where every frame holds more than text, the plain reader is tried less and less often."""
    tried = 0

    def refusing(data: bytes) -> str:
        nonlocal tried
        tried += 1
        return original(data)

    original = PLAIN["text"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(translate.PLAIN, "text", refusing)
        ChatTranslator().feed([frame({"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": number}}) for number in range(3000)])
    assert 0 < tried < 25
