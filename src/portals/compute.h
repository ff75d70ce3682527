/* Compute time: kernel models with noise. */
#pragma once
#include "msg.h"
/* ============================================================================================== */
/* [COMPUTE] 10. Compute time: kernel models with noise                                           */
/* ============================================================================================== */
/* The time of a matrix kernel of sizes m, n, k as a polynomial in seconds, and noise around it [D]:
     M-0  one_s alone         M-1  mnk_s (and one_s)         M-2  all five
     N-0  none                N-1  normal, sigma_ratio times the mean
     N-2  normal, its deviation a polynomial too: sigma_mnk_s ...
     N'   a mixture of normals: modes, times the mean; without any noise of the kernel's own, that of
          the platform
   Never below half the mean (of the mode). Per-host models are an array of these. dgemm of one published
   machine: mnk_s = 1.029e-11. */
typedef struct pm_kernel {
  double mnk_s, mn_s, mk_s, nk_s, one_s;
  double sigma_ratio;
  double sigma_mnk_s, sigma_mn_s, sigma_mk_s, sigma_nk_s, sigma_one_s;
  int mode_count; /* more than 0: N', instead of N-1 and N-2 */
  pm_mode modes[PM_MODES_MAX];
} pm_kernel;
/* Its time: the mean, or drawn from the world's generator. Not negative. */
PM_API double pm_kernel_mean_s(const pm_kernel *kernel, double m_count, double n_count,
                               double k_count);
PM_API double pm_kernel_draw_s(const pm_kernel *kernel, pm_world *world, double m_count,
                               double n_count, double k_count);
/* Inside a process: computes for so long. */
PM_API void pm_compute_kernel(const pm_kernel *kernel, double m_count, double n_count,
                              double k_count);
