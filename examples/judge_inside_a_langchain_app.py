"""A RAG application that judges its own answers and falls back to its sources if one is not grounded.

    python examples/judge_inside_a_langchain_app.py

It needs no network. The offline judge needs no key: it passes a statement only if one sentence of the source
says the same thing in nearly the same words, and leaves everything else undecided. Two comments mark the
lines to change for language models.
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

JUDGE = "offline"  # or ChatOpenAI(model="gpt-6-luna"), or any other chat model of LangChain
LLM = FakeListChatModel(  # likewise
    responses=[
        "The library opens at 9:00 on weekdays.",
        "A book is lent for six weeks. You may renew it twice.",
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
    """Retrieves the two documents that share the most words with the question, in place of a vector store."""

    def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
        terms = words(query)
        return sorted(LEAFLET, key=lambda document: -len(terms & words(document.page_content)))[:2]


def words(text: str) -> set[str]:
    """The words of a text that have four letters or more, in lower case."""
    return set(re.findall(r"\w{4,}", text.lower()))


def application() -> Runnable[str, str]:
    """The whole application: retrieve, answer, judge, and choose what to show."""
    # 1. An ordinary RAG chain, with the keys that a judge reads: query, context and response.
    found: Runnable[str, Any] = RunnableParallel(query=RunnablePassthrough[str](), context=Leaflet())
    answered = found.assign(response=PROMPT | LLM | StrOutputParser())

    # 2. The judge is one more step. If its model fails or its reply cannot be read, it raises an error, which
    #    carries a verdict with the status "error" and without a score.
    judge = runnable("groundedness", model=JUDGE).with_fallbacks(
        [RunnableLambda(verdict_of_error)],
        exceptions_to_handle=(ModelError, ReplyError),
        exception_key="error",
    )
    judged = answered.assign(verdict=judge)

    # 3. Show an answer only if it passed. One without any claim, such as a greeting, passes too.
    return judged | RunnableBranch((passed, RunnableLambda(show_answer)), RunnableLambda(show_sources))


def verdict_of_error(row: Any) -> Verdict:  # noqa: ANN401  the input of the judge, of any type
    """Return the verdict of the error that LangChain has added to the judge's input."""
    verdict: Verdict = row["error"].verdict
    return verdict


def passed(row: dict[str, Any]) -> bool:
    """Whether the answer reached the threshold, which runnable(threshold=...) sets; 0.5 by default."""
    return row["verdict"].passed is True


def show_answer(row: dict[str, Any]) -> str:
    """Show the answer."""
    explain(row["response"], row["verdict"])
    return str(row["response"])


def show_sources(row: dict[str, Any]) -> str:
    """Show the retrieved documents instead of an answer that may be wrong."""
    explain(row["response"], row["verdict"])
    quoted = "\n".join(f'  {found.metadata["title"]}: "{found.page_content}"' for found in row["context"])
    return f"I am not sure. This is what I have found:\n{quoted}"


def explain(response: str, verdict: Verdict) -> None:
    """Print the answer and its verdict; a real application would log them."""
    score = "no score" if verdict.score is None else f"score {verdict.score:.2f}"
    why = verdict.error.message if verdict.error else verdict.reason
    print(f"model: {response}")
    print(f"judge: {verdict.label or verdict.status}, {score}: {shorten(why, 80, placeholder=' ...')}")


def main() -> None:
    """Ask the questions and print what the user gets to see."""
    app = application()
    for question in QUESTIONS:
        print(f"\nuser:  {question}")
        print(f"app:   {app.invoke(question)}")


if __name__ == "__main__":
    main()
