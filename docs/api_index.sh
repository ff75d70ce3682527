#!/bin/sh
# An index of the public functions, from the headers: section, function, first sentence of its comment.
# Usage: docs/api_index.sh HEADER... >api.md
for header in "$@"; do
  case $header in *portals_model*) api=PM_API ;; *nic_*) api=NIC_API ;; *) api=NBC_API ;; esac
  printf '# %s\n' "${header##*/}"
  awk -v api="$api" '
    BEGIN { head = "\n| function | what it does | line |\n|---|---|---|\n" } # of a header without sections
    function first_sentence(s) {
      gsub(/[ \n]+/, " ", s); sub(/^ */, "", s)
      if (match(s, /[.:;] /)) s = substr(s, 1, RSTART - 1)
      sub(/[.;:] *$/, "", s); gsub(/\|/, "\\|", s)
      return s
    }
    match($0, /^\/\* \[[A-Z]*\] [0-9]*\. /) {
      title = $0; sub(/^\/\* /, "", title); sub(/ *\*\/$/, "", title)
      if (!(title in seen)) head = sprintf("\n## %s\n\n| function | what it does | line |\n|---|---|---|\n", title)
      seen[title] = 1
      next
    }
    /^\/\* =====/ || /^\/\* -----/ { next }
    /^\/\*/ { text = ""; in_text = 1 }
    in_text { line = $0; if (line ~ /\*\//) in_text = 0; gsub(/^\/\*|\*\/.*$/, "", line); text = text " " line; next }
    $1 == api {
      declaration = $0; start = FNR
      while (declaration !~ /[;{]/ && (getline line) > 0) { sub(/^ +/, " ", line); declaration = declaration line }
      if (declaration ~ /[{]/ || declaration !~ /;/) next # the implementation
      if (match(declaration, /[A-Za-z_0-9]+\(/)) name = substr(declaration, RSTART, RLENGTH - 1)
      own = declaration
      if (match(own, /\/\*.*\*\//)) own = substr(own, RSTART + 2, RLENGTH - 4); else own = text
      printf "%s| `%s` | %s | %d |\n", head, name, first_sentence(own), start
      head = ""
    }
  ' "$header"
  echo
done
