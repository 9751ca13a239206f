# SPDX-License-Identifier: MIT
"""A GGUF header in a few lines, for tests that need a file and not a model."""
import struct

TYPES = {"u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"), "bool": (7, "<?"), "u64": (10, "<Q"), "f64": (12, "<d")}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, value):
    if isinstance(value, (str, bytes)):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, bool):
        return text(key) + struct.pack("<I", 7) + struct.pack("<?", value)
    if isinstance(value, float):
        return text(key) + struct.pack("<I", 6) + struct.pack("<f", value)
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 5, len(value)) + b"".join(struct.pack("<i", v) for v in value)
    return text(key) + struct.pack("<I", 4) + struct.pack("<I", value)


def write(path, architecture, keys, factors=None, base=True, name="tiny"):
    """A model of 32 pairs and 8192 trained tokens with `keys` (without the architecture) and F32 tensors `factors`."""
    values = {"block_count": 12, "context_length": 8192, "embedding_length": 576, "attention.head_count": 9,
              "attention.head_count_kv": 3, "rope.dimension_count": 64, "feed_forward_length": 1536}
    if base:
        values["rope.freq_base"] = 100000.0
    values.update(keys)
    entries = [entry("general.architecture", architecture), entry("general.name", name)]
    entries += [entry(f"{architecture}.{key}", value) for key, value in values.items()]
    tensors, data = [], b""
    for name, numbers in {"token_embd.weight": [0.0] * 64, **(factors or {})}.items():
        tensors.append(text(name) + struct.pack("<IQIQ", 1, len(numbers), 0, len(data)))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        data += b"\0" * (-len(data) % 32)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries + tensors)
    with open(path, "wb") as file:
        file.write(header + b"\0" * (-len(header) % 32) + data)
