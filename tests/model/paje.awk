# A trace in the Paje format: times go on, what ends has begun and what begins ends. Prints how many links it has.
/^%/ { next }
{ if ($1 >= 5 && $2 + 0 < t + 0) { print "back in time: " $0; exit 1 } if ($1 >= 5) t = $2 }
$1 == 7 { depth[$4]++ } $1 == 8 { if (--depth[$4] < 0) { print "ends nothing: " $0; exit 1 } }
$1 == 9 { steps[$4] += $5 } $1 == 10 { steps[$4] -= $5; if (steps[$4] < 0) { print "below 0: " $0; exit 1 } }
$1 == 11 { open[$7] = 1; links++ } $1 == 12 { if (!open[$7]) { print "no begin: " $0; exit 1 } delete open[$7] }
END { for (k in depth) if (depth[k]) exit 2; for (k in steps) if (steps[k]) exit 3; for (k in open) exit 4; print links + 0, "links" }
