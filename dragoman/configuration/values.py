"""The types of the values that keys hold."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dragoman.configuration.components import Spec

Count = Annotated[int, Field(ge=1, le=10**9)]  # times, steps, sentences, symbols
Size = Annotated[int, Field(ge=1, le=2**20)]  # of a vector; with 10**9 the bytes of a matrix overflow torch's count
Width = Annotated[int, Field(ge=1, le=1000)]  # adjacent positions
Layers = Annotated[int, Field(ge=1, le=100)]  # built one by one, so a huge number would take forever
Positive = Annotated[float, Field(gt=0)]
Rate = Annotated[float, Field(ge=0, lt=1)]
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]  # without NUL, which no file name may contain
Maybe = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # the same, or empty


class _Several:
    """Marks a list whose only item may be written without brackets."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        listed = handler(schema)
        return {"anyOf": [listed, listed["items"]]}

    @staticmethod
    def _listed(value: Any) -> Any:
        return (value,) if isinstance(value, str | int | float | Mapping | Spec) else value


Several = _Several()
