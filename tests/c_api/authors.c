/* SPDX-License-Identifier: MIT
 *
 * The tables of the paper's authors from plain C: an engine that wants 64 numbers.
 *
 *   authors_test.py authors      gives a table per line on stdin: MODEL METHOD DIM BASE TRAINED TARGET SCALE PAIRS
 * SPEED...
 *
 * Prints how many were reproduced; status 1 at the first that was not. */
#include <math.h>
#include <stdio.h>

#include "mrrope/c.h"

/* 1 if the plan's table is the one that follows on stdin. */
static int same_table(const mrrope_plan* plan, double scale, size_t pairs) {
  mrrope_group group;
  if (mrrope_plan_group_count(plan) != 1 || mrrope_plan_group(plan, 0, &group) != MRROPE_OK) return 0;
  if (group.pairs != pairs || group.layer_count != 0 || fabs(group.attention_scale - scale) > 1e-12) return 0;
  for (size_t i = 0; i < pairs; ++i) {
    double expected;
    /* The authors compute in float32: tests/theory/authors_test.cpp */
    if (scanf("%lf", &expected) != 1 || !(fabs(group.inv_freq[i] - expected) <= 5e-7 * expected)) return 0;
  }
  return 1;
}

int main(void) {
  char model[64], method[64];
  int dim, tables = 0;
  double base, scale;
  long long trained, target;
  size_t pairs;
  while (scanf("%63s %63s %d %lf %lld %lld %lf %zu", model, method, &dim, &base, &trained, &target, &scale, &pairs) ==
         8) {
    mrrope_spec* spec = NULL;
    mrrope_plan* plan = NULL;
    int status = mrrope_spec_from_numbers(dim, base, trained, &spec);
    if (status == MRROPE_OK) status = mrrope_plan_make(spec, target, method, 0, &plan);
    mrrope_spec_free(spec); /* the plan lives on */
    if (status != MRROPE_OK || !same_table(plan, scale, pairs)) {
      printf("%s %s to %lld: %s\n", model, method, target, status != MRROPE_OK ? mrrope_last_error() : "another table");
      mrrope_plan_free(plan);
      return 1;
    }
    mrrope_plan_free(plan);
    ++tables;
  }
  printf("%d tables\n", tables);
  return 0;
}
