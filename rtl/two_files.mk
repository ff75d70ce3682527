# Read after Verilator's own makefile: all that is run often is compiled as one file, the rest as another, because each file
# reads the headers of Verilator for a second. VM_FAST and VM_SLOW, their names, come from rtl.mk.
$(VM_FAST).cpp: $(addsuffix .cpp,$(VM_CLASSES_FAST) $(VM_SUPPORT_FAST))
$(VM_SLOW).cpp: $(addsuffix .cpp,$(VM_CLASSES_SLOW) $(VM_SUPPORT_SLOW))
$(VM_FAST).cpp $(VM_SLOW).cpp:
	for f in $^; do echo "#include \"$$f\""; done >$@
