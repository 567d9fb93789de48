"""The commands `label` and `rate`, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command_line import Invoke, words
from make_verdicts import error, verdict
from standin_langsmith import StandIn
from typer.testing import CliRunner
from verdict_files import write_rows, write_verdicts

from groundjudge import load
from groundjudge.cli.app import app
from groundjudge.lab.sample import read_sample

N_ROWS = 150
CASE: dict[str, Any] = {"query": "q", "context": ["c"], "response": "r"}


@cache
def usual_texts() -> dict[str, str]:
    """Cases, and verdicts on them by two judges, by the names of their files."""
    cases = [{"id": f"c{place}", "chat": place // 3, **CASE} for place in range(N_ROWS)]
    judge = "groundedness"
    scores = (0.1, 0.9, 0.9)
    scored = [verdict(f"c{place}", scores[place % 3], judge=judge) for place in range(N_ROWS - 9)]
    failed = [error(f"c{place}", "timeout", judge=judge) for place in range(N_ROWS - 9, N_ROWS)]
    of_two = [verdict(f"c{place}", 0.2, judge="two") for place in range(N_ROWS)]
    verdicts = [each.model_dump_json() for each in (*scored, *failed, *of_two)]
    return {"c.jsonl": "\n".join(map(json.dumps, cases)), "v.jsonl": "\n".join(verdicts)}


@pytest.fixture(autouse=True)
def usual_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in usual_texts().items():
        Path(name).write_text(text)


LABEL = ("label", "c.jsonl", "v.jsonl", "--judge", "groundedness", "--n", "60")


def labels(path: str = "l.jsonl", **more: str) -> str:
    """Labels of all drawn rows: every second one is grounded."""
    sample = read_sample("label.sample.json")
    rows: list[dict[str, Any]] = []
    for case_id in sample.ids:
        rows.append({"id": case_id, "label": int(case_id[1:]) % 2, "sample": sample.id, **more})
    write_rows(path, rows)
    return path


def test_a_draw_writes_its_page_and_what_was_drawn(command: Invoke) -> None:
    result = command(*LABEL, "--double", "9")
    assert result.exit_code == 0
    strata = [["failed", "47", "23"], ["passed", "94", "32"], ["error", "9", "5"]]
    assert words(result.stdout)[1:4] == strata
    assert len(read_sample("label.sample.json").ids) == 60
    pages = [Path(name).read_text() for name in ("label.html", "label.2.html")]
    assert [page.count('"response":"r"') for page in pages] == [60, 9]
    assert all("timeout" not in page for page in pages)


def test_a_rate_stands_beside_what_the_judges_and_the_labels_say_alone(command: Invoke) -> None:
    command(*LABEL)
    result = command("rate", "v.jsonl", "--labels", labels(), "--sample", "label.sample.json")
    assert result.exit_code == 0
    assert "groundedness: grounded answers among 150" in result.stdout
    shares: dict[tuple[str, ...], float] = {}
    for line in words(result.stdout):
        if len(line) > 3 and line[-1].endswith("]"):  # a name, a share and its interval
            shares[tuple(line[:-3])] = float(line[-3])
    assert shares["true", "rate"] == shares["60", "labels", "alone"] == pytest.approx(0.5, abs=0.15)
    assert shares["groundedness@1.0.0|model:m", "passes"] == 0.667
    assert shares["two@1.0.0|model:m", "passes"] == 0


def test_rows_that_are_left_and_a_second_person_are_told(command: Invoke) -> None:
    command(*LABEL, "--double", "30")
    path = labels(annotator="Ann")
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    doubles = set(read_sample("label.sample.json").double)
    other = [{**row, "annotator": "Bob"} for row in rows if row["id"] in doubles]
    write_rows(path, rows[:55])
    write_rows("other.jsonl", other)
    both = ("--labels", path, "--labels", "other.jsonl")
    result = command("rate", "v.jsonl", *both, "--sample", "label.sample.json")
    assert "rows have two labels: 1.000 agree, kappa 1.000" in result.stdout
    assert "drawn rows have no label yet" in result.stdout
    write_rows("both.jsonl", [*rows[:55], *other])
    result = command("agree", "v.jsonl", "--labels", "both.jsonl", "--sample", "label.sample.json")
    assert "groundedness: 2" in result.stdout
    assert "rows have two labels: 1.000 agree" in result.stdout


def test_groups_and_own_labels(command: Invoke) -> None:
    result = command(*LABEL[:-1], "30", "--group", "chat", "--own-labels")
    assert result.exit_code == 0
    sample = read_sample("label.sample.json")
    assert len(sample.ids) == 90
    assert '"text":"nothing to ground"' in Path("label.html").read_text()
    words = ("grounded", "incorrect", "nothing_to_ground")
    rows: list[dict[str, Any]] = []
    for case_id in sample.ids:
        rows.append({"id": case_id, "label": words[int(case_id[1:]) % 3], "sample": sample.id})
    write_rows("words.jsonl", rows)
    result = command("rate", "v.jsonl", "--labels", "words.jsonl", "--sample", "label.sample.json")
    assert (result.exit_code, "true rate" in result.stdout) == (0, True)
    assert command("rate", "v.jsonl", "--labels", labels(), "--sample", "label.sample.json").exit_code == 0


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the usual files, a draw with its labels, and files that do not fit them."""
    folder = tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in usual_texts().items():
            Path(name).write_text(text)
        assert CliRunner().invoke(app, LABEL).exit_code == 0
        labels()
        Path("label.html").unlink()
        Path("label.sample.json").rename("drawn.sample.json")
        write_rows("few.jsonl", [{"id": "c0", **CASE}])
        cases = [{"id": f"c{place}", **CASE} for place in range(100)]
        write_rows("changed.jsonl", [{**case, "response": "another"} for case in cases])
        key = load("groundedness", model="offline").key
        of_texts = [verdict(case["id"], 0.9, judge="groundedness", key=key(case)) for case in cases]
        write_verdicts("of_texts.jsonl", of_texts)
    return folder


DRAWN = "label c.jsonl v.jsonl --judge groundedness"
RATED = "rate v.jsonl --labels l.jsonl"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            "label c.jsonl v.jsonl --judge two",
            "two is not a built-in judge: name its prompt file",
            id="a judge without a known prompt",
        ),
        pytest.param(f"{DRAWN} --n 400", "pass --n from 15 to 150", id="more labels than rows"),
        pytest.param(
            f"{DRAWN} --group topic", "--group topic: no row has this field", id="a group that no row has"
        ),
        pytest.param(
            f"{DRAWN} --out v.jsonl",
            "the page is HTML; choose a name that ends in .html",
            id="a page that is no HTML",
        ),
        pytest.param(
            "label changed.jsonl of_texts.jsonl --judge groundedness",
            "differs from the one judged under this id",
            id="cases that were not judged",
        ),
        pytest.param(
            f"{RATED} --random --judge two --group chat",
            "no row has a 'chat' field",
            id="labels without the group",
        ),
        pytest.param(
            "label few.jsonl v.jsonl --judge groundedness",
            "the file of cases has no row 'c",
            id="drawn rows without a case",
        ),
        pytest.param(
            f"{DRAWN} --queue October",
            "is not the id of a LangSmith run",
            id="ids that are no runs of LangSmith",
        ),
        pytest.param(
            RATED,
            "say how the labelled rows were chosen: add --sample FILE",
            id="rows drawn nobody knows how",
        ),
        pytest.param(
            f"{RATED} --random --sample drawn.sample.json",
            "--sample and --random contradict each other",
            id="two ways to draw",
        ),
        pytest.param(
            "rate v.jsonl --sample drawn.sample.json",
            "add --labels FILE, or --sample FILE and --feedback",
            id="no labels",
        ),
        pytest.param(
            f"{RATED} --feedback k --sample drawn.sample.json", "omit one", id="two sources of labels"
        ),
    ],
)
def test_what_would_be_wrong_is_refused_with_what_to_do(
    command: Invoke, drawn: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(drawn)
    before = sorted(drawn.iterdir())
    result = command(*line.split())
    assert (result.exit_code, message in " ".join(result.stderr.split())) == (2, True), result.stderr
    assert sorted(drawn.iterdir()) == before


@pytest.mark.soak
def test_other_figures_take_the_sample_too(command: Invoke) -> None:
    command(*LABEL)
    labels()
    for beginning in ("agree", "calibrate", "compare --judge groundedness --judge two v.jsonl"):
        line = f"{beginning} v.jsonl --labels l.jsonl".split()
        without = command(*line)
        assert (without.exit_code, "pass the --sample" in without.stderr) == (2, True), without.stderr
        assert command(*line, "--sample", "label.sample.json").exit_code == 0
    weighted = words(command(*"agree v.jsonl --labels l.jsonl --sample label.sample.json".split()).stdout)
    base_rate = next(float(line[2]) for line in weighted if line[:2] == ["base", "rate"])
    grounded_weight = 0.0
    whole_weight = 0.0
    for case_id, probability in read_sample("label.sample.json").probabilities.items():
        place = int(case_id[1:])
        if place >= N_ROWS - 9:
            continue  # it has an error, and no score
        whole_weight += 1 / probability
        if place % 2:
            grounded_weight += 1 / probability
    assert base_rate == pytest.approx(grounded_weight / whole_weight, abs=6e-4)


def test_the_report_shows_the_true_rate(command: Invoke) -> None:
    command(*LABEL)
    line = ("report", "v.jsonl", "--labels", labels(), "--sample", "label.sample.json")
    assert command(*line).exit_code == 0
    assert '"rate":{"judge":"groundedness","rows":150,' in Path("report.html").read_text()


RUN: dict[str, Any] = {
    "session_id": "00000000-0000-0000-0001-000000000000",
    "start_time": "2026-01-01T00:00:00",
}


@pytest.fixture
def langsmith(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """LangSmith, and files of cases and verdicts whose ids are those of runs there."""
    ids = [f"00000000-0000-0000-0000-{place:012}" for place in range(60)]
    write_rows("c.jsonl", [{"id": run_id, **RUN, **CASE} for run_id in ids])
    write_verdicts("v.jsonl", [verdict(run_id, 0.9, judge="groundedness") for run_id in ids])
    with StandIn() as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "a-key")
        yield server


QUEUE = ("label", "c.jsonl", "v.jsonl", "--n", "20", "--queue", "October")
FEEDBACK = ("rate", "v.jsonl", "--feedback", "grounded", "--sample", "label.sample.json")


def test_a_queue_in_langsmith_takes_the_place_of_the_page(command: Invoke, langsmith: StandIn) -> None:
    assert command(*QUEUE).exit_code == 0
    result = command(*FEEDBACK)
    queues = [request.body for request in langsmith.requests if request.path == "/annotation-queues"]
    assert [queue["name"] for queue in queues] == ["October"]
    assert (result.exit_code, "the feedback 'grounded' in LangSmith" in result.stderr) == (2, True)


@pytest.mark.parametrize("status", [403, 422])
def test_a_queue_that_is_refused_is_one_line_and_the_page_is_there(
    command: Invoke, langsmith: StandIn, status: int
) -> None:
    langsmith.refused = {"/annotation-queues": status}
    result = command(*QUEUE)
    (line,) = result.stderr.splitlines()
    assert line.startswith("groundjudge: --queue October: langsmith_refused: ")
    assert line.endswith("the files were written: try again with --overwrite")
    assert (result.exit_code, str(status) in line) == (1, True)
    page = Path("label.html").read_bytes()
    langsmith.refused = {"/feedback": status}
    result = command(*QUEUE, "--overwrite")
    assert (result.exit_code, Path("label.html").read_bytes() == page) == (0, True)
    result = command(*FEEDBACK)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)


def test_rows_that_do_not_say_where_their_run_is_leave_nothing(command: Invoke, langsmith: StandIn) -> None:
    ids = [json.loads(line)["id"] for line in Path("c.jsonl").read_text().splitlines()]
    write_rows("c.jsonl", [{"id": run_id, **CASE} for run_id in ids])
    result = command(*QUEUE)
    assert (result.exit_code, "lacks session_id or start_time" in result.stderr) == (2, True)
    assert (Path("label.html").exists(), langsmith.requests) == (False, [])
