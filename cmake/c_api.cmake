# SPDX-License-Identifier: MIT
# libmrrope_c.so: mrrope/c.h and the rooms behind it in one library that shows nothing else (docs/c-api.md). Highway's
# library and that of C++ are the system's. The name differs from libmrrope.a, because -lmrrope would take a .so first.
mrrope_room(c_api HEADERS c.h NEEDS formats files rotary plan theory base)
set_target_properties(mrrope_c_api PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

# An archive, so that the linker takes what is used and leaves the rest.
add_library(mrrope_c_rooms STATIC $<TARGET_OBJECTS:mrrope_base> $<TARGET_OBJECTS:mrrope_theory>
                                  $<TARGET_OBJECTS:mrrope_plan> $<TARGET_OBJECTS:mrrope_rotary>
                                  $<TARGET_OBJECTS:mrrope_files> $<TARGET_OBJECTS:mrrope_formats>)
target_link_libraries(mrrope_c_rooms INTERFACE hwy::hwy)

file(STRINGS include/mrrope/c.h abi_line REGEX "define MRROPE_C_ABI ")
string(REGEX MATCH "[0-9]+" mrrope_c_abi "${abi_line}")
set(symbols ${PROJECT_SOURCE_DIR}/src/c_api/mrrope.map)
add_library(mrrope_c SHARED $<TARGET_OBJECTS:mrrope_c_api>)
add_library(mrrope::c ALIAS mrrope_c)
target_include_directories(mrrope_c PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(mrrope_c PRIVATE mrrope_c_rooms mrrope_fmt)
target_link_options(mrrope_c PRIVATE LINKER:--version-script=${symbols} LINKER:--as-needed)
set_target_properties(mrrope_c PROPERTIES EXPORT_NAME c VERSION ${PROJECT_VERSION} SOVERSION ${mrrope_c_abi}
                      LINKER_LANGUAGE CXX INSTALL_RPATH "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                      LINK_DEPENDS ${symbols})
mrrope_compile_options(mrrope_c)
set_property(GLOBAL APPEND PROPERTY mrrope_installed_headers ${PROJECT_SOURCE_DIR}/include/mrrope/c.h)
