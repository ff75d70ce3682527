# Writes from constants.list: what=header the part of mpi.h before the functions (with types.h put in); what=numbers an enum
# ST_X of what MPI_X is; else the tables from these constants to those of MPICH and back.
#
#   awk -f constants.awk -v what=header constants.list types.h
function is_handle() { return $1 in handle }
FILENAME ~ /types\.h$/ { types = types $0 "\n"; next }
BEGIN {
  n = split("comm Comm group Group type Datatype op Op win Win file File info Info errh Errhandler req Request msg Message session Session", list, " ")
  for (i = 1; i < n; i += 2) handle[list[i]] = list[i + 1]
}
/^#/ || NF == 0 { next }
!($1 in kinds) { kinds[$1]; kind[++kind_count] = $1 }
{ row[$1] = row[$1] $2 " " $3 " " $4 "\n" }
function header_of(k, n, line, i, f, number) {
  if (k in handle) printf "typedef struct MPI_ABI_%s *MPI_%s;\n", handle[k], handle[k]
  else if (k ~ /^[a-z]+$/ && k !~ /^(max|version)$/) print "enum" (k == "safety" ? " MPI_T_cb_safety" : k == "turn" ? " MPI_T_source_order" : "") " {"
  for (i = 1; i < n; i++) {
    split(line[i], f, " ")
    if (k == "=") printf "#define MPI_%s MPI_%s\n", f[1], f[2]
    else if (k in handle) printf "#define MPI_%s ((MPI_%s)%s)\n", f[1], handle[k], f[2]
    else if (k ~ /^(max|version)$/) printf "#define MPI_%s %s\n", f[1], f[2] < 0 ? "(" f[2] ")" : f[2]
    else if (k ~ /^[a-z]+$/) printf "  MPI_%s = %s%s\n", f[1], f[2], i < n - 1 ? "," : ""
    else printf "#define MPI_%s ((%s)%s)\n", f[1], k, f[2]
  }
  if (!(k in handle) && k ~ /^[a-z]+$/ && k !~ /^(max|version)$/) print "};"
}
function pairs_of(k, n, line, i, f, other) {
  printf "static const st_pair rows_%s[] = {\n", k
  for (i = 1; i < n; i++) {
    split(line[i], f, " ")
    other = f[3] != "" ? f[3] : f[1]
    if (k in handle) printf "#ifdef MPI_%s\n    {%s, (int)(intptr_t)MPI_%s},\n#else\n    {%s, (int)MPI_DATATYPE_NULL},\n#endif\n", other, f[2], other, f[2]
    else printf "    {%s, (int)%s%s},\n", f[2], other ~ /^GM_/ ? "" : "MPI_", other
  }
  printf "};\nconst st_pairs st_%s_pairs = {sizeof rows_%s / sizeof *rows_%s, rows_%s};\n", k, k, k, k
}
END {
  if (what == "header") {
    print "/* MPI 5.0 with its standard ABI, for programs that are to run under pm_run (and any other MPI of this ABI).\n   Written by src/guest/standard/constants.awk. */"
    print "#ifndef MPI_H_ABI\n#define MPI_H_ABI\n#include <stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif"
    print "typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\ntypedef int64_t MPI_Count;"
    print "typedef struct {\n  int MPI_SOURCE;\n  int MPI_TAG;\n  int MPI_ERROR;\n  int MPI_internal[5];\n} MPI_Status;"
  } else if (what == "numbers") print "/* Written by constants.awk. */\n#ifndef ST_NUMBERS_H\n#define ST_NUMBERS_H\nenum {"
  else print "/* Written by constants.awk. */\n#include \"st.h\""
  for (j = 1; j <= kind_count; j++) {
    n = split(row[kind[j]], line, "\n")
    if (what == "header") header_of(kind[j], n, line)
    else if (what == "numbers") {
      for (i = 1; i < n && kind[j] != "="; i++) { split(line[i], f, " "); printf "  ST_%s = %s,\n", f[1], f[2] }
    } else if (kind[j] ~ /^[a-z]+$/ && kind[j] !~ /^(max|version)$/) pairs_of(kind[j], n, line)
  }
  if (what == "header") printf "%s", types
  if (what == "numbers") print "  ST_END\n};\n#endif"
}
