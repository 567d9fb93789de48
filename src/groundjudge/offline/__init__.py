"""The lexical baseline: `model="offline"` compares words, and no language model is called.

It needs no network and no key, and gives the same case the same reply, which its judge reads like any other.
It serves for tests, for a first look, and as the baseline that a language model has to beat.

1. `claims` cuts the response into sentences (`text.sentences`) and leaves out those that state nothing, such
   as a greeting or a lead-in; a scorecard says NO CLAIM of them. The documents that the judge shows are cut
   into passages the same way.
2. `readings` reads both: words by their English stem, Chinese by pairs of neighbouring signs, numbers and
   dates in one spelling (`text.words`, `text.numbers`), and what negations deny (`text.negations`). The sign,
   the code and the name of a currency are one, and so are a time on both clocks if the documents have it.
3. `support` finds the passage that holds most of a sentence's words. Function words count less than others.
4. Where a passage says nearly the same, `readings.contradictions` looks for what contradicts the
   sentence: another number, unit or name, two things in each other's place, or a negation on one side only. A
   date counts as a whole. Of two neighbouring sentences, none may name something else than the sentence does,
   unless the other one names both.
5. `support` scores a sentence from 0 to 1 by a logistic regression of few signals: the share of its words
   that the best passage has; the share of its content that no document has, which counts more in short
   documents; names and numbers found nowhere; whether it speaks of "I" and the documents do not. `wording`
   leaves out what is no part of the claim. tools/fit_support.py fits it to labelled rows, but for the weights
   of a contradiction and of a sentence of which nothing is found: both are rare there, and must never pass.
   A number that the sentence works out, and shows from what, counts as found (`arithmetic`).
   A part of a sentence that the documents have hardly anything of caps the score of the sentence.
6. `model` sums the sentences up as the judge's levels or scale want it: halfway between the weakest and a
   geometric mean by length, and nothing above what contradicts a document. Tool results outrank others.
   `reasons.reason` explains the score; beside the quotes of a scorecard, `reasons.reason_beside_quotes` does.
   Recall and precision of a passage count facts: `facts.facts_of`.

A bare yes or no claims what its question asks, and what a crashed application leaves (None, "...") is backed
by nothing: see `answers`. It judges with a prompt that says that it judges grounding, and with no other.

What it sees is near-verbatim text, in English and Chinese; of other languages, words that stay as they are,
numbers and negations, and a warning says so (`text.languages`). It does not see that other words mean the
same, nor what follows from what is said: a paraphrase is out of its reach, and so is role-play.
"""
