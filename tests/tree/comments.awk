# comments.awk: lines with a comment (banners left out) over lines with code, of C on standard input
{
  rest = $0; said = ""; has_code = 0
  while (rest != "") {
    if (is_open) {
      at = index(rest, "*/")
      said = said (at ? substr(rest, 1, at - 1) : rest)
      rest = at ? substr(rest, at + 2) : ""
      is_open = !at
    } else {
      comment = index(rest, "/*"); text = index(rest, "\"")
      if (text && (!comment || text < comment)) {   # a text: no comment begins in it
        has_code = 1
        rest = substr(rest, text + 1)
        rest = match(rest, /^([^"\\]|\\.)*"/) ? substr(rest, RLENGTH + 1) : ""
      } else if (comment) {
        if (substr(rest, 1, comment - 1) ~ /[^ \t]/) has_code = 1
        rest = substr(rest, comment + 2)
        is_open = 1
      } else {
        if (rest ~ /[^ \t]/) has_code = 1
        rest = ""
      }
    }
  }
  if (said ~ /[A-Za-z]/ && said !~ /(----|====)/) comments++
  code += has_code
}
END { printf "%.4f\n", code ? comments / code : 0 }
