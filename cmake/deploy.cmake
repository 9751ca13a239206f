# SPDX-License-Identifier: MIT
# What a ladder's gateway is given: the hook of LiteLLM (src/deploy/mrrope_ladder.py), inside the library.
set(mrrope_hook ${PROJECT_SOURCE_DIR}/src/deploy/mrrope_ladder.py)
configure_file(${PROJECT_SOURCE_DIR}/src/deploy/hook.cpp.in ${PROJECT_BINARY_DIR}/deploy/hook.cpp @ONLY)
mrrope_embed(${PROJECT_BINARY_DIR}/deploy/hook.cpp ${mrrope_hook})
target_sources(mrrope_deploy PRIVATE ${PROJECT_BINARY_DIR}/deploy/hook.cpp)
