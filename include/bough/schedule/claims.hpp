// SPDX-License-Identifier: BSL-1.0
// Claims: what an algorithm says of itself, so that a choice can ask without a proof of its own.
//
// An algorithm claims by members, all of them optional (bough/concepts/plan.hpp):
//   a.keeps_rank_order(at)    results combine in rank order                                     absent: no
//   a.rank_consistent(at)     every rank that gets a result gets the same bits                  absent: yes
//                             (of a scan, no: its ranks get different results)
//   a.bracket(at)             a bracket_class: equal classes give equal bits, at equal sizes
//                             absent: none
//   A::needs_exact            ranks get different bits unless the op is exact on the type: refused if not   absent: no
//   a.level_needs_exact()     the same, for an algorithm that is made of others
//   A::any_size               serves any number of ranks                                        absent: yes
//   A::symmetric              every rank does what rank 0 does, its peers shifted by its number absent: no
//                             or, if their number is a power of two, exclusive-ored with it
//                             (so that the price of one rank is that of all)
//   a.symmetric_at(at)        the same, where it depends on the dimensions                      absent: A::symmetric
//   a.alike_group(at, rank)   the group of a rank, if every group does what group 0 does: its ranks in
//                             their order, with the groups of their peers shifted by its number or, if
//                             there are a power of two of them, exclusive-ored with it; or no_rank     absent: no_rank
//                             (so that the price of one group is that of all)
//   A::steady_in_blocks       from some blocks on, each further one of the same length takes the same time more
//   A::steady_in_ranks        from some power of two of ranks on, each doubling takes the same time more, apart from
//                             what shares of the vector that get smaller take less    both absent: no
//                             (so that the price of a large plan follows from small ones)
//   a.family_text()           for a half: the label of its family, which an allreduce of two such
//                             halves takes; absent: none
//   A::combines_in_series     a result is one series of combines, with one operand from each rank
//                             (bough/schedule/series.hpp), and there are no others; in rank order if it also
//                             keeps_rank_order                                                      absent: no
//   A::may_hold, A::serves, a.hash()     see bough/concepts/plan.hpp
//   A::text_tells, a.identity()          see identity_of, below
// verify_claims(plan) proves them (bough/verify/verify_claims.hpp), for your own algorithms too.
#ifndef BOUGH_SCHEDULE_CLAIMS_HPP
#define BOUGH_SCHEDULE_CLAIMS_HPP

#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Which contributions are combined with which, and in which order, as a small value. Two plans of
// one goal and size that claim equal classes give the same bits. The default claims nothing and is
// equal to no class.
struct bracket_class {
    std::uint64_t family = 0; // bracket_family("..."), never 0
    std::uint64_t parameter = 0;

    constexpr bool claimed() const noexcept { return family != 0; }
    friend constexpr bool operator==(const bracket_class&, const bracket_class&) = default;
};

// The number of a family of brackets, from its name.
constexpr std::uint64_t bracket_family(const char* name) noexcept {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;
    for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100'0000'01b3u;
    return hash == 0 ? 1 : hash;
}

// A set of goals, by the bits of their kinds.
struct goal_set {
    std::uint32_t bits = ~std::uint32_t{0};
    constexpr bool contains(std::uint8_t kind) const noexcept { return (bits >> kind & 1u) != 0; }
    friend constexpr bool operator==(const goal_set&, const goal_set&) = default;
};

struct claims {
    bool keeps_rank_order = false;
    bool rank_consistent = true, says_consistent = false; // the latter: by its own member
    bool any_size = true;
    bool symmetric = false;
    bool steady_in_blocks = false, steady_in_ranks = false;
    bool may_hold = false;
    bool needs_exact = false;
    bool combines_in_series = false;
    bracket_class bracket{};
    goal_set serves{};
    std::uint64_t hash = 0;
    friend constexpr bool operator==(const claims&, const claims&) = default;
};

namespace detail {
template <class... Goal>
constexpr goal_set set_of(goals<Goal...>) noexcept {
    return {((std::uint32_t{1} << Goal::kind) | ... | 0u)};
}
} // namespace detail

// May the algorithm run only with ops that are exact on the type (is_exact)? For an any_algorithm,
// this asks the algorithm that it holds.
template <Algorithm A>
constexpr bool needs_exact(const A& a) {
    if constexpr (requires { a.fixed_claims(); })
        return a.fixed_claims().needs_exact;
    else if constexpr (requires { a.level_needs_exact(); })
        return a.level_needs_exact();
    else if constexpr (requires { A::needs_exact; })
        return A::needs_exact;
    else
        return false;
}

// Does the algorithm combine all contributions of a result one behind the other, as an op needs that
// combines them at once?
template <Algorithm A>
constexpr bool combines_in_series(const A& a) {
    if constexpr (requires { a.fixed_claims(); })
        return a.fixed_claims().combines_in_series;
    else if constexpr (requires { A::combines_in_series; })
        return A::combines_in_series;
    else
        return false;
}

// The group of a rank, if every group of ranks does what group 0 does; no_rank: that is not claimed.
// Pre: its check(at) is ok.
template <Algorithm A>
constexpr rank_t alike_group(const A& a, const dimensions& at, rank_t rank) {
    if constexpr (requires { a.alike_group(at, rank); })
        return a.alike_group(at, rank);
    else
        return no_rank;
}

// What an algorithm claims whatever the dimensions. An algorithm that knows this only at run time
// has a member fixed_claims().
template <Algorithm A>
constexpr claims fixed_claims_of(const A& a) {
    claims made;
    if constexpr (requires { a.fixed_claims(); }) {
        made = a.fixed_claims();
    } else {
        made.may_hold = may_hold(a);
        made.needs_exact = bough::needs_exact(a);
        made.combines_in_series = bough::combines_in_series(a);
        if constexpr (requires { A::any_size; }) made.any_size = A::any_size;
        if constexpr (requires { A::symmetric; }) made.symmetric = A::symmetric;
        if constexpr (requires { A::steady_in_blocks; }) made.steady_in_blocks = A::steady_in_blocks;
        if constexpr (requires { A::steady_in_ranks; }) made.steady_in_ranks = A::steady_in_ranks;
        if constexpr (requires { typename A::serves; }) made.serves = detail::set_of(typename A::serves{});
        if constexpr (requires { a.hash(); }) made.hash = a.hash();
    }
    return made;
}

// All that an algorithm claims. Pre: its check(at) is ok.
template <Algorithm A>
constexpr claims claims_of(const A& a, const dimensions& at) {
    if constexpr (requires { a.claims(at); }) {
        return a.claims(at);
    } else {
        claims made = fixed_claims_of(a);
        made.keeps_rank_order = keeps_rank_order(a, at);
        if constexpr (requires { a.rank_consistent(at); }) {
            made.rank_consistent = a.rank_consistent(at);
            made.says_consistent = true;
        }
        if constexpr (requires { a.symmetric_at(at); }) made.symmetric |= a.symmetric_at(at);
        if constexpr (requires { a.bracket(at); }) made.bracket = a.bracket(at);
        return made;
    }
}

// Is it claimed that the ranks get the same bits from a collective of this kind? The results of a scan
// differ from rank to rank, so there an algorithm that says nothing claims nothing.
constexpr bool claims_same_bits(const claims& said, std::uint8_t kind) noexcept {
    const bool is_scan = kind == goal::scan::kind || kind == goal::exscan::kind;
    return said.rank_consistent && (said.says_consistent || !is_scan);
}

// A number that tells an algorithm from all others, found without a look at its steps; 0: there is
// none. An algorithm has one if its text tells it from others (text_tells_v), or if it has a member
// identity() that says it. So ranks that call by the same algorithm can see that they do.
template <Algorithm A>
constexpr std::uint64_t identity_of(const A& a) {
    if constexpr (requires { a.identity(); }) {
        return a.identity();
    } else if constexpr (text_tells_v<A>) {
        const label text = label_of(a);
        return text.size() == label::capacity ? 0 : bracket_family(text.c_str()); // 0: its text is cut
    } else {
        return 0;
    }
}

} // namespace bough

#endif
