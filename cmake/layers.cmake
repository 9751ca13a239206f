# SPDX-License-Identifier: MIT
# One target per folder of src/, linked along the direction in which includes may point (docs/architecture.md).

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# A mistake of ours in reading a stranger's file ends the program; it is not a way in. tests/hardening/checksec.py reads
# the result. The checks of _GLIBCXX_ASSERTIONS are those of [] and front(), in the optimised build, too.
function(mrrope_harden target)
  target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -fcf-protection)
  endif()
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  if(NOT MRROPE_SANITIZE AND NOT MRROPE_BUILD_FUZZERS)  # the sanitizers' own checks are of the same calls
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
  endif()
  target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
endfunction()

# Flags shared by everything we compile. No contraction and no fast-math: theory is checked to the ulp, and the same
# plan must come out of every compiler.
function(mrrope_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
                                           -ffp-contract=off)
  mrrope_harden(${target})
  # gcc 12 sees overlapping copies in std::string concatenation where there are none (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(MRROPE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(MRROPE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# What runs once is compiled for the person who waits for the build, not for speed.
function(mrrope_compile_lightly target)
  mrrope_compile_options(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# mrrope_layer(NAME SOURCES a.cpp … [DEPENDS layer …]): the objects of src/NAME, to be bundled into the library.
set(mrrope_layer_objects)
function(mrrope_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_library(mrrope_${name} OBJECT ${arg_SOURCES})
  target_include_directories(mrrope_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(mrrope_${name} PRIVATE fmt::fmt-header-only nlohmann_json::nlohmann_json)
  foreach(dependency IN LISTS arg_DEPENDS)
    add_dependencies(mrrope_${name} mrrope_${dependency})
  endforeach()
  mrrope_compile_options(mrrope_${name})
  set(mrrope_layer_objects ${mrrope_layer_objects} $<TARGET_OBJECTS:mrrope_${name}> PARENT_SCOPE)
endfunction()
