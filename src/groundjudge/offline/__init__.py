"""The judge without a model: it passes only what one sentence of the source says in nearly the same words.

It needs no network and no key, and always gives the same case the same verdict. Use it for a demo, for a test
of the wiring, or as the first step of a cascade, where one thing counts: you can trust its "yes". It leaves
everything else undecided (`not_decided`), with a score below the threshold and the nearest sentence.

1. `claims` cuts the response into sentences. Talk ("Happy to help!"), questions back and refusals ("The
   documents do not mention a cafe") claim nothing, unless a source has a word of what is said to be missing.
2. `alignment` looks each sentence up: a sentence of the source must begin with its content words, in their
   order. What the source says after them may be left out, unless it begins with a known limit ("only",
   "unless"). A compound sentence may use one sentence of the source for each of its clauses.
3. `model` writes what was found as a reply in the judge's format, which is read like any other.

Stems, function words, talk and refusals are known in English and German; in other languages every word
counts, and only in the same form.
"""
