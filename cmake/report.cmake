# SPDX-License-Identifier: MIT
# What pages carry: their style and script (src/report/page.*), and Vega.
#
#   MRROPE_VEGA  a file with Vega, Vega-Lite and vega-embed; default: the one that tools/vega keeps. Without it
#                pages have tables and no pictures.
set(MRROPE_VEGA "" CACHE FILEPATH "Vega and its parts in one file (tools/vega)")

# Base64 of a file's SHA-256, as a Content-Security-Policy wants it. CMake knows hexadecimal digits only.
function(mrrope_script_hash file result)
  file(SHA256 ${file} hex)
  string(APPEND hex "00")  # 32 bytes are no multiple of 3: one more, whose last letter is cut off again below
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(out "")
  foreach(at RANGE 0 63 6)
    string(SUBSTRING ${hex} ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING ${letters} ${digit} 1 letter)
      string(APPEND out ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${out} 0 43 out)
  set(${result} "${out}=" PARENT_SCOPE)
endfunction()

set(vega ${MRROPE_VEGA})
if(NOT vega)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/vega --path RESULT_VARIABLE status OUTPUT_VARIABLE vega
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(vega)
  endif()
endif()
set(mrrope_vega_file ${PROJECT_BINARY_DIR}/report/none.js)
if(vega AND EXISTS ${vega})
  message(STATUS "Vega in ${vega}: reports have pictures")
  set(mrrope_vega_file ${vega})
else()
  message(STATUS "Vega not found: reports have tables only. tools/vega fetches it (3 MB, once); or set MRROPE_VEGA")
  file(WRITE ${mrrope_vega_file} "")
endif()

set(mrrope_report_folder ${PROJECT_SOURCE_DIR}/src/report)
mrrope_script_hash(${mrrope_report_folder}/page.js mrrope_page_script_hash)
mrrope_script_hash(${mrrope_vega_file} mrrope_vega_hash)
configure_file(${mrrope_report_folder}/assets.cpp.in ${PROJECT_BINARY_DIR}/report/assets.cpp @ONLY)
mrrope_embed(${PROJECT_BINARY_DIR}/report/assets.cpp
             ${mrrope_report_folder}/page.js ${mrrope_report_folder}/page.css ${mrrope_vega_file})

target_sources(mrrope_report PRIVATE ${PROJECT_BINARY_DIR}/report/assets.cpp)
