"""The rows of `alike.py`: mappings in the shapes of files and of every vendor, and broken ones."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

SENTENCES = (
    "The tower of {w} was built in {n}.",
    "Dr. {w} paid ${n}.50 at 5 p.m. on No. 5 Main St.",
    "It costs {n} €, i.e. {n},50 with tax [1].",
    'She asked: "Is {w} open?" and left.',
    "Is {w} {n} metres high?",
    "**{w}**: see https://a.example/{n}?q=1.2 for v{n}.1",
    "Der Turm von {w} ist etwa {n} m hoch, z. B. im Winter.",
    "La tour de {w} mesure {n} mètres !",
    "塔{w}高{n}米。",
    "برج {w} ارتفاعه {n} متر؟",
    "Башня {w} построена в {n} г.",
    "{w}は{n}年に建てられた。",
    "Thanks for asking!",
    "It is not open.",
    "The council of {w} met {n} times; nobody won.",
)
WORDS = "Vessa Orsel Fenn Relvan Köln Łódź Ilse U.S. iPhone".split()
ALIASES = {
    "query": "query question input user_input prompt QUERY".split(),
    "response": "response answer output actual_output prediction Response statement".split(),
    "context": "context contexts documents docs retrieved_contexts retrieval_context source premise".split(),
    "reference": "reference ground_truth expected_output expected reference_answer passage_gt".split(),
    "conversation": "conversation history turns".split(),
}
MISSPELT = "contxt respons qeury referense conversaton answr".split()
ODD: tuple[Any, ...] = (
    *(None, "", " \n", "\u200b", "nan", float("nan"), float("inf"), 0, -1, 3.5, True, [], {}, [[]], [None]),
    *(
        "['a', 'b']",
        '[{"a": 1}]',
        "\ud83d",
        "a\x00b",
        ["a", 1],
        {"a": None},
        [["user", "a"], ["b", "c", "d"]],
    ),
    *({"text": {"a": 1}}, {"content": None}, {"role": "user"}, {"type": "image_url"}, 10**30, "x" * 2000),
)


def make_sentence(random: Random) -> str:
    return random.choice(SENTENCES).format(w=random.choice(WORDS), n=random.randint(2, 2030))


def make_text(random: Random, most: int = 5) -> str:
    """A few sentences: as prose, as a list, as a table, or with a heading or code among them."""
    sentences = [make_sentence(random) for _ in range(random.randint(1, most))]
    match random.randint(0, 9):
        case 0:
            return "In short:\n" + "\n".join(f"- {sentence}" for sentence in sentences)
        case 1:
            return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
        case 2:
            return "| What |\n|---|\n" + "\n".join(f"| {sentence} |" for sentence in sentences)
        case 3:
            return "## Result\n\n" + "\n\n".join(sentences) + "\n```python\nx = 1.5\n```"
        case _:
            return " ".join(sentences)


def make_case(random: Random) -> dict[str, Any]:
    """A whole case, with every field under its own name."""
    context = [make_text(random, 4) for _ in range(random.randint(1, 3))]
    response = make_text(random)
    if random.random() < 0.5:  # much of it is in the context
        response = " ".join(random.sample(context, 1))
    return {
        "id": str(random.randint(1, 999)),
        "query": make_sentence(random),
        "context": context,
        "response": response,
        "reference": make_text(random, 2),
        "conversation": make_text(random, 2),
        "profile": make_text(random, 2),
        "agent_name": random.choice(WORDS),
        "answers": [make_sentence(random)],
    }


def make_document(random: Random) -> Any:
    """A document in one of the shapes in which retrievers, tools and vendors give them."""
    text = make_text(random, 2)
    title = random.choice(["A", "", "Tool Result: get", "tool", None])
    data = {"total": random.randint(1, 99), "items": [text]}
    shapes: list[Any] = [
        text,
        {"content": text},
        {"text": text, "title": title},
        {"snippet": text, "url": "https://a.example"},
        {"page_content": text, "metadata": {"title": title, "source": "a.pdf"}},
        {"content": text, "title": title, "kind": random.choice(["tool", "tool_result", "knowledge", "web"])},
        {"context": text, "content": random.choice(["", text, "other"]), "source": "a.pdf"},
        {"lc": 1, "type": "constructor", "id": ["x", "Document"], "kwargs": {"page_content": text}},
        {"content": [{"type": "text", "text": text}, {"type": "image", "source": {}}]},
        {"role": "tool", "tool_call_id": "1", "name": "get", "content": json.dumps(data)},
        {"title": title, "content": data},
        {"type": "tool", "content": text, "status": "ok", "data": data},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": text}]},
    ]
    return random.choice(shapes)


def make_thread(random: Random) -> list[Any]:
    """A conversation with an agent that calls a tool, in one vendor's shape."""
    question, answer, result = make_sentence(random), make_text(random), make_text(random, 2)
    arguments = {"q": question}
    call = {"name": "get", "args": arguments, "id": "1"}
    function = {"name": "get", "arguments": json.dumps(arguments)}
    threads: list[list[Any]] = [
        [  # OpenAI's chat completions
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": question}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]},
            {"role": "tool", "tool_call_id": "1", "content": result},
            {"role": "assistant", "content": answer, "refusal": random.choice([None, "No."])},
        ],
        [  # OpenAI's responses
            {"role": "user", "content": question},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "1", **function},
            {"type": "function_call_output", "call_id": "1", "output": result},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]},
        ],
        [  # Anthropic
            {"role": "user", "content": question},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "get", "input": arguments}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": result}]},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": answer}],
            },
        ],
        [  # LangChain: dumps of its objects, two ways, and its mappings
            {"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": question}},
            {"type": "ai", "data": {"content": "", "tool_calls": [call]}},
            {"type": "tool", "content": result, "tool_call_id": "1"},
            {"type": "AIMessageChunk", "content": [answer]},
        ],
        [["human", question], ["ai", answer]],
        [  # Gemini and Bedrock
            {"role": "user", "content": [{"text": question}]},
            {"role": "model", "content": [{"functionCall": {"name": "get", "args": arguments}}]},
            {"role": "user", "content": [{"toolResult": {"content": [{"json": {"a": result}}]}}]},
            {"role": "model", "content": [{"text": answer}]},
        ],
        [  # the AI SDK and Ollama
            {"role": "user", "content": question, "images": ["aGk="]},
            {
                "role": "assistant",
                "content": answer,
                "toolInvocations": [{"toolName": "get", "result": result}],
            },
        ],
    ]
    thread = random.choice(threads)
    return thread[: random.randint(1, len(thread))] if random.random() < 0.2 else thread


def make_row(random: Random) -> Any:
    """A row of a file: flat, an exchange or a thread; half of them have something odd in some places."""
    row: dict[str, Any] = {}
    values = make_case(random)
    values["context"] = [make_document(random) for _ in range(random.randint(0, 3))]
    if random.random() < 0.2:
        values["context"] = make_document(random)
    for field in ("query", "response", "conversation", "reference"):
        if random.random() < 0.15:
            values[field] = make_thread(random)
    for field, value in values.items():
        names = random.sample(ALIASES[field], random.choice([1, 1, 1, 2])) if field in ALIASES else [field]
        for name in names:
            if random.random() < 0.8:
                row[name] = value if random.random() < 0.9 else make_text(random, 1)
    shape = random.randint(0, 5)
    if shape == 0:
        row = {"messages": make_thread(random), **dict(list(row.items())[: random.randint(0, 3)])}
    if shape in {1, 2}:
        sides: dict[str, Any] = {"inputs": {}, "outputs": {}, "reference_outputs": {}}
        for name, value in row.items():
            sides[random.choice([*sides])][name] = value
        for side in sides:
            if random.random() < 0.3:
                sides[side] = random.choice([make_text(random), {"messages": make_thread(random)}, None])
        row = sides
    if random.random() < 0.3:
        row["metadata"] = random.choice(
            [{"split": "test", "query": "a"}, "a", {"context": [make_document(random)]}]
        )
    if random.random() < 0.5:
        return row
    for _ in range(random.randint(1, 3)):
        break_value(random, row)
    return row if random.random() < 0.98 else deepcopy(random.choice(ODD))


def keys_of(container: Any) -> list[Any]:
    """The keys of a mapping, or the indices of a list."""
    if hasattr(container, "keys"):
        return [*container]
    return [*range(len(container))]


def break_value(random: Random, row: dict[str, Any]) -> None:
    """Put something odd into a place of a row, misspell a key or leave one out."""
    container: Any = row
    while True:
        keys = keys_of(container)
        if not keys:
            return
        key = random.choice(keys)
        if not isinstance(container[key], list | dict) or random.random() < 0.3:
            break
        container = container[key]
    action = random.randint(0, 3)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(key, str):
        container[random.choice([*MISSPELT, key.upper(), "x", f" {key}"])] = container.pop(key)
    else:
        container[key] = random.choice([*deepcopy(ODD), make_document(random), make_thread(random)])
