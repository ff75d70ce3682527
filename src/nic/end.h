/* The implementation ends. */
#ifdef __cplusplus
}
#endif
#endif /* NIC_HW_IMPLEMENTATION */
