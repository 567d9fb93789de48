"""The bundled prompts match their recorded hashes and rules, and a new judge is one new file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundjudge import load, load_rubric, names
from groundjudge.rubric.rubric import PROMPTS
from groundjudge.types import Rubric

# A prompt's text decides what its scores mean. If you edit one, raise its version and record both here.
GOLDEN: Mapping[str, str] = {
    "confidence_grounding": "2.0.1 9736406d72062eca0a965e96fad0f2a447462d0612e689bf04ebdd4ab54717b8",
    "groundedness": "3.1.0 6aadf3bd532df5713731a5852f002e029bd799b358736d5a860f94b735379c12",
    "knowledge_hallucination": "2.0.1 530ec16b472428e892b269b1d8e9240094154370977141aef344d07bcb850aba",
    "passage_quality": "2.0.1 d2b60354039bb781a91c7c4cd5f5579d799d7391c7cc3f09b1808d3bf48b101d",
    "statement_groundedness": "3.0.2 b9ec6cf5d17b1361018429608acac93e1e0dc7674a74da9e03c58b2dd0ab5276",
}

RUBRICS: Mapping[str, Rubric] = {name: load_rubric(name) for name in names()}


def system_of(name: str) -> str:
    (role, (text,)), *_ = RUBRICS[name].prompt.sections
    assert role == "system"
    return text


def examples_of(name: str) -> list[str]:
    """The example replies in a prompt."""
    return re.findall(r"^Reply:?\n(.+?)(?=\n\n|\Z)", system_of(name), re.DOTALL | re.MULTILINE)


def test_names_lists_the_bundled_judges_in_a_folder_of_prompts_only() -> None:
    assert names() == sorted(file.stem for file in PROMPTS.iterdir())
    assert {*names()} >= {*GOLDEN}, "remove the judge that is gone from GOLDEN"
    assert {file.suffix for file in PROMPTS.iterdir()} == {".prompty"}


@pytest.mark.parametrize("name", GOLDEN)  # tests/test_judges.py tells of a judge that is not there
def test_edited_prompt_needs_a_new_version(name: str) -> None:
    prompt = RUBRICS[name].prompt
    version, sha256 = GOLDEN.get(name, "0 0").split()
    entry = f'"{name}": "{prompt.id.version} {prompt.sha256}"'
    assert prompt.sha256 == sha256 or prompt.id.version != version, (
        f"{name}.prompty was edited, so scores may not be comparable with earlier ones. Raise its version "
        "(major: the meaning of scores changes; minor: scores may differ; patch: they should not), "
        f"and write version and hash into GOLDEN: {entry}"
    )
    assert (prompt.id.version, prompt.sha256) == (version, sha256), (
        f"write the new version into GOLDEN: {entry}"
    )


@pytest.mark.parametrize("name", names())
def test_prompt_is_described_and_versioned_and_its_system_section_tells_of_fences(name: str) -> None:
    prompt = RUBRICS[name].prompt
    assert prompt.name == name
    assert re.fullmatch(r"[A-Z].{20,}\.", prompt.description)
    assert re.fullmatch(r"\d+\.\d+\.\d+", prompt.id.version)
    assert (prompt.parameters["temperature"], prompt.parameters["top_p"]) == (0, 1)
    assert prompt.parameters["max_tokens"] >= 2000
    assert [role for role, _ in prompt.sections] == ["system", "user"]
    (sentence,) = re.findall(r"[^.\n]*<data-\.\.\.> tags[^\n]*", system_of(name))
    assert "never an instruction" in sentence
    assert "{{" not in system_of(name)


@pytest.mark.parametrize("name", names())
def test_example_replies_are_read_without_warnings(name: str) -> None:
    example, examples = RUBRICS[name].prompt.front_matter.example_reply, examples_of(name)
    assert example is not None
    for reply in (example.text, *examples):
        assert set(RUBRICS[name].read(reply).warnings) <= {"evidence_unchecked"}


@pytest.mark.parametrize("name", [name for name in names() if RUBRICS[name].levels])
def test_every_level_is_explained(name: str) -> None:
    text = system_of(name)
    for value, label in RUBRICS[name].levels.items():
        explained = rf"^{value:g}( \({label}\))?: \S|^{label}, [^:]*\b{value:g}[:;] ?\S"
        assert re.search(explained, text, re.MULTILINE), label


# --- a new judge ------------------------------------------------------------------------------

SIXTH = """\
---
name: sixth
reply: {format: json}
scale: {worst: 0, best: 1}
---
Rate the politeness of {{response}} as {"reasoning": "why", "score": your Score}.
"""


def test_file_in_the_prompts_folder_is_a_judge_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundjudge.rubric.load.PROMPTS", tmp_path)
    (tmp_path / "sixth.prompty").write_text(SIXTH, encoding="utf-8")
    assert names() == ["sixth"]
    judge = load("sixth", model=lambda _: '{"reasoning": "r", "score": 0.75}')
    assert judge.judge({"response": "Thank you."}).score == 0.75
