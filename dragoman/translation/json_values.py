"""The base class of JSON schemas, the types of their values, and errors where values do not fit together."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

PLACES = 6  # decimals of every number


def _writable(value: Any) -> Any:
    """Replace lone surrogates, which cannot be encoded as UTF-8, with question marks."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_writable)]
Count = Annotated[int, Field(ge=0)]
Weights = list[float]


class Schema(BaseModel):
    """Keys and values of JSON, types exactly as declared."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


def sized(place: str, what: str, items: Sequence[object] | None, count: int) -> None:
    if items is not None and len(items) != count:
        raise misfit(f"{place}: expected {count} {what}, found {len(items)}")


def misfit(text: str) -> PydanticCustomError:
    return PydanticCustomError("misfit", "{text}", {"text": text})
