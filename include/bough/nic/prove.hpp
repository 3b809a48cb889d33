// SPDX-License-Identifier: BSL-1.0
// prove_every_order: proves that the result of a set of programs does not depend on the order in
// which messages come.
//
//   static_assert(nic::prove_every_order<unsigned, limits>(programs, op, input));
//
// First the network is run once, in some order: that tells what each message carries. Then every
// rank gets its messages, and its host's bell, in every order. For each set of messages that may
// have come, all ways to get there must leave the rank in the same state, with the same messages
// sent. A rank with n messages has (n + 1)! orders, but only 2^(n + 1) such sets, so the proof
// walks the sets. If that holds on every rank, it holds for the network: by induction over the
// messages, nothing in it depends on timing. Use an op that neither commutes nor associates: then
// equal values mean equal brackets.
//
// The proof covers one instance; nic::check proves that other instances keep out of its way.
// `limits` (nic::limits_of) takes the states off the heap, which is several times quicker in
// constant expressions.
#ifndef BOUGH_NIC_PROVE_HPP
#define BOUGH_NIC_PROVE_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// Why there is no proof.
enum class proof_reason : std::uint8_t {
    none,              // there is a proof
    no_programs,       // there are no programs
    not_ended,         // in the first run a host was not told, or more than once
    too_many_messages, // not tried: nothing is known
    order,             // disproved: in some order a message is refused, or other values are sent or told
};

// One sentence for each reason.
constexpr const char* describe(proof_reason why) noexcept {
    switch (why) {
    case proof_reason::none: return "proved: no result depends on the order of messages";
    case proof_reason::no_programs: return "there are no programs";
    case proof_reason::not_ended: return "a host is not told once";
    case proof_reason::too_many_messages: return "not tried: a rank has more messages than 16, the bell included";
    case proof_reason::order: return "disproved: what a rank sends or tells depends on the order of messages";
    }
    return "";
}

// Whether it holds, how many orders that covers, and if it does not hold, why.
struct order_proof {
    bool holds = false;
    proof_reason reason = proof_reason::no_programs;
    rank_t rank = no_rank;        // the rank for which the reason holds
    std::uint64_t orders = 0;     // how many are proved equal, on all ranks together; at most 2^64 - 1
    std::uint64_t deliveries = 0; // how many were run
    constexpr explicit operator bool() const noexcept { return holds; }
    friend constexpr bool operator==(const order_proof&, const order_proof&) = default;
};

// No proof is tried if a rank has more messages than this, its bell included.
inline constexpr std::size_t most_messages_proved = 16;

namespace detail {

template <class T>
struct letter {
    message head{};
    std::vector<T> payload{};
};

// A port that records what is sent and told.
template <class T>
struct recorder {
    std::vector<letter<T>> sent{};
    std::vector<T> result{};
    std::uint32_t told = 0;
    constexpr void send(const message& m, const T* payload) {
        sent.push_back({m, {}});
        for (u32 k = 0; k != m.count; ++k) sent.back().payload.push_back(payload[k]);
    }
    constexpr void notify(u32, const T* payload, u32 count) {
        ++told;
        for (u32 k = 0; k != count; ++k) result.push_back(payload[k]);
    }
};

// A port that compares what is sent with what a recorder has. It keeps which of the recorded
// messages were sent, and whether anything else was.
template <class T>
struct comparer {
    const recorder<T>* expected = nullptr;
    std::vector<std::uint8_t> sent{};
    bool told = false;
    bool wrong = false;
    constexpr explicit comparer(const recorder<T>& e) : expected(&e) { sent.resize(e.sent.size(), 0); }
    constexpr void send(const message& m, const T* payload) {
        for (std::size_t i = 0; i != sent.size(); ++i) {
            const letter<T>& l = expected->sent[i];
            if (l.head != m) continue;
            for (u32 k = 0; k != m.count; ++k) wrong = wrong || !(payload[k] == l.payload[k]);
            wrong = wrong || sent[i] != 0;
            sent[i] = 1;
            return;
        }
        wrong = true;
    }
    constexpr void notify(u32, const T* payload, u32 count) {
        wrong = wrong || told || count != expected->result.size();
        told = true;
        for (u32 k = 0; k != count && !wrong; ++k) wrong = !(payload[k] == expected->result[k]);
    }
    friend constexpr bool operator==(const comparer&, const comparer&) = default;
};

template <class T, limits L, class Op>
class order_prover {
    static constexpr bool fixed = L.steps != 0;

public:
    constexpr order_prover(std::span<const program> all, const Op& the_op) : programs_(all), op_(the_op) {}

    template <class Input>
    constexpr order_proof run(const Input& input) {
        const auto size = static_cast<rank_t>(programs_.size());
        inbox_.resize(size);
        expected_.resize(size);
        std::vector<state<T>> states;
        std::vector<letter<T>> under_way;
        for (rank_t r = 0; r != size; ++r) {
            const program& p = programs_[r];
            states.push_back(make_state<T>(p));
            const u16 slot_number = p.inlets[bell_inlet].slot;
            letter<T> bell{{p.head.stream, 0, p.head.rank, p.head.rank, bell_inlet, 0}, {}};
            bell.head.count = slot_number == no_index ? u16{0} : static_cast<u16>(p.slots[slot_number].count);
            bell.payload.resize(bell.head.count, T{});
            input(r, std::span<T>(bell.payload));
            inbox_[r].push_back(bell);
            under_way.push_back(bell);
        }
        while (!under_way.empty()) { // the first run takes the last message first
            const letter<T> l = under_way.back();
            under_way.pop_back();
            recorder<T>& port = expected_[l.head.to];
            const std::size_t before = port.sent.size();
            deliver(programs_[l.head.to], states[l.head.to], l.head, l.payload.data(), op_, port);
            for (std::size_t i = before; i != port.sent.size(); ++i) forward(port.sent[i], l.head.to, under_way);
        }
        for (rank_t r = 0; r != size; ++r) {
            proof_.rank = r;
            if (expected_[r].told != 1) return not_proved(proof_reason::not_ended);
            if (inbox_[r].size() > most_messages_proved) return not_proved(proof_reason::too_many_messages);
            const bool holds = [&] {
                if constexpr (fixed) {
                    const fixed_program<L> p = fix<L>(programs_[r]);
                    fixed_state<L, T> begin;
                    start(p, begin);
                    return every_set(p, r, begin);
                } else {
                    return every_set(programs_[r], r, make_state<T>(programs_[r]));
                }
            }();
            if (!holds) return not_proved(proof_reason::order);
            std::uint64_t orders = 1;
            for (std::uint64_t n = 2; n <= inbox_[r].size(); ++n) orders *= n; // 16! < 2^64
            proof_.orders += orders;
        }
        if (size == 0) return not_proved(proof_reason::no_programs);
        proof_.rank = no_rank;
        proof_.reason = proof_reason::none;
        proof_.holds = true;
        return proof_;
    }

private:
    constexpr order_proof not_proved(proof_reason why) {
        proof_.reason = why;
        return proof_;
    }
    constexpr void forward(const letter<T>& l, rank_t from, std::vector<letter<T>>& under_way) {
        const auto to = [&](u16 peer) {
            // A credit belongs to the next instance.
            if ((programs_[peer].inlets[l.head.inlet].flags & inlet_credit) != 0) return;
            letter<T> copy = l;
            copy.head.to = peer;
            inbox_[peer].push_back(copy);
            under_way.push_back(copy);
        };
        if (l.head.to != everyone) return to(l.head.to);
        for (rank_t r = 0; r != programs_.size(); ++r)
            if (r != from) to(static_cast<u16>(r));
    }

    template <class Program, class State>
    constexpr bool every_set(const Program& p, rank_t r, const State& begin) {
        struct place {
            State memory;
            comparer<T> sent;
            bool reached;
        };
        const std::vector<letter<T>>& inbox = inbox_[r];
        const std::size_t sets = std::size_t{1} << inbox.size();
        std::vector<place> places;
        places.resize(sets, place{begin, comparer<T>(expected_[r]), false});
        for (std::size_t came = 0; came != sets; ++came) {
            for (std::size_t i = 0; i != inbox.size(); ++i) {
                if ((came >> i & 1u) != 0) continue;
                place then{places[came].memory, places[came].sent, true};
                ++proof_.deliveries;
                const letter<T>& l = inbox[i];
                if (deliver(p, then.memory, l.head, l.payload.data(), op_, then.sent) != answer::taken) return false;
                place& there = places[came | std::size_t{1} << i];
                if (then.sent.wrong) return false;
                if (there.reached && !(there.memory == then.memory && there.sent == then.sent)) return false;
                if (!there.reached) there = std::move(then);
            }
        }
        const place& end = places.back();
        for (const std::uint8_t was : end.sent.sent)
            if (was == 0) return false;
        return end.sent.told;
    }

    std::span<const program> programs_;
    const Op& op_;
    std::vector<std::vector<letter<T>>> inbox_{}; // by rank: the bell, and what the others send it
    std::vector<recorder<T>> expected_{};
    order_proof proof_{};
};

} // namespace detail

// input(rank, span<T>) fills in what the rank's host brings. T must be equality comparable and
// default constructible.
// Pre: the programs are one set (nic::check). Time: O(n 2^n) deliveries for a rank with n messages.
template <class T, limits L = limits{}, class Op, class Input>
constexpr order_proof prove_every_order(std::span<const program> programs, const Op& op, const Input& input) {
    return detail::order_prover<T, L, Op>(programs, op).run(input);
}

} // namespace bough::nic

#endif
