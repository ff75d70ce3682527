# Writes from calls.list: what=header the prototypes of all functions; what=names the names, for a library that
# is linked against; else the conversions of an ABI whose own functions begin with p and stand in the header `own`.
#
#   awk -f calls.awk -v p=st -v own=st.h calls.list               ../standard
#   awk -f calls.awk -v p=om -v own=ompi.h ../ompi/calls.list     ../ompi
#
# X_NAME: MPIX_NAME, beside the standard.
# NAME=OTHER in place of NAME: the function that is called has another one.
# Words (with [_c], count is an int or MPI_Count, extent MPI_Aint or MPI_Count, unit int or MPI_Aint):
#
#   int aint large offset ptr text ranges ...   passed on: they mean the same in all ABIs; > const
#     ints counts> displs> extents> aint* ...     arrays or results of them
#   buf place                                     data: MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC; the address of such
#   rank tag key code assert lock order class split amode whence thread pclass safety weights pvar disp
#                                                 numbers that differ; rank* out, key= both
#   comm group type op win file info errh req msg session     handles: in
#     comm*         out; comm= both; type[3] an array in, as many as argument 3 says; req=[1] both
#     type[size] [in] [out]   as many as the communicator has members, neighbours
#   status status[1]                              written; status< read; status= both
#   others                                        types of C, ~ for a blank: passed on
function base(w) { sub(/[^a-z].*$/, "", w); return w }
function inner(w) { if (w !~ /\[/) return ""; sub(/^[^\[]*\[/, "", w); sub(/\].*$/, "", w); return w }
function is_handle(w) { return (base(w) in handle) }
function from(k, x) { return k == "file" ? p "_file_in(" x ")" : p "_in(" x ")" }
function to(k, x) { return k == "file" ? p "_file_out(" x ")" : p "_out(K_" k ", " x ")" }
function count_of(w, comm) {
  w = inner(w)
  return w == "size" ? "gm_blocks_of(" from("comm", comm) ")" : w == "in" || w == "out" ? "gm_degree_of(" from("comm", comm) ", " (w == "out") ")" : "(int)a" w
}
# The C type of a word; opaque: a handle is an address
function type(w, large, opaque,   k) {
  k = base(w)
  if (is_handle(w)) {
    if (opaque) return w == k ? "void *" : "void **"
    return (w ~ /\[/ && w !~ /=/ ? "const " : "") handle[k] (w == k ? "" : " *")
  }
  if (k == "status") return (w == "status<" ? "const " : "") (opaque ? p "_status" : "MPI_Status") " *"
  if (w == "pvar") return opaque ? "void *" : "MPI_T_pvar_handle"
  if (w == "safety") return opaque ? "int" : "MPI_T_cb_safety"
  if (w == "turn*") return opaque ? "int *" : "MPI_T_source_order *"
  if (w == "weights") return "const int *"
  if (w == "ranges") return "int (*)[3]"
  if (w == "ints" || w ~ /^[a-z]+[*=]$/ && (k in number)) return "int *"
  if (k in number) return "int"
  if (w == "disp") return "MPI_Offset"
  if (w ~ /^(ptr|place|buf|text)/) return (w ~ />/ ? "const " : "") (k == "text" ? "char *" : "void *")
  sub(/s>$/, ">", w)
  k = base(w)
  if (k in plain) {
    split(plain[k], two, " ")
    return (w ~ />/ ? "const " : "") two[1 + large] (w == k ? "" : " *")
  }
  sub(/\[_c\]/, large ? "_c" : "", w)
  sub(/\*/, " &", w)
  gsub(/~/, " ", w)
  return w
}
function declare(name, large,   i, s) {
  for (i = 2; i <= NF; i++) s = s (i > 2 ? ", " : "") type($i, large, 0)
  s = returns " MPI_" name "(" (s == "" ? "void" : s) ");"
  print s
  sub(/ MPI_/, " PMPI_", s)
  print s
}
function convert(name, large,   i, k, w, pre, post, pass, sig, comm, a, o, t) {
  for (i = 2; i <= NF; i++) if ($i == "comm" && comm == "") comm = "a" (i - 1)
  for (i = 2; i <= NF; i++) {
    w = $i; k = base(w); a = "a" (i - 1); o = "o" (i - 1)
    t = type(w, large, 1)
    sig = sig (i > 2 ? ", " : "") (w == "ranges" ? "int (*" a ")[3]" : t (t ~ /\*$/ ? "" : " ") a)
    pass = pass (i > 2 ? ", " : "")
    if (k == "buf") pass = pass p "_buffer(" a ")"
    else if (w ~ /^(rank|tag|key|code)$/) pass = pass p "_" w "_in(" a ")"
    else if (w ~ /^(assert|lock|order|class|split|amode|whence|thread|pclass|weights|pvar|disp)$/) pass = pass p "_" w "(" a ")"
    else if (w == "safety") pass = pass "(MPI_T_cb_safety)" p "_safety(" a ")"
    else if (w == "weights*") pass = pass p "_weights(" a ")"
    else if (w == "place") {
      pass = pass a
      post = post "  if (" a " && !error) " p "_buffer_out((void **)" a ");\n"
    } else if (w == "turn*") {
      pre = pre "  MPI_T_source_order " o ";\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a " && !error) *" a " = " p "_turn_out((int)" o ");\n"
    } else if (w ~ /\*$/ && (k in number)) {
      pass = pass a
      post = post "  if (" a " && !error) *" a " = " p "_" (k == "code" ? "error" : k "_out") "(*" a ");\n"
    } else if (w == "key=") {
      pre = pre "  int " o " = " a " ? " p "_key_in(*" a ") : 0;\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a ") *" a " = " p "_key_out(" o ");\n"
    } else if (w == "status<") {
      pre = pre "  MPI_Status " o ";\n  if (" a ") " p "_status_in(&" o ", " a ");\n"
      pass = pass a " ? &" o " : NULL"
    } else if (w == "status" || w == "status=") {
      pre = pre "  MPI_Status " o ";\n  if (" a ") " p "_status_" (w == "status" ? "begin" : "in") "(&" o ", " a ");\n"
      pass = pass a " ? &" o " : " (w == "status" ? "MPI_STATUS_IGNORE" : "NULL")
      post = post "  if (" a ") " p "_status_out(" a ", &" o ");\n"
    } else if (inner(w) != "" && (k == "status" || is_handle(w))) {
      t = k == "status" ? "MPI_Status" : handle[k]
      pre = pre "  const int n" o " = " count_of(w, comm) ";\n  " t " few" o "[GM_FEW], *" o " = " a \
            " ? (" t " *)gm_array(few" o ", n" o ", sizeof *" o ") : NULL;\n  for (int i = 0; " a " && i < n" o "; i++)" \
            (k == "status" ? " " p "_status_begin(&" o "[i], &" a "[i]);\n" : " " o "[i] = " from(k, a "[i]") ";\n")
      pass = pass (k == "status" ? "gm_statuses(" o ")" : o)
      if (k == "status") post = post "  for (int i = 0; " a " && i < n" o "; i++) " p "_status_out(&" a "[i], &" o "[i]);\n"
      else if (w ~ /=/) post = post "  for (int i = 0; " a " && i < n" o "; i++) " a "[i] = " to(k, o "[i]") ";\n"
      post = post "  if (" a ") gm_array_end(" o ", few" o ");\n"
    } else if (is_handle(w) && w ~ /=$/) {
      pre = pre "  " handle[k] " " o " = " a " ? " from(k, "*" a) " : 0;\n"
      pass = pass a " ? &" o " : NULL"
      post = post "  if (" a ") *" a " = " to(k, o) ";\n"
    } else if (is_handle(w) && w ~ /\*$/) {
      pre = pre "  " handle[k] " " o " = 0;\n"
      pass = pass a " ? &" o " : NULL"
      # some write that nothing was made, and fail; a message that was not found stays what it was
      post = post "  if (" a " && " (k == "msg" ? o : "(!error || " o ")") ") *" a " = " to(k, o) ";\n"
    } else pass = pass (is_handle(w) ? from(k, a) : a)
  }
  printf "static int call_%s(%s) {\n%s  const int error = PMPI%s(%s);\n%s  return %s_error(error);\n}\n", name, sig == "" ? "void" : sig, pre, (name in other) ? "_" other[name] : (name ~ /^X_/ ? "" : "_") name, pass, post, p
}
function one(name, large) {
  if (what == "header") { declare(name, large); return }
  names[++count] = name
  # sorted by insertion: few, and awk has no sort
  for (i = count; i > 1 && names[i - 1] > names[i]; i--) { t = names[i]; names[i] = names[i - 1]; names[i - 1] = t }
  if (what == "names") return
  hand[name] = is_hand
  if (!is_hand) convert(name, large)
  else printf "extern void %s_%s(void);\n", p, name
}
BEGIN {
  n = split("comm Comm group Group type Datatype op Op win Win file File info Info errh Errhandler req Request msg Message session Session", list, " ")
  for (i = 1; i < n; i += 2) handle[list[i]] = "MPI_" list[i + 1]
  n = split("int rank tag key code assert lock order class split amode whence thread pclass compare topo verb bind scope weights", list, " ")
  for (i = 1; i <= n; i++) number[list[i]]
  plain["int"] = "int int"
  plain["aint"] = "MPI_Aint MPI_Aint"
  plain["large"] = "MPI_Count MPI_Count"
  plain["offset"] = "MPI_Offset MPI_Offset"
  plain["count"] = "int MPI_Count"
  plain["extent"] = "MPI_Aint MPI_Count"
  plain["unit"] = plain["displ"] = "int MPI_Aint"
  # which take an MPI_Count anyway in MPICH 4.0
  other["Psend_init_c"] = "Psend_init"
  other["Precv_init_c"] = "Precv_init"
  if (!what) print "/* Written by calls.awk from calls.list. */\n#include \"" own "\"\n#define ADDRESS(f) (void (*)(void))(f)"
}
/^#/ || NF == 0 { next }
{
  is_hand = $1 ~ /:hand/
  returns = $1 ~ /:(double|MPI_)/ ? $1 : "int"
  sub(/.*:/, "", returns)
  bare = $1
  sub(/:.*/, "", bare)
  if (bare ~ /=/) {
    split(bare, two, "=")
    bare = two[1]
    other[bare] = two[2]
  }
  has_c = bare ~ /\[_c\]$/
  sub(/\[_c\]$/, "", bare)
  one(bare, 0)
  if (has_c) one(bare "_c", 1)
}
END {
  if (what == "names") for (i = 1; i <= count; i++) print names[i]
  if (what) exit
  printf "const gm_function %s_functions[] = {\n", p
  for (i = 1; i <= count; i++) printf "    {\"%s\", ADDRESS(%s_%s)},\n", names[i], hand[names[i]] ? p : "call", names[i]
  printf "};\nconst int %s_function_count = sizeof %s_functions / sizeof *%s_functions;\n", p, p, p
}
