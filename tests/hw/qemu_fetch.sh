# For scripts that boot a guest: QEMU 7.2 and 10, a kernel, busybox and commands from Debian 12 (bookworm, its backports,
# its security updates) in $Q, unpacked, not installed: 120 MB once.
#   . tests/hw/qemu_fetch.sh
#   why=$(fetched) || ...   what is missing
Q=$B/qemu

# apt with folders of its own: needs no rights, and takes Debian 12 on whatever Debian this is.
fetch() {
  mkdir -p "$Q/apt/lists/partial" "$Q/apt/cache/archives/partial" && : >"$Q/apt/status" || return 1
  key=/usr/share/keyrings/debian-archive-keyring.gpg mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
  for suite in debian:bookworm debian-security:bookworm-security debian:bookworm-backports; do
    echo "deb [signed-by=$key] $mirror/${suite%%:*} ${suite#*:} main"
  done >"$Q/apt/sources.list"
  here=$(cd "$Q/apt" && pwd)
  cat >"$Q/apt/conf" <<EOF
Dir::State "$here";
Dir::State::status "$here/status";
Dir::Cache "$here/cache";
Dir::Etc::sourcelist "$here/sources.list";
Dir::Etc::sourceparts "-";
APT::Architecture "amd64";
APT::Install-Recommends "false";
APT::Sandbox::User "";
EOF
  export APT_CONFIG="$here/conf"
  get="timeout 200 apt-get -qq -y --download-only install"
  timeout 60 apt-get -qq update &&
    kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1) &&
    $get qemu-system-x86 busybox-static ethtool linuxptp pciutils && $get -t bookworm-backports qemu-system-x86 &&
    (cd "$here/cache/archives" && timeout 200 apt-get -qq download "$kernel")
}
unpack() {
  for package in "$Q"/apt/cache/archives/*.deb; do
    case ${package##*/} in
    qemu*%3a7.2*|seabios_1.16.2*) to=7.2 ;;
    qemu*|seabios*) to=10 ;;
    linux-image*) to=kernel ;;
    *) to=lib ;;
    esac
    mkdir -p "$Q/$to" && dpkg -x "$package" "$Q/$to" || return 1
  done
  rm -rf "$Q/apt/cache"
}
fetched() {
  [ "$(uname -m)" = x86_64 ] || { echo "runs Debian's amd64 QEMU: not on $(uname -m)" && return 1; }
  [ ! -e "$Q/ready-2" ] || return 0
  { command -v apt-get && command -v dpkg; } >/dev/null || { echo "no apt-get and dpkg to fetch Debian's packages with" && return 1; }
  rm -rf "$Q"
  fetch >"$T/fetch" 2>&1 || { echo "packages cannot be fetched: $(tail -1 "$T/fetch")" && return 1; }
  unpack >"$T/unpack" 2>&1 || { echo "packages cannot be unpacked: $(tail -1 "$T/unpack")" && return 1; }
  : >"$Q/ready-2"
}
