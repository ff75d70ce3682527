#!/bin/sh
# Platforms are read and written the same in a locale that writes 12,5.
. tests/test.sh
if command -v localedef >/dev/null && [ -e /usr/share/i18n/locales/de_DE ]; then
  mkdir -p "$T/locales" && localedef -i de_DE -f UTF-8 "$T/locales/de_DE.UTF-8" >"$T/localedef.log" 2>&1
  check "numbers of platforms need no locale" env LOCPATH="$T/locales" LC_ALL=de_DE.UTF-8 WANT_COMMA=1 \
    "$B/tests/model/platforms" numbers_need_no_locale
else
  skip "numbers of platforms need no locale" "no localedef or its sources (Debian: locales)"
fi
finish
