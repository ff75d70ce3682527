/* table_make.h: what a table of transfer times holds and how it is measured. The number changes when that does: then kept
   tables are measured again. 2: with the tail of large sends and the eager size of strided data.
   3: times of the fastest transfer, announced before and from untouched memory.
   4: of large pages and of memory never written. 5: in proportion from the eager size to the next.
   6: the tail of what is received with gaps, too. 7: the eager size asked of who is in its MPI, however late.
   8: the tail of rounds in which the sender had its core when its send ended.
   9: the link to several at once counts when they had their cores. */
#ifndef TABLE_MAKE_H_INCLUDED
#define TABLE_MAKE_H_INCLUDED
enum { TABLE_MAKE = 10 };
#define TABLE_MAKE_LINE "xfer_table " /* this, then the number, in a comment of the file */
#endif
