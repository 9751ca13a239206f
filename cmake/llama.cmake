# SPDX-License-Identifier: MIT
# Rooms that run models through llama.cpp; nothing else needs it.
#
#   MRROPE_LLAMA      AUTO (build it if llama.cpp is found), ON (it has to be), OFF
#   MRROPE_LLAMA_DIR  an install prefix of llama.cpp; else the build that tools/llama_cpp keeps, else what find_package
#                     finds
set(MRROPE_LLAMA AUTO CACHE STRING "Run models in process (needs llama.cpp): AUTO, ON or OFF")
set_property(CACHE MRROPE_LLAMA PROPERTY STRINGS AUTO ON OFF)
set(MRROPE_LLAMA_DIR "" CACHE PATH "Install prefix of llama.cpp")

# The version the patched nodes were verified with (src/nodes/rotation.h). While llama.cpp is at 0.x, a minor
# version may change anything.
set(mrrope_llama_version 0.5)

function(mrrope_find_llama)
  if(MRROPE_LLAMA_DIR)
    set(places ${MRROPE_LLAMA_DIR})
  else()
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/llama_cpp --prefix RESULT_VARIABLE status
                    OUTPUT_VARIABLE places OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT status EQUAL 0)
      set(places)
    endif()
  endif()
  list(PREPEND CMAKE_PREFIX_PATH ${places})
  find_package(llama ${mrrope_llama_version} QUIET GLOBAL)
  set(llama_FOUND ${llama_FOUND} PARENT_SCOPE)
  set(LLAMA_VERSION ${LLAMA_VERSION} PARENT_SCOPE)
  set(LLAMA_LIB_DIR ${LLAMA_LIB_DIR} PARENT_SCOPE)
  set(LLAMA_BIN_DIR ${LLAMA_BIN_DIR} PARENT_SCOPE)
  set(GGML_VERSION ${GGML_VERSION} PARENT_SCOPE)
endfunction()

if(MRROPE_LLAMA)  # AUTO is true, too
  mrrope_find_llama()
  if(llama_FOUND)
    message(STATUS "llama.cpp ${LLAMA_VERSION} in ${LLAMA_LIB_DIR}: mrrope eval runs models")
  elseif(MRROPE_LLAMA STREQUAL "AUTO")
    message(STATUS "llama.cpp ${mrrope_llama_version} not found: mrrope eval runs no models. tools/llama_cpp builds it; or set "
                   "MRROPE_LLAMA_DIR to an install prefix")
  else()
    message(FATAL_ERROR "llama.cpp ${mrrope_llama_version} not found. Run tools/llama_cpp, or set MRROPE_LLAMA_DIR to an "
                        "install prefix of it, or -DMRROPE_LLAMA=OFF")
  endif()
endif()

if(llama_FOUND)
  mrrope_bring_libraries(${LLAMA_LIB_DIR})
  mrrope_room(nodes HEADERS rotation.h NEEDS plan theory base USES ggml::ggml ggml::ggml-base)
  mrrope_room(llama HEADERS runtime.h NEEDS nodes formats files plan theory base USES llama ggml::ggml ggml::ggml-base)
  target_compile_definitions(mrrope_llama PRIVATE MRROPE_LLAMA_VERSION="${LLAMA_VERSION}"
                                                  MRROPE_GGML_BACKENDS="${GGML_BACKEND_DIR}")
  mrrope_room(in_process HEADERS attention.h benchmarks.h fingerprinting.h perplexity.h tuning.h
              NEEDS probe targets tune measure llama nodes runs tasks formats files plan theory base USES hwy::hwy)
endif()
