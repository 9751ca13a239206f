/* SPDX-License-Identifier: MIT
 *
 * What mrrope/c.h promises, held to it from C: whatever the arguments are, a status comes back, and a sentence.
 *
 *   contract_test MODEL.gguf */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrrope/c.h"

static int failures = 0;

#define CHECK(truth)                                     \
  do {                                                   \
    if (!(truth)) {                                      \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #truth); \
      printf("  last error: %s\n", mrrope_last_error()); \
      ++failures;                                        \
    }                                                    \
  } while (0)

/* Llama 2 from 4K to 64K. */
static mrrope_plan* llama2(const char* method) {
  mrrope_spec* spec = NULL;
  mrrope_plan* plan = NULL;
  CHECK(mrrope_spec_from_numbers(128, 10000, 4096, &spec) == MRROPE_OK);
  CHECK(mrrope_plan_make(spec, 65536, method, 0, &plan) == MRROPE_OK);
  mrrope_spec_free(spec);
  return plan;
}

static mrrope_vectors dense(void* data, size_t size, size_t heads, size_t head_dim) {
  mrrope_vectors vectors = {0};
  vectors.data = data;
  vectors.size = size;
  vectors.heads = heads;
  vectors.head_dim = head_dim;
  return vectors;
}

/* The bytes in a block of exactly their size, so that AddressSanitizer sees a read beyond. */
static int model_status(const void* bytes, size_t size) {
  void* block = malloc(size == 0 ? 1 : size);
  if (block == NULL) exit(2);
  if (size > 0) memcpy(block, bytes, size);
  mrrope_spec* spec = NULL;
  const int status = mrrope_spec_from_model(block, size, &spec);
  CHECK((status == MRROPE_OK) == (spec != NULL));
  mrrope_spec_free(spec);
  free(block);
  return status;
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static void null_is_refused_everywhere(void) {
  mrrope_spec* spec = NULL;
  mrrope_plan *plan = NULL, *good = llama2("yarn");
  mrrope_group group;
  size_t size = 7;
  char text[4];
  float head[128] = {0};
  const int32_t position = 1;
  mrrope_vectors vectors = dense(head, sizeof head, 1, 128);
  CHECK(mrrope_spec_from_numbers(128, 10000, 4096, &spec) == MRROPE_OK);

  CHECK(mrrope_spec_from_numbers(128, 10000, 4096, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_spec_from_model("{}", 2, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_make(spec, 65536, "yarn", 0, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_make(NULL, 65536, "yarn", 0, &plan) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_make(spec, 65536, NULL, 0, &plan) == MRROPE_INVALID_ARGUMENT);
  CHECK(strcmp(mrrope_last_error(), "method: NULL") == 0);
  CHECK(mrrope_plan_from_json(NULL, 0, &plan) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_from_json("{}", 2, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_to_json(NULL, text, sizeof text, &size) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_to_json(good, text, sizeof text, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_to_json(good, NULL, 4, &size) == MRROPE_INVALID_ARGUMENT);
  CHECK(size == 7);
  CHECK(mrrope_plan_group(NULL, 0, &group) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_group(good, 0, NULL) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_rotate(NULL, 0, &position, 1, &vectors) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_rotate(good, 0, NULL, 1, &vectors) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_rotate(good, 0, &position, 1, NULL) == MRROPE_INVALID_ARGUMENT);
  vectors.data = NULL;
  CHECK(mrrope_rotate(good, 0, &position, 1, &vectors) == MRROPE_INVALID_ARGUMENT);
  CHECK(plan == NULL);

  mrrope_spec_free(spec);
  spec = (mrrope_spec*)&group; /* a handle that cannot be made is NULL */
  CHECK(mrrope_spec_from_model(NULL, 0, &spec) == MRROPE_INVALID_ARGUMENT && spec == NULL);
  CHECK(mrrope_spec_context_trained(NULL) == 0 && mrrope_plan_group_count(NULL) == 0);
  mrrope_spec_free(NULL);
  mrrope_plan_free(NULL);
  mrrope_plan_free(good);
}

static void numbers_outside_their_ranges_are_refused(void) {
  static const int32_t dims[] = {0, -2, 1, 127, 8194, INT32_MAX, INT32_MIN};
  static const double bases[] = {NAN, INFINITY, -INFINITY, 0, 1, -10000, 1e16};
  static const int64_t lengths[] = {0, -1, 6, INT64_MIN, INT64_MAX, (INT64_C(1) << 40) + 1};
  mrrope_spec* spec;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; ++i) {
    CHECK(mrrope_spec_from_numbers(dims[i], 10000, 4096, &spec) == MRROPE_INVALID_ARGUMENT && spec == NULL);
    CHECK(strstr(mrrope_last_error(), "groups[0].rotary_dim: expected an even number") != NULL);
  }
  for (size_t i = 0; i < sizeof bases / sizeof *bases; ++i) {
    CHECK(mrrope_spec_from_numbers(128, bases[i], 4096, &spec) == MRROPE_INVALID_ARGUMENT && spec == NULL);
  }
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    CHECK(mrrope_spec_from_numbers(128, 10000, lengths[i], &spec) == MRROPE_INVALID_ARGUMENT && spec == NULL);
  }
  CHECK(mrrope_spec_from_numbers(128, 10000, 4096, &spec) == MRROPE_OK);
  CHECK(mrrope_spec_context_trained(spec) == 4096);
  mrrope_plan* plan;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    if (lengths[i] == 6) continue; /* shorter than trained: a factor of 1 */
    CHECK(mrrope_plan_make(spec, lengths[i], "yarn", 0, &plan) == MRROPE_INVALID_ARGUMENT && plan == NULL);
    if (lengths[i] == 0) continue; /* the target */
    CHECK(mrrope_plan_make(spec, 65536, "dynamic-ntk", lengths[i], &plan) == MRROPE_INVALID_ARGUMENT && plan == NULL);
  }
  mrrope_spec_free(spec);
}

static void methods_that_do_not_exist_are_refused_with_a_word(void) {
  static const char* const methods[] = {
      "",      "yran",  "yarn:beta_fast=nan", "yarn:beta_fast=1e999",   "custom:factors=1/2",
      "+yarn", "yarn:", "\xff\xfe\x80",       "none:attention_scale=-1"};
  mrrope_spec* spec = NULL;
  mrrope_plan* plan;
  CHECK(mrrope_spec_from_numbers(128, 10000, 4096, &spec) == MRROPE_OK);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
    CHECK(mrrope_plan_make(spec, 65536, methods[i], 0, &plan) != MRROPE_OK && plan == NULL);
    CHECK(mrrope_last_error()[0] != '\0');
  }
  CHECK(mrrope_plan_make(spec, 65536, "yran", 0, &plan) != MRROPE_OK);
  CHECK(strstr(mrrope_last_error(), "yarn") != NULL);

  /* A sentence of any length fits, cut between two characters */
  char* longest = malloc(100001);
  if (longest == NULL) exit(2);
  for (int i = 0; i < 100000; i += 2) memcpy(longest + i, "\xc3\xa4", 2);
  longest[100000] = '\0';
  CHECK(mrrope_plan_make(spec, 65536, longest, 0, &plan) != MRROPE_OK);
  const size_t length = strlen(mrrope_last_error());
  CHECK(length <= 1023 && (length < 1022 || mrrope_last_error()[length - 1] != '\xc3'));
  free(longest);
  mrrope_spec_free(spec);
}

static void a_call_that_succeeds_leaves_the_last_error_alone(void) {
  mrrope_spec* spec = NULL;
  CHECK(mrrope_spec_from_numbers(1, 10000, 4096, &spec) == MRROPE_INVALID_ARGUMENT);
  char before[1024];
  strcpy(before, mrrope_last_error());
  mrrope_plan_free(llama2("mrrope-pro"));
  CHECK(strcmp(before, mrrope_last_error()) == 0);
}

/* ---- Models in memory -------------------------------------------------------------------------------------------- */

static void garbage_is_no_model(void) {
  static const unsigned char zeros[64] = {0};
  CHECK(model_status("", 0) == MRROPE_MALFORMED);
  CHECK(model_status(zeros, sizeof zeros) == MRROPE_MALFORMED);
  CHECK(model_status("GGU", 3) == MRROPE_MALFORMED);
  CHECK(model_status("GGUF", 4) == MRROPE_MALFORMED);
  CHECK(model_status("{\"hidden_size\": ", 16) == MRROPE_MALFORMED);
  CHECK(model_status("{\"hidden_size\": NaN}", 20) == MRROPE_MALFORMED);
  CHECK(model_status("[]", 2) != MRROPE_OK);
  CHECK(model_status("{}", 2) != MRROPE_OK);

  /* Version 3, and counts of 2^64 - 1: refused before memory is taken */
  unsigned char lies[24] = "GGUF\3";
  memset(lies + 8, 0xff, 16);
  CHECK(model_status(lies, sizeof lies) == MRROPE_MALFORMED);
  /* As many as are accepted, of which none is there */
  memset(lies + 8, 0, 16);
  lies[18] = 1;
  CHECK(model_status(lies, sizeof lies) == MRROPE_MALFORMED);
  /* Brackets to the end of memory */
  char* deep = malloc(1 << 20);
  if (deep == NULL) exit(2);
  memset(deep, '[', 1 << 20);
  CHECK(model_status(deep, 1 << 20) != MRROPE_OK);
  free(deep);
}

static void a_config_json_is_read_with_the_scaling_of_the_model(void) {
  static const char llama31[] =
      "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_attention_heads\": 32, \"num_hidden_layers\": 32,"
      " \"max_position_embeddings\": 131072, \"rope_theta\": 500000.0, \"rope_scaling\": {\"rope_type\": \"llama3\","
      " \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": "
      "8192}}";
  mrrope_spec* spec = NULL;
  mrrope_plan* plan = NULL;
  mrrope_group group;
  CHECK(mrrope_spec_from_model(llama31, strlen(llama31), &spec) == MRROPE_OK);
  CHECK(mrrope_spec_context_trained(spec) == 131072);
  CHECK(mrrope_plan_make(spec, 131072, "none", 0, &plan) == MRROPE_OK);
  CHECK(mrrope_plan_group(plan, 0, &group) == MRROPE_OK);
  CHECK(group.pairs == 64 && group.base == 500000 && group.attention_scale == 1);
  CHECK(group.pair_factors[0] == 1 && group.pair_factors[63] == 8); /* the ends of llama3 */
  CHECK(group.inv_freq[0] == 1 && fabs(group.inv_freq[63] / (pow(500000, -63.0 / 64) / 8) - 1) < 1e-14);
  mrrope_plan_free(plan);
  mrrope_spec_free(spec);
}

static void a_gguf_is_read_whole_or_by_its_first_bytes(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(2);
  const long size = ftell(file);
  unsigned char* bytes = malloc((size_t)size);
  rewind(file);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) exit(2);
  fclose(file);
  mrrope_spec* spec = NULL;
  CHECK(mrrope_spec_from_model(bytes, (size_t)size, &spec) == MRROPE_OK);
  CHECK(mrrope_spec_context_trained(spec) == 512);
  mrrope_spec_free(spec);
  /* From some length on the header is there, and below it none of them is taken for a model */
  size_t enough = 0;
  for (size_t length = 0; length < (size_t)size; length += 1 + length / 16) {
    const int status = model_status(bytes, length);
    CHECK(status == (enough > 0 ? MRROPE_OK : MRROPE_MALFORMED) || (enough == 0 && status == MRROPE_OK));
    if (status == MRROPE_OK && enough == 0) enough = length;
  }
  CHECK(enough > 0 && enough < (size_t)size / 2);
  /* A byte of the header changed, anywhere: refused or understood */
  for (size_t at = 0; at < enough; at += 1 + at / 64) {
    bytes[at] ^= 0xff;
    (void)model_status(bytes, enough);
    bytes[at] ^= 0xff;
  }
  free(bytes);
}

/* ---- Plan files -------------------------------------------------------------------------------------------------- */

static void json_leads_to_the_same_plan_and_back(void) {
  mrrope_plan *plan = llama2("mrrope-pro"), *again = NULL;
  size_t size = 0, second = 0;
  CHECK(mrrope_plan_to_json(plan, NULL, 0, &size) == MRROPE_OK && size > 1000);
  char *text = malloc(2 * (size + 1)), *copy = text + size + 1;
  if (text == NULL) exit(2);
  text[0] = '?';
  CHECK(mrrope_plan_to_json(plan, text, size, &second) == MRROPE_OK); /* no room for the zero */
  CHECK(text[0] == '?' && second == size);
  CHECK(mrrope_plan_to_json(plan, text, size + 1, &second) == MRROPE_OK);
  CHECK(strlen(text) == size && text[size - 1] == '\n' && strstr(text, "mrrope.plan/1") != NULL);

  CHECK(mrrope_plan_from_json(text, size, &again) == MRROPE_OK);
  CHECK(mrrope_plan_to_json(again, copy, size + 1, &second) == MRROPE_OK && strcmp(text, copy) == 0);
  mrrope_group a, b;
  CHECK(mrrope_plan_group(plan, 0, &a) == MRROPE_OK && mrrope_plan_group(again, 0, &b) == MRROPE_OK);
  CHECK(memcmp(a.inv_freq, b.inv_freq, a.pairs * sizeof(double)) == 0 && a.attention_scale == b.attention_scale);
  mrrope_plan_free(again);

  /* Every part of it alone is refused */
  for (size_t length = 0; length < size - 2; length += 97) {
    CHECK(mrrope_plan_from_json(text, length, &again) != MRROPE_OK && again == NULL);
  }
  char* factors = strstr(text, "pair_factors");
  factors[0] = 'q';
  CHECK(mrrope_plan_from_json(text, size, &again) != MRROPE_OK && again == NULL);
  free(text);
  mrrope_plan_free(plan);
}

/* ---- Rotation ---------------------------------------------------------------------------------------------------- */

/* Against keys that were never turned by the first table. */
static void keys_of_one_plan_become_those_of_another(void) {
  enum { kTokens = 3, kHeads = 2, kDim = 128 };
  static const int32_t positions[kTokens] = {0, 70000, 4097};
  mrrope_plan* from = llama2("mrrope-pro");
  mrrope_plan* to = llama2("yarn");
  float turned[kTokens * kHeads * kDim], fresh[kTokens * kHeads * kDim];
  for (int i = 0; i < kTokens * kHeads * kDim; ++i) turned[i] = fresh[i] = (float)(i % 7) / 8.0f;
  const mrrope_vectors keys = dense(turned, sizeof turned, kHeads, kDim), wanted = dense(fresh, sizeof fresh, kHeads, kDim);
  CHECK(mrrope_rotate(from, 0, positions, kTokens, &keys) == MRROPE_OK);
  CHECK(mrrope_re_rotate(from, to, 0, positions, kTokens, &keys) == MRROPE_OK);
  CHECK(mrrope_rotate(to, 0, positions, kTokens, &wanted) == MRROPE_OK);
  /* Three rotations of pairs no longer than 1.1 times the scale of 1.28, each within 4e-7 */
  for (int i = 0; i < kTokens * kHeads * kDim; ++i) CHECK(fabs(turned[i] - fresh[i]) < 3 * 4e-7 * 1.1 * 1.28);
  CHECK(mrrope_re_rotate(NULL, to, 0, positions, 1, &keys) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_re_rotate(from, NULL, 0, positions, 1, &keys) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_re_rotate(from, to, 1, positions, 1, &keys) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_re_rotate(from, to, 0, positions, kTokens + 1, &keys) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_re_rotate(from, to, 0, NULL, 1, &keys) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_re_rotate(from, to, 0, positions, 1, NULL) == MRROPE_INVALID_ARGUMENT);
  mrrope_plan_free(from);
  mrrope_plan_free(to);
}

static void vectors_are_turned_by_the_table(void) {
  enum { kTokens = 3, kHeads = 2, kDim = 160 }; /* 32 coordinates of a head are not rotated */
  mrrope_plan* plan = llama2("mrrope-pro");
  static const int32_t positions[kTokens] = {0, 70000, -5};
  mrrope_group group;
  CHECK(mrrope_plan_group(plan, 0, &group) == MRROPE_OK);
  for (int32_t layout = MRROPE_HALF_SPLIT; layout <= MRROPE_INTERLEAVED; ++layout) {
    float memory[kTokens * kHeads * kDim + 1];
    for (int i = 0; i <= kTokens * kHeads * kDim; ++i) memory[i] = (float)(i % 7) / 8.0f;
    mrrope_vectors vectors = dense(memory, sizeof memory - sizeof *memory, kHeads, kDim);
    vectors.layout = layout;
    CHECK(mrrope_rotate(plan, 0, positions, kTokens, &vectors) == MRROPE_OK);
    for (int t = 0; t < kTokens; ++t) {
      for (int h = 0; h < kHeads; ++h) {
        const int start = (t * kHeads + h) * kDim;
        for (int i = 0; i < 64; ++i) {
          const int x = start + (layout == MRROPE_HALF_SPLIT ? i : 2 * i);
          const int y = layout == MRROPE_HALF_SPLIT ? x + 64 : x + 1;
          const double angle = positions[t] * group.inv_freq[i], old_x = (x % 7) / 8.0, old_y = (y % 7) / 8.0;
          /* docs/rotary.md: 4e-7 of a pair of length 1, times the scale; these are no longer than 1.1 */
          const double error =
              4e-7 * 1.1 * group.attention_scale + 1e-10; /* and the angle above, a product of doubles */
          CHECK(fabs(memory[x] - group.attention_scale * (old_x * cos(angle) - old_y * sin(angle))) < error);
          CHECK(fabs(memory[y] - group.attention_scale * (old_x * sin(angle) + old_y * cos(angle))) < error);
        }
        for (int i = start + 128; i < start + kDim; ++i) CHECK(memory[i] == (float)(i % 7) / 8.0f);
      }
    }
    CHECK(memory[kTokens * kHeads * kDim] == (float)(kTokens * kHeads * kDim % 7) / 8.0f);
  }
  mrrope_plan_free(plan);
}

static void sizes_that_do_not_fit_are_refused_and_nothing_is_touched(void) {
  mrrope_plan* plan = llama2("mrrope-pro");
  static const int32_t positions[2] = {1, 2};
  float memory[4 * 128];
  for (int i = 0; i < 4 * 128; ++i) memory[i] = 1;
  const mrrope_vectors good = dense(memory, sizeof memory, 2, 128);
  mrrope_vectors bad[14];
  for (int i = 0; i < 14; ++i) bad[i] = good;
  bad[0].size -= 1;
  bad[1].size = 0;
  bad[2].heads = 0;
  bad[3].heads = SIZE_MAX;
  bad[4].head_dim = 126;
  bad[5].head_dim = SIZE_MAX;
  bad[6].head_stride = SIZE_MAX / 2 + 1; /* twice that is 0 */
  bad[7].token_stride = SIZE_MAX - 255;
  bad[8].token_stride = 257;
  bad[9].type = 3;
  bad[10].type = -1;
  bad[11].layout = 2;
  bad[12].data = (char*)memory + 1;
  bad[13].heads = SIZE_MAX / 128 + 2;
  for (int i = 0; i < 14; ++i) {
    CHECK(mrrope_rotate(plan, 0, positions, 2, &bad[i]) == MRROPE_INVALID_ARGUMENT);
    CHECK(strncmp(mrrope_last_error(), "vectors.", 8) == 0);
  }
  CHECK(mrrope_rotate(plan, 0, positions, SIZE_MAX, &good) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_rotate(plan, 0, positions, 3, &good) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_rotate(plan, 1, positions, 2, &good) == MRROPE_INVALID_ARGUMENT);
  mrrope_group group;
  CHECK(mrrope_plan_group(plan, 1, &group) == MRROPE_INVALID_ARGUMENT);
  CHECK(mrrope_plan_group(plan, SIZE_MAX, &group) == MRROPE_INVALID_ARGUMENT);
  for (int i = 0; i < 4 * 128; ++i) CHECK(memory[i] == 1);

  mrrope_vectors none = good; /* no tokens, no memory */
  none.data = NULL;
  none.size = 0;
  CHECK(mrrope_rotate(plan, 0, NULL, 0, &none) == MRROPE_OK);
  CHECK(mrrope_rotate(plan, 0, positions, 2, &good) == MRROPE_OK);
  CHECK(memory[0] != 1);
  mrrope_plan_free(plan);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  CHECK(mrrope_last_error()[0] == '\0');
  CHECK(strchr(mrrope_version(), '.') != NULL);
  null_is_refused_everywhere();
  numbers_outside_their_ranges_are_refused();
  methods_that_do_not_exist_are_refused_with_a_word();
  a_call_that_succeeds_leaves_the_last_error_alone();
  garbage_is_no_model();
  a_config_json_is_read_with_the_scaling_of_the_model();
  a_gguf_is_read_whole_or_by_its_first_bytes(argv[1]);
  json_leads_to_the_same_plan_and_back();
  vectors_are_turned_by_the_table();
  keys_of_one_plan_become_those_of_another();
  sizes_that_do_not_fit_are_refused_and_nothing_is_touched();
  if (failures == 0) printf("all promises kept\n");
  return failures == 0 ? 0 : 1;
}
