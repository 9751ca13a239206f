# SPDX-License-Identifier: MIT
# mrrope.cdx.json: what is compiled into the programs and the extension module, as a CycloneDX 1.6 document. Versions are
# those that this configuration found; a library that was fetched has the pinned tag. mrrope_sbom_name: of the package that it
# describes, where that is not mrrope (packaging/llama).
if(NOT mrrope_sbom_name)
  set(mrrope_sbom_name mrrope)
endif()
set(mrrope_sbom ${PROJECT_BINARY_DIR}/mrrope.cdx.json)
set(components)

# mrrope_component(NAME VERSION LICENCE PURL linked): LICENCE is an SPDX expression; `linked`: static or dynamic.
function(mrrope_component name version licence purl linked)
  string(CONCAT text "    {\n"
                     "      \"type\": \"library\",\n"
                     "      \"bom-ref\": \"${purl}@${version}\",\n"
                     "      \"name\": \"${name}\",\n"
                     "      \"version\": \"${version}\",\n"
                     "      \"licenses\": [{\"expression\": \"${licence}\"}],\n"
                     "      \"purl\": \"${purl}@${version}\",\n"
                     "      \"properties\": [{\"name\": \"mrrope:linked\", \"value\": \"${linked}\"}]\n"
                     "    }")
  if(components)
    string(PREPEND text "${components},\n")
  endif()
  set(components "${text}" PARENT_SCOPE)
endfunction()

# found_or_pinned(NAME result): the version of a library that mrrope_declare names.
function(found_or_pinned name result)
  if(${name}_VERSION)
    set(${result} ${${name}_VERSION} PARENT_SCOPE)
  else()
    get_property(tag GLOBAL PROPERTY mrrope_tag_${name})
    string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version ${tag})
    set(${result} ${version} PARENT_SCOPE)
  endif()
endfunction()

found_or_pinned(nlohmann_json version)
mrrope_component(nlohmann-json ${version} MIT pkg:github/nlohmann/json static)
found_or_pinned(fmt version)
mrrope_component(fmt ${version} MIT pkg:github/fmtlib/fmt static)
found_or_pinned(hwy version)
set(linked static)
get_target_property(hwy_type hwy::hwy TYPE)
if(hwy_type STREQUAL "SHARED_LIBRARY")
  set(linked dynamic)
endif()
mrrope_component(highway ${version} "Apache-2.0 OR BSD-3-Clause" pkg:github/google/highway ${linked})

set(version)
foreach(part MAJOR MINOR RELEASE)
  file(STRINGS ${MRROPE_XXHASH_DIR}/xxhash.h line REGEX "define XXH_VERSION_${part} ")
  string(REGEX MATCH "[0-9]+" digits "${line}")
  list(APPEND version ${digits})
endforeach()
list(JOIN version "." version)
mrrope_component(xxHash ${version} BSD-2-Clause pkg:github/cyan4973/xxhash static)
set(linked dynamic)
if("${ZLIB_LIBRARIES}" MATCHES "\\.a$")
  set(linked static)
endif()
mrrope_component(zlib ${ZLIB_VERSION_STRING} Zlib pkg:generic/zlib ${linked})
if(MRROPE_BUILD_CLI)
  found_or_pinned(CLI11 version)
  mrrope_component(CLI11 ${version} BSD-3-Clause pkg:github/cliutils/cli11 static)
endif()
if(TARGET mrrope_servers)
  set(linked dynamic)
  if(OPENSSL_USE_STATIC_LIBS)
    set(linked static)
    mrrope_component(openssl ${OPENSSL_VERSION} Apache-2.0 pkg:generic/openssl static)
  elseif(WIN32)  # with the system's own TLS
    set(linked static)
  endif()
  string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version ${CURL_VERSION_STRING})  # 8.22.0-DEV, where it is made from a repository
  mrrope_component(curl ${version} curl pkg:github/curl/curl ${linked})
endif()
if(MRROPE_BUILD_PYTHON)
  mrrope_component(nanobind ${nanobind_VERSION} BSD-3-Clause pkg:pypi/nanobind static)
endif()
if("${CMAKE_EXE_LINKER_FLAGS}" MATCHES "-static( |-libstdc\\+\\+|$)")
  mrrope_component(libstdc++ ${CMAKE_CXX_COMPILER_VERSION} "GPL-3.0-or-later WITH GCC-exception-3.1" pkg:generic/libstdc++ static)
endif()
if(TARGET mrrope_llama)
  string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version ${LLAMA_VERSION})  # 0.5.0-dev, where it is built by itself
  mrrope_component(llama.cpp ${version} MIT pkg:github/ggml-org/llama.cpp dynamic)
endif()
if(TARGET ggml-mrrope AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  mrrope_component(libgomp ${CMAKE_CXX_COMPILER_VERSION} "GPL-3.0-or-later WITH GCC-exception-3.1" pkg:generic/libgomp dynamic)
endif()
if(MRROPE_ZIG_TARGET)
  set(licence "Apache-2.0 WITH LLVM-exception")
  mrrope_component(libc++ ${CMAKE_CXX_COMPILER_VERSION} "${licence}" pkg:generic/libc++ static)
  if(MRROPE_ZIG_TARGET MATCHES "musl$")
    cmake_path(GET mrrope_zig PARENT_PATH zig_folder)
    file(STRINGS ${zig_folder}/lib/libc/musl/src/internal/version.h version REGEX "define VERSION")
    string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version "${version}")
    mrrope_component(musl ${version} MIT pkg:generic/musl static)
  endif()
endif()
file(STRINGS ${mrrope_vega_file} vega_lines REGEX "^/\\* vega[a-z-]*@[0-9.]+$")
foreach(line IN LISTS vega_lines)
  string(REGEX MATCH "(vega[a-z-]*)@([0-9.]+)$" line "${line}")
  mrrope_component(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} BSD-3-Clause pkg:npm/${CMAKE_MATCH_1} static)
endforeach()

file(CONFIGURE OUTPUT ${mrrope_sbom} @ONLY CONTENT [[{
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "version": 1,
  "metadata": {
    "component": {
      "type": "application",
      "bom-ref": "pkg:pypi/@mrrope_sbom_name@@@PROJECT_VERSION@",
      "name": "@mrrope_sbom_name@",
      "version": "@PROJECT_VERSION@",
      "licenses": [{"expression": "MIT"}],
      "purl": "pkg:pypi/@mrrope_sbom_name@@@PROJECT_VERSION@"
    }
  },
  "components": [
@components@
  ]
}
]])
