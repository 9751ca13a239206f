// SPDX-License-Identifier: MIT

//go:build tools

// Keeps the program that tools/actionlint builds in go.mod.
package actionlint

import _ "github.com/rhysd/actionlint/cmd/actionlint"
