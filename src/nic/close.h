/* The API ends. */
#ifdef __cplusplus
}
#endif
#endif /* NIC_HW_H_INCLUDED */
