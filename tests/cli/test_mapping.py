"""The options --fields and --format, as a user meets them."""

from __future__ import annotations

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
    prompt = "".join(message["content"] for message in model.asked[0].messages)
    assert all(text in prompt for text in ROW.values())
    assert "ferry, groundedness\n  status: ok" in result.stderr


def test_estimate_names_rows_that_cannot_be_read(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke("estimate", file_of('{"q": "When?"}\n[]\nbroken\n'), *RUN[:2])
    assert (result.exit_code, "2 rows could not be read" in result.stderr) == (0, True)


def test_estimate_and_show_map_fields(invoke: Invoke, file_of: FileOf) -> None:
    for before, after in ((["estimate"], RUN[:2]), (["show", "groundedness", "--cases"], [])):
        with_paths = invoke(*before, file_of(ELSEWHERE), *after, *MAP).stdout
        plain = invoke(*before, file_of(ROW), *after).stdout
        assert with_paths == plain != ""


def test_report_maps_fields_and_reads_verdicts_as_json_lines(command: Invoke) -> None:
    write_verdicts("v.json", some_verdicts())
    write_rows("cases.jsonl", [{**row, "x": f"text {row['id']}"} for row in some_labels()])
    result = command("report", "v.json", "--cases", "cases.jsonl", "--fields", "response=x")
    assert result.stdout.startswith("report.html: 40 verdicts, 40 cases, ")
    assert "text 7" in Path("report.html").read_text()


@pytest.mark.parametrize(
    ("suffix", "text", "options"),
    [
        pytest.param("csv", "response,topic\nr,ferries\n", [], id="a column of a table"),
        pytest.param(
            "jsonl",
            '{"response": "r", "about": {"it": "ferries"}}',
            ["--fields", "topic=about.it"],
            id="a path in an object",
        ),
    ],
)
def test_an_input_of_a_prompt_of_your_own_comes_from_a_column_or_a_path(
    command: Invoke, suffix: str, text: str, options: list[str]
) -> None:
    Path("on_topic.prompty").write_text(
        "---\nname: on_topic\nreply: {format: tags, value: S2, reason: S1}\nscale: {worst: 1, best: 5}\n"
        "inputs: [{name: response, type: text}, {name: topic, type: text}]\n---\n"
        "user:\nIs {{response}} about {{topic}}?\n"
    )
    Path(f"cases.{suffix}").write_text(text)
    model = ScriptedModel("<S2>5</S2>")
    run = ("run", f"cases.{suffix}", "--judge", "on_topic.prompty", "--model", "m")
    assert command(*run, *options, model=model).exit_code == 0
    assert "ferries" in model.asked[0].messages[0]["content"]


def test_resuming_with_another_map_judges_again_what_it_changes(command: Invoke, file_of: FileOf) -> None:
    rows = [{**ROW, "id": "same", "b": ROW["query"]}, {**ROW, "id": "other", "b": "When does it return?"}]
    run = ("run", file_of(*rows), *RUN, "--out", "out.jsonl")
    command(*run, model=ScriptedModel(GOOD))
    before = Path("out.jsonl").read_text()
    assert command(*run, "--fields", "query=x", "--overwrite", model=ScriptedModel(GOOD)).exit_code == 2
    assert Path("out.jsonl").read_text() == before
    second = ScriptedModel(GOOD.replace("5", "1"))
    result = command(*run, "--resume", "--fields", "query=b", model=second)
    assert "1 verdicts reused, 1 new\n" in result.stdout
    assert "1 previous verdicts are for cases that were removed or changed" in result.stdout
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "0.500", "2"]
    assert "When does it return?" in second.asked[0].messages[-1]["content"]
    again = command(*run, "--resume", "--fields", "query=b", model=second)
    assert "2 verdicts reused, 0 new\n" in again.stdout


@pytest.mark.parametrize(
    ("row", "note"),
    [
        pytest.param(
            {"q": "When?", "answer": "r"},
            "no row has query, context\nthe rows have answer, q: try --fields query=q,context=PATH",
            id="two inputs that no row has",
        ),
        pytest.param(
            {"q": "When?"},
            "no row has query, context, response\nthe rows have q: try --fields query=q,context=PATH,resp",
            id="all inputs",
        ),
        pytest.param(ROW, None, id="nothing is missing"),
        pytest.param({"inputs": {"q": "When?"}, "outputs": {}}, None, id="fields that may be nested"),
    ],
)
def test_inputs_that_no_row_has_are_named_together(
    invoke: Invoke, file_of: FileOf, row: dict[str, object], note: str | None
) -> None:
    result = invoke("run", file_of(row, row), *RUN, model=ScriptedModel(GOOD))
    if note is None:
        assert "no row has" not in result.stderr
    else:
        assert f"\ngroundedness: {note}" in result.stderr
