/* What is shared between pieces and by nobody else. base/ stands in both single headers: the first
   one implemented in a file brings it, so its parts carry guards that both know. */
#pragma once
/* ---- for later pieces ---- */
#ifndef NBC__PRIVATE
#  if defined(NBC_PIECES)
#    define NBC__PRIVATE __attribute__((visibility("hidden")))
#  elif defined(__GNUC__)
#    define NBC__PRIVATE __attribute__((unused)) static
#  else
#    define NBC__PRIVATE static
#  endif
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
