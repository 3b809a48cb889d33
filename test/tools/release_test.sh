#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# tools/release refuses what is not ready, and makes the same archive twice: release_test.sh SOURCE_DIR
set -u
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
faults=0
fail() { echo "FAILED: $*"; faults=1; }
project=$scratch/project
mkdir -p "$project/tools/packages/vcpkg/bough" "$project/include/bough/core" "$project/cmake"
for file in tools/release include/bough/core/version.hpp include/bough/core/config.hpp tools/packages/vcpkg/bough/vcpkg.json CITATION.cff \
    cmake/install.cmake LICENSE; do
    cp "$1/$file" "$project/$file"
done
echo build/ >"$project/.gitignore"
git="git -C $project -c user.name=test -c user.email=test@example.org -c init.defaultBranch=main -c commit.gpgsign=false"
commit() { $git add -A && $git commit -q -m "$1"; }
release() { (cd "$scratch" && "$project/tools/release" "$@") >"$scratch/said" 2>&1; }
refused() { # refused SENTENCE
    if release --untried; then fail "not refused: $1"; fi
    grep -qF "not ready: $1" "$scratch/said" || { fail "not said: $1"; cat "$scratch/said"; }
}

$git init -q
"$project/tools/release" set 4.5.6 >/dev/null
printf '# Changelog\n\n## 4.5.6 - unreleased\n' >"$project/CHANGELOG.md"
sed -i 's/<.*>/<someone@example.org>/' "$project/cmake/install.cmake"
commit first
refused "CHANGELOG.md begins with '## 4.5.6 - unreleased'"
sed -i 's/unreleased/2026-12-01/' "$project/CHANGELOG.md"
refused 'there are changes that are not committed'
commit second
release --untried || { fail "what is ready is refused"; cat "$scratch/said"; }
archive=$project/build/release/bough-4.5.6.tar.gz
grep -q "git tag -s v4.5.6" "$scratch/said" || fail "the tag is not named"
[ -z "$($git tag)" ] || fail "it has tagged"
tar -tzf "$archive" | grep -qx 'bough-4.5.6/include/bough/core/version.hpp' || fail "the archive has no header"
(cd "$project/build/release" && sha256sum --quiet -c bough-4.5.6.tar.gz.sha256) || fail "the sum is wrong"
before=$(sha256sum <"$archive")
touch "$project/LICENSE"
release --untried && [ "$(sha256sum <"$archive")" = "$before" ] || fail "another archive of the same commit"
sed -i 's/"version": "4.5.6"/"version": "4.5.7"/' "$project/tools/packages/vcpkg/bough/vcpkg.json"
commit third
refused "tools/packages/vcpkg/bough/vcpkg.json has '4.5.7'"
"$project/tools/release" set 4.6.0 >/dev/null
grep -q 'BOUGH_ABI_(4_6,' "$project/include/bough/core/config.hpp" || fail "the inline namespace has another version"
commit fourth
refused "CHANGELOG.md begins with '## 4.5.6 - 2026-12-01'"
sed -i 's/someone@example.org/nobody@example.invalid/; ' "$project/cmake/install.cmake"
commit fifth
refused 'nobody reads nobody@example.invalid'
sed -i 's/^## .*/## 4.6.0 - 2026-12-02/' "$project/CHANGELOG.md"
commit sixth
$git tag v4.6.0
refused 'there is a tag v4.6.0 already'
release --untried --draft || fail "--draft does not go on"
! grep -q 'git tag' "$scratch/said" || fail "a draft is to be tagged"
"$project/tools/release" set 4.6 >/dev/null 2>&1 && fail "a version of two numbers"
exit $faults
