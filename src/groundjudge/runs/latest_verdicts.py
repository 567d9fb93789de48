"""The verdicts of a file that count: each judge's last one on each case, read as a stream.

A million verdicts take gigabytes as objects. So the file is read twice: once to see which verdicts count,
keeping a few bytes of each, and again by the code that measures something.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

from groundjudge.errors import CaseError
from groundjudge.verdict import Verdict

# The hash of the key of a verdict that has none.
NO_KEY = 0


class Origin(NamedTuple):
    """Where a verdict comes from, as far as figures distinguish it.

    Attributes:
        judge: the judge's name; "" for a row that could not be read.
        signature: see `Verdict.signature`.
        n_votes: how many votes it has.
        has_score: whether it has a score.
    """

    judge: str
    signature: str
    n_votes: int
    has_score: bool


UNREADABLE = Origin("", "", 0, has_score=False)
"""Takes the place of the origin of what could not be read."""


@dataclass(frozen=True)
class LatestVerdicts:
    """The verdicts that count, read from their source again whenever they are iterated.

    Attributes:
        source: all verdicts, and an error in place of each that could not be read. It can be iterated again.
        is_latest: whether each of these counts.
        origins: how many of the verdicts that count come from each origin.
        n_repeated: by judge, how many verdicts do not count.
        n_cases: how many cases the verdicts are on.
        n_unreadable: how many could not be read.
        first_unreadable: the message of the first of these.
        selected_judges: the judges whose verdicts are iterated; None: all.
    """

    source: Iterable[Verdict | CaseError]
    is_latest: bytearray
    origins: Mapping[Origin, int]
    n_repeated: Mapping[str, int]
    n_cases: int
    n_unreadable: int
    first_unreadable: str
    selected_judges: frozenset[str] | None = None

    def __iter__(self) -> Iterator[Verdict]:
        # What another command meanwhile appends to the file is not read: the flags end before it.
        for is_latest, verdict in zip(self.is_latest, self.source, strict=False):
            if not is_latest or isinstance(verdict, CaseError):
                continue
            if self.selected_judges is None or verdict.judge in self.selected_judges:
                yield verdict

    def __len__(self) -> int:
        return sum(n for _, n in self._selected_origins())

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the selected judges with verdicts, sorted; without "", for rows that have no judge."""
        names = {origin.judge for origin, _ in self._selected_origins()}
        return tuple(sorted(names - {""}))

    def select(self, judges: Collection[str]) -> LatestVerdicts:
        """Return the verdicts of some of the judges."""
        return replace(self, selected_judges=frozenset(judges))

    def signatures_of(self, judge: str) -> list[str]:
        """Sort the signatures of a judge's scores; for a panel, those of the verdicts with the most votes.

        A panel that stops once it is decided has verdicts with fewer models, and is still the same panel.
        """
        scored = [origin for origin in self.origins if origin.judge == judge and origin.has_score]
        most = max((origin.n_votes for origin in scored), default=0)
        return sorted({origin.signature for origin in scored if origin.n_votes == most})

    def _selected_origins(self) -> list[tuple[Origin, int]]:
        """Return the origins of the verdicts of the selected judges, each with how many verdicts count."""
        selected: list[tuple[Origin, int]] = []
        for origin, n in self.origins.items():
            if self.selected_judges is None or origin.judge in self.selected_judges:
                selected.append((origin, n))
        return selected


def latest_verdicts(verdicts: Iterable[Verdict | CaseError]) -> LatestVerdicts:
    """Find the verdict that counts for every judge and case.

    A row that failed is judged again in a resumed run, or in a table that is appended to. The last verdict
    counts, but an error does not replace a verdict, because tables do not always keep the order of their
    rows. An error with another key does replace it, because the case or the judge has changed since, so the
    verdict is outdated. Verdicts on cases without an id all count, because nothing shows that two of them
    are on the same case.

    Args:
        verdicts: an iterator is stored as a list; anything else, such as a file or a list, is iterated again.
    """
    if isinstance(verdicts, LatestVerdicts):
        return verdicts
    source: Iterable[Verdict | CaseError] = verdicts
    if isinstance(verdicts, Iterator):
        source = list(verdicts)
    # A few numbers for each verdict, by its place in the source.
    is_latest = bytearray()
    is_error = bytearray()
    key_hashes: array[int] = array("q")
    origins: list[Origin] = []  # equal ones are one object
    known_origins: dict[Origin, Origin] = {}
    # By judge and case id, the place of the verdict that counts.
    places: defaultdict[str, dict[str, int]] = defaultdict(dict)
    n_repeated: Counter[str] = Counter()
    n_without_id = 0
    n_unreadable = 0
    first_unreadable = ""
    for place, verdict in enumerate(source):
        if isinstance(verdict, CaseError):
            n_unreadable += 1
            first_unreadable = first_unreadable or verdict.message
            is_latest.append(False)
            is_error.append(True)
            key_hashes.append(NO_KEY)
            origins.append(UNREADABLE)
            continue
        origin = Origin(verdict.judge, verdict.signature, len(verdict.votes), verdict.score is not None)
        is_latest.append(True)
        is_error.append(verdict.error is not None)
        key_hashes.append(NO_KEY if verdict.key is None else hash(verdict.key))
        origins.append(known_origins.setdefault(origin, origin))
        if verdict.case_id is None:
            n_without_id += 1
            continue
        earlier_place = places[verdict.judge].setdefault(verdict.case_id, place)
        if earlier_place == place:
            continue
        n_repeated[verdict.judge] += 1
        keys = {key_hashes[earlier_place], key_hashes[place]} - {NO_KEY}
        is_same_case = len(keys) <= 1  # nothing shows that the judge or the case was changed
        if is_error[place] and not is_error[earlier_place] and is_same_case:
            is_latest[place] = False
        else:
            is_latest[earlier_place] = False
            places[verdict.judge][verdict.case_id] = place
    case_ids = set[str]().union(*places.values())
    return LatestVerdicts(
        source=source,
        is_latest=is_latest,
        origins=Counter(compress(origins, is_latest)),
        n_repeated=dict(n_repeated),
        n_cases=n_without_id + len(case_ids),
        n_unreadable=n_unreadable,
        first_unreadable=first_unreadable,
    )
