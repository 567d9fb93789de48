"""Errors that end an experiment: a model that refused its key is not asked about every further row."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from groundjudge.errors import ENDS_RUN, ModelError
from groundjudge.judging.conversation import Ask
from groundjudge.models.failure import model_error
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Verdict


@dataclass
class Endings:
    """The errors that an experiment has met, for frameworks that loop over the rows themselves.

    Attributes:
        errors: by the id of a model, the error with which each of its calls would end.
        has_verdict: whether a row has a verdict that is not an error.
        noted_codes: the codes of the errors that `note` has described.
    """

    errors: dict[int, ModelError] = field(default_factory=dict[int, ModelError])
    has_verdict: bool = False
    noted_codes: set[str] = field(default_factory=set[str])
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def limit(self, ask: Ask) -> Ask:
        """Return an `ask` for one row that skips models which ended an earlier row.

        All votes of the row are asked, even after one of them has met such an error.
        """
        earlier_errors = dict(self.errors)

        async def ask_or_raise(model: Model, request: Request) -> Reply:
            """Ask a model, unless it has ended an earlier row; note an error by which it ends this one."""
            ending = earlier_errors.get(id(model))
            if ending is not None:
                message = f"not asked after this error: {ending.message}"
                raise model_error(ending.code, message, ending.subject)
            try:
                return await ask(model, request)
            except ModelError as error:
                if error.code in ENDS_RUN:
                    self.errors[id(model)] = error
                raise

        return ask_or_raise

    def note(self, verdict: Verdict) -> str | None:
        """Describe an error that all rows will most likely meet; return None for any other verdict.

        That is the error of the first row, or one that ends a run, and each code once.
        """
        with self._lock:  # frameworks judge rows in several threads
            if verdict.error is None:
                self.has_verdict = True
                return None
            code = verdict.error.code
            is_first = not self.has_verdict and not self.noted_codes
            if code in self.noted_codes or not (is_first or code in ENDS_RUN):
                return None
            self.noted_codes.add(code)
        description = verdict.explanation
        if self.errors:
            description += ". No further row is sent to this model"
        return description


class Experiments:
    """The endings of one experiment after the other, for an evaluator that outlives them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._experiment: object = None
        self._row_ids: set[object] = set()
        self._endings = Endings()

    def endings_at(self, experiment: object, row_id: object) -> Endings:
        """Return the endings of an experiment; a row that comes again starts them anew.

        Args:
            experiment: what the framework calls the experiment; None outside of one. Then each row has
                endings of its own: its caller may have set the missing key since the last row.
            row_id: the id of the row that is judged.
        """
        if experiment is None:
            return Endings()
        with self._lock:
            if experiment != self._experiment or row_id in self._row_ids:
                self._experiment = experiment
                self._row_ids = set()
                self._endings = Endings()
            self._row_ids.add(row_id)
            return self._endings
