/* Messages that a carrier moves, e.g. NICs in RTL. */
#pragma once
#include "nic.h"
