/* OpenMP as GCC compiles it: every construct that pm_run brings, with results that do not depend on who does
   what. Prints the same with the compiler's own library and under pm_run. With the argument "times": what
   sleeps in parallel, which is exact in simulated time. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 1000 };
static int own;
#pragma omp threadprivate(own)

static void teams(void) {
  int seen[256] = {0}, wrong = 0;
  const int threads = omp_get_max_threads();
  printf("outside: %d of %d, parallel %d, level %d\n", omp_get_thread_num(), omp_get_num_threads(), omp_in_parallel(), omp_get_level());
#pragma omp parallel
  {
    seen[omp_get_thread_num()] = omp_get_num_threads();
    own = omp_get_thread_num() * 7;
  }
  for (int i = 0; i < threads; i++) wrong += seen[i] != threads;
#pragma omp parallel reduction(+ : wrong)
  wrong += own != omp_get_thread_num() * 7;
  printf("teams: %d wrong\n", wrong);
}
static void loops(void) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < N; i++) sum += i;
  printf("static %.0f", sum);
#pragma omp parallel for schedule(static, 7) reduction(+ : sum)
  for (int i = 0; i < N; i++) sum += i;
  printf(", blocks %.0f", sum);
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum)
  for (int i = 0; i < N; i++) sum += i;
  printf(", dynamic %.0f", sum);
#pragma omp parallel for schedule(guided, 2) reduction(+ : sum)
  for (int i = N; i > 0; i -= 3) sum += i;
  printf(", guided %.0f", sum);
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
  for (unsigned long i = 3; i < N; i += 7) sum += (double)i;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (unsigned long long i = N; i > 5; i -= 4) sum += (double)i;
  omp_set_schedule(omp_sched_guided, 3);
#pragma omp parallel for schedule(runtime) reduction(+ : sum) collapse(2)
  for (int i = -5; i < 5; i++)
    for (int k = 0; k < 3; k++) sum += i * k;
  printf(", others %.0f\n", sum);
}
/* ret places where the order was another */
static int ordered(int kind) {
  int order = 0, wrong = 0;
#pragma omp parallel
  {
    if (kind == 0) {
#pragma omp for ordered schedule(dynamic, 2)
      for (int i = 0; i < 100; i++) {
#pragma omp ordered
        wrong += order++ != i;
      }
    } else if (kind == 1) {
#pragma omp for ordered schedule(static)
      for (int i = 0; i < 100; i++) {
#pragma omp ordered
        wrong += order++ != i;
      }
    } else {
#pragma omp for ordered schedule(static, 3)
      for (unsigned long long i = 0; i < 100; i++) {
        if (i % 2) {
#pragma omp ordered
          wrong += order++ != (int)i / 2;
        }
      }
    }
  }
  return wrong + (order != (kind == 2 ? 50 : 100));
}
static void shares(void) {
  int one = 0, two = 0, three = 0, singles = 0, copied = 0, count = 0, x[N] = {0}, late = 0;
#pragma omp parallel
  {
    int v = omp_get_thread_num();
#pragma omp sections
    {
#pragma omp section
      one++;
#pragma omp section
      two++;
#pragma omp section
      three++;
    }
#pragma omp single
    singles++;
#pragma omp single copyprivate(v)
    v = 4711;
#pragma omp critical
    copied += v == 4711;
#pragma omp critical(name)
    count += 2;
#pragma omp for nowait
    for (int i = 0; i < N; i++) x[i] = i;
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < N; i++) late += i < 0;
#pragma omp barrier
  }
#pragma omp parallel sections
  {
#pragma omp section
    one += 10;
#pragma omp section
    two += 10;
  }
  printf("sections %d %d %d, singles %d, copied by all %d, critical %d, loops %d %d\n", one, two, three, singles,
         copied == omp_get_max_threads(), count == 2 * omp_get_max_threads(), x[N - 1], late);
}
static long fibonacci(int n) {
  long a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b) final(n < 5)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}
/* Tasks over many addresses, each of which reads two and writes one, perhaps the same: what they leave is what they leave one
   after the other. */
enum { PLACES = 300 };
static int dependent(void) {
  static unsigned x[PLACES], wanted[PLACES];
  unsigned seed = 1;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 3000; i++) {
    unsigned at[3];
    for (int k = 0; k < 3; k++) seed = seed * 1664525u + 1013904223u, at[k] = (seed >> 8) % (i % 2 ? PLACES : 3);
    const unsigned a = at[0], b = at[1], c = at[2];
    wanted[a] = wanted[a] * 3 + wanted[b] + wanted[c] * 5 + (unsigned)i;
#pragma omp task depend(in : x[b], x[c]) depend(inout : x[a])
    {
      const unsigned before = x[a] * 3 + x[b];
      if (i % 16 == 0) usleep(1);
      x[a] = before + x[c] * 5 + (unsigned)i;
    }
  }
  return memcmp(x, wanted, sizeof x) != 0;
}
void omp_fulfill_event_(omp_event_handle_t event); /* Fortran's, by value */
static void tasks(void) {
  long f = 0, sum = 0, in_group = 0;
  int d[6] = {0}, events = 0;
#pragma omp parallel
#pragma omp single
  f = fibonacci(12);
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : d[0])
    d[0] = 1;
#pragma omp task depend(in : d[0]) depend(out : d[1])
    d[1] = d[0] + 1;
#pragma omp task depend(in : d[0]) depend(out : d[2])
    d[2] = d[0] + 2;
#pragma omp task depend(in : d[1], d[2]) depend(inout : d[3])
    d[3] = d[1] * d[2];
#pragma omp task depend(mutexinoutset : d[3])
    d[3] *= 2;
#pragma omp taskwait depend(in : d[3])
    d[4] = d[3];
#pragma omp task depend(in : d[3]) if (0)
    d[5] = d[3] + 1;
  }
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    for (int i = 0; i < 20; i++)
#pragma omp task
    {
#pragma omp task
#pragma omp atomic
      sum += 2;
#pragma omp atomic
      sum += 1;
    }
    in_group = sum;
#pragma omp taskloop grainsize(7)
    for (int i = 0; i < 100; i++)
#pragma omp atomic
      sum += i;
#pragma omp taskloop num_tasks(3) nogroup
    for (unsigned long long i = 100; i > 0; i--)
#pragma omp atomic
      sum += (long)i;
  }
  omp_event_handle_t event;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task detach(event)
    events = 1;
    omp_fulfill_event(event);
#pragma omp taskwait
    events++;
#ifndef __clang__
#pragma omp task detach(event)
    events++;
    omp_fulfill_event_(event);
#pragma omp taskwait
#endif
  }
  printf("fibonacci %ld, depend %d %d %d %d %d %d, group %ld, loops %ld, event %d, many %d wrong\n", f, d[0], d[1], d[2], d[3], d[4], d[5], in_group, sum, events, dependent());
}
/* Reductions over tasks: each adds to what its thread has, an outer construct's copy, too. */
typedef struct pair {
  double low, high;
} pair;
#pragma omp declare reduction(both : pair : omp_out.low += omp_in.low, omp_out.high += omp_in.high) initializer(omp_priv = (pair){0, 0})
static int reduced_tasks(void) {
  int sum = 0, inner = 0, parts[5] = {0}, wrong = 0;
  pair p = {0, 0};
  double product = 1;
#pragma omp taskgroup task_reduction(+ : sum, parts[1 : 3]) task_reduction(* : product)
  {
    for (int i = 0; i < 40; i++)
#pragma omp task in_reduction(+ : sum, parts[1 : 3]) in_reduction(* : product)
    {
      sum += i;
      parts[1 + i % 3]++;
      if (i % 10 == 0) product *= 2;
      if (i % 2) {
#pragma omp task in_reduction(+ : sum)
        sum += 1000;
      }
    }
#pragma omp taskgroup task_reduction(both : p) task_reduction(+ : inner)
    for (int i = 0; i < 8; i++)
#pragma omp task in_reduction(both : p) in_reduction(+ : inner, sum)
      p.low += i, p.high += 2 * i, inner++, sum += 100000;
  }
  wrong += sum != 780 + 20000 + 800000 || parts[0] || parts[1] != 14 || parts[2] != 13 || parts[3] != 13 || product != 16;
  return wrong + (p.low != 28 || p.high != 56 || inner != 8);
}
static int reduced_loops(int many) {
  int sum = 0, least = 1000, nothing = 7;
  long big = 0;
#pragma omp taskloop reduction(+ : sum) reduction(min : least) grainsize(3)
  for (int i = 0; i < many; i++) {
    sum += i;
    if (500 - i < least) least = 500 - i;
  }
#pragma omp taskloop reduction(+ : nothing)
  for (int i = many; i < 0; i++) nothing++;
#pragma omp taskgroup task_reduction(+ : big)
  {
#pragma omp taskloop in_reduction(+ : big) num_tasks(7)
    for (unsigned long long i = 0; i < 100; i++) big += (long)i;
#pragma omp task in_reduction(+ : big)
    big += 50;
  }
  return (sum != many * (many - 1) / 2) + (least != 501 - many) + (nothing != 7) + (big != 5000);
}
static int at_all, of_loop, of_sections, of_scope;
static void reduced_teams(void) {
#pragma omp parallel reduction(task, + : at_all)
  {
    at_all++;
#pragma omp task in_reduction(+ : at_all)
    at_all += 10;
  }
#pragma omp parallel
  {
#pragma omp for reduction(task, + : of_loop) schedule(dynamic, 2)
    for (int i = 0; i < 30; i++) {
      of_loop++;
#pragma omp task in_reduction(+ : of_loop)
      of_loop += 100;
    }
#pragma omp sections reduction(task, + : of_sections)
    {
#pragma omp section
      of_sections++;
#pragma omp section
      {
#pragma omp task in_reduction(+ : of_sections)
        of_sections += 10;
      }
    }
  }
}
static void reductions(void) {
  const int threads = omp_get_max_threads();
  int wrong = 0;
#pragma omp parallel
#pragma omp single
  wrong = reduced_tasks() + reduced_loops(60);
  reduced_teams();
  printf("reductions over tasks: %d wrong, alone %d, teams %d, loop %d, sections %d\n", wrong, reduced_tasks() + reduced_loops(20),
         at_all - 11 * threads, of_loop, of_sections);
}
/* At these GCC's library (12) may wait for ever. ret 0: right */
static int scopes_and_limits(void) {
  int wrong = 0;
#ifndef __clang__
#pragma omp parallel
  for (int i = 0; i < 3; i++) {
#pragma omp scope reduction(task, + : of_scope)
#pragma omp task in_reduction(+ : of_scope)
    of_scope += 5;
  }
  wrong += of_scope != 15 * omp_get_max_threads();
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : wrong)
#pragma omp parallel reduction(+ : wrong)
  wrong += omp_get_num_threads() > 2 || omp_get_thread_limit() != 2 || omp_get_num_teams() != 3;
#endif
  return wrong;
}
/* Iterations that wait for others, where GCC's library keeps all cores busy: numbers of paths in a grid, forward and backward. */
enum { GRID = 12 };
static long grid[GRID][GRID];
static long paths(int kind) {
  memset(grid, 0, sizeof grid);
  omp_set_schedule(omp_sched_dynamic, 2);
#pragma omp parallel
  if (kind == 0) {
#pragma omp for ordered(2) schedule(static, 1)
    for (int i = 0; i < GRID; i++)
      for (int k = 0; k < GRID; k++) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k - 1)
        grid[i][k] = !i || !k ? 1 : grid[i - 1][k] + grid[i][k - 1];
#pragma omp ordered depend(source)
      }
  } else if (kind == 1) {
#pragma omp for ordered(2) schedule(dynamic, 1)
    for (int i = GRID - 1; i >= 0; i--)
      for (int k = GRID - 1; k >= 0; k--) {
#pragma omp ordered depend(sink : i + 1, k)
        grid[i][k] = i == GRID - 1 || k == GRID - 1 ? 1 : grid[i + 1][k] + grid[i][k + 1];
#pragma omp ordered depend(source)
      }
  } else if (kind == 2) {
#pragma omp for ordered(1) schedule(runtime)
    for (unsigned long long i = 1; i < GRID; i++) {
#pragma omp ordered depend(sink : i - 1)
      grid[0][i] = grid[0][i - 1] + (long)i;
#pragma omp ordered depend(source)
    }
  } else {
#pragma omp for ordered(1) schedule(guided, 2)
    for (long i = 2; i < GRID; i++) {
      usleep(i % 2 ? 100 : 0);
#pragma omp ordered depend(sink : i - 2)
      grid[0][i] = grid[0][i - 2] + i;
#pragma omp ordered depend(source)
    }
  }
  return kind == 0 ? grid[GRID - 1][GRID - 1] : kind == 1 ? grid[0][0] : grid[0][GRID - 1];
}
/* At these GCC's library (12) may wait for ever, too. Teams of the host, and regions for a device that is not there: they run here, after the tasks that they wait for. */
static void regions(void) {
#ifndef __clang__
  int teams = 0, x = 0, seen = 0, inside = 0, size = 0, strict[4] = {0};
#pragma omp teams num_teams(3) reduction(+ : teams)
  teams += omp_get_num_teams() * 10 + omp_get_team_num();
#pragma omp target teams num_teams(4) map(tofrom : inside) reduction(+ : inside)
  inside += omp_get_num_teams() * 10 + omp_get_team_num();
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : x)
    usleep(1000), x = 1;
#pragma omp target map(tofrom : x, size) depend(inout : x) nowait
    {
      x = x * 10 + omp_in_parallel() + omp_get_level();
#pragma omp parallel
#pragma omp single
      size = omp_get_num_threads() == omp_get_max_threads();
    }
#pragma omp target update to(x) depend(in : x) nowait
#pragma omp task depend(in : x)
    seen = x;
  }
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(strict : 6)
  for (int i = 0; i < 20; i++)
    if (i % 6 == 0) strict[i / 6] = i;
  printf("teams %d, in a region %d, after tasks %d, its team %d, strict %d %d %d\n", teams, inside, seen, size, strict[1], strict[2], strict[3]);
  omp_set_num_teams(5);
  printf("teams at most %d, threads of theirs %d\n", omp_get_max_teams(), omp_get_teams_thread_limit());
#endif
}
static void locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  int plain = 0, nested = 0;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel
  {
    for (int i = 0; i < 10; i++) {
      omp_set_lock(&lock);
      plain++;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest);
      nested += omp_test_nest_lock(&nest) == 2;
      omp_unset_nest_lock(&nest);
      omp_unset_nest_lock(&nest);
    }
    while (!omp_test_lock(&lock)) {
    }
    plain++;
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  printf("locks %d %d\n", plain - 11 * omp_get_max_threads(), nested - 10 * omp_get_max_threads());
}
static void nested(void) {
  int in = 0, levels = 0, serial = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    in += omp_get_num_threads();
#pragma omp atomic
    levels += omp_get_ancestor_thread_num(1) * 10 + omp_get_team_size(1) + omp_get_level();
  }
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
#pragma omp atomic
  serial += omp_get_num_threads();
  printf("nested %d %d, serial %d\n", in, levels, serial);
}
/* The last iteration that sets a variable gives it, by memory that the compiler asks for where the loop stands alone. */
static int last, total;
static void find_last(int kind, const char *sets) {
  if (kind == 0) {
#pragma omp for schedule(dynamic, 3) lastprivate(conditional : last)
    for (int i = 0; i < N; i++)
      if (sets[i]) last = i;
  } else if (kind == 1) {
#pragma omp for lastprivate(conditional : last)
    for (int i = N - 1; i >= 0; i--) /* who has the earlier ones ends later */
      if (sets[i]) usleep(10u * (unsigned)i), last = i;
  } else if (kind == 2) {
#pragma omp for schedule(guided) lastprivate(conditional : last)
    for (unsigned long long i = 0; i < N; i++)
      if (sets[i]) last = (int)i;
  } else if (kind == 3) {
#pragma omp for schedule(dynamic) ordered lastprivate(conditional : last)
    for (unsigned long long i = 0; i < N; i++) {
#pragma omp ordered
      if (sets[i]) last = (int)i;
    }
  } else {
#pragma omp sections lastprivate(conditional : last)
    {
#pragma omp section
      if (sets[100]) last = 1;
#pragma omp section
      if (sets[101]) last = 2;
#pragma omp section
      if (sets[102]) last = 3;
    }
  }
}
static void sums_so_far(int *so_far) {
#pragma omp for reduction(inscan, + : total)
  for (int i = 0; i < N; i++) {
    total += i;
#pragma omp scan inclusive(total)
    so_far[i] = total;
  }
}
static void conditionals(void) {
  static char sets[N];
  int so_far[N], wrong = 0;
  for (int i = 101; i < N; i += i < 700 ? 77 : N) sets[i] = 1;
  printf("last");
  for (int kind = 0; kind < 5; kind++) {
    last = -1;
#pragma omp parallel
    find_last(kind, sets);
    printf(" %d", last);
    last = -1;
    find_last(kind, sets);
    printf(" %d", last);
  }
#pragma omp parallel
  sums_so_far(so_far);
  for (int i = 0; i < N; i++) wrong += so_far[i] != i * (i + 1) / 2;
  printf(", sums so far: %d wrong, %d\n", wrong, total);
}
/* Where nobody cancels, each thread comes to the end of its patience. */
enum { PATIENCE = 5000 };
static int cancelled_loop(int threads) {
  int ended = 0, patient = 0;
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(static, 1) reduction(+ : ended, patient)
  for (int i = 0; i < threads; i++) {
    if (i == threads - 1) {
#pragma omp cancel for
    }
    for (int tries = 0; tries < PATIENCE; tries++) {
#pragma omp cancellation point for
      usleep(1000);
      patient = tries == PATIENCE - 1;
    }
    ended++;
  }
  return ended + 100 * patient;
}
static int cancelled_sections(void) {
  int after = 0;
#pragma omp parallel
#pragma omp sections reduction(+ : after)
  {
#pragma omp section
    {
#pragma omp cancel sections
      after++;
    }
#pragma omp section
    for (int tries = 0; tries < PATIENCE && omp_get_num_threads() > 1; tries++) {
#pragma omp cancellation point sections
      usleep(1000);
      after += tries == PATIENCE - 1;
    }
  }
  return after;
}
static int cancelled_team(int is_wanted) {
  int after = 0;
#pragma omp parallel
  {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp cancel parallel if (is_wanted)
    }
#pragma omp for schedule(dynamic) reduction(+ : after) nowait
    for (int i = 0; i < N; i++) after += is_wanted ? 0 : 1;
#pragma omp barrier
#pragma omp atomic
    after++;
  }
  return after - (is_wanted ? 0 : omp_get_max_threads());
}
static int cancelled_group(void) {
  int ran = 0, after = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp task if (0)
      {
#pragma omp cancel taskgroup
        ran += 100;
      }
      for (int i = 0; i < 20; i++)
#pragma omp task
#pragma omp atomic
        ran++;
#pragma omp taskloop
      for (int i = 0; i < 20; i++)
#pragma omp atomic
        ran++;
    }
#pragma omp task
    after++;
  }
  return ran * 10 + after;
}
/* Tasks that stand in the list when their group is cancelled are not begun. */
static int cancelled_later(void) {
  int ran = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
  {
    for (int i = 0; i < 20; i++)
#pragma omp task
    {
#pragma omp atomic
      ran++;
#pragma omp cancel taskgroup
    }
  }
  return ran > 2; /* each thread had one at most */
}
static void cancels(void) {
  const int threads = omp_get_max_threads();
  printf("cancellation %d", omp_get_cancellation());
  if (omp_get_cancellation())
    printf(", loop %d %d, sections %d, team %d, group %d, later %d", cancelled_loop(threads), cancelled_loop(1), cancelled_sections(), cancelled_team(1),
           cancelled_group(), cancelled_later());
  printf(", none %d\n", cancelled_team(0));
}

static double since(double t) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6 - t;
}
/* One thread cancels its team while another makes what all are to have. */
static int copied(void) {
  int sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    int data = 0;
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      usleep(1000);
#pragma omp cancel parallel
    }
#pragma omp single copyprivate(data)
    {
      usleep(2000);
      data = 5;
    }
    sum += data;
  }
  return sum;
}
static void times(void) { /* four threads, milliseconds */
  double t = since(0);
#pragma omp parallel for
  for (int i = 0; i < 8; i++) usleep(1000);
  printf("loop %.1f", since(t));
  t = since(0);
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 8; i++) usleep(i == 0 ? 7000 : 1000);
  printf(", dynamic %.1f", since(t));
  t = since(0);
#pragma omp parallel
#pragma omp critical
  usleep(1000);
  printf(", critical %.1f", since(t));
  t = since(0);
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 8; i++)
#pragma omp task
    usleep(1000);
  printf(", tasks %.1f", since(t));
  t = since(0);
#pragma omp parallel for ordered schedule(dynamic)
  for (int i = 0; i < 8; i++) {
    usleep(1000);
#pragma omp ordered
    usleep(2000);
  }
  printf(", ordered %.1f ms\n", since(t));
}
int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "times") == 0) return times(), 0;
  if (argc > 1 && strcmp(argv[1], "copies") == 0) return printf("copies %d\n", copied()) < 0;
  if (argc > 1 && strcmp(argv[1], "iterations") == 0) return regions(), printf("iterations wait: %ld %ld %ld %ld, scopes and limits %d\n", paths(0), paths(1), paths(2), paths(3), scopes_and_limits()) < 0;
  if (argc > 1) return printf("%d threads of %d\n", omp_get_max_threads(), omp_get_num_procs()), 0;
  teams();
  loops();
  printf("ordered: %d %d %d wrong\n", ordered(0), ordered(1), ordered(2));
  shares();
  tasks();
  locks();
  nested();
  conditionals();
  cancels();
  reductions(); /* the last: teams of other sizes behind them may not end with the library of GCC 12 */
  return 0;
}
