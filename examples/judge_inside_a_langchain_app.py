"""Let a RAG application judge its own answers, and take another route when one is not grounded.

Run it as it stands: python examples/judge_inside_a_langchain_app.py
It needs no key and no network. Two comments say which lines to change for real models.
"""

from __future__ import annotations

import re
from textwrap import shorten
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)

from groundjudge import ModelError, ReplyError, Verdict
from groundjudge.adapters.langchain import runnable

JUDGE = "offline"  # a real model: ChatOpenAI(model="gpt-4o-mini"), or any other chat model of LangChain
LLM = FakeListChatModel(  # a real model: the same, here too
    responses=[
        "The library opens at 9:00 on weekdays.",
        "You may keep a book for six weeks, and students even for ten.",
        "You are welcome! Is there anything else that I can do for you?",
    ]
)
QUESTIONS = ("When does the library open?", "How long may I keep a book?", "Thank you!")
LEAFLET = (
    Document(
        "The library opens at 9:00 on weekdays and closes at 18:00.", metadata={"title": "Opening hours"}
    ),
    Document("A book is lent for four weeks. You may renew it twice.", metadata={"title": "Loans"}),
    Document("A book that comes back late costs 20 cents per day.", metadata={"title": "Fees"}),
)
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from these documents and from nothing else:\n{context}"), ("human", "{query}")]
)


class Leaflet(BaseRetriever):
    """Finds the two documents that share the most words with the question; yours asks a vector store."""

    def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
        asked = words(query)
        return sorted(LEAFLET, key=lambda document: -len(asked & words(document.page_content)))[:2]


def words(text: str) -> set[str]:
    """The words of a text, but for those of no more than three letters."""
    return set(re.findall(r"\w{4,}", text.lower()))


def application() -> Runnable[str, str]:
    """The whole application: retrieve, answer, judge, and choose what the user gets to see."""
    # 1. Usual RAG. The keys are those that a judge looks for: query, context and response.
    found: Runnable[str, Any] = RunnableParallel(query=RunnablePassthrough[str](), context=Leaflet())
    answered = found.assign(response=PROMPT | LLM | StrOutputParser())

    # 2. The judge is one more step. When it gives no verdict (its model is down, its reply cannot be read),
    #    it raises an error, which holds a verdict all the same: one with status "error" and without a score.
    judge = runnable("groundedness", llm=JUDGE).with_fallbacks(
        [RunnableLambda(verdict_of_the_error)],
        exceptions_to_handle=(ModelError, ReplyError),
        exception_key="error",
    )
    judged = answered.assign(verdict=judge)

    # 3. Only an answer that has passed is shown. One that states nothing, such as a greeting, passes too.
    return judged | RunnableBranch((passed, RunnableLambda(show_answer)), RunnableLambda(show_sources))


def verdict_of_the_error(row: Any) -> Verdict:  # noqa: ANN401  what the judge was given, and the error
    """Take the error's verdict for want of another; LangChain puts the error among the judge's inputs."""
    verdict: Verdict = row["error"].verdict
    return verdict


def passed(row: dict[str, Any]) -> bool:
    """Whether the answer was judged, and well (a score of 0.5; runnable(threshold=...) sets it)."""
    return row["verdict"].passed is True


def show_answer(row: dict[str, Any]) -> str:
    """The usual route."""
    explain(row["response"], row["verdict"])
    return str(row["response"])


def show_sources(row: dict[str, Any]) -> str:
    """The other route: no answer is better than a wrong one, so the documents speak for themselves."""
    explain(row["response"], row["verdict"])
    quoted = "\n".join(f'  {found.metadata["title"]}: "{found.page_content}"' for found in row["context"])
    return f"I am not sure. This is what I have found:\n{quoted}"


def explain(response: str, verdict: Verdict) -> None:
    """Print what the judge said; an application would rather log it."""
    score = "no score" if verdict.score is None else f"score {verdict.score:.2f}"
    why = verdict.error.message if verdict.error else verdict.reason
    print(f"model: {response}")
    print(f"judge: {verdict.label or verdict.status}, {score}: {shorten(why, 80, placeholder=' ...')}")


def main() -> None:
    """Ask the questions, and print what happens to each answer."""
    app = application()
    for question in QUESTIONS:
        print(f"\nuser:  {question}")
        print(f"app:   {app.invoke(question)}")


if __name__ == "__main__":
    main()
