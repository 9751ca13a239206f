# SPDX-License-Identifier: MIT
# Libraries come from the system where it has them (Debian 12: nlohmann-json3-dev libfmt-dev libhwy-dev libxxhash-dev
# libcli11-dev libgtest-dev libbenchmark-dev zlib1g-dev); otherwise most are fetched at the pinned tag. None of them appears
# in an installed header. A consumer needs two of them, and only to link: zlib and Highway (cmake/install.cmake).
include(FetchContent)

FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.2 GIT_SHALLOW ON
                     FIND_PACKAGE_ARGS 3.11)
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0 GIT_SHALLOW ON
                     FIND_PACKAGE_ARGS 9)
FetchContent_Declare(hwy GIT_REPOSITORY https://github.com/google/highway.git GIT_TAG 1.0.3 GIT_SHALLOW ON
                     FIND_PACKAGE_ARGS 1.0)
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
# xxHash is used as a header; its package has no CMake configuration everywhere.
find_path(MRROPE_XXHASH_DIR xxhash.h REQUIRED)
find_package(ZLIB REQUIRED)

if(MRROPE_BUILD_CLI)
  FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.1.2 GIT_SHALLOW ON
                       FIND_PACKAGE_ARGS 2.1)
  FetchContent_MakeAvailable(CLI11)
endif()

if(MRROPE_BUILD_TESTS)
  FetchContent_Declare(GTest GIT_REPOSITORY https://github.com/google/googletest.git GIT_TAG release-1.12.1
                       GIT_SHALLOW ON FIND_PACKAGE_ARGS 1.12)
  FetchContent_MakeAvailable(GTest)
endif()

if(MRROPE_BUILD_BENCH)
  FetchContent_Declare(benchmark GIT_REPOSITORY https://github.com/google/benchmark.git GIT_TAG v1.7.1 GIT_SHALLOW ON
                       FIND_PACKAGE_ARGS 1.7)
  set(BENCHMARK_ENABLE_TESTING OFF CACHE BOOL "")
  FetchContent_MakeAvailable(benchmark)
endif()

# A fetched project may have enabled C, in its folder only; targets of llama.cpp then ask for its features in ours.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("C" IN_LIST languages)
  enable_language(C)
endif()
