# SPDX-License-Identifier: MIT
# Refuses sources that were fetched by their tag and are not the commit it had: a tag can be moved, a commit cannot.
#
#   cmake -DCOMMIT=… -P check_commit.cmake      in the folder of the sources
execute_process(COMMAND git rev-parse HEAD OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT found STREQUAL COMMIT)
  message(FATAL_ERROR "expected commit ${COMMIT}, found ${found}: the tag was moved, or the sources are not those of the project")
endif()
