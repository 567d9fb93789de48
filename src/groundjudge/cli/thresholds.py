"""The option --threshold: a score, or a file of calibrated thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundjudge.cli.screen import fail
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when a command needs them
    from groundjudge.analysis.agreement import Thresholds


def thresholds_for(option: str | None, verdicts: Sequence[Verdict]) -> tuple[Thresholds, list[str]]:
    """The thresholds to use, and warnings about using them on these verdicts."""
    if option is None:
        return None, []
    try:
        number = float(option)
    except ValueError:
        return _from_file(option, verdicts)
    if not 0 <= number <= 1:
        fail(f"--threshold must be a score, 0..1, not {option}")
    return number, []


def _from_file(path: str, verdicts: Sequence[Verdict]) -> tuple[dict[str, float], list[str]]:
    from groundjudge.analysis.calibration import drift, read_calibrations  # noqa: PLC0415

    calibrations = read_calibrations(path)
    missing = sorted({verdict.judge for verdict in verdicts if verdict.judge} - calibrations.keys())
    return {judge: one.threshold for judge, one in calibrations.items()}, [
        *(f"{judge}: {path} has no threshold for it, so the run's decision counts" for judge in missing),
        *(warning for one in calibrations.values() if (warning := drift(one, verdicts))),
    ]
