"""What a judge may leave out when it copies sentences (marks of lists, fences, citations), and what not."""

from __future__ import annotations

import pytest
from read_replies import block, outcome

ITEMS = ("Unplug the router.", "Wait for two minutes.")
LIST_MARKS = {
    "hyphen": ("-", "-"),
    "asterisk": ("*", "*"),
    "plus sign": ("+", "+"),
    "round bullet": ("•", "•"),
    "letter o as a bullet": ("o", "o"),
    "number and point": ("1.", "2."),
    "number and bracket": ("1)", "2)"),
    "number in brackets": ("(1)", "(2)"),
    "number and colon": ("1:", "2:"),
    "number and dash": ("1 -", "2 -"),
    "number and long dash": ("1 –", "2 –"),
    "number with an escaped point": ("1\\.", "2\\."),
    "number in bold": ("**1.**", "**2.**"),
    "number behind a bullet": ("- 1.", "- 2."),
    "number of a heading": ("### 1.", "### 2."),
    "number in a quotation": ("> 1.", "> 2."),
    "two digits": ("10.", "11."),
    "three digits": ("100.", "101."),
    "two numbers": ("1.1", "1.2"),
    "two numbers and a point": ("1.1.", "1.2."),
    "three numbers": ("2.3.1", "2.3.2"),
    "number and letter": ("1a.", "1b."),
    "number, point and letter": ("1.a.", "1.b."),
    "small letter and point": ("a.", "b."),
    "small letter and bracket": ("a)", "b)"),
    "small letter in brackets": ("(a)", "(b)"),
    "capital and point": ("A.", "B."),
    "capital and bracket": ("A)", "B)"),
    "letter and number": ("Q1.", "Q2."),
    "Cyrillic letter": ("а)", "б)"),
    "small Roman number and point": ("i.", "ii."),
    "small Roman number and bracket": ("ii)", "iii)"),
    "Roman number in brackets": ("(iv)", "(v)"),
    "large Roman number": ("VIII.", "IX."),
    "open box": ("- [ ]", "- [ ]"),
    "ticked box": ("- [x]", "- [X]"),
    "ticked box of a numbered list": ("1. [x]", "2. [ ]"),
    "sign for a box": ("☑", "☐"),
    "full-width number": ("１．", "２．"),
    "full-width brackets": ("（1）", "（2）"),
    "Arabic number": ("١.", "٢."),
    "Persian number": ("۱.", "۲."),
    "Devanagari number": ("१.", "२."),
    "Chinese number": ("一、", "二、"),
    "Chinese number in brackets": ("（一）", "（二）"),
    "number and ideographic comma": ("1、", "2、"),
    "number in a circle": ("①", "②"),
    "keycap": ("1️⃣", "2️⃣"),
    "step": ("Step 1:", "Step 2:"),
    "step in bold": ("**Step 1:**", "**Step 2:**"),
    "step as a heading": ("## Step 1:", "## Step 2:"),
    "step and dash": ("Step 1 –", "Step 2 –"),
    "step in German": ("Schritt 1:", "Schritt 2:"),
    "step in French": ("Étape 1 :", "Étape 2 :"),
    "step in Chinese": ("步骤1：", "步骤2："),
    "ordinal step in Chinese": ("第一步：", "第二步："),
    "number sign": ("#1:", "#2:"),
    "number in square brackets": ("[1]", "[2]"),
    "number and entity": ("1.&nbsp;", "2.&nbsp;"),
}


def rated(response: str, copies: tuple[str, ...]) -> object:
    """The outcome of a scorecard with a block for each copy."""
    blocks = [block("8", "q", copied) for copied in copies]
    return outcome("scorecard", "\n\n".join(blocks), response=response)


def numbered(mark: str, sentence: str) -> str:
    return f"{mark}{'' if mark[-1] in '、．；' else ' '}{sentence}"


@pytest.mark.parametrize("mark", LIST_MARKS)
def test_list_mark_may_be_copied_or_left_out(mark: str) -> None:
    first, second = map(numbered, LIST_MARKS[mark], ITEMS)
    response = f"Do this:\n{first}\n{second}"
    for copies in (
        ("Do this:", *ITEMS),
        ("Do this:", first, second),
        ("Do this:", ITEMS[0], second),
        (f"Do this: {first} {second}",),
        (" ".join(("Do this:", *ITEMS)),),
    ):
        assert rated(response, copies) == [8] * len(copies), copies


@pytest.mark.parametrize("mark", LIST_MARKS)
def test_list_mark_hides_no_item(mark: str) -> None:
    first, second = map(numbered, LIST_MARKS[mark], ITEMS)
    response = f"Do this:\n{first}\n{second}"
    for copies in (
        ("Do this:", ITEMS[0]),
        ("Do this:", second),
        ("Do this:", first, second.removesuffix(ITEMS[1])),
        ("Do this:", first, numbered(LIST_MARKS[mark][1], "Wait for ten minutes.")),
        (*ITEMS,),
    ):
        assert rated(response, copies) == "unrated_sentences", copies


WHOLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "fence line copied": ("Run:\n```\nmake all\n```\nDone.", ("Run:", "``` make all ```", "Done.")),
    "fence line left out": ("Run:\n```\nmake all\n```\nDone.", ("Run:", "make all", "Done.")),
    "fence with its language copied": (
        "Run:\n```python\nprint(1)\n```\nDone.",
        ("Run:", "```python print(1) ```", "Done."),
    ),
    "fence with its language left out": (
        "Run:\n```python\nprint(1)\n```\nDone.",
        ("Run:", "print(1)", "Done."),
    ),
    "fence of which the word remains": ("Run:\n```bash\nmake all\n```", ("Run:", "bash make all")),
    "lines of a fence copied": ("Run:\n```bash\nmake all\n```", ("Run:", "```bash make all ```")),
    "fence with blanks": ("Run:\n```  bash \nmake all\n```  \nDone.", ("Run:", "make all", "Done.")),
    "two fences with blanks": (
        "```  \nmake all\n```  \nThen:\n``` sh\nmake test\n``` ",
        ("make all", "Then:", "make test"),
    ),
    "fence with attributes": ('Run:\n```py title="a.py" {3}\nx = y\n```', ("Run:", "x = y")),
    "fence of tildes": ("Run:\n~~~sh\nmake all\n~~~", ("Run:", "make all")),
    "fence inside a list": ("Run:\n- this:\n  ```sh\n  make all\n  ```", ("Run:", "this:", "make all")),
    "fence that does not end": ("Run:\n```sh\nmake all", ("Run:", "make all")),
    "lines of code in blocks of their own": ("```c\nint a;\nint b;\n```", ("int a;", "int b;")),
    "entity decoded": ("Ask Smith &amp; Sons.", ("Ask Smith & Sons.",)),
    "entity copied": ("Ask Smith &amp; Sons.", ("Ask Smith &amp; Sons.",)),
    "entity written where the response has the sign": ("Ask Smith & Sons.", ("Ask Smith &amp; Sons.",)),
    "blank as an entity": ("It is 5&nbsp;km away.", ("It is 5 km away.",)),
    "blank as an entity copied": ("It is 5&nbsp;km away.", ("It is 5&nbsp;km away.",)),
    "apostrophe as an entity": ("It&#39;s open.", ("It's open.",)),
    "apostrophe as a hexadecimal entity": ("It&#x27;s open.", ("It's open.",)),
    "comparison as an entity": ("Keep x &lt; 5.", ("Keep x < 5.",)),
    "tag as entities": ("It is &lt;b&gt;open&lt;/b&gt;.", ("It is open.",)),
    "quotation marks as entities": ("He said &quot;no&quot;.", ('He said "no".',)),
    "dash as an entity": ("Open Monday &ndash; Friday.", ("Open Monday – Friday.",)),
    "accent as an entity": ("The caf&eacute; is open.", ("The café is open.",)),
    "image left out": ("It is high.\n![The tower](tower.png)\nIt is old.", ("It is high.", "It is old.")),
    "image copied": (
        "It is high.\n![The tower](tower.png)\nIt is old.",
        ("It is high.", "![The tower](tower.png) It is old."),
    ),
    "image of which the text remains": (
        "It is high.\n![The tower](tower.png)",
        ("It is high. The tower",),
    ),
    "image with a title": ('It is high. ![Tower](t.png "A tower") It is old.', ("It is high.", "It is old.")),
    "image with a reference": ("It is high. ![Tower][fig2] It is old.", ("It is high.", "It is old.")),
    "image inside of a sentence": ("The ![icon](i.png) button opens it.", ("The button opens it.",)),
    "image in HTML": ('It is high. <img src="t.png" alt="Tower">', ("It is high.",)),
    "comment left out": ("It is high. <!-- check this --> It is old.", ("It is high.", "It is old.")),
    "comment copied": ("It is high. <!-- check this -->", ("It is high. <!-- check this -->",)),
    "comment of several lines": (
        "It is high.\n<!--\nnot\nyet\n-->\nIt is old.",
        ("It is high.", "It is old."),
    ),
    "comment inside of a sentence": ("It is <!-- very --> high.", ("It is high.",)),
    "empty comment": ("It is high.<!----> It is old.", ("It is high.", "It is old.")),
    "citation of a number": ("It has two towers [1].", ("It has two towers.",)),
    "citation of two numbers": ("It has two towers [1, 2].", ("It has two towers.",)),
    "citation of a range": ("It has two towers [3-5].", ("It has two towers.",)),
    "citation of a range with a dash": ("It has two towers [3–5].", ("It has two towers.",)),
    "citation of a range copied with a hyphen": ("It has two towers [3–5].", ("It has two towers [3-5].",)),
    "citation of three digits": ("It has two towers [128].", ("It has two towers.",)),
    "citation of a doc": ("It has two towers [doc 1].", ("It has two towers.",)),
    "citation of a doc without a blank": ("It has two towers [doc1][doc2].", ("It has two towers.",)),
    "citation of a document": ("It has two towers [Document 2].", ("It has two towers.",)),
    "citation of two documents": ("It has two towers [Doc 1, Doc 2].", ("It has two towers.",)),
    "citation of a source with a colon": ("It has two towers [source: 3].", ("It has two towers.",)),
    "citation of a passage": ("It has two towers (passage 3).", ("It has two towers.",)),
    "citation of a search result": ("It has two towers [web:1][web:12].", ("It has two towers.",)),
    "citation of a letter and a number": ("It has two towers [S1].", ("It has two towers.",)),
    "citation in Chinese brackets": ("It has two towers【4:0†source】.", ("It has two towers.",)),
    "citation in Chinese brackets copied": (
        "It has two towers【4:0†source】.",
        ("It has two towers【4:0†source】.",),
    ),
    "citation with a dagger": ("It has two towers [12†L3-L9].", ("It has two towers.",)),
    "citation of a footnote": ("It has two towers [^1].", ("It has two towers.",)),
    "citation of a named footnote": ("It has two towers.[^note2]", ("It has two towers.",)),
    "citation with a link": ("It has two towers [1](https://x.org/a).", ("It has two towers.",)),
    "citation in two brackets": ("It has two towers [[1]](https://x.org/a).", ("It has two towers.",)),
    "citation as a raised number": ("It has two towers¹.", ("It has two towers.",)),
    "citation as a raised number copied": ("It has two towers¹.", ("It has two towers¹.",)),
    "citation as raised numbers behind the point": (
        "It has two towers.¹² It is old.³",
        ("It has two towers.", "It is old."),
    ),
    "citation as a raised tag": ("It has two towers<sup>1</sup>.", ("It has two towers.",)),
    "citation as a raised tag in brackets": ("It has two towers.<sup>[2]</sup>", ("It has two towers.",)),
    "citation in front of its sentence": ("[1] It has two towers.", ("It has two towers.",)),
    "list number of which the digit remains": (
        "1) It is old.\n2) It is high.",
        ("1 It is old.", "It is high."),
    ),
    "area with a raised number": ("It has 50 m² in all.", ("It has 50 m² in all.",)),
    "area with a number": ("It has 50 m² in all.", ("It has 50 m2 in all.",)),
    "definition of a link left out": (
        "See [the map][1].\n\n[1]: https://x.org/map",
        ("See the map.",),
    ),
    "tags of any name": ('<div class="x"><h2>Hours</h2>\n<p>At nine.</p></div>', ("Hours", "At nine.")),
    "table with its frame": (
        "| Day | Hour |\n|---|:-:|\n| Monday | 9 |",
        ("| Day | Hour |", "| Monday | 9 |"),
    ),
    "table without its frame": ("| Day | Hour |\n|---|---|\n| Monday | 9 |", ("Day Hour", "Monday 9")),
    "underlined heading": (
        "Hours\n=====\nAt nine.\n\nFees\n----\nNone.",
        ("Hours", "At nine.", "Fees", "None."),
    ),
    "list on one line": (
        "Bring: 1. your ID card. 2. two photos.",
        ("Bring:", "your ID card.", "two photos."),
    ),
    "list on one line in brackets": (
        "Bring (1) your ID card, (2) two photos.",
        ("Bring", "your ID card,", "two photos."),
    ),
    "number on a line of its own": (
        "Bring:\n1.\nyour ID card\n2.\ntwo photos",
        ("Bring:", "your ID card", "two photos"),
    ),
    "list of numbers": ("Results:\n1. 15\n2. 20", ("Results:", "15", "20")),
    "equal numbers as mark and text": ("Rounds:\n1. 1 apple\n2. 2 pears", ("Rounds:", "1 apple", "2 pears")),
    "list that the judge numbers": ("It is old. It is high.", ("1. It is old.", "2. It is high.")),
    "list with other numbers": ("- It is old.\n- It is high.", ("1) It is old.", "2) It is high.")),
    "number of a section that is text": (
        "It is a large city.\n1.1 million people live there.",
        ("It is a large city.", "1.1 million people live there."),
    ),
    "number inside of a line that is text": (
        "It is large. 1.1 million people live there.",
        ("It is large.", "1.1 million people live there."),
    ),
    "capital that is text": ("A. Lincoln was elected.\nHe won.", ("A. Lincoln was elected.", "He won.")),
    "hour that is text": ("a. m. means before noon.", ("a. m. means before noon.",)),
    "step that is text": ("Step 1: unplug the router.", ("Step 1: unplug the router.",)),
    "answer of a number": ("How many towers?\n2.", ("How many towers?", "2.")),
    "link of a reference": ("See [the page][home].", ("See the page [home].",)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_has_no_content_may_be_left_out(name: str) -> None:
    response, copies = WHOLE[name]
    assert rated(response, copies) == [8] * len(copies)


REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    "first of two words behind a cut": ("It opens at nine sharp.", ("It opens at...", "nine")),
    "raised number in a block of its own": ("It has two towers¹.", ("It has two towers.", "¹")),
    "sentence that begins like a section": (
        "It is a large city.\n1.1 million people.",
        ("It is a large city.",),
    ),
    "sentence that begins like a section, on one line": (
        "It is a large city. 1.1 million people.",
        ("It is a large city.",),
    ),
    "sentence of letters with points": ("It opens at nine.\na. m.", ("It opens at nine.",)),
    "step on a line": ("Do this.\nStep 1: unplug the router.", ("Do this.",)),
    "step on the same line": ("Do this. Step 1: unplug the router.", ("Do this.",)),
    "step without its text": ("Do this.\nStep 1: unplug the router.", ("Do this.", "Step 1:")),
    "initial of a name": ("He won.\nA. Lincoln lost.", ("He won.",)),
    "answer of a number and a point": ("How many towers?\n2.", ("How many towers?",)),
    "answer of a number on the same line": ("How many towers? 2.", ("How many towers?",)),
    "answer of a number before a sentence": (
        "How many towers? 2. They are old.",
        ("How many towers?", "They are old."),
    ),
    "answer of a number before a paragraph": (
        "How many?\n\n10.\n\nAll are old.",
        ("How many?", "All are old."),
    ),
    "answer of a letter": ("Which one is right?\nB.", ("Which one is right?",)),
    "answer of a letter in brackets": ("Which one is right?\n(B)", ("Which one is right?",)),
    "answer of a Roman number": ("Which Henry?\nVIII.", ("Which Henry?",)),
    "answer of a decimal number": ("How far in km?\n1.1", ("How far in km?",)),
    "answer of a step": ("Where is the fault?\nStep 3:", ("Where is the fault?",)),
    "year at the beginning of a line": ("History:\n1990: It was built.", ("History:", "It was built.")),
    "hour at the beginning of a line": ("Hours:\n9:00 Breakfast.", ("Hours:", "Breakfast.")),
    "amount at the beginning of a line": ("It is old.\n5 towers stand.", ("It is old.", "towers stand.")),
    "another section": (
        "Rules:\n1.1 Scope is wide.\n1.2 Terms.",
        ("Rules:", "1.3 Scope is wide.", "1.2 Terms."),
    ),
    "another amount that looks like a section": (
        "It is large.\n1.1 million people live there.",
        ("It is large.", "1.2 million people live there."),
    ),
    "two amounts exchanged": (
        "1.1 million live here.\n1.2 million live there.",
        ("1.2 million live here.", "1.1 million live there."),
    ),
    "another step": ("Step 1: unplug it.\nStep 2: wait.", ("Step 3: unplug it.", "Step 2: wait.")),
    "item copied as its number": ("Bring:\n1. your card\n2. two photos", ("Bring:", "your card", "2.")),
    "number that the response lacks": ("- It is 5 km.\n- It is old.", ("It is 6 km.", "It is old.")),
    "item that the response lacks": (
        "1. It is old.\n2. It is high.",
        ("It is old.", "It is high.", "3. It is red."),
    ),
    "line of code": ("Run:\n```sh\nmake all\nmake test\n```", ("Run:", "make all")),
    "first line of code": ("Run:\n```sh\nmake all\nmake test\n```", ("Run:", "make test")),
    "all of the code": ("Run:\n```sh\nmake all\n```\nDone.", ("Run:", "```sh ```", "Done.")),
    "another language": ("Run:\n```sh\nmake all\n```", ("Run:", "```python make all ```")),
    "text behind a fence": ("```sh\nmake all\n```\nIt takes an hour.", ("make all",)),
    "text in three backticks": ("Is it open? ```no```", ("Is it open?",)),
    "text in three backticks on a line of its own": ("Is it open?\n```no```", ("Is it open?",)),
    "another text in three backticks": ("Is it open? ```no```", ("Is it open?", "```yes```")),
    "text in backticks": ("Run `make`. Then `make test`.", ("Run `make`.",)),
    "entity that is another sign": ("Keep x &lt; 5.", ("Keep x > 5.",)),
    "entity as a sign of content": ("It costs 5 &euro;.", ("It costs 5 $.",)),
    "sentence behind an entity": ("It is open.&nbsp;It is free.", ("It is open.",)),
    "sentence behind an image": (
        "It is high.\n![Tower](t.png) It is old.",
        ("It is high.", "![Tower](t.png)"),
    ),
    "another image": ("It is high.\n![Tower](t.png)", ("It is high.", "![Bridge](b.png)")),
    "text of a link": ("It is high. [It is old](https://x.org).", ("It is high.",)),
    "text in square brackets": ("It is high. [It is old.]", ("It is high.",)),
    "sentence behind a comment": ("It is high. <!-- x --> It is old.", ("It is high.",)),
    "sentence behind a comment that does not end": ("It is high. <!-- x. It is old.", ("It is high.",)),
    "sentence between two comments": ("<!-- a --> It is old. <!-- b -->", ("<!-- a -->", "<!-- b -->")),
    "another comment": ("It is high. <!-- check -->", ("It is high.", "<!-- done -->")),
    "another range of citations": ("It has two towers [3-5].", ("It has two towers [3-6].",)),
    "another document": ("It has two towers [doc 1].", ("It has two towers [doc 2].",)),
    "another raised number": ("It has two towers¹.", ("It has two towers².",)),
    "sentence behind a citation": ("It has two towers [1]. It is old [2].", ("It has two towers [1].",)),
    "citation in the place of its sentence": ("It is high [1]. It is old [2].", ("It is high [1].", "[2]")),
    "remark in brackets": ("It is open [about 5 of 7 days].", ("It is open.",)),
    "number in round brackets": ("It was sold (1990).", ("It was sold.",)),
    "remark in Chinese brackets": ("门票免费【仅限周一】。", ("门票免费。",)),
    "area without its number": ("It has 50 m² in all.", ("It has 50 m in all.",)),
    "another power": ("It weighs 10³ tons.", ("It weighs 10² tons.",)),
    "power that is left out": ("It weighs 10³ tons.", ("It weighs 10 tons.",)),
    "row of a table": ("| Day | Hour |\n|---|---|\n| Monday | 9 |", ("Day Hour",)),
    "cell of a table": ("| Day | Hour |\n|---|---|\n| Monday | 9 |", ("Day Hour", "Monday")),
    "heading": ("## Hours\nIt opens at nine.", ("It opens at nine.",)),
    "heading with a number": ("## 1. Hours\nIt opens at nine.", ("It opens at nine.",)),
    "heading of a step": ("## Step 1\nUnplug it.", ("Unplug it.",)),
    "word in front of a colon": ("Note: it is old.", ("it is old.",)),
    "word and number in front of a sentence": ("Room 5. It is closed.", ("It is closed.",)),
    "yes in Korean": ("네. 열려 있습니다.", ("열려 있습니다.",)),
    "yes in Chinese": ("是. 开门。", ("开门。",)),
    "word that looks like a Roman number": ("Mix. Then bake it.", ("Then bake it.",)),
    "tag in the place of a text": ("It is <b>old</b>. <p>It is high.</p>", ("It is <b>old</b>.", "<p></p>")),
}


NEEDS_NO_BLOCK: dict[str, tuple[str, tuple[str, ...]]] = {
    "number of a list": ("Bring:\n1. your card\n2. two photos", ("Bring:", "your card", "2.", "two photos")),
    "number of a list without its point": ("Bring:\n1. a card\n2. photos", ("Bring:", "card", "photos", "2")),
    "number of a list in an exact copy": (
        "Look. 1. It is so. 2. Yes.",
        ("Look.", "1.", "It is so.", "2. Yes."),
    ),
    "number of a list on a line of its own": (
        "Bring:\n1.\nyour card\n2.\nphotos",
        ("Bring:", "your card", "2.", "photos"),
    ),
    "bullet": ("- It is old.\n- It is high.", ("It is old.", "-", "It is high.")),
    "bullet in an exact copy": ("Bring:\n- It is old.", ("Bring:", "-", "It is old.")),
    "step": ("Step 1: unplug it.\nStep 2: wait.", ("unplug it.", "Step 2:", "wait.")),
    "letter of a list": ("a) It is old.\nb) It is high.", ("It is old.", "b)", "It is high.")),
    "number of a section": ("1.1 Scope is wide.\n1.2 Terms.", ("Scope is wide.", "1.2", "Terms.")),
    "line of a fence": ("Run:\n```bash\nmake all\n```", ("Run:", "```bash", "make all")),
    "language of a fence": ("Run:\n```bash\nmake all\n```", ("Run:", "bash", "make all")),
    "end of a fence": ("Run:\n```bash\nmake all\n```", ("Run:", "make all", "```")),
    "image": (
        "It is high.\n![The tower](tower.png)\nIt is old.",
        ("It is high.", "![The tower](tower.png)", "It is old."),
    ),
    "text of an image": ("It is high.\n![The tower](tower.png)", ("It is high.", "The tower")),
    "comment": ("It is high. <!-- check this -->", ("It is high.", "<!-- check this -->")),
    "word of a comment": ("It is high. <!-- check this -->", ("It is high.", "check")),
    "frame of a table": ("| Day |\n|---|\n| Monday |", ("Day", "|---|", "Monday")),
    "where a link leads": (
        "See [the map][1].\n\n[1]: https://x.org/map",
        ("See the map.", "https://x.org/map"),
    ),
    "citation behind its sentence": ("It is so.\n[1]", ("It is so.", "[1]")),
    "citation inside of its sentence": ("It is so [1].", ("It is so.", "[1]")),
    "citation that its sentence has, too": ("It is so [1].", ("It is so [1].", "[1]")),
    "citation in Chinese brackets": ("It has two towers【1】.", ("It has two towers.", "【1】")),
    "tag": ("</think> It is so.", ("</think>", "It is so.")),
    "line break": ("It is so.<br>It is old.", ("It is so.", "<br>", "It is old.")),
    "emoji": ("It is so. 👍", ("It is so.", "👍")),
    "emphasis": ("**It** is so **now**.", ("It is so now.", "**")),
    "one word behind a cut": ("It opens at nine. So it is.", ("It opens at...", "nine", "So it is.")),
    "one word in front of its cut": ("It opens at nine. So it is.", ("nine", "It opens at...", "So it is.")),
    "two words behind a cut": ("It opens at nine sharp.", ("It opens at...", "nine sharp")),
    "second of two words behind a cut": ("It opens at nine sharp.", ("It opens at...", "sharp")),
    "both words behind a cut": ("It opens at nine sharp.", ("It opens at...", "nine", "sharp")),
    "cut behind a cut": ("It opens at nine sharp.", ("It opens at...", "nine...")),
    "word behind a cut of another form": ("It opens at nine o'clocks.", ("It opens at nine…", "o'clock")),
}


@pytest.mark.parametrize("name", NEEDS_NO_BLOCK)
def test_what_may_be_left_out_has_no_block_of_its_own(name: str) -> None:
    """It could be of a document that the judge quotes, and that wants its own score to be the judge's."""
    response, copies = NEEDS_NO_BLOCK[name]
    assert rated(response, copies) == "ambiguous"


NEEDS_A_BLOCK: dict[str, tuple[str, tuple[str, ...]]] = {
    "all that is said is a sign": ("👍", ("👍",)),
    "all that is said is a number": ("2.", ("2.",)),
    "all that is said is a tag": ("<br>", ("<br>",)),
    "answer of a number": ("How many towers?\n2.", ("How many towers?", "2.")),
    "heading": ("## Hours\nIt opens at nine.", ("## Hours", "It opens at nine.")),
    "heading of a step": ("## Step 1\nUnplug it.", ("Step 1", "Unplug it.")),
    "heading of one word in bold": ("**Hours**\n\nIt opens at nine.", ("**Hours**", "It opens at nine.")),
    "one word": ("Yes. It is open.", ("Yes.", "It is open.")),
    "one word behind three points": ("Well... Yes. It is so.", ("Well...", "Yes.", "It is so.")),
    "one word behind points on a line": ("Hours...\nNine", ("Hours...", "Nine")),
    "three words behind a cut": ("It opens at nine sharp today.", ("It opens at...", "nine sharp today.")),
    "line of code of one word": ("Run:\n```sh\nls\n```", ("Run:", "ls")),
    "item of one word": ("Pets:\n1. Dogs\n2. Cats", ("Pets:", "Dogs", "Cats")),
    "item of a number": ("Results:\n1. 15\n2. 20", ("Results:", "15", "20")),
    "cell of a table": ("| Day | Hour |\n|---|---|\n| Monday | 9 |", ("Day", "Hour", "Monday", "9")),
    "text of a link": ("[Hours](https://x.org): at nine.", ("[Hours](https://x.org):", "at nine.")),
}


@pytest.mark.parametrize("name", NEEDS_A_BLOCK)
def test_what_may_not_be_left_out_has_a_block_of_its_own(name: str) -> None:
    response, copies = NEEDS_A_BLOCK[name]
    assert rated(response, copies) == [8] * len(copies)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_content_may_not_be_left_out(name: str) -> None:
    response, copies = REFUSED[name]
    assert rated(response, copies) == "unrated_sentences"
