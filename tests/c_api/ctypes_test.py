# SPDX-License-Identifier: MIT
"""The C API from Python's ctypes, compared with what others computed: the authors, mpmath at 60 digits, Python's floats.

    ctypes_test.py LIBRARY TESTS
"""
import ctypes as c
import json
import math
import mmap
import pathlib
import re
import sys
import tempfile
import threading
import unittest

LIBRARY, TESTS = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(TESTS / "cli"))
import tiny_gguf  # noqa: E402


class Group(c.Structure):
    _fields_ = [("name", c.c_char_p), ("layers", c.POINTER(c.c_int32)), ("layer_count", c.c_size_t), ("pairs", c.c_size_t),
                ("inv_freq", c.POINTER(c.c_double)), ("pair_factors", c.POINTER(c.c_double)), ("base", c.c_double),
                ("attention_scale", c.c_double)]


class Vectors(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t), ("type", c.c_int32), ("layout", c.c_int32), ("heads", c.c_size_t),
                ("head_dim", c.c_size_t), ("head_stride", c.c_size_t), ("token_stride", c.c_size_t)]


Handle = c.c_void_p
PROTOTYPES = {
    "mrrope_last_error": (c.c_char_p,),
    "mrrope_version": (c.c_char_p,),
    "mrrope_spec_from_numbers": (c.c_int, c.c_int32, c.c_double, c.c_int64, c.POINTER(Handle)),
    "mrrope_spec_from_model": (c.c_int, c.c_void_p, c.c_size_t, c.POINTER(Handle)),
    "mrrope_spec_context_trained": (c.c_int64, Handle),
    "mrrope_spec_free": (None, Handle),
    "mrrope_plan_make": (c.c_int, Handle, c.c_int64, c.c_char_p, c.c_int64, c.POINTER(Handle)),
    "mrrope_plan_from_json": (c.c_int, c.c_char_p, c.c_size_t, c.POINTER(Handle)),
    "mrrope_plan_to_json": (c.c_int, Handle, c.c_char_p, c.c_size_t, c.POINTER(c.c_size_t)),
    "mrrope_plan_group_count": (c.c_size_t, Handle),
    "mrrope_plan_group": (c.c_int, Handle, c.c_size_t, c.POINTER(Group)),
    "mrrope_plan_free": (None, Handle),
    "mrrope_re_rotate": (c.c_int, Handle, Handle, c.c_size_t, c.POINTER(c.c_int32), c.c_size_t, c.POINTER(Vectors)),
    "mrrope_rotate": (c.c_int, Handle, c.c_size_t, c.POINTER(c.c_int32), c.c_size_t, c.POINTER(Vectors)),
}
lib = c.CDLL(LIBRARY)
for function, (result, *arguments) in PROTOTYPES.items():
    getattr(lib, function).restype, getattr(lib, function).argtypes = result, arguments


def check(status):
    if status:
        raise ValueError(lib.mrrope_last_error().decode())


class Owned:
    """A handle that is freed with its object."""

    def __init__(self, make, free, *args):
        self.handle, self.free = Handle(), free
        check(make(*args, c.byref(self.handle)))

    def __del__(self):
        self.free(self.handle)


def spec_from_numbers(*numbers):
    return Owned(lib.mrrope_spec_from_numbers, lib.mrrope_spec_free, *numbers)


def spec_from_model(content):
    return Owned(lib.mrrope_spec_from_model, lib.mrrope_spec_free, (c.c_char * len(content)).from_buffer_copy(content), len(content))


def make_plan(spec, target, method, length=0):
    return Owned(lib.mrrope_plan_make, lib.mrrope_plan_free, spec.handle, target, method.encode(), length)


def group_of(plan, index=0):
    group = Group()
    check(lib.mrrope_plan_group(plan.handle, index, c.byref(group)))
    group.owner = plan  # its pointers live as long
    return group


class TestTables(unittest.TestCase):
    def test_the_authors_tables_are_reproduced(self):
        vectors = json.loads((TESTS / "vectors/authors.json").read_text(encoding="utf-8"))["vectors"]
        self.assertEqual(len(vectors), 48)
        for v in vectors:
            plan = make_plan(spec_from_numbers(v["rotary_dim"], v["base"], v["context_trained"]),
                             int(v["factor"] * v["context_trained"]), v["method"])
            group = group_of(plan)
            self.assertEqual(group.pairs, len(v["inv_freq_f32"]))
            self.assertAlmostEqual(group.attention_scale, v["attention_scale"], delta=1e-12)
            for i, expected in enumerate(v["inv_freq_f32"]):
                self.assertAlmostEqual(group.inv_freq[i], expected, delta=5e-7 * expected)  # float32: theory/authors_test.cpp

    def test_every_method_is_that_of_the_independent_implementation(self):
        cases = json.loads((TESTS / "vectors/methods.json").read_text(encoding="utf-8"))["cases"]
        self.assertGreater(len(cases), 100)
        for v in cases:
            plan = make_plan(spec_from_numbers(v["rotary_dim"], v["base"], v["context_trained"]), v["context_target"], v["method"],
                             v.get("length", 0))
            group = group_of(plan)
            self.assertEqual(group.pairs, len(v["inv_freq"]))
            self.assertAlmostEqual(group.attention_scale, float(v["attention_scale"]), delta=1e-14)
            for i, (speed, factor) in enumerate(zip(v["inv_freq"], v["pair_factors"])):
                # 4 ulp of factors, as tests/theory/methods_test.cpp, and two more roundings of speeds
                self.assertAlmostEqual(group.pair_factors[i], float(factor), delta=1e-15 * float(factor), msg=v["method"])
                self.assertAlmostEqual(group.inv_freq[i], float(speed), delta=2e-15 * float(speed), msg=v["method"])

    def test_the_example_of_the_header_is_what_the_readme_prints(self):
        group = group_of(make_plan(spec_from_numbers(128, 10000, 4096), 65536, "mrrope-pro"))
        self.assertEqual(f"{group.attention_scale:.4f}", "1.2773")
        self.assertEqual((group.name, group.layer_count, group.base), (b"all", 0, 10000))


class TestModels(unittest.TestCase):
    def test_a_config_with_sliding_layers_has_two_groups(self):
        content = (TESTS / "formats/configs/gemma-3-1b.json").read_bytes()
        said = json.loads(content)
        plan = make_plan(spec_from_model(content), 4 * said["max_position_embeddings"], "mrrope-pro")
        self.assertEqual(lib.mrrope_plan_group_count(plan.handle), 2)
        far, near = group_of(plan, 0), group_of(plan, 1)
        period = said["sliding_window_pattern"]
        layers = range(said["num_hidden_layers"])
        self.assertEqual(far.layers[:far.layer_count], [i for i in layers if (i + 1) % period == 0])
        self.assertEqual(near.layers[:near.layer_count], [i for i in layers if (i + 1) % period != 0])
        self.assertEqual((far.base, near.base), (said["rope_theta"], said["rope_local_base_freq"]))
        self.assertAlmostEqual(far.pair_factors[far.pairs - 1], 4)
        self.assertEqual(set(near.pair_factors[:near.pairs]), {1.0})
        self.assertAlmostEqual(near.inv_freq[1], near.base ** (-1 / near.pairs), delta=1e-15)

    def test_llama_3_1_has_the_table_that_meta_published(self):
        content = (TESTS / "formats/configs/llama-3.1-8b.json").read_bytes()
        group = group_of(make_plan(spec_from_model(content), 131072, "none"))
        for i in range(64):
            speed = 500000 ** (-i / 64)
            wavelength = 2 * math.pi / speed
            smooth = min(1, max(0, (8192 / wavelength - 1) / (4 - 1)))
            self.assertAlmostEqual(group.inv_freq[i], ((1 - smooth) / 8 + smooth) * speed, delta=1e-14 * speed)

    def test_factors_of_a_gguf_are_read_from_memory(self):
        factors = [1 + i / 4 for i in range(32)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.gguf"
            tiny_gguf.write(path, "llama", {}, {"rope_freqs.weight": factors})
            group = group_of(make_plan(spec_from_model(path.read_bytes()), 8192, "none"))
            self.assertEqual(group.pair_factors[:32], factors)
            with self.assertRaisesRegex(ValueError, "rope_freqs.weight: its values are the bytes"):
                spec_from_model(path.read_bytes()[:-32])

    def test_a_mapped_gguf_is_read_where_it_lies(self):
        with open(TESTS / "models/tiny-512.gguf", "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        view = (c.c_char * len(mapped)).from_buffer(mapped)
        spec = Owned(lib.mrrope_spec_from_model, lib.mrrope_spec_free, view, len(mapped))
        self.assertEqual(lib.mrrope_spec_context_trained(spec.handle), 512)


class TestPlans(unittest.TestCase):
    def test_json_goes_both_ways(self):
        plan = make_plan(spec_from_numbers(128, 10000, 4096), 65536, "yarn:beta_fast=16")
        size = c.c_size_t()
        check(lib.mrrope_plan_to_json(plan.handle, None, 0, c.byref(size)))
        text = c.create_string_buffer(size.value + 1)
        check(lib.mrrope_plan_to_json(plan.handle, text, len(text), c.byref(size)))
        said = json.loads(text.value)
        self.assertEqual((said["schema"], said["context_target"]), ("mrrope.plan/1", 65536))
        again = Owned(lib.mrrope_plan_from_json, lib.mrrope_plan_free, text.value, size.value)
        self.assertEqual(group_of(again).inv_freq[:64], group_of(plan).inv_freq[:64])

    def test_a_head_is_turned_by_the_angles_of_its_position(self):
        plan = make_plan(spec_from_numbers(64, 10000, 4096), 16384, "mrrope-uni")
        group = group_of(plan)
        head = (c.c_float * 64)(*[math.sin(i) for i in range(64)])
        old = list(head)
        vectors = Vectors(data=c.addressof(head), size=c.sizeof(head), heads=1, head_dim=64)
        check(lib.mrrope_rotate(plan.handle, 0, (c.c_int32 * 1)(12345), 1, c.byref(vectors)))
        for i in range(32):
            turned = complex(old[i], old[32 + i]) * group.attention_scale
            turned *= complex(math.cos(12345 * group.inv_freq[i]), math.sin(12345 * group.inv_freq[i]))
            self.assertAlmostEqual(abs(complex(head[i], head[32 + i]) - turned), 0, delta=1e-6)

    def test_each_thread_has_its_own_last_error(self):
        meet, seen = threading.Barrier(2), {}

        def refuse(name, dim):
            lib.mrrope_spec_from_numbers(dim, 10000, 4096, c.byref(Handle()))
            meet.wait()  # both have failed before either looks
            seen[name] = lib.mrrope_last_error().decode()

        threads = [threading.Thread(target=refuse, args=args) for args in (("odd", 127), ("negative", -2))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(seen["odd"].endswith("found 127") and seen["negative"].endswith("found -2"), seen)

    def test_the_library_says_the_version_of_the_source(self):
        header = (TESTS.parent / "include/mrrope/version.h").read_text(encoding="utf-8")
        self.assertEqual(lib.mrrope_version().decode(), re.search(r'MRROPE_VERSION "(.*)"', header)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
