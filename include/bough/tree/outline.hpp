// SPDX-License-Identifier: BSL-1.0
// outline: a tree on one line, each rank followed by its children in parentheses, in *receive* order.
//
//   static_assert(outline(tree{fnomial{.degree = 3}, 9}) == "0(1 2 3(4 5) 6(7 8))");
// Time O(size), memory O(depth) beside the text; works at compile time and for any depth.
#ifndef BOUGH_TREE_OUTLINE_HPP
#define BOUGH_TREE_OUTLINE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Text that can be made in a constant expression, which std::string cannot everywhere in C++20.
class outline_text {
public:
    constexpr std::string_view view() const noexcept { return {chars_.data(), chars_.size()}; }
    std::string str() const { return std::string(view()); }
    constexpr operator std::string_view() const noexcept { return view(); }

    constexpr void append(char c) { chars_.push_back(c); }
    constexpr void append(rank_t number) {
        char digits[10]{};
        std::size_t count = 0;
        do digits[count++] = static_cast<char>('0' + number % 10);
        while ((number /= 10) != 0);
        while (count != 0) chars_.push_back(digits[--count]);
    }

    friend constexpr bool operator==(const outline_text& a, const outline_text& b) noexcept {
        return a.view() == b.view();
    }
    friend constexpr bool operator==(const outline_text& a, std::string_view b) noexcept { return a.view() == b; }
    friend constexpr bool operator==(const outline_text& a, const char* b) noexcept {
        return a.view() == std::string_view(b);
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const outline_text& t) {
        return out << t.view();
    }

private:
    std::vector<char> chars_;
};

template <Tree T>
constexpr outline_text outline(const T& tree) {
    struct place {
        rank_t rank;
        rank_t left; // children still to write
        bool nested; // has an open parenthesis
    };
    outline_text text;
    std::vector<place> path;
    rank_t written = 0;
    const auto enter = [&](rank_t r) {
        BOUGH_EXPECTS(written++ != tree.size(), "tree: not a tree, a rank is reached twice");
        text.append(r);
        path.push_back({r, tree.child_count(r), false});
    };
    enter(tree.root());
    while (!path.empty()) {
        place& top = path.back();
        if (top.left == 0) {
            if (top.nested) text.append(')');
            path.pop_back();
            continue;
        }
        text.append(top.nested ? ' ' : '(');
        top.nested = true;
        enter(tree.child(top.rank, --top.left));
    }
    return text;
}

} // namespace bough

#endif
