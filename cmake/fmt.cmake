# SPDX-License-Identifier: MIT
# mrrope_fmt: fmt's headers for everything of ours that formats, with their code compiled once.
#
# A fetched fmt is a static library that does so. Of an installed one we take the headers: its library is shared, and
# whoever links mrrope would need it. src/base/fmt.cpp compiles what they leave open, of fmt 9; others are header-only.
add_library(mrrope_fmt INTERFACE)
get_target_property(fmt_imported fmt::fmt IMPORTED)
if(fmt_imported AND fmt_VERSION VERSION_LESS 10)
  target_include_directories(mrrope_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  set_source_files_properties(src/base/fmt.cpp PROPERTIES HEADER_FILE_ONLY ON)  # not compiled
  target_link_libraries(mrrope_fmt INTERFACE $<IF:$<BOOL:${fmt_imported}>,fmt::fmt-header-only,fmt::fmt>)
endif()
