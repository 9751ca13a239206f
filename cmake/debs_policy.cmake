# SPDX-License-Identifier: MIT
# Called by CPack when the files of each package are in their staging folder: what Debian's policy wants of a package.
string(TIMESTAMP mrrope_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where that is set
foreach(part IN ITEMS program:mrrope library:${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} development:libmrrope-dev)
  string(REGEX MATCH "^([a-z]+):(.*)$" part ${part})
  set(staged ${CPACK_TEMPORARY_DIRECTORY}/${CMAKE_MATCH_1}/usr/share)
  set(doc ${staged}/doc/${CMAKE_MATCH_2})
  file(REMOVE ${doc}/LICENSE)  # is in the copyright file
  configure_file(${CPACK_MRROPE_SOURCE}/packaging/debian/copyright ${doc}/copyright COPYONLY)
  configure_file(${CPACK_MRROPE_SOURCE}/packaging/debian/changelog.in ${doc}/changelog.Debian @ONLY)
  if(EXISTS ${staged}/zsh/site-functions)  # where Debian's zsh looks
    file(RENAME ${staged}/zsh/site-functions ${staged}/zsh/vendor-completions)
  endif()
  file(GLOB compressed ${doc}/changelog.Debian ${staged}/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD_RECURSE ${staged} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
       DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
