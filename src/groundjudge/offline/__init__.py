"""The judge without a model: it passes only what one sentence of the source says in nearly the same words.

It needs no network and no key, and always gives the same case the same verdict. Use it for a demo, for a test
of the wiring, or as the first step of a cascade, where one thing counts: you can trust its "yes". It leaves
everything else undecided (`not_decided`), with a score below the threshold and the nearest sentence.

1. `claims` cuts the response into sentences. Talk ("Happy to help!"), counter-questions and refusals ("The
   documents do not mention a cafe") claim nothing, unless their topic occurs in a source.
2. `alignment` looks each sentence up: a sentence of the source must begin with it. What the source says after
   that may be left out, unless it limits what is said ("only", "unless"). A compound sentence may use one
   sentence of the source for each of its clauses.
3. `model` writes what was found as a reply in the judge's format, which is read like any other.

Function words and endings are known in English, German, French, Spanish, Italian and Dutch, talk and refusals
in English and German. In other languages every word counts, and only in the same form.
"""
