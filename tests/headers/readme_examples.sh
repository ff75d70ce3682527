#!/bin/sh
# Every C program in README.md compiles as written and runs; every example or command it names exists.
. tests/test.sh

program_runs() { # NUMBER
  "$CC" -std=gnu11 -D_GNU_SOURCE -Wall -I. -o "$T/readme$1" "$T/readme$1.c" -pthread -lm && timeout 60 "$T/readme$1" >"$T/readme$1.out"
}
make_target_exists() { grep -q "^$1:" Makefile ./*/*.mk ./*/*/*.mk || make -n "$1" >/dev/null 2>&1; }

if [ ! -f README.md ]; then
  skip readme "there is no README.md yet"
  finish
fi
awk -v t="$T" '/^```c$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > (t "/readme" n ".c") }' README.md
number=1
while [ -f "$T/readme$number.c" ]; do
  grep -q 'int main' "$T/readme$number.c" && check "README.md: C program $number" program_runs $number
  number=$((number + 1))
done
for file in $(grep -oE '\b(examples|tools|src|docs|packaging|tests|hw|rtl)/[a-zA-Z0-9_./]+[a-zA-Z0-9_]' README.md | sort -u); do
  check "README.md: $file" test -e "$file"
done
for target in $(grep -oE '`make [a-z-]+' README.md | sed 's/.* //' | sort -u); do
  check "README.md: make $target" make_target_exists "$target"
done
finish
