/* C, also where C++ includes it. */
#ifdef __cplusplus
extern "C" {
#endif
