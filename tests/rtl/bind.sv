// The protocol checkers watch both buses of every NIC that a test simulates.
bind nic_top axi4_check u_axi4_check (.*);
bind nic_top axil_check u_axil_check (.*);
