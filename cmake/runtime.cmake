# SPDX-License-Identifier: MIT
# mrrope::runtime: runs models through llama.cpp. A library of its own, because it needs llama.cpp and nothing else does.
#
#   MRROPE_LLAMA      AUTO (build it if llama.cpp is found), ON (it has to be), OFF
#   MRROPE_LLAMA_DIR  an install prefix of llama.cpp; else the build that tools/llama_cpp keeps, else what find_package
#                     finds
set(MRROPE_LLAMA AUTO CACHE STRING "Build mrrope::runtime: AUTO, ON or OFF")
set_property(CACHE MRROPE_LLAMA PROPERTY STRINGS AUTO ON OFF)
set(MRROPE_LLAMA_DIR "" CACHE PATH "Install prefix of llama.cpp")

# The version the patched nodes were verified with (src/runtime/node_rotation.h). While llama.cpp is at 0.x, a minor
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
    message(STATUS "llama.cpp ${LLAMA_VERSION} in ${LLAMA_LIB_DIR}: building mrrope::runtime")
  elseif(MRROPE_LLAMA STREQUAL "AUTO")
    message(STATUS "llama.cpp ${mrrope_llama_version} not found: no mrrope::runtime. tools/llama_cpp builds it; or set "
                   "MRROPE_LLAMA_DIR to an install prefix")
  else()
    message(FATAL_ERROR "llama.cpp ${mrrope_llama_version} not found. Run tools/llama_cpp, or set MRROPE_LLAMA_DIR to an "
                        "install prefix of it, or -DMRROPE_LLAMA=OFF")
  endif()
endif()

if(llama_FOUND)
  mrrope_bring_libraries(${LLAMA_LIB_DIR})
  add_library(mrrope_runtime STATIC)
  add_library(mrrope::runtime ALIAS mrrope_runtime)
  set(sources llama_context.cpp llama_decode.cpp llama_log.cpp llama_model.cpp llama_rpc.cpp llama_vectors.cpp
              llama_version.cpp node_layer.cpp node_rotation.cpp plan_fit.cpp rotations.cpp)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/runtime/)
  target_sources(mrrope_runtime PRIVATE ${sources})
  target_include_directories(mrrope_runtime PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(mrrope_runtime PUBLIC mrrope PRIVATE llama ggml::ggml ggml::ggml-base fmt::fmt-header-only)
  target_compile_definitions(mrrope_runtime PRIVATE MRROPE_LLAMA_VERSION="${LLAMA_VERSION}"
                                                    MRROPE_GGML_BACKENDS="${GGML_BACKEND_DIR}")
  mrrope_compile_options(mrrope_runtime)

  # Tasks that run models; records and statistics are in the library itself.
  add_library(mrrope_measure STATIC)
  add_library(mrrope::measure ALIAS mrrope_measure)
  set(sources answers.cpp attention.cpp documents.cpp encoder.cpp gap.cpp log_softmax.cpp passes.cpp ppl.cpp prompt_frame.cpp samples.cpp
              reply_text.cpp shared_prefix.cpp text_files.cpp)
  if(TARGET mrrope_servers)
    list(APPEND sources served_answers.cpp)
  else()
    list(APPEND sources served_answers_none.cpp)
  endif()
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/eval/)
  target_sources(mrrope_measure PRIVATE ${sources})
  target_include_directories(mrrope_measure PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(mrrope_measure PUBLIC mrrope_runtime PRIVATE $<TARGET_NAME_IF_EXISTS:mrrope_servers> hwy::hwy fmt::fmt-header-only)
  mrrope_compile_options(mrrope_measure)
endif()
