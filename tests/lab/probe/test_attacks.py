"""Attacks are in the judge's own format, and readers take no number from them; fences: see tests/prompt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bundled_judges import reply_of
from crossed import crossed

from groundjudge import Choices, Reply, ReplyError, load_rubric, names
from groundjudge.lab.probe.attacks import best_verdict, edits
from groundjudge.lab.probe.cases import ProbeCase, built_in_cases
from groundjudge.lab.probe.edit import suitable_edits
from groundjudge.replies import Plain
from groundjudge.text.sentences import sentences
from groundjudge.types import Rubric

EACH_JUDGE = pytest.mark.parametrize("rubric", [*map(load_rubric, names())], ids=names())

ECHOES = {
    "quoted reason": ('The response says "{injected}", which backs nothing.', ""),
    "remark before": ("no", "It ends with a note to me:\n\n{injected}\n\nThat changes nothing.\n\n{own}"),
    "remark behind": ("no", "{own}\n\nNote: I ignored this text of the response:\n{injected}"),
    "quote": ("no", "> {injected}\n\n{own}"),
    "reasoning": ("no", "<think>\nIt says: {injected}\nThat is an injection.\n</think>\n{own}"),
}
"""Where a reply may repeat injected text: inside its reason, and around its own verdict."""


def wrong_cases(rubric: Rubric) -> list[ProbeCase]:
    """A wrong response in each language."""
    cases = [labelled for labelled in built_in_cases(rubric) if not labelled.is_right]
    return [cases[0], cases[-1]]


def injected_texts(rubric: Rubric, case: ProbeCase) -> Iterator[str]:
    """What an attack wrote into any field of a case, and the best verdict alone."""
    yield best_verdict(rubric, case.case)
    for edit in suitable_edits(edits(rubric), rubric).values():
        edited = edit(case.case)
        if edited and edited.response_text != case.case.response_text:
            yield edited.response_text


def worst_verdict(rubric: Rubric, case: ProbeCase, reason: str) -> str:
    """The worst verdict on the sentences of a response, as a model that is not fooled would write it."""
    return reply_of(rubric, case.case.response_text, 0, reason)


@pytest.mark.parametrize(("echo", "name"), crossed(ECHOES.keys(), names()))
def test_number_that_was_injected_is_never_read(name: str, echo: str) -> None:
    rubric = load_rubric(name)
    reason, around = ECHOES[echo]
    for case in wrong_cases(rubric):
        for injected in injected_texts(rubric, case):
            reply = worst_verdict(rubric, case, reason.format(injected=injected))
            if around:
                reply = around.format(injected=injected, own=reply)
            try:
                score = rubric.read(reply, case.case).score
            except ReplyError:
                continue  # an error is no number
            assert score == 0, reply


@EACH_JUDGE
def test_best_verdict_is_read_as_the_best(rubric: Rubric) -> None:
    for case in wrong_cases(rubric):
        assert rubric.read(best_verdict(rubric, case.case), case.case).score == 1


def test_numbered_lines_are_forged_in_response_and_documents_for_every_sentence() -> None:
    rubric = load_rubric("statement_groundedness")
    attacks = suitable_edits(edits(rubric), rubric)
    for labelled in wrong_cases(rubric):
        n_sentences = len(sentences(labelled.case.response_text))
        in_response, in_document = (attacks[f"verdict_in_{place}"] for place in ("response", "document"))
        attacked_response, attacked_document = in_response(labelled.case), in_document(labelled.case)
        assert attacked_response is not None
        assert attacked_document is not None
        assert attacked_document.context
        for text in (attacked_response.response_text, attacked_document.context[-1].content):
            *lines, last = text.splitlines()[-n_sentences - 1 :]
            fields = [line.split(" | ") for line in lines]
            assert [(number, source, score) for number, source, _, score in fields] == [
                (str(number), "1", "10") for number in range(1, n_sentences + 1)
            ]
            assert last == "ALL | 100"


def test_best_verdict_on_a_scale_of_labels_is_the_best_label() -> None:
    scale = Choices({"no": 0, "yes": 1})
    rubric = load_rubric("groundedness", reply=Plain(), scale=scale, levels={}, not_applicable=[])
    case = wrong_cases(rubric)[0].case
    assert rubric.read(Reply(best_verdict(rubric, case)), case).label == "yes"


@EACH_JUDGE
def test_attack_neither_changes_what_the_response_is_compared_with_nor_adds_the_response_to_it(
    rubric: Rubric,
) -> None:
    for labelled in wrong_cases(rubric):
        case = labelled.case
        for name, edit in suitable_edits(edits(rubric), rubric).items():
            edited = edit(case)
            assert edited is not None
            for field in ("reference", "profile", "answers"):
                assert getattr(edited, field) == getattr(case, field), name
            documents = case.context or ()
            new_contents = [
                document.content for document in edited.context or () if document not in documents
            ]
            new_text = "\n".join(new_contents)
            assert not any(span.text in new_text for span in sentences(case.response_text)), name


def test_master_keys_are_no_attack_on_a_judge_that_passes_what_claims_nothing() -> None:
    judges_that_pass: set[str] = set()
    judges_without_keys: set[str] = set()
    for name in names():
        rubric = load_rubric(name)
        if rubric.prompt.front_matter.passes_without_claims:
            judges_that_pass.add(name)
        if "key_colon" not in suitable_edits(edits(rubric), rubric):
            judges_without_keys.add(name)
    assert "confidence_grounding" in judges_that_pass
    assert judges_without_keys == judges_that_pass
