// SPDX-License-Identifier: BSL-1.0
// Pictures of trees: every rank and every edge once, nobody on top of another.
#include "support/catch.hpp"
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/export_dot.hpp>
#include <bough/tree/export_svg.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/tree.hpp>

#include <set>
#include <sstream>
#include <string>
#include <utility>

using namespace bough;

namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
}

template <class T>
void check(const T& tree) {
    std::set<std::pair<std::size_t, long>> places;
    std::set<rank_t> ranks;
    const auto all = detail::place_tree(tree);
    CHECK(all.size() == tree.size());
    for (const auto& r : all) {
        CHECK(ranks.insert(r.rank).second);
        CHECK(places.insert({r.depth, static_cast<long>(r.x * 1024)}).second);
        if (r.rank != tree.root()) {
            CHECK(all[r.parent].rank == tree.parent(r.rank));
            CHECK(tree.child(tree.parent(r.rank), r.turn) == r.rank);
        }
    }
    std::ostringstream svg, dot;
    export_tree_svg(svg, tree, "t");
    export_tree_dot(dot, tree);
    CHECK(count_of(svg.str(), "<line ") == tree.size() - 1);
    CHECK(count_of(svg.str(), "r=\"6.5\"") + tree.size() == count_of(svg.str(), "<circle "));
    CHECK(count_of(dot.str(), " -> ") == tree.size() - 1);
}

} // namespace

TEST_CASE("pictures of trees") {
    for (const rank_t p : {1u, 2u, 7u, 13u, 64u, 200u}) {
        CAPTURE(p);
        check(tree(binomial{}, p));
        check(tree(fnomial{.degree = 4}, p, p / 2));
        check(tree(kary{.arity = 2}, p));
        check(tree(chain{}, p));
        check(tree(flat{}, p));
    }
    std::ostringstream out;
    export_tree_svg(out, tree(flat{}, 3), "<flat>");
    CHECK(out.str().find("&lt;flat&gt;") != std::string::npos);
}

TEST_CASE("numbers in pictures") {
    CHECK(detail::thousandths(0) == "0.000");
    CHECK(detail::thousandths(-1.5) == "-1.500");
    CHECK(detail::thousandths(0.0004) == "0.000");
    CHECK(detail::thousandths(-0.0004) == "0.000");
    CHECK(detail::thousandths(12.3456) == "12.346");
    CHECK(detail::short_number(12) == "12");
    CHECK(detail::short_number(0.5) == "0.5");
    CHECK(detail::short_number(100) == "100");
    CHECK(detail::xml_text("a<b>\"&\n") == "a&lt;b&gt;&quot;&amp; ");
    CHECK(detail::json_text("a\"\\\n") == "a\\\"\\\\ ");
}
