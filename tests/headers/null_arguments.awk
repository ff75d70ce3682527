# From one prototype per line (NBCAPI type name(parameters);) the body of tests/headers/null_arguments.c:
# one case for each pointer of each function, in which it is NULL and the other arguments are valid; and one in which
# none is NULL, of what returns a status: were that refused too, the others would say nothing. By its type, or as
# valid_arguments.list says, an argument is valid.
function trim(s) { gsub(/^ +| +$/, "", s); return s }
function valid(type, name, plain) {
  if ((fun " " name) in given) return given[fun " " name]
  if (("* " name) in given && type !~ /\*/) return given["* " name]
  plain = type
  gsub(/const /, "", plain)
  if (plain ~ /_fn$/) return "(" type ")(void (*)(void))nothing"
  if (plain ~ /^ptl_handle_[a-z]+_t$/) return "v_" substr(plain, 12, length(plain) - 13)
  if (plain ~ /^ptl_process_t$/) return "v_" plain
  if (plain !~ /\*/) return name ~ /^(root|rank|peer)$/ ? "0" : "1"
  if (plain == "char *" && type ~ /const/) return "\"/dev/null\""
  if (plain == "FILE *") return "v_file"
  if (type == "const uint64_t *") return "ones"
  if (name == "recv") return "(" type ")(void *)(room + sizeof room / 2)" # not what is sent
  if (plain ~ /^(nbc|pm|nic)_[a-z_]+ \*$/ && ("v_" substr(plain, 1, length(plain) - 2)) in object) return "v_" substr(plain, 1, length(plain) - 2)
  return "(" type ")(void *)room"
}
BEGIN {
  while ((getline line < objects) > 0) if (match(line, /\*v_[a-z_]+/)) object[substr(line, RSTART + 1, RLENGTH - 1)] = 1
  while ((getline line < "tests/headers/valid_arguments.list") > 0) if (split(line, word, " ") == 3 && line !~ /^#/) given[word[1] " " word[2]] = word[3]
}
{
  sub(/^NBCAPI /, "")
  open = index($0, "(")
  head = substr($0, 1, open - 1)
  rest = substr($0, open + 1)
  sub(/\);? *$/, "", rest)
  name = head; sub(/.*[ *]/, "", name)
  fun = name
  returns = trim(substr(head, 1, length(head) - length(name)))
  count = rest == "void" || rest == "" ? 0 : split(rest, parameter, ",")
  for (i = 1; i <= count; i++) {
    p = trim(parameter[i])
    sub(/\[[^]]*\]$/, "", p)
    label[i] = p; sub(/.*[ *]/, "", label[i])
    type[i] = trim(substr(p, 1, length(p) - length(label[i])))
    pointer[i] = type[i] ~ /\*$/ || type[i] ~ /_fn$/
    if (parameter[i] ~ /\[/) { type[i] = type[i] " *"; pointer[i] = 1 }
  }
  for (i = 0; i <= count; i++) { # 0: none is NULL
    if (i ? !pointer[i] : returns !~ /^(nbc|pm|nic)_status$/) continue
    call = name "("
    for (k = 1; k <= count; k++) call = call (k > 1 ? ", " : "") (k == i ? "NULL" : valid(type[k], label[k]))
    call = call ")"
    cases++
    if (returns ~ /^(nbc|pm|nic)_status$/) body = "return (int)" call ";"
    else if (i && returns ~ /\*$/ && returns !~ /char \*$/) body = "return " call " ? SOMETHING : NOTHING;"
    else if (returns == "void") body = call "; return NOTHING;"
    else body = "__auto_type x = " call "; __asm__ volatile(\"\" : : \"g\"(&x) : \"memory\"); return NOTHING;" # not optimised away
    print "static int case_" cases "(void) { " body " }"
    table = table "  {\"" name "\", \"" (i ? label[i] : "") "\", case_" cases "},\n"
  }
}
END { print "static const struct { const char *function, *parameter; int (*call)(void); } cases[] = {\n" table "};" }
