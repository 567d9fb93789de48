"""Text is text in every field of a verdict: what is no Unicode is repaired, and can always be written."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from groundjudge import Verdict
from groundjudge.verdict import Evidence, Failure, Frozen, NamedScore, Part, PromptId, Vote

LONE = "\ud83d"
ANNOTATED: Any = Annotated
KINDS: list[type[Frozen]] = [Verdict, Vote, Part, Evidence, Failure, PromptId, NamedScore]


def fields_of_text(kind: type[Frozen]) -> list[tuple[str, Any]]:
    """The fields that take a text, or a list or mapping of texts, each with a value that is no text."""
    fields: list[tuple[str, Any]] = []
    for name, field in kind.model_fields.items():
        adapter: TypeAdapter[Any] = TypeAdapter(ANNOTATED[field.annotation, field])
        for value in (LONE, (LONE,), {LONE: 1.0}):
            try:
                repaired = adapter.validate_python(value)
            except ValidationError:
                continue
            if "\ufffd" in str(repaired) or LONE in str(repaired):
                fields.append((name, (value, repaired)))
    return fields


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_repaired_when_it_comes_and_when_it_is_written(kind: type[Frozen]) -> None:
    fields = fields_of_text(kind)
    assert fields
    for name, (value, repaired) in fields:
        assert LONE not in str(repaired), name
        copied = kind.model_construct().model_copy(update={name: value})
        assert LONE not in copied.model_dump_json(include={name}), name


def test_a_verdict_of_nothing_but_broken_text_is_written_and_read_back() -> None:
    verdict = Verdict(
        **dict.fromkeys(("judge", "label", "reason", "model", "reply", "case_id", "key"), LONE),  # type: ignore[arg-type]
        status="error",
        error=Failure(code=LONE, message=LONE),
        warnings=(LONE,),
        distribution={LONE: 1.0},
    )
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
