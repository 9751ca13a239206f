# SPDX-License-Identifier: MIT
"""A model as a GGUF file of F16, for tools/train_tiny.py and tools/train_lab.py; llama-quantize makes it Q8_0."""
import gguf
import numpy as np
import torch

from lab.model import HEAD_DIM, NORM_EPSILON, ROPE_BASE, Model, Shape


def write(path, model, name, context, tokenizer):
    """`tokenizer`: the metadata of the vocabulary, named as GGUFWriter's methods are, without `add_`."""
    shape = model.shape
    metadata = {
        "name": name,
        "license": "mit",
        "file_type": gguf.LlamaFileType.MOSTLY_F16,
        "context_length": context,
        "embedding_length": shape.embedding,
        "block_count": shape.layers,
        "feed_forward_length": shape.feed_forward,
        "head_count": shape.heads,
        "head_count_kv": shape.kv_heads,
        "rope_dimension_count": HEAD_DIM,
        "rope_freq_base": ROPE_BASE,
        "layer_norm_rms_eps": NORM_EPSILON,
        "vocab_size": shape.vocabulary,
    }
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in (metadata | tokenizer).items():
        getattr(writer, "add_" + key)(value)
    for tensor, weight in model.state_dict().items():
        writer.add_tensor(tensor, weight.numpy().astype(np.float16 if weight.dim() == 2 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tokens(path):
    return gguf.GGUFReader(path).fields["tokenizer.ggml.tokens"].contents()


def read(path):
    """The model of a file that `write` made, or llama-quantize from one, in float32."""
    file = gguf.GGUFReader(path)
    shape = Shape(*(int(file.fields[key].contents()) for key in (
        "llama.vocab_size", "llama.embedding_length", "llama.block_count", "llama.attention.head_count",
        "llama.attention.head_count_kv", "llama.feed_forward_length")))
    model = Model(shape)
    model.load_state_dict({t.name: torch.from_numpy(gguf.dequantize(t.data, t.tensor_type).copy()) for t in file.tensors})
    return model
