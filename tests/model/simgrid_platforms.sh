#!/bin/sh
# SimGrid's platforms are read: traffic takes the times that SimGrid 3.32 needs for it (network/model:CM02,
# network/crosstraffic:0, network/TCP-gamma:0; S4U sendto, recorded), and what cannot be kept is refused by line.
. tests/test.sh
[ -x "$B/simgrid_platform" ] || { skip simgrid_platforms 'no libexpat'; finish; }
"$CC" -std=gnu11 -D_GNU_SOURCE -w -O0 -I. tests/model/platform_traffic.c -o "$T/traffic" -pthread -lm || exit 1
cluster() { # RADICAL LATENCY ATTRIBUTES...
  printf '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n <zone id="w" routing="Full">\n'
  printf '  <cluster id="c" prefix="n-" suffix="" radical="%s" speed="1Gf" bw="1.25GBps" lat="%s" %s/>\n </zone>\n</platform>\n' "$1" "$2" "$3"
}
# counts of equal times in ms, as "16 x 8.0040"
traffic_of() { "$B/simgrid_platform" "$1" >"$T/platform" 2>"$T/said" && "$T/traffic" "$T/platform" 10000000 | sort -n | uniq -c | awk '{ printf "%s%s x %s", (NR > 1 ? ", " : ""), $1, $2 }'; }
takes() { got=$(traffic_of "$1") && echo "$got" && test "$got" = "$2"; }
flat_cluster() { cluster 0-15 2us >"$T/x.xml" && takes "$T/x.xml" '16 x 8.0040'; }
fat_tree_cluster() { cluster 0-15 0 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"' >"$T/x.xml" && takes "$T/x.xml" '4 x 8.0000, 9 x 16.0000, 3 x 24.0000' && grep -q '^topology fattree' "$T/platform"; }
torus_cluster() { cluster 0-26 0 'topology="TORUS" topo_parameters="3,3,3"' >"$T/x.xml" && takes "$T/x.xml" '21 x 8.0000, 6 x 16.0000' && grep -q '^topology torus' "$T/platform"; }
zones_that_are_joined() { takes tests/model/simgrid_two.xml '1 x 4.0000, 2 x 8.0000, 8 x 20.0000'; }
hosts_and_routers() {
  {
    echo '<platform version="4.1"><zone id="w" routing="Floyd">'
    for h in a b c d; do echo "<host id=\"$h\" speed=\"1Gf\" core=\"4\"/>"; done
    echo '<router id="left"/><router id="right"/>'
    echo 'la 1GBps a left,lb 2GBps b left,lc 8Gbps c right,ld 500MBps d right,middle 1.5GBps left right' | tr ',' '\n' | while read -r l bw from to; do
      echo "<link id=\"$l\" bandwidth=\"$bw\" latency=\"0\" sharing_policy=\"SPLITDUPLEX\"/><route src=\"$from\" dst=\"$to\"><link_ctn id=\"$l\"/></route>"
    done
    echo '</zone></platform>'
  } >"$T/x.xml"
  takes "$T/x.xml" '2 x 10.0000, 2 x 20.0000' && grep -q '^cores_per_node_count  *4 ' "$T/platform" && grep -q '^# h3 = d$' "$T/platform" && test "$(grep -c ^link "$T/platform")" -ge 5
}
# Cables in parallel and dragonflies: every host reaches every other, no slower than the narrowest cable allows.
other_shapes_are_whole() {
  cluster 0-15 1us 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"' >"$T/x.xml" && traffic_of "$T/x.xml" >/dev/null && test "$(grep -c '^link s' "$T/platform")" = 16 || return 1
  cluster 0-119 1us 'topology="DRAGONFLY" topo_parameters="3,4;4,3;5,1;2"' >"$T/x.xml" && traffic_of "$T/x.xml" >/dev/null &&
    test "$(awk '/^link s/ { n[$4]++ } END { print n["1250000000"], n["3750000000"], n["5000000000"] }' "$T/platform")" = '120 90 3'
}
refused() { # LINE TEXT : the file $T/x.xml
  "$B/simgrid_platform" "$T/x.xml" >"$T/out" 2>"$T/said"
  test $? = 2 && test ! -s "$T/out" && cat "$T/said" && grep -q "x.xml:$1: .*$2" "$T/said"
}
bad_files_are_refused_by_line() {
  cluster 0-15 0 'topology="FAT_TREE" topo_parameters="2;4,3;1,2;1,1"' >"$T/x.xml" && refused 5 '12 hosts' &&
    cluster 0-15 0 'topology="RING" topo_parameters="3"' >"$T/x.xml" && refused 5 'RING' &&
    cluster 0-15 fast >"$T/x.xml" && refused 5 'lat="fast"' && cluster 15-0 0 >"$T/x.xml" && refused 5 radical &&
    cluster 0-15 0 'bb_bw="1GBps" bb_lat="0"' >"$T/x.xml" && refused 5 backbone &&
    cluster 0-15 0 'limiter_link="1GBps"' >"$T/x.xml" && refused 5 limiter_link &&
    cluster 0-15 0 | sed 's,</zone>,<storage/></zone>,' >"$T/x.xml" && refused 6 storage &&
    cluster 0-15 0 | head -4 >"$T/x.xml" && refused 5 'no element found' || return 1
  printf '<platform>\n<host id="a"/><host id="b"/>\n<link id="l" bandwidth="1GBps"/>\n<route src="a" dst="b"><link_ctn id="m"/></route></platform>\n' >"$T/x.xml" && refused 4 'no link m' || return 1
  printf '<platform>\n<host id="a"/><host id="b"/><host id="c"/>\n<link id="l" bandwidth="1GBps"/><route src="a" dst="b"><link_ctn id="l"/></route>\n<route src="a" dst="c"><link_ctn id="l"/></route></platform>\n' >"$T/x.xml" && refused 4 'do not lead to its end' || return 1
  ! "$B/simgrid_platform" "$T/none.xml" 2>"$T/said" && grep -q 'none.xml: No such file' "$T/said" && ! "$B/simgrid_platform" 2>/dev/null
}
for t in flat_cluster fat_tree_cluster torus_cluster zones_that_are_joined hosts_and_routers other_shapes_are_whole bad_files_are_refused_by_line; do check "$t" $t; done
finish
