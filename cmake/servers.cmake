# SPDX-License-Identifier: MIT
# mrrope::servers: asks OpenAI-compatible servers. A library of its own, because it needs libcurl and nothing else does.
#
#   MRROPE_SERVERS    AUTO (build it if libcurl is found), ON (it has to be), OFF
#
# 7.75 for CURLINFO_RETRY_AFTER and a POST of megabytes in one piece; Debian 12: libcurl4-openssl-dev.
set(MRROPE_SERVERS AUTO CACHE STRING "Build mrrope::servers: AUTO, ON or OFF")
set_property(CACHE MRROPE_SERVERS PROPERTY STRINGS AUTO ON OFF)

if(MRROPE_SERVERS)  # AUTO is true, too
  find_package(CURL 7.75 QUIET)
  if(NOT CURL_FOUND AND MRROPE_SERVERS STREQUAL "AUTO")
    message(STATUS "libcurl not found: no mrrope::servers")
  elseif(NOT CURL_FOUND)
    message(FATAL_ERROR "libcurl 7.75 or later not found. Install its development files, or set CURL_ROOT to an install "
                        "prefix of it, or -DMRROPE_SERVERS=OFF")
  endif()
endif()

if(MRROPE_SERVERS AND CURL_FOUND)
  add_library(mrrope_servers STATIC)
  add_library(mrrope::servers ALIAS mrrope_servers)
  set(sources server_api.cpp server_check.cpp server_excerpt.cpp server_health.cpp server_key.cpp server_run.cpp
              server_tokenize.cpp server_transfer.cpp server_url.cpp)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/runtime/)
  target_sources(mrrope_servers PRIVATE ${sources})
  target_include_directories(mrrope_servers PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(mrrope_servers PUBLIC mrrope PRIVATE CURL::libcurl fmt::fmt-header-only nlohmann_json::nlohmann_json)
  mrrope_compile_options(mrrope_servers)
endif()
