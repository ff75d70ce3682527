/* End of the implementation. */
#  ifdef __cplusplus
}
#  endif
#endif /* PORTALS_MODEL_IMPLEMENTATION */

