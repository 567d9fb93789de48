"""Benchmark of reading replies: no reply of 200 kB takes more than a second, whatever it repeats.

    PYTHONPATH=tests python tests/bench/reply_times.py

Each format reads replies that repeat a piece ahead of, in and behind the verdict. A row shows the slowest
piece at a place. A reply of a tenth of the length is read first: where even the square of that time is small,
the long one is left out.
"""

from __future__ import annotations

import sys
import time

from read_replies import FOUR, SCALES, block, outcome, passage

from groundjudge import Scale

LENGTH = 200_000
HIGHEST_SECONDS = 1.0

PIECES = (
    *(
        " ",
        "\n",
        "\r",
        "\r\n",
        "\u200b",
        "a",
        "a ",
        "a b: ",
        "4",
        "4 ",
        "4,",
        "4.",
        "(4",
        "(",
        ")",
        "-",
        "+",
        "%",
    ),
    *(
        "*",
        "* ",
        "*a ",
        "**a ",
        "_a ",
        "`a ",
        "```\n",
        "#",
        "# ",
        "## ",
        "> ",
        "- ",
        "1. ",
        ".",
        "...",
        "_",
        "not ",
    ),
    *(
        "<",
        "< ",
        "</",
        "<S0>",
        "<S2>",
        "<S2>4 ",
        "<S2>4</S2>",
        "</S2 ",
        "<S1></S1>",
        "<!--",
        "<!-- -->",
        "x<5 ",
    ),
    *(
        "<think>",
        "</think>",
        "\n</think>\n",
        "<think>a</think>",
        "<|channel|> ",
        "<|end|>",
        "</s>",
        "<|im_end|>\n",
    ),
    *('"', '\\"', "\\", "'", ":'", ":'a", "{", "}", "{}", "{'a':", "[", "[{},", '{"a":1} ', '{"score":1}'),
    *("//", "// ", "//\n", "/*", "/* */", "/**/", "{//\n}", "score", "score:", "your Score ", "out of "),
    *("\nScore: 4", "\n# Score\n", "\nRating: 4", "\nRating (1", "\nLevel: x", "\nRECALL\n", "\nRECALL\nx"),
    *("\nRECALL_Formula: (1 * 1.0)", "(4 * 1.0)+", "=4", "\nRECALL_Weighted_Summed_Score: 1", "NOTHING "),
    *(
        "\nStatement Sentence:",
        "\nStatement: A.\nSupporting Evidence: b\nScore: 4",
        "yes ",
        "supported ",
        "有",
        "½",
    ),
)
"""What a reply repeats."""

PLACES = {
    "tags": {
        "ahead of": "%s<S1>r</S1><S2>4</S2>",
        "in the reason of": "<S1>%s</S1><S2>4</S2>",
        "in": "<S2>4%s</S2>",
        "in an unclosed": "<S2>4%s",
        "behind": "<S1>r</S1><S2>4</S2>%s",
    },
    "json": {
        "ahead of": '%s{"score": 4}',
        "in the reason of": '{"reasoning": "%s", "score": 4}',
        "before the end of": '{"score": 4%s}',
        "in": '{"score": "4%s"}',
        "behind": '{"score": 4}%s',
    },
    "scorecard": {
        "ahead of": f"%s\n{block('4')}",
        "in the sentence of": block("4", sentence="%s"),
        "in the evidence of": block("4", "%sx"),
        "in": block("4%s"),
        "behind": block("4\n%s"),
    },
    "banded": {
        "ahead of": "%s\nAnalysis: a\nScore: 4",
        "in the reason of": "Analysis: %s\nScore: 4",
        "in the label of": "Score%s: 4",
        "in": "Score: 4%s",
        "behind": "Score: 4\n%s",
    },
    "line": {
        "ahead of": "a%s\nRating: 4",
        "in the label of": "Rating%s: 4",
        "in": "Rating: 4%s",
        "behind": "Rating: 4\n%s",
    },
    "adjacent": {
        "ahead of": "%s\n" + passage("RECALL_Formula: (4 * 1.0)"),
        "in the reason of": passage("%s\nRECALL_Formula: (4 * 1.0)"),
        "in": passage("RECALL_Formula: (4 * 1.0)%s"),
        "behind": passage("RECALL_Formula: (4 * 1.0)", "(5 * 1.0)", "5.0\n%s"),
    },
    "plain": {"ahead of": "%s4", "in a fence of": "```\n%s4\n```", "behind": "4%s"},
}


def seconds(kind: str, text: str, scale: Scale | None) -> float:
    started = time.process_time()
    outcome(kind, text, scale)
    return time.process_time() - started


def slowest_piece(kind: str, place: str, scale: Scale | None) -> tuple[str, float]:
    """Return the piece whose repetition in a place takes the longest, and its time."""
    slowest, longest = "", 0.0
    for piece in PIECES:
        short = seconds(kind, place.replace("%s", piece * (LENGTH // 10 // len(piece))), scale)
        if short * 100 < HIGHEST_SECONDS / 2:
            continue
        duration = seconds(kind, place.replace("%s", piece * (LENGTH // len(piece))), scale)
        if duration > longest:
            slowest, longest = piece, duration
    return slowest, longest


if __name__ == "__main__":
    for kind, places in PLACES.items():
        scales = {"": SCALES["scorecard"] if kind == "json" else None, "supported": FOUR}
        for label, scale in scales.items():
            if label and kind == "adjacent":  # it computes with numbers
                continue
            for name, place in places.items():
                frame = place
                if label:
                    frame = place.replace("4", label)
                    if kind == "json":
                        frame = frame.replace(f": {label}", f': "{label}"')
                piece, duration = slowest_piece(kind, frame, scale)
                result = "ok" if duration <= HIGHEST_SECONDS else "FAILED"
                row = f"{kind}, {name} a {label or 'number'}"
                sys.stdout.write(f"{row:<52}{piece!r:<50}{duration:>7.3f} s  {result}\n")
                sys.stdout.flush()
