#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs ccctl from its release archive. It needs no network.
#
#   ./install.sh [--dry-run] [--prefix DIR] [--root DIR] [ccctl-VERSION-ARCH.tar.gz]
#   ./install.sh --remove [--dry-run] [--prefix DIR] [--root DIR]
#
# Without the name of an archive it installs the unpacked one that it is part of. Programs go to /usr/local/bin, or below
# another PREFIX; the configuration to /etc/ccctl; the service to /etc/systemd/system, not enabled. --root is for images
# of systems. --dry-run says what it would do, and needs no root.
set -eu

prefix=/usr/local root='' does='' removes='' archive=''

die() {
	echo "install.sh: error: $*" >&2
	exit 1
}

while [ $# -gt 0 ]; do
	case $1 in
	--dry-run) does=: ;;
	--remove) removes=yes ;;
	--prefix | --root)
		[ $# -ge 2 ] || die "$1 needs a folder"
		case $2 in /*) ;; *) die "$1 needs an absolute path" ;; esac
		if [ "$1" = --prefix ]; then prefix=${2%/}; else root=${2%/}; fi
		shift
		;;
	-h | --help)
		sed -n '3,12s/^# \{0,1\}//p' "$0"
		exit
		;;
	-*) die "unknown option $1: --help lists them" ;;
	*) archive=$1 ;;
	esac
	shift
done

# step COMMAND...: says what it does, and does it unless this is a rehearsal
step() {
	echo "  $*"
	[ -n "$does" ] || "$@"
}

# Where a file of the archive goes
target() {
	case $1 in
	etc/*) echo "/$1" ;;
	usr/lib/systemd/system/*) echo "/etc/systemd/system/${1##*/}" ;;
	usr/lib/sysusers.d/*) echo "/etc/sysusers.d/${1##*/}" ;;
	usr/*) echo "$prefix/${1#usr/}" ;;
	esac
}

# check_sum SUMS FILE: in the folder of both
check_sum() {
	grep -E "^[0-9a-f]{64}  $2\$" "$1" | sha256sum --check --quiet --strict - || die "$2 does not have the sum that $1 has"
}

unpack() {
	folder=$(dirname "$archive")
	name=$(basename "$archive")
	[ -f "$archive" ] || die "no such file: $archive"
	[ -f "$folder/SHA256SUMS" ] || die "SHA256SUMS of the release is not beside $archive"
	(cd "$folder" && check_sum SHA256SUMS "$name")
	echo "$name has the sum that SHA256SUMS has"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	tar --extract --gzip --no-same-owner --file "$archive" --directory "$work"
	source=$work/${name%.tar.gz}
}

check_processor() {
	case $(uname -m) in
	x86_64) wanted=x86-64 ;;
	aarch64) wanted=arm64 ;;
	*) die "there is no archive for the processor $(uname -m)" ;;
	esac
	case $source in
	*-"$wanted") ;;
	*) [ -n "$root" ] || die "this archive is not for this processor: take ccctl-VERSION-$wanted.tar.gz" ;;
	esac
}

install_file() {
	to=$root$(target "$1") from=$source/$1
	mode=644
	[ ! -x "$from" ] || mode=755
	case $1 in
	etc/*)
		if [ -e "$to" ]; then
			echo "  $to stays as it is"
			return
		fi
		;;
	esac
	step install -D -m "$mode" "$from" "$to"
	case $1 in
	usr/lib/systemd/system/*) step sed -i "s|/usr/bin/ccctl|$prefix/bin/ccctl|" "$to" ;;
	esac
}

install_all() {
	if [ -n "$archive" ]; then
		unpack
	else
		source=$(cd "$(dirname "$0")" && pwd)
		[ -f "$source/usr/bin/ccctl" ] || die "name an archive, or run the install.sh that is in an unpacked one"
		(cd "$source" && sha256sum --check --quiet --strict SHA256SUMS) || die "files of $source are damaged"
		echo "all files have the sums that SHA256SUMS has"
	fi
	check_processor
	echo "installing ${source##*/}:"
	cut -c67- "$source/SHA256SUMS" >"${work:=$(mktemp -d)}/files"
	trap 'rm -rf "$work"' EXIT
	while read -r file; do
		install_file "$file"
	done <"$work/files"
	if [ -z "$root" ]; then
		! command -v systemd-sysusers >/dev/null || step systemd-sysusers /etc/sysusers.d/ccctl.conf
		reload_systemd
		[ ! -d /run/systemd/system ] || step systemctl try-restart ccctl.service
	fi
	echo "next: ccctl doctor; to have /etc/ccctl/ccctl.toml applied at each start: systemctl enable --now ccctl"
}

reload_systemd() {
	[ ! -d /run/systemd/system ] || step systemctl daemon-reload
}

remove_all() {
	echo "removing:"
	if [ -z "$root" ]; then
		if [ -d /run/systemd/system ] && [ -e /etc/systemd/system/ccctl.service ]; then
			step systemctl disable --now ccctl.service
		fi
		[ ! -x "$prefix/bin/ccctl" ] || step "$prefix/bin/ccctl" down
	fi
	base=$root$prefix
	for path in "$base/bin/ccctl" "$base/bin/ccctl-lab" "$base"/share/man/man1/ccctl*.1.gz "$base/share/man/man5/ccctl.toml.5.gz" \
		"$base/share/man/man7/ccctl-rules.7.gz" "$base/share/bash-completion/completions/ccctl" \
		"$base/share/fish/vendor_completions.d/ccctl.fish" "$base/share/zsh/site-functions/_ccctl" \
		"$root/etc/systemd/system/ccctl.service" "$root/etc/sysusers.d/ccctl.conf"; do
		[ ! -e "$path" ] || step rm "$path"
	done
	for path in "$base/share/ccctl" "$base/share/doc/ccctl" "$base/share/doc/ccctl-lab" "$base/share/licenses/ccctl" \
		"$base/share/licenses/ccctl-lab"; do
		[ ! -d "$path" ] || step rm -r "$path"
	done
	for path in "$base"/share/man/man1 "$base"/share/man/man5 "$base"/share/man/man7 "$base"/share/bash-completion/completions \
		"$base"/share/bash-completion "$base"/share/fish/vendor_completions.d "$base"/share/fish "$base"/share/zsh/site-functions \
		"$base"/share/zsh "$base"/share/doc "$base"/share/licenses "$root/etc/sysusers.d" "$root/var/lib/ccctl"; do
		[ ! -d "$path" ] || [ -n "$(ls -A "$path")" ] || step rmdir "$path"
	done
	if [ -z "$root" ]; then
		! grep -q ^ccctl: /etc/group || step groupdel ccctl
		reload_systemd
	fi
	for path in "$root/etc/ccctl" "$root/var/lib/ccctl"; do
		[ ! -d "$path" ] || [ -z "$(ls -A "$path")" ] || echo "  $path stays: it is yours"
	done
}

[ -n "$does" ] || [ -n "$root" ] || [ "$(id -u)" = 0 ] || die "must be root; --dry-run says what it would do"
[ -z "$does" ] || echo "this is a rehearsal: nothing is changed"
if [ -n "$removes" ]; then remove_all; else install_all; fi
