"""Content of messages as openai-chat writes it: a string, or a list of text, images, recordings, files and videos."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import FilePart, ImagePart, OpaquePart, Part, TextPart
from headwater_providers.openai_chat.dialect import ChatDialect

Json = dict[str, object]
# The media types of recordings, by the names that `input_audio.format` takes.
_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/pcm": "pcm16",
}
AUDIO_TYPES = {format: media for media, format in reversed(_AUDIO.items())}
_decode_meta = msgspec.json.Decoder(dict[str, Raw]).decode


def user_content(content: str | tuple[Part, ...], where: str, provider: str, dialect: ChatDialect) -> str | list[Json]:
    """A string where one text is all there is, else the parts. Raises ConfigurationError for a part that cannot be said."""
    if isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(only := content[0], TextPart) and only.meta is None:
        return only.text
    written: list[Json] = []
    for index, part in enumerate(content):
        place = f"{where}.content[{index}]"
        if isinstance(part, TextPart):
            if part.text:
                written.append(_text(part, place))
        elif isinstance(part, ImagePart):
            written.append(_image(part, place))
        elif isinstance(part, FilePart):
            written.append(_file(part, place, provider, dialect))
        elif isinstance(part, OpaquePart):
            raise ConfigurationError(f"{place}: openai-chat has no place for an opaque item in this message")
        else:
            raise ConfigurationError(f"{place}: {type(part).__name__} does not belong into this message")
    return written


def text_only(content: str | tuple[Part, ...], where: str) -> str | list[Json]:
    """The content of a message that may hold text only."""
    if isinstance(content, str):
        return content
    for index, part in enumerate(content):
        if not isinstance(part, TextPart):
            raise ConfigurationError(f"{where}.content[{index}]: this message holds text only, not {type(part).__name__}")
    if len(content) == 1 and isinstance(only := content[0], TextPart) and only.meta is None:
        return only.text
    return [_text(part, where) for part in content if isinstance(part, TextPart) and part.text]


def _text(part: TextPart, where: str) -> Json:
    wire: Json = {"type": "text", "text": part.text}
    if part.meta is not None:
        try:
            wire.update(_decode_meta(part.meta))
        except msgspec.DecodeError as error:
            raise ConfigurationError(f"{where}: the meta of a text is not a JSON object: {error}") from error
    return wire


def _image(part: ImagePart, where: str) -> Json:
    if (part.url is None) == (part.data is None):
        raise ConfigurationError(f"{where}: an image has either a url or data")
    if part.url is not None:
        url = part.url
    elif not part.media_type:
        raise ConfigurationError(f"{where}: an image given as data needs its media_type, such as image/png")
    else:
        url = f"data:{part.media_type};base64,{part.data}"
    image: Json = {"url": url}
    if part.detail is not None:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}


def _file(part: FilePart, where: str, provider: str, dialect: ChatDialect) -> Json:
    if sum(source is not None for source in (part.url, part.data, part.file_id)) != 1:
        raise ConfigurationError(f"{where}: a file has one of url, data and file_id")
    media = (part.media_type or "").partition(";")[0].strip().lower()
    if media.startswith("video/"):
        if not dialect.supports_video or part.file_id is not None:
            raise ConfigurationError(f"{where}: provider {provider} takes no video (dialect flag supports_video)")
        return {"type": "video_url", "video_url": {"url": part.url or f"data:{media};base64,{part.data}"}}
    if media.startswith("audio/") and part.data is not None:
        if media not in _AUDIO:
            raise ConfigurationError(f"{where}: no name is known for recordings of type {media!r}; known are {', '.join(_AUDIO)}")
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": _AUDIO[media]}}
    file: Json = {}
    if part.file_id is not None:
        file["file_id"] = part.file_id
    elif part.data is not None:
        if not media:
            raise ConfigurationError(f"{where}: a file given as data needs its media_type, such as application/pdf")
        file["file_data"] = f"data:{media};base64,{part.data}"
    elif dialect.supports_file_urls:
        file["file_data"] = part.url
    else:
        raise ConfigurationError(f"{where}: provider {provider} takes no file by its address: give data and media_type, or a file_id")
    if part.filename is not None:
        file["filename"] = part.filename
    return {"type": "file", "file": file}
