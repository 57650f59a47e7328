#!/usr/bin/env bash
# Writes sql/schema.sql: the schema after all migrations of an empty database. A test compares it.
# Usage: scripts/dump_schema.sh [BUILD]   (BUILD holds bin/test_schema)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
[[ -x $build/bin/test_schema ]] || cmake --build "$build" --target test_schema
GYM_UPDATE_SCHEMA=1 GYM_SOURCE_DIR=$PWD "$build/bin/test_schema" >/dev/null
echo "wrote sql/schema.sql"
