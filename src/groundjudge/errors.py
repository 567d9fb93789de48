"""What can go wrong: errors, each with a short code to count by, and the table of the warnings' codes.

Each class of errors has a table of its codes, `codes`; other rooms define their own classes of errors. A
table says of every code what is wrong, in its first sentence, and what to do about it, in the others. The
page of codes in the documentation, the report and the tests are made from these tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from typing import Any, ClassVar

from pydantic import ValidationError

from groundjudge.verdict import Verdict

WARNINGS: Mapping[str, str] = {
    "band_mismatch": "The level that the reply names is not its number's; the number counts.",
    "also_given": "Another key names a field too, and says something else: the name that is listed first for "
    "the field counts. If it is the wrong one, name the other with `fields=` (`--fields`).",
    "content_not_read": "A message or document has a text under a key that nothing reads. "
    "Give what the judge must know as its `content`.",
    "content_not_shown": "Images, audio or other content that is not text was left out of the prompt. "
    "Give what the judge must know as text; the prompt names what was left out in brackets.",
    "empty_response": 'The response was blank and was scored 0, as `empty_response="worst"` asks.',
    "evidence_not_found": "A quote is in none of the documents. Do not rely on it: it may be invented.",
    "evidence_preselected": "The source has more sentences than a question of evidence can offer: those that "
    "share most words with the claim were offered.",
    "evidence_unanswered": "The model did not answer which sentence of the source supports a claim; the "
    "score does not depend on it.",
    "evidence_unchecked": "Quotes were not looked up: the case was not given. Pass it: "
    "`rubric.read(reply, case)`, `parser(judge, case)`.",
    "formula_missing": "A weighted sum is stated without its formula; the stated number counts.",
    "logprobs_unusable": "The endpoint returned no usable probabilities; the score is the plain one. "
    "With `weighted=True` use an endpoint that returns `logprobs` with `top_logprobs`.",
    "no_response": 'There was no response, which was scored 0, as `empty_response="worst"` asks.',
    "not_decided": "No sentence of the source says this in nearly the same words; the response may still be "
    "right. Ask a language model.",
    "share_mismatch": "The scores of the sentences and the last line contradict each other; the lower one of "
    "that and the weakest sentence counts.",
    "shares_unreadable": "The reply does not state how probable each value is, or the whole; the score is "
    "that of its value, or of the weakest sentence. If it is frequent, take another model, or "
    "`weighted=False`.",
    "unclosed_tag": "The tag around the verdict is not closed.",
    "weighted_sum_mismatch": "The stated sum is not what its formula gives; the formula counts.",
}
"""The codes of a verdict's warnings, each with its meaning and, where there is one, a remedy."""

ENDS_RUN = frozenset({"auth", "budget", "no_endpoint", "not_found", "quota", "redirected"})
"""The codes of a ModelError that end a run, because every further request would fail in the same way."""

STATUS_CODES = {
    401: "auth",
    402: "quota",  # OpenRouter and DeepSeek, without a balance
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",  # a lock timed out: the official client sends the request again, too
    429: "rate_limited",
}
FIRST_SERVER_STATUS = 500

QUOTED = 120
"""Characters of a quote that an error shows."""

MAX_QUOTES = 10
"""Quotes that an error shows."""


MAX_NAMES = 10
"""Names that an error lists."""


class GroundjudgeError(Exception):
    """Any error of this library.

    Attributes:
        codes: the codes of this class of errors, each with its meaning and remedy.
        code: short and stable, made for counting: "missing_field", "out_of_scale", "timeout". One that is
            not among the `codes` gives a RuntimeWarning. A GroundjudgeError itself may have the code of any
            class, because it also stands for the error that a verdict tells.
        message: a sentence that names the thing and says what to do.
        subject: the offending thing: a field's name, a file, a raw reply. If it is a parameter, the message
            names it in backquotes, and the command line shows its option there: --max-calls for `max_calls`.
        verdict: the row's verdict with status "error" (attempts, usage and raw reply kept),
            set when a judge raised the error while judging a case.
        is_pending: whether an answer that is not there yet may still take its place, as in a batch.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "duplicate_key": "Two LangSmith evaluators of one experiment have the same feedback key. "
        'Give one of them another name: `evaluator(..., key="strict")`; one would overwrite the other.',
        "failed": "A DeepEval metric met a `TypeError` while it judged. Read the exception in the message.",
        "interrupted": "Ctrl-C ended a run of the command line. Continue it with `--resume`.",
        "langsmith_refused": "LangSmith refused a request, or cannot be reached. Read its words in the "
        "message; without a key set `LANGSMITH_API_KEY`, or pass `client=langsmith.Client(api_key=...)`.",
        "metric_in_use": "A DeepEval metric measured another test case at the same time, as in two spans. "
        "Give each span or task its own metric object; DeepEval would mix up the results of one.",
        "no_response": "LangSmith's run has no output. Look at the run's own error in the message.",
        "unwritable": "A verdict could not be written, mostly because the disk is full. "
        "Make room, then use `--resume`.",
        "unexpected": "An exception of other code, mostly of a function of yours. "
        "Read it in the message, and its traceback in the log of `groundjudge`; a defect should be reported.",
    }

    verdict: Verdict | None = None
    is_pending: bool = False

    def __init__(self, code: str, message: str, subject: str = "") -> None:
        super().__init__(code, message, subject)  # all three, so that the error survives pickling
        self.code = code
        self.message = message
        self.subject = subject
        if not self._has_code(code):
            problem = f"the code {code!r} of a {type(self).__name__} is not in the table of its codes"
            warnings.warn(problem, RuntimeWarning, stacklevel=2)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def _has_code(self, code: str) -> bool:
        if code in self.codes:
            return True
        if type(self) is not GroundjudgeError:
            return False
        # A verdict keeps the code of its error, but not the class.
        return any(code in codes for codes in tables_of_codes().values())


class PromptError(GroundjudgeError):
    """A prompt file breaks its contract; the message names the file and the key."""

    codes: ClassVar[Mapping[str, str]] = {
        "bad_cascade": "A cascade cannot be made of these judges or options. Read the reason in the message: "
        "there is one judge, scales or thresholds differ, `until` is out of order or outside of 0 to 1, or "
        "the judges have no probabilities for `by`.",
        "bad_choices": "The reply format cannot express one of the labels. Change the label or the format.",
        "bad_empty_response": "It is not `error`, `not_applicable` or `worst`. Use one of them.",
        "bad_eval_mode": "A DeepEval metric has an `eval_mode` that there is not, or that does not go with "
        "its models. Read the reason in the message.",
        "bad_example": "The file's `example_reply` is not read as the value that it declares. "
        "Correct the example, or `reply:` and `scale:`; the message says what was read.",
        "bad_front_matter": "The part between the `---` lines is not valid YAML, or a key is wrong. "
        "Correct what the message names: a key is unknown, occurs twice or has a value of a wrong type, or "
        "there are aliases or too many values.",
        "bad_levels": "A level or a `not_applicable` value is off the scale, or values above the last level "
        "have no label. Change it, or the scale.",
        "bad_panel": "A panel cannot be made of these judges or options, or cannot be used here. Read the "
        "reason in the message: there is one judge, scales differ, repeats have temperature 0, `rule` or "
        "`stop` is unknown, or LangChain's `prompt` or `parser` was given a panel.",
        "bad_citations": "Only a judge that names the source's sentences by number can check citations. "
        "Leave `citations` out, or use statement_groundedness.",
        "bad_passes": "It is not `score` or `weakest`, or it is `weakest` and replies have no parts. "
        "Leave it out, or choose a format with parts.",
        "bad_questions": "The questions for a decision model do not fit the judge: an option is not on the "
        "scale, a level has none, or the ids are not those of the parts. Correct what the message names.",
        "bad_reply_format": "The object passed as `reply=` is not a reply format. Pass one, as "
        '`Tags(value="rating")`, or an object with all members of [`Format`](reference/replies.md).',
        "bad_reply_option": "`reply:` has an unknown option, or no text for one. See the message.",
        "bad_scale": "`scale=` is not a `Scale`. Pass `Scale(worst=1, best=5)` or `Choices({...})`.",
        "bad_structured": "It is not `reask`, `always` or `never`. Use one of them.",
        "bad_threshold": "The threshold is not a number from 0 to 1. Give it on the score's scale.",
        "bad_weighted": "`weighted` needs labels, or at most 20 whole numbers from 0; stated shares may "
        "also be those of levels, and need a place in the reply. Change the scale, or name the place.",
        "empty_prompt": "The file has no text below its front matter. Add the prompt.",
        "no_decision": "An option means nothing to a decision model, or its questions cannot reach the "
        "threshold. Leave the option out, or take a model that answers with a text.",
        "no_part": "A DeepEval metric shows a part that verdicts of its judge do not have, such as `recall`. "
        "Pass that judge to `JudgeMetric`, or leave out `judge=`.",
        "no_placeholder": "The text shows nothing of the case. Add a placeholder, such as `{{response}}`.",
        "no_questions": "The file does not say what a decision model is asked. Add `questions:` to it, or "
        "take a model that answers with a text.",
        "no_reply_format": "The file names no reply format. Add `reply:` to it, or pass `reply=Tags(...)`.",
        "no_scale": "The file has no scale. Add `scale:` to it, or pass `scale=Scale(worst=1, best=5)`.",
        "not_hosted": "LangSmith cannot ask the questions of this judge itself. Use `evaluator`, or correct "
        "what the message names.",
        "template_language": "The text contains `{%`: there is no template language. Use placeholders.",
        "unknown_input": "An input is not a field of a case and not in the text, or an option names no "
        "input. Correct the name, or add a placeholder for a custom input.",
        "unknown_judge": "There is no judge and no file of that name, or none was given. "
        "Use a name that `groundjudge judges` lists, or a path; it is relative to the working directory.",
        "unknown_placeholder": "A placeholder is not an input. Declare it under `inputs:`, or remove it.",
        "unknown_reply_format": "There is no reply format of that name. Use one that the message lists.",
        "unreadable_prompt": "The file cannot be opened, is too long or not UTF-8. Check path and encoding.",
        "unused_input": "The text has no placeholder for an input. Add the placeholder, or remove the input.",
    }


class CaseError(GroundjudgeError):
    """A case cannot be judged as it was given; the message names the field."""

    codes: ClassVar[Mapping[str, str]] = {
        "alias_conflict": "`fields=` (`--fields`) names one field twice, by two of its names. Remove one.",
        "answer_elsewhere": "Another key of a guarded output holds an answer, too, or the rejected one. "
        "Guard the step of the chain that writes the answer, or leave the other key out.",
        "bad_path": "A dotted path of `fields=` (`--fields`) leads nowhere, or is ambiguous. "
        "Compare it with the roots and keys that the message lists; a key may contain a dot.",
        "context_unreadable": "A document of the context has no text under a known name, or the context is a "
        "string that holds a list which is not JSON. "
        "Give strings, or mappings with the text under a name from the message, such as `content`.",
        "duplicate_id": "Two rows have one id and different contents. Give each row its own id.",
        "empty_response": "The response is blank; the application probably failed. Repair the row, or pass "
        '`empty_response="not_applicable"` to leave it out or `"worst"` to score it 0.',
        "field_unreadable": "A field has an unknown type or shape, such as a number where a text belongs. "
        "Give a string or chat messages; the message names the field and what it holds.",
        "missing_field": "The case lacks an input that the judge needs. "
        "Add it, name its place with `fields=` (`--fields`), pass `may_be_empty=[...]` (`-O may_be_empty`) "
        "if it can be blank or `optional=[...]` if it is not needed, or leave the judge out of the row's "
        "`judges`.",
        "no_response": "The case has no response; the application probably crashed. "
        "As for `empty_response`; if the response has another name, name it with `fields=` (`--fields`).",
        "retriever_failed": "A retriever of the traced run raised an error, so that its documents are "
        "missing. Read it in the message, and repair the application.",
        "unknown_encoding": "Python knows no encoding of that name. Pass one such as `--encoding cp1252`.",
        "unknown_field": "`fields=` (`--fields`) names an unknown field. Use one that the message lists.",
        "unknown_judge": "The `judges` of a row name a judge that does not exist. Correct the name.",
        "unreadable_file": "A file of cases is not what its suffix says, not in UTF-8 or too large. "
        "Pass `--format`, `--encoding` or `--rows`, as in `--format jsonl` or `--rows data`, or correct it.",
        "unreadable_row": "A line is not valid JSON or CSV, or a row is not a mapping of fields to values. "
        "Correct the line that the message names; the other rows are judged, and the command exits with 1.",
    }


class ModelError(GroundjudgeError):
    """The model returned no reply.

    No key is in its text, nor in a traceback of it: its cause is a RedactedError, which shows what was raised
    without keys and passwords, and has that as its attribute `raised`.

    Attributes:
        retry_after: the seconds that the endpoint asks clients to wait; None if it does not ask.
        retries: how many times the request was sent again without success.
        remedy: what to do about it, as the message has it at its end in brackets; "" if it has none there.
        verdicts: of a run over a data frame that ended early, the data frame of its verdicts so far.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "auth": "The endpoint rejects the key (status 401 or 403). "
        "Check that the key in `OPENAI_API_KEY` or `api_key=` belongs to `OPENAI_BASE_URL` or `base_url=`.",
        "bad_cache": "The file of `--cache` or `CachedModel` cannot be opened, or is no cache. Name another.",
        "bad_request": "The endpoint rejects the request. Read the endpoint's words in the message.",
        "budget": "The run has used the calls or tokens that it may use. "
        "Continue with `--resume` and a higher limit: `--max-calls`, `--max-tokens`.",
        "cancelled": "The batch was cancelled before it reached the request. "
        "Ask again: `groundjudge batch collect --finish online`, or `--finish batch`.",
        "connection": "The endpoint cannot be reached, or cuts connections, and waiting did not help. "
        "Check that it is up and that `OPENAI_BASE_URL` or `base_url=` points to it. If it answers other "
        "requests, as the message says then, look at the row: a firewall or a fault cuts its connection.",
        "expired": "The batch ended, mostly after 24 hours, before this request. As for `cancelled`.",
        "failed": "What you passed as a model raised an exception, or returned what holds no reply. "
        "Do what the message says, or read the exception in it.",
        "no_batches": "The model's provider has no batches that the library can use. "
        "Take one of [these](batches.md), or write the requests with `groundjudge batch write`.",
        "no_endpoint": "No key and no endpoint are configured, or no client can be built from them. "
        "Set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for another endpoint, or pass `api_key=` or `base_url=`.",
        "no_model": "No model was given, and none is the default. Pass `model=`, see [Models](models.md).",
        "not_found": "The endpoint knows no model, or no address, of that name (status 404). "
        "Check the model's name, and that the base URL ends as the provider says, mostly in `/v1`.",
        "offline_cannot_judge": "The prompt is none of the library's judges, and does not say that it judges "
        "grounding, or it shows no source: the offline judge only looks sentences up. If it judges "
        "grounding, write `offline: groundedness`, or another judge's name, into its front matter; "
        "otherwise pass a model.",
        "quota": "The account has no credit left (status 402, or 429 with `insufficient_quota`). "
        "Check the plan, then use `--resume`.",
        "rate_limited": "The endpoint rejected the request as too many (status 429), after all retries too. "
        "Send fewer requests at a time: `--concurrency`, `concurrency=`. If the endpoint asks for a wait "
        "of more than a minute, the request is not sent again: use `--resume` after that time.",
        "redirected": "The endpoint points to another address (status 301, 302, 303, 307 or 308), and "
        "nothing was sent there: prompts and keys go to the address that you named. If they may go to the "
        "other one, name that: `OPENAI_BASE_URL`, `base_url=`.",
        "refused": "A content filter of the endpoint rejects the request. "
        "Look at the case, or let another model judge it.",
        "server": "The endpoint has a fault (status 500 or above), or its response is not a chat completion. "
        "Try again with `--resume`; if it stays, check that the base URL points to a chat completions API.",
        "timeout": "The endpoint did not answer in time, or the row's `deadline=` has passed. "
        "Raise `timeout=` of the model or `--deadline`, or send fewer requests at a time.",
        "too_long": "The request is longer than the model can take: the case, the questions of a decision "
        "model, or the room for the reply that `max_tokens` asks for besides. Judge a shorter response, give "
        "fewer or shorter documents, or lower `max_tokens`.",
        "unanswered": "The results of the batches have no line for the request, or the next judge of a "
        "cascade has not been asked yet. As for `cancelled`.",
        "unknown_model": "What was passed as a model cannot be used as one, or its package is not installed. "
        "Do what the message says; see [Models and providers](models.md).",
    }

    retry_after: float | None = None
    retries: int = 0
    remedy: str = ""
    verdicts: Any = None


class PanelError(GroundjudgeError):
    """The votes of a panel give no verdict."""

    codes: ClassVar[Mapping[str, str]] = {
        "no_majority": "No outcome has more than half of the votes that were asked for, failed ones "
        "included. Use an odd number of votes; a row whose `verdict.votes` differ deserves a look by a "
        "person.",
    }


class ReplyError(GroundjudgeError):
    """A model's reply holds no verdict that can be read; it is never turned into a number.

    When the model is asked again, it is told what `describe_fault` makes of the code and the numbers, and is
    shown the quotes as material only. It is never told the message or the wording, into which a document
    could have steered a text of its own.

    Attributes:
        wording: what was expected, in the message; by default what the model is told.
        quotes: what in the reply or in the response is wrong.
        numbers: the numbers of the sentences that are wrong, or how many, for the codes in `WITH_NUMBERS`.
        is_misplaced: whether the place of the verdict holds something else: what belongs there is told.
    """

    # The model is shown the first sentences of these when it is asked again.
    codes: ClassVar[Mapping[str, str]] = {
        "ambiguous": "The reply gives more than one score, contradicts its own score elsewhere, or has more "
        "than the score in its place. "
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
        "share_mismatch": "The scores of the sentences and the last line contradict each other. The model is "
        "asked once more; if they still do, the lower one counts, with the warning of that name.",
        "shares_unreadable": "What says how probable the verdict is cannot be read: shares are those of all "
        "values, each once, and add up to 1, and a last line ALL has a number from 0 to 100. The model is "
        "asked once more; if it still cannot be read, the score is that of the value, or of the weakest "
        "sentence, with the warning of that name.",
        "truncated": "The reply was cut off before its verdict was complete, or begun: the thinking of a "
        "reasoning model takes part of the room. Raise `max_tokens`, or lower `reasoning_effort`, in "
        "`parameters=` (`-O parameters.max_tokens=N`).",
        "unrated_sentences": "The reply does not rate every sentence of the response, or rates others. "
        "Look at the verdict's reply; a stronger model copies better, or split long responses.",
        "unknown_label": "The text in the verdict's place is not one of the labels. "
        'List them in the prompt as in `choices:`; "not supported" is never read as "supported".',
    }

    def __init__(  # noqa: PLR0913  one per attribute
        self,
        code: str,
        reply: str,
        wording: str = "",
        quotes: tuple[str, ...] = (),
        *,
        numbers: tuple[int, ...] = (),
        is_misplaced: bool = False,
        kept: str = "",
    ) -> None:
        self.wording = wording
        if not wording:
            self.wording = describe_fault(code, numbers)
        self.quotes = quotes
        self.numbers = numbers
        self.is_misplaced = is_misplaced
        self.kept = kept
        message_parts = [self.wording]
        if quotes:
            shortened = [repr(quote[:QUOTED]) for quote in quotes[:MAX_QUOTES]]
            message_parts.append(f"there is {', '.join(shortened)}")
        beginning = reply.strip()[:QUOTED]
        if beginning:
            message_parts.append(f"the reply begins {beginning!r}")
        super().__init__(code, "; ".join(message_parts), reply)
        # Unpickling makes the error anew from these; the other attributes come back with its `__dict__`.
        self.args = (code, reply, wording, quotes)

    @property
    def reply(self) -> str:
        """The reply's raw text, as the model wrote it."""
        return self.subject


def tables_of_codes() -> dict[str, Mapping[str, str]]:
    """The tables of codes by the name of the class of errors; that of the warnings, "warnings", is last.

    They are those of the classes that are imported so far.
    """
    tables: dict[str, Mapping[str, str]] = {}
    waiting: list[type[GroundjudgeError]] = [GroundjudgeError]
    while waiting:
        error_class = waiting.pop()
        waiting.extend(error_class.__subclasses__())
        # A class without a table inherits one, which would be listed twice.
        has_own_table = "codes" in vars(error_class)
        if has_own_table:
            tables[error_class.__name__] = error_class.codes
    tables["warnings"] = WARNINGS
    return tables


def explain_code(kind: str, code: str) -> tuple[str, str]:
    """What a code means, in one sentence, and what to do about it; "" for each that the table does not say.

    Args:
        kind: the name of the error's class, which must have been imported, or "warnings".
        code: the code of an error of that class, or of a warning.
    """
    table = tables_of_codes().get(kind, {})
    meaning, _, remedy = table.get(code, "").partition(". ")
    if not meaning:
        return "", remedy
    return f"{meaning.rstrip('.')}.", remedy


def _clauses_of_replies() -> dict[str, str]:
    """The first sentence of each code of a ReplyError, as a clause."""
    clauses: dict[str, str] = {}
    for code, text in ReplyError.codes.items():
        meaning = text.partition(". ")[0].removesuffix(".")
        clauses[code] = meaning[0].lower() + meaning[1:]
    return clauses


WHAT_IS_WRONG = _clauses_of_replies()
"""The codes of a ReplyError, each with the clause that the model is shown when it is asked again."""

WITH_NUMBERS: Mapping[str, str] = {
    "ambiguous": "block {all} is one too many: the other blocks rate the whole statement (the mark of a "
    "list, a citation or a sign alone needs no block)",
    "evidence_not_found": "evidence_not_found: no evidence in the documents is named for sentence{s} {all}",
    "unrated_sentences": "every sentence of the statement needs one block, in the words of the statement "
    "(parts of the statement without a block: {0}; blocks that are not in it: {1})",
}
"""The same with places for numbers: each by its index, or all of them."""


def describe_fault(code: str, numbers: Sequence[int] = (), expected_text: str = "") -> str:
    """What is wrong with a reply, as the model is told: in the library's own words, and numbers.

    Args:
        code: the code of a ReplyError, which may be that of a format of your own.
        numbers: as in the ReplyError.
        expected_text: what belongs in the place of a verdict, by the judge's scale; "" if that is not the
            fault.
    """
    clause = WHAT_IS_WRONG.get(code, "it is not in the format that was asked for")
    if numbers:
        template = WITH_NUMBERS.get(code, clause)
        listed = ", ".join(f"{number:d}" for number in numbers)
        plural = "s" if len(numbers) > 1 else ""
        clause = template.format(*numbers, all=listed, s=plural)
    if expected_text:
        return f"{clause}: each verdict must be {expected_text}, with nothing behind it"
    return clause


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


@contextmanager
def refusals(failure: type[Exception], code: str, remedy: str) -> Generator[None]:
    """Around calls of another package: what it raises becomes an error of this library, in one line.

    Args:
        failure: the class of what it raises.
        code: the code of the error.
        remedy: what to do about it, at the end of the message; "" if only the package can say it.

    Raises:
        GroundjudgeError: with the code.
    """
    try:
        yield
    except failure as error:
        message = str(error).partition("\n")[0]  # details and stack traces follow
        if remedy:
            message += f" ({remedy})"
        raise GroundjudgeError(code, message) from error


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if there is a near one."""
    nearest = get_close_matches(name, list(known_names), 1)
    if not nearest:
        return ""
    return f", did you mean {nearest[0]!r}?"


def name_list(names: Iterable[str], near: str = "") -> str:
    """Write names in a message: the first ten of them, and how many more there are.

    Args:
        names: the names.
        near: a name that is none of them: where not all are listed, those that are most like it come first.
    """
    ordered = [str(name) for name in names]
    if near and len(ordered) > MAX_NAMES:
        likeness = {name: SequenceMatcher(None, near.casefold(), name.casefold()).ratio() for name in ordered}
        ordered.sort(key=likeness.__getitem__, reverse=True)
    text = ", ".join(ordered[:MAX_NAMES])
    if len(ordered) > MAX_NAMES:
        text += f" and {len(ordered) - MAX_NAMES} more"
    return text


def first_fault(error: ValidationError) -> str:
    """The first of the faults that pydantic found, behind its place if it has one."""
    details = error.errors(include_url=False)[0]
    # Which pydantic writes before the message of every ValueError that a validator raises.
    fault = details["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, details["loc"]))
    if not place:
        return fault
    return f"{place}: {fault}"


def code_of_status(status: int) -> str:
    """The code of a ModelError for an HTTP status of 300 or more (RFC 9110)."""
    if status in STATUS_CODES:
        return STATUS_CODES[status]
    if status >= FIRST_SERVER_STATUS:
        return "server"
    return "bad_request"
