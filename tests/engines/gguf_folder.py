# SPDX-License-Identifier: MIT
"""The Hugging Face folder of a Llama in a GGUF file: the same weights, read back as numbers, for engines that load folders.

    $(tools/engine_env gguf) tests/engines/gguf_folder.py tests/models/tiny-512.gguf FOLDER

The numbers are those that llama.cpp computes with (a quantised matrix is read back exactly, into float32), and a token has
the same id on both sides. Llamas with a tokenizer of bytes or of byte pairs: what the tests have.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from byte_letters import byte_letters

NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def half_split(matrix, heads):
    """GGUF files of Llamas have the rows of a pair side by side, folders half a head apart."""
    pairs = matrix.reshape(heads, -1, 2, matrix.shape[1])
    return pairs.swapaxes(1, 2).reshape(matrix.shape)


def weights(reader, heads, key_heads):
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        parts = tensor.name.removesuffix(".weight").split(".")
        if parts[0] != "blk":
            yield f"{OUTER[parts[0]]}.weight", values
            continue
        if parts[2] in ("attn_q", "attn_k"):
            values = half_split(values, heads if parts[2] == "attn_q" else key_heads)
        yield f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight", values


def save_weights(path, tensors):
    """A safetensors file: eight bytes of length, a header in JSON, the numbers."""
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            out.write(np.ascontiguousarray(values).tobytes())


def begins_with(names, fields):
    """The token that the file puts before every text."""
    bos = fields["tokenizer.ggml.bos_token_id"]
    frame = [{"SpecialToken": {"id": names[bos], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": frame, "pair": [*frame, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {names[bos]: {"id": names[bos], "ids": [bos], "tokens": [names[bos]]}}}  # fmt: skip


def save_tokenizer(folder, fields):
    """Byte pairs as the file has them; a tokenizer of bytes is one without merges."""
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    letters = byte_letters()
    of_bytes = fields["tokenizer.ggml.model"] == "llama"
    names = [letters[i] if of_bytes and i < 256 else text for i, text in enumerate(tokens)]
    special = [i for i, kind in enumerate(kinds) if kind in (gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": not of_bytes}
    digits = {"type": "Digits", "individual_digits": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
            for i in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level] if of_bytes else [digits, byte_level]},
        "post_processor": begins_with(names, fields) if fields.get("tokenizer.ggml.add_bos_token") else None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {name: i for i, name in enumerate(names)},
                  "merges": [merge.split(" ") for merge in fields.get("tokenizer.ggml.merges", [])]},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": names[fields["tokenizer.ggml.bos_token_id"]],
        "eos_token": names[fields["tokenizer.ggml.eos_token_id"]],
        "pad_token": names[fields["tokenizer.ggml.eos_token_id"]],
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def save(model, folder):
    """The folder of the GGUF file `model`."""
    reader = gguf.GGUFReader(model)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    heads, key_heads = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
    folder.mkdir(parents=True, exist_ok=True)
    tensors = dict(weights(reader, heads, key_heads))
    save_weights(folder / "model.safetensors", tensors)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": fields["llama.vocab_size"],
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": fields["llama.rope.dimension_count"],
        "max_position_embeddings": fields["llama.context_length"],
        "rope_theta": fields["llama.rope.freq_base"],
        "rms_norm_eps": round(fields["llama.attention.layer_norm_rms_epsilon"], 9),
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    save_tokenizer(folder, fields)
    return folder


if __name__ == "__main__":
    save(sys.argv[1], Path(sys.argv[2]))
