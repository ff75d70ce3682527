$(eval $(call test,headers/own_allocator))
$(eval $(call script,headers/header_matrix))
$(eval $(call script,headers/header_rules))
$(eval $(call script,headers/readme_examples))
