#!/usr/bin/env bash
# Build the .deb and the .rpm of a tree: packages.sh TREE VERSION OUT, in the source (see build.sh).
set -euo pipefail
tree=$1 version=$2 out=$3
files=$PWD/deploy/packages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
at=${SOURCE_DATE_EPOCH:?}

program=$tree/usr/lib/nncache
python=$(basename "$(readlink "$program/bin/python")")
glibc=$(find "$program" -name '*.so' -exec objdump -T {} + | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
glibc=${glibc#GLIBC_}

# ---- deb
deb=$work/deb arch=$(dpkg --print-architecture)
mkdir -p "$deb/DEBIAN"
cp -a "$tree"/. "$deb"
printf 'nncache (%s-1) stable; urgency=medium\n\n  * See changelog.gz.\n\n -- nncache maintainers <maintainers@nncache.example.com>  %s\n' \
	"$version" "$(date -R -u -d "@$at")" | gzip -9n >"$deb/usr/share/doc/nncache/changelog.Debian.gz"
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@PYTHON@/$python/; s/@GLIBC@/$glibc/" \
	-e "s/@SIZE@/$(du -sk --apparent-size "$tree" | cut -f1)/" "$files/control" >"$deb/DEBIAN/control"
(cd "$deb" && find etc -type f -printf '/%p\n' | sort) >"$deb/DEBIAN/conffiles"
(cd "$deb" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$deb/DEBIAN/md5sums"
install -m 755 "$files/postinstall.sh" "$deb/DEBIAN/postinst"
install -m 755 "$files/preremove.sh" "$deb/DEBIAN/prerm"
install -m 755 "$files/postremove.sh" "$deb/DEBIAN/postrm"
dpkg-deb --root-owner-group --build "$deb" "$out/nncache_$version-1_$arch.deb" >/dev/null

# ---- rpm
sed "s/@DATE@/$(LC_ALL=C date -u -d "@$at" '+%a %b %d %Y')/" "$files/nncache.spec" >"$work/nncache.spec"
rpmbuild -bb --quiet --define "_topdir $work/rpm" --define "_rpmdir $work" --define "version_ $version" --define "tree $tree" \
	--define "python_ $python" --define "glibc_ $glibc" --define "scripts $files" \
	--define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' "$work/nncache.spec"
cp "$work"/*/nncache-*.rpm "$out/"
