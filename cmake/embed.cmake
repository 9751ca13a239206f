# SPDX-License-Identifier: MIT
# How the assembler is told to take a file as it is (cmake/report.cmake, cmake/deploy.cmake): macOS has another name for the
# section of constants, puts "_" before what C calls a symbol, and cannot go back to the section before.
set(mrrope_constants ".section .rodata")
set(mrrope_after_constants ".previous")
set(mrrope_symbol "")
if(APPLE)
  set(mrrope_constants ".section __TEXT,__const")
  set(mrrope_after_constants ".text")
  set(mrrope_symbol "_")
elseif(WIN32)
  set(mrrope_constants ".section .rdata,\\\"dr\\\"")
  set(mrrope_after_constants ".text")
endif()
