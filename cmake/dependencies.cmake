# SPDX-License-Identifier: MIT
# Libraries come from the system where it has them (Debian 12: nlohmann-json3-dev libfmt-dev libhwy-dev libxxhash-dev
# libcli11-dev libgtest-dev libbenchmark-dev zlib1g-dev); otherwise most are fetched at the pinned tag, which has to be
# the pinned commit. None of them appears in an installed header. A consumer needs two of them, and only to link: zlib
# and Highway (cmake/install.cmake).
include(FetchContent)

# mrrope_declare(NAME REPOSITORY TAG COMMIT find_package arguments…)
function(mrrope_declare name repository tag commit)
  FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${tag} GIT_SHALLOW ON
                       PATCH_COMMAND ${CMAKE_COMMAND} -DCOMMIT=${commit}
                                     -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_commit.cmake
                       FIND_PACKAGE_ARGS ${ARGN})
  set_property(GLOBAL PROPERTY mrrope_tag_${name} ${tag})  # for cmake/sbom.cmake
endfunction()

mrrope_declare(nlohmann_json nlohmann/json v3.11.2 bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d 3.11)
mrrope_declare(fmt fmtlib/fmt 9.1.0 a33701196adfad74917046096bf5a2aa0ab0bb50 9)
mrrope_declare(hwy google/highway 1.0.3 58746ca5b9f9444a2a3549704602ecc6239f8f41 1.0)
FetchContent_MakeAvailable(nlohmann_json fmt)
# Of a fetched Highway the library alone, and its installation: who links a static mrrope needs it. In a block with these
# policies plain variables hold against its options, and BUILD_TESTING of the project around us stays as it is.
block()
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(HWY_ENABLE_CONTRIB OFF)
  set(HWY_ENABLE_EXAMPLES OFF)
  set(HWY_ENABLE_TESTS OFF)
  set(BUILD_TESTING OFF)
  FetchContent_MakeAvailable(hwy)
endblock()
if(NOT TARGET hwy::hwy)  # the name of an installed one
  add_library(hwy::hwy ALIAS hwy)
endif()
# Warnings of fetched headers are not ours; those of installed ones are silent already.
foreach(fetched nlohmann_json hwy)
  if(TARGET ${fetched})
    set_target_properties(${fetched} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
                                                $<TARGET_PROPERTY:${fetched},INTERFACE_INCLUDE_DIRECTORIES>)
  endif()
endforeach()
# xxHash is used as a header; its package has no CMake configuration everywhere.
find_path(MRROPE_XXHASH_DIR xxhash.h REQUIRED)
add_library(mrrope_xxhash INTERFACE)
target_include_directories(mrrope_xxhash SYSTEM INTERFACE ${MRROPE_XXHASH_DIR})
if(NOT MRROPE_CORE_ONLY)
  find_package(ZLIB REQUIRED)
endif()

if(MRROPE_BUILD_CLI)
  mrrope_declare(CLI11 CLIUtils/CLI11 v2.1.2 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3 2.1)
  FetchContent_MakeAvailable(CLI11)
endif()

if(MRROPE_BUILD_TESTS)
  mrrope_declare(GTest google/googletest release-1.12.1 58d77fa8070e8cec2dc1ed015d66b454c8d78850 1.12)
  FetchContent_MakeAvailable(GTest)
endif()

if(MRROPE_BUILD_BENCH)
  mrrope_declare(benchmark google/benchmark v1.7.1 d572f4777349d43653b21d6c2fc63020ab326db2 1.7)
  set(BENCHMARK_ENABLE_TESTING OFF CACHE BOOL "")
  FetchContent_MakeAvailable(benchmark)
endif()

# A fetched project may have enabled C, in its folder only; targets of llama.cpp then ask for its features in ours.
# Programs of tests/c_api are in C.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("C" IN_LIST languages OR MRROPE_BUILD_TESTS)
  enable_language(C)
endif()
