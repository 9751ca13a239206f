# SPDX-License-Identifier: MIT
# cpack -G DEB: the packages mrrope, libmrrope0 and libmrrope-dev, against the libraries of the Debian that builds them.
# The components are those of cmake/install.cmake; what Debian's policy wants besides (copyright, changelog, compressed
# manuals) is added in CPack's staging folders by cmake/debs_policy.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mrrope)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debs_policy.cmake)
set(CPACK_MRROPE_SOURCE ${PROJECT_SOURCE_DIR})  # for that script

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Debian's policy wants an address that is read. Who publishes packages sets theirs; this one can be nobody's (RFC 2606).
set(MRROPE_DEB_MAINTAINER "The mrrope authors <maintainers@mrrope.invalid>" CACHE STRING "Maintainer of Debian's packages")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${MRROPE_DEB_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")  # what is built on one version runs with the next

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME mrrope)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS ca-certificates)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "longer context for RoPE language models, without training
 mrrope stretches the rotary position embedding of a language model beyond its
 trained length, writes that into the file that an engine reads, says
 beforehand what each engine does with it, and measures what it is worth on
 servers.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmrrope${mrrope_c_abi})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "rotary tables of language models, shared library for C
 Plans of context extension, their tables of angular speeds, and the files that
 carry them (GGUF, config.json), for engines that read them by a C interface.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmrrope-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libmrrope${mrrope_c_abi} (= ${PROJECT_VERSION}-1), libhwy-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "rotary tables of language models, headers and static libraries
 For programs in C++ (mrrope::core, mrrope::mrrope) and in C (mrrope::c), by
 find_package(mrrope) or pkg-config.")
include(CPack)
