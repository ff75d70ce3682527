/* Nodes that stand still, die and come back. */
#pragma once
#include "packet.h"
