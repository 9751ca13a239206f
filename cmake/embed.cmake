# SPDX-License-Identifier: MIT
# mrrope_embed(SOURCE file …): SOURCE lets the assembler read these files (.incbin), of which neither the build nor a store of
# objects (zig's, ccache) would know: the object depends on them, and their checksum is part of the command that makes it.
function(mrrope_embed source)
  set(sums)
  foreach(file IN LISTS ARGN)
    file(SHA256 ${file} sum)
    string(APPEND sums ${sum})
  endforeach()
  string(SHA256 sums "${sums}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}" COMPILE_DEFINITIONS MRROPE_EMBEDDED_${sums})
endfunction()

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
