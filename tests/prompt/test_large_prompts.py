"""A prompt file of a few kB cannot make the library work for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundjudge.errors import PromptError
from groundjudge.prompt.prompt import MAX_PROMPT, Prompt

BODY = "\n---\nuser:\n{{response}}"
LAUGHS = "\n".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 10))

FRONT_MATTER = {
    "aliases of aliases": (f"a0: &a0 [x, x]\n{LAUGHS}", "aliases .*write the value out"),
    "merged mappings": ("a: &a {b: 1}\nc: {<<: *a}", "aliases"),
    "a value in itself": ("a: &a [*a]", "aliases"),
    "items": (f"tags: [{'x, ' * 20_000}]", "more than 10000 values"),
    "mappings": (f"a: {'{b: ' * 90_000}", "nested more than 50 levels deep"),
}


@pytest.mark.parametrize(("head", "message"), FRONT_MATTER.values(), ids=FRONT_MATTER)
def test_front_matter_that_grows_is_an_error(head: str, message: str) -> None:
    with pytest.raises(PromptError, match=f"(?s)prompt: the front matter is not valid YAML: .*{message}"):
        Prompt.parse(f"---\n{head}{BODY}")


def test_anchors_without_aliases_are_read() -> None:
    assert Prompt.parse(f"---\nname: &a judge{BODY}").name == "judge"


def test_a_prompt_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    text = "{{response}}".ljust(MAX_PROMPT + 1, "x")
    (tmp_path / "long.prompty").write_text(text)
    with pytest.raises(PromptError, match="the limit is 1048576 characters"):
        Prompt.parse(text)
    with pytest.raises(PromptError, match="the limit is 1048576 characters") as caught:
        Prompt.from_file(tmp_path / "long.prompty")
    assert caught.value.code == "unreadable_prompt"
    assert Prompt.parse(text[:MAX_PROMPT]).name == "prompt"
