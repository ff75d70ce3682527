$(eval $(call test,model/time_and_processes))
$(eval $(call test,model/platforms))
$(eval $(call test,model/portals_matching))
$(eval $(call test,model/portals_moves))
$(eval $(call test,model/random_calls))
$(eval $(call test,model/network))
$(eval $(call test,model/messages,-D_GNU_SOURCE))
$(eval $(call test,model/collectives,-D_GNU_SOURCE))

# What existing Portals programs include: one line and the header it names, to be installed together.
$(B)/include/portals4.h: portals_model.h examples/pmi.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && cp portals_model.h $(@D)/portals_model.h
	$(Q)cp examples/pmi.h $(@D)/pmi.h
	$(Q)printf '/* Portals 4 as portals_model.h simulates it; made by make. */\n#include "portals_model.h"\n' >$@
NEEDS_model += $(B)/include/portals4.h
$(eval $(call bench,model))
$(eval $(call example,simulated_overlap))
$(eval $(call script,model/examples))
NEEDS_model += $(B)/simulated_overlap
# pm_run lends its symbols to the programs it loads
$(eval $(call example,pm_run,,-rdynamic -ldl))
$(eval $(call script,model/guests))
# An ordinary Portals program, as pm_run wants it
$(B)/tests/model/guest_ring.so: tests/model/guest_ring.c $(B)/include/portals4.h $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -shared -fPIC -I$(B)/include $< -o $@ $(LDFLAGS)
NEEDS_model += $(B)/pm_run $(B)/tests/model/guest_ring.so
