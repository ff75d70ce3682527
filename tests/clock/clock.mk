$(eval $(call test,clock/source_is_tested,-D_GNU_SOURCE))
$(eval $(call test,clock/statistics))
$(eval $(call test,clock/tables))
$(eval $(call test,clock/relation_contains_truth))
