#!/usr/bin/env bash
# Runs the parts of Theano's and Keras's own tests that tools/suites names on the module of the build folder, and fails
# if fewer pass than before. pip fetches the sources and the imports of the old code.
# Usage: check.sh SOURCE_FOLDER BUILD_FOLDER PYTHON LEAST_OF_THEANO LEAST_OF_KERAS
set -euo pipefail
usage="usage: check.sh SOURCE_FOLDER BUILD_FOLDER PYTHON LEAST_OF_THEANO LEAST_OF_KERAS"
source=${1:?$usage} build=${2:?$usage} python=${3:?$usage} theano=${4:?$usage} keras=${5:?$usage}
venv=$build/suites_venv
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
requirements=$source/tools/suites/requirements.txt
mapfile -t plain < <(grep -v -e '^#' -e '^keras' "$requirements")
mapfile -t alone < <(grep -e '^keras' "$requirements")
"${pip[@]}" "${plain[@]}"
"${pip[@]}" --no-deps "${alone[@]}"
mkdir -p "$build/suites"
"$venv/bin/python" "$source/tools/suites/run.py" --fetch --cache "$build/suites" --units named --timeout 60 -j 2 \
  --markdown "$build/suites/table.md" --json "$build/suites/cases.jsonl" || true # 1: a case failed
sed -n '/^$/q;p' "$build/suites/table.md"
awk -F'|' -v theano="$theano" -v keras="$keras" '
  / all of theano / { seen++; if ($8 + 0 < theano) { bad = 1; print "Theano: " $8 "of counted cases passed; " theano " % are wanted" } }
  / all of keras / { seen++; if ($8 + 0 < keras) { bad = 1; print "Keras: " $8 "of counted cases passed; " keras " % are wanted" } }
  END { if (seen != 2) { print "the table has not both suites"; exit 1 } exit bad }' "$build/suites/table.md"
