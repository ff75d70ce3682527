/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_HW_IMPLEMENTATION_ONCE)
#  define NIC_HW_IMPLEMENTATION_ONCE
