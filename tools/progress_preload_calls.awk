# progress_preload_calls.awk: every function of an MPI that returns int, from its own mpi.h, one line each:
#     KIND(name, (parameters), (arguments))
# Input: mpi.h after the preprocessor. KIND says what the worker of the progress preload must know:
#   LOCAL   nothing: it neither waits nor posts
#   BLOCKS  the caller makes progress itself: the worker stands aside
#   POSTS   a request comes back: something is in flight until that is completed
#   FILES   the same, for an operation on a file
#   GREQUEST a generalized request comes back
#   MAKES   a persistent request comes back, named once more as the last: in flight when started
#   GROWS   a communicator comes back, named once more as the last
#   OPENS   a window comes back: other processes may want something of this one until it is freed
#   OWN     written by hand in tools/progress_preload*.c
# Input before it: the names that are written by hand, one `OWNED name` per line.
# Exit status 1 when a declaration is not understood.
BEGIN {
  blocks = "^(S|Bs|Ss|Rs)end(_c)?$|^(Recv|Mrecv|Sendrecv|Sendrecv_replace)(_c)?$|^(P|Mp|Ip|Imp)robe$" \
           "|^(Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce|Allreduce|Scan|Exscan)(_c)?$" \
           "|^Reduce_scatter(_block)?(_c)?$|^Neighbor_(allgatherv?|alltoall[vw]?)(_c)?$" \
           "|^Win_(fence|start|complete|post|wait|test|lock|unlock|lock_all|unlock_all|flush|flush_all|flush_local|flush_local_all)$" \
           "|^(Put|Get|Accumulate|Get_accumulate)(_c)?$|^(Fetch_and_op|Compare_and_swap)$" \
           "|^Intercomm_(create|create_from_groups)$" \
           "|^(Pready|Pready_range|Pready_list|Parrived|Buffer_detach(_c)?)$"
  grows = "^Comm_(dup|dup_with_info|create|create_group|create_from_group|split|split_type)$" \
          "|^Intercomm_merge$|^(Cart_create|Cart_sub|Graph_create|Dist_graph_create(_adjacent)?)$"
}
/^OWNED / { is_own[$2] = 1; next }
/^[ \t]*#/ { next }
{ text = text " " $0
  while ((end = index(text, ";")) > 0) {
    declaration = substr(text, 1, end - 1)
    text = substr(text, end + 1)
    declared(declaration)
  }
}
END { if (failed) exit 1 }

# Attributes go, with all that their parentheses hold.
function without_attributes(d,    at, depth, i, c) {
  while ((at = index(d, "__attribute__")) > 0) {
    depth = 0
    for (i = at + 13; i <= length(d); i++) {
      c = substr(d, i, 1)
      if (c == "(") depth++
      else if (c == ")" && --depth == 0) break
    }
    d = substr(d, 1, at - 1) " " substr(d, i + 1)
  }
  return d
}
function declared(d,    name, parameters, arguments, kind, n, p, i, one) {
  if (d !~ /PMPIX?_[A-Z]/) return
  d = without_attributes(d)
  gsub(/[ \t]+/, " ", d)
  sub(/^ /, "", d); sub(/ $/, "", d); sub(/^extern /, "", d)
  if (d !~ /^int PMPI_[A-Za-z0-9_]+ ?\(.*\)$/ || d ~ /\.\.\./) return
  name = d
  sub(/^int PMPI_/, "", name); sub(/ ?\(.*/, "", name)
  if (name ~ /_(f2c|c2f|f082c|c2f08|f2f08|f082f)$/ || seen[name]++) return
  parameters = substr(d, index(d, "(") + 1)
  sub(/\)$/, "", parameters)
  arguments = ""
  if (parameters != "void" && parameters != "") {
    n = split(parameters, p, ",")
    for (i = 1; i <= n; i++) {
      one = p[i]
      sub(/^ /, "", one); sub(/ $/, "", one)
      if (one ~ /\*$/ || one ~ /^[A-Za-z_0-9]+$/) one = one " a" i # a type without a name
      p[i] = one
      gsub(/\[[^]]*\]/, "", one); sub(/ $/, "", one)
      if (one !~ /[ *][A-Za-z_][A-Za-z0-9_]*$/) { print "progress_preload_calls.awk: no name: " d > "/dev/stderr"; failed = 1; return }
      sub(/^.*[ *]/, "", one)
      arguments = arguments (i > 1 ? ", " : "") one
    }
    parameters = p[1]
    for (i = 2; i <= n; i++) parameters = parameters ", " p[i]
  }
  if (name in is_own) kind = "OWN"
  else if (name ~ /_init(_c)?$/ && parameters ~ /MPI_Request/) kind = "MAKES"
  else if (name == "Grequest_start") kind = "GREQUEST"
  else if (name ~ /^File_i(read|write)/) kind = "FILES"
  else if (name != "Cancel" && parameters ~ /MPI_Request ?\* ?[a-z_0-9]*(,|$)/) kind = "POSTS"
  else if (name ~ /^Win_(create|create_dynamic|allocate|allocate_shared)(_c)?$/) kind = "OPENS"
  else if (name ~ grows) kind = "GROWS"
  else kind = name ~ blocks ? "BLOCKS" : "LOCAL"
  if (kind == "MAKES" || kind == "GROWS") { made = arguments; sub(/.*, /, ", ", made) }
  else made = ""
  print kind "(" name ", (" parameters "), (" arguments ")" made ")"
}
