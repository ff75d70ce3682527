# nic_lme and what lme.sv says about it, small: four entries, two portal indices with a list of each kind, and which entries
# a message fits is free, as is what is done with the one that it takes
s/ import nic_pkg::\*;//
s/Lists = 256/Lists = 2/
s/ListBits = 8/ListBits = 1/
s/Entries = 1024/Entries = 4/
s/Headers = 1024/Headers = 4/
s/{ctx_at, req_i.pt\[3:0\]}/req_i.pt[0]/
s/{op_me_q.overflow, op_me_q.ctx, op_me_q.pt}/{op_me_q.overflow, op_me_q.pt[0]}/
s/{me.overflow, me.ctx, me.pt}/{me.overflow, me.pt[0]}/
/assign hit  /,/;$/c\  assign hit = f_fits_q[cur_q];
/assign its_user /,/;$/c\  assign its_user = f_any[0];
/assign allowed /,/;$/c\  assign allowed = f_any[1];
/assign leaves /,/;$/c\  assign leaves = f_any[2];
/assign keeps /,/;$/c\  assign keeps = f_any[3];
