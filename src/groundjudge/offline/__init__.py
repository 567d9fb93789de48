"""The lexical baseline: `model="offline"` compares words, and no language model is called.

It needs no network and no key, and gives the same case the same reply, which its judge reads like any other.
It serves for tests, for a first look, and as the baseline that a language model has to beat.

1. `claims` cuts the response into sentences (`text.sentences`) and leaves out those that state nothing, such
   as a greeting (`smalltalk`). The documents that the judge shows are cut into passages the same way.
2. `readings` reads both: words by their English stem, Chinese by pairs of neighbouring signs, numbers and
   dates in one spelling (`text.words`, `text.numbers`), and what negations deny (`text.negations`).
3. `support` finds the passage that holds most of a sentence's words. Function words count less than others.
4. Where a passage says nearly the same, `differences` aligns the two token by token, and `conflicts` looks
   at what differs: a number, a name, a day, a unit beside the same number, a negation, "all" for "some"
   (`contrasts`), or two things in each other's place (`roles`).
5. Ten signals come of it: the share of words found anywhere, and in the best passage; the share of names
   found nowhere; a number found nowhere; a speaker who means itself; and five ways to contradict a passage.
   A logistic regression turns them into a support score, 0..1. tools/fit_support.py fits it to labelled rows,
   but for the weights of contradictions, which are fixed: they are rare there, and must never pass a judge.
6. `model` sums the sentences up as the judge's levels or scale want it: a geometric mean by length, and
   nothing above what contradicts a document. Tool results outrank other documents. `reasons` says why.

What it sees is near-verbatim text, in English and Chinese; of other languages, words that stay as they are,
numbers and negations. It does not see that other words mean the same, nor what follows from what is said, so
that paraphrase and role-play are out of its reach. Tables and rules that changed the ROC AUC on labelled rows
by less than 0.003, and less than 1 % of the edits in tests/offline/edits, were removed, unless an example or
one kind of edit needs them.
"""
