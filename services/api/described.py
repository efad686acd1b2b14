"""What the OpenAPI document says of types and routes. Litestar writes the document, and calls these plugins and classes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeVar

import msgspec
from litestar.dto import AbstractDTO
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType
from litestar.params import ParameterKwarg
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from services.api.bodies import STREAM
from services.api.problems import PROBLEM_TYPE, ApiError, Problem
from services.runtime.docstrings import docstring_texts

T = TypeVar("T")
_SHOWN_DEFAULTS: Final = (str, int, float, bool, type(None))
KEY: Final = "key"
"""Name of the scheme of bearer keys in the OpenAPI document."""
_PROBLEMS: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "The request has no key.",
    406: "No format of the answer is accepted. The detail lists the formats.",
    408: "The body was not complete in time.",
    403: "The key does not allow this request, or the request came from a page of another site.",
    404: "The pool, board or agent does not exist.",
    409: "The request conflicts with existing data, such as a pool with another kind, label or settings; or a limit is reached.",
    410: "The requested position or time is before all kept states.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The route does not accept this media type.",
    422: "The request breaks a rule. Nothing was written.",
    429: "Too many requests with this key, or too many wrong keys from this address. Wait as `Retry-After` says.",
    501: "The server lacks a package that this request needs.",
    503: "The log or the store does not answer, the service starts, or the store lost the pool or board. Try again.",
}


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the part of a route's `responses` that describes problems, by status code. Every route may answer 400."""
    return {
        status: ResponseSpec(Problem, description=_PROBLEMS[status], media_type=PROBLEM_TYPE, generate_examples=False)
        for status in (400, *statuses)
    }


@dataclass
class Described(Operation):
    """A route. Its summary is the first sentence of its description, which lists of routes show."""

    def __post_init__(self) -> None:
        """Set the summary. A route that can answer 401 takes a key, which is optional: an installation without keys asks for none."""
        if {"401", 401} & set(self.responses or {}):
            self.security = [{}, {KEY: []}]
        self.summary = re.split(r"[.;:]\s", (self.description or "").strip().rstrip("."), maxsplit=1)[0]


@dataclass
class TakesStreams(Described):
    """A route whose body may also be a stream of outcomes."""

    def __post_init__(self) -> None:
        """Add the second media type, because a type of Python describes one."""
        super().__post_init__()
        text = "Wire schema v1c: an Arrow IPC stream with uncompressed buffers and one outcome per row (docs/guides/bulk.md)."
        if isinstance(self.request_body, RequestBody):
            self.request_body.content[STREAM] = OpenAPIMediaType(
                Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, description=text)
            )


class Decoded(AbstractDTO[T]):
    """Decodes a body strictly, in one pass, by the type of the route's `data`. Litestar's own decoder accepts the text "1" as a number.

    title, hint: title of the problem if the body is not of the type, and what to send instead.
    """

    title: ClassVar[str]
    hint: ClassVar[str]

    def decode_bytes(self, value: bytes) -> Any:
        """Decode a body. Raises `ApiError` 422."""
        try:
            return msgspec.json.decode(value, type=self.model_type)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApiError(422, self.title, f"{error}: {self.hint}") from error

    @classmethod
    def create_for_field_definition(cls, field_definition: FieldDefinition, handler_id: str, backend_cls: Any = None) -> None:
        """Do nothing, because the body is decoded to the type itself."""

    @classmethod
    def create_openapi_schema(cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any) -> Any:  # noqa: ARG003
        """Describe the body by the type."""
        field = FieldDefinition.from_annotation(cls.model_type, kwarg_definition=field_definition.kwarg_definition)
        return schema_creator.for_field_definition(field)

    @classmethod
    def generate_field_definitions(cls, model_type: type[Any]) -> Any:  # noqa: ARG003
        """Return no fields, because none is renamed or left out."""
        return iter(())

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:  # noqa: ARG003
        """Return False: fields are not looked at."""
        return False


class StructsPlugin(OpenAPISchemaPlugin):
    """Describes `msgspec.Struct` types. Texts of properties come from the section `Attributes` of the docstring."""

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Whether the field is a `Struct`."""
        return not field_definition.is_union and field_definition.is_subclass_of(msgspec.Struct)

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        """Return the schema of a `Struct`."""
        kind = field_definition.annotation
        text, meanings = docstring_texts(kind)
        fields = msgspec.structs.fields(kind)
        schema: Schema = schema_creator.create_component_schema(
            field_definition,
            required=[field.encode_name for field in fields if field.required],
            property_fields={field.encode_name: _property(field, meanings.get(field.name)) for field in fields},
        )
        schema.description = text or None
        if kind.__struct_config__.forbid_unknown_fields:
            schema.additional_properties = False
        return schema


class LimitsPlugin(OpenAPISchemaPlugin):
    """Describes the limits in `msgspec.Meta`, wherever in a type they are."""

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Whether the field is a type with a `Meta`."""
        return not field_definition.is_union and any(isinstance(meta, msgspec.Meta) for meta in field_definition.metadata)

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        """Return the schema of the type, with the limits as msgspec writes them."""
        schema: Schema = schema_creator.for_field_definition(FieldDefinition.from_annotation(field_definition.annotation))
        outer = field_definition.origin or field_definition.annotation
        metas = tuple(meta for meta in field_definition.metadata if isinstance(meta, msgspec.Meta))
        names = schema.field_aliases()
        for name, value in msgspec.json.schema(Annotated[(outer, *metas)]).items():
            if name not in {"type", "items"}:
                setattr(schema, names.get(name, name), value)
        return schema


def _property(field: msgspec.structs.FieldInfo, meaning: str | None) -> FieldDefinition:
    default = field.default if isinstance(field.default, _SHOWN_DEFAULTS) else ...
    given = {} if default is ... else {"default": default}
    documented = {} if meaning is None else {"kwarg_definition": ParameterKwarg(description=meaning)}
    return FieldDefinition.from_annotation(field.type, name=field.encode_name, **given, **documented)
