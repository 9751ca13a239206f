// SPDX-License-Identifier: MIT
//
// The version, in one place: CMake, the package files and `mrrope --version` all read it from here.
// Semantic versioning covers the headers in include/mrrope, the command line and the JSON schemas.
#pragma once

#define MRROPE_VERSION_MAJOR 0
#define MRROPE_VERSION_MINOR 2
#define MRROPE_VERSION_PATCH 0
#define MRROPE_VERSION "0.2.0"
