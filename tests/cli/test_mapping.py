"""The options --fields and --format, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, verdicts_in
from scripted_model import ScriptedModel
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts

ELSEWHERE = {
    "meta": {"key": "ferry"},
    "inputs": {"q": ROW["query"]},
    "found": [{"text": ROW["context"]}],
    "output": {"text": ROW["response"]},
}
MAP = [
    *("--fields", "query=inputs.q", "--fields", "context=found"),
    *("--fields", "answer=output.text", "--fields", "id=meta.key"),
]
RUN = ["--judge", "groundedness", "--model", "m"]


def test_run_maps_fields(invoke: Invoke, file_of: FileOf) -> None:
    model = ScriptedModel(GOOD)
    result = invoke("run", file_of(ELSEWHERE), *RUN, *MAP, "--full", "ferry", model=model)
    assert result.exit_code == 0
    assert [(verdict.case_id, verdict.score) for verdict in verdicts_in(result.stdout)] == [("ferry", 1.0)]
    asked = "".join(message["content"] for message in model.asked[0].messages)
    assert all(text in asked for text in ROW.values())
    assert "ferry, groundedness\n  status: ok" in result.stderr


def test_estimate_and_show_map_fields(invoke: Invoke, file_of: FileOf) -> None:
    for arguments in (["estimate", "CASES", *RUN[:2]], ["show", "groundedness", "--cases", "CASES"]):
        mapped, plain = (
            invoke(*(file_of(row) if each == "CASES" else each for each in arguments), *options).stdout
            for row, options in ((ELSEWHERE, MAP), (ROW, ()))
        )
        assert mapped == plain != ""


def test_report_maps_fields(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    rows = [
        {"meta": {"id": row["id"]}, "label": row["label"], "x": f"text {row['id']}"} for row in some_labels()
    ]
    write_rows("cases.jsonl", rows)
    result = command(
        "report", "v.jsonl", "--cases", "cases.jsonl", "--fields", "id=meta.id", "--fields", "response=x"
    )
    assert result.stdout.startswith("report.html: 40 verdicts, 40 cases, ")
    page = Path("report.html").read_text()
    assert "text 7" in page
    assert '"kappa":{"value":' in page  # the labels are joined by the mapped id


@pytest.mark.parametrize(
    ("suffix", "text", "options"),
    [
        ("jsonl", '{"response": "r", "topic": "ferries"}', []),
        ("csv", "response,topic\nr,ferries\n", []),
        ("jsonl", '{"response": "r", "about": {"it": "ferries"}}', ["--fields", "topic=about.it"]),
    ],
)
def test_an_input_of_a_prompt_of_your_own_comes_from_a_column_or_a_path(
    invoke: Invoke, tmp_path: Path, suffix: str, text: str, options: list[str]
) -> None:
    prompt, cases = tmp_path / "on_topic.prompty", tmp_path / f"cases.{suffix}"
    prompt.write_text(
        "---\nname: on_topic\nreply: {format: tags, value: S2, reason: S1}\nscale: {worst: 1, best: 5}\n"
        "inputs: [{name: response, type: text}, {name: topic, type: text}]\n---\n"
        "user:\nIs {{response}} about {{topic}}?\n"
    )
    cases.write_text(text)
    model = ScriptedModel(GOOD)
    assert invoke("run", cases, "--judge", prompt, "--model", "m", *options, model=model).exit_code == 0
    assert "ferries" in model.asked[0].messages[0]["content"]


def test_an_output_is_kept_when_a_path_is_wrong(invoke: Invoke, file_of: FileOf, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("kept")
    options = [*RUN, "--fields", "query=x", "--out", out, "--overwrite"]
    assert invoke("run", file_of(ROW), *options, model=ScriptedModel(GOOD)).exit_code == 2
    assert out.read_text() == "kept"


def test_resuming_with_another_map_judges_again_what_it_changes(
    invoke: Invoke, file_of: FileOf, tmp_path: Path
) -> None:
    rows = [{**ROW, "id": "same", "b": ROW["query"]}, {**ROW, "id": "other", "b": "When does it return?"}]
    path, out = file_of(*rows), tmp_path / "out.jsonl"
    first, second = ScriptedModel(GOOD), ScriptedModel(GOOD.replace("5", "1"))
    invoke("run", path, *RUN, "--out", out, model=first)
    options = [*RUN, "--out", out, "--resume", "--fields", "query=b"]
    result = invoke("run", path, *options, model=second)
    assert "1 verdicts reused, 1 new\n" in result.stdout
    assert (
        "1 previous verdicts are on cases that were removed or changed, in the file or by --fields or "
        "--limit: they stay in the file and are not counted\n"
    ) in result.stdout
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "0.500", "2"]
    assert "When does it return?" in second.asked[0].messages[-1]["content"]
    result = invoke("run", path, *options, model=ScriptedModel(GOOD))
    assert "2 verdicts reused, 0 new\n" in result.stdout


CONTENTS = {
    "jsonl": json.dumps(ROW) + "\n",
    "json": json.dumps([ROW]),
    "csv": f"{','.join(ROW)}\n{','.join(ROW.values())}\n",
    "tsv": "\t".join(ROW) + "\n" + "\t".join(ROW.values()) + "\n",
}


@pytest.mark.parametrize("file_format", CONTENTS)
def test_cases_in_any_format(invoke: Invoke, tmp_path: Path, file_format: str) -> None:
    by_suffix, by_option = tmp_path / f"cases.{file_format}", tmp_path / "cases.txt"
    for path in (by_suffix, by_option):
        path.write_text(CONTENTS[file_format])
    named = ["--format", file_format]
    for path, options in ((by_suffix, []), (by_option, named), (Path("-"), named)):
        given = CONTENTS[file_format] if path.name == "-" else None
        result = invoke("run", path, *options, *RUN, model=ScriptedModel(GOOD), given=given)
        assert [verdict.score for verdict in verdicts_in(result.stdout)] == [1.0]
        estimate = invoke("estimate", path, *options, "--judge", "groundedness", given=given).stdout
        assert estimate.splitlines()[1].split()[:2] == ["groundedness", "1"]


def test_verdicts_are_json_lines_whatever_their_file_is_called(command: Invoke, file_of: FileOf) -> None:
    command("run", file_of(ROW), *RUN, "--out", "verdicts.json", model=ScriptedModel(GOOD))
    assert command("report", "verdicts.json").exit_code == 0


@pytest.mark.parametrize(
    ("row", "noted"),
    [
        ({"q": "When?", "answer": "r"}, "no row has query, context; the rows have answer, q: rename"),
        ({"q": "When?"}, "no row has query, context, response; the rows have q: rename"),
        (
            {"query": "q", "context": "c", "text": "r"},
            "no row has response; the rows have context, query, text",
        ),
        (ROW, None),
        ({"inputs": {"q": "When?"}, "outputs": {}}, None),
    ],
    ids=["two are missing", "all are missing", "only the response", "none", "fields that may be nested"],
)
def test_inputs_that_no_row_has_are_named_together(
    invoke: Invoke, file_of: FileOf, row: dict[str, object], noted: str | None
) -> None:
    result = invoke("run", file_of(row, row), *RUN, model=ScriptedModel(GOOD))
    assert ("no row has" in result.stderr) is (noted is not None)
    if noted:
        assert f"\ngroundedness: {noted}" in result.stderr
        assert "or use --fields " in result.stderr
