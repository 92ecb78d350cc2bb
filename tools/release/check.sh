#!/usr/bin/env bash
# Install each artefact of dist/ in an empty Debian, without a network, and run it with a NameNode (`make release-check`).
#
# Needs root (chroot, unshare). The NameNode is `nncache cluster` of this checkout, on the same loopback as the chroots.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$PWD/build/release-check dist=$PWD/dist
base=$work/base
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
deb=$dist/nncache_$version-1_$(dpkg --print-architecture).deb
rpm=$(echo "$dist/nncache-$version"-1.*.rpm)

fail() {
	echo "make release-check: $*" >&2
	exit 1
}
need() { command -v "$1" >/dev/null || fail "$1 is missing: apt-get install $2"; }
say() { printf '%s  %s\n' "$(date +%T)" "$*"; }
[ "$(id -u)" = 0 ] || fail 'chroot and unshare need root'
PATH=$PATH:/usr/sbin
need debootstrap debootstrap
need lintian lintian
need rpmlint rpmlint
need cpio cpio # rpmlint unpacks an rpm with it
need rpm rpm
need unshare util-linux
need curl curl
need java openjdk-17-jre-headless
[ -f "$deb" ] && [ -f "$rpm" ] || fail 'dist/ has no packages of this version: make release'

pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	for mounted in "$work"/*/proc; do ! mountpoint -q "$mounted" || umount "$mounted"; done
}
trap cleanup EXIT

# until_so COMMAND...: repeat the command until it succeeds, for up to 60 s.
until_so() {
	local end=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "not within 60 s: $*"
		sleep 0.2
	done
}
free_port() { .venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
offline() { unshare --net chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# ---- checks without running the artefacts
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
say 'checksums: right'
lintian --allow-root --fail-on error "$deb" >"$work.lintian" 2>&1 || fail "lintian: see $work.lintian"
say "lintian: no errors, $(grep -c '^W:' "$work.lintian" || true) warnings"
rpmlint --config deploy/packages/rpmlint.toml "$rpm" >"$work.rpmlint" 2>&1 || fail "rpmlint: see $work.rpmlint"
say "rpmlint: $(tail -1 "$work.rpmlint")"

# ---- an empty Debian 12, from the mirror that this machine uses
if [ ! -e "$base/.ready" ]; then
	mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" "Codename: bookworm" | head -1)
	rm -rf "$base"
	mkdir -p "$base"
	debootstrap --variant=minbase --include=python3,python3-venv,libgssapi-krb5-2,systemd-standalone-sysusers,rpm bookworm "$base" "$mirror" >"$work.debootstrap" ||
		fail "debootstrap: see $work.debootstrap"
	touch "$base/.ready"
fi
fresh() {
	root=$work/$1
	rm -rf "$root"
	cp -a --reflink=auto "$base" "$root"
	[ -z "$(chroot "$root" sh -c 'command -v nncache')" ] || fail 'the empty root has nncache'
}

# ---- a NameNode
mkdir -p "$work"
: >"$work/cluster.json"
.venv/bin/nncache cluster >"$work/cluster.json" 2>"$work/cluster.log" &
pids+=($!)
SECONDS=0
until [ -s "$work/cluster.json" ]; do
	kill -0 "${pids[0]}" 2>/dev/null && [ $SECONDS -lt 600 ] || fail "no cluster: see $work/cluster.log"
	sleep 0.5
done
of_cluster() { .venv/bin/python -c 'import json, sys; found = json.load(open(sys.argv[1]))[sys.argv[2]]; print(found[0] if isinstance(found, list) else found)' "$work/cluster.json" "$1"; }
http=$(of_cluster namenode_http) rpc=$(of_cluster namenode_rpc) user=$(of_cluster superuser)
say "a NameNode serves at $http"

settings() {
	port=$(free_port) admin=$(free_port)
	cat <<-END
		# changed by the operator
		listen = "127.0.0.1:$port"
		admin = "127.0.0.1:$admin"
		namenode_http = ["$http"]
		namenode_rpc = ["$rpc"]
		user = "$user"
		glob = ["/*"]
	END
}

# serves NAME COMMAND...: check that the program, run as user nncache, answers from memory and exits with 0 on SIGTERM.
serves() {
	local name=$1 pid
	shift
	chroot --userspec=nncache:nncache "$root" env -i PATH=/usr/bin:/bin "$@" >"$work/$name.log" 2>&1 &
	pid=$!
	pids+=("$pid")
	until_so curl -fsS "http://127.0.0.1:$admin/ready"
	asked="http://127.0.0.1:$port/webhdfs/v1/tmp?op=GETFILESTATUS&user.name=$user"
	curl -fsS -X PUT "http://127.0.0.1:$port/webhdfs/v1/tmp?op=MKDIRS&user.name=$user" >"$work/$name.mkdirs"
	hit() { curl -fsSi "$asked" | tee "$work/$name.hit" | grep -q '^Cache-Status: nncache; hit'; }
	until_so hit
	grep -q '"type":"DIRECTORY"' "$work/$name.hit" || fail "$name: a hit of another body: see $work/$name.hit"
	kill -TERM "$pid"
	wait "$pid" || fail "$name: exit status $? after SIGTERM: see $work/$name.log"
	say "$name: started, served a hit, stopped"
}
# The command line of the unit, as systemd would run it.
of_unit() { sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/nncache-proxy.service"; }
gone() {
	local left
	left=$(cd "$root" && find usr -path '*nncache*' | grep -v '^usr/lib/python3/' || true)
	[ -z "$left" ] || fail "$1 left after it was removed: $left"
	grep -q '^# changed by the operator' "$2" || fail "$1: settings were lost"
	say "$1: removed; settings kept"
}

# ---- the wheelhouse
fresh wheelhouse
tar -x -C "$root/tmp" -f "$dist/nncache-$version"-wheelhouse-*.tar
chroot "$root" useradd --system nncache
offline python3 -m venv /opt/nncache
offline /opt/nncache/bin/pip install --quiet --no-index --find-links /tmp/wheelhouse "nncache[dns,kerberos,otel]"
offline /opt/nncache/bin/python -c 'import dns, gssapi, opentelemetry.sdk'
settings >"$root/tmp/nncache.toml"
serves wheelhouse /opt/nncache/bin/nncache proxy --config /tmp/nncache.toml

# ---- the sdist: its wheel is built without the network, with the setuptools of this machine's release tools
fresh sdist
build/release/tools/bin/pip download --quiet --no-deps --disable-pip-version-check --dest "$root/tmp/wheelhouse" 'setuptools>=77,<83'
tar -x -C "$root/tmp" -f "$dist/nncache-$version"-wheelhouse-*.tar
rm "$root"/tmp/wheelhouse/nncache-*.whl
cp "$dist/nncache-$version.tar.gz" "$root/tmp/"
chroot "$root" useradd --system nncache
offline python3 -m venv /opt/nncache
offline /opt/nncache/bin/pip install --quiet --no-index --find-links /tmp/wheelhouse "/tmp/nncache-$version.tar.gz"
settings >"$root/tmp/nncache.toml"
serves sdist /opt/nncache/bin/nncache proxy --config /tmp/nncache.toml

# ---- the .deb, after a lower version whose settings were changed
fresh deb
lower=$work/lower
rm -rf "$lower" && mkdir -p "$lower" # the same tree
(cd build/release/source && SOURCE_DATE_EPOCH=1700000000 tools/release/packages.sh "$PWD/root" 0.0.1 "$lower")
cp "$lower"/*.deb "$root/tmp/lower.deb"
cp "$deb" "$root/tmp/nncache.deb"
offline dpkg --install /tmp/lower.deb >"$work/deb.install" 2>&1 || fail "dpkg: see $work/deb.install"
conf=$root/etc/nncache/nncache.toml
[ "$(stat -c '%a %U' "$conf")" = '640 root' ] || fail 'nncache.toml has another mode'
settings >"$conf"
offline dpkg --install /tmp/nncache.deb </dev/null >>"$work/deb.install" 2>&1 || fail "dpkg: see $work/deb.install"
grep -q '^# changed by the operator' "$conf" || fail 'the upgrade lost the settings'
[ "$(offline nncache --version)" = "nncache, version $version" ] || fail 'another version after the upgrade'
say 'deb: an upgrade keeps changed settings'
offline nncache dns --help >/dev/null
offline /usr/lib/nncache/bin/python -c 'import dns, gssapi, opentelemetry.sdk'
# shellcheck disable=SC2046 # its words are separate arguments
serves deb $(of_unit)
mkdir -p "$root/var/log/nncache"
offline dpkg --remove nncache >>"$work/deb.install" 2>&1
gone deb "$conf"
offline dpkg --purge nncache >>"$work/deb.install" 2>&1
[ ! -e "$root/etc/nncache" ] && [ ! -e "$root/var/log/nncache" ] || fail 'purge leaves settings or logs'
say 'deb: purged'

# ---- the .rpm: installed by rpm in the same Debian, whose rpm database has none of its dependencies (hence --nodeps)
fresh rpm
cp "$lower"/*.rpm "$root/tmp/lower.rpm"
cp "$rpm" "$root/tmp/nncache.rpm"
offline rpm --initdb
offline rpm --install --nodeps /tmp/lower.rpm >"$work/rpm.install" 2>&1 || fail "rpm: see $work/rpm.install"
conf=$root/etc/nncache/nncache.toml
settings >"$conf"
offline rpm --upgrade --nodeps /tmp/nncache.rpm >>"$work/rpm.install" 2>&1 || fail "rpm: see $work/rpm.install"
grep -q '^# changed by the operator' "$conf" || fail 'the upgrade lost the settings'
[ "$(offline nncache --version)" = "nncache, version $version" ] || fail 'another version after the upgrade'
say 'rpm: an upgrade keeps changed settings'
# shellcheck disable=SC2046 # as above
serves rpm $(of_unit)
offline rpm --erase nncache >>"$work/rpm.install" 2>&1 || fail "rpm: see $work/rpm.install"
gone rpm "$conf.rpmsave"

# ---- the chart: Kubernetes' own schemas cover all kinds except the PodMonitor, which an operator defines
helm=build/release/bin/helm
chart=$dist/nncache-chart-$version.tgz
build/release/tools/bin/pip install --quiet --disable-pip-version-check 'kubernetes-validate>=1.37' PyYAML
"$helm" lint --strict "$chart" >"$work/helm.lint" || fail "helm lint: see $work/helm.lint"
for values in deploy/helm/nncache/values.yaml deploy/helm/full.yaml; do
	"$helm" template nncache "$chart" --kube-version 1.30 --values "$values" >"$work/chart.yaml" || fail "helm template: $values"
	build/release/tools/bin/python - "$work/chart.yaml" <<-'END' || fail "the schema refuses the chart with $values"
		import sys
		import kubernetes_validate, yaml
		for each in yaml.safe_load_all(open(sys.argv[1])):
		    if each and not each["apiVersion"].startswith("monitoring.coreos.com/"):
		        kubernetes_validate.validate(each, "1.30", strict=True)
	END
	say "chart: linted, rendered and valid with $(basename "$values"): $(grep '^kind:' "$work/chart.yaml" | sort | uniq -c | tr -s ' \n' ' ')"
done
say 'each artefact installs, serves, stops and goes'
