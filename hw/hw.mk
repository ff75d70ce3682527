# hw/: nicstat, and what a program needs that includes nic_hw.h
ifneq ($(HAVE_LIBPCI),)
HW_CFLAGS := -DNIC_WITH_LIBPCI $(shell pkg-config --cflags libpci)
HW_LIBS   := $(shell pkg-config --libs libpci)
endif
$(eval $(call program,$(B)/nicstat,hw/nicstat.c,$$(HW_CFLAGS),$$(HW_LIBS),,$(B)/libnbc_overlap.a))
NEEDS_hw += $(B)/nicstat
