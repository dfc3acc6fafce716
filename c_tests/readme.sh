#!/bin/sh
# DOC-01: takes the first C program out of README.md, builds it with all warnings against the header and the library, runs it, and compares what it prints
# with what the README says that it prints.
#
#     readme.sh README INCLUDE_DIR LIBRARY_DIR
set -eu
readme=$1 include=$2 library=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

block() { # the first fenced block of a language
    awk -v fence="\`\`\`$1" '$0 == "```" && inside { exit } inside { print } $0 == fence { inside = 1 }' "$readme"
}
block c > "$folder/first.c"
block text > "$folder/expected"
[ -s "$folder/first.c" ] && [ -s "$folder/expected" ] || { echo "readme: no program or no output found in $readme"; exit 1; }

${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror "-I$include" "$folder/first.c" "-L$library" -lcompute "-Wl,-rpath,$library" -o "$folder/first"
"$folder/first" > "$folder/printed"
if ! diff "$folder/expected" "$folder/printed"; then
    echo "FAILED doc_01_the_program_of_the_readme_prints_what_the_readme_says"
    echo "0 passed, 1 failed"
    exit 1
fi
echo "ok     doc_01_the_program_of_the_readme_prints_what_the_readme_says"
echo "1 passed, 0 failed"
