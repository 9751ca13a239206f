# SPDX-License-Identifier: MIT
# mrrope_fmt: fmt's headers for everything of ours that formats, with their code compiled once.
#
# We take the headers: an installed library is shared, and whoever links mrrope would need it; a fetched one would have to
# be installed with mrrope. src/base/fmt.cpp compiles what they leave open, of fmt 9, which is fetched; others are
# header-only.
add_library(mrrope_fmt INTERFACE)
get_target_property(fmt_imported fmt::fmt IMPORTED)
if(fmt_imported AND fmt_VERSION VERSION_GREATER_EQUAL 10)
  set_source_files_properties(src/base/fmt.cpp PROPERTIES HEADER_FILE_ONLY ON)  # not compiled
  target_link_libraries(mrrope_fmt INTERFACE fmt::fmt-header-only)
else()
  target_include_directories(mrrope_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
