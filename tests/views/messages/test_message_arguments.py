"""Arguments against a schema: what is mended, what is refused, and in which words. Row OR-JX-07."""

from __future__ import annotations

import sys

import pytest

from headwater.views import messages as m
from headwater_codecs.neutral import ConfigurationError, MalformedError

pytestmark = pytest.mark.rows("OR-JX-07")
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "maximum": 9},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "unit": {"enum": ["C", "F"]},
        "either": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "inner": {"type": "object", "properties": {"k": {"type": "number"}}, "additionalProperties": {"type": "integer"}},
        "one": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS = [m.ToolDefinition("f", parameters=SCHEMA), m.ToolDefinition("g")]


def call(arguments: dict[str, object], name: str = "f", complete: bool = True) -> m.ToolCall:
    """A call."""
    return m.ToolCall("call_1", name, arguments, complete=complete)


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        ({"n": 3, "x": 1.5, "on": True, "name": "ab", "unit": "C"}, {"n": 3, "x": 1.5, "on": True, "name": "ab", "unit": "C"}),
        ({"n": "3", "x": "1.5", "on": "true"}, {"n": 3, "x": 1.5, "on": True}),
        ({"n": 3.0, "x": "2", "on": " False "}, {"n": 3.0, "x": 2, "on": False}),
        ({"n": 3, "tags": [1, "b", True, 2.5]}, {"n": 3, "tags": ["1", "b", "true", "2.5"]}),
        ({"n": 3, "inner": {"k": "1e2", "other": "7"}}, {"n": 3, "inner": {"k": 100.0, "other": 7}}),
        ({"n": 3, "either": None}, {"n": 3, "either": None}),
        ({"n": 3, "either": "4", "one": None}, {"n": 3, "either": 4, "one": None}),
    ],
)
def test_mended(given: dict[str, object], mended: dict[str, object]) -> None:
    """Types are made where one can be; the call keeps what came."""
    asked = call(given)
    before = m.encode(m.AssistantMessage((asked,)))
    assert repr(m.check_arguments(asked, TOOLS)) == repr(mended)
    assert m.encode(m.AssistantMessage((asked,))) == before


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({}, ["arguments: 'n' is a required property"]),
        ({"n": None}, ["n: None is not of type 'integer'"]),
        ({"n": "three", "on": "yes"}, ["n: 'three' is not of type 'integer'", "on: 'yes' is not of type 'boolean'"]),
        ({"n": "3.5"}, ["n: '3.5' is not of type 'integer'"]),
        ({"n": "1e999"}, ["n: '1e999' is not of type 'integer'"]),
        ({"n": "true"}, ["n: 'true' is not of type 'integer'"]),
        ({"n": 11, "unit": "K"}, ["n: 11 is greater than the maximum of 9", "unit: 'K' is not one of ['C', 'F']"]),
        ({"n": 1, "name": "A"}, ["name: 'A' does not match '^[a-z]+$'"]),
        ({"n": 1, "tags": ["a", "a"]}, ["tags: ['a', 'a'] has non-unique elements"]),
        ({"n": 1, "inner": {"k": []}}, ["inner.k: [] is not of type 'number'"]),
        ({"n": 1, "tags": [None]}, ["tags.0: None is not of type 'string'"]),
        ({"n": 1, "z": 2}, ["arguments: Additional properties are not allowed ('z' was unexpected)"]),
    ],
)
def test_refused(given: dict[str, object], problems: list[str]) -> None:
    """Every problem with its place, and what was received."""
    with pytest.raises(MalformedError) as caught:
        m.check_arguments(call(given), TOOLS)
    first, *listed, received = str(caught.value).split("\n")
    assert first == "the arguments of call call_1 (f) do not fit its schema:"
    assert listed == [f"  - {problem}" for problem in problems]
    assert received.startswith("received: {")


@pytest.mark.rows("ISS-20", "ISS-34")
def test_calls_that_cannot_be_run() -> None:
    """A tool that does not exist, and arguments that are not all there, whatever they look like."""
    with pytest.raises(MalformedError, match="asks for the tool 'h', which does not exist; there are: f, g"):
        m.check_arguments(call({}, "h"), TOOLS)
    with pytest.raises(MalformedError, match="there are: none"):
        m.check_arguments(call({}), [])
    with pytest.raises(MalformedError, match="cut or were guessed"):
        m.check_arguments(call({"n": 1}, complete=False), TOOLS)


def test_a_tool_without_a_schema_takes_everything() -> None:
    """There is nothing to check."""
    assert m.check_arguments(call({"a": "1"}, "g"), TOOLS) == {"a": "1"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "strin"}, "the schema of tool 'f' is none: 'strin' is not valid"),
        ({"$ref": "https://example.com/schema.json"}, "refers to what is not in it"),
        ({"$ref": "#/$defs/x"}, "refers to what is not in it"),
    ],
)
def test_schemas_that_are_none(schema: dict[str, object], said: str) -> None:
    """A mistake of the caller's; nothing is fetched."""
    with pytest.raises(ConfigurationError) as caught:
        m.check_arguments(call({"a": 1}), [m.ToolDefinition("f", parameters=schema)])
    assert said in str(caught.value)


def test_references_inside_of_a_schema() -> None:
    """They are followed."""
    schema: dict[str, object] = {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}
    tools = [m.ToolDefinition("f", parameters=schema)]
    assert m.check_arguments(call({"a": 1}), tools) == {"a": 1}
    with pytest.raises(MalformedError, match="a: 'x' is not of type 'integer'"):
        m.check_arguments(call({"a": "x"}), tools)


def test_without_jsonschema(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigurationError, match=r"pip install headwater\[validation\]"):
        m.check_arguments(call({"n": 1}), TOOLS)
