#!/bin/sh
# The picture at the top of README: three panels of the page that paper_figures draws (simulated, so the
# same everywhere). Usage: docs/picture.sh build/paper_figures >docs/overlap.svg
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
page=$(mktemp) || exit 1
trap 'rm -f "$page"' EXIT
"$1" --output "$page" >/dev/null || exit 1
awk '
  /<style>/, /<\/style>/ { style = style $0 "\n" }
  /<svg viewBox="0 0 316 320"/ { panel = ""; inside = 1 }
  inside { panel = panel $0 "\n" }
  inside && /<\/svg>/ {
    inside = 0
    if (panel ~ /<title>Figure 7.*sender/ || panel ~ /<title>Figure 9/ || panel ~ /<title>Figure 13.*receiver/) panels[++count] = panel
  }
  END {
    if (count != 3) exit 1
    sub(/[^\n]*<style>/, "<style>", style); sub(/<\/style>.*/, "</style>", style); gsub(/body\{[^}]*\}|h1\{[^}]*\}|p\{[^}]*\}/, "", style); gsub(/width:100%;height:auto/, "", style)
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 996 340\" width=\"996\" height=\"340\">"
    print "<title>How much of a transfer is hidden: bounds from calls (blue), the truth that NIC stamps show (orange), time in wait (green)</title>"
    print style
    print "<rect width=\"996\" height=\"340\" fill=\"var(--bg)\"/>"
    for (i = 1; i <= 3; i++) {
      sub(/<svg viewBox="0 0 316 320"/, "<svg x=\"" 12 + (i - 1) * 328 "\" y=\"10\" width=\"316\" height=\"320\" viewBox=\"0 0 316 320\"", panels[i])
      printf "%s", panels[i]
    }
    print "</svg>"
  }' "$page"
