/* Stamps that other threads and NICs set for a recorder: declared in monitor.h. */
#pragma once
#include "monitor.h"
