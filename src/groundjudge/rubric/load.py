"""Loads a rubric by its judge's name, or from the path of a prompt file."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Unpack

from groundjudge.errors import PromptError, did_you_mean
from groundjudge.prompt.prompt import Prompt
from groundjudge.rubric.options import RubricOptions, check_options
from groundjudge.rubric.rubric import PROMPTS, Rubric
from groundjudge.rubric.settings import change_prompt, prompt_error, settings_of_file
from groundjudge.scale import fold_label
from groundjudge.text.patterns import compile_when_used

SINGLE_BRACES = compile_when_used(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
"""Looks like a placeholder, in the text around the placeholders."""


def names() -> list[str]:
    """Return the names of the judges that come with the library."""
    # There is no list of them: each file in the folder is a judge.
    return sorted(file.stem for file in PROMPTS.glob("*.prompty"))


def load_rubric(name: str | Path, **options: Unpack[RubricOptions]) -> Rubric:
    """Load a rubric by the name of its judge, or your own prompt file by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        options: settings that the file lacks, or that replace the file's; see `RubricOptions`.

    Raises:
        PromptError: there is no such judge, its file is invalid, an option is out of range, or an option
            names an input that the prompt does not have.
        TypeError: an option is unknown, or its value has a wrong type.
    """
    check_options(options, RubricOptions)
    path = _find_prompt_file(name)
    prompt = Prompt.from_file(path)
    like = prompt.front_matter.offline
    if like is not None and like not in names():
        fault = f"offline: {like!r} is not one of the library's judges: {', '.join(names())}"
        raise prompt_error("bad_front_matter", prompt, fault)
    rubric = Rubric(prompt=change_prompt(prompt, options), **settings_of_file(prompt, options))
    for problem in _find_problems(rubric):
        warnings.warn(f"{prompt.path}: {problem}", UserWarning, stacklevel=2)
    return rubric


def _find_problems(rubric: Rubric) -> list[str]:
    """Return the likely mistakes in a prompt file that do not prevent loading it."""
    problems: list[str] = []
    ignored_keys = rubric.prompt.front_matter.ignored_keys
    if ignored_keys:
        problems.append(f"these keys of other tools are ignored: {', '.join(ignored_keys)}")
    labels: tuple[str, ...] = getattr(rubric.format, "labels", ())  # formats need not have them
    literal_names: list[str] = []
    text = rubric.prompt.text
    for name in dict.fromkeys(SINGLE_BRACES.findall(text)):
        if fold_label(name) not in map(fold_label, labels):
            literal_names.append(f"{{{name}}}")
    if literal_names:
        problems.append(
            f"the model is sent {', '.join(literal_names)} literally, because no field of a case has that "
            "name: rename each placeholder to a field, or declare it under `inputs:`"
        )
    if rubric.structured == "always":
        labels = ()  # the schema in the request names the keys
    if labels and not any(_is_mentioned(label, _fold_text(text)) for label in labels):
        problems.append(
            f"its text never mentions {' or '.join(labels)}, where replies must give the verdict: ask for it "
            "there, or correct `reply:`"
        )
    return problems


@lru_cache(maxsize=32)  # it takes a third of the time for loading a judge, and often the same one is loaded
def _fold_text(text: str) -> str:
    return fold_label(text)


def _is_mentioned(label: str, text: str) -> bool:
    """Whether a folded text contains a label as a word: "score" in "score: 4", but not in "underscored"."""
    return re.search(rf"(?<!\w){re.escape(fold_label(label.strip('[]')))}(?!\w)", text) is not None


def _find_prompt_file(name: str | Path) -> Path:
    """Find the prompt file of a judge by its name, or by the file's path.

    Raises:
        PromptError: `unknown_judge`.
    """
    if not isinstance(name, str) and not hasattr(name, "__fspath__"):
        kind = type(name).__name__
        message = f"load a rubric by its judge's name or the path of a prompt file, not from {kind}"
        raise PromptError("unknown_judge", message, kind)
    # A path may contain any character, but a line break suggests a prompt's text.
    if "\n" in str(name):
        first_line = str(name).strip().partition("\n")[0][:60]
        message = f"{first_line!r} is the start of a prompt's text: save the text to a file and pass its path"
        raise PromptError("unknown_judge", message, first_line)
    path = Path(name)
    if str(name) in names():  # takes precedence over a file with that name in the working folder
        path = PROMPTS / f"{name}.prompty"
    if not path.is_file():
        hint = did_you_mean(str(name), names()) or ";"
        if "," in str(name):  # rows may name several judges like this, but the option may not
            hint = ": name each judge separately;"
        judges = ", ".join(names())
        message = f"there is no judge {str(name)!r} and no file with that name{hint} the judges are: {judges}"
        raise PromptError("unknown_judge", message, str(name))
    return path
