"""A real llama.cpp server: probabilities arrive in the shape that is read, and it honours a JSON schema.

Needs `pip install xllamacpp gguf` in the environment of the tests. The model is written here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from any_options import load_one

from groundjudge import Choices
from groundjudge.models.openai import OpenAIModel
from groundjudge.replies import Json
from groundjudge.types import Judge

pytestmark = pytest.mark.soak

WHY = "needs a llama.cpp server: pip install xllamacpp gguf"
LOGITS = {"Yes": 10.0, "No": 9.0, '"': 7.05, "</s>": 7.05}
"""What the model holds for its next token, whatever came before; 0 for every byte that is not listed."""

WIDTH = 32
PROMPT = """---
name: tiny
version: 1.0.0
model: {parameters: {temperature: 1, top_p: 1, max_tokens: 400, seed: 1}}
inputs: [{name: response, type: text}]
reply: {format: plain}
scale: {choices: {"yes": 1, "no": 0}}
---
user:
{{response}}
"""
GRAMMAR = {"grammar": 'root ::= "Yes" | "No"'}
CASE = {"response": "It sails at nine."}


def write_model(path: Path) -> None:
    """A llama model whose only layer does nothing, and whose embeddings are all alike."""
    gguf, numpy = (pytest.importorskip(name, reason=WHY) for name in ("gguf", "numpy"))
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "Yes", "No"]
    kinds = gguf.TokenType
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256, kinds.NORMAL, kinds.NORMAL]
    output = numpy.zeros((len(tokens), WIDTH), dtype=numpy.float32)
    for text, logit in LOGITS.items():
        output[tokens.index(text if text in tokens else f"<0x{ord(text):02X}>")] = logit / WIDTH
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for kind in types])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(value=False)
    writer.add_chat_template("{% for message in messages %}{{ message.content }}\n{% endfor %}")
    unit_vector, square = numpy.ones(WIDTH, numpy.float32), numpy.zeros((WIDTH, WIDTH), numpy.float32)
    layer = dict.fromkeys("attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split(), square)
    for name, tensor in {**layer, "attn_norm": unit_vector, "ffn_norm": unit_vector}.items():
        writer.add_tensor(f"blk.0.{name}.weight", tensor)
    writer.add_tensor("token_embd.weight", numpy.ones((len(tokens), WIDTH), numpy.float32))
    writer.add_tensor("output_norm.weight", unit_vector)
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason=WHY)
    path = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    write_model(path)
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.port = 0
    settings.cpuparams.n_threads = 1
    settings.fit_params = False
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


def judge_at(url: str, folder: Path, **options: Any) -> Judge:
    path = folder / "tiny.prompty"
    path.write_text(PROMPT)
    return load_one(path, model=OpenAIModel("tiny", base_url=url), **options)


def test_score_is_the_probability_that_the_server_gives_to_yes(url: str, tmp_path: Path) -> None:
    verdict = judge_at(url, tmp_path, weighted=True, parameters=GRAMMAR).judge(CASE)
    yes, no = (math.exp(LOGITS[name]) for name in ("Yes", "No"))
    assert verdict.label in {"yes", "no"}
    assert verdict.score == pytest.approx(yes / (yes + no), abs=1e-3)
    assert verdict.warnings == ()


@pytest.mark.parametrize("weighted", [False, True])
def test_schema_is_honoured_when_text_could_not_be_read(url: str, tmp_path: Path, weighted: bool) -> None:  # noqa: FBT001
    scale = Choices({"supported": 1, "not supported": 0})
    verdict = judge_at(url, tmp_path, reply=Json(), scale=scale, weighted=weighted).judge(CASE)
    assert verdict.attempts == 2, "the first reply is free text, in which this model says Yes and No"
    assert verdict.label in scale.choices
    reply = json.loads(verdict.reply or "")
    assert [*reply] == ["reasoning", "score"]
    assert set(verdict.warnings) <= {"logprobs_unusable"}, "nothing in this model prefers a label"
