# nic_ct and what ct.sv says about it, small: four triggers, two counters, counts and thresholds of two bits
/^module nic_ct/,${
s/ import nic_pkg::\*;//
s/Triggers = 256/Triggers = 4/
s/localparam int unsigned Counts = 16/localparam int unsigned V = 2, Counts = 2/
s/output logic \[63:0\]/output logic [64-1:0]/
s/\[63:0\]/[V-1:0]/g
s/\[127:64\]/[2*V-1:V]/g
s/\[127:0\]/[2*V-1:0]/g
s/\(64\|128\)'(/V'(/g
s/{32'd0, count_success_i}/V'(count_success_i)/
# what the host writes is half of a count
s/is\[31:0\] /is[V\/2-1:0] /
s/is\[63:32\]/is[V-1:V\/2]/
s/is\[95:64\]/is[V+V\/2-1:V]/
s/is\[127:96\]/is[2*V-1:V+V\/2]/
s/\[32 \* op_half +: 32\]/[V\/2 * op_half +: V\/2]/
s/op_value\[31:0\]/op_value[V\/2-1:0]/
s/128'd0/'0/
}
