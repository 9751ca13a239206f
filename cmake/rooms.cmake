# SPDX-License-Identifier: MIT
# One library per folder of src/ (a room), linked along the direction in which includes may point (docs/architecture.md).

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  include(CheckCXXSymbolExists)
  check_cxx_symbol_exists(renameat2 stdio.h MRROPE_HAS_RENAMEAT2)
  if(NOT MRROPE_HAS_RENAMEAT2)
    file(GLOB files_of_linux src/files/linux/*.cpp)
    set_source_files_properties(${files_of_linux} PROPERTIES
                                COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/cmake/renameat2.h")
  endif()
endif()

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# A mistake of ours in reading a stranger's file ends the program; it is not a way in. tests/hardening/checksec.py reads
# the result. The checks of _GLIBCXX_ASSERTIONS are those of [] and front(), in the optimised build, too.
function(mrrope_harden target)
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  if(MRROPE_ZIG_TARGET)  # the same of libc++, which zig switches off
    target_compile_options(${target} PRIVATE -U_LIBCPP_HARDENING_MODE -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_FAST)
  endif()
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")  # what follows is of ELF, glibc and Linux's stack
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -fcf-protection)
  endif()
  if(NOT MRROPE_SANITIZE AND NOT MRROPE_BUILD_FUZZERS)  # the sanitizers' own checks are of the same calls
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
  endif()
  target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
endfunction()

# Flags shared by everything we compile. No contraction and no fast-math: theory is checked to the ulp, and the same
# plan must come out of every compiler.
function(mrrope_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
                                           -Wmissing-declarations -ffp-contract=off)
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

# mrrope_sees(TARGET room …): lets the sources of TARGET include what these rooms show, and nothing of others.
function(mrrope_sees target)
  foreach(room IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/rooms/${room})
  endforeach()
endfunction()

# mrrope_room(NAME [HEADERS a.h …] [NEEDS room …] [USES library …]): the sources in src/NAME are the target mrrope_NAME.
#
# A room shows its own files and the HEADERS of include/mrrope that are its. Its include path is a folder of links to
# them, build/rooms/NAME, so that an include of a room that is not in NEEDS does not compile. USES are libraries of
# others. tests/architecture reads the calls of this function.
function(mrrope_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;NEEDS;USES")
  set(shown ${PROJECT_BINARY_DIR}/rooms/${name})
  file(REMOVE_RECURSE ${shown}/mrrope)
  file(MAKE_DIRECTORY ${shown}/mrrope)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${shown}/${name} SYMBOLIC)
  list(TRANSFORM arg_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/mrrope/)
  foreach(header IN LISTS arg_HEADERS)
    cmake_path(GET header FILENAME file)
    file(CREATE_LINK ${header} ${shown}/mrrope/${file} SYMBOLIC)
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  # src/files has two implementations of its headers
  set(other_systems linux)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(other_systems elsewhere)
  endif()
  file(GLOB_RECURSE left_out ${PROJECT_SOURCE_DIR}/src/${name}/${other_systems}/*.cpp)
  if(left_out)
    list(REMOVE_ITEM sources ${left_out})
  endif()
  add_library(mrrope_${name} OBJECT ${sources})
  mrrope_sees(mrrope_${name} ${name} ${arg_NEEDS})
  target_link_libraries(mrrope_${name} PRIVATE mrrope_fmt nlohmann_json::nlohmann_json ${arg_USES})
  set_target_properties(mrrope_${name} PROPERTIES mrrope_headers "${arg_HEADERS}")
  mrrope_compile_options(mrrope_${name})
endfunction()

# mrrope_library(NAME room …): these rooms as one library that is installed, mrrope::NAME.
function(mrrope_library name)
  set(target mrrope_${name})
  if(name STREQUAL "mrrope")
    set(target mrrope)
  endif()
  set(objects)
  foreach(room IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:mrrope_${room}>)
    get_target_property(headers mrrope_${room} mrrope_headers)
    set_property(GLOBAL APPEND PROPERTY mrrope_installed_headers ${headers})
  endforeach()
  add_library(${target} ${objects})
  add_library(mrrope::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
