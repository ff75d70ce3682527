#include "compute.h"
/* ============================================================================================== */
/* [COMPUTE] 10. Compute time: kernel models with noise                                           */
/* ============================================================================================== */
/* Products and logarithm by ourselves: draws are the same on every machine, to the last bit. */
static double pm__polynomial_s(double mnk_s, double mn_s, double mk_s, double nk_s, double m_count,
                               double n_count, double k_count) {
  return pm__times(mnk_s * m_count * n_count, k_count) + pm__times(mn_s * m_count, n_count) +
         pm__times(mk_s * m_count, k_count) + pm__times(nk_s * n_count, k_count);
}
/* Of a number in (0, 1]: exponent and mantissa apart, and log((1 + s) / (1 - s)) as a series in s * s,
   which is at most 0.03. */
static double pm__log(double x) {
  int exponent, k;
  double mantissa = frexp(x, &exponent), s, series = 1.0 / 25;
  if (mantissa < 0.70710678118654752) mantissa *= 2, exponent--;
  s = (mantissa - 1) / (mantissa + 1);
  for (k = 23; k > 0; k -= 2) series = pm__times(series, s * s) + 1.0 / k;
  return pm__times(exponent, 0.69314718055994531) + pm__times(2 * s, series);
}
PM_API double pm_kernel_mean_s(const pm_kernel *kernel, double m_count, double n_count,
                               double k_count) {
  double s;
  if (!kernel) return 0;
  s = pm__polynomial_s(kernel->mnk_s, kernel->mn_s, kernel->mk_s, kernel->nk_s, m_count, n_count,
                       k_count) +
      kernel->one_s;
  return s > 0 ? s : 0;
}
/* Normal numbers by Marsaglia's polar method: a point of the unit disc. */
static double pm__normal(pm_world *world) {
  double x, y, square;
  do {
    x = 2 * pm__ratio(world) - 1;
    y = 2 * pm__ratio(world) - 1;
    square = pm__times(x, x) + pm__times(y, y);
  } while (square >= 1 || square <= 0);
  return x * sqrt(-2 * pm__log(square) / square);
}
/* One mode by its weight, then a number around its mean: so many times the kernel's mean. */
PM__PRIVATE double pm__mixture(const pm_mode *modes, int count, pm_world *world) {
  double all = 0, at, ratio;
  int i;
  if (count > PM_MODES_MAX) count = PM_MODES_MAX; /* a kernel filled by hand */
  for (i = 0; i < count; i++) all += modes[i].weight_ratio;
  at = all * pm__ratio(world);
  for (i = 0; i < count - 1 && at >= modes[i].weight_ratio; i++) at -= modes[i].weight_ratio;
  ratio = modes[i].mean_ratio + pm__times(modes[i].sigma_ratio, pm__normal(world));
  return ratio > 0.5 * modes[i].mean_ratio ? ratio : 0.5 * modes[i].mean_ratio;
}
PM_API double pm_kernel_draw_s(const pm_kernel *kernel, pm_world *world, double m_count,
                               double n_count, double k_count) {
  double mean_s, sigma_s, s;
  mean_s = pm_kernel_mean_s(kernel, m_count, n_count, k_count);
  if (!kernel || !world) return mean_s;
  sigma_s = fabs(pm__times(kernel->sigma_ratio, mean_s) + kernel->sigma_one_s +
                 pm__polynomial_s(kernel->sigma_mnk_s, kernel->sigma_mn_s, kernel->sigma_mk_s,
                                  kernel->sigma_nk_s, m_count, n_count, k_count));
  if (kernel->mode_count > 0) return mean_s * pm__mixture(kernel->modes, kernel->mode_count, world);
  if (sigma_s > 0) {
    s = mean_s + pm__times(sigma_s, pm__normal(world));
    return s > 0.5 * mean_s ? s : 0.5 * mean_s;
  }
  if (world->plat.noise_count > 0)
    return mean_s * pm__mixture(world->plat.noise, world->plat.noise_count, world);
  return mean_s;
}
PM_API void pm_compute_kernel(const pm_kernel *kernel, double m_count, double n_count,
                              double k_count) {
  double s;
  if (!pm__current || !kernel) return;
  if (pm__current->has_steps) pm__catch_up(); /* drawn in its turn */
  s = pm_kernel_draw_s(kernel, pm__current->proc->world, m_count, n_count, k_count);
  pm_compute_ns((int64_t)(pm__times(s < 9e8 ? s : 9e8, 1e9) + 0.5));
}
