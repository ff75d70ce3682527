#!/bin/sh
# synth.sh MODULE...: what an FPGA would need. First the whole NIC behind its MAC on a Xilinx 7 series by yosys: look-up tables
# as logic and as memory (a RAM64M takes four of their sites) and both together, block RAMs of 36 Kbit
# (one of 18 is half of it), flip-flops, carry chains, multipliers, per module (without those inside it)
# and in all, and without the MAC; and of each module the longest path between its registers and ports, by the cells' times alone
# (yosys sta): wires take about as long again, and paths that go through several modules are those of the modules together. Then each nic_MODULE alone, placed and routed on a Lattice iCE40 HX8K by nextpnr: its cells and the
# clock that it reaches there between registers; - when it does not fit. SECONDS_MAX: CPU seconds for each step (1200).
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=${B:-build}
dir=$B/rtl/synth
limit=${SECONDS_MAX:-1200}
mkdir -p "$dir"
command -v yosys >/dev/null || { echo "synth: yosys is missing (Debian: yosys)"; exit 1; }

# yosys 0.23 knows no imports: the package's contents come first, outside of any package. Of structures there, 0.46 to 0.52 do not find
# the members: those of a package are used, by its name.
{
  echo '`default_nettype none'
  sed '/^package /d; /^endpackage/d' rtl/nic_pkg.sv
  cat rtl/nic_pkg.sv
  structures=$(sed -n 's/^  } \([a-z_]*_t\);.*/\1/p' rtl/nic_pkg.sv | paste -sd '|')
  for f in rtl/nic_*.sv; do
    [ "$f" = rtl/nic_pkg.sv ] || sed -E "s/ import nic_pkg::\*;//; s/\\b($structures)\\b/nic_pkg::&/g" "$f"
  done
} >"$dir/nic.sv"
[ "$1" = --read ] && exit 0   # the sources in one file, and no more

# The limit is CPU time: beside other work a minute of it may take five
# shellcheck disable=SC3045 # dash, bash and busybox know it
limited() { (ulimit -t "$limit" && exec "$@"); }
whole() {
  if ! limited yosys -p "read_verilog -sv -DSYNTHESIS $dir/nic.sv; synth_xilinx -family xc7 -top nic_top_mac; \
      tee -o $dir/xc7.nic stat -top nic_top; tee -o $dir/xc7.stat stat; read_verilog -lib -specify +/xilinx/cells_sim.v; \
      tee -o $dir/xc7.sta sta" >"$dir/xc7.log" 2>&1; then
    echo "nic_top_mac is not synthesised: $(grep -m1 ERROR "$dir/xc7.log" || echo "not in $limit s of CPU time"): see $dir/xc7.log"
    return 1
  else
    awk '
      function row(name) {
        if (!name || FILENAME ~ /nic$/ && name !~ /^all/) { delete v; return }   # of the NIC without its MAC: the sum
        printf "%-34s %8d %8d %8d %6.1f %8d %8d %6d %7s\n", name, v["LUT"], v["RAM"], v["LUT"] + v["RAM"], v["RAMB"], v["FF"], v["CARRY4"], v["DSP"], longest[module]
        delete v
      }
      function kind(c) {
        return c ~ /^(LUT[1-6]|INV)$/ ? "LUT" : c ~ /^FD[RSCP]E/ ? "FF" : c == "CARRY4" ? c : sites(c) ? "RAM" : c ~ /^RAMB/ ? "RAMB" : c ~ /^DSP/ ? "DSP" : ""
      }
      # sites of look-up tables that a small memory takes; how much a block RAM is of one of 36 Kbit
      function sites(c) {
        return c ~ /^SRL/ ? 1 : c ~ /^RAM(32|64)M$/ ? 4 : c ~ /^RAM(32|64)X1D/ ? 2 : c ~ /^RAM(32|64)X1S/ ? 1 : c ~ /^RAM128X1D/ ? 4 : c ~ /^RAM128X1S/ ? 2 : c ~ /^RAM256X1S/ ? 4 : 0
      }
      function weight(c) { return sites(c) ? sites(c) : c ~ /^RAMB18/ ? 0.5 : 1 }
      BEGIN { printf "%-34s %8s %8s %8s %6s %8s %8s %6s %7s\n", "module on Xilinx 7 series", "logic", "memory", "LUTs", "RAMB36", "FF", "CARRY4", "DSP", "path ns" }
      /^Latest arrival time in / { gsub(/\047/, "", $5); longest[$5] = sprintf("%.1f", $NF / 1000) }
      FILENAME ~ /sta$/ { next }
      /^=== / {
        row(name)
        name = module = $2
        gsub(/\047/, "", module)
        if (name == "design") { name = "all of " (FILENAME ~ /nic$/ ? "nic_top" : "nic_top_mac"); next }
        # $paramod\nic_fifo\Width=... or $paramod$hash\nic_class
        if (match(name, /nic_[a-z_]+/)) name = substr(name, RSTART, RLENGTH) substr(width(name), 1)
        next
      }
      function width(s,   t, out, bits) {   # the parameters that differ, in decimal
        out = ""
        while (match(s, /[A-Za-z]+=32.[01]+/)) {
          t = substr(s, RSTART, RLENGTH); s = substr(s, RSTART + RLENGTH)
          split(t, bits, /=32./)
          out = out " " bits[1] "=" number(bits[2])
        }
        return out
      }
      function number(b,   i, n) { for (i = 1; i <= length(b); i++) n = 2 * n + substr(b, i, 1); return n + 0 }
      kind($1) != "" { v[kind($1)] += $2 * weight($1) }
      END { row(name) }' "$dir/xc7.sta" "$dir/xc7.stat" "$dir/xc7.nic"
  fi
}

placed() { # MODULE...
  command -v nextpnr-ice40 >/dev/null || { echo "place and route: nextpnr-ice40 is missing (Debian: nextpnr-ice40)"; return 0; }
  printf '\n%-14s %8s %8s %8s %8s\n' 'iCE40 HX8K' cells 'of 7680' RAM4K 'Fmax MHz'
  for name in "$@"; do
    log=$dir/$name
    rm -f "$log.pnr"
    # More signals than pins: registers that are shifted in and out surround the module
    yosys -q -p "read_verilog -sv -DSYNTHESIS $dir/nic.sv; hierarchy -top nic_$name; proc; tee -q -o $log.ports portlist -m nic_$name" >"$log.log" 2>&1 &&
      awk '
        { gsub(/[;(),]/, " ") }
        $1 == "input" || $1 == "output" {
          bits = 1; port = $NF
          if (match($0, /\[[0-9]+:0\]/)) bits = substr($0, RSTART + 1, RLENGTH - 4) + 1
          sub(/^\\/, "", port)
          if (port == "clk_i" || port == "rst_ni") link = link ", ." port "(" port ")"
          else if ($1 == "input") { link = link ", ." port "(i[" n_in " +: " bits "])"; n_in += bits }
          else { link = link ", ." port "(o[" n_out " +: " bits "])"; n_out += bits }
        }
        BEGIN { n_in = n_out = 0 }
        END {
          print "module placed(input wire clk_i, rst_ni, in, load, output reg out);"
          print "reg [" n_in - 1 ":0] i; wire [" n_out - 1 ":0] o; reg [" n_out - 1 ":0] q;"
          print "nic_'"$name"' dut(" substr(link, 3) ");"
          print "always @(posedge clk_i) begin i <= {i, in}; q <= load ? o : {q, 1\47b0}; out <= q[" n_out - 1 "]; end"
          print "endmodule"
        }' "$log.ports" >"$log.v" &&
      limited yosys -q -p "read_verilog -sv -DSYNTHESIS $dir/nic.sv $log.v; synth_ice40 -top placed -json $log.json" >>"$log.log" 2>&1 &&
      limited nextpnr-ice40 --hx8k --package ct256 --json "$log.json" --pcf-allow-unconstrained --timing-allow-fail \
        --seed 1 --freq 100 >"$log.pnr" 2>&1
    code=$?
    awk -v name="$name" -v code=$code '
      /ICESTORM_LC: *[0-9]+\// { cells = $3; sub("/.*", "", cells) } /ICESTORM_RAM: *[0-9]+\// { ram = $3; sub("/.*", "", ram) }
      /Max frequency for clock/ { mhz = $0; sub(/.*: /, "", mhz); sub(/ MHz.*/, "", mhz) }
      END { printf "%-14s %8s %7.0f%% %8s %8s%s\n", name, cells ? cells : "-", cells / 76.8, ram ? ram : "-", code || !mhz ? "-" : mhz,
            code == 124 ? "   not in time" : code ? "   does not fit" : "" }' "$log.pnr" 2>/dev/null ||
      printf '%-14s not synthesised%s: see %s\n' "$name" "$([ $code -lt 128 ] || echo " in $limit s of CPU time")" "$log.log"
  done
}

# Both at once: the whole NIC takes one core for minutes
failed=
whole >"$dir/whole.txt" &
placed "$@" >"$dir/placed.txt"
wait $! || failed=1
cat "$dir/whole.txt" "$dir/placed.txt"
[ -z "$failed" ]
