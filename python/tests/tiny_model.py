# SPDX-License-Identifier: MIT
"""tests/models/tiny-512.gguf for transformers, and the same numbers as a GGUF of float32 for llama.cpp.

    tiny_model.py MODEL.gguf FOLDER     as a folder of Hugging Face

The file is Q8_0, and llama.cpp multiplies such weights with activations that it rounds to eight bits first. Made float32,
they are the same numbers in both, and so is everything that is multiplied with them.
"""
import sys

import gguf
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

BOS, EOS = 256, 257
MODULES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
           "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
           "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def tokenizer():
    """Every byte a token, as the model's own."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]  # byte-level tokenizers write other bytes as U+0100, …
    others = [byte for byte in range(256) if byte not in printed]
    letters = {**{chr(byte): byte for byte in printed}, **{chr(256 + i): byte for i, byte in enumerate(others)}}
    inner = Tokenizer(models.BPE(letters, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(["<s>", "</s>"])
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")


def tensors(path):
    """Every tensor of a file in float32, in the shape that rows and columns have."""
    return {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}


def field(path, key):
    return gguf.GGUFReader(path).get_field(key).contents()


def model(path):
    """As transformers.convert_llama_weights_to_hf would have it, backwards."""
    heads = field(path, "llama.attention.head_count")
    weights = tensors(path)
    vocabulary, embedding = weights["token_embd.weight"].shape
    layers = field(path, "llama.block_count")
    config = AutoConfig.for_model(
        "llama", vocab_size=vocabulary, hidden_size=embedding, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=field(path, "llama.attention.head_count_kv"), head_dim=field(path, "llama.rope.dimension_count"),
        intermediate_size=field(path, "llama.feed_forward_length"), tie_word_embeddings=True,
        rms_norm_eps=field(path, "llama.attention.layer_norm_rms_epsilon"),
        max_position_embeddings=field(path, "llama.context_length"), rope_theta=field(path, "llama.rope.freq_base"),
        bos_token_id=BOS, eos_token_id=EOS)
    state = {"model.embed_tokens.weight": weights["token_embd.weight"], "model.norm.weight": weights["output_norm.weight"]}
    for layer in range(layers):
        for theirs, ours in MODULES.items():
            weight = weights[f"blk.{layer}.{theirs}.weight"]
            if theirs in ("attn_q", "attn_k"):  # pairs are neighbours in a GGUF, halves apart in transformers
                weight = weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
            state[f"model.layers.{layer}.{ours}.weight"] = weight
    built = AutoModelForCausalLM.from_config(config)
    missing, unknown = built.load_state_dict({k: torch.tensor(v) for k, v in state.items()}, strict=False)
    assert set(missing) <= {"lm_head.weight"} and not unknown, (missing, unknown)  # tied to the embedding
    return built.eval()


def save(path, folder):
    model(path).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def write_float32(path, out):
    """The same file with every tensor in float32."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(out, "llama")
    for key, entry in reader.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
            continue
        kind = entry.types[0]
        writer.add_key_value(key, entry.contents(), kind, entry.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, data in tensors(path).items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    save(*sys.argv[1:])
