"""What can go wrong: errors, each with a short code to count by, and one table of all codes.

The table says of every code of an error and of a warning what is wrong, in its first sentence, and what to do
about it, in the others. The page of codes in the documentation, the report and the tests are made from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from pydantic import ValidationError

from groundjudge.verdict import Verdict

CODES: Mapping[str, Mapping[str, str]] = {
    "CaseError": {
        "alias_conflict": "Two keys of a row mean the same field, and their values differ. "
        "Remove one of them, or name the one that counts with `fields=` (`--fields`).",
        "bad_path": "A dotted path of `fields=` (`--fields`) leads nowhere, or is ambiguous. "
        "Compare it with the roots and keys that the message lists; a key may contain a dot.",
        "context_unreadable": "A document of the context has no text under a known name. "
        "Give strings, or mappings with the text under a name from the message, such as `content`.",
        "duplicate_id": "Two rows have one id and different contents. Give each row its own id.",
        "empty_response": "The response is blank; the application probably failed. Repair the row, or pass "
        '`empty_response="not_applicable"` to leave it out or `"worst"` to score it 0.',
        "field_unreadable": "A field has an unknown type or shape, such as a number where a text belongs. "
        "Give a string or chat messages; the message names the field and what it holds.",
        "missing_field": "The case lacks an input that the judge needs. "
        "Add it, name its place with `fields=` (`--fields`), pass `optional=[...]` if it is not needed, or "
        "leave the judge out of the row's `judges`.",
        "no_response": "The case has no response; the application probably crashed. "
        "As for `empty_response`; if the response has another name, name it with `fields=` (`--fields`).",
        "unknown_encoding": "Python knows no encoding of that name. Pass one such as `--encoding cp1252`.",
        "unknown_field": "`fields=` (`--fields`) names an unknown field. Use one that the message lists.",
        "unknown_judge": "The `judges` of a row name a judge that does not exist. Correct the name.",
        "unreadable_file": "A file of cases is not what its suffix says, not in UTF-8 or too large. "
        "Pass `--format` or `--encoding`, as in `--format jsonl` or `--encoding cp1252`, or correct it.",
        "unreadable_row": "A line is not valid JSON or CSV, or a row is not a mapping of fields to values. "
        "Correct the line that the message names; the other rows are judged, and the command exits with 1.",
    },
    "GuardError": {
        "blocked": "The guard let no draft of the answer out, and has no fallback, or could not make it. "
        "Give `fallback=`, or look at the verdicts in the error's `outcome`, and at its cause.",
    },
    "ModelError": {
        "auth": "The endpoint rejects the key (status 401 or 403). "
        "Check that the key in `OPENAI_API_KEY` or `api_key=` belongs to `OPENAI_BASE_URL` or `base_url=`.",
        "bad_cache": "The file of `--cache` or `CachedModel` cannot be opened, or is no cache. Name another.",
        "bad_request": "The endpoint rejects the request: its parameters, its length or its content. "
        "Read the endpoint's words in the message; the offline baseline needs something to compare with.",
        "budget": "The run has used the calls or tokens that it may use. "
        "Continue with `--resume` and a higher limit: `--max-calls`, `--max-tokens`.",
        "cancelled": "The batch was cancelled before it reached the request. "
        "Ask again: `groundjudge batch collect --finish online`, or `--finish batch`.",
        "connection": "The endpoint cannot be reached, or cuts connections, and waiting did not help. "
        "Check that it is up and that `OPENAI_BASE_URL` or `base_url=` points to it.",
        "expired": "The batch ended, mostly after 24 hours, before this request. As for `cancelled`.",
        "failed": "What you passed as a model raised an exception. Read that exception in the message.",
        "no_batches": "The model's provider has no batches that the library can use. "
        "Take one of [these](batches.md), or write the requests with `groundjudge batch write`.",
        "no_endpoint": "No key and no endpoint are configured, or no client can be built from them. "
        "Set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for another endpoint, or pass `client=`.",
        "no_model": "No model was given, and none is the default. Pass `model=`, see [Models](models.md).",
        "not_found": "The endpoint knows no model, or no address, of that name (status 404). "
        "Check the model's name, and that the base URL ends as the provider says, mostly in `/v1`.",
        "quota": "The account has no credit left (status 402, or 429 with `insufficient_quota`). "
        "Check the plan, then use `--resume`.",
        "rate_limited": "The endpoint rejected the request as too many (status 429), after all retries too. "
        "Send fewer requests at a time: `--concurrency`, `concurrency=`. If the endpoint asks for a wait "
        "of more than a minute, the request is not sent again: use `--resume` after that time.",
        "server": "The endpoint has a fault (status 500 or above), or its response is not a chat completion. "
        "Try again with `--resume`; if it stays, check that the base URL points to a chat completions API.",
        "timeout": "The endpoint did not answer in time, or the row's `deadline=` has passed. "
        "Raise `timeout=` of the model or `--deadline`, or send fewer requests at a time.",
        "unanswered": "The results of the batches have no line for the request. As for `cancelled`.",
        "unknown_model": "What was passed as a model cannot be used as one, or its package is not installed. "
        "Do what the message says; see [Models and providers](models.md).",
    },
    # The model is shown the first sentences of these when it is asked again.
    "ReplyError": {
        "ambiguous": "The reply gives more than one score, or more than the score in its place. "
        "Look at the reply; ask for one score in the prompt, or raise `max_reasks=`.",
        "bad_distribution": "The formula's shares must add up to 1. If it is frequent, take another model.",
        "evidence_not_found": "A quote that a score needs is in none of the documents. The model is asked "
        "once more; if it still is in none, the score stays, with the warning of that name.",
        "empty": "The reply is empty. Raise `max_tokens`: reasoning may have used all of it.",
        "interrupted": "The model did not finish its reply, for a reason that is no known natural end. "
        "Try again with `--resume`; if it stays, look up the finish reason in a response of the endpoint.",
        "missing_evidence": "A block of the reply has a score above the lowest, and no evidence. As for "
        "`ambiguous`.",
        "missing_score": "A block of the reply has no score. As for `ambiguous`.",
        "no_verdict": "The reply holds no verdict in the place where the format puts it. "
        "Look at the reply; check that the prompt asks for the format that `reply:` declares.",
        "not_a_number": "The text in the score's place is not a number. As for `no_verdict`.",
        "not_adjacent": "The formula must weigh one score, or two scores that are next to each other. "
        "As for `bad_distribution`.",
        "not_integer": "The score must be a whole number. Say so in the prompt, or drop `integer: true`.",
        "out_of_scale": "The score lies outside the scale. State the scale in the prompt as in "
        "`scale:`; a label that states another scale, such as `Score (0-10):`, lies outside, too.",
        "refused": "The model declined to judge. Look at the case; another model may judge it.",
        "truncated": "The reply was cut off before its verdict was complete. Raise `max_tokens`.",
        "unrated_sentences": "The reply does not rate every sentence of the response, or rates others. "
        "Look at the verdict's reply; a stronger model copies better, or split long responses.",
        "unknown_label": "The text in the verdict's place is not one of the labels. "
        'List them in the prompt as in `choices:`; "not supported" is never read as "supported".',
    },
    "PromptError": {
        "bad_choices": "The reply format cannot express one of the labels. Change the label or the format.",
        "bad_empty_response": "It is not `error`, `not_applicable` or `worst`. Use one of them.",
        "bad_example": "The file's `example_reply` is not read as the value that it declares. "
        "Correct the example, or `reply:` and `scale:`; the message says what was read.",
        "bad_front_matter": "The part between the `---` lines is not valid YAML, or a key is wrong. "
        "Correct what the message names: a key is unknown, occurs twice or has a value of a wrong type, or "
        "there are aliases or too many values.",
        "bad_levels": "A level or a `not_applicable` value is off the scale. Change it, or the scale.",
        "bad_panel": "A panel cannot be made of these judges or options, or cannot be used here. Read the "
        "reason in the message: there is one judge, scales differ, repeats have temperature 0, `rule` or "
        "`stop` is unknown, or LangChain's `prompt` or `parser` was given a panel.",
        "bad_passes": "It is not `score` or `weakest`, or it is `weakest` and replies have no parts. "
        "Leave it out, or choose a format with parts.",
        "bad_reply_format": "The object passed as `reply=` is not a reply format. Pass one, as "
        '`Tags(value="rating")`, or an object with all members of [`Format`](reference/replies.md).',
        "bad_reply_option": "`reply:` has an unknown option, or no text for one. See the message.",
        "bad_scale": "`scale=` is not a `Scale`. Pass `Scale(worst=1, best=5)` or `Choices({...})`.",
        "bad_structured": "It is not `reask`, `always` or `never`. Use one of them.",
        "bad_threshold": "The threshold is not a number from 0 to 1. Give it on the score's scale.",
        "bad_weighted": "`weighted` needs labels, or at most 20 whole numbers from 0. Change the scale.",
        "empty_prompt": "The file has no text below its front matter. Add the prompt.",
        "no_placeholder": "The text shows nothing of the case. Add a placeholder, such as `{{response}}`.",
        "no_reply_format": "The file names no reply format. Add `reply:` to it, or pass `reply=Tags(...)`.",
        "no_scale": "The file has no scale. Add `scale:` to it, or pass `scale=Scale(worst=1, best=5)`.",
        "template_language": "The text contains `{%`: there is no template language. Use placeholders.",
        "unknown_input": "An input is not a field of a case and not in the text, or an option names no "
        "input. Correct the name, or add a placeholder for an input of your own.",
        "unknown_judge": "There is no judge and no file of that name, or none was given. "
        "Use a name that `groundjudge judges` lists, or a path; it is relative to the working directory.",
        "unknown_placeholder": "A placeholder is not an input. Declare it under `inputs:`, or remove it.",
        "unknown_reply_format": "There is no reply format of that name. Use one that the message lists.",
        "unreadable_prompt": "The file cannot be opened, is too long or not UTF-8. Check path and encoding.",
        "unused_input": "The text has no placeholder for an input. Add the placeholder, or remove the input.",
    },
    "PanelError": {
        "no_majority": "No outcome has more than half of the votes that were asked for, failed ones "
        "included. Use an odd number of votes; a row whose `verdict.votes` differ deserves a look by a "
        "person.",
    },
    "GroundjudgeError": {
        "duplicate_key": "Two LangSmith evaluators of one experiment have the same feedback key. "
        'Give one of them another name: `evaluator(..., key="strict")`; one would overwrite the other.',
        "failed": "A DeepEval metric met a `TypeError` while it judged. Read the exception in the message.",
        "interrupted": "Ctrl-C ended a run of the command line. Continue it with `--resume`.",
        "metric_in_use": "A DeepEval metric measured another test case at the same time, as in two spans. "
        "Give each span or task its own metric object; DeepEval would mix up the results of one.",
        "no_response": "LangSmith's run has no output. Look at the run's own error in the message.",
        "unwritable": "A verdict could not be written, mostly because the disk is full. "
        "Make room, then use `--resume`.",
        "unexpected": "An exception of other code, mostly of a function of yours. "
        "Read it in the message, and its traceback in the log of `groundjudge`; a defect should be reported.",
    },
    "LabelError": {
        "bad_option": "An option does not fit the verdicts. Read it in the message: graded labels need "
        "`--label-threshold`, and several judges or a panel need `--judge`.",
        "label_conflict": "One id has two different labels. Correct one, give the rows ids of their own, or "
        "say in each row's `annotator` who gave which.",
        "no_labels": "No row has the field for labels or groups. Name it with `--label` or `--group`.",
        "no_sample": "The labelled rows were drawn with known probabilities, without which figures lie. "
        "Give the file of the draw with `--sample`.",
        "no_threshold": "No threshold reaches the precision of `--at-least` with these labels. "
        "Take another judge or prompt, label more rows, or ask for less.",
        "outside_sample": "A labelled row was not drawn, or is of another draw, or has no verdict. "
        "Leave it out.",
        "too_few_labels": "The split lacks positive or negative rows, or a stratum of a drawn sample has no "
        "label. Label more, or use fewer `--folds`.",
        "unreadable_calibration": "`groundjudge calibrate` did not write it. Pass the file of its `--out`.",
        "unreadable_sample": "`groundjudge label` did not write it. Give its file `.sample.json`.",
        "unreadable_label": "A label is not a boolean, a number on the scale or one of the judge's labels. "
        "Correct it; if people use a label that no verdict has, name the prompt file with `--judge-file`.",
    },
    "ResumeError": {
        "exists": "The file holds something. Continue it with `--resume`, or replace it with `--overwrite`.",
        "in_use": "Another command is writing to the file. Wait for it, or choose another `--out`.",
        "no_verdict": "A line is not a verdict. Choose another `--out`, or replace it with `--overwrite`.",
        "other_model": "The verdicts come from another model, other settings or another library version. "
        "As for `no_verdict`: the scores of both would not be comparable.",
        "other_prompt": "The file's verdicts come from another prompt. As for `other_model`.",
    },
    "StateError": {
        "in_use": "Another command works on the same run. Wait for it.",
        "no_state": "Nothing was submitted for that `--out`, or its state is incomplete or old. "
        "Name the file that `groundjudge batch submit` got as `--out`, or submit again.",
        "other_run": "The state is of another judge, prompt, model, option, endpoint, version or cases. "
        "Go back to what was submitted, or choose another `--out`.",
    },
    "ProbeError": {
        "bad_card": "The file was not written by `groundjudge probe --card`. Pass such a file.",
        "bad_case": "A row of `--cases` is unreadable, has no `expect` or an id twice. Correct that row.",
        "no_cases": "No case of the library has your judge's inputs. Pass yours: `--cases own.jsonl`.",
        "no_edit": "`--without` names an edit that does not exist. Use a name from the message's list.",
        "no_source": "The prompt shows nothing that could back a response. Probe another judge.",
        "no_verdict": "No judging gave a verdict. Look up the first error, which the message quotes.",
        "nothing_fails": "No case is labelled `fail`. Add some: attacks need wrong responses.",
        "nothing_passes": "No case is labelled `pass`. Add some: edits need right responses.",
        "other_judge": "Two cards have no edit in common. Compare probes of the same judge.",
    },
    "warnings": {
        "band_mismatch": "The level that the reply names is not its number's; the number counts.",
        "content_not_shown": "Images, audio or other content that is not text was left out of the prompt. "
        "Give what the judge must know as text; the prompt names what was left out in brackets.",
        "empty_response": 'The response was blank and was scored 0, as `empty_response="worst"` asks.',
        "evidence_altered": "A quote is similar to a passage of the documents, but does not say the same. "
        "Compare the quote with the source: the judge may have misread it.",
        "evidence_not_found": "A quote is in none of the documents. Do not rely on it: it may be invented.",
        "evidence_unchecked": "Quotes were not looked up: the case was not given, or the search would take "
        "too long. Pass the case: `rubric.read(reply, case)`, `parser(judge, case)`.",
        "formula_missing": "A weighted sum is stated without its formula; the stated number counts.",
        "logprobs_unusable": "The endpoint returned no usable probabilities; the score is the plain one. "
        "With `weighted=True` use an endpoint that returns `logprobs` with `top_logprobs`.",
        "no_response": 'There was no response, which was scored 0, as `empty_response="worst"` asks.',
        "unclosed_tag": "The tag around the verdict is not closed.",
        "weighted_sum_mismatch": "The stated sum is not what its formula gives; the formula counts.",
    },
}
"""Code -> its meaning and remedy, by the class of the error; the codes of a verdict's warnings are last."""

ENDS_RUN = frozenset({"auth", "budget", "no_endpoint", "not_found", "quota"})
"""The codes of a ModelError that end a run, because every further request would fail in the same way."""

STATUS_CODES = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    429: "rate_limited",
}
FIRST_SERVER_STATUS = 500


def explain_code(kind: str, code: str) -> tuple[str, str]:
    """What a code means, in one sentence, and what to do about it; "" for each that the table does not say.

    Args:
        kind: the name of the error's class, or "warnings".
        code: the code of an error of that class, or of a warning.
    """
    meaning, _, remedy = CODES.get(kind, {}).get(code, "").partition(". ")
    return f"{meaning.rstrip('.')}." if meaning else "", remedy


def _as_clause(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:].removesuffix(".")


class GroundjudgeError(Exception):
    """Any error of this library.

    Attributes:
        code: short and stable, made for counting: "missing_field", "out_of_scale", "timeout". `CODES` has
            them all; another one gives a RuntimeWarning.
        message: a sentence that names the thing and says what to do.
        subject: the offending thing: a field's name, a file, a raw reply. If it is a parameter, the message
            names it in backquotes, and the command line shows its option there: --max-calls for `max_calls`.
        verdict: the row's verdict with status "error" (attempts, usage and raw reply kept),
            set when a judge raised the error while judging a case.
    """

    verdict: Verdict | None = None

    def __init__(self, code: str, message: str, subject: str = "") -> None:
        super().__init__(code, message, subject)  # all three, so that the error survives pickling
        self.code = code
        self.message = message
        self.subject = subject
        if not any(code in codes for codes in CODES.values()):
            about = f"the code {code!r} of a {type(self).__name__} is not in groundjudge.errors.CODES"
            warnings.warn(about, RuntimeWarning, stacklevel=2)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class PromptError(GroundjudgeError):
    """A prompt file breaks its contract; the message names the file and the key."""


class CaseError(GroundjudgeError):
    """A case cannot be judged as it was given; the message names the field."""


class ModelError(GroundjudgeError):
    """The model returned no reply.

    No key is in its text, nor in a traceback of it: its cause is a RedactedError, which shows what was raised
    without keys and passwords, and has that as its attribute `raised`.

    Attributes:
        retry_after: the seconds that the endpoint asks clients to wait; None if it does not ask.
        retries: how many times the request was sent again without success.
    """

    retry_after: float | None = None
    retries: int = 0


class PanelError(GroundjudgeError):
    """The votes of a panel give no verdict."""


@contextmanager
def requires(what: str, extra: str) -> Generator[None]:
    """Around the imports of optional packages: if one is missing, the error names the extra that has it.

    Args:
        what: what needs which package, as the message begins.
        extra: the name of the extra, as in `pip install "groundjudge[extra]"`.

    Raises:
        ImportError: a package is missing.
    """
    try:
        yield
    except ImportError as error:
        message = f'{what}: pip install "groundjudge[{extra}]"'
        raise ImportError(message) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if there is a near one."""
    nearest = get_close_matches(name, list(known), 1)
    return f", did you mean {nearest[0]!r}?" if nearest else ""


def first_fault(error: ValidationError) -> str:
    """The first of the faults that pydantic found, behind its place if it has one."""
    first = error.errors(include_url=False)[0]
    place, fault = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{place}: {fault}" if place else fault


def code_of_status(status: int) -> str:
    """The code of a ModelError for an HTTP status of 300 or more (RFC 9110)."""
    return STATUS_CODES.get(status, "server" if status >= FIRST_SERVER_STATUS else "bad_request")


class ReplyError(GroundjudgeError):
    """A model's reply holds no verdict that can be read; it is never turned into a number.

    When the model is asked again, it is told what `what_is_wrong` makes of the code and the numbers, and is
    shown the quotes as material only. It is never told the message or the wording, into which a document
    could have steered a text of its own.

    Attributes:
        wording: what was expected, in the message; by default what the model is told.
        quotes: what in the reply or in the response is wrong.
        numbers: the numbers of the sentences that are wrong, or how many, for the codes in `WITH_NUMBERS`.
        is_misplaced: whether the place of the verdict holds something else: what belongs there is told.
    """

    def __init__(  # noqa: PLR0913  one per attribute
        self,
        code: str,
        reply: str,
        wording: str = "",
        quotes: tuple[str, ...] = (),
        *,
        numbers: tuple[int, ...] = (),
        is_misplaced: bool = False,
    ) -> None:
        self.wording = wording or describe_fault(code, numbers)
        self.quotes, self.numbers, self.is_misplaced = quotes, numbers, is_misplaced
        shown = [repr(text[:QUOTED]) for text in quotes[:MOST_QUOTES]]
        begins = [f"the reply begins {reply.strip()[:QUOTED]!r}"] if reply.strip() else []
        said = [f"there is {', '.join(shown)}"] if shown else []
        super().__init__(code, "; ".join([self.wording, *said, *begins]), reply)
        self.args = (code, reply, wording, quotes)

    @property
    def reply(self) -> str:
        """The reply's raw text, as the model wrote it."""
        return self.subject


QUOTED = 120
"""Characters of a quote that an error shows."""

MOST_QUOTES = 10
"""Quotes that an error shows."""

WHAT_IS_WRONG = {code: _as_clause(explain_code("ReplyError", code)[0]) for code in CODES["ReplyError"]}
"""The codes of a ReplyError, each with the clause that the model is shown when it is asked again."""

WITH_NUMBERS: Mapping[str, str] = {
    "evidence_not_found": "evidence_not_found: the evidence for sentence{s} {all} is in none of the "
    "documents",
    "unrated_sentences": "every sentence of the statement needs one block, in the words of the statement "
    "(parts of the statement without a block: {0}; blocks that are not in it: {1})",
}
"""The same with places for numbers: each by its index, or all of them."""


def describe_fault(code: str, numbers: Sequence[int] = (), wanted: str = "") -> str:
    """What is wrong with a reply, as the model is told: in the library's own words, and numbers.

    Args:
        code: the code of a ReplyError, which may be that of a format of your own.
        numbers: as in the ReplyError.
        wanted: what belongs in the place of a verdict, by the judge's scale; "" if that is not the fault.
    """
    listed, plural = ", ".join(f"{number:d}" for number in numbers), "s" if len(numbers) > 1 else ""
    clause = WHAT_IS_WRONG.get(code, "it is not in the format that was asked for")
    said = WITH_NUMBERS.get(code, clause).format(*numbers, all=listed, s=plural) if numbers else clause
    return f"{said}: each verdict must be {wanted}, with nothing behind it" if wanted else said
