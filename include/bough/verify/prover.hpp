// SPDX-License-Identifier: BSL-1.0
// The prover: runs the schedules of all ranks on symbolic values, in rounds, and watches every rule on the way.
//
// Why one run is a proof: the steps of a rank are ordered by their dependences, and messages by
// their channels. So a step reads the same in every execution that respects both, and values do not
// depend on timing. If the run with unbuffered messages (a send ends when its receive ends) does
// not get stuck, no execution with buffers does: buffers only remove waiting.
#ifndef BOUGH_VERIFY_PROVER_HPP
#define BOUGH_VERIFY_PROVER_HPP

#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/posts.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/schedule/turns.hpp>
#include <bough/verify/bracket.hpp>
#include <bough/verify/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Goal>
class prover {
public:
    // `schedules[r]` has the steps of rank r; `scratch[r]` is how many scratch blocks it may touch.
    constexpr prover(const Goal& goal, const dimensions& at, std::span<const schedule> schedules,
                     std::span<const block_t> scratch, const verify_options& options)
        : goal_(goal), at_(at), options_(options), slots_(options.eager_slots), schedules_(schedules),
          scratch_(scratch), brackets_(at.size) {}

    constexpr verdict run() {
        if (check_steps() && pair_messages()) {
            infer();
            if (options_.hold) find_held();
            turns_ = turns_of(schedules_, node_first_, nodes_, messages_, after_first_, after_);
            execute();
            if (!failed()) check_results();
        }
        return verdict_;
    }

private:
    // What a block of a buffer holds.
    struct cell {
        std::uint32_t bracket = no_bracket; // no_bracket: nothing yet
        block_t block = 0;                  // which block of the vector
        std::uint32_t hops = 0;             // messages on the longest way here
        bool written = false;               // has a step written it?
    };
    struct node { // a step, in the graph of all ranks
        std::uint32_t waits = 0;
        std::uint32_t message = no_step;
    };
    struct message {
        std::uint32_t send = no_step, receive = no_step;  // the last part at each end, which stands for all
        std::uint32_t parts = 1;                          // at each end
        std::uint32_t previous = no_step, next = no_step; // messages on its channel
        bool sent = false, received = false, queued = false;
        std::size_t payload = 0; // its place in flight_, once it is sent
    };

    constexpr bool failed() const noexcept { return verdict_.fault != fault::none; }
    constexpr bool fail(fault what, rank_t rank, std::size_t index, block_t block = 0, rank_t peer = no_rank) {
        if (!failed()) {
            verdict_ = {};
            verdict_.fault = what;
            verdict_.rank = rank;
            verdict_.step = static_cast<std::uint32_t>(index);
            verdict_.block = block;
            verdict_.peer = peer;
        }
        return false;
    }

    // Checks local rules. Block k of rank r's buffer b is cells_[cell_first_[r] + b * blocks + k].
    constexpr bool check_steps() {
        std::vector<unsigned char> touched;
        std::size_t steps = 0;
        for (const schedule& of_rank : schedules_) steps += of_rank.size();
        nodes_.reserve(steps);
        rank_of_.reserve(steps);
        node_first_.reserve(at_.size + std::size_t{1});
        cell_first_.reserve(at_.size);
        cells_.reserve(std::size_t{3} * at_.size * at_.blocks); // input, output and a plane of scratch
        for (rank_t r = 0; r != at_.size; ++r) {
            node_first_.push_back(static_cast<std::uint32_t>(nodes_.size()));
            cell_first_.push_back(cells_.size());
            std::size_t buffers = 2;
            for (std::size_t i = 0; i != schedules_[r].size(); ++i) {
                const step& s = schedules_[r][i];
                nodes_.push_back({});
                rank_of_.push_back(r);
                const step* next = i + 1 != schedules_[r].size() ? &schedules_[r][i + 1] : nullptr;
                if (const step_fault bad = check_step(s, next, r, at_); bad.what != fault::none)
                    return fail(bad.what, r, i, bad.block, bad.what == fault::bad_peer ? s.peer : no_rank);
                if (s.writes() && s.out.buffer == output)
                    for (block_t b = s.out.first; b != s.out.last(); ++b)
                        if (goal_.result(at_, r, b).empty()) return fail(fault::write_to_output, r, i, b);
                for (const slice& used : {s.a, s.b, s.out})
                    buffers = std::max<std::size_t>(buffers, std::size_t{used.buffer.index} + 1);
            }
            cells_.resize(cells_.size() + buffers * at_.blocks, cell{});
            for (block_t b = 0; b != at_.blocks; ++b)
                if (goal_.holds(at_, r, b)) at(r, input, b) = {brackets_.leaf(r), b, 0, false};
            std::uint64_t used = 0;
            if (const scratch_fault bad = check_scratch(schedules_[r], buffers - 2, at_, scratch_[r], touched, used);
                bad.what != fault::none)
                return fail(bad.what, r, bad.step, bad.block);
            verdict_.traits.scratch_max = std::max(verdict_.traits.scratch_max, used);
        }
        node_first_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        return true;
    }

    // Pairs the n-th send of a channel with its n-th receive.
    constexpr bool pair_messages() {
        std::vector<post> sends, receives;
        sends.reserve(nodes_.size());
        receives.reserve(nodes_.size());
        std::uint32_t n = 0;
        for (rank_t r = 0; r != at_.size; ++r)
            for (const step& s : schedules_[r]) {
                if (s.verb == verb::send && !s.more) sends.push_back({r, s.peer, n}); // the last part stands for it
                if (s.verb == verb::receive && !s.more) receives.push_back({s.peer, r, n});
                ++n;
            }
        sort_posts(sends, &post::to, at_.size);
        sort_posts(sends, &post::from, at_.size);
        sort_posts(receives, &post::from, at_.size);
        messages_.reserve(sends.size());
        for (std::size_t i = 0; i != std::max(sends.size(), receives.size()); ++i) {
            const auto same_channel = [&] {
                return sends[i].from == receives[i].from && sends[i].to == receives[i].to;
            };
            if (i >= receives.size() ||
                (i < sends.size() && !same_channel() &&
                 (sends[i].from != receives[i].from ? sends[i].from < receives[i].from : sends[i].to < receives[i].to)))
                return fail(fault::unmatched_send, sends[i].from, sends[i].node - node_first_[sends[i].from], 0,
                            sends[i].to);
            if (i >= sends.size() || !same_channel())
                return fail(fault::unmatched_receive, receives[i].to, receives[i].node - node_first_[receives[i].to], 0,
                            receives[i].from);
            const auto m = static_cast<std::uint32_t>(messages_.size());
            messages_.push_back({.send = sends[i].node, .receive = receives[i].node});
            if (!pair_parts(messages_.back(), sends[i].from, sends[i].to, m)) return false;
            if (i != 0 && sends[i - 1].from == sends[i].from && sends[i - 1].to == sends[i].to) {
                messages_[m].previous = m - 1;
                messages_[m - 1].next = m;
            }
        }
        return true;
    }

    // Pairs the parts of a message, last to first. Both ends must have as many, with the same blocks.
    constexpr bool pair_parts(message& made, rank_t from, rank_t to, std::uint32_t m) {
        for (std::uint32_t part = 0;; ++part) {
            const std::uint32_t send = made.send - part;
            const std::uint32_t receive = made.receive - part;
            const slice& out = step_of(from, send).a;
            const slice& into = step_of(to, receive).out;
            nodes_[send].message = m;
            nodes_[receive].message = m;
            const bool more = send != node_first_[from] && step_of(from, send - 1).more;
            const bool more_received = receive != node_first_[to] && step_of(to, receive - 1).more;
            if (out.count != into.count || more != more_received)
                return fail(fault::length_mismatch, to, receive - node_first_[to], into.first, from);
            if (out.first != into.first)
                return fail(fault::mixed_blocks, to, receive - node_first_[to], into.first, from);
            if (!more) {
                made.parts = part + 1;
                nodes_[made.send].waits += part; // the last part waits for the others to be ready
                nodes_[made.receive].waits += part;
                return true;
            }
        }
    }

    constexpr void infer() {
        after_first_.assign(nodes_.size() + 1, 0);
        std::vector<std::uint32_t> earlier, later;
        earlier.reserve(2 * nodes_.size());
        later.reserve(2 * nodes_.size());
        for (rank_t r = 0; r != at_.size; ++r) {
            const std::uint32_t first = node_first_[r];
            for_each_dependence(schedules_[r].steps, [&](std::uint32_t i, std::uint32_t before) {
                earlier.push_back(first + before);
                later.push_back(first + i);
                ++after_first_[first + before + 1];
                ++nodes_[first + i].waits;
            });
        }
        for (std::size_t n = 1; n != after_first_.size(); ++n) after_first_[n] += after_first_[n - 1];
        after_.assign(later.size(), 0);
        std::vector<std::uint32_t> fill(after_first_.begin(), after_first_.end() - 1);
        for (std::size_t e = 0; e != later.size(); ++e) after_[fill[earlier[e]]++] = later[e];
    }

    // Finds the messages that an engine may hold until their combine has run.
    constexpr void find_held() {
        holds_send_.assign(nodes_.size(), no_step);
        const std::span<const std::uint32_t> first = after_first_;
        for (rank_t r = 0; r != at_.size; ++r) {
            const std::uint32_t base = node_first_[r];
            const std::vector<step>& steps = schedules_[r].steps;
            for_each_in_place(steps, {first.subspan(base, steps.size() + 1), after_, base},
                              [&](std::uint32_t receive, std::uint32_t combine) {
                                  holds_send_[base + combine] = messages_[nodes_[base + receive].message].send;
                              });
        }
    }
    constexpr bool is_held(const message& m) const {
        if (!options_.hold) return false;
        for (std::uint32_t e = after_first_[m.receive]; e != after_first_[m.receive + 1]; ++e)
            if (holds_send_[after_[e]] == m.send) return true;
        return false;
    }

    // In each round a rank may end one send and one receive; local steps take no time.
    constexpr void execute() {
        sent_in_.assign(at_.size, 0);
        received_in_.assign(at_.size, 0);
        // Ports serve the message with the earlier turn first, and among equals the one that became
        // ready first. So a receive does not bring a message into the queue before its send is
        // ready, and at the start not at all: the ranks' numbers must not matter.
        for (std::uint32_t n = 0; n != nodes_.size(); ++n)
            if (nodes_[n].waits != 0)
                continue;
            else if (step_of(rank_of_[n], n).more)
                --nodes_[last_part(n)].waits;
            else if (nodes_[n].message == no_step || messages_[nodes_[n].message].send == n)
                ready(n);
        run_local();
        std::vector<std::uint32_t> batch, done;
        std::vector<std::uint64_t> by_turn;
        std::uint32_t round = 0;
        while (!queue_.empty() && !failed()) {
            ++round;
            batch.clear();
            std::swap(batch, queue_);
            by_turn.clear(); // the turn, then the place in the queue
            for (std::uint32_t i = 0; i != batch.size(); ++i)
                by_turn.push_back(std::uint64_t{turns_[batch[i]]} << 32 | i);
            std::sort(by_turn.begin(), by_turn.end());
            done.clear();
            for (const std::uint64_t next : by_turn) advance(batch[static_cast<std::uint32_t>(next)], round, done);
            if (done.empty()) break;
            for (const std::uint32_t n : done) complete(n);
            run_local();
        }
        if (failed()) return;
        verdict_.traits.rounds = round;
        for (std::uint32_t n = 0; n != nodes_.size(); ++n)
            if (completed_ != nodes_.size() && nodes_[n].waits != done_mark) {
                const step& s = step_of(rank_of_[n], n);
                fail(fault::deadlock, rank_of_[n], n - node_first_[rank_of_[n]], s.communicates() ? 0 : s.out.first,
                     s.peer);
                return;
            }
    }

    // Moves a message on as far as this round allows; puts it back into the queue if there is more to do.
    constexpr void advance(std::uint32_t m, std::uint32_t round, std::vector<std::uint32_t>& done) {
        message& msg = messages_[m];
        msg.queued = false;
        const rank_t from = rank_of_[msg.send];
        const rank_t to = rank_of_[msg.receive];
        const bool may_receive = nodes_[msg.receive].waits == 0 && received_in_[to] != round && previous_received(m);
        if (!msg.sent && nodes_[msg.send].waits == 0 && previous_sent(m)) {
            if (sent_in_[from] != round && (slots_ == 0 ? may_receive : has_slot(m))) {
                sent_in_[from] = round;
                msg.sent = true;
                take_payload(msg);
                if (!is_held(msg)) done.push_back(msg.send);
                if (msg.next != no_step) enqueue(msg.next);
            } else if (slots_ != 0 || (nodes_[msg.receive].waits == 0 && previous_received(m))) {
                if (slots_ == 0 || has_slot(m)) enqueue(m); // it lacked only a port
            }
        }
        if (msg.sent && !msg.received) {
            if (may_receive) {
                received_in_[to] = round;
                msg.received = true;
                deliver(msg);
                done.push_back(msg.receive);
                for (std::uint32_t later = msg.next, k = 0; later != no_step && k <= slots_; ++k) {
                    enqueue(later);
                    later = messages_[later].next;
                }
            } else if (nodes_[msg.receive].waits == 0 && previous_received(m)) {
                enqueue(m);
            }
        }
    }

    constexpr bool previous_sent(std::uint32_t m) const {
        return messages_[m].previous == no_step || messages_[messages_[m].previous].sent;
    }
    constexpr bool previous_received(std::uint32_t m) const {
        return messages_[m].previous == no_step || messages_[messages_[m].previous].received;
    }
    // Has the message `slots_` places before it on the channel been received?
    constexpr bool has_slot(std::uint32_t m) const {
        for (std::uint32_t k = 0; k != slots_; ++k) {
            m = messages_[m].previous;
            if (m == no_step) return true;
        }
        return messages_[m].received;
    }
    constexpr void enqueue(std::uint32_t m) {
        if (messages_[m].queued || messages_[m].received) return;
        messages_[m].queued = true;
        queue_.push_back(m);
    }

    constexpr void ready(std::uint32_t n) {
        const std::uint32_t m = nodes_[n].message;
        if (step_of(rank_of_[n], n).more) {
            if (--nodes_[last_part(n)].waits == 0) ready(last_part(n));
        } else if (m == no_step)
            local_.push_back(n);
        else if (n == messages_[m].send || messages_[m].sent || nodes_[messages_[m].send].waits == 0)
            enqueue(m);
    }
    constexpr std::uint32_t last_part(std::uint32_t n) const {
        const message& msg = messages_[nodes_[n].message];
        return step_of(rank_of_[n], n).verb == verb::send ? msg.send : msg.receive;
    }
    constexpr void complete(std::uint32_t last) {
        const std::uint32_t parts = nodes_[last].message == no_step ? 1 : messages_[nodes_[last].message].parts;
        for (std::uint32_t n = last + 1 - parts; n != last + 1; ++n) {
            nodes_[n].waits = done_mark;
            ++completed_;
            if (options_.hold && holds_send_[n] != no_step) complete(holds_send_[n]);
            for (std::uint32_t e = after_first_[n]; e != after_first_[n + 1]; ++e)
                if (--nodes_[after_[e]].waits == 0) ready(after_[e]);
        }
    }

    constexpr void run_local() {
        while (!local_.empty() && !failed()) {
            const std::uint32_t n = local_.back();
            local_.pop_back();
            const rank_t r = rank_of_[n];
            const step& s = step_of(r, n);
            for (block_t k = 0; k != s.out.count && !failed(); ++k) {
                const cell* a = read(n, s.a, k);
                const cell* b = s.reads_b() ? read(n, s.b, k) : nullptr;
                if (failed()) return;
                cell result = *a;
                result.written = true;
                if (b != nullptr) {
                    if (a->block != b->block) {
                        fail(fault::mixed_blocks, r, n - node_first_[r], s.out.first + k);
                        return;
                    }
                    result.bracket = brackets_.combine(a->bracket, b->bracket);
                    result.hops = std::max(a->hops, b->hops);
                    if (brackets_.repeats(result.bracket) && !allows_repeats_v<Goal>)
                        fail(fault::repeated_contribution, r, n - node_first_[r], s.out.first + k,
                             brackets_.shared(a->bracket, b->bracket));
                }
                at(r, s.out.buffer, s.out.first + k) = result;
            }
            complete(n);
        }
    }

    constexpr const cell* read(std::uint32_t n, const slice& s, block_t k) {
        const rank_t r = rank_of_[n];
        const block_t block = s.first + k;
        const cell* c = &at(r, s.buffer, block);
        if (c->bracket == no_bracket) {
            // In place, the output holds the input before it is written; out of place it holds
            // nothing.
            fail(fault::read_of_nothing, r, n - node_first_[r], block);
        } else if (Goal::in_place && s.buffer == input && at(r, output, block).written) {
            fail(fault::in_place_hazard, r, n - node_first_[r], block);
        }
        return c;
    }

    constexpr void take_payload(message& msg) {
        msg.payload = flight_.size();
        for (std::uint32_t n = msg.send + 1 - msg.parts; n != msg.send + 1; ++n) {
            const slice& from = step_of(rank_of_[n], n).a;
            for (block_t k = 0; k != from.count; ++k) {
                const cell* c = read(n, from, k);
                if (failed()) return;
                flight_.push_back({c->bracket, c->block, c->hops + 1, true});
                verdict_.traits.hops = std::max(verdict_.traits.hops, c->hops + 1);
            }
        }
        if (flight_.size() == msg.payload) verdict_.traits.hops = std::max(verdict_.traits.hops, 1u);
    }
    constexpr void deliver(const message& msg) {
        if (failed()) return;
        std::size_t next = msg.payload;
        for (std::uint32_t n = msg.receive + 1 - msg.parts; n != msg.receive + 1; ++n) {
            const slice& into = step_of(rank_of_[n], n).out;
            for (block_t k = 0; k != into.count; ++k) at(rank_of_[n], into.buffer, into.first + k) = flight_[next++];
        }
        if (slots_ == 0) flight_.clear(); // nothing else is in flight
    }

    constexpr void check_results() {
        plan_traits& traits = verdict_.traits;
        std::uint64_t bracket = 0;
        bool first_result = true;
        std::uint64_t first_hash = 0;
        std::vector<std::uint32_t> of_block(at_.blocks, no_bracket);
        for (rank_t r = 0; r != at_.size; ++r)
            for (block_t b = 0; b != at_.blocks; ++b) {
                const contributions wanted = goal_.result(at_, r, b);
                if (wanted.empty()) continue;
                const cell& got = at(r, output, b);
                if (got.bracket == no_bracket) {
                    fail(fault::missing_result, r, no_step, b);
                    return;
                }
                if (got.block != b) {
                    fail(fault::wrong_result, r, no_step, b);
                    return;
                }
                if (!brackets_.covers(got.bracket, wanted.first, wanted.last)) {
                    const rank_t odd = brackets_.odd_one_out(got.bracket, wanted.first, wanted.last);
                    fail(fault::wrong_result, r, no_step, b, odd);
                    return;
                }
                const bool in_order = brackets_.in_order(got.bracket) && !brackets_.repeats(got.bracket);
                if (options_.in_rank_order && !in_order) return void(fail(fault::not_in_rank_order, r, no_step, b));
                traits.needs_commutative |= !in_order;
                traits.needs_idempotent |= brackets_.repeats(got.bracket);
                traits.depth = std::max(traits.depth, brackets_.depth(got.bracket));
                if (of_block[b] == no_bracket)
                    of_block[b] = got.bracket;
                else
                    traits.rank_consistent &= of_block[b] == got.bracket;
                if (options_.same_bits && !traits.rank_consistent)
                    return void(fail(fault::different_bits, r, no_step, b));
                const std::uint64_t hash = brackets_.hash(got.bracket);
                if (first_result)
                    first_hash = hash;
                else if (hash != first_hash)
                    traits.position_invariant = false;
                first_result = false;
                bracket = mix(bracket, hash);
            }
        if (traits.depth != 0)
            traits.bracket = traits.position_invariant && traits.rank_consistent ? first_hash : bracket;
        std::vector<rank_t> met(at_.size, no_rank);
        for (rank_t r = 0; r != at_.size; ++r) add_counts(traits, schedules_[r], r, met);
    }

    constexpr cell& at(rank_t r, buffer b, block_t k) {
        return cells_[cell_first_[r] + std::size_t{b.index} * at_.blocks + k];
    }
    constexpr const step& step_of(rank_t r, std::uint32_t n) const { return schedules_[r][n - node_first_[r]]; }

    static constexpr std::uint32_t done_mark = 0xffff'ffffu;

    const Goal& goal_;
    dimensions at_;
    verify_options options_;
    std::uint32_t slots_;
    std::span<const schedule> schedules_;
    std::span<const block_t> scratch_;
    brackets brackets_;
    verdict verdict_{};
    std::vector<std::uint32_t> node_first_; // per rank, and the end
    std::vector<std::size_t> cell_first_;
    std::vector<cell> cells_;
    std::vector<node> nodes_;
    std::vector<rank_t> rank_of_; // per node
    std::vector<message> messages_;
    std::vector<std::uint32_t> turns_;               // per message
    std::vector<std::uint32_t> after_first_, after_; // the nodes that wait for a node
    std::vector<std::uint32_t> holds_send_;          // per combine: the send whose message it reads in place
    std::vector<std::uint32_t> local_, queue_;       // local steps that are ready; messages that may move on
    std::vector<std::uint32_t> sent_in_, received_in_;
    std::vector<cell> flight_;
    std::size_t completed_ = 0;
};

} // namespace bough::detail

#endif
