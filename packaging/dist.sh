#!/bin/sh
# A tarball of what git knows (or, without git, of what is here but folders of builds, which have a .flags), the same bytes for the same
# sources. Usage: packaging/dist.sh BUILD NAME
build=$1 name=$2
mkdir -p "$build" || exit 1
{ git ls-files 2>/dev/null | grep . || find . -name .git -prune -o -type d -exec test -e '{}/.flags' \; -prune -o -type f -print | sed 's|^\./||'; } |
  while read -r f; do [ -f "$f" ] && echo "$f"; done | LC_ALL=C sort >"$build/dist.files"
tar --create --file="$build/$name.tar" --files-from="$build/dist.files" --transform="s|^|$name/|" \
  --owner=0 --group=0 --numeric-owner --mtime='2020-01-01 00:00Z' --mode='u+rwX,go+rX,go-w' || exit 1
gzip -nf9 "$build/$name.tar" || exit 1
rm -f "$build/dist.files"
echo "$build/$name.tar.gz"
