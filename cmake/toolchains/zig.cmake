# SPDX-License-Identifier: MIT
# Another system with zig's clang, which carries headers and libraries of all of them (tools/engine_env zig):
#
#   cmake … --toolchain cmake/toolchains/zig.cmake -DMRROPE_ZIG_TARGET=aarch64-linux-musl
#
# Targets of Linux are with musl, so that programs are static; arm64's run under qemu here, macOS's nowhere.
# MRROPE_ZIG_PREFIX: a folder with the target's libraries (tools/static_curl); nothing of the system that builds is found.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MRROPE_ZIG_TARGET MRROPE_ZIG_PREFIX)
if(NOT MRROPE_ZIG_TARGET MATCHES "^(x86_64|aarch64)-(linux-musl|macos)$")
  message(FATAL_ERROR "MRROPE_ZIG_TARGET: one of {x86_64,aarch64}-{linux-musl,macos}")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
set(CMAKE_SYSTEM_NAME Linux)
if(CMAKE_MATCH_2 STREQUAL "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_INSTALL_NAME_TOOL install_name_tool)  # CMake wants one; nothing is called
elseif(CMAKE_MATCH_1 STREQUAL "aarch64")
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR env)  # runs as it is
endif()

execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../../tools/zig --path OUTPUT_VARIABLE mrrope_zig
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# The first macOS of Apple's processors; by default zig asks for the one before the last
string(REGEX REPLACE "macos$" "macos.11.0" mrrope_zig_target ${MRROPE_ZIG_TARGET})
set(CMAKE_C_COMPILER ${mrrope_zig} cc -target ${mrrope_zig_target})
set(CMAKE_CXX_COMPILER ${mrrope_zig} c++ -target ${mrrope_zig_target})
set(CMAKE_CXX_COMPILER_LAUNCHER "")  # zig has a cache of its own, and ccache does not understand the call
# To link one program for a question of CMake, zig would first compile all of libc++, for minutes
if(NOT DEFINED CMAKE_TRY_COMPILE_TARGET_TYPE)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
endif()
set(mrrope_asks_for_pie YES)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(mrrope_asks_for_pie NO)  # every program is, and zig's linker does not know the option
endif()
foreach(answer PIE NO_PIE)
  set(CMAKE_CXX_LINK_${answer}_SUPPORTED ${mrrope_asks_for_pie} CACHE INTERNAL "")
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_RELEASE_INIT -s)  # the strip of this system does not know the others' files
# GNU ar makes archives that nothing links with objects of macOS
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "${mrrope_zig} ar qcD <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()
set(CMAKE_FIND_ROOT_PATH ${MRROPE_ZIG_PREFIX} /nowhere)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
