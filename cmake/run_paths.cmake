# SPDX-License-Identifier: MIT
# Where programs find shared libraries that are not the system's: beside themselves, and nowhere else.
#
# CMake's own run paths of a build folder name the folders of whoever builds, and are padded with an empty element, which
# means the current folder: a libcurl.so.4 beside a stranger's model would be run. So the run path of the build is that of
# the installation, both begin at the program ($ORIGIN), and tests/hardening/checksec.py reads it in every file.
#
#   build     build/release/mrrope-eval   build/release/lib/libllama.so           (links)
#   install   bin/mrrope-eval             lib/mrrope/lib/libllama.so              (copies)
#
# llama.cpp's libraries look for each other in $ORIGIN/../lib: hence the last folder's name.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib")
if(BUILD_SHARED_LIBS)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endif()
set(mrrope_private_libdir ${CMAKE_INSTALL_LIBDIR}/mrrope/lib)

# mrrope_installed_run_path(TARGET): that of a program which is installed, too.
function(mrrope_installed_run_path target)
  set(bin ${CMAKE_INSTALL_FULL_BINDIR})
  file(RELATIVE_PATH private ${bin} ${CMAKE_INSTALL_FULL_LIBDIR}/mrrope/lib)
  set(paths "$ORIGIN/lib" "$ORIGIN/${private}")
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH public ${bin} ${CMAKE_INSTALL_FULL_LIBDIR})
    list(APPEND paths "$ORIGIN/${public}")
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${paths}")
endfunction()

# mrrope_bring_libraries(FOLDER): the libraries of llama.cpp in FOLDER, into the build and the installation. Not those of
# the system, which every program finds.
function(mrrope_bring_libraries folder)
  if(folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    return()
  endif()
  file(GLOB libraries ${folder}/libllama.so* ${folder}/libggml*.so*)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  foreach(library IN LISTS libraries)
    cmake_path(GET library FILENAME name)
    file(CREATE_LINK ${library} ${PROJECT_BINARY_DIR}/lib/${name} SYMBOLIC)
  endforeach()
  if(MRROPE_BUILD_CLI)
    install(FILES ${libraries} DESTINATION ${mrrope_private_libdir})
  endif()
endfunction()
