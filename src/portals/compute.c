#include "compute.h"
/* ============================================================================================== */
/* [COMPUTE] 10. Compute time: kernel models with noise                                           */
/* ============================================================================================== */
PM_API double pm_kernel_mean_s(const pm_kernel *kernel, double m_count, double n_count,
                               double k_count) {
  const double s = kernel->mnk_s * m_count * n_count * k_count + kernel->mn_s * m_count * n_count +
                   kernel->mk_s * m_count * k_count + kernel->nk_s * n_count * k_count +
                   kernel->one_s;
  return s > 0 ? s : 0;
}
/* Normal numbers by Box and Muller: two uniform ones, the first in (0, 1]. */
static double pm__normal(pm_world *world) {
  const double radius = sqrt(-2 * log(1 - pm__ratio(world)));
  return radius * cos(6.283185307179586 * pm__ratio(world));
}
/* One mode by its weight, then a number around its mean: so many times the kernel's mean. */
static double pm__mixture(const pm_mode *modes, int count, pm_world *world) {
  double all = 0, at, ratio;
  int i;
  for (i = 0; i < count; i++) all += modes[i].weight_ratio;
  at = all * pm__ratio(world);
  for (i = 0; i < count - 1 && at >= modes[i].weight_ratio; i++) at -= modes[i].weight_ratio;
  ratio = modes[i].mean_ratio + modes[i].sigma_ratio * pm__normal(world);
  return ratio > 0.5 * modes[i].mean_ratio ? ratio : 0.5 * modes[i].mean_ratio;
}
PM_API double pm_kernel_draw_s(const pm_kernel *kernel, pm_world *world, double m_count,
                               double n_count, double k_count) {
  const double mean_s = pm_kernel_mean_s(kernel, m_count, n_count, k_count);
  const double sigma_s =
      fabs(kernel->sigma_ratio * mean_s + kernel->sigma_mnk_s * m_count * n_count * k_count +
           kernel->sigma_mn_s * m_count * n_count + kernel->sigma_mk_s * m_count * k_count +
           kernel->sigma_nk_s * n_count * k_count + kernel->sigma_one_s);
  double s;
  if (kernel->modes_count > 0)
    return mean_s * pm__mixture(kernel->modes, kernel->modes_count, world);
  if (sigma_s > 0) {
    s = mean_s + sigma_s * pm__normal(world);
    return s > 0.5 * mean_s ? s : 0.5 * mean_s;
  }
  if (world->plat.noise_count > 0)
    return mean_s * pm__mixture(world->plat.noise, world->plat.noise_count, world);
  return mean_s;
}
PM_API void pm_compute_kernel(const pm_kernel *kernel, double m_count, double n_count,
                              double k_count) {
  double s;
  if (!pm__current) return;
  s = pm_kernel_draw_s(kernel, pm__current->proc->world, m_count, n_count, k_count);
  pm_compute_ns((int64_t)((s < 9e8 ? s : 9e8) * 1e9 + 0.5));
}
