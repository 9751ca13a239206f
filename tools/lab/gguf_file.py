# SPDX-License-Identifier: MIT
"""A model as a GGUF file of F16, for tools/train_tiny.py and tools/train_lab.py; llama-quantize makes it Q8_0."""
import gguf
import numpy as np

from lab.model import HEAD_DIM, NORM_EPSILON, ROPE_BASE


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
