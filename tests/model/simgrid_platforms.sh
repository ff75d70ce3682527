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
# names without a prefix, and a backbone without a latency, which is 0 then
what_may_be_left_out() {
  cluster 0-15 2us 'bb_bw="40GBps"' | sed 's/prefix="n-"/prefix=""/' >"$T/x.xml" && takes "$T/x.xml" '16 x 8.0040' && grep -q '^# h15 = 15$' "$T/platform" &&
    cluster 0-15 2us | sed 's/prefix="n-"//' >"$T/x.xml" && refused 5 'prefix is missing' && cluster 0-15 '' >"$T/x.xml" && refused 5 'lat=""'
}
fat_tree_cluster() { cluster 0-15 0 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"' >"$T/x.xml" && takes "$T/x.xml" '4 x 8.0000, 9 x 16.0000, 3 x 24.0000' && grep -q '^topology fattree' "$T/platform"; }
torus_cluster() { cluster 0-26 0 'topology="TORUS" topo_parameters="3,3,3"' >"$T/x.xml" && takes "$T/x.xml" '21 x 8.0000, 6 x 16.0000' && grep -q '^topology torus' "$T/platform"; }
# All flows share a backbone, what a node sends and gets a cable without directions or its limiter; on a fatpipe each has all of it.
what_is_shared() {
  for r in 'bb_bw="2.5GBps"|64.0040' 'bb_bw="1GBps" bb_lat="1us" bb_sharing_policy="FATPIPE"|10.0050' 'sharing_policy="SHARED"|16.0040' 'sharing_policy="FATPIPE"|8.0040' 'limiter_link="1GBps"|20.0040'; do
    cluster 0-15 2us "${r%|*}" >"$T/x.xml" && takes "$T/x.xml" "16 x ${r#*|}" || return 1
  done
  cluster 0-15 0 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1" limiter_link="1GBps"' >"$T/x.xml" && takes "$T/x.xml" '2 x 48.0000, 3 x 60.0000, 11 x 80.0000' &&
    cluster 0-15 0 'loopback_bw="2GBps" loopback_lat="3us"' >"$T/x.xml" && "$B/simgrid_platform" "$T/x.xml" >"$T/platform" && grep '^intra_bytes_per_s  *2000000000 ' "$T/platform" && grep '^intra_latency_ns  *3000 ' "$T/platform"
}
zone() { # NAMES...: hosts of one letter up to h, links of one letter beyond
  echo '<platform version="4.1"><zone id="w" routing="Full">'
  for n; do case $n in [a-h]) echo "<host id=\"$n\" speed=\"1Gf\"/>" ;; *) echo "<link id=\"$n\" bandwidth=\"${BW-1GBps}\" latency=\"1us\" sharing_policy=\"${POLICY-SHARED}\"/>" ;; esac; done
}
route() { # 'FROM TO' LINKS...
  echo "<route src=\"${1% *}\" dst=\"${1#* }\">"
  shift
  for l; do echo "<link_ctn id=\"$l\"/>"; done
  echo '</route>'
}
# One link between all pairs is a place where all meet, whatever leads there; its bandwidth is all there is.
a_link_with_many_ends() {
  { zone a b c d x; for r in 'a b' 'a c' 'a d' 'b c' 'b d' 'c d'; do route "$r" x; done; echo '</zone></platform>'; } >"$T/x.xml" && takes "$T/x.xml" '4 x 40.0010' &&
    star_of() { for r in 'a b u v' 'a c u w' 'a d u y' 'b c v w' 'b d v y' 'c d w y'; do set -- $r; route "$1 $2" "$3" x "$4"; done; echo '</zone></platform>'; } &&
    { POLICY=SPLITDUPLEX zone a b c d u v w y; POLICY=FATPIPE zone x | tail -1; star_of; } >"$T/x.xml" && takes "$T/x.xml" '4 x 10.0030' &&
    { zone a b c d u v w x y; star_of; } >"$T/x.xml" && takes "$T/x.xml" '4 x 40.0030'
}
zones_with_routing_cluster() {
  echo '<platform version="4.1"><zone id="w" routing="Full"><zone id="v" routing="Cluster"><router id="r"/><backbone id="b" bandwidth="2GBps" latency="0"/>
    <cabinet id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="0"/><host id="h" speed="1Gf"/><link id="l" bandwidth="1GBps" latency="0" sharing_policy="SPLITDUPLEX"/><host_link id="h" up="l_UP" down="l_DOWN"/>
    <host id="g" speed="1Gf"/><link id="m" bandwidth="500MBps" latency="0"/><host_link id="g" up="m" down="m"/></zone>
    <zone id="z" routing="Full"><host id="k" speed="1Gf"/></zone><link id="o" bandwidth="1GBps" latency="0"/><zoneRoute src="v" dst="z" gw_src="r" gw_dst="k"><link_ctn id="o"/></zoneRoute></zone></platform>' >"$T/x.xml" &&
    takes "$T/x.xml" '3 x 20.0000, 2 x 40.0000'
}
zoned() { echo '<zone id="q" routing="Full"><host id="g" speed="1Gf"/></zone><link id="k" bandwidth="1GBps"/><zoneRoute src="w" dst="q" gw_src="a" gw_dst="g"><link_ctn id="k"/></zoneRoute></zone></platform>'; }
# Over x, y and z, though over the places that x and y are it would be nearer; y's cable ends at b, so all three are places. One that
# comes back over the end of another link, whose routes agree with cables, is laid otherwise: none counts a link that it does not name.
longer_routes_are_kept() {
  { zone a b c x y z; route 'a b' x y z; route 'a c' x; route 'c b' y; echo '</zone></platform>'; } >"$T/x.xml" && takes "$T/x.xml" '2 x 20.0010, 1 x 20.0030' && grep '^way h0 h1 ' "$T/platform" && grep '^way h1 h0 ' "$T/platform" &&
    { zone a b c d u v w x; route 'a b' u v w; route 'a c' u x; route 'c b' x v w; route 'a d' v; route 'c d' v; route 'b d' w; echo '</zone></platform>'; } >"$T/x.xml" && takes "$T/x.xml" '2 x 40.0010, 2 x 40.0030'
}
disks_and_profiles_are_left_out() {
  { zone a b x; echo '<trace id="t" periodicity="1">0 1</trace><trace_connect trace="t" element="a"/><storage_type id="s"/><storage id="s"/><host id="c" speed="1Gf"><disk id="d"/><mount id="m"/></host>'; route 'a b' x; route 'b c' x; echo '</zone></platform>'; } >"$T/x.xml" &&
    takes "$T/x.xml" '3 x 30.0010' && grep 'disks, storage and profiles are not kept' "$T/said"
}
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
# At the level LogGP there is one way for all: the mean over pairs, not a BXI's and not that of the first cable in the file
loggp_is_the_mean() {
  {
    echo '<platform version="4.1"><zone id="w" routing="Full">'
    for h in a b c; do echo "<host id=\"$h\" speed=\"1Gf\"/>"; done
    echo '<link id="x" bandwidth="1GBps" latency="5us" sharing_policy="SPLITDUPLEX"/><link id="y" bandwidth="2GBps" latency="3us" sharing_policy="SPLITDUPLEX"/><link id="z" bandwidth="500MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>'
    for r in 'a b x y' 'a c x z' 'b c y z'; do echo "$r" | while read -r f t k l; do echo "<route src=\"$f\" dst=\"$t\"><link_ctn id=\"$k\"/><link_ctn id=\"$l\"/></route>"; done; done
    echo '</zone></platform>'
  } >"$T/x.xml"
  "$B/simgrid_platform" "$T/x.xml" >"$T/platform" && grep ^loggp "$T/platform" && grep -q '^loggp_latency_ns  *6000 ' "$T/platform" && grep -q '^loggp_bytes_per_s  *600000000 ' "$T/platform" &&
    cluster 0-15 1us 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"' >"$T/x.xml" && "$B/simgrid_platform" "$T/x.xml" >"$T/platform" && grep -q '^loggp_latency_ns  *3600 ' "$T/platform" && grep -q '^loggp_bytes_per_s  *1250000000 ' "$T/platform"
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
  echo '<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf"/></zone></platform>' >"$T/x.xml" && ! "$B/simgrid_platform" "$T/x.xml" >"$T/out" 2>"$T/said" &&
    grep 'x.xml:.* 1 host and no link: nothing says how wide the network is' "$T/said" && test ! -s "$T/out" || return 1
  cluster 0-15 0 'topology="FAT_TREE" topo_parameters="2;4,3;1,2;1,1"' >"$T/x.xml" && refused 5 '12 hosts' &&
    cluster 0-15 0 'topology="RING" topo_parameters="3"' >"$T/x.xml" && refused 5 'RING' &&
    cluster 0-15 fast >"$T/x.xml" && refused 5 'lat="fast"' && cluster 15-0 0 >"$T/x.xml" && refused 5 radical &&
    cluster 0-15 0 'sharing_policy="WIFI"' >"$T/x.xml" && refused 5 'sharing_policy="WIFI"' &&
    cluster 0-15 0 | sed 's,</zone>,<peer/></zone>,' >"$T/x.xml" && refused 6 peer &&
    cluster 0-15 0 | sed 's,</zone>,<cabinet bw="1" lat="0"/></zone>,' >"$T/x.xml" && refused 6 'routing="Cluster"' &&
    cluster 0-15 0 | head -4 >"$T/x.xml" && refused 5 'no element found' || return 1
  printf '<platform>\n<host id="a"/><host id="b"/>\n<link id="l" bandwidth="1GBps"/>\n<route src="a" dst="b"><link_ctn id="m"/></route></platform>\n' >"$T/x.xml" && refused 4 'no link m' || return 1
  printf '<platform>\n<host id="a"/><host id="b"/><host id="c"/>\n<link id="l" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/><route src="a" dst="b"><link_ctn id="l"/></route>\n<route src="a" dst="c"><link_ctn id="l"/></route></platform>\n' >"$T/x.xml" && refused 4 'no cable between two ends' || return 1
  { zone a b c x y z; route 'a b' x y z; route 'a c' x; route 'c b' y; zoned; } >"$T/x.xml" && refused 8 'route: there is a shorter way' || return 1
  printf '<platform>\n<host id="a"/><host id="b"/>\n<link id="l" bandwidth="1GBps"/>\n<route src="a" dst="a"><zoneRoute gw_src="a" gw_dst="a"/></route></platform>\n' >"$T/x.xml" && refused 4 'zoneRoute within a route' || return 1
  ! "$B/simgrid_platform" "$T/none.xml" 2>"$T/said" && grep -q 'none.xml: No such file' "$T/said" && ! "$B/simgrid_platform" 2>/dev/null
}
numbers_out_of_range_are_refused() {
  for r in 9223372036854775807 99999999999999999999 0-9223372036854775807 -1 0- 0-3, 3-1 0-4000001 0-3,2 0x10 '0-3 '; do
    cluster "$r" 0 >"$T/x.xml" && refused 5 '' || { echo "radical $r"; return 1; }
  done
  m=1000000
  for shape in "FAT_TREE 7;$m,$m,$m,$m,$m,$m,$m;1,1,1,1,1,1,1;1,1,1,1,1,1,1" "FAT_TREE 2;4,4;$m,$m;1,1" "FAT_TREE 2;4,4;1,2;$m,$m" "TORUS $m,$m,$m,$m" "TORUS 0" "TORUS " "TORUS 4,4,4,4,4,4,4,4,4" \
    "DRAGONFLY $m,1;$m,1;$m,1;$m" "DRAGONFLY 1,1;1,1;$m,1;1" "FAT_TREE 99999999999999999999;1" "DRAGONFLY 1;1;1;1" "FAT_TREE 1"; do
    cluster 0-15 0 "topology=\"${shape%% *}\" topo_parameters=\"${shape#* }\"" >"$T/x.xml" && refused 5 '' || { echo "$shape"; return 1; }
  done
  cluster 0-999999 0 "topology=\"DRAGONFLY\" topo_parameters=\"1,1;1,1;$m,1;1\"" >"$T/x.xml" && refused 5 'cables between routers' || return 1
  for core in 0 -1 4x 1e6 99999999999 ''; do
    printf '<platform>\n<host id="a" core="%s"/></platform>\n' "$core" >"$T/x.xml" && refused 2 core || { echo "core $core"; return 1; }
  done
  for bw in 0 -1 nan inf 1e400 1GB '' GBps 0x1p4; do
    printf '<platform>\n<host id="a"/>\n<link id="l" bandwidth="%s"/></platform>\n' "$bw" >"$T/x.xml" && refused 3 bandwidth || { echo "bandwidth $bw"; return 1; }
  done
  for lat in -1 1e300 1e13 1h nan; do
    printf '<platform>\n<host id="a"/>\n<link id="l" bandwidth="1" latency="%s"/></platform>\n' "$lat" >"$T/x.xml" && refused 3 latency || { echo "latency $lat"; return 1; }
  done
}
names_given_twice_are_refused() {
  printf '<platform>\n<host id="a"/>\n<router id="a"/></platform>\n' >"$T/x.xml" && refused 3 'a is there already' &&
    printf '<platform>\n<link id="a" bandwidth="1"/>\n<link id="a" bandwidth="2"/></platform>\n' >"$T/x.xml" && refused 3 'a is there already'
}
# Hosts that are named one by one: not each compared with all others. A name has neither an end of line for the platform
# nor more letters than one of its lines may have.
many_hosts_and_strange_names() {
  awk 'BEGIN { n = 150000; print "<platform><zone id=\"z\" routing=\"Full\"><router id=\"r\"/>"
    for (i = 0; i < n; i++) {
      host = i ? "h" i : sprintf("a&#10;node_count 7&#10;%0600d", 0)
      printf "<host id=\"%s\"/><link id=\"l%d\" bandwidth=\"1GBps\"/><route src=\"%s\" dst=\"r\"><link_ctn id=\"l%d\"/></route>\n", host, i, host, i
    }
    print "</zone></platform>" }' >"$T/x.xml"
  # shellcheck disable=SC3045 # dash and bash have it
  ( ulimit -t 60 && exec "$B/simgrid_platform" "$T/x.xml" ) >"$T/platform" && rm "$T/x.xml" && grep '^# h0 = a?node_count 7?0*$' "$T/platform" &&
    test "$(grep -c '^node_count' "$T/platform")" = 1 && test "$(grep -c '^link h' "$T/platform")" = 150000 &&
    test "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$T/platform")" -lt 510
}
what_cannot_be_read_or_written() {
  for f in "$T" /proc/self/mem; do
    "$B/simgrid_platform" "$f" >"$T/out" 2>"$T/said"
    test $? = 2 && grep -q "simgrid_platform: $f:" "$T/said" || return 1
  done
  cluster 0-15 2us >"$T/x.xml" && "$B/simgrid_platform" "$T/x.xml" >/dev/full 2>"$T/said"
  test $? = 1 && grep -q 'No space left' "$T/said"
}
for t in flat_cluster what_may_be_left_out fat_tree_cluster torus_cluster what_is_shared a_link_with_many_ends zones_with_routing_cluster longer_routes_are_kept disks_and_profiles_are_left_out zones_that_are_joined hosts_and_routers loggp_is_the_mean other_shapes_are_whole bad_files_are_refused_by_line numbers_out_of_range_are_refused names_given_twice_are_refused many_hosts_and_strange_names what_cannot_be_read_or_written; do check "$t" $t; done
finish
