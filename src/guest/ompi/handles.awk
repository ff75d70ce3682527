# Writes the table of predefined handles, and the room of the variables that programs have of them.
#
#   awk -f handles.awk handles.list
BEGIN { print "const om_row om_rows[] = {" }
/^#/ || NF == 0 { next }
{ printf "#ifdef %s\n    {\"%s\", K_%s, (int)(intptr_t)%s, %s},\n#endif\n", $3, $1, $2, $3, $4 == "-" ? "-1" : $4 }
END {
  # what is copied into a variable of a program may be 2 KiB long
  print "};\nconst int om_row_count = sizeof om_rows / sizeof *om_rows;"
  print "om_known om_variable[sizeof om_rows / sizeof *om_rows + 2048 / sizeof(om_known)];"
}
