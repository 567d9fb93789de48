"""Compare how two checkouts read the same replies and rows, and print every difference by kind.

    python tests/bench/alike.py OLD NEW --seed 7 [--replies 60000] [--rows 20000] [--examples 2]

OLD and NEW are checkouts. The replies are of every format, well-formed, slightly broken and hostile; the rows
are mappings as people have them in files, whole and broken. They are made once, from the seed and the prompt
files of OLD, without importing either checkout. Each checkout reads them in a process of its own, through its
public names only. The exit code is 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from alike_replies import FORMATS, make_reply
from alike_rows import make_case, make_row

MORE_JUDGES = {
    "line": """reply: {format: line, name: [Final verdict, Rating]}
scale: {worst: 1, best: 5, integer: true}
levels: {2: poor, 4: fair, 5: good}""",
    "line_of_labels": """reply: {format: line, name: Verdict}
scale: {choices: {supported: 1, partially supported: 0.5, not supported: 0, cannot tell: null}}""",
    "line_in_brackets": """reply: {format: line, name: Rating, brackets: true, shares: Shares}
weighted: stated
scale: {worst: 1, best: 10, integer: true}""",
    "cards": """reply: {format: scorecard}
scale: {worst: 0, best: 10}""",
    "plain": """reply: {format: plain}
scale: {choices: {"yes": 1, "no": 0}}""",
    "plain_number": """reply: {format: plain}
scale: {worst: 5, best: 1}""",
    "json_of_labels": """reply: {format: json, value: verdict, reason: why}
scale: {choices: {grounded: 1, ungrounded: 0}}""",
    "json_with_shares": """reply: {format: json, value: score, reason: reasoning, shares: shares}
weighted: stated
scale: {worst: 1, best: 5, integer: true}
not_applicable: [3]""",
    "tags_of_labels": """reply: {format: tags, value: S2, reason: S1}
scale: {choices: {A: 1, A-: 0.8, B+: 0.6, B: 0.4}}""",
    "banded_with_shares": """reply: {format: banded, shares: Shares}
weighted: stated
scale: {worst: 0, best: 100}
levels: {20: severe, 40: great, 60: moderate, 80: mild, 100: none}""",
    "scorecard_of_labels": """reply: {format: scorecard}
passes: weakest
scale: {choices: {supported: 1, partly: 0.5, not supported: 0, no claim: null}}""",
    "adjacent_of_three": """reply: {format: adjacent, names: [clarity, depth, tone]}
scale: {worst: 0, best: 10}""",
}
"""Judges beside the bundled ones, by name: for each format the options that those do not use."""

FIELDS = "query response context reference conversation profile agent_name answers id metadata".split()
VERDICT_FIELDS = "status value score label passed weakest expected confidence distribution reason".split()


# --- making the inputs ------------------------------------------------------------------------------------


def write_judges(old: Path, folder: Path) -> dict[str, Any]:
    """Copy the prompt files of a checkout and write the further ones; return the front matter of each."""
    folder.mkdir()
    for file in sorted((old / "prompts").glob("*.prompty")):
        (folder / file.name).write_bytes(file.read_bytes())
    for name, settings in MORE_JUDGES.items():
        inputs = "inputs: [{name: response, type: text}, {name: context, type: documents}]"
        text = f"---\nname: {name}\n{inputs}\n{settings}\n---\nRate {{{{response}}}} by {{{{context}}}}.\n"
        (folder / f"{name}.prompty").write_text(text, encoding="utf-8")
    judges: dict[str, Any] = {}
    for file in sorted(folder.glob("*.prompty")):
        judges[file.stem] = yaml.safe_load(file.read_text(encoding="utf-8").split("---\n")[1])
    unread = set(FORMATS) - {judge["reply"]["format"] for judge in judges.values()}
    if unread:  # OLD may be older than a format
        sys.stderr.write(f"not compared, for no judge of OLD has the format: {', '.join(sorted(unread))}\n")
    return judges


def make_inputs(
    judges: Mapping[str, Any], seed: int, n_replies: int, n_rows: int
) -> Iterator[dict[str, Any]]:
    """Make replies, with the case of each, and rows."""
    random = Random(seed)  # noqa: S311  no secret: the same inputs each time
    names = sorted(judges)
    for number in range(n_replies):
        name = names[number % len(names)]
        case = make_case(random)
        text, finish_reason = make_reply(random, judges[name], case)
        # Without its case a reply is read too, but then neither sentences nor evidence are checked.
        is_case_given = judges[name]["reply"]["format"] == "scorecard" or random.random() < 0.3
        yield {
            "judge": name,
            "text": text,
            "finish_reason": finish_reason,
            "case": case if is_case_given and random.random() < 0.95 else None,
        }
    for _ in range(n_rows):
        yield {"row": make_row(random)}


# --- reading them, in a process of its own ----------------------------------------------------------------


def read_inputs(checkout: Path, judges_folder: Path, inputs: Path) -> None:
    """Write a line of JSON for each input: what the checkout that Python imports here makes of it."""
    import groundjudge  # noqa: PLC0415  not in the process that makes the inputs

    imported = Path(groundjudge.__file__)
    if not imported.is_relative_to(checkout.resolve()):
        message = f"{imported} was imported, not a file of {checkout}"
        raise SystemExit(message)
    warnings.simplefilter("ignore")
    rubrics: dict[str, Any] = {}
    for file in sorted(judges_folder.glob("*.prompty")):
        rubrics[file.stem] = groundjudge.load_rubric(file)
    bundled = [rubrics[name] for name in rubrics if name not in MORE_JUDGES]
    with inputs.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            try:
                if "row" in entry:
                    result = read_row(groundjudge.Case.from_mapping(entry["row"]), bundled)
                else:
                    case = groundjudge.Case.from_mapping(entry["case"]) if entry["case"] else None
                    reply = groundjudge.Reply(entry["text"], entry["finish_reason"])
                    result = verdict_data(rubrics[entry["judge"]].read(reply, case))
            except groundjudge.GroundjudgeError as error:
                result = {"error": error.code}
            except Exception as error:  # noqa: BLE001  a fault of the checkout is one of its results
                result = {"error": type(error).__name__}
            sys.stdout.write(json.dumps(result) + "\n")


def verdict_data(verdict: Any) -> dict[str, Any]:
    """What is compared of a verdict."""
    dump = verdict.model_dump(mode="json")
    data: dict[str, Any] = {name: dump[name] for name in VERDICT_FIELDS}
    data["warnings"] = sorted(dump["warnings"])
    data["parts"] = dump["parts"]
    return data


def read_row(case: Any, rubrics: Iterable[Any]) -> dict[str, Any]:
    """What is compared of a case: each field or its error, and whether each rubric can ask about it."""
    dump = case.model_dump(mode="json")
    data: dict[str, Any] = {}
    for name in FIELDS:
        data[name] = dump[name]
        try:
            case.value(name)
        except Exception as error:  # noqa: BLE001
            data[name] = f"error {getattr(error, 'code', type(error).__name__)}"
    data["texts"] = [case.query_text, case.response_text]
    for rubric in rubrics:
        answer = "asks"
        try:
            rubric.ask(case)
        except Exception as error:  # noqa: BLE001
            answer = f"error {getattr(error, 'code', type(error).__name__)}"
        data[f"question of {rubric.name}"] = answer
    return data


# --- comparing --------------------------------------------------------------------------------------------


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The kinds of differences between two results, each with what was there and what is."""
    old_error, new_error = old.get("error"), new.get("error")
    if old_error or new_error:
        if old_error != new_error:
            yield f"error {old_error or 'none'} -> {new_error or 'none'}", old, new
        return
    for name in dict.fromkeys([*old, *new]):
        before: Any = old.get(name)
        after: Any = new.get(name)
        if before == after:
            continue
        if name == "warnings":
            gone = [f"-{code}" for code in before if code not in after]
            come = [f"+{code}" for code in after if code not in before]
            yield " ".join(["warnings", *gone, *come]), before, after
        elif name == "parts":
            yield from differences_of_parts(before, after)
        elif str(before).startswith("error ") or str(after).startswith("error "):
            kinds = [str(value) if str(value).startswith("error ") else "value" for value in (before, after)]
            yield f"{name}: {kinds[0]} -> {kinds[1]}", before, after
        else:
            yield name, before, after


def differences_of_parts(old: list[Any], new: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    """The kinds of differences between the parts of two verdicts, each kind once."""
    if len(old) != len(new):
        yield "number of parts", [part["name"] for part in old], [part["name"] for part in new]
        return
    kinds: set[str] = set()
    for before, after in zip(old, new, strict=True):
        for name in before:
            if before[name] != after.get(name) and name not in kinds:
                kinds.add(name)
                yield f"{name} of a part", before[name], after.get(name)


def compare(inputs: Path, old: Path, new: Path, n_examples: int) -> int:
    """Print the differences by kind, the most frequent first; return how many inputs differ."""
    counts: dict[str, int] = {}
    examples: dict[str, list[str]] = {}
    n_different = 0
    n_inputs = 0
    with inputs.open(encoding="utf-8") as entries, old.open() as old_lines, new.open() as new_lines:
        for entry_line, old_line, new_line in zip_longest(entries, old_lines, new_lines):
            n_inputs += 1
            if old_line == new_line:
                continue
            n_different += 1
            entry = json.loads(entry_line)
            found = list(differences(json.loads(old_line), json.loads(new_line)))
            for difference, before, after in found:
                kind = f"{entry.get('judge', 'row')}: {difference}"
                counts[kind] = counts.get(kind, 0) + 1
                shown = examples.setdefault(kind, [])
                if len(shown) < n_examples:
                    shown.append(f"  {n_inputs}. {shorten(entry, 900)}")
                    shown.append(f"     old: {shorten(before, 300)}\n     new: {shorten(after, 300)}")
    for kind in sorted(counts, key=lambda name: (-counts[name], name)):
        sys.stdout.write(f"{counts[kind]:>7}  {kind}\n" + "\n".join(examples[kind]) + "\n")
    sys.stdout.write(f"{n_different} of {n_inputs} inputs differ, in {len(counts)} kinds\n")
    return n_different


def shorten(value: object, length: int) -> str:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return text if len(text) <= length else f"{text[:length]} ..."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--replies", type=int, default=60_000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--examples", type=int, default=2, help="shown of each kind")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        judges = write_judges(options.old, folder / "judges")
        inputs = folder / "inputs.jsonl"
        with inputs.open("w", encoding="utf-8") as file:
            for entry in make_inputs(judges, options.seed, options.replies, options.rows):
                file.write(json.dumps(entry) + "\n")
        processes: list[subprocess.Popen[bytes]] = []
        results: list[Path] = []
        for name, checkout in (("old", options.old), ("new", options.new)):
            results.append(folder / f"{name}.jsonl")
            command = [sys.executable, __file__, "--read", checkout.resolve(), folder / "judges", inputs]
            environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "PYTHONHASHSEED": "0"}
            with results[-1].open("wb") as output:
                processes.append(subprocess.Popen(command, stdout=output, env=environment, cwd=folder))  # noqa: S603
        if sum(process.wait() for process in processes):
            sys.exit("a checkout could not be read with")
        sys.exit(compare(inputs, results[0], results[1], options.examples) > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read_inputs(*map(Path, sys.argv[2:]))
    else:
        main()
