# Writes a program from src/guest/standard/constants.list. Made for MPICH and for the standard ABI it prints the same: what
# every constant does, by name. With what=numbers it prints "kind NUMBER-THERE NUMBER-HERE", for its header.
function each(kind, form) { forms[kind] = form }
BEGIN {
  each("error", "error(\"%s\", MPI_%s);")
  each("type", "type(\"%s\", MPI_%s);")
  each("op", "op(\"%s\", MPI_%s);")
  each("comm", "comm(\"%s\", MPI_%s);")
  each("thread", "printf(\"%s: %%d\\n\", provided == MPI_%s);")
  each("key", "key(\"%s\", MPI_%s);")
  print "#include \"standard_constants.h\"\nint main(int argc, char **argv) {\n  int provided;"
  if (what != "numbers") print "  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);\n  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);"
  else print "  (void)argc, (void)argv, (void)provided;"
}
/^#/ || NF > 3 || $1 !~ /^[a-z]+$/ || $1 == "version" || ($1 == "max" && what == "numbers") { next }
what == "numbers" {
  if ($1 !~ /^(comm|group|type|op|win|file|info|errh|req|msg|session)$/) printf "  printf(\"%s %s %%d\\n\", (int)MPI_%s);\n", $1, $3, $2
  next
}
# MPICH has no macro for some: what the ABI has there is no type (threads are no macros there)
$1 in forms { printf "#if defined MPI_ABI_VERSION || defined MPI_%s || %d\n  " forms[$1] "\n#else\n  printf(\"%s: none\\n\");\n#endif\n", $2, $1 == "thread", $2, $2, $2 }
END { if (what != "numbers") print "  MPI_Finalize();"; print "  return 0;\n}" }
