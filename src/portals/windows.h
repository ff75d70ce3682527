/* Worlds over several threads of the host. */
#pragma once
#include "lives.h"
