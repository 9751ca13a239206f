# SPDX-License-Identifier: MIT
"""gguf-py (PyPI: gguf), written by others, reads what we write; we read what it writes.

    independent_reader_test.py EDIT_DRIVER

Environment: MRROPE_REQUIRE_ENGINES=1 (a missing gguf module is a failure, not a skip), MRROPE_MODELS (more models to try,
separated by colons; they are copied).
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DRIVER = sys.argv.pop(1)
try:
    import gguf
    import numpy
except ImportError as error:
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        raise
    print(f"skipped: {error}; pip install gguf", file=sys.stderr)
    sys.exit(0)


def run(*arguments):
    done = subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def content(path):
    """All keys and tensors as gguf-py sees them, in order. Its own GGUF.* fields are counts."""
    reader = gguf.GGUFReader(path)
    keys = {name: (field.types, field.contents()) for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    tensors = {t.name: (t.tensor_type, tuple(map(int, t.shape)), t.data.tobytes()) for t in reader.tensors}
    return keys, tensors


class IndependentReader(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mrrope-reader-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def written(self, name="model.gguf", **options):
        """A model with every kind of value, by gguf-py's own writer."""
        path = self.folder / name
        writer = gguf.GGUFWriter(path, "llama", **options)
        writer.add_context_length(8192)
        writer.add_custom_alignment(64)
        for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"):
            getattr(writer, f"add_{kind}")(f"test.{kind}", 100)
        writer.add_bool("test.bool", True)
        writer.add_string("test.string", "größe 模型")
        for name, values in (("i", [1, -2, 3]), ("f", [0.5, 1.5]), ("s", ["a", "", "ccc"]), ("b", [True, False])):
            writer.add_array(f"test.array.{name}", values)
        writer.add_tensor("token_embd.weight", numpy.arange(96, dtype=numpy.float32).reshape(3, 32))
        writer.add_tensor("half", numpy.arange(10, dtype=numpy.float16))
        quantised = gguf.quants.quantize(numpy.arange(64, dtype=numpy.float32), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor("q8", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def check_extended(self, before, path):
        keys, tensors = content(path)
        old_keys, old_tensors = before
        architecture = old_keys["general.architecture"][1]
        self.assertEqual(keys[f"{architecture}.context_length"][1], 131072)
        self.assertEqual(keys["mrrope.plan"][1], "p" * 5000)
        changed = {f"{architecture}.context_length", "mrrope.plan", "mrrope.padding"}
        self.assertEqual([(k, v) for k, v in keys.items() if k not in changed],
                         [(k, v) for k, v in old_keys.items() if k not in changed])
        self.assertEqual(list(tensors)[-1], "rope_freqs.weight")
        kind, shape, data = tensors.pop("rope_freqs.weight")
        self.assertEqual((kind, shape), (gguf.GGMLQuantizationType.F32, (4,)))
        self.assertEqual(numpy.frombuffer(data, numpy.float32).tolist(), [1, 2, 4, 8])
        self.assertEqual(tensors, old_tensors)

    def check_model(self, model):
        before, old_bytes = content(model), model.read_bytes()
        run("copy", model, self.folder / "copy.gguf")
        self.check_extended(before, self.folder / "copy.gguf")
        (self.folder / "copy.gguf").unlink()
        run("inplace", model)
        self.check_extended(before, model)
        if before[0][before[0]["general.architecture"][1] + ".context_length"][1] == 8192:
            run("undo", model)
            self.assertTrue(model.read_bytes() == old_bytes)

    def test_a_model_of_its_own_writer(self):
        self.check_model(self.written())

    def test_real_models(self):
        paths = [path for path in os.environ.get("MRROPE_MODELS", "").split(":") if path]
        if not paths:
            self.skipTest("MRROPE_MODELS names no models")
        for path in paths:
            shutil.copyfile(path, self.folder / "model.gguf")
            self.check_model(self.folder / "model.gguf")

    def test_a_split_model(self):
        self.written("model.gguf", split_max_tensors=1)
        first = next(self.folder.glob("*-00001-of-*.gguf"))
        count = first.stem[-5:]
        before = [content(path) for path in sorted(self.folder.glob("model-*.gguf"))]
        run("copy", first, self.folder / f"copy-00001-of-{count}.gguf")
        copies = sorted(self.folder.glob("copy-*.gguf"))
        self.assertEqual(len(copies), int(count))
        head, _ = content(copies[0])
        self.assertEqual(head["split.tensors.count"][1], before[0][0]["split.tensors.count"][1] + 1)
        before[0][0]["split.tensors.count"] = head["split.tensors.count"]
        self.check_extended(before[0], copies[0])
        self.assertEqual([content(path) for path in copies[1:]], before[1:])

    def test_a_sidecar(self):
        run("sidecar", self.folder / "side.gguf")
        keys, tensors = content(self.folder / "side.gguf")
        self.assertEqual({name: value for name, (_, value) in keys.items()}, {"split.no": 1, "split.count": 2})
        self.assertEqual(numpy.frombuffer(tensors["rope_freqs.weight"][2], numpy.float32).tolist(), [1, 2, 4, 8])

    def test_tensor_types_have_the_same_sizes(self):
        ours = {int(number): (int(elements), int(size)) for number, _, elements, size in map(str.split, run("types").splitlines())}
        theirs = {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
        # ggml-common.h: block_q8_1 is two halves and 32 bytes, 36 in all. gguf-py still counts two floats; no file has it.
        theirs[9] = (32, 36)
        self.assertEqual({kind: ours.get(kind) for kind in theirs}, theirs)
        self.assertGreaterEqual(len(theirs), 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
