"""The questions of prompt files: a fault is named with file and key; own prompts without any give one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from decision_requests import inquiry_about

from groundjudge import Choices, PromptError, Scale, load_rubric, names
from groundjudge.decisions.questionnaire import Questionnaire, questionnaire_of
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import Plain, Scorecard

EXAMPLES = Path(__file__).parents[2] / "examples"

LEVELS = "{1: poor, 2: fair, 3: none, 4: good}"
SCALE = "reply: {format: plain}\nscale: {worst: 1, best: 4, integer: true}"
HEAD = f"{SCALE}\nlevels: {LEVELS}\nnot_applicable: [3]"
OPTIONS = "{poor: It is poor., fair: It is fair., none: There is nothing., good: It is good.}"


def questions(ask: str, rules: str = "Judge `response`.") -> str:
    return f"questions:\n  rules: {rules}\n  ask:\n    - {ask}"


def question(id_: str = "verdict", type_: str = "choice", options: str = OPTIONS, more: str = "") -> str:
    return f"{{id: {id_}, type: {type_}, instructions: How good is `response`?, options: {options}{more}}}"


def write(tmp_path: Path, head: str) -> Path:
    file = tmp_path / "mine.prompty"
    file.write_text(f"---\n{head}\n---\nRate {{{{response}}}} from 1 to 4.", encoding="utf-8")
    return file


SENTENCE_HEAD = "reply: {format: scorecard}\nscale: {worst: 0, best: 10}"
PARTS_HEAD = "reply: {format: adjacent}\nscale: {worst: 1, best: 5}"
CHOICES_HEAD = 'reply: {format: plain}\nscale: {choices: {"yes": 1, "no": 0, unclear: null}}'
RANGE_HEAD = "reply: {format: plain}\nscale: {worst: 0, best: 100}\nlevels: {50: bad, 100: good}"

FAULTS: Mapping[str, tuple[str, str, str]] = {
    "an unknown key": (
        HEAD,
        "questions: {rule: x, ask: []}",
        r"questions\.(ask: Field required|rule: Extra inputs)",
    ),
    "an unknown key of a question": (
        HEAD,
        questions(question(more=", option: x")),
        r"questions\.ask\.0\.option: Extra inputs",
    ),
    "an unknown key of evidence": (
        SENTENCE_HEAD,
        questions(question("sentence", options="{0: a, 10: b}", more=", evidence: {instruction: x}")),
        r"questions\.ask\.0\.evidence\.instructions: Field required",
    ),
    "no ask": (HEAD, "questions: {rules: x}", r"questions\.ask: Field required"),
    "an ask that is no list": (HEAD, "questions: {ask: 1}", r"questions\.ask: "),
    "no question": (HEAD, "questions: {ask: []}", r"questions\.ask: the ids must be verdict, not none"),
    "no instructions": (
        HEAD,
        questions("{id: verdict, type: choice, options: {poor: a, good: b}}"),
        r"questions\.ask\.0\.instructions: Field required",
    ),
    "no options": (
        HEAD,
        questions("{id: verdict, type: choice, instructions: x}"),
        r"questions\.ask\.0\.options: Field required",
    ),
    "an unknown type": (
        HEAD,
        questions(question(type_="predicate")),
        r"questions\.ask\.0\.type: .*'choice' or 'score'",
    ),
    "long rules": (
        HEAD,
        questions(question(), rules="x" * 1501),
        r"questions\.rules: String should have at most 1500 characters",
    ),
    "one option": (
        HEAD,
        questions(question(options="{good: x}")),
        r"questions\.ask\.0\.options: .* at least 2 items .*, not 1",
    ),
    "eleven options": (
        RANGE_HEAD,
        questions(question(options="{{{}}}".format(", ".join(f"{n}: x" for n in range(11))))),
        r"questions\.ask\.0\.options: .* at most 10 items",
    ),
    "a blank description": (
        HEAD,
        questions(question(options='{poor: x, fair: " ", none: x, good: x}')),
        r"questions\.ask\.0\.options\.fair: String should have at least 1 character",
    ),
    "blank instructions": (
        HEAD,
        questions(f'{{id: verdict, type: choice, instructions: "", options: {OPTIONS}}}'),
        r"questions\.ask\.0\.instructions: String should have at least 1 character",
    ),
    "a placeholder": (
        HEAD,
        questions(question(), rules='"Judge {{response}}."'),
        r"rules: \{\{response\}\} is not filled in: name the field, as in `response`",
    ),
    "the number of a sentence elsewhere": (
        HEAD,
        questions(f'{{id: verdict, type: choice, instructions: "Sentence {{{{n}}}}?", options: {OPTIONS}}}'),
        r"questions\.ask\.0: only a question about each sentence, .* can have evidence or \{\{n\}\}",
    ),
    "a placeholder in a question about sentences": (
        SENTENCE_HEAD,
        questions(
            '{id: sentence, type: choice, instructions: "{{n}} of {{response}}?", options: {0: a, 10: b}}'
        ),
        r"questions\.ask\.0\.instructions: \{\{response\}\} is not filled in",
    ),
    "an unknown value": (
        HEAD,
        questions(question(options="{poor: x, great: x}")),
        r"ask\.verdict\.options\.great: it is not on the scale 1\.\.4 .*levels are poor, fair, none, good",
    ),
    "a value off the scale": (
        HEAD,
        questions(question(options="{poor: x, 5: x}")),
        r"options\.5: it is not on the scale",
    ),
    "half a value": (
        HEAD,
        questions(question(options="{poor: x, 2.5: x}")),
        r"options\.2\.5: it is not on the scale",
    ),
    "a value that is no number": (
        RANGE_HEAD,
        questions(question(options="{nan: x, good: x}")),
        r"options\.nan: it is not on",
    ),
    "an unknown label": (
        CHOICES_HEAD,
        questions(question(options='{"yes": x, maybe: x}')),
        r"options\.maybe: it is not on the scale yes",
    ),
    "no claim where nothing is a sentence": (
        HEAD,
        questions(question(options="{no_claim: x, good: x}")),
        r"options\.no_claim: it is not on",
    ),
    "a missing level": (
        HEAD,
        questions(question(options="{poor: x, fair: x, good: x}")),
        r"options: there is no option for none",
    ),
    "a missing label": (
        CHOICES_HEAD,
        questions(question(options='{"yes": x, "no": x}')),
        r"options: there is no option for unclear",
    ),
    "a missing number": (
        "reply: {format: plain}\nscale: {worst: 1, best: 3, integer: true}",
        questions(question(options="{1: x, 3: x}")),
        r"there is no option for 2",
    ),
    "a value twice": (
        HEAD,
        questions(question(options="{poor: x, 1: x, fair: x, none: x, good: x}")),
        r"two options have the same value",
    ),
    "one score only": (
        "reply: {format: plain}\nscale: {choices: {a: 1, b: 0, c: null}}",
        questions(question(options="{a: x, c: x}")),
        r"there is no option for b",
    ),
    "values of one score": (
        SENTENCE_HEAD,
        questions(question("sentence", options="{no_claim: x, 10: x}")),
        r"at least two options must have different scores",
    ),
    "a score with a level without one": (
        HEAD,
        questions(question(type_="score")),
        r"must have a score: make it a `type: choice`",
    ),
    "a score from the best": (
        RANGE_HEAD,
        questions(question(type_="score", options="{good: x, bad: x}")),
        r"list the levels of a `type: score` from worst to best",
    ),
    "another id": (HEAD, questions(question("score")), r"questions\.ask: the ids must be verdict, not score"),
    "two questions": (
        HEAD,
        f"{questions(question())}\n    - {question()}",
        r"must be verdict, not verdict, verdict",
    ),
    "a part without a question": (
        PARTS_HEAD,
        questions(question("recall", "score", "{1: x, 5: x}")),
        r"must be recall, precision, not recall",
    ),
    "a verdict for parts": (
        PARTS_HEAD,
        questions(question(options="{1: x, 5: x}")),
        r"must be recall, precision, not verdict",
    ),
    "a verdict for sentences": (
        SENTENCE_HEAD,
        questions(question(options="{0: x, 10: x}")),
        r"must be sentence, not verdict",
    ),
    "evidence for one value": (
        RANGE_HEAD,
        questions(question(options="{bad: x, good: x}", more=", evidence: {instructions: x, none: y}")),
        r"questions\.ask\.0: only a question about each sentence",
    ),
    "evidence without none": (
        SENTENCE_HEAD,
        questions(question("sentence", options="{0: x, 10: x}", more=", evidence: {instructions: x}")),
        r"evidence\.none: Field required",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_file_and_key(name: str, tmp_path: Path) -> None:
    head, section, message = FAULTS[name]
    with pytest.raises(PromptError, match=rf"mine\.prompty: .*{message}") as raised:
        inquiry_about(load_rubric(write(tmp_path, f"{head}\n{section}")), {"response": "Hi."})
    assert raised.value.code == "bad_questions"


def questionnaire(tmp_path: Path, head: str) -> Questionnaire:
    return questionnaire_of(load_rubric(write(tmp_path, head)))


def test_labels_of_levels_are_their_numbers(tmp_path: Path) -> None:
    (judge_question,) = questionnaire(tmp_path, f"{HEAD}\n{questions(question())}").questions
    facts = [(option.name, option.value, option.label, option.score) for option in judge_question.options]
    assert facts == [
        ("1", 1.0, "poor", 0.0),
        ("2", 2.0, "fair", pytest.approx(1 / 3)),
        ("3", 3.0, "none", None),
        ("4", 4.0, "good", 1.0),
    ]


def test_a_level_that_is_a_range_is_its_middle_and_numbers_may_stand_in_it(tmp_path: Path) -> None:
    options = "{bad: x, 60: y, good: z}"
    (judge_question,) = questionnaire(
        tmp_path, f"{RANGE_HEAD}\n{questions(question(options=options))}"
    ).questions
    facts = [(option.name, option.value, option.label) for option in judge_question.options]
    assert facts == [("bad", 25.0, "bad"), ("60", 60.0, "good"), ("good", 75.0, "good")]


def test_options_get_letters_and_levels_their_index(tmp_path: Path) -> None:
    rubric = load_rubric(write(tmp_path, f"{HEAD}\n{questions(question())}"))
    (asked,) = inquiry_about(rubric, {"response": "Hi."}).questions
    assert [option.key for option in asked.options] == ["A", "B", "C", "D"]
    asked = inquiry_about(
        load_rubric("confidence_grounding"), {"query": "?", "context": ["x"], "response": "y"}
    ).questions[0]
    assert (asked.type, [option.key for option in asked.options]) == ("score", ["0", "1", "2", "3", "4"])


def test_each_sentence_has_a_question_with_its_number_and_one_of_evidence() -> None:
    case = {
        "context": ["It opens at nine. Dogs may enter."],
        "response": "It opens at nine. Cats may enter. Hi.",
    }
    asked = inquiry_about(load_rubric("statement_groundedness"), case).questions
    assert [entry.id for entry in asked] == ["s1", "s2", "s3", "e1", "e2", "e3", "whole"]
    assert "sentence 2 of `response`" in asked[1].instructions
    assert "Sentence 2" in str(asked[1].options[0].description)
    assert [option.key for option in asked[4].options] == ["0", "1", "2"]
    assert "{{" not in str(asked)


def test_without_a_source_nothing_is_asked_about_evidence() -> None:
    rubric = load_rubric("statement_groundedness", may_be_empty=["context"])
    asked = inquiry_about(rubric, {"context": [], "response": "Hi. It opens at nine."}).questions
    assert [entry.id for entry in asked] == ["s1", "s2", "whole"]


@pytest.mark.parametrize("name", names())
def test_the_librarys_judges_have_questions_that_fit_and_no_word_of_the_prompt(name: str) -> None:
    rubric = load_rubric(name)
    assert 0 < len(questionnaire_of(rubric).rules) <= 1500
    fields = ("query", "context", "reference", "agent_name", "profile", "conversation", "response")
    text = str(inquiry_about(rubric, dict.fromkeys(fields, "x.")).questions)
    for word in ("S2", "Reasoning", "JSON", "data-"):
        assert word not in text


DERIVED: Mapping[str, tuple[str, list[str], list[float | None]]] = {
    "final_verdict": ("choice", ["Consistent", "Inconsistent"], [1, 0]),
    "pass_fail": ("choice", ["PASS", "FAIL"], [1, 0]),
    "risk": ("choice", ["yes", "no"], [0, 1]),
    "yes_no": ("choice", ["yes", "no"], [1, 0]),
    "rubric_grader": (
        "score",
        ["1 (useless)", "2 (poor)", "3 (fair)", "4 (good)", "5 (excellent)"],
        [0, 0.25, 0.5, 0.75, 1],
    ),
}


def test_all_examples_are_in_the_table() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.prompty")} == {*DERIVED}


@pytest.mark.parametrize("name", DERIVED)
def test_a_prompt_without_questions_gives_one(name: str) -> None:
    type_, descriptions, scores = DERIVED[name]
    rubric = load_rubric(EXAMPLES / f"{name}.prompty")
    assert rubric.prompt.front_matter.questions is None
    (judge_question,) = questionnaire_of(rubric).questions
    assert (judge_question.id, judge_question.type) == ("verdict", type_)
    assert [option.description for option in judge_question.options] == descriptions
    assert [option.score for option in judge_question.options] == scores
    body = (EXAMPLES / f"{name}.prompty").read_text(encoding="utf-8").partition("\n---\n")[2]
    for prompt_input in rubric.inputs:
        assert f"`{prompt_input.name}`" in judge_question.instructions
        body = body.replace(f"{{{{{prompt_input.name}}}}}", f"`{prompt_input.name}`")
    for line in judge_question.instructions.split("\n"):
        assert line in body


def test_an_alias_is_a_reference_to_its_field(tmp_path: Path) -> None:
    file = tmp_path / "mine.prompty"
    file.write_text(
        "---\nreply: {format: plain}\nscale: {choices: {a: 1, b: 0}}\n---\n{{question}}: {{answer}}"
    )
    instructions = questionnaire_of(load_rubric(file)).questions[0].instructions
    assert instructions == "`query`: `response`"


NOT_DERIVED: Mapping[str, tuple[str, str]] = {
    "sentences": (SENTENCE_HEAD, r"add `questions:` .*a question for each of `sentence`"),
    "parts": (PARTS_HEAD, r"add `questions:` .*a question for each of `recall`, `precision`"),
    "any number": (
        "reply: {format: plain}\nscale: {worst: 0, best: 1}",
        r"at most 10 labels, or whole numbers with a label",
    ),
    "numbers without labels": (
        "reply: {format: plain}\nscale: {worst: 1, best: 5, integer: true}",
        r"whole numbers with a label",
    ),
    "a label for several numbers": (
        "reply: {format: plain}\nscale: {worst: 1, best: 4, integer: true}\nlevels: {2: bad, 4: good}",
        r"whole numbers with a label each",
    ),
    "a number without a label": (
        "reply: {format: plain}\nscale: {worst: 1, best: 3, integer: true}\nlevels: {1: bad, 3: good}",
        r"whole numbers with a label each",
    ),
    "a label twice": (
        "reply: {format: plain}\nscale: {worst: 1, best: 2, integer: true}\nlevels: {1: bad, 2: bad}",
        r"whole numbers with a label each",
    ),
    "eleven labels": (
        "reply: {{format: plain}}\nscale: {{choices: {{{}}}}}".format(
            ", ".join(f"l{n}: {n / 10}" for n in range(11))
        ),
        r"at most 10 labels",
    ),
}


@pytest.mark.parametrize("name", NOT_DERIVED)
def test_what_gives_no_question_is_refused_with_what_to_add(name: str, tmp_path: Path) -> None:
    head, message = NOT_DERIVED[name]
    rubric = load_rubric(write(tmp_path, head))  # a text model can be asked
    with pytest.raises(PromptError, match=rf"mine\.prompty: .*{message}") as raised:
        inquiry_about(rubric, {"response": "Hi."})
    assert raised.value.code == "no_questions"


def test_a_value_without_a_score_makes_a_choice(tmp_path: Path) -> None:
    (judge_question,) = questionnaire(tmp_path, HEAD).questions
    assert judge_question.type == "choice"
    assert [option.score is None for option in judge_question.options] == [False, False, True, False]


def test_levels_stand_from_the_worst_where_the_larger_number_is_worse(tmp_path: Path) -> None:
    scale = "reply: {format: plain}\nscale: {worst: 3, best: 1, integer: true}"
    head = f"{scale}\nlevels: {{1: good, 2: fair, 3: bad}}"
    (judge_question,) = questionnaire(tmp_path, head).questions
    assert [option.description for option in judge_question.options] == [
        "3 (bad)",
        "2 (fair)",
        "1 (good)",
    ]


def test_another_scale_in_code_leaves_the_questions_of_text_models_alone(tmp_path: Path) -> None:
    file = write(tmp_path, f"{HEAD}\n{questions(question())}")
    rubric = load_rubric(file, scale=Choices({"a": 1, "b": 0}), levels={}, not_applicable=[])
    assert rubric.ask({"response": "Hi."}).messages
    with pytest.raises(PromptError, match=r"options\.poor: it is not on the scale a \(1\), b \(0\)"):
        inquiry_about(rubric, {"response": "Hi."})


def test_another_format_in_code_needs_questions_for_its_parts() -> None:
    rubric = load_rubric(
        "groundedness", reply=Scorecard(), scale=Scale(worst=0, best=10), levels={}, not_applicable=[]
    )
    with pytest.raises(PromptError, match="the ids must be sentence, not verdict"):
        _ = questionnaire_of(rubric)
    (judge_question,) = questionnaire_of(load_rubric("groundedness", reply=Plain())).questions
    (own_question,) = questionnaire_of(load_rubric("groundedness")).questions
    assert judge_question.options == own_question.options


def test_text_and_decision_models_are_shown_the_same_rules() -> None:
    rules, questions = "A fact is what can be checked.", "{rules: A fact is what can be checked., ask: []}"
    text = f"---\nquestions: {questions}\n---\nsystem:\n{{{{rules}}}} Judge.\nuser:\n{{{{response}}}}"
    assert Prompt.parse(text).sections[0] == ("system", (f"{rules} Judge.",))
    for name in names():
        if name != "statement_groundedness":  # whose body says the same at more length
            rubric = load_rubric(name)
            assert questionnaire_of(rubric).rules in rubric.prompt.text


def test_an_input_of_ones_own_may_be_called_rules() -> None:
    text = "---\ninputs: [{name: rules}, {name: response}]\n---\n{{rules}} {{response}}"
    assert [prompt_input.name for prompt_input in Prompt.parse(text).inputs] == ["rules", "response"]
