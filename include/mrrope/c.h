/* SPDX-License-Identifier: MIT
 *
 * mrrope in C: the tables of a longer context for an engine in any language. One header, one library (libmrrope_c).
 *
 *   mrrope_spec *spec = NULL;
 *   mrrope_plan *plan = NULL;
 *   mrrope_group all;
 *   if (mrrope_spec_from_numbers(128, 10000.0, 4096, &spec) != MRROPE_OK ||             // Llama 2; or _from_model
 *       mrrope_plan_make(spec, 65536, "mrrope-pro", 0, &plan) != MRROPE_OK ||           // 4K -> 64K
 *       mrrope_plan_group(plan, 0, &all) != MRROPE_OK) {
 *     fprintf(stderr, "%s\n", mrrope_last_error());
 *   } else {
 *     use(all.inv_freq, all.pairs, all.attention_scale);                                // 64 radians per token
 *   }
 *   mrrope_plan_free(plan);
 *   mrrope_spec_free(spec);
 *
 * Holds for every function
 *   status      MRROPE_OK (0), or what kind of thing went wrong; mrrope_last_error() says it in a sentence
 *   arguments   anything may be NULL, NaN, negative or huge: it is refused. Pointers that are not NULL point to what
 *               their sizes say; this is all that is trusted. Bytes and texts may come from anywhere
 *   results     are written on success only; of a handle that could not be made, NULL
 *   ownership   a handle belongs to the caller until its _free; what a handle shows lives as long as the handle.
 *               Arguments are copied
 *   threads     handles never change once made: any number of threads may use one. The only state is the last error,
 *               one per thread
 *   effects     none: nothing is printed, no file is read, no exception comes out; environment and locale do not matter
 *   memory      that runs out is MRROPE_OUT_OF_MEMORY; in functions that read or write JSON the process may end
 *   numbers     the same arguments give the same tables, byte for byte on one machine and within 1e-12 on any other
 *
 * docs/c-api.md: how to build, and what a change of this interface means. Methods and their spelling: `mrrope methods`.
 */
#ifndef MRROPE_C_H
#define MRROPE_C_H

#include <stddef.h>
#include <stdint.h>

/* The number in libmrrope_c.so.N. It grows when a program that was built with an older header could break. */
#define MRROPE_C_ABI 0

#if defined(__GNUC__)
#define MRROPE_C_API __attribute__((visibility("default")))
#else
#define MRROPE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Later versions may add some: treat an unknown status as a failure. */
enum {
  MRROPE_OK = 0,
  MRROPE_INVALID_ARGUMENT = 1, /* a value outside its documented range */
  MRROPE_MALFORMED = 2,        /* text or bytes that do not follow their format */
  MRROPE_INCONSISTENT = 3,     /* fields that contradict each other */
  MRROPE_UNSUPPORTED = 4,      /* valid, but not something this library can do */
  MRROPE_OUT_OF_MEMORY = 5,
  MRROPE_INTERNAL = 6 /* a mistake of ours; please report it */
};

/* What the last call that failed on this thread found, in English and UTF-8: "groups[0].base: expected a base above 1
 * and up to 1e15, found 0.5". Never NULL; empty before the first failure; cut after 1023 bytes. A call that succeeds
 * leaves it alone. Valid until the next call that fails on this thread. */
MRROPE_C_API const char* mrrope_last_error(void);

/* "0.2.0": of the library that was loaded, which need not be the one of this header. */
MRROPE_C_API const char* mrrope_version(void);

/* ---- Spec: what a model was trained with ------------------------------------------------------------------------- */

typedef struct mrrope_spec mrrope_spec;

/* A plain model, all of whose layers rotate alike.
 *
 * rotary_dim       rotated coordinates per head, even, 2 ... 8192
 * base             above 1, up to 1e15
 * context_trained  tokens, 7 ... 2^40 */
MRROPE_C_API int mrrope_spec_from_numbers(int32_t rotary_dim, double base, int64_t context_trained, mrrope_spec** spec);

/* What a model file says, in memory. The content decides what it is:
 *
 *   config.json   its text, UTF-8, at most 16 MiB; no terminating zero is needed. Every dialect of rope_scaling and
 *                 rope_parameters is understood
 *   GGUF          its first bytes: the header (at most 128 MiB) and, if the model has tensors of rotary factors (as
 *                 Llama 3.1 and Phi-3 have), up to their end; too few are MRROPE_MALFORMED. All of a mapped file will
 *                 do: only the header and the factors are read. The first of several shards is MRROPE_UNSUPPORTED,
 *                 because factors may lie in another
 *
 * A scaling of the model's own (Llama 3.1) is part of the spec, and plans compose with it. */
MRROPE_C_API int mrrope_spec_from_model(const void* bytes, size_t size, mrrope_spec** spec);

/* Tokens the model is good for without a plan, its own scaling included; 0 for NULL. */
MRROPE_C_API int64_t mrrope_spec_context_trained(const mrrope_spec* spec);

/* NULL is allowed. Plans made of the spec live on. */
MRROPE_C_API void mrrope_spec_free(mrrope_spec* spec);

/* ---- Plan: how it is extended ------------------------------------------------------------------------------------ */

typedef struct mrrope_plan mrrope_plan;

/* context_target  tokens, 1 ... 2^40, at most 2^20 times the trained length. Up to the trained length the factor is 1
 * method          a spelling such as "mrrope-pro", "yarn:beta_fast=16" or "none"; docs/theory.md has all
 * length          of methods with a table per length (dynamic-*, longrope): the length in use; 0: the target
 *
 * Cost: some microseconds for 64 pairs. */
MRROPE_C_API int mrrope_plan_make(const mrrope_spec* spec, int64_t context_target, const char* method, int64_t length,
                                  mrrope_plan** plan);

/* A plan file (docs/plan-file.md), such as `mrrope plan --json` writes: `size` bytes of UTF-8. Strict; its tables have
 * to be those of its method. */
MRROPE_C_API int mrrope_plan_from_json(const char* text, size_t size, mrrope_plan** plan);

/* The plan as a file, ending in a newline. *size becomes its bytes without the terminating zero, and the text is
 * written, with that zero, if it fits: size < capacity. Otherwise nothing is written, and that is no error: ask with
 * text NULL and capacity 0 first. mrrope_plan_from_json makes the same plan of it. */
MRROPE_C_API int mrrope_plan_to_json(const mrrope_plan* plan, char* text, size_t capacity, size_t* size);

/* Layers that share one table. Most models have one group; models with sliding windows (Gemma 3) have more, of which
 * the first is the one that is extended. */
typedef struct mrrope_group {
  const char* name;           /* "all", "global", "sliding_attention": UTF-8, for people */
  const int32_t* layers;      /* layer numbers, increasing */
  size_t layer_count;         /* 0: all layers that no other group names */
  size_t pairs;               /* rotated pairs per head: half of the rotated coordinates */
  const double* inv_freq;     /* radians per token, one per pair, the fastest first; 0: stands still */
  const double* pair_factors; /* base^(-i/pairs) / inv_freq[i]: what factor tensors hold; 1e30: stands still */
  double base;
  double attention_scale; /* multiplies cos and sin, of queries and of keys */
} mrrope_group;

/* 1 ... 16; 0 for NULL. */
MRROPE_C_API size_t mrrope_plan_group_count(const mrrope_plan* plan);

/* group: 0 ... mrrope_plan_group_count() - 1. The pointers live as long as the plan. */
MRROPE_C_API int mrrope_plan_group(const mrrope_plan* plan, size_t group, mrrope_group* out);

/* NULL is allowed. */
MRROPE_C_API void mrrope_plan_free(mrrope_plan* plan);

/* ---- Rotation: for engines that have none of their own ----------------------------------------------------------- */

/* mrrope_vectors.type */
enum { MRROPE_F32 = 0, MRROPE_F16 = 1, MRROPE_BF16 = 2 };

/* mrrope_vectors.layout: which coordinates are pair i of n */
enum {
  MRROPE_HALF_SPLIT = 0, /* i and n + i: Hugging Face models; ggml calls it NEOX */
  MRROPE_INTERLEAVED = 1 /* 2 i and 2 i + 1: the original RoPE, Llama in GGUF files; ggml calls it NORMAL */
};

/* Queries or keys (tokens, heads, head_dim) in memory. The coordinates of a head lie side by side. Set all of it to
 * zero first: 0 means the usual. */
typedef struct mrrope_vectors {
  void* data;          /* the first head of token 0, aligned for its type */
  size_t size;         /* bytes at data that may be read and written: nothing outside is touched */
  int32_t type;        /* MRROPE_F32, ... */
  int32_t layout;      /* MRROPE_HALF_SPLIT, ... */
  size_t heads;        /* at least 1 */
  size_t head_dim;     /* at least 2 * pairs; coordinates beyond these are left alone */
  size_t head_stride;  /* elements from one head to the next; 0: head_dim */
  size_t token_stride; /* elements from one token to the next; 0: heads * head_stride */
} mrrope_vectors;

/* Turns every pair of token t by positions[t] * inv_freq and multiplies it by the attention scale, in place; exact at
 * every position (docs/rotary.md: within 4e-7 of the exact rotation for f32). Heads must not overlap.
 *
 * positions  one per token; any, also negative, in any order
 *
 * Takes no memory. Threads share work by calls with tokens of their own. */
MRROPE_C_API int mrrope_rotate(const mrrope_plan* plan, size_t group, const int32_t* positions, size_t tokens,
                               const mrrope_vectors* vectors);

/* Makes keys that mrrope_rotate turned by `from` at these positions what `to` makes of them, in place, in one turn with
 * one rounding: a cache that follows a text from one rung of a ladder to the next (docs/start-engine.md). Two plans of
 * one model; otherwise as mrrope_rotate. */
MRROPE_C_API int mrrope_re_rotate(const mrrope_plan* from, const mrrope_plan* to, size_t group,
                                  const int32_t* positions, size_t tokens, const mrrope_vectors* keys);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MRROPE_C_H */
