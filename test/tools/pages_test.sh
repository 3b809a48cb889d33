#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Makes the guides and the reference and tries them: pages_test.sh SOURCE_DIR OUTPUT. First a small project with
# faults, which must all be found. Pages are opened in headless Chromium, if it is there. Nothing is installed.
set -u
root=$1 site=$2
/usr/bin/python3 -c 'import clang.cindex, markdown_it, pygments; clang.cindex.Index.create()' 2>/dev/null || {
    echo "skipped: the pages need the Debian packages python3-clang-19 python3-markdown-it python3-pygments"
    exit 77
}
pkg-config --exists libfabric libibverbs pmix ompi-cxx 2>/dev/null && [ -f /usr/include/boost/asio.hpp ] || {
    echo "skipped: the optional headers need Boost, libfabric, libibverbs, PMIx and Open MPI, which tools/site installs"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
faults=0
fail() { echo "FAILED: $*"; faults=1; }

# --- A small project ------------------------------------------------------------------------------
small=$scratch/small
mkdir -p "$small/include/bough/room/thing" "$small/doc" "$small/examples" "$small/tools/playground"
cp -r "$root/tools/pages" "$small/tools/"
cp "$root/tools/playground/page.css" "$small/tools/playground/"
cat >"$small/include/bough/room/thing.hpp" <<'END'
// SPDX-License-Identifier: BSL-1.0
// A thing: what the test is about.
//
//   thing{.size = 3}   three of them
//   no_things()        none
//   make_thing(3)      one of that size
//
// Rules:
//
//   T9  a rule
//   T10 the next, with a label as wide as its column
//
// Errors      none at all,
//             ever
#ifndef BOUGH_ROOM_THING_HPP
#define BOUGH_ROOM_THING_HPP
#include <bough/room/thing/part.hpp>
#define BOUGH_ABI v0_1
namespace bough::inline BOUGH_ABI {
namespace detail {
struct out_of_sight {};
struct maker {
    constexpr int operator()(int size) const { return size; }
};
template <class T>
concept HasSize = requires(const T& t) { { t.size } -> Same<int>; };
template <class T>
concept Big = sizeof(T) >= 4;
} // namespace detail
struct thing {
    int size = 0; // how many
    // Adds `other`.
    template <class T>
    requires(sizeof(T) > 0) constexpr thing& operator+=(const T& other) noexcept(sizeof(T) == 4) {
        size += other.size;
        return *this;
    }
    constexpr void give(auto& sink) const { sink.take(size); }

private:
    int own_affair = 0;
};
constexpr thing no_things() { return {}; }
inline constexpr detail::maker make_thing{};
enum class colour { red, green }; // how it looks

struct silent {};
constexpr int described(const thing& t) { return t.size; } // says how many
// What has a size.
template <class T>
concept Sized = detail::HasSize<T> && sizeof(T) >= 4;

template <class T>
concept Counted = detail::HasSize<T> && detail::Big<T>; // has many

template <class T>
constexpr bool explain_sized() {
    if constexpr (!detail::HasSize<T>) static_assert(sizeof(T) == 0, "bough: a Sized needs `int size`");
    constexpr bool big = detail::Big<T>;
    static_assert(detail::HasSize<T>, "bough: a Counted needs `size`");
    static_assert(big, "bough: a Counted needs four bytes");
    return true;
}
namespace model {
inline constexpr int mute = 3;

} // namespace model
} // namespace bough
#endif
END
cat >"$small/include/bough/room/thing/part.hpp" <<'END'
// SPDX-License-Identifier: BSL-1.0
// A part of a thing.
#ifndef BOUGH_ROOM_THING_PART_HPP
#define BOUGH_ROOM_THING_PART_HPP
namespace bough {
template <class A, class B>
concept Same = __is_same(A, B);
} // namespace bough
#endif
END
cat >"$small/include/bough/room/inner.hpp" <<'END'
// SPDX-License-Identifier: BSL-1.0
// inner() is for other headers.
#ifndef BOUGH_ROOM_INNER_HPP
#define BOUGH_ROOM_INNER_HPP
namespace bough::detail {
inline int inner() { return 0; }
} // namespace bough::detail
#endif
END
printf '// SPDX-License-Identifier: BSL-1.0\n// Everything.\n#include <bough/room/thing.hpp>\n' >"$small/include/bough/all.hpp"
printf '# Small\n\nSee [the guide](doc/guide.md#a-part), `thing` and `bough/room/thing.hpp`.\n' >"$small/README.md"
printf 'int main() { return bough::no_things().size; }\n' >"$small/examples/1.cpp"
printf '# Documentation\n' >"$small/doc/README.md"
printf '# Changes\n' >"$small/CHANGELOG.md"
printf '# Guide\n\n## A part\n\n```cpp\nauto x = bough::thing{};\n```\n\n<!-- quote doc/a.csv -->\n```text\nranks,a_b\n8,1.5\n```\n' >"$small/doc/guide.md"
make_small() { "$small/tools/pages/make" "$small" "$scratch/made" >"$scratch/said" 2>&1; }
says() { grep -qF -- "$1" "$scratch/said" || { fail "not said: $1"; cat "$scratch/said"; }; }
page=$scratch/made/reference/bough/room/thing.html
has() { tr -s ' \n' ' ' <"$page" | sed 's/<[^>]*>//g' | grep -qF -- "$1" || fail "$page lacks: $1"; }

make_small && fail "names without a description are not found"
says 'bough/room/thing.hpp: silent has no description'
says 'bough/room/thing.hpp: model::mute has no description'
says 'bough/room/thing.hpp: explain_sized has no description'
[ "$(grep -c 'has no description' "$scratch/said")" = 3 ] || { fail "more or less than three"; cat "$scratch/said"; }
has 'struct thing'
has 'constexpr thing&amp; operator+=(const T&amp; other) noexcept(sizeof(T) == 4)'
has 'constexpr void give(auto&amp; sink) const'
has 'Adds other.'
has 'none at all, ever'
has 'a Sized needs int size'
has 'a Counted needs size'
has 'a Counted needs four bytes'
has 'In examples: 1.cpp'
has 'constexpr int described(const thing&amp; t)says how many'
has 'A function object, called as'
! grep -qF 'detail::maker' "$page" || fail "the type of a function object has been shown"
has 'T10the next, with a label as wide as its column'
[ "$(grep -o 'how it looks' "$page" | wc -l)" = 1 ] || fail "an enumeration's comment stands at its values, too"
page=$scratch/made/reference/index.html
has '1 header without public names'
has 'inner() is for other headers.'
has 'What the test is about.'
page=$scratch/made/reference/bough/room/inner.html
has 'it declares no public name'
page=$scratch/made/reference/bough/room/thing.html
! grep -qE 'own_affair|out_of_sight' "$page" || fail "what is private has been shown"
sed -i 's|^struct silent|// Says nothing.\n&|; s|^inline constexpr int mute|// Three.\n&|; s|^constexpr bool explain_sized|// Says why.\n&|' \
    "$small/include/bough/room/thing.hpp"
make_small && fail "a comment between a template and its name is none"
sed -i '/^\/\/ Says why\.$/d' "$small/include/bough/room/thing.hpp"
sed -i -z 's|\n\ntemplate <class T>\nconstexpr bool|\n\n// Says why.\ntemplate <class T>\nconstexpr bool|' "$small/include/bough/room/thing.hpp"
make_small || { fail "all is described"; cat "$scratch/said"; }
grep -qF 'href="doc/guide.html#a-part"' "$scratch/made/index.html" || fail "a link to a heading"
grep -qF '<td>1.5</td>' "$scratch/made/doc/guide.html" || fail "figures are no table"
grep -qF 'href="reference/bough/room/thing.html#thing"' "$scratch/made/index.html" || fail "a name in a guide is no link"
grep -qF '../reference/bough/room/thing.html#thing' "$scratch/made/doc/guide.html" || fail "a name in code is no link"
echo '[none](doc/guide.md#no-such-part) [file](doc/none.md)' >>"$small/README.md"
make_small && fail "broken links are not found"
says 'index.html: broken link: doc/guide.html#no-such-part'
says 'README.md: no such file: doc/none.md'

# --- All of bough ---------------------------------------------------------------------------------
BOUGH_SITE_OUTPUT=$site "$root/tools/site" --no-setup pages || fail "tools/site pages"
! grep -rlE '(src|href)="?(https?:)?//[^"]*\.(js|css)|@import' --include='*.html' --include='*.css' "$site" ||
    fail "pages load something from elsewhere"
node=$(command -v node || command -v nodejs || true)
if command -v chromium >/dev/null && [ -n "$node" ]; then
    "$node" "$root/test/tools/pages.mjs" "$site" "$(command -v chromium)" || fail "the pages in Chromium"
else
    echo "left out, as not installed: chromium or node"
fi
exit $faults
