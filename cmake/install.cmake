# SPDX-License-Identifier: MIT
# find_package(mrrope) and pkg-config mrrope: mrrope::core, for engines, and mrrope::mrrope, which has files and all that
# builds on them. Both bring along what has to be linked with static ones: Highway's library, and zlib for the second.
# find_package(mrrope COMPONENTS c) and pkg-config mrrope-c: mrrope::c, the shared library for C, which needs neither.
#
# Components: `program` is what archives and the package mrrope have (tools/release), `library` the shared one, and
# `development` what those need who build on us. Without --component all of it is installed.
include(CMakePackageConfigHelpers)
set(libraries_go LIBRARY COMPONENT library NAMELINK_COMPONENT development ARCHIVE COMPONENT development)

# Rooms that run models or ask servers are not part of the package: it would bring llama.cpp and libcurl along.
install(TARGETS mrrope_core EXPORT mrrope-targets ${libraries_go})
set(mrrope_links "-lmrrope_core")
set(mrrope_finds_zlib "")
if(TARGET mrrope)
  install(TARGETS mrrope EXPORT mrrope-targets ${libraries_go})
  install(FILES include/mrrope/mrrope.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mrrope COMPONENT development)
  set(mrrope_links "-lmrrope -lmrrope_core -lz")
  set(mrrope_finds_zlib "find_dependency(ZLIB)")
  install(TARGETS mrrope_c EXPORT mrrope-c-targets ${libraries_go})
  install(EXPORT mrrope-c-targets NAMESPACE mrrope:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrrope COMPONENT development)
  configure_file(cmake/mrrope-c.pc.in ${PROJECT_BINARY_DIR}/mrrope-c.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/mrrope-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
get_property(headers GLOBAL PROPERTY mrrope_installed_headers)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mrrope COMPONENT development)
install(EXPORT mrrope-targets NAMESPACE mrrope:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrrope COMPONENT development)
if(MRROPE_BUILD_CLI)
  set(share ${PROJECT_BINARY_DIR}/share)
  install(TARGETS mrrope_cli COMPONENT program)
  install(FILES ${share}/tiny-512.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/mrrope COMPONENT program)
  if(TARGET mrrope_eval_cli)
    install(TARGETS mrrope_eval_cli COMPONENT program)
  endif()
  if(TARGET mrrope_share)  # not where the program of another system cannot be run
    install(FILES ${share}/mrrope.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${share}/mrrope.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mrrope
            COMPONENT program)
    install(FILES ${share}/_mrrope DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
    install(FILES ${share}/mrrope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  endif()
  if(NOT MRROPE_BUILD_PYTHON)  # which has it beside the package
    include(cmake/sbom.cmake)
    install(FILES ${mrrope_sbom} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
  endif()
  if(TARGET mrrope_eval_share)
    install(FILES ${share}/mrrope-eval.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  endif()
endif()

configure_package_config_file(cmake/mrrope-config.cmake.in ${PROJECT_BINARY_DIR}/mrrope-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrrope)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mrrope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mrrope-config.cmake ${PROJECT_BINARY_DIR}/mrrope-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrrope COMPONENT development)

get_target_property(type mrrope_core TYPE)
set(mrrope_requires Requires.private)
if(type STREQUAL "STATIC_LIBRARY")
  set(mrrope_requires Requires)
endif()
configure_file(cmake/mrrope.pc.in ${PROJECT_BINARY_DIR}/mrrope.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mrrope.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
