/* The packet level: messages cut into packets, switches with queues, credits, virtual channels and
   adaptive routing. Between the NICs it takes the place of wire and flows; the NICs are the same. */
#pragma once
#include "nic.h"
