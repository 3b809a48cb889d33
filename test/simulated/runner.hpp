// SPDX-License-Identifier: BSL-1.0
// The body of a campaign's run, over either flavour of the simulated transport.
#ifndef BOUGH_TEST_SIMULATED_RUNNER_HPP
#define BOUGH_TEST_SIMULATED_RUNNER_HPP

#include "simulated/campaign.hpp"
#include "simulated/saboteur.hpp"

namespace test {

// Composition, the lower rank's map first.
inline void combine_affine(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        word l[2], u[2];
        std::memcpy(l, lower + 16 * i, 16);
        std::memcpy(u, upper + 16 * i, 16);
        const word r[2] = {u[0] * l[0], u[0] * l[1] + u[1]};
        std::memcpy(out + 16 * i, r, 16);
    }
}
inline void combine_plus(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        word l, u;
        std::memcpy(&l, lower + 8 * i, 8);
        std::memcpy(&u, upper + 8 * i, 8);
        l += u;
        std::memcpy(out + 8 * i, &l, 8);
    }
}

// The memory of one operation on one rank: guard, input, guard, output, guard.
class region {
public:
    static constexpr word guard = 0xa5a5'a5a5'a5a5'a5a5u;
    static constexpr word poison = 0xdddd'dddd'dddd'ddddu;
    static constexpr std::size_t margin = 8;

    void prepare(std::size_t words, bool in_place) {
        words_ = words;
        out_ = in_place ? margin : 2 * margin + words;
        all_.assign(out_ + words + margin, guard);
    }
    std::span<word> in() { return {all_.data() + margin, words_}; }
    std::span<word> out() { return {all_.data() + out_, words_}; }
    void fill() {
        std::fill(in().begin(), in().end(), poison);
        std::fill(out().begin(), out().end(), poison);
    }
    bool guarded() const {
        const auto clean = [this](std::size_t first) {
            return std::all_of(all_.begin() + static_cast<std::ptrdiff_t>(first),
                               all_.begin() + static_cast<std::ptrdiff_t>(first + margin),
                               [](word w) { return w == guard; });
        };
        return clean(0) && clean(margin + words_) && clean(all_.size() - margin);
    }
    bool untouched() { // since fill()
        const auto same = [](std::span<word> s) {
            return std::all_of(s.begin(), s.end(), [](word w) { return w == poison; });
        };
        return guarded() && same(in()) && same(out());
    }

private:
    std::vector<word> all_;
    std::size_t words_ = 0, out_ = 0;
};

template <class World>
class runner {
    using link = saboteur<typename World::endpoint>;
    using group = bough::session<link>;
    static constexpr std::size_t most = 3; // operations

public:
    outcome run(const history& h, sabotage how) {
        begin(h, how);
        const char* problem = collectives();
        if (problem == nullptr) problem = settled();
        if (problem == nullptr && !h.faults.empty()) problem = recovery();
        if (problem == nullptr) problem = memory_at_the_end();
        if (problem == nullptr) problem = world_.first_violation();
        result_.problem = problem;
        result_.events = world_.events();
        end();
        return result_;
    }

private:
    struct in_flight {
        bough::session_operation op;
        region memory;
        bool started = false, ended = false;
        std::uint64_t not_before = 0, started_at = 0, attend_ns = 0;
    };
    struct member {
        std::optional<group> session;
        std::array<in_flight, most> operations;
        std::size_t ended = 0;
    };

    std::span<member> all() { return {members_.data(), h_->size}; }
    bool alive(rank_t r) const { return world_.is_alive(r); }
    word value(std::size_t operation, rank_t r, std::size_t i) const {
        return (h_->seed + operation * 31 + r * 7 + i) * 0x9e37'79b9'7f4a'7c15u;
    }

    void begin(const history& h, sabotage how) {
        h_ = &h;
        result_ = {};
        told_.assign(h_->operations.size(), {});
        random_ = random_bits(h.seed);
        world_.reset(h.size, h.world);
        for (const simulated_fault& f : h.faults) world_.inject(f);
        const sabotage_plan plan{how, static_cast<rank_t>(random_.below(h.size)), random_.below(4)};
        for (rank_t r = 0; r != h.size; ++r) {
            member& m = members_[r];
            m.session.emplace(link(world_.connect(r), plan));
            m.ended = 0;
            for (std::size_t k = 0; k != h.operations.size(); ++k) {
                in_flight& o = m.operations[k];
                o.op = {};
                o.started = o.ended = false;
                o.attend_ns = 0;
                o.not_before = h.skew_ns == 0 ? 0 : random_.below(h.skew_ns + 1) * (k + 1);
                if (o.not_before != 0) world_.wake_at(o.not_before);
                const operation_setup& setup = h.operations[k];
                o.memory.prepare(setup.length(), setup.in_place);
                if (setup.plan->kind == collective::broadcast && r != setup.plan->root) continue;
                const std::span<word> in = o.memory.in();
                for (std::size_t i = 0; i != in.size(); ++i) in[i] = value(k, r, i);
            }
        }
        for (std::size_t k = 0; k != h.operations.size(); ++k) fold(k);
    }
    void end() {
        for (member& m : all()) m.session.reset();
    }

    // What rank r gets, in words of its vector: all of it, its block, or nothing.
    struct piece {
        std::size_t first = 0, last = 0;
    };
    piece result_of(const operation_setup& setup, rank_t r) const {
        const piece all{0, setup.length()}, none{};
        switch (setup.plan->kind) {
        case collective::reduce: return r == setup.plan->root ? all : none;
        case collective::exscan: return r == 0 ? none : all;
        case collective::reduce_scatter: return block_of(setup, r);
        default: return all;
        }
    }
    piece block_of(const operation_setup& setup, rank_t r) const {
        const bough::block_t blocks = setup.plan->work[0][0]->bound().blocks; // as many of each rank
        const auto begin = [&](rank_t rank) {
            return static_cast<std::size_t>(bough::block_begin(setup.count, blocks, rank * (blocks / h_->size))) *
                   setup.words();
        };
        return {begin(r), begin(r + 1)};
    }
    // What operation k must give to rank r: the fold over all ranks, or, of a scan, over the first ones.
    std::span<const word> expected(std::size_t k, rank_t r) const {
        const std::size_t length = h_->operations[k].length();
        const collective kind = h_->operations[k].plan->kind;
        const rank_t upto = kind == collective::scan ? r : kind == collective::exscan && r != 0 ? r - 1 : h_->size - 1;
        return std::span<const word>(expected_[k]).subspan(upto * length, length);
    }
    void fold(std::size_t k) {
        const operation_setup& setup = h_->operations[k];
        const std::size_t length = setup.length();
        std::vector<word>& all = expected_[k];
        all.resize(length * h_->size); // up to rank 0, up to rank 1, ...
        const bool folds = setup.plan->kind != collective::broadcast && setup.plan->kind != collective::allgather;
        for (std::size_t i = 0; i != length; ++i) all[i] = value(k, folds ? 0 : setup.plan->root, i);
        for (rank_t r = 1; r != h_->size; ++r) {
            const std::span<const word> before = std::span<const word>(all).subspan((r - 1) * length, length);
            const std::span<word> e = std::span(all).subspan(r * length, length);
            std::copy(before.begin(), before.end(), e.begin());
            if (!folds) continue;
            if (!setup.affine) {
                for (std::size_t i = 0; i != length; ++i) e[i] += value(k, r, i);
            } else {
                for (std::size_t i = 0; i != length; i += 2) {
                    const word a = value(k, r, i), b = value(k, r, i + 1);
                    e[i] *= a;
                    e[i + 1] = a * e[i + 1] + b;
                }
            }
        }
        if (setup.plan->kind != collective::allgather) return;
        for (rank_t r = 0; r != h_->size; ++r)
            for (std::size_t i = block_of(setup, r).first; i != block_of(setup, r).last; ++i)
                all[(h_->size - 1) * length + i] = value(k, r, i);
    }

    void start(rank_t r, std::size_t k) {
        in_flight& o = members_[r].operations[k];
        const operation_setup& setup = h_->operations[k];
        bough::prepared& work = *setup.plan->work[k % 2][r];
        bough::call c;
        c.input = reinterpret_cast<const std::byte*>(o.memory.in().data());
        c.output = reinterpret_cast<std::byte*>(o.memory.out().data());
        c.count = setup.count;
        c.element_bytes = 8 * setup.words();
        c.combine = setup.affine ? &combine_affine : &combine_plus;
        bough::envelope tag;
        tag.context = h_->two_contexts ? k % 2 : 0;
        tag.operation = static_cast<std::uint32_t>(h_->two_contexts ? k / 2 + 1 : k + 1);
        const bough::call_signature signature{.count = setup.count,
                                              .op = setup.affine,
                                              .plan = setup.plan->id(),
                                              .root = setup.plan->root,
                                              .kind = static_cast<std::uint8_t>(setup.plan->kind)};
        o.started = true;
        o.started_at = world_.now_ns();
        members_[r].session->start(o.op, work, c, tag, signature, h_->timeout_ns);
        members_[r].session->check_deadlines(); // from here on it counts
        wake_for(r, k);
    }
    // The world stops when the deadline of an operation has to be looked at.
    void wake_for(rank_t r, std::size_t k) {
        in_flight& o = members_[r].operations[k];
        const std::uint64_t next = members_[r].session->attend_ns(o.op);
        if (std::exchange(o.attend_ns, next) != next) world_.wake_at(std::max(next, world_.now_ns()));
    }

    // Starts what may start, and looks at what has ended.
    const char* look(rank_t r) {
        member& m = members_[r];
        const std::size_t count = h_->operations.size();
        while (m.ended != count) {
            for (std::size_t k = m.ended; k != count && k != m.ended + h_->window; ++k) {
                in_flight& o = m.operations[k];
                if (o.started) continue;
                if (world_.now_ns() < o.not_before) break;
                start(r, k);
                if (!alive(r)) return nullptr;
            }
            in_flight& o = m.operations[m.ended];
            if (!o.started || !o.op.done()) return nullptr;
            if (const char* problem = judge(r, m.ended)) return problem;
            ++m.ended;
        }
        return nullptr;
    }

    // An operation has ended on a live rank.
    const char* judge(rank_t r, std::size_t k) {
        in_flight& o = members_[r].operations[k];
        const operation_setup& setup = h_->operations[k];
        const bough::status& s = o.op.result();
        o.ended = true;
        if (world_.now_ns() > o.started_at + h_->timeout_ns + 5'000'000) return "an operation outlived its deadline";
        if (!o.memory.guarded()) return "memory beside a buffer was written";
        if (!setup.in_place)
            for (std::size_t i = 0; i != o.memory.in().size(); ++i)
                if (o.memory.in()[i] != value(k, r, i)) return "an input was changed";
        if (s) {
            ++result_.failed;
            if (h_->faults.empty()) return "an operation failed without a fault";
            if (!h_->may_time_out && (s.code == bough::errc::deadline || s.cause == bough::errc::deadline))
                return "an operation ended by its deadline, though its fault could be known";
            if (const char* problem = judge_missing(s, told_[k])) return problem;
        } else {
            ++result_.succeeded;
            const std::span<const word> e = expected(k, r);
            const std::span<word> out = o.memory.out();
            const piece gets = result_of(setup, r);
            if (!std::ranges::equal(e.subspan(gets.first, gets.last - gets.first),
                                    out.subspan(gets.first, gets.last - gets.first)))
                return "success with a wrong value";
        }
        o.memory.fill();
        return nullptr;
    }

    // Where ranks only stop, these are missing; and every rank that reports says the same of them in one
    // operation: `told`, if another rank has reported.
    const char* judge_missing(const bough::status& s, bough::status& told) {
        if (!h_->only_stops()) return nullptr;
        if (!bough::names_missing(s)) return "a deadline does not say who is missing";
        for (rank_t r = 0; r != h_->size; ++r)
            if (bough::is_missing(s, r) && alive(r)) return "a rank that only waits is said to be missing";
        bough::status same = s;
        same.code = same.cause = bough::errc::deadline;
        if (!told) told = same;
        return same == told ? nullptr : "two ranks tell different things of one deadline";
    }

    // Lets every live rank act once, in random order. True: something happened.
    template <class F>
    bool turn(F&& each) {
        bool moved = false;
        const rank_t n = h_->size;
        const auto first = static_cast<rank_t>(random_.below(n));
        const bool down = random_.below(2) != 0;
        for (rank_t i = 0; i != n; ++i) {
            const rank_t r = (first + (down ? n - i : i)) % n;
            if (alive(r)) moved |= members_[r].session->progress();
            if (alive(r)) each(r);
        }
        return moved;
    }
    void check_deadlines() {
        for (rank_t r = 0; r != h_->size; ++r) {
            if (!alive(r)) continue;
            members_[r].session->check_deadlines();
            for (std::size_t k = 0; k != h_->operations.size(); ++k)
                if (const in_flight& o = members_[r].operations[k]; o.started && !o.op.done()) wake_for(r, k);
        }
    }
    bool all_ended() const {
        for (rank_t r = 0; r != h_->size; ++r)
            if (alive(r) && members_[r].ended != h_->operations.size()) return false;
        return true;
    }

    const char* collectives() {
        const char* problem = nullptr;
        while (!all_ended()) {
            const bool moved = turn([&](rank_t r) {
                if (problem == nullptr) problem = look(r);
            });
            if (problem != nullptr) return problem;
            if (moved || all_ended()) continue;
            check_deadlines();
            for (rank_t r = 0; r != h_->size && problem == nullptr; ++r)
                if (alive(r)) problem = look(r);
            if (problem == nullptr && !all_ended() && !world_.advance()) return "an operation never ends";
        }
        return problem;
    }
    // What is under way arrives. Nothing may be left over then.
    const char* settled() {
        world_.heal();
        while (turn([](rank_t) {}) || world_.advance()) {
        }
        bool broken = false, deaf = false;
        for (rank_t r = 0; r != h_->size; ++r) {
            if (!alive(r)) continue;
            group& g = *members_[r].session;
            (g.poison(0) ? broken : deaf) = true;
            if (world_.corrupted() != 0) continue;
            if (g.early_bytes() != 0 || (world_.unreleased(r) != 0)) return "a message was never released";
            if (world_.pending(r) != stuck_posts(r)) return "a post never ended";
        }
        // Without a question or an answer about early messages, operations wait for the oldest one, and go on.
        const std::uint32_t segment = world_.last_corrupted().segment;
        const bool is_report =
            segment == bough::detail::early_question_segment || segment == bough::detail::early_answer_segment;
        if (world_.corrupted() != 0 && !is_report && !broken && result_.failed == 0)
            return "a corrupted envelope went unseen";
        if (broken && deaf && world_.corrupted() == 0) return "a failure is not known to all";
        return nullptr;
    }
    // Notices to a rank that has stopped may stay with the transport for ever.
    std::size_t stuck_posts(rank_t r) const {
        for (const simulated_fault& f : h_->faults)
            if (f.what == simulated_fault::kind::stop && !alive(f.rank)) return world_.pending(r);
        return 0;
    }

    // The survivors agree, shrink, and reduce once more. At times somebody dies while they agree.
    const char* recovery() {
        std::vector<unsigned char> was_alive(h_->size);
        std::uint64_t common = ~std::uint64_t{0};
        std::array<std::uint64_t, 8> words{};
        std::uint64_t round_ns = 50'000'000;
        std::vector<rank_t> everybody(h_->size);
        std::array<std::optional<bough::agreement<link>>, 8> agreements;
        for (rank_t r = 0; r != h_->size; ++r) everybody[r] = r;
        const bool late_crash = random_.below(4) == 0;
        if (late_crash) {
            const auto victim = static_cast<rank_t>(random_.below(h_->size));
            world_.inject({.what = simulated_fault::kind::crash,
                           .at = world_.events() + random_.below(4 * h_->size * h_->size),
                           .rank = victim});
        }
        for (rank_t r = 0; r != h_->size; ++r) {
            words[r] = random_() | random_() | random_();
            was_alive[r] = alive(r);
            if (!alive(r)) continue;
            common &= words[r];
            group& g = *members_[r].session;
            agreements[r].emplace(g, everybody, group::shrink_context,
                                  g.contexts().next_agreement(group::shrink_context), words[r], round_ns);
        }
        const auto agreed = [&] {
            for (rank_t r = 0; r != h_->size; ++r)
                if (alive(r) && !agreements[r]->done()) return false;
            return true;
        };
        for (int rounds = 0; !agreed();) {
            const bool moved = turn([&](rank_t r) { agreements[r]->step(); });
            if (moved || agreed() || world_.advance()) continue;
            world_.advance_to(world_.now_ns() + round_ns); // somebody does not answer
            for (rank_t r = 0; r != h_->size; ++r)
                for (int i = 0; i != 256 && alive(r); ++i) agreements[r]->step();
            if (++rounds == 20) return "the survivors never agree";
        }
        std::vector<rank_t> survivors;
        for (rank_t r = 0; r != h_->size; ++r)
            if (alive(r)) survivors.push_back(r);
        if (survivors.empty()) return nullptr;
        const auto& first = *agreements[survivors[0]];
        for (const rank_t r : survivors) {
            const auto& a = *agreements[r];
            if (a.result()) return "a live rank was taken for dead";
            if (a.failed() != first.failed() || a.word() != first.word()) return "two ranks agreed on different things";
        }
        std::vector<rank_t> rest;
        for (rank_t r = 0; r != h_->size; ++r) {
            if (first.failed()[r] == 0 ? !was_alive[r] : alive(r)) return "the wrong ranks were taken for dead";
            if (first.failed()[r] == 0) rest.push_back(r);
        }
        if ((first.word() & ~common) != 0 && !late_crash) return "the agreed word is not the and of the words";
        result_.shrunk = rest.size() != h_->size;
        for (const rank_t r : survivors) {
            agreements[r].reset();
            members_[r].session->begin_epoch();
            if (members_[r].session->epoch() != 2) return "an epoch went backwards";
        }
        if (rest.size() != survivors.size()) return nullptr; // somebody died after the decision
        return last_allreduce(rest);
    }
    const char* last_allreduce(const std::vector<rank_t>& rest) {
        world_.heal();
        std::vector<std::unique_ptr<bough::prepared>> work;
        std::array<bough::session_operation, 8> ops;
        std::array<word, 8> values{};
        word sum = 0;
        for (rank_t i = 0; i != rest.size(); ++i) {
            work.push_back(survivors_allreduce(rest, i));
            values[i] = value(99, rest[i], 0);
            sum += values[i];
        }
        for (rank_t i = 0; i != rest.size(); ++i) {
            bough::call c;
            c.input = c.output = reinterpret_cast<std::byte*>(&values[i]);
            c.input = c.output;
            c.count = 1;
            c.element_bytes = 8;
            c.combine = &combine_plus;
            bough::envelope tag;
            tag.context = 1;
            tag.operation = 1;
            members_[rest[i]].session->start(ops[i], *work[i], c, tag, {.plan = work[i]->bound().plan_id},
                                             h_->timeout_ns);
        }
        const auto done = [&] {
            return std::all_of(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(rest.size()),
                               [](const bough::session_operation& o) { return o.done(); });
        };
        while (!done())
            if (!turn([](rank_t) {}) && !world_.advance()) return "the survivors' allreduce never ends";
        for (rank_t i = 0; i != rest.size(); ++i) {
            if (ops[i].result()) return "the survivors' allreduce failed";
            if (values[i] != sum) return "the survivors' allreduce is wrong";
        }
        while (turn([](rank_t) {}) || world_.advance()) {
        }
        return nullptr;
    }
    const char* memory_at_the_end() {
        for (rank_t r = 0; r != h_->size; ++r)
            for (std::size_t k = 0; k != h_->operations.size() && alive(r); ++k)
                if (!members_[r].operations[k].memory.untouched()) return "memory was written after an operation ended";
        return nullptr;
    }

    World world_{1};
    const history* h_ = nullptr;
    random_bits random_{0};
    std::array<member, 8> members_;
    std::array<std::vector<word>, most> expected_;
    outcome result_;
    std::vector<bough::status> told_; // of the deadline of each operation
};

} // namespace test

#endif
