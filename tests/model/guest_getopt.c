/* What getopt makes of many random command lines, printed: the same on the host and under pm_run. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long seed;
static int draw(int below) { return (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % below; }
int main(int argc, char **argv) {
  static const char *const words[] = {"-a",    "-b",      "-bx",   "-c",       "-cy",      "-abz",  "-ab", "--",      "-",   "file",  "other", "-x",
                                      "--all", "--bytes", "--by",  "--bytes=7", "--count=", "--cou", "--n", "--all=3", "-by", "-a=3",  "--nono", "-al"};
  static const char *const lists[] = {"ab:c::", "+ab:c::", "-ab:c::", ":ab:c::", "a", "+:ab:c"};
  int flag = 0, rounds = argc > 1 ? atoi(argv[1]) : 1000;
  const struct option options[] = {{"all", no_argument, NULL, 'A'},    {"bytes", required_argument, NULL, 'B'}, {"count", optional_argument, &flag, 5},
                                   {"counter", no_argument, NULL, 'D'}, {"none", no_argument, NULL, 'N'},        {NULL, 0, NULL, 0}};
  for (int round = 0; round < rounds; round++) {
    char text[10][16], *line[11];
    const int count = 1 + draw(9), kind = draw(3);
    const char *list = lists[draw(6)];
    int option, index = -1;
    for (int i = 0; i < count; i++) line[i] = strcpy(text[i], i ? words[draw(24)] : "me");
    line[count] = NULL;
    optind = 0;
    opterr = draw(4) != 0;
    printf("%d:", round);
    while ((option = kind == 0   ? getopt(count, line, list)
                     : kind == 1 ? getopt_long(count, line, list, options, &index)
                                 : getopt_long_only(count, line, list, options, &index)) != -1)
      printf(" %d(%s,%d,%d,%d,%d)", option, optarg ? optarg : "", optind, option == '?' || option == ':' ? optopt : 0, index, flag);
    printf(" rest %d", optind);
    for (int i = 1; i < count; i++) printf(" %s", line[i]);
    printf("\n");
  }
  return 0;
}
