/* Library and interfaces: their beginning and end. */
#pragma once
#include "ptl_moves.h"
