"""What can go wrong: errors, each with a short code to count by, and the table of the warnings' codes.

Each error class has a table of its codes, `codes`; other packages define their own error classes. For every
code, the first sentence says what is wrong and the others what to do about it. The documentation's page of
codes, the report and the tests are generated from these tables.
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
    "band_mismatch": "The reply names a level that does not match its number; the number counts.",
    "also_given": "Two keys give one field different values; the name that is listed first for the field "
    "counts. If that is the wrong one, name the other with `fields=` (`--fields`).",
    "content_not_read": "A message or document has text under a key that is not read. Put what the judge "
    "needs to know in its `content`.",
    "content_not_shown": "Images, audio or other content that is not text was left out of the prompt. Give "
    "the judge what it needs to know as text; the prompt names what was left out in brackets.",
    "empty_response": 'The response was blank and was scored 0, as `empty_response="worst"` asks.',
    "evidence_not_found": "A quote is in none of the documents. Do not rely on it: it may be invented.",
    "evidence_preselected": "The source has more sentences than an evidence question can offer: only those "
    "that share the most words with the claim were offered.",
    "evidence_unanswered": "The model did not answer which sentence of the source supports a claim; the "
    "score does not depend on it.",
    "evidence_unchecked": "Quotes were not looked up because the case was not given. Pass it: "
    "`rubric.read(reply, case)`, `parser(judge, case)`.",
    "formula_missing": "A weighted sum is stated without its formula; the stated number counts.",
    "logprobs_unusable": "The endpoint returned no usable probabilities, so the score is not weighted. With "
    "`weighted=True` use an endpoint that returns `logprobs` with `top_logprobs`.",
    "no_response": 'There was no response, which was scored 0, as `empty_response="worst"` asks.',
    "not_decided": "No sentence of the source says this in nearly the same words; the response may still be "
    "right. Ask a language model.",
    "share_mismatch": "The scores of the sentences and the last line contradict each other; the lower of "
    "the last line and the weakest sentence counts.",
    "shares_unreadable": "The reply does not state how probable each value, or the whole response, is; the "
    "score is that of its value, or of the weakest sentence. If this is frequent, use another model or "
    "`weighted=False`.",
    "unclosed_tag": "The tag around the verdict is not closed.",
    "source_searched": "The source is longer than `window`: the verdict rests on what was found by searching "
    "it.",
    "weighted_sum_mismatch": "The stated sum does not match its formula; the formula counts.",
}
"""The codes of a verdict's warnings, each with its meaning and, if there is one, a remedy."""

ENDS_RUN = frozenset({"auth", "budget", "no_endpoint", "not_found", "quota", "redirected"})
"""The codes of a ModelError that end a run, because every further request would fail the same way."""

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
    """Any error that this library raises.

    Attributes:
        codes: the codes of this class of errors, each with its meaning and remedy.
        code: short and stable, for counting: "missing_field", "out_of_scale", "timeout". A code that is not
            among the `codes` causes a RuntimeWarning. A plain GroundjudgeError may have the code of any
            class, because it also represents the error that a verdict reports.
        message: a sentence that names the problem and says what to do.
        subject: the offending thing: a field's name, a file, a raw reply. If it is a parameter, the message
            names it in backquotes, and the command line shows its option there: --max-calls for `max_calls`.
        verdict: the row's verdict with status "error" (attempts, usage and raw reply kept),
            set when a judge raised the error while judging a case.
        is_pending: whether an answer may still arrive and replace it, as in a batch.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "duplicate_key": "Two LangSmith evaluators in one experiment share a feedback key, so one would "
        'overwrite the other. Give one of them a different key: `evaluator(..., key="strict")`.',
        "failed": "A DeepEval metric raised a `TypeError` while judging. Read the exception in the message.",
        "interrupted": "Ctrl-C ended a run of the command line. Continue it with `--resume`.",
        "langsmith_refused": "LangSmith refused a request, or cannot be reached. Read its answer in the "
        "message; if no key is set, set `LANGSMITH_API_KEY` or pass `client=langsmith.Client(api_key=...)`.",
        "metric_in_use": "A DeepEval metric was measuring another test case at the same time, as in two "
        "spans. Give each span or task its own metric object; DeepEval would mix up the results of a shared "
        "one.",
        "no_response": "The LangSmith run has no output. Look at the run's own error in the message.",
        "unwritable": "A verdict could not be written, usually because the disk is full. Make room, then "
        "use `--resume`.",
        "unexpected": "Other code raised an exception, usually a function that you passed. Read it in the "
        "message, and its traceback in the log of `groundjudge`; if it is a bug in groundjudge, report it.",
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
        "bad_cascade": "These judges or options cannot form a cascade. Read the reason in the message: "
        "there is only one judge, scales or thresholds differ, `until` is out of order or outside 0 to 1, "
        "or the judges have no probabilities for `by`.",
        "bad_choices": "The reply format cannot express one of the labels. Change the label or the format.",
        "bad_empty_response": "`empty_response` is not `error`, `not_applicable` or `worst`. Use one of "
        "them.",
        "bad_eval_mode": "A DeepEval metric has an unknown `eval_mode`, or one that its models do not "
        "support. Read the reason in the message.",
        "bad_example": "The file's `example_reply` does not give the value that it declares. Correct the "
        "example, or `reply:` and `scale:`; the message says what was read.",
        "bad_front_matter": "The part between the `---` lines is not valid YAML, or a key is wrong. Correct "
        "what the message names: a key is unknown, occurs twice or has a value of the wrong type, or there "
        "are aliases or too many values.",
        "bad_levels": "A level or a `not_applicable` value is off the scale, or values above the last level "
        "have no label. Change it, or the scale.",
        "bad_panel": "These judges or options cannot form a panel, or a panel cannot be used here. Read the "
        "reason in the message: there is only one judge, scales differ, repeats have temperature 0, `rule` "
        "or `stop` is unknown, or LangChain's `prompt` or `parser` was given a panel.",
        "bad_citations": "Only a judge that names the source's sentences by number can check citations. "
        "Leave `citations` out, or use statement_groundedness.",
        "bad_passes": "`passes` is not `score` or `weakest`, or it is `weakest` and the replies have no "
        "parts. Leave it out, or choose a format with parts.",
        "bad_questions": "The questions for a decision model do not fit the judge: an option is not on the "
        "scale, a level has no option, or the ids do not match the parts. Correct what the message names.",
        "bad_reply_format": "The object passed as `reply=` is not a reply format. Pass one, such as "
        '`Tags(value="rating")`, or an object with all members of [`Format`](reference/replies.md).',
        "bad_reply_option": "`reply:` has an unknown option, or an option without text. See the message.",
        "bad_scale": "`scale=` is not a `Scale`. Pass `Scale(worst=1, best=5)` or `Choices({...})`.",
        "bad_structured": "`structured` is not `reask`, `always` or `never`. Use one of them.",
        "bad_threshold": "The threshold is not a number from 0 to 1. Give it on the score's scale.",
        "bad_weighted": "`weighted` needs labels, or at most 20 whole numbers starting at 0; stated shares "
        "may also be for levels, and need a place in the reply. Change the scale, or name the place.",
        "bad_window": "`window` is not a number of tokens above 0, or this judge or this use cannot search a "
        "long source. Leave it out, or use statement_groundedness.",
        "empty_prompt": "The file has no text below its front matter. Add the prompt.",
        "no_decision": "A decision model cannot use an option, or its questions cannot reach the threshold. "
        "Leave the option out, or use a model that answers with text.",
        "no_part": "A DeepEval metric shows a part that its judge's verdicts do not have, such as `recall`. "
        "Pass that judge to `JudgeMetric`, or leave out `judge=`.",
        "no_placeholder": "The text includes nothing from the case. Add a placeholder, such as "
        "`{{response}}`.",
        "no_questions": "The file does not say what to ask a decision model. Add `questions:` to it, or use "
        "a model that answers with text.",
        "no_reply_format": "The file names no reply format. Add `reply:` to it, or pass `reply=Tags(...)`.",
        "no_scale": "The file has no scale. Add `scale:` to it, or pass `scale=Scale(worst=1, best=5)`.",
        "not_hosted": "LangSmith cannot ask this judge's questions itself. Use `evaluator`, or correct what "
        "the message names.",
        "template_language": "The text contains `{%`, but template languages are not supported. Use "
        "placeholders.",
        "unknown_input": "An input is neither a field of a case nor in the text, or an option names an "
        "unknown input. Correct the name, or add a placeholder for a custom input.",
        "unknown_judge": "No judge or file has that name, or none was given. Use a name that `groundjudge "
        "judges` lists, or a path, which is relative to the working directory.",
        "unknown_placeholder": "A placeholder is not an input. Declare it under `inputs:`, or remove it.",
        "unknown_reply_format": "No reply format has that name. Use one that the message lists.",
        "unreadable_prompt": "The file cannot be opened, is too long or not UTF-8. Check path and encoding.",
        "unused_input": "The text has no placeholder for an input. Add the placeholder, or remove the input.",
    }


class CaseError(GroundjudgeError):
    """A case cannot be judged as it was given; the message names the field."""

    codes: ClassVar[Mapping[str, str]] = {
        "alias_conflict": "`fields=` (`--fields`) names one field twice, under two of its names. Remove one.",
        "answer_elsewhere": "Another key of a guarded output also contains an answer, or the rejected one. "
        "Guard the step of the chain that writes the answer, or leave the other key out.",
        "bad_path": "A dotted path of `fields=` (`--fields`) leads nowhere, or is ambiguous. "
        "Compare it with the roots and keys that the message lists; a key may contain a dot.",
        "context_unreadable": "A document of the context has no text under a known name, or the context is "
        "a string containing a list that is not JSON. Give strings, or mappings with the text under a name "
        "from the message, such as `content`.",
        "duplicate_id": "Two rows have the same id but different contents. Give each row its own id.",
        "empty_response": "The response is blank; the application probably failed. Fix the row, or pass "
        '`empty_response="not_applicable"` to leave it out or `"worst"` to score it 0.',
        "field_unreadable": "A field has an unknown type or shape, such as a number where text belongs. "
        "Give a string or chat messages; the message names the field and what it contains.",
        "missing_field": "The case lacks an input that the judge needs. "
        "Add it, name its place with `fields=` (`--fields`), pass `may_be_empty=[...]` (`-O may_be_empty`) "
        "if it can be blank or `optional=[...]` if it is not needed, or leave the judge out of the row's "
        "`judges`.",
        "no_response": "The case has no response; the application probably crashed. "
        "As for `empty_response`; if the response has another name, name it with `fields=` (`--fields`).",
        "retriever_failed": "A retriever of the traced run raised an error, so its documents are missing. "
        "Read the error in the message, and fix the application.",
        "unknown_encoding": "Python has no encoding with that name. Pass one such as `--encoding cp1252`.",
        "unknown_field": "`fields=` (`--fields`) names an unknown field. Use one that the message lists.",
        "unknown_judge": "The `judges` of a row name a judge that does not exist. Correct the name.",
        "unreadable_file": "A file of cases does not match its suffix, is not UTF-8 or is too large. Pass "
        "`--format`, `--encoding` or `--rows`, as in `--format jsonl` or `--rows data`, or correct the file.",
        "unreadable_row": "A line is not valid JSON or CSV, or a row is not a mapping of fields to values. "
        "Correct the line that the message names; the other rows are judged, and the command exits with 1.",
    }


class ModelError(GroundjudgeError):
    """The model returned no reply.

    Neither its text nor its traceback contains a key: its cause is a RedactedError, which shows the original
    exception without keys and passwords and keeps that exception in its attribute `raised`.

    Attributes:
        retry_after: the seconds that the endpoint asks clients to wait; None if it does not ask.
        retries: how many times the request was sent again without success.
        remedy: what to do about it, as in the parentheses that end the message; "" if it has none there.
        verdicts: of a run over a data frame that ended early, the data frame of its verdicts so far.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "auth": "The endpoint rejects the key (status 401 or 403). "
        "Check that the key in `OPENAI_API_KEY` or `api_key=` belongs to `OPENAI_BASE_URL` or `base_url=`.",
        "bad_cache": "The file of `--cache` or `CachedModel` cannot be opened, or is not a cache. Name "
        "another file.",
        "bad_request": "The endpoint rejects the request. Read the endpoint's answer in the message.",
        "budget": "The run has used all the calls or tokens that it may use. Continue with `--resume` and a "
        "higher limit: `--max-calls`, `--max-tokens`.",
        "cancelled": "The batch was cancelled before it reached the request. "
        "Ask again: `groundjudge batch collect --finish online`, or `--finish batch`.",
        "connection": "The endpoint cannot be reached, or drops connections, and waiting did not help. "
        "Check that it is up and that `OPENAI_BASE_URL` or `base_url=` points to it. If the message says "
        "that it answers other requests, look at the row: a firewall or a fault cuts its connection.",
        "expired": "The batch ended, usually after 24 hours, before this request. As for `cancelled`.",
        "failed": "What you passed as a model raised an exception, or returned something that contains no "
        "reply. Do what the message says, or read the exception in it.",
        "no_batches": "The library does not support batches for the model's provider. Use one of "
        "[these](batches.md), or write the requests with `groundjudge batch write`.",
        "no_endpoint": "No key and no endpoint are configured, no client can be built from them, or the name "
        "is none of OpenAI's. "
        "Set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for another endpoint, or pass `api_key=` or `base_url=`.",
        "no_model": "No model was given, and there is no default. Pass `model=`, see [Models](models.md).",
        "not_found": "The endpoint has no model, or no address, with that name (status 404). Check the "
        "model's name, and that the base URL ends as the provider says, usually in `/v1`.",
        "offline_cannot_judge": "The prompt is not one of the library's judges and does not say that it "
        "judges grounding, or it shows no source: the offline judge only looks sentences up. If it judges "
        "grounding, write `offline: groundedness`, or another judge's name, into its front matter; "
        "otherwise pass a model.",
        "quota": "The account has no credit left (status 402, or 429 with `insufficient_quota`). "
        "Check the plan, then use `--resume`.",
        "rate_limited": "The endpoint rejected the request as one too many (status 429), even after all "
        "retries. Send fewer requests at a time: `--concurrency`, `concurrency=`. If the endpoint asks for "
        "a wait of more than a minute, the request is not sent again: use `--resume` after that time.",
        "redirected": "The endpoint redirects to another address (status 301, 302, 303, 307 or 308), and "
        "nothing was sent there: prompts and keys go only to the address that you named. If they may go to "
        "the other address, name it: `OPENAI_BASE_URL`, `base_url=`.",
        "refused": "A content filter of the endpoint rejects the request. "
        "Look at the case, or let another model judge it.",
        "server": "The endpoint failed (status 500 or above), or its response is not a chat completion. Try "
        "again with `--resume`; if it fails again, check that the base URL points to a chat completions API.",
        "timeout": "The endpoint did not answer in time, or the row's `deadline=` has passed. Raise the "
        "model's `timeout=` or `--deadline`, or send fewer requests at a time.",
        "too_long": "The request is longer than the model accepts, counting the case, the questions of a "
        "decision model, and the tokens that `max_tokens` reserves for the reply. Judge a shorter response, "
        "give fewer or shorter documents, lower `max_tokens`, or let statement_groundedness search them part "
        "by part, with `window`.",
        "unanswered": "The results of the batches have no line for the request, or the next judge of a "
        "cascade, or a judge that has searched a long source, has not been asked yet. As for `cancelled`.",
        "unknown_model": "What was passed as a model cannot be used as one, or its package is not installed. "
        "Do what the message says; see [Models and providers](models.md).",
    }

    retry_after: float | None = None
    retries: int = 0
    remedy: str = ""
    verdicts: Any = None


class PanelError(GroundjudgeError):
    """The votes of a panel do not add up to a verdict."""

    codes: ClassVar[Mapping[str, str]] = {
        "no_majority": "No outcome has more than half of the votes that were asked for, failed ones "
        "included. Use an odd number of votes; have a person look at rows whose `verdict.votes` differ.",
    }


class ReplyError(GroundjudgeError):
    """A model's reply contains no readable verdict; it is never turned into a number.

    When the model is asked again, it sees what `describe_fault` writes about the code and the numbers, and
    the quotes as data only. It never sees the message or the wording, into which a document could have
    injected text.

    Attributes:
        wording: what was expected, for the message; by default, what the model is told.
        quotes: what in the reply or in the response is wrong.
        numbers: the numbers of the sentences that are wrong, or how many, for the codes in `WITH_NUMBERS`.
        is_misplaced: whether something else is in the verdict's place: the model is told what belongs there.
    """

    # The model sees the first sentence of a code when it is asked again.
    codes: ClassVar[Mapping[str, str]] = {
        "ambiguous": "The reply gives more than one score, contradicts its own score elsewhere, or has more "
        "than the score in its place. "
        "Look at the reply; ask for one score in the prompt, or raise `max_reasks=`.",
        "bad_distribution": "The formula's shares must add up to 1. If this is frequent, use another model.",
        "evidence_not_found": "A quote that a score needs is in none of the documents. The model is asked "
        "again, once; if the quote is still in none, the score is kept, with the warning of that name.",
        "empty": "The reply is empty. Raise `max_tokens`: reasoning may have used all of it.",
        "interrupted": "The model did not finish its reply, for a reason that is no known natural end. Try "
        "again with `--resume`; if it fails again, look up the finish reason in a response of the endpoint.",
        "missing_evidence": "A block of the reply has a score above the lowest, and no evidence. As for "
        "`ambiguous`.",
        "missing_score": "A block of the reply has no score. As for `ambiguous`.",
        "no_verdict": "The reply holds no verdict in the place where the format puts it. Look at the reply; "
        "check that the prompt asks for the format that `reply:` declares.",
        "not_a_number": "The text in the score's place is not a number. As for `no_verdict`.",
        "not_adjacent": "The formula must weigh one score, or two scores that are next to each other, as in "
        "(3 * 0.7) + (4 * 0.3). As for `bad_distribution`.",
        "not_integer": "The score must be a whole number. Say so in the prompt, or drop `integer: true`.",
        "out_of_scale": "The score lies outside the scale. State the scale in the prompt as in "
        "`scale:`; a label that states another scale, such as `Score (0-10):`, lies outside, too.",
        "refused": "The model declined to judge. Look at the case; another model may judge it.",
        "share_mismatch": "The scores of the sentences and the last line contradict each other. The model "
        "is asked again, once; if they still do, the lower one counts, with the warning of that name.",
        "shares_unreadable": "What says how probable the verdict is cannot be read: shares are those of all "
        "values, each once, and add up to 1, and a last line ALL has a number from 0 to 100. The model is "
        "asked again, once; if it still cannot be read, the score is that of the value, or of the weakest "
        "sentence, with the warning of that name.",
        "truncated": "The reply was cut off before its verdict was complete, or begun: the thinking of a "
        "reasoning model takes part of the room. Raise `max_tokens`, or lower `reasoning_effort`, in "
        "`parameters=` (`-O parameters.max_tokens=N`).",
        "unreadable_search": "The reply must have one line for each sentence of the statement, in order: its "
        "number, a bar, and numbers of sentences that are shown, or -. It is the reply to a search of a long "
        "source (`window`): look at it, and use a stronger model.",
        "unrated_sentences": "The reply does not rate every sentence of the response, or rates others. Look "
        "at the verdict's reply; use a stronger model, which copies better, or split long responses.",
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
            message_parts.append(f"found {', '.join(shortened)}")
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
    """Return the tables of codes by the name of the error class; the last is "warnings".

    Only classes that have been imported are included.
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
    """Return a code's meaning, in one sentence, and its remedy; "" for each that the table does not have.

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
    """Return the first sentence of each code of a ReplyError, as a clause."""
    clauses: dict[str, str] = {}
    for code, text in ReplyError.codes.items():
        meaning = text.partition(". ")[0].removesuffix(".")
        clauses[code] = meaning[0].lower() + meaning[1:]
    return clauses


WHAT_IS_WRONG = _clauses_of_replies()
"""The codes of a ReplyError, each with the clause that the model sees when it is asked again."""

WITH_NUMBERS: Mapping[str, str] = {
    "ambiguous": "block {all} is one too many: the other blocks rate the whole statement (the mark of a "
    "list, a citation or a sign alone needs no block)",
    "evidence_not_found": "evidence_not_found: no evidence in the documents is named for sentence{s} {all}",
    "unrated_sentences": "every sentence of the statement needs one block, in the words of the statement "
    "(parts of the statement without a block: {0}; blocks that are not in it: {1})",
}
"""The same with places for numbers: each by its index, or all of them."""


def describe_fault(code: str, numbers: Sequence[int] = (), expected_text: str = "") -> str:
    """Describe what is wrong with a reply to the model, using only the library's own words and numbers.

    Args:
        code: the code of a ReplyError, which may come from your own format.
        numbers: as in the ReplyError.
        expected_text: what belongs in the verdict's place on the judge's scale; "" if that is not the fault.
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
    """Wrap imports of optional packages: if one is missing, the error names the extra that installs it.

    Args:
        what: what needs which package: the beginning of the message.
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
    """Wrap calls to another package: turn what it raises into an error of this library, in one line.

    Args:
        failure: the class of exceptions that it raises.
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
    """Return the end of a message about an unknown name: the nearest known name, if one is close."""
    nearest = get_close_matches(name, list(known_names), 1)
    if not nearest:
        return ""
    return f", did you mean {nearest[0]!r}?"


def name_list(names: Iterable[str], near: str = "") -> str:
    """List names for a message: the first ten, and how many more there are.

    Args:
        names: the names.
        near: a name that is not among them: if not all are listed, those most similar to it come first.
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
    """Return the first fault that pydantic found, after its location if it has one."""
    details = error.errors(include_url=False)[0]
    # pydantic writes this before the message of every ValueError that a validator raises.
    fault = details["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, details["loc"]))
    if not place:
        return fault
    return f"{place}: {fault}"


def code_of_status(status: int) -> str:
    """Return the code of a ModelError for an HTTP status of 300 or more (RFC 9110)."""
    if status in STATUS_CODES:
        return STATUS_CODES[status]
    if status >= FIRST_SERVER_STATUS:
        return "server"
    return "bad_request"
