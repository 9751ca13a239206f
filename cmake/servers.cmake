# SPDX-License-Identifier: MIT
# Rooms that ask OpenAI-compatible servers: they need libcurl, and no llama.cpp.
#
#   MRROPE_SERVERS    AUTO (build it if libcurl is found), ON (it has to be), OFF
#
# 7.75 for CURLINFO_RETRY_AFTER and a POST of megabytes in one piece; Debian 12: libcurl4-openssl-dev.
set(MRROPE_SERVERS AUTO CACHE STRING "Ask servers (needs libcurl): AUTO, ON or OFF")
set_property(CACHE MRROPE_SERVERS PROPERTY STRINGS AUTO ON OFF)

if(MRROPE_SERVERS)  # AUTO is true, too
  find_package(CURL 7.75 QUIET)
  if(NOT CURL_FOUND AND MRROPE_SERVERS STREQUAL "AUTO")
    message(STATUS "libcurl not found: mrrope eval asks no servers")
  elseif(NOT CURL_FOUND)
    message(FATAL_ERROR "libcurl 7.75 or later not found. Install its development files, or set CURL_ROOT to an install "
                        "prefix of it, or -DMRROPE_SERVERS=OFF")
  endif()
endif()

if(MRROPE_SERVERS AND CURL_FOUND)
  mrrope_room(servers HEADERS ask_server.h server_info.h servers.h NEEDS files base USES CURL::libcurl)
  mrrope_room(served HEADERS probing.h served.h statements.h NEEDS measure probe servers targets formats runs tasks files plan theory base)
endif()
