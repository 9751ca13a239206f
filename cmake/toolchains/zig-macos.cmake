# SPDX-License-Identifier: MIT
# macOS on Apple's processors with zig's clang, which carries the headers of the system; its programs run nowhere here.
# The compiler is that of tools/engine_env zig.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../../tools/engine_env zig OUTPUT_VARIABLE mrrope_zig
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_C_COMPILER ${mrrope_zig} -m ziglang cc -target aarch64-macos)
set(CMAKE_CXX_COMPILER ${mrrope_zig} -m ziglang c++ -target aarch64-macos)
set(CMAKE_CXX_COMPILER_LAUNCHER "")  # zig has a cache of its own, and ccache does not understand the call
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # to link one program, zig would first compile all of libc++
set(CMAKE_INSTALL_NAME_TOOL install_name_tool)  # CMake wants one; nothing is installed
# GNU ar makes archives that nothing links with objects of macOS
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "${mrrope_zig} -m ziglang ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()
set(CMAKE_FIND_ROOT_PATH /nowhere)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
