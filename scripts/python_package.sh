#!/usr/bin/env bash
# python_package.sh BUILD_DIR [OUTPUT_DIR]: makes the wheel and the Debian package of zoo-gym from what BUILD_DIR has
# built, without the network. OUTPUT_DIR: build/python.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: python_package.sh BUILD_DIR [OUTPUT_DIR]}
output=${2:-build/python}
python=/usr/bin/python3
package=$build/python
[[ -e $package/copied ]] || { echo "python_package: $package has no package: build the target gym_python" >&2; exit 1; }

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$output"
rm -f "$output"/zoo_gym-*.whl "$output"/python3-zoo-gym_*.deb

# The wheel: only what belongs to the package, so that nothing left in the build tree gets in.
mkdir -p "$stage/wheel/zoo_gym"
cp python/pyproject.toml python/setup.py python/README.md python/gym.py "$stage/wheel/"
cp python/zoo_gym/*.py python/zoo_gym/*.pyi python/zoo_gym/py.typed "$package"/zoo_gym/*.so "$stage/wheel/zoo_gym/"
cp -r python/gym-stubs "$stage/wheel/"
PYTHONPATH=$package "$python" -c 'import zoo_gym; print(zoo_gym.__version__)' >"$stage/wheel/VERSION"
version=$(<"$stage/wheel/VERSION")
strip --strip-unneeded "$stage"/wheel/zoo_gym/*.so
"$python" -m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir "$output" "$stage/wheel"

# The Debian package: the same files where Debian's Python looks, and the libraries that they are linked with.
root=$stage/deb
place=$root/usr/lib/python3/dist-packages
mkdir -p "$place" "$root/DEBIAN" "$root/usr/share/doc/python3-zoo-gym"
"$python" -m zipfile -e "$output"/zoo_gym-"$version"-*.whl "$place"
cp LICENSE "$root/usr/share/doc/python3-zoo-gym/copyright"
mkdir "$stage/debian"
printf 'Source: zoo-gym\n\nPackage: python3-zoo-gym\nArchitecture: any\n' >"$stage/debian/control"
libraries=$(cd "$stage" && dpkg-shlibdeps -O --ignore-missing-info deb/usr/lib/python3/dist-packages/zoo_gym/*.so 2>"$stage/shlibdeps.log" |
    sed -n 's/^shlibs:Depends=//p') || { cat "$stage/shlibdeps.log" >&2; exit 1; }
cat >"$root/DEBIAN/control" <<CONTROL
Package: python3-zoo-gym
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: Gym <gym@localhost>
Section: python
Priority: optional
Depends: python3 (>= 3.11), python3 (<< 3.12), $libraries
Description: Train models on a Gym network, or on this machine with the same bits
 The Python package zoo_gym, which is also importable as gym.
CONTROL
find "$root" -type d -exec chmod 755 {} +
find "$root" -type f -exec chmod 644 {} +
deb=$output/python3-zoo-gym_${version}_$(dpkg --print-architecture).deb
dpkg-deb --root-owner-group --build "$root" "$deb" >/dev/null
ls -1 "$output"/zoo_gym-"$version"-*.whl "$deb"
