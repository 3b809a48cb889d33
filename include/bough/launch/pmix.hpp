// SPDX-License-Identifier: BSL-1.0
// pmix_wire_up: the wire-up of a job whose launcher speaks PMIx: mpirun of Open MPI (also for
// programs without MPI), or srun --mpi=pmix.
//
//   #include <bough/launch.hpp>
//   #include <bough/launch/pmix.hpp>          // this_job() now understands PMIx too; link bough::pmix
//
// What ranks say travels by put, fence and get, through the launcher's own servers, over all nodes
// of the job. PMIx keeps it for as long as the job lives. If a rank dies, either the launcher ends
// the job, or the exchange ends by its deadline.
#ifndef BOUGH_LAUNCH_PMIX_HPP
#define BOUGH_LAUNCH_PMIX_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/job.hpp>
#include <bough/launch/this_job.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pmix.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class pmix_wire_up {
public:
    // unsupported: this process was not started by a launcher that speaks PMIx.
    static status connect(job& made) {
        pmix_proc_t me;
        const pmix_status_t up = PMIx_Init(&me, nullptr, 0);
        if (up == PMIX_ERR_UNREACH || up == PMIX_ERR_INVALID_NAMESPACE || up == PMIX_ERR_NOT_FOUND)
            return {.code = errc::unsupported};
        if (up != PMIX_SUCCESS) return {.code = errc::no_resources};
        pmix_wire_up wire(me);
        pmix_proc_t job_itself = wire.everybody();
        pmix_value_t* size = nullptr;
        if (PMIx_Get(&job_itself, PMIX_JOB_SIZE, nullptr, 0, &size) != PMIX_SUCCESS)
            return {.code = errc::protocol_error};
        wire.size_ = size->data.uint32;
        PMIX_VALUE_RELEASE(size);
        if (me.rank >= wire.size_) return {.code = errc::protocol_error};
        made = job(std::move(wire));
        return {};
    }

    pmix_wire_up(pmix_wire_up&& other) noexcept
        : me_(other.me_), size_(other.size_), exchanges_(other.exchanges_), broken_(other.broken_),
          open_(std::exchange(other.open_, false)) {}
    pmix_wire_up& operator=(pmix_wire_up&&) = delete;
    // Without this call the launcher would think that the process had failed.
    ~pmix_wire_up() {
        if (open_) PMIx_Finalize(nullptr, 0);
    }

    rank_t rank() const noexcept { return me_.rank; }
    rank_t size() const noexcept { return size_; }

    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const status bad = check_exchange(mine, all, size_)) return bad;
        if (broken_) return {.code = errc::deadline};
        const status result = exchange_open(mine, all, timeout_ns);
        broken_ = result.code != errc::ok;
        return result;
    }

private:
    explicit pmix_wire_up(const pmix_proc_t& me) : me_(me) {}

    pmix_proc_t everybody() const noexcept {
        pmix_proc_t all = me_;
        all.rank = PMIX_RANK_WILDCARD;
        return all;
    }

    status exchange_open(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        const std::string key = "bough." + std::to_string(++exchanges_);
        std::vector<std::byte> said(mine.begin(), mine.end());
        said.push_back(std::byte{}); // PMIx does not keep empty values
        pmix_value_t value;
        PMIX_VALUE_CONSTRUCT(&value);
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo.bytes = reinterpret_cast<char*>(said.data()); // copied
        value.data.bo.size = said.size();
        if (PMIx_Put(PMIX_GLOBAL, key.c_str(), &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
            return {.code = errc::no_resources};
        if (const status bad = fence(timeout_ns)) return bad;
        for (rank_t r = 0; r != size_; ++r) {
            pmix_proc_t who = me_;
            who.rank = r;
            pmix_value_t* found = nullptr;
            if (PMIx_Get(&who, key.c_str(), nullptr, 0, &found) != PMIX_SUCCESS)
                return {.code = errc::peer_dead, .peer = r};
            const std::uint64_t size = found->type == PMIX_BYTE_OBJECT ? found->data.bo.size : 0;
            const bool right = size == said.size();
            if (right)
                std::copy_n(reinterpret_cast<const std::byte*>(found->data.bo.bytes), mine.size(),
                            all.begin() + static_cast<std::ptrdiff_t>(r * mine.size()));
            PMIX_VALUE_RELEASE(found);
            if (!right)
                return {.code = errc::call_mismatch,
                        .mismatch = mismatch::count,
                        .peer = r,
                        .mine = mine.size(),
                        .theirs = size == 0 ? 0 : size - 1};
        }
        return {};
    }

    // Waits until all ranks have committed. PMIx calls back on a thread of its own, perhaps after
    // this rank has given up.
    status fence(std::uint64_t timeout_ns) {
        struct waiting {
            std::mutex lock;
            std::condition_variable changed;
            bool done = false;
            pmix_status_t code = PMIX_SUCCESS;
        };
        const auto state = std::make_shared<waiting>();
        auto* handed = new std::shared_ptr<waiting>(state); // owned by the callback
        pmix_info_t collect;
        bool yes = true;
        PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        const pmix_proc_t all = everybody();
        const pmix_status_t begun = PMIx_Fence_nb(
            &all, 1, &collect, 1,
            [](pmix_status_t code, void* data) {
                const std::unique_ptr<std::shared_ptr<waiting>> mine(static_cast<std::shared_ptr<waiting>*>(data));
                const std::lock_guard held((*mine)->lock);
                (*mine)->done = true;
                (*mine)->code = code;
                (*mine)->changed.notify_all();
            },
            handed);
        if (begun != PMIX_SUCCESS) {
            delete handed;
            return {.code = errc::peer_dead};
        }
        std::unique_lock held(state->lock);
        constexpr auto last = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
        const std::chrono::steady_clock::time_point end(std::chrono::nanoseconds(
            static_cast<std::int64_t>(std::min(last, deadline_after(detail::steady_now_ns(), timeout_ns)))));
        if (!state->changed.wait_until(held, end, [&] { return state->done; })) return {.code = errc::deadline};
        PMIX_INFO_DESTRUCT(&collect);
        return {.code = state->code == PMIX_SUCCESS ? errc::ok : errc::peer_dead};
    }

    pmix_proc_t me_;
    rank_t size_ = 1;
    std::uint64_t exchanges_ = 0;
    bool broken_ = false, open_ = true;
};

static_assert(WireUp<pmix_wire_up>);

namespace detail::jobs {
inline const job_source pmix_source{&pmix_wire_up::connect};
} // namespace detail::jobs

} // namespace bough

#endif
