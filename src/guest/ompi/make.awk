# Writes the functions of calls.list in C, and with handles.list the table of predefined handles.
#
#   awk -f make.awk calls.list handles.list > wrappers.c
#
# A line of calls.list is a name without MPI_ (NAME=OTHER: the function of ../mpi has another one) and the
# arguments in their order, a word each:
#
#   int long ptr          passed on; ptr is any address that means the same in both
#   buf                   of data: MPI_IN_PLACE
#   rank key code assert lock order class split weights pvar    numbers that differ
#   comm group type op win file info errh req msg          handles: in
#     comm*               out; comm= both; type[3] an array in, as many as argument 3 says; req=[1] both
#     type[size] [in] [out]   as many as the communicator has members, neighbours
#   status status[1]      written; status< read
#   rank* code* topo* verb* bind* scope* key=    an integer out, both
#
# `NAME by_hand` is om_NAME of by_hand.c.
function is_handle(w) { return w ~ /^(comm|group|type|op|win|file|info|errh|req|msg)/ }
function base(w) { sub(/[^a-z].*$/, "", w); return w }
function inner(w) { if (w !~ /\[/) return ""; sub(/^[^\[]*\[/, "", w); sub(/\].*$/, "", w); return w }
function type_of(k) {
  return k == "comm" ? "MPI_Comm" : k == "group" ? "MPI_Group" : k == "type" ? "MPI_Datatype" : k == "op" ? "MPI_Op" : \
         k == "win" ? "MPI_Win" : k == "file" ? "MPI_File" : k == "info" ? "MPI_Info" : k == "errh" ? "MPI_Errhandler" : \
         k == "req" ? "MPI_Request" : "MPI_Message"
}
function from(k, x) { return k == "file" ? "om_file_in(" x ")" : "om_in(" x ")" }
function to(k, x) { return k == "file" ? "om_file_out(" x ")" : "om_out(K_" k ", " x ")" }
function count_of(w, comm) {
  w = inner(w)
  return w == "size" ? "gm_blocks_of(om_in(" comm "))" : w == "in" ? "gm_degree_of(om_in(" comm "), 0)" : w == "out" ? "gm_degree_of(om_in(" comm "), 1)" : "a" w
}
function emit(name, other,   i, k, w, pre, post, pass, sig, comm, out) {
  pre = post = pass = sig = ""
  for (i = 2; i <= NF; i++) if ($i == "comm" && comm == "") comm = "a" (i - 1)
  for (i = 2; i <= NF; i++) {
    w = $i; k = base(w); a = "a" (i - 1); o = "o" (i - 1)
    sig = sig (i > 2 ? ", " : "")
    pass = pass (i > 2 ? ", " : "")
    if (w ~ /^(int|rank|key|code|assert|lock|order|class|split)$/) sig = sig "int " a
    else if (w == "long") sig = sig "MPI_Aint " a
    else if (k == "status") sig = sig (w == "status<" ? "const " : "") "om_status *" a
    else if (w ~ /^(rank|code|topo|verb|bind|scope)\*$/ || w == "key=" || w == "weights") sig = sig "int *" a
    else if (is_handle(w) && w != k) sig = sig "void **" a
    else sig = sig "void *" a

    if (w ~ /^(int|long|ptr)$/) pass = pass a
    else if (w == "buf") pass = pass "om_buffer(" a ")"
    else if (w == "rank" || w == "key") pass = pass "om_" w "_in(" a ")"
    else if (w == "code") pass = pass "om_code_in(" a ")"
    else if (w ~ /^(assert|lock|order|class|split|weights|pvar)$/) pass = pass "om_" w "(" a ")"
    else if (w == "rank*") { pass = pass a; post = post "  if (" a " && !error) *" a " = om_rank_out(*" a ");\n" }
    else if (w == "code*") { pass = pass a; post = post "  if (" a " && !error) *" a " = om_error(*" a ");\n" }
    else if (w ~ /^(verb|bind|scope)\*$/) { pass = pass a; post = post "  if (" a " && !error) *" a " = om_" k "(*" a ");\n" }
    else if (w == "topo*") { pass = pass a; post = post "  if (" a " && !error) *" a " = om_topo(*" a ");\n" }
    else if (w == "key=") {
      pre = pre "  int " o " = " a " ? om_key_in(*" a ") : 0;\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a ") *" a " = om_key_out(" o ");\n"
    } else if (w == "status<") {
      pre = pre "  MPI_Status " o ";\n  if (" a ") om_status_in(&" o ", " a ");\n"
      pass = pass a " ? &" o " : NULL"
    } else if (w == "status") {
      pre = pre "  MPI_Status " o ";\n  if (" a ") om_status_begin(&" o ", " a ");\n"
      pass = pass a " ? &" o " : MPI_STATUS_IGNORE"
      post = post "  if (" a ") om_status_out(" a ", &" o ");\n"
    } else if (k == "status" || inner(w) != "") {
      t = k == "status" ? "MPI_Status" : type_of(k)
      pre = pre "  const int n" o " = " count_of(w, comm) ";\n  " t " few" o "[GM_FEW], *" o " = " a \
            " ? (" t " *)gm_array(few" o ", n" o ", sizeof *" o ") : NULL;\n  for (int i = 0; " a " && i < n" o "; i++)" \
            (k == "status" ? " om_status_begin(&" o "[i], &" a "[i]);\n" : " " o "[i] = " from(k, a "[i]") ";\n")
      pass = pass (k == "status" ? "gm_statuses(" o ")" : o)
      if (k == "status") post = post "  for (int i = 0; " a " && i < n" o "; i++) om_status_out(&" a "[i], &" o "[i]);\n"
      else if (w ~ /=/) post = post "  for (int i = 0; " a " && i < n" o "; i++) " a "[i] = " to(k, o "[i]") ";\n"
      post = post "  if (" a ") gm_array_end(" o ", few" o ");\n"
    } else if (w ~ /=$/) {
      pre = pre "  " type_of(k) " " o " = " a " ? " from(k, "*" a) " : 0;\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a ") *" a " = " to(k, o) ";\n"
    } else if (w ~ /\*$/) {
      pre = pre "  " type_of(k) " " o " = 0;\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a " && (!error || " o ")) *" a " = " to(k, o) ";\n"
    } else pass = pass from(k, a)
  }
  printf "static int call_%s(%s) {\n%s  const int error = PMPI_%s(%s);\n%s  return om_error(error);\n}\n", name, sig == "" ? "void" : sig, pre, other, pass, post
}
BEGIN {
  print "/* Written by make.awk from calls.list and handles.list. */"
  print "#include \"ompi.h\"\n#define ADDRESS(f) (void (*)(void))(f)"
}
/^#/ || NF == 0 { next }
FILENAME ~ /calls\.list$/ {
  n = $1; sub(/=.*/, "", n)
  other = $1; sub(/.*=/, "", other)
  names[++count] = n
  # sorted by insertion: few, and awk has no sort
  for (i = count; i > 1 && names[i - 1] > names[i]; i--) { t = names[i]; names[i] = names[i - 1]; names[i - 1] = t }
  if ($2 == "by_hand") { hand[n] = 1; printf "extern void om_%s(void);\n", n } else emit(n, other)
  next
}
{ row[++rows] = $0 }
END {
  print "const gm_function om_functions[] = {"
  for (i = 1; i <= count; i++) printf "    {\"%s\", ADDRESS(%s%s)},\n", names[i], names[i] in hand ? "om_" : "call_", names[i]
  print "};\nconst int om_function_count = sizeof om_functions / sizeof *om_functions;"
  print "const om_row om_rows[] = {"
  for (i = 1; i <= rows; i++) {
    split(row[i], f, " ")
    printf "#ifdef %s\n    {\"%s\", K_%s, (int)(intptr_t)%s, %s},\n#endif\n", f[3], f[1], f[2], f[3], f[4] == "-" ? "-1" : f[4]
  }
  # what is copied into a variable of a program may be 2 KiB long
  print "};\nconst int om_row_count = sizeof om_rows / sizeof *om_rows;"
  print "om_known om_variable[sizeof om_rows / sizeof *om_rows + 2048 / sizeof(om_known)];"
}
