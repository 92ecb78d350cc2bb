#!/usr/bin/env bash
# Build the artefacts of a release from the checked-out commit into dist/ (`make release`).
#
# The wheelhouse and the packages need the Python version that builds them (PYTHON) and, for libraries compiled here, a
# C library at least as new as this machine's.
# SITE is the address of the published docs/, SOURCE that of the repository.
set -euo pipefail
cd "$(dirname "$0")/../.."

PYTHON=${PYTHON:-python3}
SITE=${SITE:-https://nncache.example.com}
SOURCE=${SOURCE:-$SITE/source}
EXTRAS=dns,kerberos,otel # in the wheelhouse and the packages; advise's PySpark is 400 MB, and is left out
HELM=helm.sh/helm/v3/cmd/helm@v3.21.4
export GOBIN=$PWD/build/release/bin GOFLAGS=-mod=mod
build=$PWD/build/release dist=$PWD/dist

fail() {
	echo "make release: $*" >&2
	exit 1
}
need() { command -v "$1" >/dev/null || fail "$1 is missing: $2"; }
need go 'Go 1.25 or newer builds helm (Debian 12: golang-go of backports)'
need dpkg-deb 'apt-get install dpkg'
need rpmbuild 'apt-get install rpm'
need strip 'apt-get install binutils'
need hardlink 'apt-get install util-linux'
need krb5-config 'gssapi is compiled: apt-get install libkrb5-dev gcc python3-dev'
need cc 'gssapi is compiled: apt-get install libkrb5-dev gcc python3-dev'
"$PYTHON" -c 'import ensurepip, venv' || fail "Python's venv module is missing: apt-get install python3-venv"
"$PYTHON" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
	fail 'Python.h is missing: apt-get install python3-dev'
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
	echo 'make release: builds HEAD; changes that are not committed are left out' >&2

rm -rf "$dist" "$build/source" "$build/wheelhouse" "$build/venv"
mkdir -p "$dist" "$build/source" "$build/wheelhouse"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# ---- tools, kept between runs
[ -x "$build/tools/bin/python" ] || "$PYTHON" -m venv "$build/tools"
"$build/tools/bin/pip" install --quiet --disable-pip-version-check \
	'build>=1.3,<2' 'click-man>=0.6,<0.7' 'cyclonedx-bom>=7.3,<8' 'setuptools>=77,<83' wheel
[ -x "$GOBIN/helm" ] || go install "$HELM"

# ---- the source, with links that work outside the repository
git archive HEAD | tar -x -C "$build/source"
cd "$build/source"
sed -i -E "s|\]\(docs/([a-z-]+)\.md|](https://nncache.example.com/\1.html|; s|\]\(docs/pictures/|](https://nncache.example.com/pictures/|
	s|\]\((docs/decisions/\|[A-Z]+\.md)|](https://nncache.example.com/source/\1|" README.md
grep -rlZ 'https://nncache.example.com' README.md pyproject.toml deploy docs |
	xargs -0 sed -i "s|https://nncache.example.com/source|$SOURCE|g; s|https://nncache.example.com|$SITE|g"
version=$("$PYTHON" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')

# ---- wheel and sdist
"$build/tools/bin/python" -m build --outdir "$dist" . >"$build/build.log" 2>&1 || fail "see $build/build.log"
wheel=$dist/nncache-$version-py3-none-any.whl

# ---- wheelhouse: packages without a wheel on the index (pure-sasl, gssapi) are built here, without the
# library path of the Python that builds them
LDSHARED='cc -shared' "$build/tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --cache-dir "$build/pip-cache" --wheel-dir "$build/wheelhouse" "$wheel[$EXTRAS]"
tag=$("$build/tools/bin/python" -c \
	'import sys, sysconfig; print("cp%d%d-" % sys.version_info[:2] + sysconfig.get_platform().replace("-", "_"))')
tar --sort=name --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" -C "$build" \
	-cf "$dist/nncache-$version-wheelhouse-$tag.tar" wheelhouse

# ---- the environment of the packages, from the wheelhouse alone
"$PYTHON" -m venv --without-pip "$build/venv"
"$build/tools/bin/python" -m pip --python "$build/venv/bin/python" install --quiet --disable-pip-version-check \
	--no-index --find-links "$build/wheelhouse" --no-compile "nncache[$EXTRAS]==$version"
"$build/tools/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --output-format JSON \
	--output-file "$dist/nncache-$version.cdx.json" "$build/venv/bin/python"

# ---- the tree of the packages
root=$build/source/root program=$build/source/root/usr/lib/nncache
python=$("$build/venv/bin/python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
mkdir -p "$program/bin" "$program/lib/$python" "$root/usr/bin"
cp -a "$build/venv/lib/$python/site-packages" "$program/lib/$python/"
find "$program" -name '*.so' -exec strip --strip-unneeded {} +
find "$program/lib" -type f -exec chmod 644 {} +
hardlink --quiet --ignore-time --minimum-size 8KiB "$program/lib" # licences
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$program/pyvenv.cfg"
ln -s "../../../bin/$python" "$program/bin/python"
sed '1s|^#!.*|#!/usr/lib/nncache/bin/python -I|' "$build/venv/bin/nncache" >"$program/bin/nncache"
chmod 755 "$program/bin/nncache"
ln -s ../lib/nncache/bin/nncache "$root/usr/bin/nncache"

files=deploy/packages
install -D -m 644 -t "$root/usr/lib/systemd/system" deploy/systemd/*
install -D -m 644 "$files/nncache.sysusers" "$root/usr/lib/sysusers.d/nncache.conf"
install -D -m 644 "$files/nncache.toml" "$root/etc/nncache/nncache.toml"
install -D -m 644 "$files/nncache.logrotate" "$root/etc/logrotate.d/nncache"
install -D -m 644 -t "$root/usr/share/nncache/prometheus" deploy/prometheus/*
install -D -m 644 -t "$root/usr/share/nncache/grafana" deploy/grafana/dashboards/*
doc=$root/usr/share/doc/nncache
install -D -m 644 -t "$doc" docs/*.md "$files/copyright"
install -m 644 "$dist/nncache-$version.cdx.json" "$doc/nncache.cdx.json"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
	"$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
PYTHONPATH=$build/venv/lib/$python/site-packages "$build/tools/bin/python" tools/man_pages.py \
	"$root/usr/share/man/man1" "$version"
gzip -9n "$root/usr/share/man/man1"/*
"$build/venv/bin/nncache" completion bash >"$root/usr/share/bash-completion/completions/nncache"
"$build/venv/bin/nncache" completion zsh >"$root/usr/share/zsh/vendor-completions/_nncache"
"$build/venv/bin/nncache" completion fish >"$root/usr/share/fish/vendor_completions.d/nncache.fish"
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# ---- packages
tools/release/packages.sh "$root" "$version" "$dist"

# ---- chart
"$GOBIN/helm" package deploy/helm/nncache --version "$version" --app-version "$version" --destination "$dist" >/dev/null
mv "$dist/nncache-$version.tgz" "$dist/nncache-chart-$version.tgz"

cd "$dist"
sha256sum -- * >"$build/SHA256SUMS"
mv "$build/SHA256SUMS" .
ls -l
