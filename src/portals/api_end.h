/* End of the API. */
#  ifdef __cplusplus
}
#  endif
#endif /* PORTALS_MODEL_H_INCLUDED */

