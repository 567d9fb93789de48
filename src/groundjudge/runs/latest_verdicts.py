"""The verdicts of a file that count: each judge's last one on each case, read as a stream.

A million verdicts take gigabytes as objects. So the file is read twice: once to see which verdicts count,
keeping a few bytes of each, and again by the code that measures something.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from groundjudge.errors import CaseError
from groundjudge.verdict import Verdict

# The key of a verdict that has none.
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
    census = _Census()
    for verdict in source:
        census.add(verdict)
    return census.latest_verdicts(source)


@dataclass
class _Census:
    """What is stored of verdicts until it is clear which of them count: a few numbers for each.

    Attributes:
        is_latest: whether each counts, so far.
        is_error: whether each is an error.
        key_hashes: a hash of each one's key.
        origin_places: the place of each one's origin among the origins.
        origins: the distinct origins, each with its place.
        places: by judge and case id, the place of the verdict that counts.
        n_repeated: by judge, how many verdicts do not count.
        n_without_id: how many verdicts are on cases without an id.
    """

    is_latest: bytearray = field(default_factory=bytearray)
    is_error: bytearray = field(default_factory=bytearray)
    key_hashes: array[int] = field(default_factory=lambda: array("q"))
    origin_places: array[int] = field(default_factory=lambda: array("i"))
    origins: dict[Origin, int] = field(default_factory=dict[Origin, int])
    places: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    n_repeated: Counter[str] = field(default_factory=Counter[str])
    n_without_id: int = 0
    n_unreadable: int = 0
    first_unreadable: str = ""

    def add(self, verdict: Verdict | CaseError) -> None:
        """Count a verdict, whether or not it replaces an earlier one on the same case."""
        place = len(self.is_latest)
        if isinstance(verdict, CaseError):
            self._append(is_latest=False)
            self.n_unreadable += 1
            if self.n_unreadable == 1:
                self.first_unreadable = verdict.message
            return
        origin = Origin(verdict.judge, verdict.signature, len(verdict.votes), verdict.score is not None)
        self._append(
            is_latest=True,
            is_error=verdict.error is not None,
            key_hash=NO_KEY if verdict.key is None else hash(verdict.key),
            origin_place=self.origins.setdefault(origin, len(self.origins)),
        )
        if verdict.case_id is None:
            self.n_without_id += 1
            return
        places = self.places.setdefault(verdict.judge, {})
        earlier_place = places.get(verdict.case_id)
        if earlier_place is None:
            places[verdict.case_id] = place
            return
        self.n_repeated[verdict.judge] += 1
        if self._is_better(earlier_place, place):
            self.is_latest[place] = False
        else:
            self.is_latest[earlier_place] = False
            places[verdict.case_id] = place

    def _append(
        self,
        *,
        is_latest: bool,
        is_error: bool = False,
        key_hash: int = NO_KEY,
        origin_place: int = -1,
    ) -> None:
        """Add a verdict to the lists that have a number for each."""
        self.is_latest.append(is_latest)
        self.is_error.append(is_error)
        self.key_hashes.append(key_hash)
        self.origin_places.append(origin_place)

    def _is_better(self, earlier_place: int, place: int) -> bool:
        """Return whether the earlier verdict counts: it has an outcome, and the later error adds nothing."""
        if self.is_error[earlier_place] or not self.is_error[place]:
            return False
        key_hashes = {self.key_hashes[earlier_place], self.key_hashes[place]} - {NO_KEY}
        return len(key_hashes) <= 1  # nothing shows that the judge or the case was changed

    def latest_verdicts(self, source: Iterable[Verdict | CaseError]) -> LatestVerdicts:
        """Return what was found about the source, without what only the search needed."""
        counts: Counter[int] = Counter()
        for is_latest, origin_place in zip(self.is_latest, self.origin_places, strict=True):
            if is_latest:
                counts[origin_place] += 1
        origins: Sequence[Origin] = list(self.origins)
        return LatestVerdicts(
            source=source,
            is_latest=self.is_latest,
            origins={origins[origin_place]: n for origin_place, n in counts.items()},
            n_repeated=dict(self.n_repeated),
            n_cases=self.n_without_id + self._count_ids(),
            n_unreadable=self.n_unreadable,
            first_unreadable=self.first_unreadable,
        )

    def _count_ids(self) -> int:
        """Return how many ids there are; with a single judge, nothing has to be joined for that."""
        if len(self.places) == 1:
            (places,) = self.places.values()
            return len(places)
        return len(set[str]().union(*self.places.values()))
