"""A pydantic model of what a prompt shows of a case, for frameworks that need an input schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from groundjudge.case.case import Context, Text
from groundjudge.prompt.input import Input

TYPES: Mapping[str, Any] = {"text": str, "messages": Text, "documents": Context, "list": Sequence[str]}


def input_model(name: str, inputs: Sequence[Input]) -> Any:  # noqa: ANN401  frameworks take it for the type of a case
    """Make the model of a judge's inputs: what its prompt shows of a case."""
    fields: dict[str, Any] = {}
    for prompt_input in inputs:
        field_name = prompt_input.field
        if hasattr(BaseModel, field_name):
            field_name += "_"  # pydantic uses the name itself, such as "json": here it is an alias
        field_type = TYPES[prompt_input.type]
        if prompt_input.required:
            fields[field_name] = (field_type, Field(alias=prompt_input.field))
        else:
            fields[field_name] = (field_type | None, Field(None, alias=prompt_input.field))
    return create_model(f"{name}_input", __config__=ConfigDict(extra="allow"), **fields)
