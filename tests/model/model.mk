$(eval $(call test,model/time_and_processes))
$(eval $(call test,model/platforms))
$(eval $(call test,model/portals_matching))
$(eval $(call test,model/portals_moves))
$(eval $(call test,model/network))
$(eval $(call test,model/messages,-D_GNU_SOURCE))

# What existing Portals programs include: one line and the header it names, to be installed together.
$(B)/include/portals4.h: portals_model.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && cp portals_model.h $(@D)/portals_model.h
	$(Q)printf '/* Portals 4 as portals_model.h simulates it; made by make. */\n#include "portals_model.h"\n' >$@
NEEDS_model += $(B)/include/portals4.h
$(eval $(call bench,model))
$(eval $(call example,simulated_overlap))
$(eval $(call script,model/examples))
NEEDS_model += $(B)/simulated_overlap
