// SPDX-License-Identifier: BSL-1.0
// The sessions of a group in one thread, without a clock: every test runs the same way every time.
#ifndef BOUGH_TEST_EXECUTE_RANKS_HPP
#define BOUGH_TEST_EXECUTE_RANKS_HPP

#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace test {

using number = std::uint64_t;
using link = bough::testing::transport_archetype;
using loop_session = bough::session<link>;

// One rank: its session and its operation of the moment.
struct rank_state {
    explicit rank_state(link end) : session(std::move(end)) {}

    // Starts `plan` on `data`, in place; changes of the signature are the caller's lie.
    template <class P, class Op = bough::plus>
    void start(const P& plan, std::uint32_t number_of_operation, bough::call_signature signature = {}, Op op = {}) {
        work = std::make_unique<bough::prepared>(bough::bind_plan(plan, session.rank()));
        any = bough::make_any_op<number>(stateful(op));
        bough::envelope tag;
        tag.operation = number_of_operation;
        signature.plan = work->bound().plan_id;
        auto* bytes = reinterpret_cast<std::byte*>(data.data());
        session.start(op_, *work, {bytes, bytes, data.size(), sizeof(number), any.function, any.state}, tag, signature,
                      timeout_ns);
    }
    bool done() const { return op_.done(); }
    const bough::status& result() const { return op_.result(); }
    bough::session_operation& operation() { return op_; }

    loop_session session;
    std::vector<number> data;
    std::uint64_t timeout_ns = 1'000'000;

private:
    template <class Op>
    static const Op& stateful(const Op& op) {
        static Op kept = op;
        return kept;
    }
    std::unique_ptr<bough::prepared> work;
    bough::any_op any{};
    bough::session_operation op_;
};

struct ranks {
    explicit ranks(bough::rank_t size, const bough::testing::loop_options& options = {}) : group(size, options) {
        for (bough::rank_t r = 0; r != size; ++r) all.push_back(std::make_unique<rank_state>(group.connect(r)));
    }
    rank_state& operator[](bough::rank_t r) { return *all[r]; }

    // Sets the data of every rank: count elements, first + rank.
    void fill(std::size_t count, number first = 1) {
        for (bough::rank_t r = 0; r != all.size(); ++r)
            if (all[r]) all[r]->data.assign(count, first + r);
    }
    template <class P>
    void start_all(const P& plan, std::uint32_t operation, const bough::call_signature& signature = {}) {
        for (auto& r : all)
            if (r) r->start(plan, operation, signature);
    }
    // All ranks make progress in turn, `turns` times or until every operation is done.
    bool run(int turns = 10'000) {
        for (int i = 0; i != turns; ++i) {
            bool done = true;
            for (auto& r : all) {
                if (!r) continue;
                r->session.progress();
                done &= r->done();
            }
            if (done) return true;
        }
        return false;
    }
    // As many more, so that what is under way arrives.
    void settle() {
        for (int i = 0; i != 200; ++i)
            for (auto& r : all)
                if (r) r->session.progress();
    }
    void lose(bough::rank_t r) { all[r].reset(); }

    bough::testing::loop_group group;
    std::vector<std::unique_ptr<rank_state>> all;
};

} // namespace test

#endif
