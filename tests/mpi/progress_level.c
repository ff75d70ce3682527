/* progress_level.c: which thread level the program is told. Argument: init, or the level that it asks for.
   TEST_LOCALE=name: it has set this locale before. */
#include <locale.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int provided = -1, told = -1, is_main = 0;
  const char *const locale = getenv("TEST_LOCALE");
  if (locale && !setlocale(LC_ALL, locale)) return printf("no locale %s\n", locale), 1;
  if (argc < 2 || strcmp(argv[1], "init") == 0) MPI_Init(&argc, &argv);
  else MPI_Init_thread(&argc, &argv, atoi(argv[1]), &provided);
  MPI_Query_thread(&told);
  MPI_Is_thread_main(&is_main);
  printf("provided %d, told %d, main %d\n", provided, told, is_main);
  MPI_Finalize();
  return 0;
}
