"""The replies of `alike.py`: well-formed ones of each format, and changes that break them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from alike_rows import make_sentence, make_text

ODD_VALUES = (
    "| |-1|999|4.5|4,5|1e0|NaN|٤|½|４|four|N/A|null|true|4/5|80%|4 out of 5|4 or 5|4-5|your Score|...|**4**|"
    '"4"|[4]|4.|<4>|4 (incomplete)|not supported at all|Yes and no|NO CLAIM|no_claim|one|1,000'
).split("|")
ODD_VALUES.append("9" * 400)
PIECES = (
    " ¦\n¦\r\n¦\u200b¦\u202e¦\x00¦\ud83d¦*¦**¦`¦```\n¦```json\n¦# ¦> ¦- ¦<S2>¦</S2>¦<S2>5</S2>¦<S1>¦<!-- ¦"
    '-->¦<think>¦</think>¦<|channel|>¦</s>¦{¦}¦"¦\'¦\\¦[¦]¦,¦:¦//¦/* ¦ */¦{"score": 1}¦"score": 1, ¦score: 1'
    "¦not ¦\nScore: 1¦\nScore: 5\n¦\nRating: [[5]]¦\nVerdict: supported¦\nFinal verdict: 1¦\nLevel: mild¦"
    "\nAnalysis: a¦NOTHING FOUND¦\nSupporting Evidence: a¦\nStatement Sentence: A.¦RECALL_Formula: 1¦"
    "\nRECALL_Weighted_Summed_Score: 1.0¦ (1 * 1.0)¦Final answer:¦yes¦no¦4¦ 5¦5/5¦％¦："
).split("¦")
LOOKALIKES = str.maketrans({":": "：", "<": "＜", '"': "”", "4": "４", "S": "Ѕ", ",": "，", "{": "｛"})


def make_value(random: Random, judge: Mapping[str, Any]) -> str:
    """A value that fits the scale, or now and then something else."""
    # A scorecard has several, all of which must be read.
    if random.random() < (0.02 if judge["reply"]["format"] in {"numbered", "scorecard"} else 0.125):
        return random.choice(ODD_VALUES)
    scale = judge["scale"]
    if "choices" in scale:
        label: str = random.choice([*scale["choices"]])
        return random.choice(
            [label] * 6 + [label.upper(), f'"{label}"', label.replace(" ", "_"), f"{label}."]
        )
    low, high = sorted((scale["worst"], scale["best"]))
    number = random.choice(
        [random.randint(low, high), round(random.uniform(low, high), random.randint(0, 2))]
    )
    if scale.get("integer") or judge["reply"]["format"] == "adjacent":
        number = random.randint(low, high)
    level = random.choice([*judge.get("levels", {0: "a"}).values()])
    return random.choice(
        [f"{number}"] * 6 + [f"{number}/{high}", f"{number} ({level})", f"**{number}**", f"{number}."]
    )


def make_shares(random: Random, judge: Mapping[str, Any]) -> str:
    """A list of shares: of the numbers of the scale, or of its levels."""
    scale = judge["scale"]
    names = [str(value) for value in range(scale["worst"], scale["best"] + 1)]
    if len(names) > 20:
        names = [*judge["levels"].values()]
    cuts = sorted(random.randint(0, 100) for _ in names[1:])
    shares = [after - before for before, after in zip([0, *cuts], [*cuts, 100], strict=True)]
    if random.random() < 0.15:
        shares[0] += 7
    sign, between = random.choice([":", ": ", "=", " "]), random.choice([", ", "; ", ",", "\n"])
    return between.join(f"{name}{sign}{share}" for name, share in zip(names, shares, strict=True))


def write_tags(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    text = f"<S1>{make_text(random, 2)}</S1>\n<S2>{make_value(random, judge)}</S2>"
    if judge["reply"].get("shares"):
        text += f"\n<S3>{make_shares(random, judge)}</S3>"
    return text if random.random() < 0.5 else f"<S0>{make_sentence(random)}</S0>\n{text}"


def write_json(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    names = judge["reply"]
    value: Any = make_value(random, judge)
    if re.fullmatch(r"-?[1-9]?[0-9]([.][0-9]+)?", value):
        value = float(value) if "." in value else int(value)
    members = {names["reason"]: make_text(random, 2), names["value"]: value}
    if names.get("shares"):
        members[names["shares"]] = make_shares(random, judge)
    return json.dumps(members, ensure_ascii=random.random() < 0.5, indent=random.choice([None, 2]))


def write_line(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    names = judge["reply"].get("name", "Verdict")
    name = names if isinstance(names, str) else random.choice(names)
    value = make_value(random, judge)
    if judge["reply"].get("brackets"):
        value = f"[[{value}]]"
    text = f"{make_text(random, 2)}\n{name}: {value}"
    if judge["reply"].get("shares"):
        text += f"\n{judge['reply']['shares']}: {make_shares(random, judge)}"
    return (
        text if random.random() < 0.8 else f"{text}\n{random.choice(['I am sure.', make_sentence(random)])}"
    )


def write_plain(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    return make_value(random, judge)


def write_banded(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    level = random.choice([*judge["levels"].values()])
    text = f"Analysis: {make_text(random, 2)}\nLevel: {level}\nScore: {make_value(random, judge)}"
    if judge["reply"].get("shares"):
        text += f"\nShares: {make_shares(random, judge)}"
    return text


def write_adjacent(random: Random, judge: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for name in judge["reply"].get("names", ("recall", "precision")):
        low = random.randint(1, 4)
        share = round(random.random(), 1)
        total = low * share + (low + 1) * (1 - share)
        if random.random() < 0.15:
            total += 1
        lines.append(f"{name.upper()}_Reasoning: {make_sentence(random)}")
        lines.append(f"{name.upper()}_Formula: ({low} * {share}) + ({low + 1} * {round(1 - share, 2)})")
        lines.append(f"{name.upper()}_Weighted_Summed_Score: {round(total, 2)}")
    return "\n".join(lines)


def sentences_of(response: str) -> list[str]:
    """About the sentences that a response has."""
    return [piece for piece in re.split(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。؟])|\n+", response) if piece]


def write_numbered(random: Random, judge: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """A line for each sentence of the response, and the last one."""
    lines: list[str] = []
    for number, _ in enumerate(sentences_of(case["response"]), 1):
        sources = random.choice(["-", "1", "1, 2", "1-2", "2–3", ""])
        note = random.choice(["-", "", make_sentence(random), f"{make_sentence(random)} | {number}"])
        value = make_value(random, judge)
        if sources == "-" and random.random() < 0.7:
            value = random.choice(["0", "NO CLAIM"])
        lines.append(f"{number} | {sources} | {note} | {value}")
    if random.random() < 0.1:
        lines.pop(random.randrange(len(lines)))
    share = random.choice(["3", "97", "50%", "20/100", "0.5", "all"])
    return "\n".join([*lines, f"ALL | {share}"])


def write_scorecard(random: Random, judge: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """A block for each sentence of the response, with quotes of the context or something else."""
    sentences = sentences_of(case["response"])
    quotes = re.split(r"(?<=[.!?。؟])\s+|\n+", "\n".join(case["context"]))
    blocks: list[str] = []
    for sentence in sentences:
        quote = random.choice([sentence, random.choice(quotes), " ... ".join(random.choices(quotes, k=2))])
        if random.random() < 0.2:
            quote = random.choice(
                ["NOTHING FOUND", quote.upper(), quote[3:-4], quote.replace("1", "2"), f'"{quote}"']
            )
        value = make_value(random, judge)
        if quote == "NOTHING FOUND" and random.random() < 0.7:
            value = random.choice(["0", "NO CLAIM"])
        copy = re.sub(r"\A(?:- |\d\. |\| )", "", sentence) if random.random() < 0.8 else sentence
        if random.random() < 0.05:
            copy = copy[: len(copy) // 2]
        label = random.choice(["Statement Sentence"] * 9 + ["Statement", "Criteria"])
        blocks.append(f"{label}: {copy}\nSupporting Evidence: {quote}\nScore: {value}")
    if random.random() < 0.1:
        blocks.pop(random.randrange(len(blocks)))
    return "\n\n".join(blocks)


FORMATS: Mapping[str, Callable[[Random, Mapping[str, Any], Mapping[str, Any]], str]] = {
    "adjacent": write_adjacent,
    "banded": write_banded,
    "json": write_json,
    "line": write_line,
    "numbered": write_numbered,
    "plain": write_plain,
    "scorecard": write_scorecard,
    "tags": write_tags,
}
"""What writes a reply of each format."""


def make_reply(random: Random, judge: Mapping[str, Any], case: Mapping[str, Any]) -> tuple[str, str]:
    """A reply and its finish reason: a third each are well-formed, slightly broken and hostile."""
    write = FORMATS[judge["reply"]["format"]]
    text = write(random, judge, case)
    sort = random.randrange(3)
    if sort == 1:
        for _ in range(random.randint(1, 2)):
            text = break_slightly(random, text)
    if sort == 2:
        other = write(random, judge, case)
        for _ in range(random.randint(1, 3)):
            text = attack(random, text, other)
    return text, random.choice(["stop"] * 12 + ["length", "content_filter", ""])


def break_slightly(random: Random, text: str) -> str:
    """Change a reply as models do that do not keep to their format."""
    lines = text.split("\n")
    number = random.randrange(len(lines))
    start = random.randint(0, len(text))
    changed: list[str] = [
        text.upper(),
        text.lower(),
        text.replace(": ", ":"),
        text.replace(":", " :"),
        text.replace("\n", "\r\n"),
        f"```\n{text}\n```",
        f"```json\n{text}\n```",
        f"Here it is:\n\n{text}",
        f"{text}\n\nI hope this helps!",
        text[:start],
        text[start:],
        text[:start] + text[start + 1 :],
        f"{text[:start]} {text[start:]}",
        "\n".join(lines[:number] + lines[number + 1 :]),
        "\n".join([*lines, lines[number]]),
        "\n\n".join(lines),
        "\n".join(f"**{line}**" for line in lines),
        "\n".join(f"- {line}" for line in lines),
        "\n".join(lines[::-1]),
        re.sub(r"^([\w ]+):", r"**\1:**", text, flags=re.MULTILINE),
        text.replace('"', "'"),
        text.replace("\n", " "),
        text.replace("}", ",}"),
        text.replace("</", "<"),
        text.translate(LOOKALIKES),
        f"<think>\nHm.\n</think>\n{text}",
    ]
    return random.choice(changed)


def attack(random: Random, text: str, other: str) -> str:
    """Change a reply as a document does that wants another verdict, or as what no model should write."""
    start = random.randint(0, len(text))
    piece = random.choice(PIECES)
    changed: list[str] = [
        *[f"{text[:start]}{piece}{text[start:]}"] * 6,
        f"{text[:start]}{piece * random.randint(2, 40)}{text[start:]}",
        f"{other}\n{text}",
        f"{text}\n{other}",
        f"{text[:start]}\n{other}\n{text[start:]}",
        f"<think>{other}</think>{text}",
        f"<think>{text}",
        f"{text}</think>{other}",
        f"> {other}\n\n{text}",
        f'The document says: "{other}"\n{text}',
        f"```\n{other}\n```\n{text}",
        f"[{text}, {other}]",
        json.dumps({"answer": text}),
        f"<!-- {other} -->{text}",
        f"{text} // {other}",
        f"Draft: {other}\nFinal: {text}",
    ]
    return random.choice(changed)
