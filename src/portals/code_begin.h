/* ---------------------------------------------------------------------------------------------- */
#if defined(PORTALS_MODEL_IMPLEMENTATION) && !defined(PORTALS_MODEL_IMPLEMENTATION_ONCE)
#  define PORTALS_MODEL_IMPLEMENTATION_ONCE
