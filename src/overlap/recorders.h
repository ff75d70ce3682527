/* Monitors, recorders and places, which take memory: declared in monitor.h. */
#pragma once
#include "monitor.h"
