"""The judge without a model: it passes only what one sentence of the source says in nearly the same words.

It needs no network and no key, and gives the same case the same verdict. It is there for a demo, for a test
of the wiring, and as the first step of a cascade, where one thing counts: that its "yes" can be believed. It
leaves all else undecided (`not_decided`), with a score below the threshold and the sentence that is nearest.

1. `claims` cuts the response into sentences. Talk ("Happy to help!"), questions back and refusals ("The
   documents do not mention a cafe") claim nothing, unless a source has a word of what is said to be missing.
2. `alignment` looks each sentence up: its content words must stand in one sentence of the source, one after
   the other and with nothing else between them, and nothing may limit or deny what is taken from there. A
   compound sentence may take one sentence of the source for each of its clauses.
3. `model` writes what was found as a reply in the judge's format, which is read like any other.

Stems, function words, talk and refusals are known in English and German; in other languages every word
counts, and none may have another form.
"""
