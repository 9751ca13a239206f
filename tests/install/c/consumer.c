/* SPDX-License-Identifier: MIT
 * The example of docs/c-api.md, built against the installed package by CMake and by pkg-config. */
#include <mrrope/c.h>
#include <stdio.h>

int main(void) {
  mrrope_spec* spec = NULL;
  mrrope_plan* plan = NULL;
  mrrope_group all;
  int status = mrrope_spec_from_numbers(128, 10000.0, 4096, &spec);                        /* Llama 2 */
  if (status == MRROPE_OK) status = mrrope_plan_make(spec, 65536, "mrrope-pro", 0, &plan); /* 4K -> 64K */
  if (status == MRROPE_OK) status = mrrope_plan_group(plan, 0, &all);
  if (status == MRROPE_OK) {
    printf("%zu pairs, attention scale %.4f\n", all.pairs, all.attention_scale);
    printf("slowest pair: %.3g rad per token\n", all.inv_freq[all.pairs - 1]);
  } else {
    fprintf(stderr, "%s\n", mrrope_last_error());
  }
  mrrope_plan_free(plan);
  mrrope_spec_free(spec);
  return status;
}
