#!/bin/sh
# Which benches print a line that REGEX may match? Usage: asked.sh REGEX BENCH[=PREFIX,PREFIX...]...
# A bench with prefixes (of the names of its lines) is left out when none of them can begin such a line: the
# literal head of REGEX and the prefix differ, and REGEX does not match the prefix. Without prefixes: always asked.
regex=$1 && shift
head=$(printf '%s' "${regex#^}" | sed 's/[^a-zA-Z0-9_].*//')
case $regex in *'|'*) head='' ;; esac # several names: only matching the prefix tells
for bench in "$@"; do
  case $bench in *=*) ;; *) echo "$bench" && continue ;; esac
  for prefix in $(echo "${bench#*=}" | tr ',' ' '); do
    asked=
    if [ -n "$head" ]; then
      case $head in "$prefix"*) asked=1 ;; esac
      case $prefix in "$head"*) asked=1 ;; esac
    fi
    [ -n "$asked" ] || ! echo "$prefix" | grep -qE -- "$regex" || asked=1
    case $regex in *'|'*) for one in $(echo "$regex" | tr '|()^' '    '); do
      case $one in "$prefix"*) asked=1 ;; esac
    done ;; esac
    [ -z "$asked" ] || { echo "${bench%%=*}" && break; }
  done
done
