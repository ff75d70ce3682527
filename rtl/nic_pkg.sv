// Types and constants shared by all modules. Widths of the wire formats are fixed here; depths and
// table sizes are parameters of nic_top. The byte layout is documented in REGISTERS.md.
package nic_pkg;
  /* verilator lint_off UNUSEDPARAM */  // a module alone uses some of them only
  localparam int unsigned FlitBits = 256;
  localparam int unsigned FlitBytes = 32;
  localparam int unsigned PeerBits = 6;
  localparam int unsigned Peers = 64;  // NICs that one NIC can talk to
  localparam int unsigned Window = 32;  // unacknowledged messages per peer and class
  localparam int unsigned WindowBits = 5;
  localparam int unsigned Contexts = 16;  // interfaces of processes on one NIC
  localparam int unsigned Lists = 256;    // portal table indices: 16 per context
  localparam int unsigned ListBits = 8;

  // ---- link packet: 8-byte header and two flits -------------------------------------------------
  typedef struct packed {
    logic [31:0] crc;  // CRC-32C over the rest of the packet
    logic [5:0]  src;
    logic [5:0]  dst;
    logic [7:0]  seq;  // of the message, per peer and class
    logic [7:0]  idx;  // of the packet in its message, modulo 256
    logic [1:0]  vn;   // {class, response}: compute 0, service 1
    logic        sop;  // first packet: the payload is a msg_t
    logic        eop;
  } pkt_hdr_t;

  typedef struct packed {
    pkt_hdr_t     hdr;
    logic [511:0] data;
  } pkt_t;

  // ---- frames of nic_mac: the two types that Ethernet keeps for local use, as their bytes come on a stream ------------
  localparam logic [15:0] MacTypeFull  = 16'hB588;   // 0x88B5: with a packet
  localparam logic [15:0] MacTypeEmpty = 16'hB688;

  // ---- message header: payload of the first packet ----------------------------------------------
  typedef logic [3:0] kind_t;
  localparam kind_t KindPut = 4'd0;
  localparam kind_t KindGet = 4'd1;
  localparam kind_t KindAtomic = 4'd2;
  localparam kind_t KindFetch = 4'd3;
  localparam kind_t KindAck = 4'd8;
  localparam kind_t KindReply = 4'd9;
  localparam kind_t KindAckAck = 4'd10;
  localparam kind_t KindCtInc = 4'd12;   // of triggers only: these never leave the NIC
  localparam kind_t KindCtSet = 4'd13;

  typedef struct packed {
    logic [127:0] imm;       // payload up to 16 bytes; operand {compare, value}; old value
    logic [47:0]  user;      // message id of the initiator, for events and stamps
    logic [3:0]   retry;     // 0 when sent for the first time
    logic         is_complex;  // an atomic's element: two floats or doubles,
    logic         is_float;    // or one float or double
    logic [1:0]   ni;        // kind of interface: matching, logical
    logic [7:0]   slot;      // initiator's command slot
    logic [31:0]  uid;       // of the initiator
    logic [15:0]  pid;
    logic [15:0]  dst_pid;   // of the process that is meant
    logic [63:0]  hdr_data;
    logic [63:0]  offset;    // of a request 48 bits; above them the upper 8 of its base
    logic [63:0]  match;
    logic [31:0]  length;    // bytes asked for; in a response: bytes moved
    logic [7:0]   base;      // oldest number the initiator still waits for, of 16 bits; of an acknowledgement bit 0: not for its host
    logic [7:0]   pt;
    logic [3:0]   status;
    logic [4:0]   aop;
    logic [2:0]   dtype;     // {signed, log2 of the size in bytes}; of a complex number: that log2
    kind_t        kind;
  } msg_t;

  // ---- results, in responses and events ---------------------------------------------------------
  typedef logic [3:0] status_t;
  localparam status_t StOk = 4'd0;
  localparam status_t StUndeliverable = 4'd1;
  localparam status_t StDropped = 4'd2;
  localparam status_t StPtDisabled = 4'd3;
  localparam status_t StPermission = 4'd4;
  localparam status_t StOperation = 4'd5;
  localparam status_t StNoMatch = 4'd6;
  localparam status_t StHostError = 4'd7;
  localparam status_t StNoProcess = 4'd8;
  localparam status_t StBadIndex = 4'd9;

  // ---- events -------------------------------------------------------------------------------------
  localparam logic [7:0] EvGet = 8'd0;
  localparam logic [7:0] EvPut = 8'd2;
  localparam logic [7:0] EvAtomic = 8'd4;
  localparam logic [7:0] EvFetch = 8'd6;
  localparam logic [7:0] EvReply = 8'd8;
  localparam logic [7:0] EvSend = 8'd9;
  localparam logic [7:0] EvAck = 8'd10;
  localparam logic [7:0] EvLink = 8'd11;
  localparam logic [7:0] EvUnlink = 8'd12;
  localparam logic [7:0] EvAutoUnlink = 8'd13;
  localparam logic [7:0] EvAutoFree = 8'd14;
  localparam logic [7:0] EvSearch = 8'd15;
  localparam int unsigned HdrBits = 10;   // of an unexpected header's number

  typedef struct packed {
    logic        hdr_en;    // the message left an unexpected header, which is whole with this event
    logic [HdrBits-1:0] hdr;
    logic        eq_en;
    logic        quiet;     // told only if it failed
    logic        tell_left; // AUTO_UNLINK says that the entry left, where the event itself is not told
    logic [1:0]  eq;
    logic        ct_en;
    logic        ct_bytes;  // count bytes instead of messages
    logic [3:0]  ct;
    logic [7:0]  etype;
    status_t     status;
    logic [7:0]  pt;
    logic        unlinked;  // the entry left its list with this message
    logic        overflow;  // matched in the overflow list
    logic [5:0]  peer;
    logic [15:0] pid;        // of the initiator, at the target
    logic [15:0] slot;       // or number of the list entry
    logic [31:0] rlength;
    logic [31:0] mlength;
    logic [63:0] match;
    logic [63:0] hdr_data;
    logic [63:0] start;
    logic [63:0] offset;
    logic [63:0] user;
  } ev_t;

  // ---- command slot: 16 words of 32 bits ----------------------------------------------------------
  localparam logic [1:0] PayInline = 2'd0;
  localparam logic [1:0] PayPio = 2'd1;
  localparam logic [1:0] PayDma = 2'd2;

  typedef struct packed {
    // words 15, 14
    logic        commit;     // must be 1
    logic        ack_event;
    logic        send_event;
    logic        ct_bytes;
    logic        ct_en;
    logic [3:0]  ct;
    logic [1:0]  rsvd;
    logic        end_event;  // with ack_event: of its end, where the entry gives no acknowledgement
    logic [1:0]  eq;
    logic [1:0]  pay;
    logic [47:0] user;
    logic [63:0] operand2;   // words 13, 12: inline bytes 8-15 or compare operand
    logic [63:0] operand;    // words 11, 10: inline bytes 0-7 or operand
    logic [63:0] addr;       // words 9, 8
    logic [63:0] hdr_data;   // words 7, 6
    logic [15:0] dst_pid;    // words 5, 4
    logic [47:0] offset;
    logic [63:0] match;      // words 3, 2
    logic [31:0] length;     // word 1
    logic [4:0]  aop;        // word 0
    logic [2:0]  dtype;
    logic        is_complex;
    logic        is_float;
    logic [5:0]  dst;
    logic [7:0]  pt;
    logic [3:0]  ctx;
    kind_t       kind;
  } cmd_t;

  // Which atomics there are: minimum to product, and with a fetch swaps. Integers also have logic; complex numbers have no
  // order. Up to 16 bytes travel in the header, more behind it (`body`); what a fetch brings back is one packet. Only one
  // element is compared, with what stands behind it: of a complex double there is room for that in a body alone
  localparam int unsigned MaxAtomic = 1024;
  localparam int unsigned MaxFetch = 64;
  function automatic logic [4:0] element_bytes(input logic [2:0] dtype, input logic is_complex);
    element_bytes = 5'd1 << (is_complex ? dtype : {1'b0, dtype[1:0]});
  endfunction
  function automatic logic atomic_legal(input logic fetch, input logic [4:0] aop, input logic [2:0] dtype, input logic is_float,
                                        input logic is_complex, input logic [31:0] length, input logic body);
    logic known, compares, whole, fits;
    logic [4:0] element;
    element  = element_bytes(dtype, is_complex);
    compares = aop >= 5'd11;
    whole    = compares ? length == 32'(element) : length != '0 && (length[4:0] & (element - 5'd1)) == '0;
    fits     = length <= (!body ? 32'd16 : fetch ? 32'(MaxFetch) : 32'(MaxAtomic));
    if (!is_float) known = !is_complex && aop <= (fetch ? 5'd17 : 5'd9);
    else if (is_complex) known = (dtype == 3'd3 || dtype == 3'd4) &&
                                 (aop == 5'd2 || aop == 5'd3 || (fetch && aop >= 5'd10 && aop <= (dtype[2] && !body ? 5'd10 : 5'd12)));
    else known = dtype[1] && (aop <= 5'd3 || (fetch && aop >= 5'd10 && aop <= 5'd16));
    atomic_legal = known && whole && fits;
  endfunction

  // ---- contexts -----------------------------------------------------------------------------------
  typedef struct packed {
    logic        enable;
    logic [1:0]  ni;
    logic [15:0] pid;
    logic [31:0] uid;
  } ctx_t;

  // ---- list matching ------------------------------------------------------------------------------
  typedef struct packed {
    kind_t       kind;
    logic [5:0]  src;
    logic [15:0] pid;
    logic [31:0] uid;
    logic [15:0] dst_pid;
    logic [1:0]  ni;
    logic [7:0]  pt;
    logic [31:0] length;
    logic [63:0] match;
    logic [63:0] hdr_data;
    logic [63:0] offset;
  } lme_req_t;

  typedef struct packed {
    status_t     status;
    logic        matched;   // an entry counts this message until its end
    logic [15:0] me;        // that entry
    logic [63:0] start;     // host address of the first byte
    logic [31:0] mlength;
    logic [63:0] offset;    // as used
    logic        unlinked;
    logic        overflow;
    logic        ack_off;
    logic        ev_en;
    logic        quiet;
    logic        tell_left;
    logic [1:0]  eq;
    logic        ct_en;
    logic        ct_bytes;
    logic [3:0]  ct;
    logic [63:0] user;
    logic        hdr_en;    // it left an unexpected header
    logic [HdrBits-1:0] hdr;
  } lme_res_t;

  typedef struct packed {      // 16 staging words
    logic [63:0] user;         // words 15, 14
    logic [31:0] min_free;     // word 13
    logic [31:0] length;       // word 12
    logic [63:0] start;        // words 11, 10
    logic [63:0] ignore_bits;  // words 9, 8
    logic [63:0] match;        // words 7, 6
    logic [79:0] rsvd;         // words 5 to 3
    logic [15:0] length_hi;    // bytes, from 2^32 on
    logic [31:0] uid;          // word 2
    logic [5:0]  rsvd2;        // word 1
    logic        tell_left;    // AUTO_UNLINK, where the message that it leaves with makes no event
    logic        quiet;        // no events of messages that go well
    logic [3:0]  ctx;
    logic        ack_off;      // a message that it takes well is not acknowledged to the initiator's host
    logic        ct_puts;      // gets and fetches do not count
    logic        uid_any;
    logic        pid_any;
    logic [15:0] pid;
    logic        loose;        // word 0: headers do not use it, and messages need none; offsets have a place in them
    logic        add_lengths;  // headers that an append finds move its locally managed offset
    logic        tell_free;
    logic        count_over;
    logic        no_over;      // headers that it finds are not told
    logic        keep_hdr;     // overflow list: each message leaves an unexpected header
    logic        overflow;
    logic        src_any;
    logic [5:0]  src;
    logic [3:0]  ct;
    logic [1:0]  eq;
    logic [3:0]  pt;
    logic        ct_bytes;
    logic        ct_en;
    logic        comm_disable;  // no events
    logic        no_truncate;
    logic        manage_local;
    logic        use_once;
    logic        op_get;
    logic        op_put;
  } me_t;

  // ---- unexpected headers: what an event that is told later needs -----------------------------------
  typedef struct packed {
    logic [ListBits-1:0] at_list;
    logic [15:0] me;           // the overflow entry
    logic        loose;        // does not use it
    logic        tell_free;
    logic [1:0]  free_eq;
    logic [63:0] free_user;
    kind_t       kind;
    logic [5:0]  src;
    logic [15:0] pid;
    logic [31:0] rlength;
    logic [31:0] mlength;
    logic [63:0] match;
    logic [63:0] hdr_data;
    logic [63:0] start;
    logic [63:0] used;         // offset in the overflow entry
    logic [63:0] offset;       // as it was sent
  } uhdr_t;
  localparam int unsigned PlaceBit = 34;   // of an offset, from which on it says where a loose entry's bytes lie
  localparam logic [1:0] SeekAppend = 2'd0;
  localparam logic [1:0] SeekOnly = 2'd2;
  localparam logic [1:0] SeekDelete = 2'd3;

  // ---- a response on its way: also kept as history, to answer duplicates --------------------------
  typedef struct packed {
    logic [5:0]  dst;
    logic [7:0]  seq;
    logic [7:0]  slot;
    kind_t       kind;
    status_t     status;
    logic [31:0] length;
    logic [63:0] offset;
    logic        ack_off;  // not for the initiator's host
    logic        fetch;    // the old value travels
    logic [511:0] old;
    logic [47:0] user;
    logic [63:0] addr;
    logic [3:0]  retry;
  } rsp_t;

  // ---- a message at its target whose payload is on its way to the host ------------------------------
  typedef struct packed {
    logic        nothing;   // it was broken off: only its range of writes counts
    logic        writes;    // a range of writes belongs to it
    logic        want_ev;
    logic        ev_later;  // its event comes from the transmitter, when a get's data have been read
    logic        matched;
    logic [15:0] me;
    logic        answer;
    rsp_t        rsp;
    ev_t         ev;
  } done_t;

  // ---- stamp record ---------------------------------------------------------------------------------
  typedef struct packed {
    logic [31:0] meta;   // {phase, 1'b0, status[3:0], retry[3:0], kind[3:0], vn[1:0], dir, 1'b0, seq, peer}
    logic [31:0] length;
    logic [63:0] last;
    logic [63:0] first;
    logic [63:0] user;
  } stamp_t;

  // ---- counters: one pulse per event and per virtual network --------------------------------------
  localparam int unsigned VnCounters = 8;
  typedef struct packed {
    logic stall;      // a packet waits for link credits
    logic retransmit; // message sent again
    logic drop;       // packet discarded (framing, order, hostile)
    logic crc;        // CRC error
    logic tx_msg;
    logic tx_pkt;
    logic rx_msg;     // message accepted
    logic rx_pkt;
  } vn_pulse_t;

  typedef struct packed {
    logic dup;          // duplicate message suppressed
    logic future;       // message after a gap refused
    logic abandoned;    // gap given up by its sender
    logic undelivered;  // own message given up
    logic unconfirmed;  // acknowledgement of acknowledgement not sent for want of room
    logic bad_cmd;      // malformed command
    logic bad_msg;      // malformed message from the link
    logic no_match;
    logic host_err;     // host bus answered with an error
  } pulse_t;
  localparam int unsigned NicCounters = 9;

  // ---- widths of the structures above, for arrays: yosys 0.23 knows no arrays of structures. nic_top checks
  localparam int unsigned PktBits = 576;
  localparam int unsigned EvBits = 466;
  localparam int unsigned LmeReqBits = 308;
  localparam int unsigned LmeResBits = 270;
  localparam int unsigned MeBits = 512;
  localparam int unsigned UhdrBits = 502;
  localparam int unsigned RspBits = 756;
  localparam int unsigned CtxBits = 51;
  localparam int unsigned CmdBits = 512;

  // ---- registers: offsets of the first block; REGISTERS.md describes them, a test compares ------------
  localparam logic [31:0] IdValue = 32'h4E424331;
  localparam logic [31:0] VersionValue = 32'h00010000;
  localparam logic [7:0] RegId = 8'h00;
  localparam logic [7:0] RegVersion = 8'h04;
  localparam logic [7:0] RegCaps = 8'h08;
  localparam logic [7:0] RegCaps2 = 8'h0C;
  localparam logic [7:0] RegCtrl = 8'h10;
  localparam logic [7:0] RegSelf = 8'h14;
  localparam logic [7:0] RegTimeout = 8'h18;
  localparam logic [7:0] RegRetries = 8'h1C;
  localparam logic [7:0] RegIrqStatus = 8'h20;
  localparam logic [7:0] RegIrqEnable = 8'h24;
  localparam logic [7:0] RegClearPeer = 8'h28;
  localparam logic [7:0] RegUnconfirmed = 8'h2C;
  localparam logic [7:0] RegPtEnable = 8'h30;
  localparam logic [7:0] RegPtAuto = 8'h34;
  localparam logic [7:0] RegMeAppend = 8'h38;
  localparam logic [7:0] RegMeUnlink = 8'h3C;
  localparam logic [7:0] RegMeValid = 8'h40;
  localparam logic [7:0] RegMeInUse = 8'h44;
  localparam logic [7:0] RegMeBusy = 8'h48;
  localparam logic [7:0] RegMeBank = 8'h4C;
  localparam logic [7:0] RegCmd0Head = 8'h50;
  localparam logic [7:0] RegCmd0Tail = 8'h54;
  localparam logic [7:0] RegCmd1Head = 8'h58;
  localparam logic [7:0] RegCmd1Tail = 8'h5C;
  localparam logic [7:0] RegClockFrac = 8'h60;
  localparam logic [7:0] RegClockAdjustLo = 8'h64;
  localparam logic [7:0] RegClockAdjustHi = 8'h68;
  localparam logic [7:0] RegMeSearch = 8'h6C;
  localparam logic [7:0] RegHeaders = 8'h70;
  localparam logic [7:0] RegMeStage = 8'h80;
  // blocks and the clock, offsets in the whole space of 128 KiB
  localparam logic [16:0] RegEq = 17'h00100;
  localparam logic [16:0] RegCt = 17'h00200;
  localparam logic [16:0] RegStamp = 17'h00400;
  localparam logic [16:0] RegCounters = 17'h00500;
  localparam logic [16:0] RegPtm = 17'h00700;
  localparam logic [16:0] RegCtx = 17'h00800;
  localparam logic [16:0] RegTrigger = 17'h00A00;
  localparam logic [8:0] TrgThresholdLo = 9'h040;   // offsets in it
  localparam logic [8:0] TrgThresholdHi = 9'h044;
  localparam logic [8:0] TrgAppend = 9'h048;
  localparam logic [8:0] TrgCancel = 9'h04C;
  localparam logic [8:0] TrgBusy = 9'h050;
  localparam logic [8:0] TrgValid = 9'h060;
  localparam logic [16:0] RegCmd0 = 17'h01000;
  localparam logic [16:0] RegCmd1 = 17'h01800;
  localparam logic [16:0] RegClockLo = 17'h0B600;
  localparam logic [16:0] RegClockHi = 17'h0B604;
  localparam logic [16:0] RegClockInc = 17'h0B608;
  localparam logic [16:0] RegPio0 = 17'h10000;
  localparam logic [16:0] RegPio1 = 17'h14000;
endpackage
