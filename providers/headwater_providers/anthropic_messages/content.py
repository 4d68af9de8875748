"""Content blocks of a Messages request: text, images and documents. Row OR-AN-03; B276."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import FilePart, ImagePart, Part, TextPart
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.body import Json

_PDF = "application/pdf"
_decode_meta = msgspec.json.Decoder(dict[str, Raw]).decode


def text_block(part: TextPart, where: str, own: bool = True) -> Json | None:
    """The text with what came with it (citations, a cache breakpoint); None for blank text, which the API refuses."""
    if not part.text.strip():
        return None
    return {"type": "text", "text": part.text, **(meta_of(part.meta, where) if own else {})}


def shown_block(part: Part, where: str, provider: str, dialect: MessagesDialect) -> Json | None:
    """What a user or a tool may show. Raises ConfigurationError for any other part."""
    if isinstance(part, TextPart):
        return text_block(part, where)
    if isinstance(part, ImagePart):
        return {"type": "image", "source": _image_source(part, where)}
    if isinstance(part, FilePart):
        if not dialect.supports_files:
            raise ConfigurationError(f"{where}: provider {provider} takes no files on this protocol")
        return _document(part, where)
    raise ConfigurationError(f"{where}: {type(part).__name__} does not belong into this message")


def meta_of(meta: Raw | None, where: str) -> Mapping[str, object]:
    """The fields that a part carries for replay, byte for byte."""
    if meta is None:
        return {}
    try:
        return dict(_decode_meta(meta))
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{where}: the meta of a part is not a JSON object: {error}") from error


def _image_source(part: ImagePart, where: str) -> Json:
    if (part.url is None) == (part.data is None):
        raise ConfigurationError(f"{where}: an image has either a url or data")
    if part.url is not None:
        return _url_source(part.url, where)
    if not part.media_type:
        raise ConfigurationError(f"{where}: an image given as data needs its media_type, such as image/png")
    return {"type": "base64", "media_type": part.media_type, "data": part.data}


def _document(part: FilePart, where: str) -> Json:
    given = [name for name in ("url", "data", "file_id") if getattr(part, name) is not None]
    if len(given) != 1:
        raise ConfigurationError(f"{where}: a file has one of url, data and file_id")
    media_type = part.media_type or ""
    if media_type.startswith(("audio/", "video/")):
        raise ConfigurationError(f"{where}: anthropic-messages takes no recordings ({media_type})")
    if part.file_id is not None:
        source: Json = {"type": "file", "file_id": part.file_id}
    elif part.url is not None:
        source = _url_source(part.url, where)
    elif media_type.startswith("text/"):
        source = {"type": "text", "media_type": "text/plain", "data": _decoded(part.data or "", where)}
    elif media_type in ("", _PDF):
        source = {"type": "base64", "media_type": _PDF, "data": part.data}
    elif media_type.startswith("image/"):
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": part.data}}
    else:
        raise ConfigurationError(f"{where}: anthropic-messages takes PDF, text and images, no {media_type}")
    if part.file_id is not None and media_type.startswith("image/"):
        return {"type": "image", "source": source}
    document: Json = {"type": "document", "source": source}
    if part.filename:
        document["title"] = part.filename
    return document


def _url_source(url: str, where: str) -> Json:
    """An address, or the data that a `data:` address holds."""
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise ConfigurationError(f"{where}: a data: address must be base64, with its media type")
    return {"type": "base64", "media_type": head[5:].partition(";")[0], "data": data}


def _decoded(data: str, where: str) -> str:
    from base64 import b64decode  # few requests hold a text file

    try:
        return b64decode(data, validate=True).decode("utf-8", "replace")
    except ValueError as error:
        raise ConfigurationError(f"{where}: the file's data is not base64") from error
