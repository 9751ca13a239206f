/* SPDX-License-Identifier: MIT
 *
 * Every allocation fails once: the call says MRROPE_OUT_OF_MEMORY, nothing is lost, and the next call works.
 *
 *   memory_test MODEL.gguf
 *
 * malloc and its kin are this program's, and count. Functions that read or write JSON are not here: the destructor of
 * nlohmann::json takes memory and may not throw, so that they end the process where there is none at that moment
 * (docs/c-api.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrrope/c.h"

extern void* __libc_malloc(size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void __libc_free(void* block);

static long until_failure = -1; /* negative: none fails */
static long alive = 0;

static int fails(void) { return until_failure >= 0 && until_failure-- == 0; }

void* malloc(size_t size) {
  void* block = fails() ? NULL : __libc_malloc(size);
  if (block != NULL) ++alive;
  return block;
}
void* calloc(size_t count, size_t size) {
  void* block = fails() ? NULL : __libc_calloc(count, size);
  if (block != NULL) ++alive;
  return block;
}
void* realloc(void* block, size_t size) {
  if (fails()) return NULL;
  void* moved = __libc_realloc(block, size);
  if (block == NULL && moved != NULL) ++alive;
  return moved;
}
void free(void* block) {
  if (block != NULL) --alive;
  __libc_free(block);
}

static unsigned char* gguf;
static size_t gguf_size;
static mrrope_spec* spec;
static mrrope_plan* plan;

static int from_numbers(void) {
  mrrope_spec* made = NULL;
  const int status = mrrope_spec_from_numbers(128, 10000, 4096, &made);
  mrrope_spec_free(made);
  return status;
}
static int from_gguf(void) {
  mrrope_spec* made = NULL;
  const int status = mrrope_spec_from_model(gguf, gguf_size, &made);
  mrrope_spec_free(made);
  return status;
}
static int make(void) {
  mrrope_plan* made = NULL;
  const int status = mrrope_plan_make(spec, 65536, "yarn:beta_fast=16+resonance", 0, &made);
  mrrope_plan_free(made);
  return status;
}
static int rotate(void) {
  static float head[128];
  static const int32_t position = 9;
  const mrrope_vectors vectors = {head, sizeof head, MRROPE_F32, MRROPE_HALF_SPLIT, 1, 128, 0, 0};
  return mrrope_rotate(plan, 0, &position, 1, &vectors);
}

/* How many allocations the call makes, each of which has failed once; -1: one of them was not reported, or lost memory.
 */
static long survives(const char* name, int (*call)(void)) {
  if (call() != MRROPE_OK) return -1; /* what is allocated once, is now */
  for (long n = 0;; ++n) {
    const long before = alive;
    until_failure = n;
    const int status = call();
    const int failed = until_failure < 0;
    until_failure = -1;
    if (alive != before) {
      printf("%s: %ld blocks lost when allocation %ld fails\n", name, alive - before, n);
      return -1;
    }
    if (!failed) return status == MRROPE_OK ? n : -1;
    if (status != MRROPE_OUT_OF_MEMORY || strstr(mrrope_last_error(), "memory") == NULL) {
      printf("%s: status %d (%s) when allocation %ld fails\n", name, status, mrrope_last_error(), n);
      return -1;
    }
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*call)(void);
    long least; /* allocations, so that the test is known to bite */
  } calls[] = {
      {"from_numbers", from_numbers, 2}, {"from_gguf", from_gguf, 20}, {"make", make, 10}, {"rotate", rotate, 0}};
  setvbuf(stdout, NULL, _IONBF, 0); /* no buffer of its own */
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) return 2;
  gguf = malloc(gguf_size = 1 << 20);
  if (gguf == NULL) return 2;
  gguf_size = fread(gguf, 1, gguf_size, file);
  fclose(file);
  if (mrrope_spec_from_numbers(128, 10000, 4096, &spec) != MRROPE_OK ||
      mrrope_plan_make(spec, 65536, "mrrope-pro", 0, &plan) != MRROPE_OK) {
    return 2;
  }
  int status = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    const long count = survives(calls[i].name, calls[i].call);
    printf("%-13s %5ld allocations\n", calls[i].name, count);
    if (count < calls[i].least || (calls[i].least == 0 && count != 0)) status = 1;
  }
  return status;
}
